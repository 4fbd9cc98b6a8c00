import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase, long, rolledBack } from "../../harness.ts";
import { tenantTables } from "../rows.ts";
import { leaks, size } from "./isolation.ts";

const database = await createDatabase();
after(() => database.drop());

// Rows that are rolled back start autovacuum, with which TRUNCATE can deadlock.
await database.sql.unsafe(`do $$ declare v_table regclass; begin
  for v_table in select oid from pg_class where relnamespace = 'app'::regnamespace and relkind = 'r' loop
    execute format('alter table %s set (autovacuum_enabled = off)', v_table);
  end loop; end $$`);

test("every table of the schema app is a tenant table, and the statements cover it", () =>
  rolledBack(database.sql, async tx => {
    const { tables, functions } = await size(tx);
    const rows = await tx`
      select oid::regclass::text as name from pg_class
      where relnamespace = 'app'::regnamespace and relkind in ('r', 'p') and not relispartition`;
    for (const { name } of rows) assert.ok(tables.includes(name), name);
    for (const { columns, tenant, name } of await tenantTables(tx))
      assert.ok(
        columns.some(column => column.name === tenant),
        `${name} has no column ${tenant}`,
      );
    assert.ok(tables.length >= 8 && functions >= 40, `${tables.length} tables, ${functions} calls`);
  }));

test("no statement of a tenant shows or changes another tenant's rows", () =>
  rolledBack(database.sql, async tx => assert.deepEqual(await leaks(tx), [])));

const mutants: [name: string, seen: string, sql: string][] = [
  [
    "row-level security is off on one table",
    "app.media: delete all changed rows of B",
    "alter table app.media disable row level security",
  ],
  [
    "a table is not forced",
    "app.boards: read as the owner of the table",
    "alter table app.boards no force row level security; alter table app.boards owner to tms_owner",
  ],
  ["the tenant's policy is dropped", "app.generations: read", "drop policy tenant_only on app.generations"],
  ["it reads everything", "app.boards: read", "alter policy tenant_only on app.boards using (true)"],
  [
    "it writes everything",
    "app.provider_configs: move all to them changed rows of B",
    "alter policy tenant_only on app.provider_configs with check (true)",
  ],
  [
    "it is permissive",
    "app.users: insert a row of theirs changed rows of B",
    `drop policy tenant_only on app.users; create policy tenant_only on app.users for all to tms_app
     using (tenant_id = (select app.tenant_id())) with check (tenant_id = (select app.tenant_id()))`,
  ],
  [
    "it lets everybody in who is in no tenant",
    "app.media: read in tenant null",
    "alter policy tenant_only on app.media using (app.tenant_id() is null or tenant_id = app.tenant_id())",
  ],
  [
    "app.tenant_id() is immutable",
    "app.boards: read with a plan cached in their tenant",
    `create or replace function app.tenant_id() returns uuid language sql immutable parallel safe
     return nullif(pg_catalog.current_setting('app.tenant_id', true), '')::uuid`,
  ],
  [
    "a key between tables without the tenant",
    "app.generations: insert pointing at their app.boards",
    `alter table app.boards add unique (id); alter table app.generations drop constraint generations_board,
     add constraint generations_board foreign key (board_id) references app.boards (id)`,
  ],
  [
    "a unique key across tenants",
    "app.provider_configs: insert with their keys",
    "create unique index on app.provider_configs (provider_name)",
  ],
  [
    "a right to truncate",
    "app.boards: truncate changed rows of B",
    "grant truncate on all tables in schema app to tms_app",
  ],
  [
    "a view of the superuser",
    "app.peek: read",
    "create view app.peek as select * from app.boards; grant select on app.peek to tms_app",
  ],
  [
    "a materialized view",
    "app.peek: read",
    "create materialized view app.peek as select * from app.users; grant select on app.peek to tms_app",
  ],
  [
    "a function of the superuser",
    "app.peek(a-word-slug) by tms_app",
    `create function app.peek() returns setof app.media language sql security definer begin atomic table app.media; end;
     grant execute on function app.peek() to tms_app`,
  ],
  [
    "an api function that trusts its argument",
    "api.peek(a-word-slug) by tms_service",
    `create function api.peek(p_tenant_id text) returns setof app.boards language sql security definer
     as 'select * from app.boards where tenant_id = p_tenant_id::uuid'; grant execute on function api.peek(text) to tms_service`,
  ],
  [
    "a partition of a table with its own rights",
    "app.logs_0: read",
    `create table app.logs (tenant_id uuid not null, id uuid, body text not null, primary key (tenant_id, id))
       partition by hash (tenant_id);
     create table app.logs_0 partition of app.logs for values with (modulus 1, remainder 0);
     select app.isolate('app.logs'); alter table app.logs_0 disable row level security; grant select on app.logs_0 to tms_app;
     insert into app.logs select tenant_id, id, title from app.boards`,
  ],
  ["bypassrls", "app.tenants: read", "alter role tms_app bypassrls"],
];

for (const [i, [name, seen, sql]] of mutants.entries()) {
  void (i < 2 ? test : long)(`the battery goes red: ${name}`, () =>
    rolledBack(database.sql, async tx => {
      const found = await leaks(tx, sql);
      assert.ok(
        found.some(line => line.startsWith(seen)),
        found.join("\n"),
      );
    }),
  );
}

test("a permissive policy that is added later shows no more rows", () =>
  rolledBack(database.sql, async tx => {
    const added = "create policy everybody on app.boards for all to tms_app using (true) with check (true)";
    assert.deepEqual(await leaks(tx, added), []);
  }));

long("an added table is covered and holds once it is isolated; one that is not isolated is found", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`create table app.notes (tenant_id uuid not null, id uuid not null default gen_random_uuid(), board_id uuid not null,
      body text not null, primary key (tenant_id, id), foreign key (tenant_id, board_id) references app.boards)`);
    await tx.unsafe("savepoint forgotten");
    await tx.unsafe("grant select, insert, update, delete on app.notes to tms_app");
    assert.notEqual((await leaks(tx)).length, 0);
    await tx.unsafe("rollback to savepoint forgotten");
    await tx.unsafe("select app.isolate('app.notes')");
    assert.deepEqual(await leaks(tx), []);
  }),
);

long(
  "a change to another tenant's row is detected even in a table with a column named like the test's own",
  () =>
    rolledBack(database.sql, async tx => {
      await tx.unsafe(`create table app.samples (tenant_id uuid not null, id uuid not null, t text not null, value int,
        primary key (tenant_id, id));
      select app.isolate('app.samples')`);
      const found = await leaks(
        tx,
        `alter policy tenant_only on app.samples using (true) with check (true);
       create function app.spoil() returns trigger language plpgsql as 'begin new.value := 1; return new; end';
       create trigger spoil before update on app.samples for each row execute function app.spoil()`,
      );
      assert.ok(found.includes("app.samples: update all changed rows of B"), found.join("\n"));
    }),
);
