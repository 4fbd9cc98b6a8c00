/** The treatment of each table, and the questions that a person must answer first. */
import type { Answers } from "./answers.ts";
import { bridged, bridgesOf, openBridges, withoutBridge } from "./bridges.ts";
import { actionOf, overwritten, thatKeeps } from "./foreign-key.ts";
import type { Living, Table } from "./living.ts";
import { isAdopted, ownPolicies } from "./names.ts";
import {
  askKeys,
  askTable,
  cannotFill,
  inDatabase,
  nullable,
  type Question,
  reachedByRequests,
  shut,
  stranded,
} from "./questions.ts";

/** `rows`: a policy compares the tenant of each row. `open`: the table waits for an answer. */
export type Treatment = "tenants" | "rows" | "people" | "shared" | "closed" | "open";

/** The treatments that add policies. */
export const ADOPTED: Treatment[] = ["tenants", "rows", "people"];

interface Treated {
  treatments: Map<string, Treatment>;
  questions: Question[];
  /** As adopt.json has them. */
  bridges: Record<string, string>;
  /** The bridges whose last day is not over. */
  open: Record<string, string>;
}

export function treat(living: Living, answers: Answers): Treated {
  const { tables, tenants, membership, today } = living;
  const treatments = new Map<string, Treatment>();
  const questions: Question[] = [];
  const wait = (question: Question) => {
    treatments.set(question.about, "open");
    questions.push(question);
  };
  for (const table of tables) {
    const judged = judge(living, answers, table);
    if (typeof judged === "string") treatments.set(table.relation, judged);
    else wait(judged);
  }
  // A table that waits counts too: its logins need their bridges once it is adopted.
  const bridges = bridgesOf(
    living,
    answers,
    tables.filter(({ relation }) => !["shared", "closed"].includes(treatments.get(relation)!)),
  );
  const open = openBridges(bridges, today);
  for (const table of tables) {
    // The plan closes bridges only on tables that were adopted before.
    if (!ADOPTED.includes(treatments.get(table.relation)!) || isAdopted(table)) continue;
    const logins = withoutBridge(living, table, open);
    const closed = table.enabled ? bridged(table, open) : [];
    const blind = table.blind.filter(name => Object.hasOwn(open, name));
    if (logins.length > 0) wait(stranded(table, logins));
    else if (closed.length > 0) wait(shut(table, closed));
    else if (blind.length > 0) wait(cannotFill(table, blind));
  }
  // A table that belongs to tenants through a parent waits for the parent, and people for the table of members.
  for (let changed = true; changed; ) {
    changed = false;
    for (const table of tables) {
      const treatment = treatments.get(table.relation)!;
      const through =
        treatment === "people" ? membership!.relation : treatment === "rows" && table.parent?.relation;
      if (!through || treatments.get(through) === "rows") continue;
      // A partition waits, as its table does.
      const of = treatments.get(through) ?? "open";
      const asks = `belongs to a tenant through ${through}, which ${of === "open" ? "waits" : `is ${of}`}`;
      wait(askTable(table, asks, "closed", "shared"));
      changed = true;
    }
  }
  // All policies depend on the tenants' table.
  if (treatments.get(tenants.relation) !== "tenants")
    for (const [relation, treatment] of treatments)
      if (treatment === "rows" || treatment === "people") treatments.set(relation, "open");
  for (const table of tables)
    if (treatments.get(table.relation) === "rows") questions.push(...askKeys(answers, table));
  return { treatments, questions, bridges, open };
}

/** The treatment of a table, or the question for which it waits. */
function judge(living: Living, { tables = {} }: Answers, table: Table): Treatment | Question {
  const { membership, role } = living;
  const { relation, column, keys, homeless } = table;
  const answer = tables[relation] ?? undefined;
  const treatment = answer === "required" ? "rows" : (answer ?? ofClass(living, table));
  if (treatment === "open") return askClass(living, table);
  const reached = reachedByRequests(living, treatment, table);
  if (treatment === "closed") return reached ?? treatment;
  if (answer === "people" && membership?.people !== relation)
    return askTable(
      table,
      `cannot be "people": ${membership ? `the members are rows of ${membership.people}` : "no table has the members"}`,
      "closed",
      "shared",
    );
  if (treatment === "rows") {
    if (homeless > 0 && !table.parent)
      return inDatabase(
        table,
        `has ${homeless} rows without a tenant: fill ${column}, or delete them, and plan again`,
      );
    const unsets = keys.find(key => overwritten(key).includes(column!));
    if (unsets)
      return inDatabase(
        table,
        `loses its tenant by the key ${unsets.name} (ON DELETE ${actionOf(unsets.onDelete).toUpperCase()}). ${thatKeeps(table, unsets)}`,
      );
    if (table.partitioned)
      return inDatabase(
        table,
        "is partitioned: Postgres makes no index on it concurrently, and each partition needs policies of its own. Isolate it by hand",
      );
  }
  if (reached) return reached;
  const foreign = ownPolicies(table)
    .filter(({ roles }) => isForRequests(roles, role))
    .map(({ name }) => name);
  if (treatment !== "shared" && foreign.length > 0)
    return inDatabase(
      table,
      `has policies of its own (${foreign.join(", ")}): adopt does not change them. Drop them, or answer "closed" and check the table with tenancy audit`,
    );
  return treatment;
}

/** The question for a class whose treatment the catalog does not decide. */
function askClass(living: Living, table: Table): Question {
  const { via } = table;
  switch (table.class) {
    case "nullable":
      return askTable(table, nullable(living, table), "required", "closed", "shared");
    case "of people":
      return askTable(table, `refers to people (${via}) and to no tenant`, "closed", "shared");
    case "optional parent":
      return askTable(
        table,
        `refers to ${via} by a key that may be null, so a row may belong to no tenant`,
        "closed",
        "shared",
      );
    case "people":
      return askTable(
        table,
        "holds people, and no table says which tenants they belong to",
        "closed",
        "shared",
      );
    default:
      return askTable(
        table,
        via ? `refers to no tenant, and ${via} refer to it: is it shared?` : "refers to no tenant",
        "shared",
        "closed",
      );
  }
}

function ofClass({ membership }: Living, { class: of, relation }: Table): Treatment {
  if (of === "tenants") return "tenants";
  if (of === "direct" || of === "parent") return "rows";
  if (of === "migrations") return "closed";
  return of === "people" && membership?.people === relation ? "people" : "open";
}

/** The policy also applies to requests. Policies for other logins do not matter here. */
export const isForRequests = (roles: string[], role: string) =>
  roles.length === 0 || roles.includes(role) || roles.includes("tms_app");
