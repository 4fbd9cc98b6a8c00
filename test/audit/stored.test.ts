/** The audit as it is installed in the schema audit: a run from psql, its history, the operators' page, and the gate. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack } from "../harness.ts";
import { seedTenants } from "./tenants.ts";

const database = await createDatabase();
const { sql } = database;
const owner = postgres(database.urls.owner, {
  max: 1,
  onnotice: notice => void notices.push(notice.message!),
});
const notices: string[] = [];
const dba = `tms_dba_${randomBytes(4).toString("hex")}`;
const auditor = postgres(
  Object.assign(new URL(database.urls.owner), { username: dba, password: "secret" }).href,
  { max: 1, onnotice: () => {} },
);

before(async () => {
  await seedTenants(sql, 3);
  await sql.unsafe(`create role ${dba} login password 'secret'; grant tms_auditor to ${dba}`);
  await owner`set app.maintenance = on`;
});
after(async () => {
  await Promise.all([owner.end(), auditor.end()]);
  await sql.unsafe(`drop owned by ${dba}; drop role ${dba}`);
  await database.drop();
});

const findings = async () => [
  ...(await sql<{ check: string; relation: string | null; tenant_id: string | null }[]>`
    select "check", relation, tenant_id from audit.findings where severity <> 'info' and "check" not in ('server_version', 'role_bypasses')`),
];
const run = async (...[tenant, only]: [(string | null)?, string?]) => {
  const [row] = await owner`call audit.run(${tenant ?? null}::text, ${only ?? null}::text)`;
  return Number(row!.p_run);
};

void describe("call audit.run()", () => {
  it("stores a run of every check, and ends with the verdict, the counts and where to look", async () => {
    const id = await run();
    assert.match(
      notices.at(-1)!,
      /^(PASSED|FAILED): \d+ checks, [01] errors, \d+ warnings, \d+ infos, 0 could not run, \d\d? relations were proved\. See: table audit\.findings;$/,
    );
    const [last] =
      await sql`select run_id::int, result, checks, rows_checked::int, not_run from audit.last_run`;
    const [{ checks }] = await sql<
      [{ checks: number }]
    >`select count(*)::int as checks from audit.last_checks`;
    assert.deepEqual([last!.run_id, last!.not_run, last!.checks], [id, 0, checks]);
    assert.ok(checks > 50 && last!.rows_checked > 100);
    assert.deepEqual(await findings(), []);
  });

  it("opens a finding, and closes it by a later run that asks its check again", async () => {
    await sql`alter table app.boards no force row level security`;
    const [tenant] = await sql<{ id: string }[]>`select id from app.tenants where slug = 't2'`;
    await sql`update app.credit_transactions set amount = amount - 5 where tenant_id = ${tenant!.id} and id = (select min(id::text)::uuid from app.credit_transactions where tenant_id = ${tenant!.id})`;
    await run();
    const open = await findings();
    assert.ok(open.some(({ check, relation }) => check === "owner_bypasses" && relation === "app.boards"));
    assert.ok(open.some(({ check, tenant_id }) => check === "credit_balance" && tenant_id === tenant!.id));
    await sql`alter table app.boards force row level security`;
    await run(null, "data");
    assert.ok(
      (await findings()).some(({ check }) => check === "owner_bypasses"),
      "nobody asked the catalog",
    );
    await run("t1", "data");
    assert.ok(
      (await findings()).some(({ check }) => check === "credit_balance"),
      "nobody asked that tenant's rows",
    );
    await sql`update app.credit_transactions set amount = amount + 5 where tenant_id = ${tenant!.id} and id = (select min(id::text)::uuid from app.credit_transactions where tenant_id = ${tenant!.id})`;
    await run("t2", "data");
    await run(null, "schema");
    assert.deepEqual(await findings(), []);
  });

  it("keeps the findings of a login's last hundred finished runs, and of older ones while a finding is open", async () => {
    const [first] = await sql<[{ id: number }]>`
      insert into audit.runs (family, finished_at, run_by)
      select 'data', now(), case when i = 3 then 'another' else 'tms_owner' end from generate_series(1, 103) i returning id::int`;
    const unfinished = await sql`insert into audit.runs (family) values ('data') returning id::int`;
    const [closed, open, others, kept] = [first.id, first.id + 1, first.id + 2, first.id + 10];
    for (const [id, check] of [
      [closed, "credit_balance"],
      [open, "view_as_owner"], // asked by none of the runs of rows
      [others, "credit_balance"],
      [kept, "credit_balance"],
    ] as const)
      await sql`
        insert into audit.found (run_id, check_name, n, severity, relation, "row", detail, remedy)
        values (${id}, ${check}, 1, 'error', 'app.boards', '{}', 'd', 'r')`;
    await run(null, "data");
    const left = await sql<{ id: number }[]>`
      select run_id::int as id from audit.found where run_id between ${closed} and ${closed + 102} order by 1`;
    assert.deepEqual(
      left.map(({ id }) => id),
      [open, others, kept],
    );
    assert.deepEqual(
      (await findings()).map(({ check }) => check),
      ["view_as_owner"],
    );
    const trend = await sql<{ result: string }[]>`
      select result from audit.trend where run_id between ${closed} and ${unfinished[0]!.id as number} order by run_id desc`;
    assert.deepEqual([trend.length, trend[0]!.result, trend[1]!.result], [104, "unfinished", "clean"]);
    await sql`delete from audit.runs where id between ${closed} and ${unfinished[0]!.id as number}`;
  });

  it("keeps the operators' page", async () => {
    const [row] = await sql<{ page: { run: { checks: number }; findings: unknown[]; trend: unknown[] } }[]>`
      select (control.audit_page(50, null)).body as page`;
    assert.ok(row!.page.run.checks > 20 && row!.page.trend.length >= 5);
    const [last] = await sql<
      { last: { errors: number; not_run: number } }[]
    >`select app.last_audit() as last`;
    assert.equal(last!.last.not_run, 0);
  });

  it("is for members of tms_auditor, too; what they may not prove is told", async () => {
    await auditor`call audit.run(null, 'schema')`;
    const [last] = await sql`select run_by, not_run from audit.last_run`;
    assert.equal(last!.run_by, dba);
    const unable = await sql`
      select check_name from audit.results where run_id = (select run_id from audit.last_run) and failed`;
    assert.deepEqual([...unable], []);
    const told =
      await sql`select from audit.findings where "check" = 'not_proved' and detail ~ 'permission denied to set role'`;
    assert.equal(told.length, 1);
    await assert.rejects(
      auditor`insert into audit.found (run_id, check_name, n, severity, "row", detail, remedy) values (1, 'x', 1, 'info', '{}', '', '')`,
      /permission denied/,
    );
    await run(null, "schema");
  });

  it("shows such a member every row: each view has its reader's rights", async () => {
    const views = await sql`
      select relname from pg_class
      where relnamespace = 'audit'::regnamespace and relkind = 'v' and 'security_invoker=true' <> all (coalesce(reloptions, '{}'))`;
    assert.deepEqual([...views], []);
    const [row] = await sql<{ id: string }[]>`
      update app.credit_transactions set amount = amount - 5 where (tenant_id, id) = (
        select tenant_id, id from app.credit_transactions order by 1, 2 limit 1) returning id`;
    await auditor`call audit.run(null, 'data')`;
    const [last] = await sql<{ rows: number; not_run: number }[]>`
      select rows_checked::int as rows, not_run from audit.last_run`;
    assert.equal(last!.not_run, 0);
    assert.ok(last!.rows > 100);
    assert.deepEqual(
      (await findings()).map(({ check }) => check),
      ["credit_balance"],
    );
    await sql`update app.credit_transactions set amount = amount + 5 where id = ${row!.id}`;
    await run(null, "data");
    assert.deepEqual(await findings(), []);
  });

  it("stops a check whose rows a policy hides from the login", async () => {
    await owner`set app.maintenance = off`;
    await run(null, "data");
    await owner`set app.maintenance = on`;
    const stopped = await sql`
      select from audit.findings where "check" = 'credit_balance' and detail ~ 'could not run .*app.credit_transactions: '`;
    assert.equal(stopped.length, 1);
    await run(null, "data");
    assert.deepEqual(await findings(), []);
  });

  it("stores values: nothing of the session runs with the rights of tms_owner", async () => {
    await auditor.unsafe(`
      create function pg_temp.planted() returns text language plpgsql as $$ begin raise exception 'executed as %', current_user; end $$;
      drop table if exists pg_temp.run_steps, pg_temp.run_checks, pg_temp.run_findings;
      create temp view run_steps as select false as done, pg_temp.planted() as step;
      create temp view run_checks as select pg_temp.planted() as "check";
      create temp view run_findings as select pg_temp.planted() as "check"`);
    const [opened] = await auditor<[{ id: number }]>`select audit.open_run(null, 'data', 1)::int as id`;
    const close = (checks: unknown, findings: unknown[] = []) =>
      auditor`select audit.close_run(${opened.id}, ${JSON.stringify(checks)}::text::jsonb, ${JSON.stringify(findings)}::text::jsonb)`;
    const checks = await sql<{ check: string }[]>`
      select "check", 7 as checked, 1 as errors, 0 as warnings, 0 as infos, false as failed from audit.checks where family = 'data'`;
    const finding = {
      check: checks[0]!.check,
      severity: "error",
      relation: "app.boards",
      row: {},
      detail: "d",
      remedy: "r",
    };
    for (const [given, found] of [
      [checks.slice(1), []],
      [[...checks, { ...checks[0], check: "no_check" }], []],
      [checks.map(one => ({ ...one, errors: -1 })), []],
      [checks, [finding, finding]],
      [checks, [{ ...finding, check: "no_check" }]],
    ])
      await assert.rejects(close(given, found), {
        code: "22023",
        message: /these are not the results of its checks$/,
      });
    await assert.rejects(close(checks, [{ ...finding, severity: "fatal" }]), /found_severity_known/);
    await assert.rejects(
      owner`select audit.close_run(${opened.id}, '[]', '[]')`,
      /is not open/,
      "it is another's",
    );
    await close(checks, [finding]);
    const [stored] = await sql`select run_id::int, errors::int, rows_checked::int from audit.last_run`;
    assert.deepEqual(
      { ...stored },
      { run_id: opened.id, errors: checks.length, rows_checked: 7 * checks.length },
    );
    await assert.rejects(close(checks), /is not open/);
    await run(null, "data");
  });
});

void describe("the gate", () => {
  const gate = (change: string) =>
    rolledBack(sql, async tx => {
      await tx.unsafe(`${change}; set local role tms_owner; set local app.maintenance = on`);
      await tx`select control.gate()`;
    });

  it("passes a new database, and refuses a table that is open, by acting too", async () => {
    await gate("select 1");
    await assert.rejects(
      gate("alter table app.media disable row level security"),
      (error: postgres.PostgresError) => {
        assert.equal(error.code, "55000");
        assert.match(
          error.message,
          /^Tenants are not isolated: app\.media: .*\. Fix it with: select app\.isolate\('app\.media'\);/,
        );
        return true;
      },
    );
    await assert.rejects(
      gate("alter policy tenant_only on app.boards using (true)"),
      /^PostgresError: Tenants are not isolated: app\.boards: /,
    );
  });
});
