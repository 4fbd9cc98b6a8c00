/** Carries the plan out in a transaction that is rolled back, and lets the audit prove the result. */
import type postgres from "postgres";
import type { Vouched } from "../audit/baseline.ts";
import { loadProfile, seed, vouch } from "../audit/prepare.ts";
import { runSteps } from "../audit/run.ts";
import { compareWithRelease } from "../migrate/released.ts";
import { ident } from "../values/sql-names.ts";
import { FILL } from "./names.ts";
import type { Plan } from "./plan.ts";
import { LOCKING, type Phase, type Step } from "./step.ts";
import { allFailed, type Done, summed, type Verdict, verdictsOf } from "./verdicts.ts";

export interface Rehearsal {
  verdicts: Verdict[];
  /** Findings about other tables, and those that are no errors. */
  notes: string[];
  /** Milliseconds of each phase. */
  took: Partial<Record<Phase, number>>;
  /** The functions that the plan makes. */
  vouched: Vouched[];
}

export async function rehearse(
  tx: postgres.TransactionSql,
  plan: Plan,
  { profile, vouched }: { profile: Record<string, unknown>; vouched: Vouched[] },
  onStep: (text: string) => void,
): Promise<Rehearsal> {
  await tx`select set_config('app.maintenance', 'on', true)`;
  const done = await carryOut(tx, plan, onStep);
  if (done.stopped) return { verdicts: allFailed(plan, done.stopped), notes: [], took: done.took, vouched };
  await loadProfile(tx, profile, false);
  const unseeded = await seed(tx);
  const made = await functionsMade(tx, vouched);
  await vouch(tx, { vouched: [...vouched, ...made] }, (await compareWithRelease(tx))?.functions ?? []);
  const audit = await runSteps(tx, { sample: 5, writes: true, asSuperuser: true }, ({ step }) =>
    onStep(step),
  );
  const { verdicts, rest } = await verdictsOf(tx, plan, audit.report.findings, done);
  const failedChecks = audit.notRun.map(check => `The check ${check} could not run`);
  return {
    verdicts,
    notes: [...failedChecks, ...summed(rest), ...unseeded],
    took: done.took,
    vouched: [...vouched, ...made],
  };
}

async function functionsMade(tx: postgres.TransactionSql, vouched: Vouched[]): Promise<Vouched[]> {
  const rows = await tx<Pick<Vouched, "object" | "hash">[]>`
    select f.oid::regprocedure::text as object, pg_temp.hash_of('pg_proc', f.oid) as hash
    from pg_trigger g join pg_proc f on f.oid = g.tgfoid where g.tgname = ${FILL} order by 1`;
  return rows
    .filter(({ object }) => !vouched.some(one => one.object === object))
    .map(one => ({ kind: "function", ...one, reason: "fills the tenant's column; tenancy adopt made it" }));
}

async function carryOut(
  tx: postgres.TransactionSql,
  plan: Plan,
  onStep: (text: string) => void,
): Promise<Done> {
  const done: Done = { faults: new Map(), locked: new Map(), took: {} };
  // ALTER TABLE fails while a deferred check is pending.
  await tx`set constraints all immediate`;
  for (const step of plan.steps) {
    onStep(step.sql.split("\n")[0]!);
    const began = performance.now();
    const fault = await attempt(tx, step);
    const ms = performance.now() - began;
    done.took[step.phase] = (done.took[step.phase] ?? 0) + ms;
    if (step.table && LOCKING.includes(step.phase) && !step.validates)
      done.locked.set(step.table, (done.locked.get(step.table) ?? 0) + ms);
    if (!fault) continue;
    const text = `${fault} (${step.sql.replaceAll(/\s+/g, " ")})`;
    if (!step.table) return { ...done, stopped: text };
    if (!done.faults.has(step.table)) done.faults.set(step.table, text);
  }
  return done;
}

/** A table that failed keeps its state; the others go on. */
async function attempt(tx: postgres.TransactionSql, { sql, as, phase }: Step): Promise<string | null> {
  try {
    await tx.savepoint(async inner => {
      // Another rehearsal in the cluster locks roles until it ends.
      const wait = phase === "roles" ? "60s" : "2s";
      const become = as ? `set local role ${ident(as)};` : "";
      // In this phase the word stands before any name.
      const statement = phase === "indexes" ? sql.replace(" concurrently ", " ") : sql;
      await inner.unsafe(`set local lock_timeout = '${wait}'; ${become} ${statement} reset role;`).simple();
    });
    return null;
  } catch (error) {
    const { message, detail } = error as { message: string; detail?: string };
    return [message, detail].filter(Boolean).join(": ");
  }
}
