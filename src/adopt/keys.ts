/** Foreign keys that carry the tenant: a plain one is checked past the policies, and may lead into another tenant. */
import { ident } from "../values/sql-names.ts";
import type { Answers } from "./answers.ts";
import type { Index, Key, Living, Table } from "./living.ts";
import { keyOf, uniqueOf } from "./names.ts";
import { tenantColumn } from "./rows.ts";
import type { Step } from "./step.ts";
import { globalKeys } from "./treat.ts";

const ACTIONS: Record<string, string> = { c: "cascade", r: "restrict", n: "set null", d: "set default" };

export interface KeyPlan {
  steps: Step[];
  /** What one may drop by hand once the plan was carried out. */
  later: string[];
}

/** `adopted`: the tables whose rows have a tenant's column, those of this plan included. `chosen`: those of this plan. */
export function keySteps(living: Living, adopted: Map<string, Table>, chosen: Set<string>): KeyPlan {
  const steps = new Map<string, Step>();
  const later: string[] = [];
  const add = (step: Step) => steps.set(step.sql, step);
  for (const key of living.keys) {
    const [child, parent] = [adopted.get(key.child), adopted.get(key.parent)];
    if (!child || !parent || key.parent === living.tenants.relation) continue;
    const [own, theirs] = [tenantColumn(living, child), tenantColumn(living, parent)];
    if (key.columns.some((column, i) => column === own && key.parents[i] === theirs)) continue;
    if (key.columns.includes(own) || /[nd]/.test(key.onUpdate)) continue; // it means something else: the audit names it
    const twin = living.keys.find(one => isTwin(one, key, own, theirs));
    const drop = `alter table ${key.child} drop constraint ${ident(key.name)};`;
    if (twin?.valid) later.push(drop);
    if (twin?.valid || !(chosen.has(key.child) || chosen.has(key.parent))) continue;
    later.push(drop);
    const unique = [theirs, ...key.parents];
    if (!parent.indexes.some(index => index.referable && sameColumns(index.columns, unique)))
      add({
        phase: "indexes",
        table: parent.relation,
        as: parent.owner,
        sql: `create unique index concurrently ${ident(uniqueOf(parent.name, unique))} on ${parent.relation} (${unique.map(ident).join(", ")});`,
      });
    const name = twin?.name ?? keyOf(key.name);
    const constraint = (sql: string) =>
      add({
        phase: "constraints",
        table: child.relation,
        as: child.owner,
        sql: `alter table ${child.relation} ${sql};`,
      });
    if (!twin) constraint(`add constraint ${ident(name)} ${withTenant(key, own, theirs)} not valid`);
    constraint(`validate constraint ${ident(name)}`);
  }
  return { steps: [...steps.values()], later };
}

function isTwin(one: Key, key: Key, own: string, theirs: string) {
  const pairs = (of: Key) => of.columns.map((column, i) => `${column} ${of.parents[i]}`);
  return (
    one.child === key.child &&
    one.parent === key.parent &&
    sameColumns(pairs(one), [...pairs(key), `${own} ${theirs}`])
  );
}

const sameColumns = (some: readonly (string | null)[], others: readonly string[]) =>
  some.length === others.length && others.every(name => some.includes(name));

function withTenant(
  { columns, parents, parent, onDelete, onUpdate, sets, deferrable }: Key,
  own: string,
  theirs: string,
) {
  const list = (names: string[]) => names.map(ident).join(", ");
  const set = /[nd]/.test(onDelete) ? ` (${list(sets.length > 0 ? sets : columns)})` : "";
  return (
    [
      `foreign key (${list([own, ...columns])}) references ${parent} (${list([theirs, ...parents])})`,
      ...(ACTIONS[onDelete] ? [`on delete ${ACTIONS[onDelete]}${set}`] : []),
      ...(ACTIONS[onUpdate] ? [`on update ${ACTIONS[onUpdate]}`] : []),
    ].join(" ") + deferrable
  );
}

/** Unique keys of which a person said that two tenants may have the same value. */
export function uniqueSteps(living: Living, { keys = {} }: Answers, table: Table): KeyPlan {
  const column = tenantColumn(living, table);
  const steps: Step[] = [];
  const later: string[] = [];
  for (const index of globalKeys(living.keys, table)) {
    if (keys[index.name] !== "tenant") continue;
    later.push(
      `drop index ${index.name}; -- or its constraint: alter table ${table.relation} drop constraint …`,
    );
    const carrying = `(${ident(column)}, ${index.keys.slice(1)}`;
    const isThere = (one: Index) =>
      one.unique &&
      (one.keys === carrying || (one.referable && one.columns.join() === [column, ...index.columns].join()));
    if (table.indexes.some(isThere)) continue;
    steps.push({
      phase: "indexes",
      table: table.relation,
      as: table.owner,
      sql: `create unique index concurrently ${ident(keyOf(index.relname))} on ${table.relation} using ${index.method} ${carrying};`,
    });
  }
  return { steps, later };
}
