/** `npm run audit` of this service's own database: the report, the exit status, and what stays in the history. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { Definitions } from "../../src/audit/definitions.ts";
import { toHtml } from "../../src/audit/html.ts";
import { toJunit } from "../../src/audit/junit.ts";
import { type Report, resultsOf } from "../../src/audit/report.ts";
import type { Request } from "../../src/audit/request.ts";
import { runAudit } from "../../src/audit/run.ts";
import { toSarif } from "../../src/audit/sarif.ts";
import { StartupError } from "../../src/errors/startup-error.ts";
import { RELEASE } from "../../src/migrate/release.ts";
import { outcome, projectRoot, tenancy } from "../cli/command.ts";
import { temporaryFolder } from "../folder.ts";
import { createDatabase } from "../harness.ts";
import { lockWaiters } from "../until.ts";
import { idsOf, seedTenants } from "./tenants.ts";

const database = await createDatabase();
const { sql, urls } = database;
const dba = `tms_dba_${randomBytes(4).toString("hex")}`;
const auditor = Object.assign(new URL(urls.owner), { username: dba, password: "secret" }).href;

before(async () => {
  await seedTenants(sql, 3);
  await sql.unsafe(`create role ${dba} login password 'secret'; grant tms_auditor to ${dba}`);
});
after(async () => {
  await sql.unsafe(`drop owned by ${dba}; drop role ${dba}`);
  await database.drop();
});

const command = (url: string, ...args: string[]) =>
  outcome(tenancy(["audit", ...args], { DATABASE_URL: url }));
const run = async (request: Partial<Request> = {}, url = urls.owner) =>
  (await runAudit(url, "DATABASE_URL", request)).audit;
/** Of an old server. */
const isServers = ({ check }: { check: string }) => check === "server_version" || check === "server_settings";

/** `work` while this is done to the database. */
async function planted<T>(plant: string, undo: string, work: () => Promise<T>): Promise<T> {
  await sql.unsafe(plant);
  try {
    return await work();
  } finally {
    await sql.unsafe(undo);
  }
}

const keysOf = (items: object[]) => [...new Set(items.map(item => Object.keys(item).join(", ")))];
const FINDING = "check, category, severity, tenant_id, relation, row, detail, remedy";

void describe("npm run audit", () => {
  const earlier = path.join(temporaryFolder("audit"), "earlier.json");

  it("prints the JSON report and nothing else, exits 0 without an error, and stores the run", async () => {
    const { code, stdout, stderr } = await command(urls.owner, "--format", "json");
    const report = JSON.parse(stdout) as Report;
    writeFileSync(earlier, stdout);
    const errors = report.findings.filter(({ severity }) => severity === "error");
    assert.deepEqual(
      errors.filter(one => !isServers(one)),
      [],
    );
    assert.deepEqual([code, stderr], [errors.length > 0 ? 1 : 0, ""]);
    assert.deepEqual(Object.keys(report), [
      "started_at",
      "finished_at",
      "tenant",
      "checks",
      "findings",
      "summary",
    ]);
    assert.match(report.started_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.ok(report.finished_at > report.started_at);
    assert.equal(report.tenant, null);
    assert.deepEqual(keysOf(report.checks), ["check, category, severity, checked, findings"]);
    assert.deepEqual([...new Set(report.checks.map(({ category }) => category))].sort(), [
      "board_membership",
      "cross_tenant_access",
      "data_consistency",
      "isolation_config",
      "orphaned_record",
    ]);
    assert.deepEqual(Object.keys(report.summary), ["checks", "errors", "warnings"]);
    assert.equal(report.summary.checks, report.checks.length);
    assert.equal(report.summary.errors, errors.length);
    const [last] = await sql`select run_by, tenant, checks, errors::int, not_run from audit.last_run`;
    assert.deepEqual(
      { ...last },
      {
        run_by: "tms_owner",
        tenant: null,
        checks: report.checks.length,
        errors: errors.length,
        not_run: 0,
      },
    );
  });

  it("exits 1 with an error, and shows it with its remedy in each format, to operators and in psql", async () => {
    const { tenant, credit } = await idsOf(sql, "t2");
    const change = (by: number) =>
      `update app.credit_transactions set amount = amount + ${by} where id = '${credit}'`;
    const table = `app."<script>alert('&')</script>"`;
    const text = await planted(
      `${change(-5)}; create table ${table} (tenant_id uuid not null); alter table ${table} owner to tms_owner`,
      `${change(5)}; drop table ${table}`,
      async () => {
        const { stdout, code, stderr } = await command(urls.owner, "--diff", earlier);
        assert.deepEqual([code, stderr], [1, ""]);
        const audit = await run({ only: "data" });
        const found = audit.report.findings.find(({ check }) => check === "credit_balance")!;
        assert.equal(Object.keys(found).join(", "), FINDING);
        assert.deepEqual(
          [found.category, found.severity, found.tenant_id, found.relation, found.row],
          ["data_consistency", "error", tenant, "app.credit_transactions", { tenant_id: tenant, id: credit }],
        );
        const page = toHtml(await run({ only: "schema" }));
        assert.doesNotMatch(page, /<script|<link|<img|<iframe|\bsrc=|\burl\(|@import|https?:/i);
        assert.match(page, /&lt;script&gt;alert/, "what comes from the database is text");
        for (const shown of [
          toHtml(audit).replaceAll("&#39;", "'"),
          toJunit(audit),
          toSarif(audit, new Definitions(projectRoot), "1.0.0"),
        ])
          for (const words of [found.detail, found.remedy]) assert.ok(shown.includes(words), words);
        const [row] = await sql<[{ page: { run: { run_id: number }; findings: { check: string }[] } }]>`
          select (control.audit_page(50, null)).body as page`;
        assert.ok(row.page.findings.some(({ check }) => check === "credit_balance"));
        const [open] = await sql`select detail, remedy, tenant_id, run_id::int from audit.findings
          where "check" = 'credit_balance'`;
        assert.deepEqual(
          { ...open },
          { detail: found.detail, remedy: found.remedy, tenant_id: tenant, run_id: audit.runId },
        );
        return stdout;
      },
    );
    assert.match(text, /^FAILED: \d+ errors?\. \d+ checks/);
    assert.match(text, /^OPENED since the earlier report\n {2}- error /m);
    assert.match(text, /^ERROR {2}credit_balance \(data_consistency\): 1 finding$/m);
    assert.match(text, /the balance before was 100, the amount is -15/);
    await run({ only: "data" });
    const open = await sql`select from audit.findings where "check" = 'credit_balance'`;
    assert.equal(open.length, 0, "the next run closes it");
  });

  it("exits 2 when a check could not run, which no other error hides", async () => {
    // The owner's own: nobody granted it this one.
    const plant = `create table app.strange (tenant_id uuid not null references app.tenants, id int)`;
    await planted(plant, "drop table app.strange", async () => {
      const { code, stdout } = await command(urls.owner, "--only", "data");
      assert.equal(code, 2, stdout);
      assert.match(stdout, /^INCOMPLETE: 1 check could not run\./);
      assert.match(
        stdout,
        /^ERROR {2}parent_missing .*could not run, 1 finding\n(?: {2}\S.*\n)+? {2}- app\.strange\n +the check could not run \(rows of app\.strange\): permission denied for table strange$/m,
      );
      const [last] = await sql`select result, not_run from audit.last_run`;
      assert.deepEqual({ ...last }, { result: "incomplete", not_run: 1 });
    });
  });

  it("exits 2 and says why in one line when it cannot begin", async () => {
    const { code, stdout, stderr } = await command(urls.owner, "--tenant", "nobody");
    assert.deepEqual([code, stdout, stderr], [2, "", "there is no tenant 'nobody'"]);
    const wrong = await command(urls.owner, "--sample", "none");
    assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
    assert.match(wrong.stderr, /--sample takes a number of tenants, or all/);
    const nowhere = Object.assign(new URL(urls.owner), { port: "1" }).href;
    for (const [url, words] of [
      [urls.service, /^This login may not run the audit: grant tms_auditor to it/],
      [nowhere, /cannot be reached/],
      [urls.root, /^This login is a superuser: .*, or --as-superuser where you trust them$/],
    ] as const)
      await assert.rejects(run({}, url), { constructor: StartupError, message: words });
    const [unfinished] = await sql`select count(*)::int as n from audit.runs where finished_at is null`;
    assert.equal(unfinished!.n, 0);
    assert.ok((await run({ asSuperuser: true, only: "schema" }, urls.root)).runId);
  });

  it("audits only a database of its own release, and says which one it found", async () => {
    const cases: [number, RegExp][] = [
      [RELEASE.number + 1, /audit it with that release's build\. --database audits it from outside/],
      [RELEASE.number - 1, /run npm run migrate first\. --database audits it from outside/],
    ];
    // There is no release 0.
    for (const [number, cure] of cases.filter(([number]) => number > 0)) {
      await planted(
        `insert into control.release (number, hash) values (${number}, 'another')`,
        "delete from control.release where hash = 'another'",
        async () => {
          await assert.rejects(run({ only: "data" }), (error: Error) => {
            assert.match(error.message, cure);
            assert.match(
              error.message,
              new RegExp(
                `^The database has release ${number}, and this build is release ${RELEASE.number}: `,
              ),
            );
            return true;
          });
        },
      );
    }
  });

  it("reports one tenant by its slug, with a trend of its own", async () => {
    const { report, trend, runId } = await run({ tenant: "t2", only: "data" });
    assert.equal(report.tenant, "t2");
    assert.ok(report.checks.every(({ category }) => category !== "isolation_config"));
    assert.deepEqual(
      trend.map(one => one.runId),
      [runId],
    );
    const again = await run({ tenant: "t2", only: "data" });
    assert.deepEqual(
      again.trend.map(one => one.runId),
      [runId, again.runId],
    );
  });

  it("counts more than the thousand findings of a check that it keeps", async () => {
    const { tenant } = await idsOf(sql, "t1");
    const plant = `insert into app.media (tenant_id, id, generation_id, storage_url, content_type, size_bytes)
      select m.tenant_id, gen_random_uuid(), m.generation_id, 's3://media/${tenant}/x', 'image/png', 1
      from (select m.* from app.media m join app.tenants t on t.id = m.tenant_id and t.slug = 't2' limit 1) m, generate_series(1, 1100)`;
    await planted(plant, "delete from app.media where storage_url like '%/x'", async () => {
      const audit = await run({ only: "data" });
      const { report, runId } = audit;
      const check = report.checks.find(one => one.check === "storage_of_other_tenant")!;
      assert.deepEqual([check.findings, report.summary.errors, report.findings.length], [1100, 1100, 1000]);
      assert.deepEqual(
        resultsOf(audit).map(({ relation, error }) => [relation, error]),
        [
          ["app.media", 1000],
          ["", 100],
        ],
      );
      const [stored] = await sql`
        select t.run_id::int, t.errors::int, c.errors::int as of_check, (select count(*)::int from audit.findings f where f."check" = c."check") as kept
        from audit.trend t join audit.last_checks c on c."check" = 'storage_of_other_tenant' order by t.run_id desc limit 1`;
      assert.deepEqual({ ...stored }, { run_id: runId, errors: 1100, of_check: 1100, kept: 1000 });
    });
    await run({ only: "data" });
  });

  it("keeps a thousand of the findings against the release, too, counts all, and stores the run", async () => {
    const all = "on all functions in schema pg_catalog";
    const audit = await planted(
      `grant execute ${all} to tms_service`,
      `revoke execute ${all} from tms_service`,
      () => run({ only: "schema" }),
    );
    const { checks, findings, summary } = audit.report;
    const kept = findings.filter(({ check }) => check === "not_as_released");
    assert.equal(kept.length, 1000);
    const counted = checks.find(({ check }) => check === "not_as_released")!.findings;
    assert.ok(counted > 2000, String(counted));
    const [stored] = await sql`
      select errors::int, warnings::int from audit.runs where id = ${audit.runId}`;
    assert.deepEqual({ ...stored }, { errors: summary.errors, warnings: summary.warnings });
    assert.ok(summary.errors > 2000);
  });

  it("runs and stores what a member of tms_auditor may do, and says what it did not prove", async () => {
    assert.equal((await run({ tenant: "t3", only: "data" }, auditor)).report.summary.errors, 0);
    const audit = await run({}, auditor);
    const told = audit.report.findings.filter(({ check }) => check === "not_proved");
    assert.equal(told.length, 1, JSON.stringify(told));
    assert.match(told[0]!.detail, /permission denied to set role/);
    assert.ok(audit.report.checks.find(({ check }) => check === "credit_balance")!.checked > 0);
    const [last] = await sql`select run_id::int, run_by, not_run from audit.last_run`;
    assert.deepEqual({ ...last }, { run_id: audit.runId, run_by: dba, not_run: audit.notRun.length });
    await run({ only: "schema" });
  });

  it("ends with one sentence where somebody cancels it, and its run stays unfinished", async () => {
    await sql.begin(async tx => {
      await tx`lock app.users`;
      const cancelled = assert.rejects(run({ only: "data" }), {
        constructor: StartupError,
        message: /an administrator cancelled it/,
      });
      const [pid] = await lockWaiters(sql);
      await tx`select pg_cancel_backend(${pid!})`;
      await cancelled;
    });
    const [last] = await sql`select result from audit.trend limit 1`;
    assert.equal(last!.result, "unfinished");
  });
});
