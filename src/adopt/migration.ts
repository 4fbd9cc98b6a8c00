/** The statements of a plan as a script for psql. Everything but statements is a comment. */
import { plainLines } from "../values/printable.ts";
import { ident } from "../values/sql-names.ts";
import type { Plan } from "./plan.ts";
import { LOCKING, LOCKS, PHASES, type Phase, type Step, WHOLE } from "./step.ts";

export const comment = (text: string) =>
  plainLines(text)
    .split("\n")
    .map(line => `-- ${line}`.trimEnd())
    .join("\n");

/** Less than deadlock_timeout (1 s): in a deadlock this statement fails, and not a request. */
const HURRIED = "set lock_timeout = '500ms';";

export function migration(plan: Plan): string {
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

/** Successive steps on the same table by the same role are one group. */
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

export function later({ later: old }: Plan): string[] {
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
