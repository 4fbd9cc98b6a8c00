/** Runs the audit in the database and reads the stored result. The checks themselves are SQL. */
import type postgres from "postgres";
import { onConnection, UNHURRIED } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { SQLSTATE } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { changedFunctions, isOfThisBuild } from "../migrate/manifest.ts";
import { addChanged } from "./changed-functions.ts";
import type { Audit, Report, Result } from "./report.ts";
import { addUnreleased, unreleasedObjects } from "./unreleased.ts";

export type * from "./report.ts";

export interface Scope {
  tenant?: string | undefined;
  only?: "data" | "schema" | undefined;
  /** The number of tenants that the proof samples; null: all. */
  sample: number | null;
}

export interface Progress {
  done: number;
  of: number;
  /** The pass that has just ended, such as `rls_disabled` or `scan app.boards`. */
  pass: string;
  rows: number;
  findings: number;
  /** The share of the work done, 0 to 1, by the tables' estimated sizes. */
  share: number;
}

/** `url` logs in as a superuser, tms_owner or a member of tms_auditor. Throws StartupError. */
export async function runAudit(
  url: string,
  scope: Scope,
  onProgress?: (progress: Progress) => void,
): Promise<Audit> {
  let onLine = (_line: string) => {};
  const options = {
    onnotice: (notice: postgres.Notice) => onLine(notice.message ?? ""),
    // A lock that is never released must not stop the audit.
    connection: { ...UNHURRIED, lock_timeout: 30_000, application_name: "tms audit" },
  };
  const work = async (sql: postgres.Sql) => {
    await requireAudit(sql);
    // The server ends an audit whose client is gone. A server on Windows cannot detect that, and refuses the setting.
    await sql`set client_connection_check_interval = '5s'`.catch(() => {});
    await sql`set transaction_timeout = 0`.catch(() => {}); // the setting exists since Postgres 17
    if (onProgress) onLine = progressReader(await passSizes(sql, scope), onProgress);
    const changed = await changedFunctions(sql);
    // Of an edited tree, and of another release's database, the lines are not known.
    const comparable = scope.only !== "data" && isOfThisBuild(changed);
    const unreleased = comparable ? await unreleasedObjects(sql) : undefined;
    const [run] = await sql<{ p_run: string }[]>`
      call audit.run(${scope.tenant ?? null}::text, ${scope.only ?? null}::text, ${scope.sample}::int)`;
    const audit = await readAudit(sql, Number(run!.p_run));
    addChanged(audit, changed);
    if (unreleased) addUnreleased(audit, unreleased);
    return audit;
  };
  return onConnection(url, work, options).catch(error => {
    throw explainAudit(error, url);
  });
}

async function requireAudit(sql: postgres.Sql) {
  const [found] = await sql<{ audit: boolean; allowed: boolean }[]>`
    select p.oid is not null as audit,
           has_schema_privilege(p.pronamespace, 'usage') and has_function_privilege(p.oid, 'execute') as allowed
    from (select) as one
    left join pg_catalog.pg_proc p on p.proname = 'run' and p.pronamespace = to_regnamespace('audit')`;
  if (!found!.audit) throw new StartupError("The database has no audit yet: run npm run migrate");
  if (!found!.allowed)
    throw new StartupError("This login may not run the audit: grant tms_auditor to it, as an administrator");
}

async function passSizes(sql: postgres.Sql, scope: Scope): Promise<Map<string, number>> {
  const rows = await sql<{ pass: string; rows: number }[]>`
    select p as pass, coalesce(sum(c.reltuples), 0)::float8 as rows
    from audit.passes(${scope.only ?? null}) p
    left join audit.data_checks() d on d.check_name = p
    left join pg_catalog.pg_class c
      on p = 'scan ' || c.oid::regclass -- to_regclass would ask for rights on the schema, which a stray table's has not
      or c.oid = any (select to_regclass(t) from unnest(d.tables) t)
    group by p`;
  // A catalog check takes about as long as the check of a thousand rows.
  return new Map(rows.map(({ pass, rows }) => [pass, 1000 + (scope.tenant === undefined ? rows : 0)]));
}

const PASS = /^audit (\d+)\/(\d+) (.+?): (\d+) rows, (?:(\d+) findings?|could not run)/;

function progressReader(sizes: Map<string, number>, onProgress: (progress: Progress) => void) {
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  let passed = 0;
  return (line: string) => {
    const [, done, of, pass, rows, findings = "1"] = PASS.exec(line) ?? [];
    if (pass === undefined) return;
    passed += sizes.get(pass) ?? 0;
    onProgress({
      done: Number(done),
      of: Number(of),
      pass,
      rows: Number(rows),
      findings: Number(findings),
      share: passed / total,
    });
  };
}

async function readAudit(sql: postgres.Sql, runId: number): Promise<Audit> {
  const [row] = await sql<{ report: string; database: string; version: string; schema: string | null }[]>`
    select audit.report(${runId})::text as report, current_database() as database, server_version as version,
           schema_version as schema
    from audit.runs where id = ${runId}`;
  const about = await sql<{ check: string; finds: string; why: string; mend: string }[]>`
    select "check", finds, why, mend from audit.checks()`;
  const results = await sql<Result[]>`
    select check_name as "check", relation, checked::float8 as checked, failed,
           errors::float8 as error, warnings::float8 as warning, infos::float8 as info
    from audit.results where run_id = ${runId} order by check_name, relation`;
  const trend = await sql<Audit["trend"]>`
    select * from (
      select r.id::int as "runId", app.iso_time(r.started_at) as "startedAt", r.errors::float8 as errors,
             r.warnings::float8 as warnings, r.infos::float8 as infos, r.not_run as "notRun"
      from audit.runs r
      join audit.runs this on this.id = ${runId}
        and r.tenant_id is not distinct from this.tenant_id and r.family is not distinct from this.family
      where r.finished_at is not null and r.id <= this.id
      order by r.id desc limit 40) last
    order by "runId"`;
  const { report, ...server } = row!;
  return {
    report: JSON.parse(report) as Report,
    runId,
    notRun: [...new Set(results.filter(result => result.failed).map(result => result.check))],
    about: new Map(about.map(({ check, ...words }) => [check, words])),
    results: [...results],
    trend: [...trend],
    server,
  };
}

function explainAudit(error: unknown, url: string): unknown {
  const { code, message } = error as { code?: string; message: string };
  if (code === SQLSTATE.no_data_found) return new StartupError(`The audit did not start: ${message}`);
  return explainDatabase(error, url, "DATABASE_URL");
}
