/** The tenants' table, and its rows in app.tenants. */
import { ident } from "../values/sql-names.ts";
import type { Living } from "./living.ts";
import type { Step } from "./step.ts";

/** Copies the tenants that app.tenants lacks. It may run again whenever there may be new ones. */
export function tenantSteps(living: Living, name: string, slug: string): Step[] {
  if (living.uncopied === 0) return [];
  const { relation } = living.tenants;
  const id = ident(living.tenants.id);
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
