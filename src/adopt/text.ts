/** The plan as text: its verdicts, questions and tables as comments, then the migration. */
import type { Adoption } from "./adopt.ts";
import { explained } from "./answers.ts";
import type { Table } from "./living.ts";
import { meaningsOf } from "./meaning.ts";
import { comment, later, migration } from "./migration.ts";
import type { Plan } from "./plan.ts";
import type { Question } from "./questions.ts";

export function toSql(adoption: Adoption): string {
  const { plan } = adoption;
  return [
    heading(adoption),
    ...(plan.questions.length > 0 ? [questions(plan.questions)] : []),
    tables(plan),
    ...meanings(plan),
    ...(plan.steps.length > 0 ? [migration(plan)] : []),
    ...later(plan),
  ].join("\n\n");
}

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

/** In the head: no other statement of a plan takes privileges from the product. */
function revoked({ steps }: Plan): string[] {
  const found = steps.flatMap(({ table, revokes = [] }) => revokes.map(role => `  ${role} on ${table}`));
  return found.length > 0
    ? ["It REVOKES all privileges of these roles, which have no open bridge:", ...found]
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

function meanings(plan: Plan): string[] {
  const lines = meaningsOf(plan).flatMap(({ statement, becomes }) => [`  ${statement}`, `    ${becomes}`]);
  return lines.length > 0 ? [comment(["Statements whose result changes:", ...lines].join("\n"))] : [];
}
