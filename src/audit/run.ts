/** Audits any Postgres: sends the audit's own text, believes only that, and rolls everything back. */
import type postgres from "postgres";
import { compareWithRelease, withoutVouched } from "../migrate/released.ts";
import type { Finding } from "../values/finding.ts";
import { type Accepted, applyBaseline } from "./baseline.ts";
import { loadProfile, seed, vouch } from "./prepare.ts";
import type { Audit, Report, Result } from "./report.ts";
import { DEFAULTS, type Request, refuseSuperuser } from "./request.ts";
import { inSession } from "./session.ts";
import { openRun, storeRun } from "./store.ts";
import { withManifest } from "./with-manifest.ts";

interface Outcome {
  audit: Audit;
  /** The profile that was used; null: this service's own. */
  profile: Record<string, unknown> | null;
  /** Whether the catalog proposed it: a person should read it. */
  proposed: boolean;
  /** A line for each open finding, without a reason. */
  acceptable: Accepted[];
}

/** Of this service's own database, in whose history the result stays. @throws StartupError */
export async function runAudit(
  url: string,
  what: string,
  request: Partial<Request>,
  onStep?: (step: { n: number; of: number; step: string }) => void,
): Promise<Outcome> {
  const runId = await openRun(url, what, { ...DEFAULTS, ...request });
  const outcome = await auditDatabase(url, what, request, onStep);
  return { ...outcome, audit: await storeRun(url, what, runId, outcome.audit) };
}

/** @throws StartupError */
export function auditDatabase(
  url: string,
  what: string,
  asked: Partial<Request>,
  onStep: (step: { n: number; of: number; step: string }) => void = () => {},
): Promise<Outcome> {
  const request = { ...DEFAULTS, ...asked };
  return inSession(url, what, async (tx, { ours, superuser }) => {
    refuseSuperuser(superuser, request);
    const { profile, proposed } = await loadProfile(tx, request.profile, ours);
    const manifest = ours ? await compareWithRelease(tx) : undefined;
    const unseeded = request.seed ? await seed(tx) : [];
    await vouch(tx, request.baseline, manifest?.functions ?? []);
    if (manifest) manifest.findings = await withoutVouched(tx, manifest.findings, "pg_temp");
    const whole = await runSteps(tx, request, onStep);
    const merged = ours && request.only !== "data" ? withManifest(whole, manifest) : whole;
    const hashes = await definitionHashes(tx, merged.report.findings);
    const noted = { ...merged, notes: [...(merged.notes ?? []), ...unseeded, ...(await vouchedInside(tx))] };
    const audit = applyBaseline(noted, request.baseline, hashes);
    const acceptable = audit.report.findings.map(({ check, tenant_id, relation, row }, i) => ({
      check,
      tenant_id,
      relation,
      row,
      hash: hashes.get(audit.report.findings[i]!) ?? "",
      reason: "",
    }));
    return { audit, profile, proposed, acceptable };
  });
}

export async function runSteps(
  tx: postgres.TransactionSql,
  { tenant, only, sample, writes, asSuperuser }: Omit<Request, "profile" | "baseline">,
  onStep: (step: { n: number; of: number; step: string }) => void,
): Promise<Audit> {
  const steps = await tx<{ step: string }[]>`
    select step from pg_temp.start_run(p_only => ${only ?? null}::text, p_tenant => ${tenant ?? null}::text,
      p_writes => ${writes}::boolean, p_sample => ${sample}::int, p_as_superuser => ${asSuperuser}::boolean) order by n`;
  // Temporary tables may still be written.
  if (!writes) await tx`set transaction read only`;
  for (const [i, { step }] of steps.entries()) {
    onStep({ n: i + 1, of: steps.length, step });
    await tx`select from pg_temp.run_step(${step}::text)`;
  }
  const [row] = await tx<
    { report: string; database: string; version: string; failed: string[]; unkept: Result[] }[]
  >`
    select pg_temp.report()::text as report, current_database() as database, current_setting('server_version') as version,
      (select array_to_json(array_agg("check")) from pg_temp.run_checks where failed) as failed, (
        select json_agg(u) from (
          select c."check", '' as relation, false as failed, c.errors - count(*) filter (where f.severity = 'error') as error,
            c.warnings - count(*) filter (where f.severity = 'warning') as warning,
            c.infos - count(*) filter (where f.severity = 'info') as info
          from pg_temp.run_checks c join pg_temp.run_findings f using ("check")
          group by c."check", c.errors, c.warnings, c.infos
          having c.errors + c.warnings + c.infos > count(*)) u) as unkept`;
  const { report, failed, unkept, ...server } = row!;
  return {
    report: inOrder(JSON.parse(report) as Report),
    runId: null,
    notRun: failed ?? [],
    about: await aboutChecks(tx),
    unkept: unkept ?? [],
    trend: [],
    server: { ...server, schema: null },
  };
}

/** jsonb has an order of its own; people read the report from its beginning. */
function inOrder({ started_at, finished_at, tenant, checks, findings, summary }: Report): Report {
  return {
    started_at,
    finished_at,
    tenant,
    checks: checks.map(({ check, category, severity, checked, findings }) => ({
      check,
      category,
      severity,
      checked,
      findings,
    })),
    findings: findings.map(({ check, category, severity, tenant_id, relation, row, detail, remedy }) => ({
      check,
      category,
      severity,
      tenant_id,
      relation,
      row,
      detail,
      remedy,
    })),
    summary: { checks: summary.checks, errors: summary.errors, warnings: summary.warnings },
  };
}

/** What the comment of each check says. */
async function aboutChecks(tx: postgres.TransactionSql): Promise<Audit["about"]> {
  const rows = await tx<{ check: string; comment: string | null }[]>`
    select "check", comment from pg_temp.checks`;
  return new Map(
    rows.map(({ check, comment }) => {
      const [finds = "", ...lines] = (comment ?? "").split(/\n(?=[A-Z][a-z]+: )/).map(oneLine);
      const line = (name: string) => lines.find(text => text.startsWith(name))?.slice(name.length) ?? "";
      return [
        check,
        { finds: finds.replace(/^(error|warning|info): /, ""), why: line("Why: "), mend: line("Fix: ") },
      ];
    }),
  );
}

const oneLine = (text: string) => text.replaceAll("\n", " ");

/** Of what each finding is about; where that is no object of the catalog, of its words. */
async function definitionHashes(
  tx: postgres.TransactionSql,
  findings: Finding[],
): Promise<Map<Finding, string>> {
  const asked = findings.map((finding, i) => ({
    i,
    names: [
      finding.relation,
      ...Object.values(finding.row).filter(value => typeof value === "string"),
    ].filter(Boolean),
    detail: finding.detail,
  }));
  const rows = await tx<{ i: number; hash: string }[]>`
    with asked as materialized (
      select i, n, name, detail
      from jsonb_to_recordset(${JSON.stringify(asked)}::text::jsonb) a (i int, names text[], detail text)
      left join lateral unnest(a.names) with ordinality u (name, n) on true
    ), hashed as (
      select format('%I.%I', n.nspname, c.relname) as name, pg_temp.hash_of('pg_class', c.oid) as hash
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where format('%I.%I', n.nspname, c.relname) in (select name from asked)
      union all
      select f.oid::regprocedure::text, pg_temp.hash_of('pg_proc', f.oid)
      from pg_proc f where f.oid::regprocedure::text in (select name from asked)
    )
    select a.i, left(encode(sha256(convert_to(coalesce(string_agg(h.hash, '|' order by a.n), a.detail), 'UTF8')), 'hex'), 16) as hash
    from asked a left join hashed h using (name)
    group by a.i, a.detail`;
  return new Map(rows.map(({ i, hash }) => [findings[i]!, hash]));
}

/** What somebody vouched for in the database only: the gate believes it, and this does not. */
async function vouchedInside(tx: postgres.TransactionSql): Promise<string[]> {
  const [table] = await tx<{ readable: boolean }[]>`
    select has_table_privilege(c.oid, 'select') and has_schema_privilege(n.oid, 'usage') as readable
    from pg_class c join pg_namespace n on n.oid = relnamespace where nspname = 'audit' and relname = 'vouched'`;
  if (!table?.readable) return [];
  const rows = await tx<{ name: string; reason: string }[]>`
    select concat_ws(' ', kind, object) as name, reason from audit.vouched where reason <> 'this release' order by 1`;
  return rows.map(
    ({ name, reason }) =>
      `Vouched for in the database only, which counts for its gate and not here: ${name} (${reason})`,
  );
}
