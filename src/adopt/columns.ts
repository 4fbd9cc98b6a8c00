/** The steps that give a table the tenant's column: filled, indexed and never null. */
import { ident, literal } from "../values/sql-names.ts";
import type { Living, Table } from "./living.ts";
import { checkOf, FILL, fillOf, indexOf, TENANCY_ID, uniqueOf } from "./names.ts";
import { indexStep, type Step, stepsOf } from "./step.ts";
import { tenantColumn } from "./tenants.ts";

/** A uuid for each tenant, where the key of the table is none. New tenants get one by default. */
export function idSteps(living: Living, table: Table): Step[] {
  if (living.tenants.keyType === "uuid") return [];
  const step = stepsOf(table);
  const { relation, name, columns, required, indexes } = table;
  const complete = required.includes(TENANCY_ID);
  const unique = indexes.some(index => index.referable && index.columns.join() === TENANCY_ID);
  return [
    ...(columns.includes(TENANCY_ID)
      ? []
      : [step("columns", `alter table ${relation} add column ${TENANCY_ID} uuid;`)]),
    ...(complete
      ? []
      : [
          step(
            "columns",
            `alter table ${relation} alter column ${TENANCY_ID} set default gen_random_uuid();`,
          ),
          step(
            "fill",
            `update ${relation} set ${TENANCY_ID} = gen_random_uuid() where ${TENANCY_ID} is null;`,
          ),
        ]),
    ...(unique ? [] : [indexStep(table, uniqueOf(name, [TENANCY_ID]), `(${TENANCY_ID})`, { unique: true })]),
    ...notNull(table, TENANCY_ID),
  ];
}

/** With a valid check SET NOT NULL reads no rows under its lock. An earlier run may have left the check. */
function notNull(table: Table, column: string): Step[] {
  const step = stepsOf(table);
  const check = checkOf(table.name, column);
  const clause = `(${ident(column)} IS NOT NULL)`;
  const there = table.checks.find(one => one.name === check && one.clause === clause);
  const alter = `alter table ${table.relation}`;
  // The column itself is NOT NULL now.
  const drop = step("constraints", `${alter} drop constraint ${ident(check)};`);
  if (table.required.includes(column)) return there ? [drop] : [];
  return [
    ...(there
      ? []
      : [
          step(
            "constraints",
            `${alter} add constraint ${ident(check)} check (${ident(column)} is not null) not valid;`,
          ),
        ]),
    ...(there?.valid
      ? []
      : [step("constraints", `${alter} validate constraint ${ident(check)};`, { validates: true })]),
    step("constraints", `${alter} alter column ${ident(column)} set not null;`),
    drop,
  ];
}

/** The column of a table that belongs to tenants through a parent. The old application does not set it, so a trigger fills it. */
function parentSteps(living: Living, table: Table): Step[] {
  const step = stepsOf(table);
  const { relation, schema, name, parent } = table;
  const column = ident(tenantColumn(living, table));
  const of = living.tables.find(one => one.relation === parent!.relation)!;
  const from = ident(tenantColumn(living, of));
  const pairs = (row: string) =>
    parent!.columns.map((own, i) => `p.${ident(parent!.parents[i]!)} = ${row}.${ident(own)}`).join(" and ");
  const fill = `${ident(schema)}.${ident(fillOf(name))}`;
  const body = `
begin
  if new.${column} is null then
    select p.${from} into new.${column} from ${parent!.relation} p where ${pairs("new")};
  end if;
  return new;
end
`;
  return [
    ...(table.column
      ? []
      : [step("columns", `alter table ${relation} add column ${column} ${living.tenants.keyType};`)]),
    ...(table.filled
      ? []
      : [
          step(
            "columns",
            `create or replace function ${fill}() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as ${literal(body)};`,
          ),
          step("columns", `revoke all on function ${fill}() from public;`),
          step(
            "columns",
            `create trigger ${FILL} before insert on ${relation} for each row execute function ${fill}();`,
          ),
        ]),
    step(
      "fill",
      `update ${relation} t set ${column} = p.${from} from ${parent!.relation} p where ${pairs("t")} and t.${column} is null;`,
    ),
  ];
}

/** The column, its index, and NOT NULL. */
export function columnSteps(living: Living, table: Table): Step[] {
  const column = tenantColumn(living, table);
  const isTenants = table.relation === living.tenants.relation;
  const complete = table.column !== null && !table.nullable;
  const indexed = table.indexes.some(index => !index.partial && index.columns[0] === column);
  return [
    ...(table.parent && !complete ? parentSteps(living, table) : []),
    ...(indexed || isTenants ? [] : [indexStep(table, indexOf(table.name, [column]), `(${ident(column)})`)]),
    ...notNull(table, column),
  ];
}
