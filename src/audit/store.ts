/** The history of this service's own database: what a run found stays there, for psql, operators and the metrics. */
import type postgres from "postgres";
import { onConnection, UNHURRIED } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { hasState } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { RELEASE } from "../migrate/release.ts";
import type { Severity } from "../values/finding.ts";
import { type Audit, resultsOf } from "./report.ts";
import { type Request, refuseSuperuser } from "./request.ts";

const SESSION = { connection: { ...UNHURRIED, application_name: "tms audit" } };

const inStore = <T>(url: string, what: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> =>
  onConnection(url, work, SESSION).catch(error => {
    throw explainDatabase(error, url, what);
  });

/** @returns the id of the run; it is finished by storeRun(), and counts as cancelled until then */
export function openRun(url: string, what: string, request: Request): Promise<number> {
  const { tenant, only, sample } = request;
  return inStore(url, what, async sql => {
    const [found] = await sql<{ superuser: boolean; audit: boolean; allowed: boolean }[]>`
      select (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as superuser, p.oid is not null as audit,
        has_schema_privilege(p.pronamespace, 'usage') and has_function_privilege(p.oid, 'execute') as allowed
      from (select) as one
      left join pg_catalog.pg_proc p on p.proname = 'close_run' and p.pronamespace = to_regnamespace('audit')`;
    refuseSuperuser(found!.superuser, request);
    if (!found!.audit)
      throw new StartupError(
        "The database has no audit of this release yet: run npm run migrate, or name it with --database",
      );
    if (!found!.allowed)
      throw new StartupError(
        "This login may not run the audit: grant tms_auditor to it, as an administrator",
      );
    const [installed] = await sql<[{ release: number | null }]>`select app.release() as release`;
    if (installed.release !== RELEASE.number)
      throw new StartupError(
        `The database has ${installed.release === null ? "no release" : `release ${installed.release}`}, and this build is release ${RELEASE.number}: ${(installed.release ?? 0) < RELEASE.number ? "run npm run migrate first" : "audit it with that release's build"}. --database audits it from outside, and stores nothing`,
      );
    try {
      const [row] = await sql<[{ id: string }]>`
        select audit.open_run(${tenant ?? null}::text, ${only ?? null}::text, ${sample}::int) as id`;
      return Number(row.id);
    } catch (error) {
      if (hasState(error, "no_data_found")) throw new StartupError((error as Error).message);
      throw error;
    }
  });
}

/** Finishes the run, and adds what the history knows. */
export function storeRun(url: string, what: string, runId: number, audit: Audit): Promise<Audit> {
  return inStore(url, what, async sql => {
    const { report, notRun } = audit;
    const results = resultsOf(audit);
    const checks = report.checks.map(({ check, checked }) => {
      const found = (severity: Severity) =>
        results.reduce((sum, one) => sum + (one.check === check ? one[severity] : 0), 0);
      return {
        check,
        checked,
        errors: found("error"),
        warnings: found("warning"),
        infos: found("info"),
        failed: notRun.includes(check),
      };
    });
    const findings = report.findings.map((finding, n) => ({ n, ...finding }));
    await sql`select audit.close_run(${runId}, ${JSON.stringify(checks)}::text::jsonb, ${JSON.stringify(findings)}::text::jsonb)`;
    const [row] = await sql<
      [{ schema: string }]
    >`select schema_version as schema from audit.runs where id = ${runId}`;
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
    return { ...audit, runId, trend: [...trend], server: { ...audit.server, schema: row.schema } };
  });
}
