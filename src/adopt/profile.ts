/** The audit's profile of the database as the plan leaves it. */
import { ident, literal } from "../values/sql-names.ts";
import { openBridges } from "./bridges.ts";
import { isAdopted, type Plan } from "./plan.ts";
import { idOfTenants } from "./rows.ts";

export function profileOf(
  { living, treatments, bridges, chosen }: Plan,
  per: Record<string, string | null> = {},
) {
  const { tenants, role, own, today, unbound, tables } = living;
  const nobodys = tables.filter(({ relation }) =>
    ["people", "shared", "closed"].includes(treatments.get(relation)!),
  );
  const named = Object.entries(per).filter(([, column]) => column !== null);
  return {
    tenants: tenants.relation,
    tenant_key: tenants.key,
    tenant_columns: tenants.columns,
    // The service's own tables have an audit of their own: tenancy audit without a profile.
    per_table: {
      ...Object.fromEntries(named),
      ...Object.fromEntries([...nobodys.map(({ relation }) => relation), ...own].map(name => [name, null])),
    },
    request_roles: [role],
    principals: principals(living),
    sees_all: [
      ...Object.keys(openBridges(bridges, today)),
      "tms_registrar",
      "tms_auditor",
      "tms_owner",
    ].filter(name => !unbound.includes(name)),
    trusted_owners: [
      ...new Set(
        tables.filter(table => isAdopted(table) || chosen.includes(table)).map(({ owner }) => owner),
      ),
      "tms_owner",
      "tms_registrar",
      "tms_app",
    ],
  };
}

/** Each tenant, one that is not there, and nobody. The proof of the context where the database asks for one. */
function principals({ tenants, role }: Plan["living"]): string {
  const enter = literal(`set local role ${ident(role)}`);
  const key = `t.${ident(tenants.key)}::text`;
  const as = (id: string) =>
    `array[${enter}, format('set local app.tenant_id = %L', case when app.has_context_secret() then app.sign_tenant(${id}) else ${id}::text end)]`;
  const id = `t.${ident(idOfTenants(tenants))}`;
  return [
    `select ${key}, ${as(id)}, array[${key}] from ${tenants.relation} t`,
    `select 'a tenant that does not exist', ${as("n.id")}, '{}' from (select gen_random_uuid() as id) n`,
    `select 'nobody', array[${enter}], '{}'`,
  ].join(" union all ");
}
