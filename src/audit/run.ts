/** Audits any Postgres: sends the audit's own text, believes only that, and rolls everything back. */
import type postgres from "postgres";
import { onConnection } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { hasState } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { NOT_AS_RELEASED } from "../migrate/objects.ts";
import { SAMPLE_PRODUCT } from "../migrate/product.ts";
import { RELEASE } from "../migrate/release.ts";
import { type Comparison, compareWithRelease, withoutVouched } from "../migrate/released.ts";
import { settle } from "../migrate/session.ts";
import { bySeverity, type Finding, type Severity } from "../values/finding.ts";
import { type Accepted, applyBaseline, type Baseline } from "./baseline.ts";
import { type Audit, type Report, resultsOf } from "./report.ts";
import { auditText, PRODUCT_CHECKS, SERVICE_CHECKS, serviceProfile } from "./sql-text.ts";
import { openRun, storeRun } from "./store.ts";

export interface Request {
  tenant?: string | undefined;
  only?: "data" | "schema" | undefined;
  /** The number of principals of each table as which the proof acts. */
  sample: number;
  /** The proof tries to write, too; triggers fire. */
  writes: boolean;
  /** A superuser runs the policies' functions as itself. */
  asSuperuser: boolean;
  /** Rows for the tables that have none, undone like everything else. */
  seed?: boolean;
  /** Null: this service's own, or what the catalog proposes. */
  profile: Record<string, unknown> | null;
  baseline: Baseline;
}

const DEFAULTS: Request = {
  sample: 20,
  writes: false,
  asSuperuser: false,
  profile: null,
  baseline: { vouched: [], accepted: [] },
};

const SESSION = {
  connection: {
    application_name: "tms audit",
    statement_timeout: 0,
    lock_timeout: 30_000,
    idle_in_transaction_session_timeout: 0,
    quote_all_identifiers: false,
  },
};

class Rollback {
  constructor(readonly value: unknown) {}
}

/** `work` in a session that has the audit in pg_temp; the transaction is rolled back, whatever happens. */
export async function inSession<T>(
  url: string,
  what: string,
  work: (tx: postgres.TransactionSql, login: Login) => Promise<T>,
): Promise<T> {
  const run = (sql: postgres.Sql) =>
    sql
      .begin("isolation level repeatable read", async tx => {
        await settle(tx);
        await tx
          .unsafe(
            "set local search_path = pg_catalog, pg_temp; set local jit = off; set local client_min_messages = warning",
          )
          .simple();
        const login = await examineLogin(tx);
        const own = login.ours ? [SERVICE_CHECKS, ...(login.product ? [PRODUCT_CHECKS] : [])] : [];
        await tx.unsafe(auditText(own)).simple();
        throw new Rollback(await work(tx, login));
      })
      .catch(thrown => {
        if (thrown instanceof Rollback) return thrown.value as T;
        throw thrown;
      });
  return onConnection(url, run, SESSION).catch(error => {
    if (hasState(error, "no_data_found"))
      throw new StartupError(`The audit did not start: ${(error as Error).message}`);
    throw explainDatabase(error, url, what);
  });
}

interface Login {
  /** The database is this service's. */
  ours: boolean;
  /** It has the sample product. */
  product: boolean;
  superuser: boolean;
}

/** @throws StartupError where this login cannot audit */
async function examineLogin(tx: postgres.TransactionSql): Promise<Login> {
  const [found] = await tx<({ version: number; standby: boolean; temporary: boolean } & Login)[]>`
    select current_setting('server_version_num')::int as version, pg_is_in_recovery() as standby,
      has_database_privilege(current_database(), 'temp') as temporary,
      (select rolsuper from pg_roles where rolname = current_user) as superuser,
      exists (select from pg_class c join pg_namespace n on n.oid = relnamespace where nspname = 'control' and relname = 'release') as ours,
      ${tx.unsafe(SAMPLE_PRODUCT)} as product`;
  const { version, standby, temporary, ...login } = found!;
  if (version < 150_000) throw new StartupError("The audit needs Postgres 15 or newer");
  if (standby)
    throw new StartupError("The server is a standby, which makes no temporary tables: audit its primary");
  if (!temporary)
    throw new StartupError(
      "The audit works in temporary tables: grant temporary on this database to this login",
    );
  return login;
}

/** What the catalog proposes as this database's profile. */
export function proposeProfile(url: string, what: string): Promise<Record<string, unknown>> {
  return inSession(url, what, propose);
}

async function propose(tx: postgres.TransactionSql): Promise<Record<string, unknown>> {
  const [row] = await tx<{ profile: string }[]>`select pg_temp.propose()::text as profile`;
  return JSON.parse(row!.profile) as Record<string, unknown>;
}

export interface Outcome {
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
  const outcome = await auditFromOutside(url, what, request, onStep);
  return { ...outcome, audit: await storeRun(url, what, runId, outcome.audit) };
}

/** @throws StartupError */
export function auditFromOutside(
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

function refuseSuperuser(superuser: boolean, { asSuperuser, only }: Pick<Request, "asSuperuser" | "only">) {
  if (asSuperuser || only === "data" || !superuser) return;
  throw new StartupError(
    "This login is a superuser: the functions in the database's policies would run as one. Use a lesser login (docs/guides/any-postgres.md), or --as-superuser where you trust them",
  );
}

async function loadProfile(
  tx: postgres.TransactionSql,
  given: Record<string, unknown> | null,
  ours: boolean,
) {
  if (ours) await tx`select set_config('app.maintenance', 'on', true)`; // tms_owner sees rows
  if (!given && ours) {
    await tx.unsafe(serviceProfile()).simple();
    return { profile: null, proposed: false };
  }
  const profile = given ?? (await propose(tx));
  try {
    await tx.savepoint(inner => inner`select pg_temp.load_profile(${JSON.stringify(profile)}::text::jsonb)`);
  } catch (error) {
    if (given) throw new StartupError(`The profile does not fit this database: ${(error as Error).message}`);
    throw new StartupError(
      `The catalog says too little for a profile (${(error as Error).message}): write one, docs/guides/any-postgres.md has examples`,
    );
  }
  return { profile, proposed: given === null };
}

/** What stays empty, and why. */
export async function seed(tx: postgres.TransactionSql): Promise<string[]> {
  try {
    const rows = await tx.savepoint(
      inner => inner<{ relation: string; failure: string }[]>`
        select relation, failure from pg_temp.seed() where rows = 0 and failure is not null`,
    );
    return rows.map(({ relation, failure }) => `${relation} has no rows: ${failure}`);
  } catch (error) {
    throw new StartupError(
      `No rows can be made for the proof: ${(error as Error).message}. It needs a superuser, or the right to set session_replication_role`,
    );
  }
}

/** What people reviewed. And the release's functions: where one differs, the manifest says so. */
export async function vouch(
  tx: postgres.TransactionSql,
  { vouched }: Pick<Baseline, "vouched">,
  functions: string[],
) {
  await tx`
    insert into pg_temp.vouched (kind, object, hash, reason)
    select kind, object, hash, reason
    from jsonb_to_recordset(${JSON.stringify(vouched)}::text::jsonb) v (kind text, object text, hash text, reason text)`;
  await tx`
    insert into pg_temp.vouched (kind, object, reason)
    select 'function', f, 'the manifest' from jsonb_array_elements_text(${JSON.stringify(functions)}::text::jsonb) f
    on conflict do nothing`;
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
  const [row] = await tx<{ report: string; database: string; version: string; failed: string[] }[]>`
    select pg_temp.report()::text as report, current_database() as database, current_setting('server_version') as version,
      (select array_to_json(array_agg("check")) from pg_temp.run_checks where failed) as failed`;
  const { report, failed, ...server } = row!;
  return assembled(inOrder(JSON.parse(report) as Report), {
    notRun: failed ?? [],
    about: await aboutChecks(tx),
    server: { ...server, schema: null },
  });
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

function assembled(
  report: Report,
  { notRun, about, server }: Pick<Audit, "notRun" | "about" | "server">,
): Audit {
  return {
    report,
    runId: null,
    notRun,
    about,
    results: resultsOf(report),
    trend: [],
    server,
  };
}

/** What a changed table or policy leads to. */
const CONSEQUENCES = new Set([
  "rls_disabled",
  "owner_bypasses",
  "not_isolated",
  "sees_less",
  "policy_depends",
]);

/** One fault, one finding: a changed table or policy says what it leads to, and has the remedy of the check that found that. */
function oneFinding(manifest: Finding[], checks: Finding[]): { merged: Finding[]; told: Set<Finding> } {
  const told = new Set<Finding>();
  const merged = manifest.map(finding => {
    if (finding.severity !== "error" || !("table" in finding.row || "policy" in finding.row)) return finding;
    const led = checks.filter(
      one => CONSEQUENCES.has(one.check) && one.relation === finding.relation && !told.has(one),
    );
    for (const one of led) told.add(one);
    if (led.length === 0) return finding;
    const detail = [finding.detail, ...led.map(one => `${one.check}: ${one.detail}`)].join("\n");
    return { ...finding, detail, remedy: led[0]!.remedy };
  });
  return { merged, told };
}

function withManifest(audit: Audit, compared: Comparison | undefined): Audit {
  if (!compared) {
    const note = `The files of db/ are not those of release ${RELEASE.number}: nothing was compared with a manifest`;
    return { ...audit, notes: [note] };
  }
  const { findings, lines } = compared;
  const { report } = audit;
  const listed = {
    check: NOT_AS_RELEASED,
    category: "isolation_config",
    severity: "error" as const,
    checked: lines,
    findings: findings.length,
  };
  const { merged, told } = oneFinding(findings, report.findings);
  const less = (of: (finding: Finding) => boolean) => [...told].filter(of).length;
  const count = (severity: Severity) =>
    findings.filter(one => one.severity === severity).length - less(one => one.severity === severity);
  const whole = {
    ...report,
    checks: [
      listed,
      ...report.checks.map(one => ({
        ...one,
        findings: one.findings - less(({ check }) => check === one.check),
      })),
    ],
    findings: [...merged, ...report.findings.filter(one => !told.has(one))].toSorted(bySeverity),
    summary: {
      checks: report.summary.checks + 1,
      errors: report.summary.errors + count("error"),
      warnings: report.summary.warnings + count("warning"),
    },
  };
  return assembled(whole, audit);
}

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

export interface Claim {
  relation: string | null;
  claim: string;
  result: string;
  detail: string | null;
}

export interface Reader {
  role: string;
  login: boolean;
  reads: string;
  path: string;
}

/** Every role that can read rows of a tenant, and by which path. */
export function readersFromOutside(
  url: string,
  what: string,
  tenant: string,
  { profile }: Pick<Request, "profile">,
): Promise<Reader[]> {
  return inSession(url, what, async (tx, { ours }) => {
    await loadProfile(tx, profile, ours);
    return [...(await tx<Reader[]>`select role, login, reads, path from pg_temp.who_reads(${tenant}::text)`)];
  });
}

/** The proof alone, a line a claim: of one table, or of all. */
export function proveFromOutside(
  url: string,
  what: string,
  relation: string | null,
  asked: Partial<Request>,
): Promise<Claim[]> {
  const request = { ...DEFAULTS, ...asked };
  return inSession(url, what, async (tx, { ours, superuser }) => {
    refuseSuperuser(superuser, request);
    await loadProfile(tx, request.profile, ours);
    if (request.seed) await seed(tx);
    const claims = await tx<Claim[]>`
      select relation, claim, result, detail from pg_temp.prove(${relation}::text::regclass, ${request.sample}::int, ${request.writes}::boolean,
        ${request.asSuperuser}::boolean)`;
    return [...claims];
  });
}
