/** audit.run() as a DBA calls it: who may, what it stores, and that nothing that could not run passes for clean. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import postgres from "postgres";
import { createDatabase, long, withSettings } from "../harness.ts";
import { lockWaiters, until } from "../until.ts";
import { idsOf, seedTenants, serverErrors } from "./world.ts";

const TENANTS = 200;

const login = `audit_dba_${process.pid}`;
const notices: string[] = [];
const database = await createDatabase();
const { sql } = database;
await seedTenants(sql, TENANTS);
const server = await serverErrors(sql);
/** How a run ends, and with how many errors, that looks at the server too and finds nothing else. */
const clean = server === 0 ? "clean" : "errors";
// A login that is a tms_auditor and nothing else.
await sql.unsafe(`create role ${login} login password 'only for this test' in role tms_auditor`);
const url = Object.assign(new URL(database.urls.root), {
  username: login,
  password: "only for this test",
});
const dba = postgres(url.href, { max: 1, onnotice: notice => notices.push(notice.message ?? "") });
after(async () => {
  await dba.end();
  await sql.unsafe(`drop role ${login}`);
  await database.drop();
});

void describe("audit.run()", () => {
  const lastRun = async () => (await sql`select * from audit.last_run`)[0]!;

  it("finds no error in 200 tenants with sample data, called by a login that is a tms_auditor and nothing else", async () => {
    const [call] = await dba`call audit.run(p_sample => 25)`;
    const run = await lastRun();
    assert.equal(run.run_id, call!.p_run);
    assert.deepEqual(
      [run.result, Number(run.errors), Number(run.not_run), run.run_by],
      [clean, server, 0, login],
      JSON.stringify(await dba`select * from audit.findings`),
    );
    const [checks] = await dba`select count(*)::int as n from audit.checks()`;
    assert.equal(run.checks, checks!.n);
  });

  long("tells of a schema check the time of its one pass, however many tables that was over", async () => {
    const long = await dba`
      select l."check" from audit.last_checks l join audit.checks() c using ("check")
      where c.family = 'schema' and l.elapsed > (
        select max(r.elapsed) from audit.results r join audit.last_run using (run_id) where r.check_name = l."check")`;
    assert.deepEqual([...long], []);
  });

  it("looked at every row: examined beside found", async () => {
    const rows = await dba`select "check", checked::int from audit.last_checks`;
    const checked = Object.fromEntries(rows.map(row => [row.check as string, row.checked as number]));
    // Per tenant: 2 users, 1 board, 1 membership, 3 generations, 3 media, 2 credits, 1 configuration, 1 invitation, 1 key.
    assert.equal(checked.tenant_missing, TENANTS * 15);
    assert.equal(checked.credit_balance, TENANTS * 2);
    assert.equal(checked.board_member_outside_tenant, TENANTS);
    assert.equal(checked.proof_rows, 25 * 16, "with the tenant itself");
    assert.equal(checked.tenant_malformed, TENANTS);
    const empty = rows.filter(row => row.checked === 0).map(row => row.check as string);
    const none = ["constraint_broken", "shard_differs", "system_grants", "trigger_rights"];
    assert.deepEqual(new Set(empty), new Set(none), "of these there are none to examine");
  });

  it("finds every row of a tenant that is gone, parents before their children", async () => {
    const other = await createDatabase();
    try {
      await seedTenants(other.sql, 10);
      await other.sql`analyze`;
      const { tenant } = await idsOf(other.sql, "t3");
      await other.sql.begin(async transaction => {
        await transaction`set local session_replication_role = replica`;
        await transaction`delete from app.tenants where id = ${tenant!}`;
      });
      const passes = await other.sql<{ table: string }[]>`
        select substr(p, 6) as table from audit.passes('data') p where p like 'scan %'`;
      const order = passes.map(({ table }) => table);
      assert.deepEqual(
        order.filter(name => ["app.boards", "app.users", "app.generations"].includes(name)),
        ["app.users", "app.boards", "app.generations"],
      );
      await other.sql`call audit.run(p_only => 'data')`;
      for (const table of order.filter(name => name !== "app.tenants")) {
        const [row] = await other.sql`
          select r.errors::int, (select count(*)::int from ${other.sql(table)} where tenant_id = ${tenant!}) as rows
          from audit.results r join audit.last_run using (run_id) where r.check_name = 'tenant_missing' and r.relation = ${table}`;
        assert.ok(row!.rows > 0, table);
        assert.equal(row!.errors, row!.rows, table);
      }
    } finally {
      await other.drop();
    }
  });

  long("counts a generation with several media once", async () => {
    const { tenant, generation } = await idsOf(sql, "t1");
    await sql`insert into app.media (tenant_id, generation_id, storage_url) values (${tenant!}, ${generation!}, 'second')`;
    await dba`call audit.run('t1', 'data')`;
    await sql`delete from app.media where storage_url = 'second'`;
    const rows =
      await dba`select checked::int from audit.last_checks where "check" in ('completed_without_media', 'storage_of_other_tenant') order by "check"`;
    assert.deepEqual(
      rows.map(row => row.checked),
      [3, 4],
    );
  });

  long(
    "raises a notice as each pass ends, and one for each check that several tables answer together",
    async () => {
      assert.ok(
        notices.some(line => /^audit 2\/\d+ rls_disabled: \d+ rows, 0 findings, \d+ ms$/.test(line)),
        notices[0],
      );
      assert.ok(
        notices.some(line => /^audit \d+\/\d+ scan app\.boards: 200 rows, 0 findings, \d+ ms$/.test(line)),
      );
      assert.ok(
        notices.some(line => /^audit check parent_missing: \d+ rows in 5 tables, 0 findings/.test(line)),
      );
    },
  );

  it("reads every tenant and writes nothing, for the same login", async () => {
    assert.equal((await dba`select count(*)::int as n from app.tenants`)[0]!.n, TENANTS);
    for (const statement of [
      "update app.boards set title = 'x'",
      "delete from app.tenants",
      "insert into audit.found select * from audit.found",
      "update audit.runs set errors = 0",
      "delete from audit.runs",
      "set role tms_app",
      "set role tms_owner",
    ]) {
      await assert.rejects(dba.unsafe(statement), { code: "42501" }, statement);
    }
  });

  it("may be called by tms_owner and by a superuser too, and by nobody else", async () => {
    const owner = postgres(database.urls.owner, { max: 1, onnotice: () => {} });
    const service = postgres(database.urls.service, { max: 1, onnotice: () => {} });
    try {
      await owner`call audit.run(p_only => 'schema', p_sample => 2)`;
      assert.equal((await lastRun()).result, clean);
      await sql`call audit.run(p_only => 'data')`;
      assert.equal((await lastRun()).result, "clean");
      await assert.rejects(async () => service`call audit.run()`, { code: "42501" });
    } finally {
      await Promise.all([owner.end(), service.end()]);
    }
  });

  it("is not fooled by a session with row_security off or a tenant set", async () => {
    await dba.unsafe("set row_security = off; set app.tenant_id = '00000000-0000-0000-0000-000000000001'");
    await dba`call audit.run(p_only => 'data')`;
    await dba.unsafe("reset row_security; reset app.tenant_id");
    const [row] = await dba`select checked::int from audit.last_checks where "check" = 'tenant_missing'`;
    assert.equal(row!.checked, TENANTS * 15);
  });

  long("runs no operator that the caller's path has before Postgres's", async () => {
    const operators = ["=", "<>", "<", ">", "+", "||"].flatMap((sign, i) =>
      ["text", "int", "bigint"].map(
        type => `create function evil.f${i}(${type}, ${type}) returns boolean language plpgsql as 'begin raise ''run''; end';
          create operator evil.${sign} (leftarg = ${type}, rightarg = ${type}, function = evil.f${i});`,
      ),
    );
    await sql.unsafe(`create schema evil; ${operators.join("")} grant usage on schema evil to public`);
    await dba.unsafe("set search_path = evil, pg_catalog");
    try {
      await assert.rejects(dba.unsafe("select 'a'::text = 'b'"), /run/);
      await dba`call audit.run(p_sample => 1)`;
      await assert.rejects(dba`call audit.run(p_only => 'x')`, { code: "22023", message: /^p_only is data/ });
      await assert.rejects(dba`call audit.run(p_sample => 0)`, { code: "22023", message: /^p_sample is/ });
    } finally {
      await dba.unsafe("reset search_path");
    }
    await sql.unsafe("drop schema evil cascade");
    assert.equal(Number((await lastRun()).not_run), 0);
  });

  long("is the same for a session that spells names and strings in another way", async () => {
    await dba.unsafe("set quote_all_identifiers = on; set standard_conforming_strings = off");
    await dba`call audit.run(p_sample => 2)`;
    await dba.unsafe("reset quote_all_identifiers; reset standard_conforming_strings");
    const run = await lastRun();
    assert.deepEqual(
      [run.result, Number(run.not_run)],
      [clean, 0],
      JSON.stringify(await dba`select * from audit.findings`),
    );
  });

  long(
    "adds up in a transaction that no run at the same time can end, whatever the session's are",
    async () => {
      await sql.unsafe(`create function public.tell() returns trigger language plpgsql as
      'begin raise notice ''finished, %'', current_setting(''transaction_isolation''); return null; end';
      create trigger tell after update on audit.runs for each row when (new.finished_at is not null) execute function public.tell()`);
      await dba.unsafe("set default_transaction_isolation = serializable");
      await dba`call audit.run('t7', 'data')`;
      await dba.unsafe("reset default_transaction_isolation");
      await sql`drop function public.tell() cascade`;
      assert.ok(notices.includes("finished, read committed"), notices.at(-1));
    },
  );

  it("takes one tenant, and refuses one that is not there, a family that is not one, and a transaction", async () => {
    await dba`call audit.run('t7', 'data')`;
    const run = await lastRun();
    assert.deepEqual([run.tenant, run.family, run.result], ["t7", "data", "clean"]);
    const [row] = await dba`select checked::int from audit.last_checks where "check" = 'tenant_missing'`;
    assert.equal(row!.checked, 15);
    await assert.rejects(async () => dba`call audit.run('nobody')`, { code: "P0002" });
    await assert.rejects(async () => dba`call audit.run(p_only => 'half')`, { code: "22023" });
    await assert.rejects(async () => dba`call audit.run(p_sample => 0)`, { code: "22023" });
    await assert.rejects(
      dba.begin(sql => sql`call audit.run()`),
      { code: "2D000" },
    );
    assert.equal((await lastRun()).run_id, run.run_id);
  });

  long(
    "records nothing in the transaction that opened the run, whose view of the database may be old",
    async () => {
      await assert.rejects(
        dba.begin(async sql => {
          const [run] = await sql`select audit.start_run(null, 'schema', 1) as id`;
          await sql`select audit.record_pass(${run!.id as string}, 'table_owner')`;
        }),
        { code: "55000" },
      );
    },
  );

  long("cannot run of a table that is gone since the run began", async () => {
    const [open] = await dba`select audit.start_run(null, 'data', 1) as id`;
    const run = open!.id as string;
    await sql`update audit.runs set pending = array['scan app.imported'] where id = ${run}`;
    const [pass] =
      await dba`select findings::int, failure from audit.record_pass(${run}, 'scan app.imported')`;
    assert.deepEqual([pass!.findings, pass!.failure], [1, "scan app.imported: the table is gone"]);
    await dba`select audit.finish_run(${run})`;
    assert.equal((await lastRun()).result, "incomplete");
    await sql`delete from audit.runs where id = ${run}`;
  });

  long(
    "cannot run of a table that is dropped while the pass waits for it, and says so by its name",
    async () => {
      await sql.unsafe(`create table app.staging (tenant_id uuid not null, id int, primary key (tenant_id, id));
      alter table app.staging owner to tms_owner; select app.isolate('app.staging')`);
      const [open] = await dba`select audit.start_run(null, 'data', 1) as id`;
      const run = open!.id as string;
      let pass: postgres.PendingQuery<postgres.Row[]> | undefined;
      await sql.begin(async other => {
        await other`drop table app.staging`;
        pass = dba`select failure from audit.record_pass(${run}, 'scan app.staging')`.execute();
        await lockWaiters(sql, 1);
      });
      assert.deepEqual([...(await pass!)], [{ failure: "scan app.staging: the table is gone" }]);
      await sql`delete from audit.runs where id = ${run}`;
    },
  );

  long("says nothing of a table that is gone since the snapshot, which no longer has a name", async () => {
    await sql.unsafe(`create table app.staging (tenant_id uuid not null, id int, primary key (tenant_id, id));
      alter table app.staging owner to tms_owner; select app.isolate('app.staging')`);
    await sql.begin("isolation level repeatable read", async old => {
      await old`select from pg_class limit 1`;
      await sql`drop table app.staging`;
      const found = await old`
        select "check", relation, detail from audit.run_family('schema') where severity = 'error' and "check" <> 'server_version'`;
      assert.deepEqual([...found], []);
    });
  });

  long("counts every finding and keeps the first thousand of each check", async () => {
    await sql.begin(plant =>
      plant.unsafe(`
        set local session_replication_role = replica;
        insert into app.boards (tenant_id, owner_id, title) select gen_random_uuid(), gen_random_uuid(), 'lost' from generate_series(1, 1500);
        insert into app.media (tenant_id, generation_id, storage_url) select gen_random_uuid(), gen_random_uuid(), 'lost' from generate_series(1, 700);
        alter table app.provider_configs add constraint one check (provider_name = '-') not valid, add constraint two check (is_enabled) not valid`),
    );
    try {
      await dba`call audit.run(p_only => 'data')`;
      const run = await lastRun();
      assert.equal(run.result, "errors");
      const [row] = await dba`select errors::int from audit.last_checks where "check" = 'tenant_missing'`;
      assert.equal(row!.errors, 2200);
      const [broken] =
        await dba`select errors::int from audit.last_checks where "check" = 'constraint_broken'`;
      assert.equal(broken!.errors, 2 * TENANTS, "by both tests of the table");
      const kept = await dba`select n from audit.findings where "check" = 'tenant_missing' order by n`;
      assert.deepEqual([kept.length, kept[0]!.n, kept.at(-1)!.n], [1000, 1, 1000]);
      const [report] = await dba`select audit.report() as json`;
      assert.equal(report!.json.summary.errors, Number(run.errors));
      await sql`revoke select on app.credit_transactions from tms_auditor`;
      await dba`call audit.run(p_only => 'data')`;
      const [failed] =
        await dba`select n, detail from audit.findings where "check" = 'tenant_missing' and relation = 'app.credit_transactions'`;
      assert.equal(failed!.n, 1001);
      assert.match(failed!.detail, /could not run/, "why is kept in any case");
    } finally {
      await sql`alter table app.provider_configs drop constraint if exists one, drop constraint if exists two`;
      await sql`grant select on app.credit_transactions to tms_auditor`;
      await sql`delete from app.boards where title = 'lost'`;
      await sql`delete from app.media where storage_url = 'lost'`;
    }
  });

  long("numbers what a check found worst first, through all its tables", async () => {
    await sql.unsafe(`create table app.zoo (tenant_id uuid);
      alter table app.boards alter tenant_id set default '00000000-0000-0000-0000-000000000001'`);
    const [opened] = await sql`select audit.start_run(null, 'schema', 1) as id`;
    const all = opened!.id as string;
    await sql`select audit.record_pass(${all}, 'table_rules')`;
    await sql.unsafe("drop table app.zoo; alter table app.boards alter tenant_id drop default");
    const kept = await sql`select n, severity, relation from audit.found where run_id = ${all} order by n`;
    assert.deepEqual(
      kept.map(({ n, severity, relation }) => [n, severity, relation]),
      [
        [1, "error", "app.zoo"],
        [2, "error", "app.zoo"],
        [3, "warning", "app.boards"],
      ],
    );
    await sql`delete from audit.runs where id = ${all}`;
    const settings = { row_security: "off", log_parameter_max_length_on_error: "-1" };
    await withSettings(database, settings, async () => {
      const fresh = postgres(url.href, { max: 1, onnotice: () => {} });
      try {
        const [open] = await fresh`select audit.start_run(null, 'schema', 1) as id`;
        const run = open!.id as string;
        await sql`update audit.runs set pending = array['server_settings'] where id = ${run}`;
        await fresh`select audit.record_pass(${run}, 'server_settings')`;
        const found =
          await sql`select severity from audit.found where run_id = ${run} and severity <> 'error' order by n limit 2`;
        assert.deepEqual(
          found.map(row => row.severity),
          ["warning", "info"],
        );
        await sql`delete from audit.runs where id = ${run}`;
      } finally {
        await fresh.end();
      }
    });
  });

  it("stores a check that may not read as an error, and goes on with the others", async () => {
    await sql`revoke select on app.media from tms_auditor`;
    try {
      await dba`call audit.run(p_only => 'data')`;
    } finally {
      await sql`grant select on app.media to tms_auditor`;
    }
    const run = await lastRun();
    assert.equal(run.result, "incomplete");
    const failed = await dba`select "check", severity, failed from audit.last_checks where failed order by 1`;
    assert.deepEqual(
      failed.map(row => row.check),
      [
        "completed_without_media",
        "parent_missing",
        "parent_of_other_tenant",
        "storage_of_other_tenant",
        "tenant_missing",
      ],
    );
    const [found] = await dba`select * from audit.findings where "check" = 'storage_of_other_tenant'`;
    assert.deepEqual(
      [found!.severity, found!.category, found!.relation],
      ["error", "cross_tenant_access", "app.media"],
    );
    assert.match(
      found!.detail,
      /the check could not run: permission denied for table media \(SQLSTATE 42501\)/,
    );
    const [boards] =
      await dba`select checked::int from audit.results where run_id = ${run.run_id} and check_name = 'tenant_missing' and relation = 'app.boards'`;
    assert.equal(boards!.checked, TENANTS);
  });

  it("keeps open what a later run did not ask about: one of another tenant, or of the other family", async () => {
    const open = async () =>
      (
        await dba`select t.slug, f.run_id from audit.findings f left join app.tenants t on t.id = f.tenant_id where severity = 'error' and "check" = 'board_member_outside_tenant'`
      ).map(row => row.slug as string);
    await dba`call audit.run(p_only => 'data')`;
    assert.deepEqual(await open(), []);
    const [at3, at4, at9] = [await idsOf(sql, "t3"), await idsOf(sql, "t4"), await idsOf(sql, "t9")];
    const move = (to: (home: typeof at3) => string) =>
      sql.begin(async plant => {
        await plant`set local session_replication_role = replica`;
        for (const home of [at3, at4])
          await plant`update app.board_members set user_id = ${to(home)} where tenant_id = ${home.tenant!} and board_id = ${home.board!}`;
      });
    await move(() => at9.member!);
    try {
      await dba`call audit.run()`;
      assert.deepEqual((await open()).sort(), ["t3", "t4"]);
      await dba`call audit.run(p_only => 'schema')`;
      await dba`call audit.run('t5')`;
      await dba`call audit.run('t3')`;
      assert.deepEqual((await open()).sort(), ["t3", "t4"], "each once, though t3 was found twice");
      await sql.begin(async blocker => {
        await blocker`lock table app.board_members in access exclusive mode`;
        await dba.unsafe("set lock_timeout = '100ms'");
        await dba`call audit.run(p_only => 'data')`;
        await dba.unsafe("reset lock_timeout");
      });
      assert.deepEqual(
        (await open()).filter(Boolean).sort(),
        ["t3", "t4"],
        "what could not run closes nothing",
      );
      // What is open is kept, however many runs there have been since.
      await sql`insert into audit.runs (started_at, finished_at, family) select now(), now(), 'schema' from generate_series(1, 150)`;
      await dba`call audit.run('t5', p_only => 'data')`;
      assert.deepEqual((await open()).filter(Boolean).sort(), ["t3", "t4"]);
    } finally {
      await move(home => home.member!);
    }
    await dba`call audit.run('t3', p_only => 'data')`;
    assert.deepEqual((await open()).filter(Boolean), ["t4"]);
    await dba`call audit.run(p_only => 'data')`;
    assert.deepEqual(await open(), []);
    // Found by a run of one tenant, and about none: the next run of that tenant closes it.
    const wrong = async () =>
      (await dba`select detail from audit.findings where "check" = 'tenant_count_wrong'`).length;
    const count = (by: number) =>
      sql`update control.tenant_counts set active = active + ${by} where shard = (select min(shard) from control.tenant_counts)`;
    for (const by of [1, 1]) {
      await count(by);
      await dba`call audit.run('t3', p_only => 'data')`;
      assert.equal(await wrong(), 1);
    }
    await count(-2);
    await dba`call audit.run('t3', p_only => 'data')`;
    assert.equal(await wrong(), 0);
    // What is closed is forgotten, but for that of the last hundred runs.
    const [forgotten] = await sql`
      with old as (select id from audit.runs where finished_at is not null order by id desc offset 100)
      select count(*) filter (where run_id in (select id from old))::int as before,
        count(*) filter (where run_id not in (select id from old))::int as since
      from audit.found where run_id not in (select run_id from audit.findings)`;
    assert.equal(forgotten!.before, 0);
    assert.ok(forgotten!.since > 1);
  });

  long(
    "closes what is not asked of a table any more, as its remedy has it, once the table is read",
    async () => {
      const { tenant } = await idsOf(sql, "t3");
      const open = async () =>
        (
          await dba`select from audit.findings where "check" in ('constraint_broken', 'parent_missing') and relation in ('app.provider_configs', 'app.events_0')`
        ).length;
      await sql.unsafe(`create table app.events (tenant_id uuid not null, id int, primary key (tenant_id, id)) partition by hash (tenant_id);
      create table app.events_0 partition of app.events for values with (modulus 1, remainder 0);
      alter table app.events owner to tms_owner; alter table app.events_0 owner to tms_owner; select app.isolate('app.events');
      insert into app.events values ('${tenant}', 1); alter table app.events_0 add constraint few check (id > 1) not valid`);
      await sql.begin(plant =>
        plant.unsafe(`alter table app.provider_configs add user_id uuid,
          add foreign key (tenant_id, user_id) references app.users (tenant_id, id);
        set local session_replication_role = replica;
        update app.provider_configs set user_id = gen_random_uuid() where tenant_id = '${tenant}';
        alter table app.provider_configs add constraint elsewhere check (tenant_id <> '${tenant}') not valid`),
      );
      await dba`call audit.run(p_only => 'data')`;
      assert.equal(await open(), 3);
      await sql`alter table app.provider_configs drop constraint elsewhere, drop column user_id`;
      await sql`alter table app.events_0 drop constraint few`;
      await dba`call audit.run('t5', p_only => 'data')`;
      await sql.begin(async blocker => {
        await blocker`lock table app.provider_configs, app.events in access exclusive mode`;
        await dba.unsafe("set lock_timeout = '100ms'");
        await dba`call audit.run(p_only => 'data')`;
        await dba.unsafe("reset lock_timeout");
      });
      assert.equal(await open(), 3, "of another tenant, and of nothing");
      await dba`call audit.run('t3', p_only => 'data')`;
      assert.equal(await open(), 0);
      await sql`drop table app.events`;
    },
  );

  long(
    "closes what a scan that had to wait too long says of a check that it answers for another table",
    async () => {
      const failed = async () =>
        (
          await dba`select from audit.findings where "check" = 'completed_without_media' and severity = 'error'`
        ).length;
      await sql.begin(async blocker => {
        await blocker`lock table app.media in access exclusive mode`;
        await dba.unsafe("set lock_timeout = '100ms'");
        await dba`call audit.run(p_only => 'data')`;
        await dba.unsafe("reset lock_timeout");
      });
      assert.equal(await failed(), 1);
      await dba`call audit.run(p_only => 'data')`;
      assert.equal(await failed(), 0);
    },
  );

  long("keeps open what is said of a table that a later run did not read", async () => {
    const { tenant, board } = await idsOf(sql, "t3");
    const { owner } = await idsOf(sql, "t4");
    await sql.begin(plant =>
      plant.unsafe(`set local session_replication_role = replica;
        update app.boards set owner_id = '${owner}' where tenant_id = '${tenant}' and id = '${board}'`),
    );
    await dba`call audit.run(p_only => 'data')`;
    const open = async () => (await dba`select from audit.findings where relation = 'app.boards'`).length;
    const before = await open();
    assert.ok(before > 0);
    // Nothing of the table is read: it is somebody else's.
    await sql.unsafe("alter table app.boards owner to postgres");
    await dba`call audit.run(p_only => 'data')`;
    await sql.unsafe("alter table app.boards owner to tms_owner");
    assert.ok((await open()) >= before);
    await sql.unsafe(`create table app.extra (title text); alter table app.boards inherit app.extra`);
    await dba`call audit.run(p_only => 'data')`;
    assert.equal(await open(), before);
    await sql.unsafe(`alter table app.boards no inherit app.extra; drop table app.extra`);
    await sql`update app.boards set owner_id = (select id from app.users where tenant_id = ${tenant!} and role = 'owner') where tenant_id = ${tenant!} and id = ${board!}`;
    await dba`call audit.run(p_only => 'data')`;
    assert.equal(await open(), 0);
  });

  long("does not end where somebody's trigger takes what it found", async () => {
    const first = await lastRun();
    await sql.unsafe(`create function public.tell() returns trigger language plpgsql as
      'begin perform pg_notify(''audit'', ''news''); return null; end'`);
    await sql`create view app.every_board as select * from app.boards`;
    try {
      await dba`call audit.run(p_only => 'schema')`; // an earlier run found the same
      const before = await lastRun();
      for (const taken of [
        "audit.found for each row",
        "audit.results for each row",
        "audit.found for each row when (new.check_name = 'view_leaks')",
        "audit.results for each row when (new.check_name = 'rls_disabled')",
        "audit.results for each row when (new.relation = 'app.media')",
      ]) {
        await sql.unsafe(`create trigger tell before insert on ${taken} execute function public.tell()`);
        await assert.rejects(dba`call audit.run(p_only => 'schema')`, /found was not stored/, taken);
        await sql.unsafe(`drop trigger tell on ${taken.split(" ")[0]}`);
      }
      assert.equal((await lastRun()).run_id, before.run_id);
    } finally {
      await sql`drop view app.every_board`;
      await sql`drop function public.tell() cascade`;
      await sql`delete from audit.runs where id > ${first.run_id}`;
    }
  });

  long("stores a dropped column as checks that could not run", async () => {
    await sql`alter table app.board_members rename column user_id to member_id`;
    try {
      await dba`call audit.run(p_only => 'data')`;
    } finally {
      await sql`alter table app.board_members rename column member_id to user_id`;
    }
    assert.equal((await lastRun()).result, "incomplete");
    const [found] =
      await dba`select detail from audit.findings where "check" = 'board_member_outside_tenant'`;
    assert.match(found!.detail, /could not run: column c\.user_id does not exist/);
  });

  long("gives what Postgres hints at as a comment, above what can be pasted", async () => {
    await sql`create table app.imported (tenant_id text, id int)`;
    await sql`alter table app.imported owner to tms_owner`;
    await sql`grant select on app.imported to tms_auditor`;
    try {
      const [found] =
        await sql`select detail, remedy from audit.run_check('tenant_missing') where relation = 'app.imported'`;
      assert.match(found!.detail, /could not run: operator does not exist: text = uuid/);
      assert.match(
        found!.remedy,
        /^-- No operator matches .*\n-- mend the cause, then:\nselect \* from audit\.run_check\('tenant_missing'\);$/,
      );
    } finally {
      await sql`drop table app.imported`;
    }
  });

  long("stores a lock that is not given back, and a time-out, as checks that could not run", async () => {
    for (const settings of [
      { lock: "100ms", statement: "0" },
      { lock: "20s", statement: "2s" }, // long enough to reach the lock on a slow machine
    ]) {
      await sql.begin(async blocker => {
        await blocker`lock table app.media in access exclusive mode`;
        await dba.unsafe(
          `set lock_timeout = '${settings.lock}'; set statement_timeout = '${settings.statement}'`,
        );
        await dba`call audit.run(p_only => 'data')`;
        await dba.unsafe("reset lock_timeout; reset statement_timeout");
      });
      assert.equal((await lastRun()).result, "incomplete");
      const found = await dba`select distinct detail from audit.findings where severity = 'error'`;
      const kind = settings.statement === "0" ? "lock" : "statement";
      assert.ok(
        found.some(row =>
          String(row.detail).includes(`could not run: canceling statement due to ${kind} timeout`),
        ),
        JSON.stringify(found),
      );
    }
  });

  long("looks at one moment in each pass, also where it has had to wait", async () => {
    const { tenant } = await idsOf(sql, "t3");
    const lost = async () =>
      (await dba`select errors::int from audit.last_checks where "check" = 'parent_missing'`)[0]!
        .errors as number;
    let run: Promise<unknown> | undefined;
    await sql.begin(async blocker => {
      await blocker`set local session_replication_role = replica`;
      await blocker`lock table app.media in access exclusive mode`;
      run = Promise.resolve(dba`call audit.run('t3', 'data')`);
      await lockWaiters(sql);
      await blocker`insert into app.media (tenant_id, generation_id, storage_url) values (${tenant!}, gen_random_uuid(), 'late')`;
    });
    await run;
    assert.equal(await lost(), 0);
    await dba`call audit.run('t3', 'data')`;
    assert.equal(await lost(), 1);
    await sql`delete from app.media where storage_url = 'late'`;
  });

  it("stays unfinished when somebody cancels it, and the last finished run stays the last", async () => {
    const before = await lastRun();
    await sql.begin(async blocker => {
      await blocker`lock table app.media in access exclusive mode`;
      const cancelled = assert.rejects(async () => await dba`call audit.run(p_only => 'data')`, {
        code: "57014",
      });
      const [pid] = await lockWaiters(sql);
      await blocker`select pg_cancel_backend(${pid!}::int)`;
      await cancelled;
    });
    assert.equal((await lastRun()).run_id, before.run_id);
    const [newest] = await dba`select result from audit.trend limit 1`;
    assert.equal(newest!.result, "unfinished");
  });

  long(
    "ends when somebody cancels it, also where a time-out has ended one of its passes before",
    async () => {
      await sql.begin(async blocker => {
        await blocker`lock table app.media, app.provider_configs in access exclusive mode`;
        await dba.unsafe("set statement_timeout = '2s'; set lock_timeout = '3min'");
        const cancelled = assert.rejects(async () => await dba`call audit.run(p_only => 'data')`, {
          code: "57014",
        });
        const waiter = await until("the pass after the one that timed out waits", async () => {
          const rows = await sql<{ pid: number }[]>`
          select pid from pg_locks where not granted and relation = 'app.provider_configs'::regclass`;
          return rows[0]?.pid;
        });
        await blocker`select pg_cancel_backend(${waiter})`;
        await cancelled;
        await dba.unsafe("reset statement_timeout; reset lock_timeout");
      });
    },
  );

  long("proves every tenant on request", async () => {
    await dba`call audit.run(p_only => 'schema', p_sample => null)`;
    const [row] = await dba`select checked::int from audit.last_checks where "check" = 'proof_rows'`;
    assert.equal(row!.checked, TENANTS * 16);
    assert.equal((await lastRun()).result, clean);
  });
});
