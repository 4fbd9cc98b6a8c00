/** The plan: the treatment of each table, the steps, and the questions. */
import { StartupError } from "../errors/startup-error.ts";
import { plainLines } from "../values/printable.ts";
import { ident } from "../values/sql-names.ts";
import type { Answers } from "./answers.ts";
import { columnSteps, idSteps } from "./columns.ts";
import { keySteps, uniqueSteps } from "./keys.ts";
import type { Living, Table } from "./living.ts";
import { isAdopted } from "./names.ts";
import { policySteps } from "./policies.ts";
import type { Question } from "./questions.ts";
import { type Later, PHASES, type Phase, type Step, when } from "./step.ts";
import { nameAndSlug, tenantSteps } from "./tenants.ts";
import { ADOPTED, type Treatment, treat } from "./treat.ts";

export interface Plan {
  living: Living;
  treatments: Map<string, Treatment>;
  questions: Question[];
  /** As adopt.json has them. */
  bridges: Record<string, string>;
  /** The bridges whose last day is not over. */
  open: Record<string, string>;
  /** SQL over a row t of the tenants' table. */
  name: string;
  slug: string;
  /** The tables of this plan, each after its parent. */
  chosen: Table[];
  /** The tables with a tenant's column after the plan. */
  adopted: Map<string, Table>;
  steps: Step[];
  later: Later[];
}

/** @param only The tables to adopt now; null: all */
export function makePlan(living: Living, answers: Answers, only: string[] | null): Plan {
  const { treatments, questions, bridges, open } = treat(living, answers);
  const chosen = inOrder(choose(living, treatments, only));
  const names = new Set(chosen.map(({ relation }) => relation));
  const isRows = ({ relation }: Table) => treatments.get(relation) === "rows";
  const rows = chosen.filter(isRows);
  const adopted = new Map(
    living.tables
      .filter(table => isRows(table) && (names.has(table.relation) || isAdopted(table)))
      .map(table => [table.relation, table]),
  );
  const { name, slug } = { ...nameAndSlug(living), ...answers };
  const keys = keySteps(adopted, names);
  const uniques = rows.map(table => uniqueSteps(answers, table));
  const steps = [
    ...roleSteps(living, chosen),
    ...chosen
      .filter(({ relation }) => treatments.get(relation) === "tenants")
      .flatMap(table => idSteps(living.tenants, table)),
    ...rows.flatMap(table => columnSteps(living.tenants, adopted, table)),
    ...uniques.flatMap(plan => plan.steps),
    ...keys.steps,
    ...tenantSteps(living, name, slug),
    ...chosen.flatMap(table => policySteps(living, table, treatments.get(table.relation)!, open)),
  ];
  refuseUnprintable(steps);
  const order = Object.keys(PHASES) as Phase[];
  return {
    living,
    treatments,
    questions: questions.filter(({ about, in: where }) => !only || where === "keys" || names.has(about)),
    bridges,
    open,
    name,
    slug,
    chosen,
    adopted,
    steps: steps.toSorted((a, b) => order.indexOf(a.phase) - order.indexOf(b.phase)),
    // A foreign key depends on the unique key to which it refers.
    later: [...keys.later, ...uniques.flatMap(one => one.later)],
  };
}

/** The printed plan escapes such characters, and would name something else. @throws StartupError */
function refuseUnprintable(steps: Step[]) {
  const step = steps.find(({ sql }) => plainLines(sql) !== sql);
  if (step)
    throw new StartupError(
      `A name in this statement has a character that cannot be printed. Rename it first: ${step.sql.split("\n")[0]}`,
    );
}

/** @throws StartupError if a named table cannot be adopted now */
function choose(living: Living, treatments: Map<string, Treatment>, only: string[] | null): Table[] {
  const can = living.tables.filter(({ relation }) =>
    [...ADOPTED, "shared"].includes(treatments.get(relation)!),
  );
  if (!only) return can;
  const wrong = only.filter(name => !can.some(({ relation }) => relation === name));
  if (wrong.length > 0)
    throw new StartupError(
      `--tables names ${wrong.join(", ")}, which cannot be adopted now. These can: ${can.map(({ relation }) => relation).join(", ")}`,
    );
  // Policies of the other tables may read the tenants' table.
  const chosen = can.filter(
    ({ relation }) => only.includes(relation) || treatments.get(relation) === "tenants",
  );
  for (const { relation, parent } of chosen) {
    const needs = treatments.get(relation) === "people" ? living.membership!.relation : parent?.relation;
    const before = can.find(one => one.relation === needs);
    if (before && !only.includes(before.relation) && !isAdopted(before))
      throw new StartupError(
        `${relation} belongs to a tenant through ${before.relation}: add that table, or adopt it first`,
      );
  }
  return chosen;
}

/** Each after its parent. Two tables may be each other's parents. */
function inOrder(tables: Table[]): Table[] {
  const left = new Map(tables.map(table => [table.relation, table]));
  const sorted: Table[] = [];
  while (left.size > 0) {
    const all = [...left.values()];
    const next = all.find(({ parent }) => !parent || !left.has(parent.relation)) ?? all[0]!;
    sorted.push(next);
    left.delete(next.relation);
  }
  return sorted;
}

function roleSteps(living: Living, chosen: Table[]): Step[] {
  const { role, roleExists, enters, usable, policyMakers } = living;
  const to = ident(role);
  const step = (sql: string): Step => ({ phase: "roles", table: null, as: null, sql });
  const owners = new Set(chosen.map(({ owner }) => owner).filter(owner => !policyMakers.includes(owner)));
  const schemas = new Set(chosen.map(({ schema }) => schema).filter(schema => !usable.includes(schema)));
  return [
    ...when(!roleExists, step(`create role ${to} nologin;`)),
    ...when(!enters, step(`grant tms_app to ${to};`)),
    ...[...schemas].map(schema => step(`grant usage on schema ${ident(schema)} to ${to};`)),
    // CREATE POLICY needs the right to use app.tenant_id().
    ...[...owners].map(owner => step(`grant usage on schema app to ${ident(owner)};`)),
  ];
}
