/** Statements whose result changes by the plan: those of the old application, and those of the backend that enters tenants. */
import { ident } from "../values/sql-names.ts";
import { names } from "./foreign-key.ts";
import { globalKeys } from "./keys.ts";
import type { Table } from "./living.ts";
import type { Plan } from "./plan.ts";

interface Meaning {
  statement: string;
  becomes: string;
}
type Add = (statement: string, becomes: string) => void;

export function meaningsOf(plan: Plan): Meaning[] {
  const { living, chosen, treatments } = plan;
  const rows = chosen.filter(({ relation }) => treatments.get(relation) === "rows");
  const found: Meaning[] = [];
  const add: Add = (statement, becomes) => found.push({ statement, becomes });
  addOldApplication(add, plan, rows);
  if (chosen.length > 0) addRequests(add, plan, rows);
  for (const table of rows) addKeys(add, plan, table);
  for (const view of living.views)
    add(
      `select from the view ${view}`,
      `reads with the rights of the view's owner. Before you grant it to requests: alter view ${view} set (security_invoker = true)`,
    );
  return found;
}

/** While its bridge is open, its other statements do what they did. */
function addOldApplication(add: Add, { living, open, steps }: Plan, rows: Table[]) {
  for (const { relation, parent, nullable, column, tenantColumn } of rows)
    if (parent && (!column || nullable))
      add(
        `insert into ${relation} … without ${ident(tenantColumn)}`,
        `a trigger copies it from ${parent.relation}; select * returns one more column`,
      );
  for (const { relation, parent, nullable, tenantColumn } of rows)
    if (nullable && !parent)
      add(`insert into ${relation} … without ${ident(tenantColumn)}, or with null`, "fails (23502)");
  for (const { table, key, holds } of steps) {
    if (key === undefined) continue;
    add(
      `insert or update of ${table} that refers to a row of another tenant (${ident(key)})`,
      "fails (23503)",
    );
    if (holds)
      add(
        `update of the tenant of a row of ${holds} to which rows of ${table} refer (${ident(key)})`,
        "fails (23503)",
      );
  }
  const [first, ...others] = steps.filter(step => step.protects).map(({ table }) => table!);
  if (first) {
    const also = others.length > 0 ? ` (and of ${others.length} more tables)` : "";
    const logins = Object.keys(open).map(ident).join(", ");
    add(
      `copy ${first} from …, or pg_dump, by a login that does not own the table${also}`,
      "fails: copy with 0A000, use insert; pg_dump with 42501, dump as the owner or with BYPASSRLS",
    );
    add(
      `any statement on ${first}${also} by a role other than ${[living.role, logins].filter(Boolean).join(", ")}, superusers and roles with BYPASSRLS`,
      "finds no row and writes none",
    );
  }
  for (const { table, revokes = [] } of steps)
    for (const role of revokes)
      add(`any statement of ${ident(role)} on ${table}`, "fails (42501): it has no open bridge");
}

/** Of the backend that becomes the role and enters a tenant. */
function addRequests(add: Add, { living, chosen, treatments }: Plan, rows: Table[]) {
  const { role, tenants } = living;
  const as = `as ${ident(role)}:`;
  const of = (treatment: string) =>
    chosen.filter(({ relation }) => treatments.get(relation) === treatment).map(({ relation }) => relation);
  const [plain, ...others] = rows.filter(({ parent }) => !parent);
  add(
    `${as} select, update, delete without a tenant`,
    "finds no row and raises no error; with app.require_tenant = on it raises TM428",
  );
  add(
    `${as} select, update, delete without a condition on the tenant`,
    "finds only the rows of the tenant that was entered",
  );
  if (plain)
    add(
      `${as} insert into ${plain.relation} … without ${ident(plain.tenantColumn)}, or with another tenant's${others.length > 0 ? ` (and into ${others.length} more tables)` : ""}`,
      "fails (42501)",
    );
  add(`${as} insert into ${tenants.relation}, delete from ${tenants.relation}, truncate`, "fails (42501)");
  for (const name of of("people"))
    add(`${as} select from ${name}`, "finds the members of the tenant; writes fail (42501)");
  for (const name of of("shared")) add(`${as} select from ${name}`, "finds every row; writes fail (42501)");
}

function addKeys(add: Add, { living, later }: Plan, table: Table) {
  for (const index of globalKeys(table)) {
    const columns = index.columns.filter(column => column !== null);
    const isPlain = columns.length === index.columns.length && !index.partial;
    const target = isPlain ? `(${names(columns)})` : index.keys;
    const insert = `insert into ${table.relation} …`;
    if (later.some(one => one.index === index))
      add(
        `${insert} on conflict ${target}`,
        `fails (42P10) once ${index.name} is dropped: use on conflict (${ident(table.tenantColumn)}, ${target.slice(1)}`,
      );
    else
      add(
        `as ${ident(living.role)}: ${insert} with a value of ${target} that another tenant has`,
        "fails (23505); on conflict do nothing adds no row; on conflict do update fails (42501)",
      );
  }
}
