/** The audit's profile of the database as the plan leaves it. */
import { ident, literal } from "../values/sql-names.ts";
import { isAdopted, ownPolicies } from "./names.ts";
import type { Plan } from "./plan.ts";
import { ADOPTED } from "./treat.ts";

/** The settings of the given profile that adopt reads. It keeps the others. */
export interface Profile extends Record<string, unknown> {
  tenants?: string;
  tenant_key?: string;
  tenant_columns?: string[];
  per_table?: Record<string, string | null>;
  bookkeeping?: string[];
  sees_all?: string[];
  trusted_owners?: string[];
}

export function profileOf({ living, treatments, open, chosen }: Plan, given: Profile) {
  const { tenants, role, own, unbound, tables, roles, gone } = living;
  const is = (relation: string, ...of: string[]) => of.includes(treatments.get(relation)!);
  const nobodys = tables.filter(({ relation }) => is(relation, "people", "shared", "closed"));
  const kept = Object.entries(given.per_table ?? {}).filter(
    ([relation, column]) =>
      !gone.includes(relation) && (column !== null || !is(relation, ...ADOPTED, "open")),
  );
  // A login goes from sees_all with its bridge. The others there see rows by a policy of the product's own.
  const withPolicies = tables.flatMap(ownPolicies).flatMap(policy => policy.roles);
  const owners = tables.filter(table => isAdopted(table) || chosen.includes(table)).map(({ owner }) => owner);
  return {
    ...given,
    tenants: tenants.relation,
    tenant_key: tenants.key,
    tenant_columns: tenants.columns,
    // The service's own tables have an audit of their own: tenancy audit without a profile.
    per_table: {
      ...Object.fromEntries(kept),
      ...Object.fromEntries([...nobodys.map(({ relation }) => relation), ...own].map(name => [name, null])),
    },
    request_roles: [role],
    principals: principals(living),
    sees_all: unique(
      Object.keys(open),
      ["tms_registrar", "tms_auditor", "tms_owner"],
      (given.sees_all ?? []).filter(name => withPolicies.includes(name)),
    ).filter(name => !unbound.includes(name)),
    trusted_owners: unique(
      owners,
      ["tms_owner", "tms_registrar", "tms_app"],
      (given.trusted_owners ?? []).filter(name => roles.includes(name)),
    ),
  };
}

const unique = (...lists: string[][]) => [...new Set(lists.flat())];

/** Each tenant, one that does not exist, and nobody. They prove their tenant where the database has a context secret. */
function principals({ tenants, role }: Plan["living"]): string {
  const enter = literal(`set local role ${ident(role)}`);
  const key = `t.${ident(tenants.key)}::text`;
  const as = (id: string) =>
    `array[${enter}, format('set local app.tenant_id = %L', case when app.has_context_secret() then app.sign_tenant(${id}) else ${id}::text end)]`;
  const id = `t.${ident(tenants.id)}`;
  return [
    `select ${key}, ${as(id)}, array[${key}] from ${tenants.relation} t`,
    `select 'a tenant that does not exist', ${as("n.id")}, '{}' from (select gen_random_uuid() as id) n`,
    `select 'nobody', array[${enter}], '{}'`,
  ].join(" union all ");
}
