/** `npm run audit`: its three formats, its exit status, and that nothing but the report goes to stdout. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { after, describe, it } from "node:test";
import { toHtml } from "../../src/audit/html.ts";
import { type Report, runAudit } from "../../src/audit/run.ts";
import { groupFindings, toText } from "../../src/audit/text.ts";
import { StartupError } from "../../src/errors/startup-error.ts";
import { built, inShell, outcome, tenancy } from "../cli/command.ts";
import { createDatabase, long, withSettings } from "../harness.ts";
import { idsOf, seedTenants, serverErrors } from "./world.ts";

const run = (url: string, ...args: string[]) => outcome(tenancy(["audit", ...args], { DATABASE_URL: url }));

const database = await createDatabase();
await seedTenants(database.sql, 3);
/** Errors that are there before any is planted. */
const server = await serverErrors(database.sql);
after(() => database.drop());

void describe("npm run audit", () => {
  it("prints the JSON report and nothing else, and exits 0 when there is no error", async () => {
    const { code, stdout, stderr } = await run(database.urls.owner, "--format", "json");
    assert.equal(stderr, "");
    assert.equal(code, server === 0 ? 0 : 1);
    const report = JSON.parse(stdout) as Report;
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
    assert.equal(report.summary.checks, report.checks.length);
    assert.equal(report.summary.errors, server);
    const proof = report.checks.find(({ check }) => check === "proof_rows");
    assert.equal(proof!.checked, 3 * 16, "the proof acts in each of three tenants");
    for (const check of report.checks) {
      assert.deepEqual(Object.keys(check), ["check", "category", "severity", "checked", "findings"]);
    }
    assert.deepEqual([...new Set(report.checks.map(check => check.category))].sort(), [
      "board_membership",
      "cross_tenant_access",
      "data_consistency",
      "isolation_config",
      "orphaned_record",
    ]);
  });

  it("exits 1 when there are errors, and shows each with its remedy, worst first, in all formats", async () => {
    const { sql, urls } = database;
    const { tenant, credit } = await idsOf(sql, "t2");
    await sql`update app.credit_transactions set amount = amount - 5 where id = ${credit!}`;
    await sql.unsafe("create publication report_feed for table app.boards");
    const name = `<script>alert("'&")</script>`;
    await sql`insert into app.boards (tenant_id, owner_id, title) select tenant_id, owner_id, ${name} from app.boards limit 1`;
    await sql.unsafe(
      `alter table app.boards add constraint "<b>bold" check (title <> '${name.replaceAll("'", "''")}') not valid`,
    );
    try {
      const [json, text, html] = await Promise.all(
        ["json", "text", "html"].map(format => run(urls.owner, "--format", format)),
      );
      for (const { code, stderr } of [json!, text!, html!]) assert.deepEqual([code, stderr], [1, ""]);

      const report = JSON.parse(json!.stdout) as Report;
      const found = report.findings.find(finding => finding.check === "credit_balance");
      assert.deepEqual(Object.keys(found!), [
        "check",
        "category",
        "severity",
        "tenant_id",
        "relation",
        "row",
        "detail",
        "remedy",
      ]);
      assert.deepEqual(
        [found!.category, found!.severity, found!.tenant_id, found!.relation, found!.row],
        ["data_consistency", "error", tenant, "app.credit_transactions", { tenant_id: tenant, id: credit }],
      );
      const order = report.findings.map(finding => ["error", "warning", "info"].indexOf(finding.severity));
      assert.deepEqual(
        order,
        [...order].sort((a, b) => a - b),
        "worst first",
      );
      assert.equal(
        report.summary.errors,
        report.findings.filter(finding => finding.severity === "error").length,
      );
      assert.equal(
        report.summary.warnings,
        report.findings.filter(finding => finding.severity === "warning").length,
      );

      assert.match(text!.stdout, /ERROR {2}credit_balance \(data_consistency\): 1 finding/);
      assert.match(text!.stdout, /the balance before was 100, the amount is -15/);
      assert.match(text!.stdout, /select id, type, amount, balance_after/);
      assert.ok(text!.stdout.indexOf("ERROR ") < text!.stdout.indexOf("WARNING "));
      assert.match(text!.stdout, /FAILED: \d+ errors\. \d+ checks/);

      assert.match(html!.stdout, /^<!doctype html>/);
      assert.doesNotMatch(
        html!.stdout,
        /<script|<link|<img|<iframe|\bsrc=|\burl\(|@import|https?:/i,
        "asks nothing of a network",
      );
      assert.ok(html!.stdout.includes("&lt;b&gt;bold"), "what comes from the database is text");
      assert.ok(html!.stdout.includes("<svg"), "the trend is a picture");
    } finally {
      await sql.unsafe(`alter table app.boards drop constraint "<b>bold"; drop publication report_feed`);
      await sql`delete from app.boards where title = ${name}`;
      await sql`update app.credit_transactions set amount = amount + 5 where id = ${credit!}`;
    }
  });

  it("exits 2 when a check could not run, whatever the others say", async () => {
    const { sql, urls } = database;
    await sql`revoke select on app.media from tms_auditor`;
    try {
      const { code, stdout } = await run(urls.owner, "--format", "json", "--only", "data");
      assert.equal(code, 2);
      const report = JSON.parse(stdout) as Report;
      const failed = report.checks.find(check => check.check === "storage_of_other_tenant");
      assert.deepEqual([failed!.severity, failed!.checked, failed!.findings], ["error", 0, 1]);
      assert.match((await run(urls.owner, "--only", "data")).stdout, /INCOMPLETE: \d+ checks could not run/);
    } finally {
      await sql`grant select on app.media to tms_auditor`;
    }
  });

  long("exits 1 for a single error, and 2 for a single check that could not run", async () => {
    const { sql, urls } = database;
    const [owned] = await sql<{ id: string }[]>`
      update app.media set storage_url = 'x/' || (select id from app.tenants where slug = 't3') || '/'
      where id = ${(await idsOf(sql, "t2")).medium!} returning id`;
    try {
      const found = await run(urls.owner, "--only", "data");
      assert.equal(found.code, 1, found.stdout);
      assert.match(found.stdout, /FAILED: 1 error\./);
      await sql`revoke execute on function app.count_tenants(text) from tms_auditor`;
      const broken = await run(urls.owner, "--only", "data");
      assert.equal(broken.code, 2, broken.stdout);
      assert.match(broken.stdout, /INCOMPLETE: 1 check could not run\./);
    } finally {
      await sql`grant execute on function app.count_tenants(text) to tms_auditor`;
      await sql`update app.media set storage_url = 'x/' || tenant_id || '/' where id = ${owned!.id}`;
    }
  });

  long("shows what could not run before all that was found, and why", async () => {
    const { sql, urls } = database;
    // In the catalog's order this error would stand first.
    const { generation } = await idsOf(sql, "t2");
    const foreign = await idsOf(sql, "t3");
    const [author] = await sql`select user_id from app.generations where id = ${generation!}`;
    const move = (user: string) =>
      sql.begin(async plant => {
        await plant.unsafe("set local session_replication_role = replica");
        await plant`update app.generations set user_id = ${user} where id = ${generation!}`;
      });
    await move(foreign.member!);
    await sql`revoke select on app.media from tms_auditor`;
    try {
      const told = new Map<string, number>();
      const audit = await runAudit(urls.owner, { sample: 1, only: "data" }, ({ pass, findings }) =>
        told.set(pass, findings),
      );
      assert.deepEqual([told.get("scan app.media"), told.get("scan app.generations")], [1, 1]);
      const groups = groupFindings(audit);
      const order = groups.map(group => group.notRun);
      assert.deepEqual(
        order,
        order.toSorted((a, b) => +b - +a),
      );
      assert.ok(groups.some(group => group.findings[0]!.check === "user_of_other_tenant" && !group.notRun));
      assert.match(toText(audit), /^ERROR {2}\w+ \(\w+\): could not run, /m);
      const badges = [...toHtml(audit).matchAll(/<span class="badge \w+">([^<]+)</g)].map(match => match[1]);
      assert.deepEqual([badges[0], badges.at(-1)], ["could not run", "error"]);
    } finally {
      await sql`grant select on app.media to tms_auditor`;
      await move(author!.user_id as string);
    }
  });

  long("draws clean runs small, and says that there was nothing", async () => {
    const scope = { sample: 1, only: "data", tenant: "t3" } as const;
    await runAudit(database.urls.owner, scope);
    const page = toHtml(await runAudit(database.urls.owner, scope));
    assert.match(page, /No check found anything\./);
    assert.match(page, /The last 2 runs, [-\d: ]+ to [-\d: ]+ UTC, of this scope: none found anything\./);
    assert.match(page, /class="mark fine"/);
  });

  it("exits 2 and says why in one line when it cannot begin", async () => {
    const nowhere = Object.assign(new URL(database.urls.owner), { port: "1" }).href;
    const cases: [string, RegExp, ...string[]][] = [
      [database.urls.owner, /no tenant with the slug 'nobody'/, "--tenant", "nobody"],
      [database.urls.service, /grant tms_auditor to it/],
      [nowhere, /cannot be reached/],
      [database.urls.owner, /Invalid values/, "--format", "pdf"],
      [database.urls.owner, /--sample takes a number/, "--sample", "none"],
      [database.urls.owner, /--sample takes a number/, "--sample", "0"],
      [database.urls.owner, /--sample takes a number/, "--sample", "1000000000"],
    ];
    await Promise.all(
      cases.map(async ([url, words, ...args]) => {
        const { code, stdout, stderr } = await run(url, ...args);
        assert.deepEqual([code, stdout], [2, ""], stderr);
        assert.match(stderr, words);
      }),
    );
  });

  long("tells a login that may only read the results what it takes to run", async () => {
    const { sql, urls } = database;
    await sql`grant usage on schema audit to tms_service`;
    try {
      await assert.rejects(runAudit(urls.service, { sample: 1 }), { message: /grant tms_auditor to it/ });
    } finally {
      await sql`revoke usage on schema audit from tms_service`;
    }
  });

  long("ends where somebody cancels it, and says so", async () => {
    const { sql, urls } = database;
    const cancelled = runAudit(urls.owner, { sample: 1 }, () => {
      void sql`select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'tms audit' and datname = current_database()`.catch(
        () => {},
      );
    });
    await assert.rejects(cancelled, { constructor: StartupError, message: /an administrator cancelled it/ });
  });

  long(
    "goes by limits of its own, so that neither a lock that stays nor a reader that has gone keeps it",
    async () => {
      const { sql, urls } = database;
      const limits = ["client_connection_check_interval", "lock_timeout", "statement_timeout"];
      const [timed] = await sql`select from pg_settings where name = 'transaction_timeout'`; // from Postgres 17 on
      if (timed) limits.push("transaction_timeout");
      await sql.unsafe(`create table public.limits as select null as name, null as value where false;
      create function public.note() returns trigger language plpgsql security definer as $$
      begin insert into public.limits select name, current_setting(name) from unnest(array['${limits.join("','")}']) name; return new; end $$;
      create trigger note before insert on audit.runs for each row execute function public.note()`);
      try {
        const ofRequests = Object.fromEntries(limits.slice(1).map(name => [name, "'9min'"]));
        await withSettings(database, ofRequests, () =>
          runAudit(urls.root, { sample: 1, only: "data", tenant: "t1" }),
        );
        const found = await sql<{ value: string }[]>`select value from public.limits order by name`;
        assert.deepEqual(
          found.map(({ value }) => value),
          ["5s", "30s", "0", ...(timed ? ["0"] : [])],
        );
      } finally {
        await sql`drop function public.note() cascade`;
        await sql`drop table public.limits`;
      }
    },
  );

  const full = !existsSync("/dev/full") && "this system has no /dev/full";
  long("exits 2 and says why in one line when its report cannot be written", { skip: full }, () => {
    const { status, stderr } = inShell("audit --tenant t1 --only data > /dev/full", {
      DATABASE_URL: database.urls.owner,
    });
    assert.deepEqual([status, stderr], [2, "Standard output cannot be written (ENOSPC)\n"]);
  });

  long("ends quietly when the reader of its report has gone", () => {
    const { stderr } = inShell("audit --tenant t1 --only data | { exec <&-; sleep 1; }", {
      DATABASE_URL: database.urls.owner,
    });
    assert.equal(stderr, "");
  });

  it("reports one tenant by its slug", async () => {
    const { code, stdout } = await run(
      database.urls.owner,
      "--format",
      "json",
      "--tenant",
      "t2",
      "--only",
      "data",
    );
    const report = JSON.parse(stdout) as Report;
    assert.deepEqual([code, report.tenant], [0, "t2"]);
    assert.equal(report.checks.find(check => check.check === "tenant_missing")!.checked, 15);
    assert.ok(report.checks.every(check => check.category !== "isolation_config"));
  });

  const hasTerminal = /util-linux/.test(spawnSync("script", ["--version"], { encoding: "utf8" }).stdout);
  long(
    "shows on a terminal how far it is, in a line that is written over, and left at the end",
    {
      skip: !hasTerminal && "util-linux's script is not installed",
    },
    async () => {
      const shown = (options: string) => {
        const line = `"${process.execPath}" dist/cli.js audit ${options} > /dev/null`;
        const env = { PATH: process.env.PATH, DATABASE_URL: database.urls.owner };
        return spawnSync("script", ["-qec", line, "/dev/null"], { cwd: built, env, encoding: "utf8" }).stdout;
      };
      const lines = shown("--only data --sample all").split("\r\x1b[K");
      assert.equal(lines[0], "");
      const [, rows] = /^█{16} \d+\/\d+ {2}(\d+) rows {2}\d+ found {2}\d+\.\d s\r\n$/.exec(lines.at(-1)!)!;
      assert.ok(Number(rows) > 3 * 13, "the rows of all passes");
      const [last] = await database.sql`select sample from audit.runs order by id desc limit 1`;
      assert.equal(last!.sample, null, "all");
      assert.match(shown("--tenant nobody"), /^The audit did not start/);
    },
  );

  long("tells how far it is while it runs", async () => {
    const seen: number[] = [];
    const audit = await runAudit(database.urls.owner, { sample: 3 }, progress => {
      assert.equal(progress.done, seen.length + 1);
      seen.push(progress.share);
    });
    assert.deepEqual(
      seen,
      [...seen].sort((a, b) => a - b),
    );
    assert.ok(Math.abs(seen.at(-1)! - 1) < 1e-9);
    assert.equal(audit.notRun.length, 0);
  });

  long(
    "counts as its way the rows that a pass reads: a large table is most of it, but not for one tenant",
    async () => {
      await database.sql`update pg_class set reltuples = 1e6 where oid = 'app.media'::regclass`;
      const shareOf = async (tenant?: string) => {
        let [before, found] = [0, 0];
        await runAudit(database.urls.owner, { tenant, only: "data", sample: 1 }, ({ pass, share }) => {
          if (pass === "scan app.media") found = share - before;
          before = share;
        });
        return found;
      };
      assert.ok((await shareOf()) > 0.9);
      const one = await shareOf("t1");
      assert.ok(one > 0 && one < 0.5, `${one}`);
    },
  );

  long("draws the trend of earlier runs of the same scope, and tables against checks", async () => {
    const { sql, urls } = database;
    const first = await runAudit(urls.owner, { sample: 1, only: "schema" });
    await sql.unsafe("alter table app.media no force row level security; create table app.plain (id int)");
    const broken = await runAudit(urls.owner, { sample: 1, only: "schema" });
    await sql.unsafe("alter table app.media force row level security; drop table app.plain");
    const last = await runAudit(urls.owner, { sample: 1, only: "schema" });
    assert.deepEqual(
      last.trend.map(run => run.errors),
      [server, server + 3, server],
    );
    assert.equal(first.trend.length, 1);
    // Somebody's forty runs more, and one that was cancelled.
    await sql`insert into audit.runs (family, finished_at) select 'schema', now() from generate_series(1, 40)`;
    const [unfinished] = await sql<
      { id: number }[]
    >`insert into audit.runs (family) values ('schema') returning id::int`;
    const later = await runAudit(urls.owner, { sample: 1, only: "schema" });
    assert.deepEqual(
      [later.trend.length, later.trend.at(-1)!.runId, later.trend.some(run => run.runId === unfinished!.id)],
      [40, later.runId, false],
    );
    const page = toHtml(broken);
    assert.match(page, /title="rls_not_forced on app\.media: 1 examined, 1 finding">1</);
    assert.match(page, /title="rls_not_forced on app\.boards: 1 examined, 0 findings">✓</);
    assert.match(
      page,
      /title="table_without_tenant elsewhere: \d+ examined, 1 finding">1</,
      "of a table that has no column there",
    );
    assert.match(page, new RegExp(`<title>Run \\d+, [^<]*: ${server + 3} errors?, `));
    assert.doesNotMatch(page, /@media \(prefers-color-scheme/, "paper is light, whatever the screen is");
    assert.doesNotMatch(page, /class="scroll"(?![^>]* tabindex="0")/, "a keyboard scrolls what a mouse does");
    const failed = toHtml({
      ...broken,
      results: broken.results.map(result => ({ ...result, failed: true })),
    });
    assert.match(failed, /<td class="cell failed" title="[^"]*: could not run">!</);
    const cards = (notRun: string[]) => toHtml({ ...broken, notRun }).match(/(?<=<\/b><span>)check[^<]*/g);
    assert.deepEqual(cards(["rls_disabled"]), ["check not run", "checks"]);
    assert.deepEqual(cards([]), ["checks not run", "checks"]);
  });
});
