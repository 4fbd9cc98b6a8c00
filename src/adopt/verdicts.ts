/** The verdict on each table, by the audit's findings and proof. */
import type postgres from "postgres";
import type { Finding } from "../values/finding.ts";
import { ident, literal } from "../values/sql-names.ts";
import type { Plan } from "./plan.ts";
import type { Phase } from "./step.ts";

export interface Verdict {
  relation: string;
  passed: boolean;
  /** What was proved, or why it failed. */
  why: string;
  /** How long the statements took that lock the whole table. */
  lockedMs: number;
}

export interface Done {
  faults: Map<string, string>;
  locked: Map<string, number>;
  took: Partial<Record<Phase, number>>;
  /** A fault in a step that all tables need. */
  stopped?: string;
}

export const allFailed = ({ chosen }: Plan, why: string): Verdict[] =>
  chosen.map(({ relation }) => ({ relation, passed: false, why, lockedMs: 0 }));

export async function judge(
  tx: postgres.TransactionSql,
  plan: Plan,
  findings: Finding[],
  { faults, locked }: Done,
) {
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

/** One line for each check and severity. */
export function summed(findings: Finding[]): string[] {
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
