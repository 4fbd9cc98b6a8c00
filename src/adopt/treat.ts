/** What becomes of each table, and what a person must say first. */
import { ident } from "../values/sql-names.ts";
import { type Answers, KEY_ANSWERS, TABLE_ANSWERS } from "./answers.ts";
import { bridgesOf, openBridges, withoutBridge } from "./bridges.ts";
import { actionOf, overwritten, thatKeeps } from "./foreign-key.ts";
import { askKeys } from "./global-keys.ts";
import type { Living, Table } from "./living.ts";
import { isAdopted, isOurs } from "./names.ts";

/** `rows`: a policy names the tenant of each row. `open`: somebody must answer first. */
export type Treatment = "tenants" | "rows" | "people" | "shared" | "closed" | "open";

export interface Question {
  /** Where the answer goes in adopt.json: adopt.tables or adopt.keys. Null: it is answered in the database. */
  in: "tables" | "keys" | null;
  about: string;
  asks: string;
  /** What may be answered. */
  answers: string[];
  /** Whether its table waits for the answer. */
  waits: boolean;
}

/** What gets a policy for its rows. */
export const ADOPTED: Treatment[] = ["tenants", "rows", "people"];

export interface Treated {
  treatments: Map<string, Treatment>;
  questions: Question[];
  bridges: Record<string, string>;
}

export function treat(living: Living, answers: Answers): Treated {
  const treatments = new Map<string, Treatment>();
  const questions: Question[] = [];
  for (const table of living.tables) {
    const { treatment, question } = judge(living, answers, table);
    treatments.set(table.relation, question?.waits ? "open" : treatment);
    if (question) questions.push(question);
  }
  // A table that waits is adopted later: its logins need their bridges then.
  const bridges = bridgesOf(
    living,
    answers,
    living.tables.filter(({ relation }) => !["shared", "closed"].includes(treatments.get(relation)!)),
  );
  const open = openBridges(bridges, living.today);
  for (const table of living.tables) {
    const { relation } = table;
    // Of a table that was adopted before, the plan closes the bridges.
    if (!ADOPTED.includes(treatments.get(relation)!) || isAdopted(table)) continue;
    const logins = withoutBridge(living, table, open);
    if (logins.length === 0) continue;
    treatments.set(relation, "open");
    questions.push(ask(null, relation, stranded(relation, logins)));
  }
  // What belongs to a tenant through a parent waits for that one.
  for (let changed = true; changed; ) {
    changed = false;
    for (const { relation, parent } of living.tables) {
      const of = parent && treatments.get(parent.relation);
      if (!of || of === "rows" || treatments.get(relation) !== "rows") continue;
      treatments.set(relation, "open");
      questions.push(
        ask(
          "tables",
          relation,
          `belongs to a tenant through ${parent.relation}, which is ${of}`,
          "closed",
          "shared",
        ),
      );
      changed = true;
    }
  }
  // All policies lead to the tenants' table.
  if (treatments.get(living.tenants.relation) !== "tenants")
    for (const [relation, treatment] of treatments)
      if (treatment === "rows" || treatment === "people") treatments.set(relation, "open");
  for (const table of living.tables)
    if (treatments.get(table.relation) === "rows") questions.push(...askKeys(living.keys, answers, table));
  return { treatments, questions, bridges };
}

const ask = (where: Question["in"], about: string, asks: string, ...answers: string[]): Question => ({
  in: where,
  about,
  asks,
  answers,
  waits: true,
});

function judge(
  living: Living,
  { tables = {} }: Answers,
  table: Table,
): { treatment: Treatment; question?: Question } {
  const { relation, granted, via } = table;
  const answer = tables[relation] ?? undefined;
  const treatment = answer === "required" ? "rows" : (answer ?? ofClass(living, table));
  const open = (asks: string, ...more: string[]) => ({
    treatment,
    question: ask("tables", relation, asks, ...more),
  });
  const inDatabase = (asks: string) => ({ treatment, question: ask(null, relation, asks) });
  if (treatment === "closed") return { treatment };
  if (treatment === "open")
    switch (table.class) {
      case "nullable":
        return open(nullable(living, table), "required", "closed", "shared");
      case "of people":
        return open(`is of people (${via}), and of no tenant`, "closed", "shared");
      case "optional parent":
        return open(
          `refers to ${via} by a key that may be null, so nothing says whose a row is`,
          "closed",
          "shared",
        );
      case "people":
        return open("has people, and no table says which tenants they belong to", "closed", "shared");
      default:
        return open(
          via ? `is shared? It has no tenant, and ${via} refer to it` : "refers to no tenant",
          "shared",
          "closed",
        );
    }
  if (answer === "people" && living.membership?.people !== relation)
    return open(
      `cannot be people: ${living.membership ? `the members are of ${living.membership.people}` : "no table has the members"}`,
      "closed",
      "shared",
    );
  if (treatment === "rows" && table.column && table.nullable && !table.parent && table.homeless > 0)
    return inDatabase(
      `has ${table.homeless} rows without a tenant: fill ${table.column}, or delete them, and plan again`,
    );
  const { column } = table;
  const unsets = living.keys.find(
    key => key.child === relation && column !== null && overwritten(key).includes(column),
  );
  if (treatment === "rows" && unsets)
    return inDatabase(
      `loses its tenant by the key ${unsets.name} (ON DELETE ${actionOf(unsets.onDelete).toUpperCase()}). ${thatKeeps(column!, unsets)}`,
    );
  if (treatment === "rows" && table.partitioned)
    return inDatabase(
      "is partitioned: its indexes cannot be made concurrently, and each partition needs policies of its own. Isolate it by hand",
    );
  if (treatment !== "shared" && granted.includes(""))
    return inDatabase(
      `gives privileges to PUBLIC, and so to ${living.role}. Grant them to the logins that need them, then revoke them:\n` +
        `    grant … on table ${relation} to …; revoke all on table ${relation} from public;`,
    );
  const foreign = table.policies.filter(policy => isForRequests(policy, living.role)).map(({ name }) => name);
  if (treatment !== "shared" && foreign.length > 0)
    return inDatabase(
      `has policies of its own (${foreign.join(", ")}): adopt leaves them alone. Drop them, or answer "closed" and judge them by tenancy audit`,
    );
  return { treatment };
}

function ofClass({ membership }: Living, { class: of, relation }: Table): Treatment {
  if (of === "tenants") return "tenants";
  if (of === "direct" || of === "parent") return "rows";
  if (of === "migrations") return "closed";
  return of === "people" && membership?.people === relation ? "people" : "open";
}

function nullable({ keys, tenants }: Living, { relation, column, homeless }: Table) {
  const pointer = keys.some(
    key => key.child === relation && key.parent === tenants.relation && overwritten(key).includes(column!),
  );
  return (
    `has ${column}, which may be null, and is in ${homeless} rows` +
    (pointer ? "; it is set to null as the tenant goes, so it may only point to one" : "")
  );
}

const stranded = (relation: string, logins: string[]) =>
  `gives privileges to ${logins.join(", ")}, and no bridge is open for ${logins.length > 1 ? "them" : "it"}. ` +
  'Name a last day in "adopt": {"bridges": …}, or revoke:\n' +
  `    revoke all on table ${relation} from ${logins.map(ident).join(", ")};`;

/** A policy of the product's own that would count for requests, too. One for another login is that one's matter. */
const isForRequests = ({ name, roles }: Table["policies"][number], role: string) =>
  !isOurs(name) && (roles.length === 0 || roles.includes(role) || roles.includes("tms_app"));

export const explained = (answer: string) =>
  ({ ...TABLE_ANSWERS, ...KEY_ANSWERS })[answer as keyof typeof TABLE_ANSWERS | keyof typeof KEY_ANSWERS];
