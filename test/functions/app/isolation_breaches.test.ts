/** app.isolation_breaches(), for GET /ready and GET /api/setup/status: each way in which a table or a role loses isolation. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { rowsRead } from "../support.ts";

const database = await createDatabase();
const acme = await seedTenant(database.sql, { slug: "acme", isDefault: true });
await seedUser(database.sql, acme, { subject: "ann", role: "owner" });
after(() => database.drop());

/** Without the faults of the tests' own login, a superuser. */
const breaches = (sql: postgres.TransactionSql) =>
  sql<{ object: string; fault: string }[]>`
    select object, fault from app.isolation_breaches() where object <> 'the service''s login'`;

const own = "tenant_id = (select app.tenant_id())";
const policy = (text: string) =>
  `drop policy tenant_only on app.boards; create policy tenant_only on app.boards ${text}`;
const EVERYBODYS = `create or replace function app.tenant_id() returns uuid language sql stable return '${acme}'::uuid`;
const NOT_FORCED = "row-level security is not enabled and forced";
const MISSING = "the policy that keeps its rows to one tenant is missing";
const VISIBLE = "rows are visible outside their tenant";

for (const [how, object, fault] of [
  ["alter table app.boards disable row level security", "app.boards", NOT_FORCED],
  ["alter table app.boards no force row level security", "app.boards", NOT_FORCED],
  ["drop policy tenant_only on app.boards", "app.boards", MISSING],
  [policy(`for all to tms_app using (${own}) with check (${own})`), "app.boards", MISSING],
  [policy(`as restrictive for select to tms_app using (${own})`), "app.boards", MISSING],
  [policy(`as restrictive to tms_auditor using (${own}) with check (${own})`), "app.boards", MISSING],
  [policy(`as restrictive to tms_app using (${own}) with check (true)`), "app.boards", MISSING],
  [
    policy(`as restrictive to tms_app using (${own} or title <> '') with check (${own})`),
    "app.boards",
    MISSING,
  ],
  [policy("as restrictive to tms_app using (tenant_id is not null)"), "app.boards", MISSING],
  [policy("as restrictive to tms_app using (id = (select app.tenant_id()))"), "app.boards", MISSING],
  ["alter policy tenant_only on app.users using (id is not null)", "app.users", MISSING],
  // No row is visible without a tenant, or in one that does not exist.
  ...["using", "with check"].map(part => [
    `alter policy tenant_only on app.boards ${part}
      (tenant_id = (select app.tenant_id() where false union all select boards.tenant_id where exists (select from app.tenants)))`,
    "app.boards",
    MISSING,
  ]),
  [policy(`as restrictive for update to tms_app using (${own}) with check (${own})`), "app.boards", MISSING],
  [
    policy("as restrictive to tms_app using (id is not null) with check (id is not null)"),
    "app.boards",
    MISSING,
  ],
  // The catalog is as it should be, and the rows are visible all the same.
  [EVERYBODYS, "app.users", VISIBLE],
  [
    `create schema shut; create table shut.deals (tenant_id uuid); grant select on shut.deals to tms_app;
     create schema open; grant usage on schema open to tms_app; create view open.deals with (security_invoker) as table shut.deals`,
    "shut.deals",
    NOT_FORCED,
  ],
  [
    `create schema crm authorization tms_owner; grant usage on schema crm to tms_app;
     create table crm.deals (tenant_id uuid not null, id int, primary key (tenant_id, id));
     alter table crm.deals owner to tms_owner; select app.isolate('crm.deals'); insert into crm.deals values ('${acme}', 1); ${EVERYBODYS}`,
    "crm.deals",
    VISIBLE,
  ],
  [
    `create or replace function app.tenant_id() returns uuid language sql stable
       return coalesce(nullif(current_setting('app.tenant_id', true), '')::uuid, '${acme}')`,
    "app.users",
    VISIBLE,
  ],
  [
    `create or replace function app.tenant_id() returns uuid language sql stable
       return case when current_setting('app.tenant_id', true) <> '' then '${acme}'::uuid end`,
    "app.users",
    VISIBLE,
  ],
  ...["tms_owner", "tms_service", "tms_app", "tms_registrar", "tms_auditor"].flatMap(role =>
    ["superuser", "bypassrls"].map(right => [
      `alter role ${role} ${right}`,
      `the role ${role}`,
      "it can bypass row-level security",
    ]),
  ),
] as [string, string, string][])
  test(`a breach of ${object}: ${how}`, () =>
    rolledBack(database.sql, async sql => {
      await sql.unsafe(how);
      const found = (await breaches(sql)).filter(one => one.object === object);
      assert.deepEqual(
        found.map(one => one.fault).filter(text => text === fault),
        [fault],
      );
    }));

for (const how of [
  "select",
  `set local app.tenant_id = '${acme}'`,
  policy(`as restrictive to public using (${own}) with check (${own})`),
  `create policy again on app.boards as restrictive to tms_app using (${own}) with check (${own})`,
  policy(`as restrictive to tms_app, tms_auditor using (${own}) with check (${own})`),
  // A table that tms_owner does not own is not read, because its owner decides what reading it calls. The audit reports it.
  `create schema crm; grant usage on schema crm to tms_app; create table crm.deals (tenant_id uuid);
   insert into crm.deals values ('${acme}');
   alter table crm.deals enable row level security; alter table crm.deals force row level security; grant select on crm.deals to tms_app;
   create function crm.called() returns boolean language plpgsql as 'begin raise exception $$its code was called$$; end';
   create policy all_rows on crm.deals using (true); create policy first on crm.deals as restrictive using (crm.called());
   create policy tenant_only on crm.deals as restrictive using (${own}) with check (${own})`,
  "revoke select on app.users from tms_app; alter policy tenant_only on app.users to public",
  // tms_app cannot name the table.
  `create schema shut; create table shut.deals (tenant_id uuid not null, id int, primary key (tenant_id, id));
   alter table shut.deals owner to tms_owner; select app.isolate('shut.deals');
   create view app.deals with (security_invoker) as table shut.deals`,
])
  test(`no breach: ${how}`, () =>
    rolledBack(database.sql, async sql => {
      await sql.unsafe(how);
      assert.deepEqual([...(await breaches(sql))], []);
      const before = /app\.tenant_id/.test(how) && !how.includes("policy") ? acme : null;
      assert.equal((await sql`select app.tenant_id() as id`)[0]!.id, before, "the tenant is as it was");
    }));

test("no breach for a session with quote_all_identifiers on or standard_conforming_strings off", async () => {
  const connection = { quote_all_identifiers: true, standard_conforming_strings: false };
  const session = postgres(database.urls.root, { max: 1, connection });
  try {
    assert.deepEqual([...(await session.begin(breaches))], []);
  } finally {
    await session.end();
  }
});

test("tenant tables are those of app with a tenant_id, and in other schemas those that requests can reach", () =>
  rolledBack(database.sql, async tx => {
    const tables = async () =>
      (await tx`select relid::text as name from app.tenant_tables()`).map(row => row.name);
    const own = await tables();
    await tx.unsafe(`
      create table app.plain (id int);
      create table app.left_behind (tenant_id uuid, id int); alter table app.left_behind drop column tenant_id;
      create table app.bare (tenant_id uuid);
      create temp table passing (tenant_id uuid); grant all on passing to tms_app;
      create schema crm; create schema shut; grant usage on schema crm to tms_app;
      ${["crm", "shut"]
        .map(
          schema => `
      create table ${schema}.gone (tenant_id uuid); grant delete on ${schema}.gone to tms_app;
      create table ${schema}.column_read (tenant_id uuid, id int); grant select (id) on ${schema}.column_read to tms_app;
      create table ${schema}.unreached (tenant_id uuid); create view ${schema}.by_view with (security_invoker) as table ${schema}.unreached;
      create table ${schema}.plain (id int); grant select on ${schema}.plain to tms_app`,
        )
        .join(";")}`);
    assert.deepEqual(new Set(await tables()), new Set([...own, "app.bare", "crm.gone", "crm.column_read"]));
  }));

test("app.leaking_tables() reads no row, however many a table has", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`insert into app.users (tenant_id, auth_provider, auth_subject)
        select '${acme}', 'jwt', 'user-' || i from generate_series(1, 20000) i;
      analyze app.users`);
    assert.equal(await rowsRead(tx, "app.users", () => tx`select * from app.leaking_tables()`), 0);
  }));
