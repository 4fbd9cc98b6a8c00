/** The steps that give a table the tenant's column: filled, indexed and never null. */
import { ident, literal } from "../values/sql-names.ts";
import type { Living, Table } from "./living.ts";
import { checkOf, FILL, fillOf, indexOf, TENANCY_ID, uniqueOf } from "./names.ts";
import { indexSteps, type Step, stepsOf, when } from "./step.ts";

/** Where the tenants' key is no uuid, each tenant gets one; new tenants by default. */
export function idSteps({ keyType }: Living["tenants"], table: Table): Step[] {
  if (keyType === "uuid") return [];
  const step = stepsOf(table);
  const { relation, name, columns, required, indexes } = table;
  const unique = indexes.some(index => index.referable && index.columns.join() === TENANCY_ID);
  return [
    ...when(
      !columns.includes(TENANCY_ID),
      step("columns", `alter table ${relation} add column ${TENANCY_ID} uuid;`),
    ),
    ...when(
      !required.includes(TENANCY_ID),
      step("columns", `alter table ${relation} alter column ${TENANCY_ID} set default gen_random_uuid();`),
      step("fill", `update ${relation} set ${TENANCY_ID} = gen_random_uuid() where ${TENANCY_ID} is null;`),
    ),
    ...when(!unique, ...indexSteps(table, uniqueOf(name, [TENANCY_ID]), `(${TENANCY_ID})`, { unique: true })),
    ...notNull(table, TENANCY_ID),
  ];
}

/** With a valid check SET NOT NULL reads no rows under its lock. An earlier run may have left the check. */
function notNull(table: Table, name: string): Step[] {
  const step = stepsOf(table);
  const column = ident(name);
  const check = checkOf(table.name, name);
  const clause = `(${column} IS NOT NULL)`;
  const there = table.checks.find(one => one.name === check && one.clause === clause);
  const alter = `alter table ${table.relation}`;
  const constraint = `constraint ${ident(check)}`;
  // The column itself is NOT NULL now.
  const drop = step("constraints", `${alter} drop ${constraint};`);
  if (table.required.includes(name)) return when(there !== undefined, drop);
  return [
    ...when(
      !there,
      step("constraints", `${alter} add ${constraint} check (${column} is not null) not valid;`),
    ),
    ...when(!there?.valid, step("constraints", `${alter} validate ${constraint};`, { validates: true })),
    step("constraints", `${alter} alter column ${column} set not null;`),
    drop,
  ];
}

/** The column of a table that belongs to tenants through a parent. The old application does not set it, so a trigger fills it. */
function parentSteps({ keyType }: Living["tenants"], table: Table, of: Table): Step[] {
  const step = stepsOf(table);
  const { relation, schema, name, parent } = table;
  const [column, from] = [table, of].map(one => ident(one.tenantColumn));
  const pairs = (row: string) =>
    parent!.columns.map((own, i) => `p.${ident(parent!.parents[i]!)} = ${row}.${ident(own)}`).join(" and ");
  const fill = `${ident(schema)}.${ident(fillOf(name))}`;
  const body = `
begin
  if new.${column} is null then
    select p.${from} into new.${column} from ${of.relation} p where ${pairs("new")};
  end if;
  return new;
end
`;
  return [
    ...when(!table.column, step("columns", `alter table ${relation} add column ${column} ${keyType};`)),
    ...when(
      !table.filled,
      step(
        "columns",
        `create or replace function ${fill}() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as ${literal(body)};`,
      ),
      step("columns", `revoke all on function ${fill}() from public;`),
      step(
        "columns",
        `create trigger ${FILL} before insert on ${relation} for each row execute function ${fill}();`,
      ),
    ),
    step(
      "fill",
      `update ${relation} t set ${column} = p.${from} from ${of.relation} p where ${pairs("t")} and t.${column} is null;`,
    ),
  ];
}

/** The column, its index, and NOT NULL. */
export function columnSteps(tenants: Living["tenants"], adopted: Map<string, Table>, table: Table): Step[] {
  const { column, tenantColumn, nullable, indexes, parent } = table;
  const complete = column !== null && !nullable;
  const indexed = indexes.some(index => !index.partial && index.columns[0] === tenantColumn);
  return [
    ...(parent && !complete ? parentSteps(tenants, table, adopted.get(parent.relation)!) : []),
    ...when(!indexed, ...indexSteps(table, indexOf(table.name, [tenantColumn]), `(${ident(tenantColumn)})`)),
    ...notNull(table, tenantColumn),
  ];
}
