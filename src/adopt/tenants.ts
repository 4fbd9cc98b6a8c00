/** The tenants' table, and its rows in app.tenants. */
import { ident } from "../values/sql-names.ts";
import type { Living, Table } from "./living.ts";
import { TENANCY_ID } from "./names.ts";
import type { Step } from "./step.ts";

/** The column that names the tenant of a row after the plan. */
export const tenantColumn = (
  { tenants }: Living,
  { relation, column }: Pick<Table, "relation" | "column">,
) => (relation === tenants.relation ? tenants.key : (column ?? tenants.columns[0] ?? "tenant_id"));

/** The column of the tenants' table that becomes app.tenants.id. */
export const idOfTenants = ({ key, keyType }: Living["tenants"]) => (keyType === "uuid" ? key : TENANCY_ID);

/** Copies the tenants that app.tenants lacks. It may run again whenever there may be new ones. */
export function tenantSteps(living: Living, name: string, slug: string): Step[] {
  if (living.uncopied === 0) return [];
  const { relation } = living.tenants;
  const id = ident(idOfTenants(living.tenants));
  return [
    {
      phase: "tenants",
      table: relation,
      as: null,
      sql: `insert into app.tenants (id, name, slug)
select t.${id}, ${name}, ${slug} from ${relation} t
where not exists (select from app.tenants a where a.id = t.${id});`,
    },
  ];
}

/** The name and slug for app.tenants, as SQL over a row t. */
export function nameAndSlug({ tenants, tables }: Living): { name: string; slug: string } {
  const columns = tables.find(({ relation }) => relation === tenants.relation)?.columns ?? [];
  const like = (pattern: RegExp) => columns.find(column => pattern.test(column));
  const id = `t.${ident(tenants.key)}::text`;
  const named = like(/^(name|title|display_?name|company_?name)$/i);
  const handle = like(/^(slug|handle|subdomain|url_?key)$/i);
  const text = handle ? `coalesce(t.${ident(handle)}, ${id})` : id;
  return {
    name: named ? `coalesce(nullif(btrim(left(t.${ident(named)}, 255)), ''), ${id})` : id,
    slug: `btrim(regexp_replace(lower(${text}), '[^a-z0-9]+', '-', 'g'), '-')`,
  };
}
