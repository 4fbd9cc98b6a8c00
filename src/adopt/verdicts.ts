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

export async function verdictsOf(
  tx: postgres.TransactionSql,
  plan: Plan,
  found: Finding[],
  { faults, locked }: Done,
) {
  const { chosen, treatments } = plan;
  const findings = found.filter(one => !isForLater(plan, one));
  const rows = await tx<{ relation: string; proved: number; bad: string | null }[]>`
    select relation, count(*) filter (where result = 'proved')::int as proved,
      string_agg(concat_ws(' ', first, detail), '; ') filter (where result <> 'proved') as bad
    from pg_temp.proof_lines() where relation is not null group by 1`;
  const claims = new Map(rows.map(row => [row.relation, row]));
  const verdicts: Verdict[] = [];
  for (const { relation } of chosen) {
    const treatment = treatments.get(relation)!;
    const { proved = 0, bad = null } = claims.get(relation) ?? {};
    const errors = findings.filter(one => one.relation === relation && one.severity === "error").map(told);
    const fault =
      faults.get(relation) ??
      ((treatment === "people" && (await provePeople(tx, plan))) ||
        [...new Set([...(bad === null ? [] : [bad]), ...errors])].join("; "));
    const passed =
      treatment === "shared"
        ? "every tenant reads it"
        : treatment === "people"
          ? "each tenant sees its members"
          : proved > 0 && `${proved} claims proved`;
    verdicts.push({
      relation,
      passed: fault === "" && passed !== false,
      why: fault || passed || "nothing was proved",
      lockedMs: locked.get(relation) ?? 0,
    });
  }
  const names = new Set<string | null>(chosen.map(({ relation }) => relation));
  const rest = findings.filter(({ severity, relation }) =>
    severity === "error"
      ? !names.has(relation)
      : severity === "warning" && (relation === null || names.has(relation)),
  );
  return { verdicts, rest };
}

/** A key with a successor, or to a table that is not adopted yet. */
function isForLater({ later, living, adopted }: Plan, { check, relation, row }: Finding): boolean {
  if (check !== "key_crosses_tenants") return false;
  const table = living.tables.find(one => one.relation === relation);
  const key = table?.keys.find(({ name }) => name === row.object);
  return key !== undefined && (!adopted.has(key.parent) || later.some(one => one.key === key));
}

const told = ({ check, severity, relation, row, detail }: Finding) =>
  [severity, check, relation ?? Object.values(row).join(" "), detail]
    .filter(Boolean)
    .join(" ")
    .replaceAll(/\s+/g, " ");

/** The audit's proof leaves people out: each tenant must see its members, and the principal 'nobody' none. Returns the fault. */
async function provePeople(tx: postgres.TransactionSql, { living }: Plan): Promise<string> {
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
  return row!.fault ?? "";
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
