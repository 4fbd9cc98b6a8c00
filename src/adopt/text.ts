/** The plan as SQL. Everything but statements is a comment. */
import { plainLines } from "../values/printable.ts";
import { ident } from "../values/sql-names.ts";
import type { Adoption } from "./adopt.ts";
import type { Table } from "./living.ts";
import { type Meaning, meaningsOf } from "./meaning.ts";
import type { Plan } from "./plan.ts";
import { LOCKING, LOCKS, PHASES, type Phase, type Step, WHOLE } from "./step.ts";
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
      "If a statement fails, plan again: the next plan begins there.",
      ...revoked(plan),
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
            `Time of each part: ${Object.entries(rehearsal!.took)
              .map(([phase, ms]) => `${phase} ${(ms / 1000).toFixed(1)} s`)
              .join(", ")}.`,
          ]
        : []),
      ...(rehearsal?.notes.length
        ? ["", "The audit would also report:", ...rehearsal.notes.map(note => `  ${note}`)]
        : []),
    ].join("\n"),
  );
}

/** In the head, since nothing else in a plan takes something from the product. */
function revoked({ steps }: Plan): string[] {
  const found = steps.flatMap(({ table, revokes = [] }) => revokes.map(role => `  ${role} on ${table}`));
  return found.length > 0
    ? ["It REVOKES all privileges of these roles, whose bridges are closed:", ...found]
    : [];
}

const questions = (asked: Question[]) =>
  comment(
    [
      `Questions (${asked.length}). Answer them in the file that --save wrote, then plan again with --answers:`,
      ...asked.flatMap(({ in: where, about, asks, answers }) => [
        `  ${about} ${asks}`,
        ...(where ? [`    "adopt": {"${where}": {${JSON.stringify(about)}: …}}; choose`] : []),
        ...answers.map(answer => `    ${JSON.stringify(answer)}: ${explained(answer)}`),
      ]),
    ].join("\n"),
  );

function tables({ living, treatments, open }: Plan): string {
  const width = Math.max(...living.tables.map(({ relation }) => relation.length), 0);
  return comment(
    [
      `The tenants are the rows of ${living.tenants.relation} (${living.tenants.key}). ` +
        (living.tenants.others.length > 0
          ? `They could also be the rows of ${living.tenants.others.join(", ")}: then name it in "profile": {"tenants": …, "tenant_key": …}. `
          : "") +
        "The tables, and what the plan makes of them:",
      ...living.tables.map(table =>
        [
          `  ${table.relation.padEnd(width)}`,
          `${described(table)} -> ${treatments.get(table.relation)}`,
          size(table),
        ].join("  "),
      ),
      ...(Object.keys(open).length > 0
        ? [
            "",
            'Logins that still see every row ("bridges" in the file that --save wrote sets the last day):',
            ...Object.entries(open).map(([login, until]) => `  ${login} until ${until}`),
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
  return all.length > 0 ? [comment(["Statements whose result changes:", ...lines].join("\n"))] : [];
};

/** Less than deadlock_timeout (1 s): in a deadlock this statement fails, and not a request. */
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
      ? `${HURRIED}  -- requests queue behind a statement that waits for its lock, so it fails soon (55P03): plan again`
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
    if (WHOLE.includes(phase)) lines.push("begin;", ...sql, "commit;");
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
  `The moved backend needs a login of its own. It sees no row until it becomes ${role} and enters a tenant:\n` +
  `  create role … login noinherit password '…'; grant ${ident(role)} to …; grant connect on database ${ident(database)} to …;\n` +
  "  alter role … set app.require_tenant = on;  -- a statement without a tenant raises an error (needs a superuser)";

function later({ later: old }: Plan): string[] {
  if (old.length === 0) return [];
  return [
    comment(
      [
        "Later, by hand: drop the keys that have a successor with the tenant. The plan itself drops none of your keys.",
        "Until then tenancy audit reports the foreign keys (key_crosses_tenants).",
        `Each statement locks its tables for a moment. Run this first: ${HURRIED} If one fails with 55P03, run it again.`,
        ...old.map(({ sql }) => `  ${sql}`),
      ].join("\n"),
    ),
  ];
}
