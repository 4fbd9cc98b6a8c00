/** The proof acts as tms_app: what it tries, what it leaves alone, and what it cannot decide. */
import assert from "node:assert/strict";
import { after, describe, it, test } from "node:test";
import { createDatabase, long } from "../harness.ts";
import { planted, seedTenants } from "./world.ts";

/** Tables that stop a row which has only a tenant before their policy is asked about it. */
const STUBBORN = {
  "a table without a partition for the row": `
    create table app.own (tenant_id uuid not null, at date not null, id int not null, primary key (tenant_id, at, id)) partition by range (at);
    create table app.own_2026 partition of app.own for values from ('2026-01-01') to ('2027-01-01');`,
  "a domain that is never null": `
    create domain app.money as numeric not null;
    create table app.own (tenant_id uuid not null, id int not null, at date, price app.money, primary key (tenant_id, id));`,
  "numbers that tms_app may not draw": `
    create table app.own (tenant_id uuid not null, id serial, at date, primary key (tenant_id, id));`,
  "a type that reads its own text and no other": `
    create extension if not exists hstore schema app; create domain app.pairs as app.hstore not null;
    create table app.own (tenant_id uuid not null, id int not null, at date, price app.pairs, primary key (tenant_id, id));`,
};
const ISOLATED = "alter table app.own owner to tms_owner; select app.isolate('app.own');";
const ROW = {
  "a table without a partition for the row": "id, at) select id, 1, '2026-05-01'",
  "a domain that is never null": "id, price) select id, 1, 1",
  "numbers that tms_app may not draw": "id) select id, 1",
  "a type that reads its own text and no other": `id, price) select id, 1, 'a=>"{b}", c=>NULL'`,
};

const database = await createDatabase();
await seedTenants(database.sql, 5);
after(() => database.drop());

void describe("the proof", () => {
  for (const [what, table] of Object.entries(STUBBORN) as [keyof typeof ROW, string][]) {
    const rows = `insert into app.own (tenant_id, ${ROW[what]} from app.tenants;`;
    const open = "alter policy tenant_only on app.own using (true) with check (true);";
    const asked = async (sql: string) =>
      (await planted(database.sql, sql, "proof_writes")).map(
        ({ severity, row }) => `${severity}: ${row.attempt as string}`,
      );

    const it = what === "a table without a partition for the row" ? test : long;
    void it(`calls ${what} undecided as long as it has no row, and no error`, async () => {
      const found = await asked(table + ISOLATED);
      assert.ok(found.includes("warning: insert a row for another tenant"), String(found));
      assert.deepEqual([...new Set(found.map(one => one.split(":")[0]))], ["warning"]);
    });
    void it(`decides by a row of ${what}`, async () => {
      assert.deepEqual(await asked(table + ISOLATED + rows), []);
    });
    void it(`finds ${what} whose policy lets everything through`, async () => {
      const found = await asked(table + ISOLATED + rows + open);
      assert.ok(found.includes("error: insert a row for another tenant"), String(found));
      assert.ok(found.includes("error: insert a row without a tenant"), String(found));
    });
  }

  it("says which right is missing where tms_app may not draw a table's numbers", async () => {
    const beside = `
      create table app.drawn (tenant_id uuid not null, id uuid default gen_random_uuid(), primary key (tenant_id, id));
      create table app.fixed (tenant_id uuid not null, id serial, primary key (tenant_id, id));
      alter table app.drawn owner to tms_owner; alter table app.fixed owner to tms_owner;
      select app.isolate('app.drawn'), app.isolate('app.fixed'); revoke insert on app.fixed from tms_app`;
    const found = await planted(
      database.sql,
      STUBBORN["numbers that tms_app may not draw"] + ISOLATED + beside,
      "proof_writes",
    );
    assert.deepEqual(
      [...new Set(found.map(({ relation, remedy }) => `${relation}: ${remedy}`))],
      ["app.own: grant usage on all sequences in schema app to tms_app;"],
    );
    // In words of its own: the server's are of its language.
    for (const { detail } of found) assert.match(detail, /tms_app may not use the sequence app\.own_id_seq$/);
    const granted = `${STUBBORN["numbers that tms_app may not draw"]}${ISOLATED}${found[0]!.remedy}`;
    for (const check of ["proof_writes", "other_grants"])
      assert.deepEqual(await planted(database.sql, granted, check), [], check);
  });

  it("says which right is missing where tms_app may not execute what a row is made, tested or indexed with", async () => {
    const table = `
      create schema own; grant usage on schema own to tms_app, tms_auditor;
      create function own.plain(text) returns text language plpgsql immutable as 'begin return $1; end';
      alter function own.plain(text) owner to tms_owner; revoke all on function own.plain(text) from public;
      create table own.rows (tenant_id uuid not null, id uuid default gen_random_uuid(), note text, primary key (tenant_id, id));
      alter table own.rows owner to tms_owner; select app.isolate('own.rows');
      insert into own.rows (tenant_id, note) select id, 'x' from app.tenants;`;
    const open = "alter policy tenant_only on own.rows using (true) with check (true);";
    for (const use of [
      "create index on own.rows (own.plain(note))",
      "create index on own.rows (note) where own.plain(note) is not null",
      "alter table own.rows add check (own.plain(note) <> '')",
      "alter table own.rows add made text generated always as (own.plain(note)) stored",
    ]) {
      for (const policy of ["", open]) {
        const found = await planted(database.sql, `${table}${use};${policy}`, "proof_writes");
        const insert = found.find(({ row }) => row.attempt === "insert a row for another tenant");
        assert.equal(insert?.severity, "warning", use);
        assert.match(insert.detail, /tms_app may not execute the function own\.plain\(text\)$/);
        assert.equal(insert.remedy, "grant execute on function own.plain(text) to tms_app;");
      }
      const granted = `${table}${use};grant execute on function own.plain(text) to tms_app;`;
      assert.deepEqual(await planted(database.sql, granted, "proof_writes"), [], use);
    }
  });

  it("says of a policy that shows other tenants' rows to an UPDATE that it reached one, whatever may be written", async () => {
    for (const check of ["tenant_id = (select app.tenant_id())", "false"]) {
      const found = await planted(
        database.sql,
        `alter policy tenant_only on app.media using (true) with check (${check})`,
        "proof_writes",
      );
      const taken = found.filter(({ row }) => row.attempt === "take the rows of other tenants");
      assert.ok(taken.length > 0, check);
      for (const { severity, detail } of taken) {
        assert.equal(severity, "error");
        assert.match(detail, /which reached a row$/);
      }
    }
  });

  it("counts whose the rows are: as many of another tenant are not the tenant's own", async () => {
    const swapped = `
      create table app.own (tenant_id uuid not null, id int not null, primary key (tenant_id, id)); ${ISOLATED}
      insert into app.own select id, 1 from app.tenants where slug in ('t1', 't2');
      alter policy tenant_only on app.own using (tenant_id <> (select app.tenant_id()) and (select app.tenant_id()) in (select id from app.tenants where slug in ('t1', 't2')))`;
    const found = await planted(database.sql, swapped, "proof_rows");
    assert.deepEqual(
      found.map(({ detail }) => detail),
      Array(2).fill("inside the tenant tms_app sees 1 rows, 0 of them the tenant's, and the tenant has 1"),
    );
  });

  it("has nothing to prove of a table in a schema that tms_app may not use, and says so", async () => {
    const shut = `create schema shut authorization tms_owner; create table shut.own (tenant_id uuid not null, id int not null, primary key (tenant_id, id));
      alter table shut.own owner to tms_owner; select app.isolate('shut.own'); grant usage on schema shut to tms_auditor`;
    for (const check of ["proof_rows", "proof_nothing", "proof_writes"]) {
      const found = await planted(database.sql, shut, check);
      assert.deepEqual(
        found.map(({ relation, severity }) => [relation, severity]),
        [["shut.own", "info"]],
      );
    }
  });

  it("decides without a row where jsonb does not take what is in one", async () => {
    const sql = `create table app.own (tenant_id uuid not null, id int not null, doc json, primary key (tenant_id, id)); ${ISOLATED}`;
    for (const doc of ["\\u0000", "\\ud800"]) {
      const rows = `insert into app.own select id, 1, '{"text": "${doc}"}' from app.tenants;`;
      assert.deepEqual(await planted(database.sql, sql + rows, "proof_writes"), [], doc);
    }
    const huge = "insert into app.own select id, 1, '1e999999' from app.tenants;";
    assert.deepEqual(await planted(database.sql, sql + huge, "proof_writes"), []);
  });

  it("has nothing against a tenant whose id is all zeros, as tools make it", async () => {
    const sql = `insert into app.tenants (id, slug, name) values ('00000000-0000-0000-0000-000000000000', 'zero', 'Zero');
      insert into app.provider_configs (tenant_id, provider_name) values ('00000000-0000-0000-0000-000000000000', 'one')`;
    assert.deepEqual(await planted(database.sql, sql, "proof_nothing"), []);
    const open = `${sql}; alter policy tenant_only on app.provider_configs using (tenant_id = coalesce((select app.tenant_id()), '00000000-0000-0000-0000-000000000000'))`;
    const found = await planted(database.sql, open, "proof_nothing");
    assert.deepEqual(
      found.map(({ relation, row }) => [relation, row.inside]),
      [["app.provider_configs", "no tenant"]],
    );
  });

  it("takes no error of a table's own for a write that went through", async () => {
    const sql = `create table app.own (tenant_id uuid not null, id int not null, share int, primary key (tenant_id, id)); ${ISOLATED}
      insert into app.own select id, 0 from app.tenants;
      create function app.share() returns trigger language plpgsql as $$ begin new.share := 100 / new.id; return new; end $$;
      create trigger share before insert or update on app.own for each row execute function app.share()`;
    const found = await planted(database.sql, sql, "proof_writes");
    assert.ok(found.length > 0);
    for (const { severity, detail } of found) {
      assert.equal(severity, "warning");
      assert.match(detail, /cannot be decided: division by zero$/);
    }
  });

  it("lets a trigger put a row back into its own tenant, where its original stops it, and takes no other trigger's word for it", async () => {
    const table = (body: string, rows = "insert into app.own select id, 1 from app.tenants") => `
      create table app.own (tenant_id uuid not null, id int not null, primary key (tenant_id, id)); ${ISOLATED} ${rows};
      create function app.own() returns trigger language plpgsql as $$ begin ${body} return new; end $$;
      create trigger own before insert on app.own for each row execute function app.own();`;
    const back = "new.tenant_id := app.tenant_id();";
    const open =
      "alter policy tenant_only on app.own using (true) with check (true); alter policy tenant_rows on app.own using (true)";
    const inserts = async (sql: string) =>
      (await planted(database.sql, sql, "proof_writes")).filter(
        ({ row }) => row.attempt === "insert a row for another tenant",
      );
    assert.deepEqual(await planted(database.sql, table(back), "proof_writes"), []);
    for (const sql of [
      table("") + open,
      `${table("")} alter table app.own drop constraint own_tenant_id_fkey; ${open}`,
    ]) {
      const found = await inserts(sql);
      assert.equal(found.length, 5);
      for (const { severity, detail, remedy } of found) {
        assert.equal(severity, "error");
        assert.match(detail, /was stopped by a constraint only: duplicate key/);
        assert.match(remedy, /a trigger does it: own calls app\.own\(\)$/);
      }
    }
    // One that is deferrable is met at the end of the statement, when the row was taken.
    const late = "alter table app.own drop constraint own_pkey, add primary key (tenant_id, id) deferrable;";
    assert.deepEqual(await planted(database.sql, table(back) + late, "proof_writes"), []);
    assert.equal((await inserts(table("") + late + open)).filter(one => one.severity === "error").length, 5);
    // A key over all tenants meets the original from anywhere.
    const everywhere = `insert into app.own select id, row_number() over () from app.tenants`;
    assert.equal(
      (await inserts(`${table("", everywhere)} alter table app.own add unique (id); ${open}`)).length,
      5,
    );
    const empty = await inserts(table(back, "select"));
    assert.ok(empty.length > 0);
    for (const { severity, detail } of empty) {
      assert.equal(severity, "warning");
      assert.match(detail, /cannot be decided: the trigger own may have put the row into its own tenant/);
    }
  });

  it("takes no constraint of another table, which a trigger fills, for one of the table's own", async () => {
    for (const broken of ["null", "0"]) {
      const found = await planted(
        database.sql,
        `create table app.own (tenant_id uuid not null, id int not null, primary key (tenant_id, id)); ${ISOLATED}
          insert into app.own select id, 1 from app.tenants;
          create table app.noted (n int not null check (n > 0)); grant insert on app.noted to tms_app;
          create function app.note() returns trigger language plpgsql as $$ begin insert into app.noted values (${broken}); return new; end $$;
          create trigger note before insert on app.own for each row execute function app.note()`,
        "proof_writes",
      );
      assert.ok(found.length > 0);
      for (const { severity, detail } of found) {
        assert.equal(severity, "warning");
        assert.match(detail, /cannot be decided: /);
      }
    }
  });

  it("calls a write that only a partition's key stopped an error", async () => {
    const found = await planted(
      database.sql,
      `create table app.own (tenant_id uuid not null, at date not null, primary key (tenant_id, at)) partition by range (at);
        create table app.own_2026 partition of app.own for values from ('2026-01-01') to ('2027-01-01');
        alter table app.own owner to tms_owner; alter table app.own_2026 owner to tms_owner;
        select app.isolate('app.own'); alter table app.own add unique (at);
        insert into app.own select id, date '2026-01-01' + row_number() over ()::int from app.tenants;
        alter policy tenant_only on app.own using (true) with check (true)`,
      "proof_writes",
    );
    const inserts = found.filter(({ row }) => row.attempt === "insert a row for another tenant");
    assert.ok(inserts.length > 0);
    for (const { severity, detail } of inserts) {
      assert.equal(severity, "error");
      assert.match(detail, /was stopped by a constraint only: /);
    }
  });

  it("tries the columns that tms_app may insert, where those are not all", async () => {
    const sql = `create table app.own (tenant_id uuid not null, id int not null, note text, primary key (tenant_id, id)); ${ISOLATED}
      insert into app.own select id, 1 from app.tenants;
      revoke insert on app.own from tms_app; grant insert (tenant_id, id) on app.own to tms_app;`;
    assert.deepEqual(await planted(database.sql, sql, "proof_writes"), []);
    const open = "alter policy tenant_only on app.own with check (true)";
    const found = await planted(database.sql, sql + open, "proof_writes");
    assert.ok(found.some(({ row }) => row.attempt === "insert a row for another tenant"));
  });

  it("decides by a row whatever its columns are called and come from", async () => {
    const sql = `create table app.own (tenant_id uuid not null, id int not null, r text not null, c text, t text,
        gone int, twice int generated always as (id * 2) stored, primary key (tenant_id, id)); ${ISOLATED}
      alter table app.own drop column gone;
      insert into app.own select id, 1, 'r', 'c', 't' from app.tenants`;
    for (const check of ["proof_rows", "proof_writes"])
      assert.deepEqual(await planted(database.sql, sql, check), [], check);
  });

  it("the proof passes over a table that somebody else owns, says so, and proves the others", async () => {
    const stray = `create schema legacy; create table legacy.customers (tenant_id uuid, name text)`;
    for (const check of ["proof_rows", "proof_nothing", "proof_writes"]) {
      const found = await planted(database.sql, stray, check);
      assert.deepEqual(
        found.map(({ relation, severity }) => [relation, severity]),
        [["legacy.customers", "error"]],
      );
      assert.match(found[0]!.detail, /nothing is proved of legacy\.customers: it is owned by postgres/);
      const broken = `${stray}; alter table app.media disable row level security`;
      const both = await planted(database.sql, broken, check);
      assert.ok(both.some(({ relation, detail }) => relation === "app.media" && /tms_app/.test(detail)));
    }
  });

  it("the proof has nothing against a table that is tighter than the template, and goes on", async () => {
    for (const check of ["proof_rows", "proof_nothing", "proof_writes"]) {
      const found = await planted(database.sql, "revoke all on app.provider_configs from tms_app", check);
      assert.deepEqual(
        found.map(({ relation, severity }) => [relation, severity]),
        [["app.provider_configs", "info"]],
      );
    }
  });

  it("the proof leaves nothing behind, and the tenant of the caller's transaction as it was", async () => {
    const { sql } = database;
    const count = async () =>
      (await sql`select count(*)::int as n, md5(string_agg(b::text, '' order by id)) from app.boards b`)[0];
    const before = await count();
    await sql.begin(async transaction => {
      await transaction.unsafe("set local app.tenant_id = '00000000-0000-0000-0000-000000000042'");
      await transaction`select * from audit.run_check('proof_writes')`;
      await transaction`select * from audit.run_check('proof_rows', p_sample => null)`;
      const [row] = await transaction`select current_setting('app.tenant_id') as tenant`;
      assert.equal(row!.tenant, "00000000-0000-0000-0000-000000000042");
    });
    assert.deepEqual(await count(), before);
  });
});
