/** The treatment of each table, and the questions that a person must answer first. */
import { ident } from "../values/sql-names.ts";
import { type Answers, KEY_ANSWERS, TABLE_ANSWERS } from "./answers.ts";
import { bridgesOf, openBridges, withoutBridge } from "./bridges.ts";
import { actionOf, overwritten, thatKeeps } from "./foreign-key.ts";
import { askKeys } from "./global-keys.ts";
import type { Living, Table } from "./living.ts";
import { isAdopted, isOurs } from "./names.ts";

/** `rows`: a policy compares the tenant of each row. `open`: the table waits for an answer. */
export type Treatment = "tenants" | "rows" | "people" | "shared" | "closed" | "open";

export interface Question {
  /** The place of the answer in adopt.json: adopt.tables or adopt.keys. Null: a person changes the database instead. */
  in: "tables" | "keys" | null;
  about: string;
  asks: string;
  /** The possible answers. */
  answers: string[];
  /** The table waits for the answer. */
  waits: boolean;
}

/** The treatments that add policies. */
export const ADOPTED: Treatment[] = ["tenants", "rows", "people"];

interface Treated {
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
  // A table that waits counts too: its logins need their bridges once it is adopted.
  const bridges = bridgesOf(
    living,
    answers,
    living.tables.filter(({ relation }) => !["shared", "closed"].includes(treatments.get(relation)!)),
  );
  const open = openBridges(bridges, living.today);
  for (const table of living.tables) {
    const { relation } = table;
    // The plan closes bridges only on tables that were adopted before.
    if (!ADOPTED.includes(treatments.get(relation)!) || isAdopted(table)) continue;
    const logins = withoutBridge(living, table, open);
    const blind = table.blind.filter(name => Object.hasOwn(open, name));
    if (logins.length === 0 && blind.length === 0) continue;
    treatments.set(relation, "open");
    const asks = logins.length > 0 ? stranded(relation, logins) : cannotFill(table, blind);
    questions.push(ask(null, relation, asks));
  }
  // A table that belongs to tenants through a parent waits for the parent, and people for the table of members.
  for (let changed = true; changed; ) {
    changed = false;
    for (const { relation, parent } of living.tables) {
      const treatment = treatments.get(relation)!;
      const through =
        treatment === "people" ? living.membership!.relation : treatment === "rows" && parent?.relation;
      const of = through && treatments.get(through);
      if (!of || of === "rows") continue;
      treatments.set(relation, "open");
      questions.push(
        ask(
          "tables",
          relation,
          `belongs to a tenant through ${through}, which ${of === "open" ? "waits" : `is ${of}`}`,
          "closed",
          "shared",
        ),
      );
      changed = true;
    }
  }
  // All policies depend on the tenants' table.
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
  const { relation, via } = table;
  const answer = tables[relation] ?? undefined;
  const treatment = answer === "required" ? "rows" : (answer ?? ofClass(living, table));
  const open = (asks: string, ...more: string[]) => ({
    treatment,
    question: ask("tables", relation, asks, ...more),
  });
  const inDatabase = (asks: string) => ({ treatment, question: ask(null, relation, asks) });
  const reached = reachedByRequests(living, treatment, table);
  if (treatment === "closed") return reached ? inDatabase(reached) : { treatment };
  if (treatment === "open")
    switch (table.class) {
      case "nullable":
        return open(nullable(living, table), "required", "closed", "shared");
      case "of people":
        return open(`refers to people (${via}) and to no tenant`, "closed", "shared");
      case "optional parent":
        return open(
          `refers to ${via} by a key that may be null, so a row may belong to no tenant`,
          "closed",
          "shared",
        );
      case "people":
        return open("holds people, and no table says which tenants they belong to", "closed", "shared");
      default:
        return open(
          via ? `refers to no tenant, and ${via} refer to it: is it shared?` : "refers to no tenant",
          "shared",
          "closed",
        );
    }
  if (answer === "people" && living.membership?.people !== relation)
    return open(
      `cannot be "people": ${living.membership ? `the members are rows of ${living.membership.people}` : "no table has the members"}`,
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
      "is partitioned: Postgres makes no index on it concurrently, and each partition needs policies of its own. Isolate it by hand",
    );
  if (reached) return inDatabase(reached);
  const foreign = table.policies.filter(policy => isForRequests(policy, living.role)).map(({ name }) => name);
  if (treatment !== "shared" && foreign.length > 0)
    return inDatabase(
      `has policies of its own (${foreign.join(", ")}): adopt does not change them. Drop them, or answer "closed" and check the table with tenancy audit`,
    );
  return { treatment };
}

/** Privileges on a table that requests have, and that its treatment does not give them. */
function reachedByRequests({ role }: Living, treatment: Treatment, { relation, granted, writers }: Table) {
  const isShared = treatment === "shared";
  const requests = treatment === "closed" || isShared ? ["", "tms_app", role] : [""];
  const found = (isShared ? writers : granted).filter(name => requests.includes(name));
  if (found.length === 0) return null;
  const names = found.map(name => (name === "" ? "public" : ident(name))).join(", ");
  return (
    `gives ${isShared ? "privileges to write" : "privileges"} to ${names.replace("public", "PUBLIC")}, and so to requests. ` +
    "Grant them to the logins that need them, then revoke them:\n" +
    `    grant … on table ${relation} to …; revoke ${isShared ? "insert, update, delete, truncate" : "all"} on table ${relation} from ${names};`
  );
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
    `has ${column}, which may be null and is null in ${homeless} rows` +
    (pointer ? "; deleting a tenant sets it to null, so it may only be a reference" : "")
  );
}

const stranded = (relation: string, logins: string[]) =>
  `gives privileges to ${logins.join(", ")}, and no bridge is open for ${logins.length > 1 ? "them" : "it"}. ` +
  'Name a last day in "adopt": {"bridges": …}, or revoke:\n' +
  `    revoke all on table ${relation} from ${logins.map(ident).join(", ")};`;

const cannotFill = ({ parent }: Table, logins: string[]) =>
  `gets its tenant from ${parent!.relation}, which ${logins.join(", ")} may not read: inserts would fail (42501). Grant it:\n` +
  `    grant select on table ${parent!.relation} to ${logins.map(ident).join(", ")};`;

/** A policy of the product's own that also applies to requests. Policies for other logins do not matter here. */
const isForRequests = ({ name, roles }: Table["policies"][number], role: string) =>
  !isOurs(name) && (roles.length === 0 || roles.includes(role) || roles.includes("tms_app"));

export const explained = (answer: string) =>
  ({ ...TABLE_ANSWERS, ...KEY_ANSWERS })[answer as keyof typeof TABLE_ANSWERS | keyof typeof KEY_ANSWERS];
