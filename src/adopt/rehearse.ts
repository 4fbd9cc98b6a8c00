/** Carries the plan out in a transaction that is rolled back, and lets the audit prove the result. */
import type postgres from "postgres";
import type { Vouched } from "../audit/baseline.ts";
import { seed, vouch } from "../audit/prepare.ts";
import { runSteps } from "../audit/run.ts";
import { compareWithRelease } from "../migrate/released.ts";
import type { Finding } from "../values/finding.ts";
import { ident, literal } from "../values/sql-names.ts";
import { FILL } from "./names.ts";
import type { Plan } from "./plan.ts";
import { LOCKING, type Phase, type Step } from "./step.ts";

export interface Verdict {
  relation: string;
  passed: boolean;
  /** What was proved, or why it failed. */
  why: string;
  /** How long the statements took that lock the whole table. */
  lockedMs: number;
}

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
  await tx`select pg_temp.load_profile(${JSON.stringify(profile)}::text::jsonb)`;
  const unseeded = await seed(tx);
  const made = await functionsMade(tx, vouched);
  await vouch(tx, { vouched: [...vouched, ...made] }, (await compareWithRelease(tx))?.functions ?? []);
  const audit = await runSteps(tx, { sample: 5, writes: true, asSuperuser: true }, ({ step }) =>
    onStep(step),
  );
  const { verdicts, rest } = await judge(tx, plan, audit.report.findings, done);
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

/** One line for each check and severity. */
function summed(findings: Finding[]): string[] {
  const found = new Map<string, Finding[]>();
  for (const one of findings) {
    const key = `${one.severity} ${one.check}`;
    found.set(key, [...(found.get(key) ?? []), one]);
  }
  return [...found].map(([key, all]) =>
    all.length === 1
      ? told(all[0]!)
      : `${key} ${all.map(({ relation, row }) => relation ?? Object.values(row).join(" ")).join(", ")}`,
  );
}

interface Done {
  faults: Map<string, string>;
  locked: Map<string, number>;
  took: Partial<Record<Phase, number>>;
  /** A fault in a step that all tables need. */
  stopped?: string;
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

const allFailed = ({ chosen }: Plan, why: string): Verdict[] =>
  chosen.map(({ relation }) => ({ relation, passed: false, why, lockedMs: 0 }));

async function judge(tx: postgres.TransactionSql, plan: Plan, findings: Finding[], { faults, locked }: Done) {
  const { chosen, treatments } = plan;
  const claims = await tx<{ relation: string; result: string; n: number; detail: string | null }[]>`
    select relation, result, count(*)::int as n, string_agg(concat_ws(' ', first, detail), '; ') as detail
    from pg_temp.proof_lines() where relation is not null group by 1, 2`;
  const names = new Set(chosen.map(({ relation }) => relation));
  const used = new Set<Finding>();
  const verdicts: Verdict[] = [];
  for (const { relation } of chosen) {
    const treatment = treatments.get(relation)!;
    const of = claims.filter(claim => claim.relation === relation);
    const errors = findings.filter(
      one => one.relation === relation && one.severity === "error" && !isForLater(plan, one),
    );
    for (const one of errors) used.add(one);
    const bad = of.filter(({ result }) => result !== "proved").map(({ detail }) => detail!);
    const proved = of.filter(({ result }) => result === "proved").reduce((sum, { n }) => sum + n, 0);
    const seen = treatment === "people" && !faults.has(relation) ? await provePeople(tx, plan) : null;
    const why =
      faults.get(relation) ?? (seen?.fault || [...new Set([...bad, ...errors.map(told)])].join("; "));
    const isProved = treatment === "shared" || seen !== null || proved > 0;
    verdicts.push({
      relation,
      passed: why === "" && isProved,
      why:
        why ||
        (treatment === "shared"
          ? "every tenant reads it"
          : seen
            ? "each tenant sees its members"
            : isProved
              ? `${proved} claims proved`
              : "nothing was proved"),
      lockedMs: locked.get(relation) ?? 0,
    });
  }
  const rest = findings.filter(
    one =>
      !used.has(one) &&
      !isForLater(plan, one) &&
      one.severity !== "info" &&
      !(one.severity === "warning" && one.relation !== null && !names.has(one.relation)),
  );
  return { verdicts, rest };
}

/** A key with a successor, or to a table that is not adopted yet. */
const isForLater = ({ later, living, adopted }: Plan, { check, relation, row }: Finding) =>
  check === "key_crosses_tenants" &&
  living.keys.some(
    ({ child, name, parent }) =>
      child === relation &&
      name === row.object &&
      (!adopted.has(parent) || later.some(one => one.key?.child === child && one.key.name === name)),
  );

const told = ({ check, severity, relation, row, detail }: Finding) =>
  [severity, check, relation ?? Object.values(row).join(" "), detail]
    .filter(Boolean)
    .join(" ")
    .replaceAll(/\s+/g, " ");

/** The audit's proof knows tenants only: each must see its own members, and nobody must see none. */
async function provePeople(tx: postgres.TransactionSql, { living }: Plan): Promise<{ fault: string }> {
  const { membership, tenants } = living;
  const { people, relation } = membership!;
  const [key, person, tenant, id] = [
    membership!.key,
    membership!.person,
    membership!.tenant,
    tenants.key,
  ].map(ident);
  const count = `select array[pg_catalog.count(${key})::pg_catalog.text] from ${people}`;
  const [row] = await tx.unsafe<{ fault: string | null }[]>(`
    select string_agg(format('%s sees %s of %s people', p.principal, coalesce(s.answer[1], s.message), e.n), '; ') as fault
    from pg_temp.proof_principals p
    cross join lateral (
      select count(distinct u.${key}) as n from ${people} u join ${relation} m on m.${person} = u.${key}
      join ${tenants.relation} t on t.${id} = m.${tenant} where t.${id}::text = any (p.tenants)) e
    cross join lateral pg_temp.as_principal(p.enter, ${literal(count)}) s
    where s.answer[1] is distinct from e.n::text`);
  return { fault: row!.fault ?? "" };
}
