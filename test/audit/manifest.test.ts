/** The functions of the database against the manifest that the build ships: whoever replaces a function may replace what tells of it. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, describe, it } from "node:test";
import postgres from "postgres";
import { runAudit } from "../../src/audit/run.ts";
import { changedFunctions } from "../../src/migrate/manifest.ts";
import { migrate } from "../../src/migrate/migrate.ts";
import { createDatabase } from "../harness.ts";
import { serverErrors } from "./world.ts";

const database = await createDatabase();
const { sql, urls } = database;
after(() => database.drop());

const audited = async () => {
  const { report } = await runAudit(urls.owner, { sample: 1, only: "schema" });
  const found = report.findings.filter(
    ({ severity, check }) => severity === "error" && check === "function_changed",
  );
  return {
    errors: report.summary.errors - (await serverErrors(sql)),
    found: found.map(({ row, detail }) => `${String(row.function)}: ${detail}`),
  };
};
const names = async () => (await changedFunctions(sql)).map(({ name }) => name);
const repaired = () => migrate({ ownerUrl: urls.owner, reinstall: true });

const BLIND = `create or replace function audit.check_function_changed() returns setof audit.observation language sql stable set search_path = pg_catalog, pg_temp
  as $$ select 'info', null::uuid, null::text, '{}'::jsonb, null::text, null::text from generate_series(1, 200) $$;
  update pg_proc set prosrc = replace(prosrc, 'and u.auth_subject = p_caller.subject', '') where oid = 'app.enter_tenant(app.caller)'::regprocedure;`;

void describe("the shipped manifest", () => {
  afterEach(() => repaired());

  it("is what a new database has, whatever the session looks for names in", async () => {
    assert.deepEqual(await names(), []);
    await sql`create or replace function public.left(text, int) returns text language sql return 'x'`;
    const session = postgres(urls.root, {
      connection: { search_path: "public, pg_catalog", quote_all_identifiers: true },
    });
    assert.deepEqual(await changedFunctions(session), []);
    await session.end();
    await sql`drop function public.left(text, int)`;
  });

  it("finds a function that lets strangers in, and the check that was replaced so that it says nothing", async () => {
    await sql.unsafe(BLIND);
    const [told] = await sql`select count(*)::int as n from audit.run_check('function_changed')`;
    assert.equal(told!.n, 0);
    const changed = ["app.enter_tenant(app.caller)", "audit.check_function_changed()"];
    assert.deepEqual(await audited(), {
      errors: 2,
      found: changed.map(name => `${name}: the function is not what the release made`),
    });
    await assert.rejects(migrate({ ownerUrl: urls.owner }), {
      message:
        "The release in the database was changed: app.enter_tenant(app.caller): the function is not what the release made (and 1 more). To mend it, install the release again: npm run migrate -- --reinstall",
    });
    await repaired();
    assert.deepEqual([await names(), await audited()], [[], { errors: 0, found: [] }]);
  });

  it("finds a definer of no release, unless it was accepted, and another function of a name of the release", async () => {
    const made = (name: string, how: string) =>
      `create function ${name} returns int language sql ${how} set search_path = pg_catalog, pg_temp as 'select 1'`;
    const blind = BLIND.split("update")[0]!;
    await sql.unsafe(`${blind} ${made("control.f()", "security definer")}; ${made("audit.f()", "security definer")};
      ${made("app.enter_tenant(int)", "security invoker")}; ${made("app.f()", "security invoker")}; alter function audit.f() owner to tms_owner;
      set local role tms_owner; select audit.accept('audit.f()')`);
    const other = "the function has the name of one of this release, and may be called in its place";
    assert.deepEqual(
      (await changedFunctions(sql)).map(({ name, detail }) => `${name}: ${detail}`),
      [
        `app.enter_tenant(integer): ${other}`,
        "audit.check_function_changed(): the function is not what the release made",
        "control.f(): the function is not of this release, and runs with the rights of postgres",
      ],
    );
    assert.equal((await audited()).found.length, 3);
    await sql.unsafe(
      `drop function control.f(), audit.f(), app.enter_tenant(int), app.f(); delete from audit.accepted`,
    );
  });

  it("says once what the database's own check says too", async () => {
    await sql`update pg_proc set prosrc = prosrc || ' ' where oid = 'app.enter_tenant(app.caller)'::regprocedure`;
    const { errors, found } = await audited();
    assert.deepEqual([errors, found.length], [1, 1]);
  });

  it("finds a function that is gone, another's, or everybody's", async () => {
    await sql.unsafe(
      `drop function app.etag(text,text); alter function app.iso_time(timestamptz) owner to tms_auditor; grant execute on function app.parse_uuid(text) to public`,
    );
    assert.deepEqual(
      (await changedFunctions(sql)).map(({ name, detail }) => `${name}: ${detail}`),
      [
        "app.etag(text,text): the function is not there",
        "app.iso_time(timestamp with time zone): the function belongs to tms_auditor instead of tms_owner",
        "app.parse_uuid(text): everybody may execute the function",
      ],
    );
    await sql`alter function app.iso_time(timestamptz) owner to tms_owner; `;
    await sql`revoke execute on function app.parse_uuid(text) from public`;
  });

  it("finds a policy of the bookkeeping that is gone or shows less, as an auditor too, and so does migrate", async () => {
    const login = `tms_dba_${randomBytes(4).toString("hex")}`;
    await sql.unsafe(`create role ${login} login password 'secret'; grant tms_auditor to ${login}`);
    const auditor = Object.assign(new URL(urls.owner), { username: login, password: "secret" }).href;
    const told = async (url: string) => {
      const { report } = await runAudit(url, { sample: 1, only: "schema" });
      const listed = report.checks.find(({ check }) => check === "not_as_released");
      const found = report.findings.filter(({ check }) => check === "not_as_released");
      assert.equal(listed!.findings, found.length);
      return found.map(({ severity, row }) => `${severity} ${String(row.policy)}`);
    };
    try {
      assert.deepEqual(await told(auditor), []);
      await sql.unsafe(`drop policy registrar on control.rate_limits; alter policy registrar on control.tenant_events using (false);
        alter table app.boards no force row level security`);
      const expected = ["error registrar on control.rate_limits", "error registrar on control.tenant_events"];
      assert.deepEqual(await told(auditor), expected, "what a check of the audit names is told once");
      assert.deepEqual(await told(urls.owner), expected);
      await sql.unsafe("alter table app.boards force row level security");
      await assert.rejects(migrate({ ownerUrl: urls.owner }), {
        message:
          "Tenants are not isolated: control.rate_limits: policy registrar on control.rate_limits is not there. A policy decides which rows a role sees and writes. Have it as db/tables/rate_limits.sql has it (and 1 more). The release was not installed",
      });
    } finally {
      await sql.unsafe(`create policy registrar on control.rate_limits to tms_registrar using (true) with check (true);
        alter policy registrar on control.tenant_events using (true); drop role ${login}`);
    }
    await migrate({ ownerUrl: urls.owner });
  });

  it("names the list alone where that is another release's, or was changed", async () => {
    await sql.unsafe(
      `${BLIND} update pg_proc set prosrc = replace(prosrc, 'api.add_member', 'api.add_members') where oid = 'audit.manifest()'::regprocedure`,
    );
    const [first, ...more] = await changedFunctions(sql);
    assert.deepEqual([first!.name, more], ["audit.manifest()", []]);
    assert.match(
      first!.detail,
      /^the list of the release's functions is not that of this build, release \d+: /,
    );
  });
});
