/** Keys that carry the tenant. A foreign key without it is checked past the policies, and may lead into another tenant. */
import { ident } from "../values/sql-names.ts";
import type { Answers } from "./answers.ts";
import { foreignKey, names, overwrites, overwritten } from "./foreign-key.ts";
import type { Index, Key, Table } from "./living.ts";
import { keyOf, uniqueOf } from "./names.ts";
import { indexSteps, type Later, type Step, stepsOf } from "./step.ts";

interface KeyPlan {
  steps: Step[];
  later: Later[];
}

/** `adopted`: the tables whose rows have a tenant's column, those of this plan included. `chosen`: those of this plan. */
export function keySteps(adopted: Map<string, Table>, chosen: Set<string>): KeyPlan {
  const steps = new Map<string, Step>();
  const later: Later[] = [];
  const add = (...more: Step[]) => {
    for (const step of more) steps.set(step.sql, step);
  };
  for (const child of adopted.values())
    for (const key of child.keys) {
      const parent = adopted.get(key.parent);
      if (!parent) continue;
      const [own, theirs] = [child.tenantColumn, parent.tenantColumn];
      if (key.columns.some((column, i) => column === own && key.parents[i] === theirs)) continue;
      if (key.columns.includes(own) || overwrites(key.onUpdate)) continue; // the tenant's column has another meaning in it: the audit reports it
      const twin = child.keys.find(one => isTwin(one, key, own, theirs));
      if (!twin?.valid && !(chosen.has(child.relation) || chosen.has(parent.relation))) continue;
      later.push({ sql: dropOf(child, key), key });
      if (twin?.valid) continue;
      const unique = [theirs, ...key.parents];
      if (!parent.indexes.some(index => index.referable && sameColumns(index.columns, unique)))
        add(...indexSteps(parent, uniqueOf(parent.name, unique), `(${names(unique)})`, { unique: true }));
      const name = twin?.name ?? keyOf(key.name);
      const step = stepsOf(child);
      const alter = `alter table ${child.relation}`;
      if (!twin)
        add(
          step(
            "constraints",
            `${alter} add constraint ${ident(name)} ${withTenant(key, own, theirs)} not valid;`,
            { key: name, ...(key.onUpdate !== "c" && { holds: key.parent }) },
          ),
        );
      add(step("constraints", `${alter} validate constraint ${ident(name)};`, { validates: true }));
    }
  return { steps: [...steps.values()], later };
}

/** The successor cannot be MATCH FULL, since its tenant is never null. A check keeps the old key's rule for the other columns. */
const dropOf = ({ relation }: Table, { name, full, columns }: Key) =>
  `alter table ${relation} drop constraint ${ident(name)}` +
  (full && columns.length > 1
    ? `, add check (num_nulls(${names(columns)}) in (0, ${columns.length})) not valid;`
    : ";");

/** It has the same actions: a key with others could delete rows that the old one keeps. */
function isTwin(one: Key, key: Key, own: string, theirs: string) {
  const pairs = (of: Key) => of.columns.map((column, i) => `${column} ${of.parents[i]}`);
  return (
    one.parent === key.parent &&
    one.onDelete === key.onDelete &&
    one.onUpdate === key.onUpdate &&
    sameColumns(overwritten(one), overwritten(key)) &&
    sameColumns(pairs(one), [...pairs(key), `${own} ${theirs}`])
  );
}

const sameColumns = (some: readonly (string | null)[], others: readonly string[]) =>
  some.length === others.length && others.every(name => some.includes(name));

const withTenant = (key: Key, own: string, theirs: string) =>
  foreignKey({
    ...key,
    columns: [own, ...key.columns],
    parents: [theirs, ...key.parents],
    full: false,
    sets: overwritten(key),
  });

/**
 * The unique keys of a table by which one tenant can learn that another has a value. A key with a column that refers to a row of one
 * tenant, or to a person, reveals nothing.
 */
export const globalKeys = ({ relation, tenantColumn, indexes, keys }: Table): Index[] =>
  indexes.filter(
    ({ unique, guessable, columns }) =>
      unique &&
      guessable &&
      !columns.includes(tenantColumn) &&
      !keys.some(
        ({ columns: own, parent, hidden }) =>
          hidden && parent !== relation && own.some(name => columns.includes(name)),
      ),
  );

/** For the unique keys that were answered "tenant". */
export function uniqueSteps({ keys = {} }: Answers, table: Table): KeyPlan {
  const { tenantColumn: column } = table;
  const steps: Step[] = [];
  const later: Later[] = [];
  for (const index of globalKeys(table)) {
    if (keys[index.name] !== "tenant") continue;
    const { name, relname, constraint, method, primary } = index;
    const columns = `(${ident(column)}, ${index.keys.slice(1)}`;
    const isThere = (one: Index) =>
      one.unique &&
      !(primary && one.constraint) &&
      (one.keys === columns || (one.referable && one.columns.join() === [column, ...index.columns].join()));
    const there = table.indexes.find(isThere);
    if (!there) steps.push(...indexSteps(table, keyOf(relname), columns, { unique: true, method }));
    const successor = ident(there?.relname ?? keyOf(relname));
    const add = primary ? `, add constraint ${ident(constraint!)} primary key using index ${successor}` : "";
    const drop = constraint
      ? `alter table ${table.relation} drop constraint ${ident(constraint)}${add};`
      : `drop index ${name};`;
    later.push({ sql: drop, index });
  }
  return { steps, later };
}
