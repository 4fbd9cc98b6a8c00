/** The plan as SQL; all that is no statement is a comment. */
import { plainLines } from "../values/printable.ts";
import { ident } from "../values/sql-names.ts";
import type { Adoption } from "./adopt.ts";
import type { Table } from "./living.ts";
import { type Meaning, meaningsOf } from "./meaning.ts";
import type { Plan } from "./plan.ts";
import { LOCKING, LOCKS, PHASES, type Phase, type Step } from "./step.ts";
import { explained, type Question } from "./treat.ts";

export function toSql(adoption: Adoption): string {
  const { plan } = adoption;
  return [
    heading(adoption),
    ...(plan.questions.length > 0 ? [questions(plan.questions)] : []),
    tables(plan),
    ...meanings(meaningsOf(plan)),
    ...(plan.steps.length > 0 ? [migration(plan)] : []),
    ...later(plan),
  ].join("\n\n");
}

const comment = (text: string) =>
  plainLines(text)
    .split("\n")
    .map(line => `-- ${line}`.trimEnd())
    .join("\n");

function heading({ plan, rehearsal, notRehearsed }: Adoption): string {
  const { living, steps } = plan;
  const verdicts = rehearsal?.verdicts ?? [];
  const failed = verdicts.filter(({ passed }) => !passed);
  const width = Math.max(...verdicts.map(({ relation }) => relation.length), 0);
  return comment(
    [
      `Adoption of ${living.database}: requests of tenants act as ${living.role}. ` +
        (steps.length > 0
          ? "Nothing was changed: read this, then run it in the order given."
          : "Nothing is left to do."),
      "If it stops in the middle, plan again: the next plan begins where this one stopped.",
      "",
      notRehearsed
        ? `NOT REHEARSED: ${notRehearsed}`
        : failed.length > 0
          ? `Rehearsed and rolled back: FAILED for ${failed.length} of ${verdicts.length} tables.`
          : `Rehearsed and rolled back: PASSED for ${verdicts.length} tables.`,
      ...verdicts
        .toSorted((a, b) => Number(a.passed) - Number(b.passed))
        .map(({ relation, passed, why, lockedMs }) =>
          [
            passed ? "PASSED" : "FAILED",
            relation.padEnd(width),
            `${why}${lockedMs > 0 ? `; locked ${Math.ceil(lockedMs)} ms` : ""}`,
          ].join("  "),
        ),
      ...(Object.keys(rehearsal?.took ?? {}).length > 0
        ? [
            `It took, by parts: ${Object.entries(rehearsal!.took)
              .map(([phase, ms]) => `${phase} ${(ms / 1000).toFixed(1)} s`)
              .join(", ")}.`,
          ]
        : []),
      ...(rehearsal?.notes.length
        ? ["", "The audit would say, too:", ...rehearsal.notes.map(note => `  ${note}`)]
        : []),
    ].join("\n"),
  );
}

const questions = (asked: Question[]) =>
  comment(
    [
      `Asked (${asked.length}). Answer in the file of --save, then plan again with --answers:`,
      ...asked.flatMap(({ in: where, about, asks, answers }) => [
        `  ${about} ${asks}`,
        ...(where ? [`    "adopt": {"${where}": {${JSON.stringify(about)}: …}}, one of`] : []),
        ...answers.map(answer => `    ${JSON.stringify(answer)}: ${explained(answer)}`),
      ]),
    ].join("\n"),
  );

function tables({ living, treatments, bridges }: Plan): string {
  const width = Math.max(...living.tables.map(({ relation }) => relation.length), 0);
  return comment(
    [
      `The tenants are the rows of ${living.tenants.relation} (${living.tenants.key}). ` +
        (living.tenants.others.length > 0
          ? `Could be, too, as "profile": {"tenants": …, "tenant_key": …}: ${living.tenants.others.join(", ")}. `
          : "") +
        "What each table is, and what becomes of it:",
      ...living.tables.map(table =>
        [
          `  ${table.relation.padEnd(width)}`,
          `${described(table)} -> ${treatments.get(table.relation)}`,
          size(table),
        ].join("  "),
      ),
      ...(Object.keys(bridges).length > 0
        ? [
            "",
            "These go on seeing every row (bridges in the file of --save says until when):",
            ...Object.entries(bridges).map(([login, until]) => `  ${login} until ${until}`),
          ]
        : []),
    ].join("\n"),
  );
}

const described = ({ class: of, column, parent, via }: Table) =>
  of === "parent"
    ? `through ${parent!.relation} (${parent!.columns.join(", ")})`
    : of === "direct" || of === "nullable"
      ? `${of} (${column})`
      : via && of !== "tenants"
        ? `${of} (${via})`
        : of;

const size = ({ rows, bytes }: Table) =>
  `${rows < 0 ? "" : `about ${rows} rows, `}${bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${Math.ceil(bytes / 1e6)} MB`}`;

const meanings = (all: Meaning[]) => {
  const lines = all.flatMap(({ statement, becomes }) => [`  ${statement}`, `    ${becomes}`]);
  return all.length > 0
    ? [comment(["Statements that mean something else afterwards:", ...lines].join("\n"))]
    : [];
};

/** Less than Postgres's deadlock_timeout, 1 s: a statement that locks two tables fails, and no request. */
const HURRIED = "set lock_timeout = '500ms';";

function migration(plan: Plan): string {
  const phases = [...new Set(plan.steps.map(({ phase }) => phase))];
  return ["\\set ON_ERROR_STOP on", ...phases.map((phase, i) => section(plan, phase, i + 1))].join("\n\n");
}

function section({ living, steps }: Plan, phase: Phase, n: number): string {
  const own = steps.filter(step => step.phase === phase);
  const lines = [comment(`${n}. ${PHASES[phase]}.\n${LOCKS[phase]}.`)];
  lines.push(
    LOCKING.includes(phase)
      ? `${HURRIED}  -- others wait behind it; and before they are ended as a deadlock (deadlock_timeout) it gives up. Plan again`
      : "set lock_timeout = 0;",
  );
  let as: string | null = null;
  const become = (role: string | null) => {
    if (role !== as) lines.push(role ? `set role ${ident(role)};` : "reset role;");
    as = role;
  };
  for (const group of groups(own)) {
    become(group[0]!.as);
    const sql = group.map(step => step.sql);
    if (phase === "policies") lines.push("begin;", ...sql, "commit;");
    else if (phase === "tenants") lines.push("begin; set local app.maintenance = on;", ...sql, "commit;");
    else lines.push(...sql);
  }
  become(null);
  if (phase === "roles") lines.push(comment(logins(living.role, living.database)));
  return lines.join("\n");
}

/** One after the other where they are of the same table. */
function groups(steps: Step[]): Step[][] {
  const found: Step[][] = [];
  for (const step of steps) {
    const last = found.at(-1);
    if (last && last[0]!.table === step.table && last[0]!.as === step.as) last.push(step);
    else found.push([step]);
  }
  return found;
}

const logins = (role: string, database: string) =>
  `The moved backend logs in as one of its own, which sees nothing until it becomes ${role} and enters a tenant:\n` +
  `  create role … login noinherit password '…'; grant ${ident(role)} to …; grant connect on database ${ident(database)} to …;\n` +
  "  alter role … set app.require_tenant = on;  -- without a tenant an error, and not no row (a superuser's statement)";

function later({ later: old }: Plan): string[] {
  if (old.length === 0) return [];
  return [
    comment(
      [
        "Later, by hand: each of these has a successor that carries the tenant. This plan drops nothing of yours.",
        "Until then tenancy audit names the keys (key_crosses_tenants).",
        `They lock two tables for a moment. First: ${HURRIED} What fails by it (55P03) may run again.`,
        ...old.map(sql => `  ${sql}`),
      ].join("\n"),
    ),
  ];
}
