/** A product's own tables, columns, types, triggers and functions beside the service's. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { as, call, type Transaction } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

const OPERATOR = { slug: "operations", operator: true };
/** A table that can be isolated, owned as in a migration. */
const isolated = (tx: Transaction, table: string, definition: string) =>
  tx.unsafe(
    `create table ${table} ${definition}; alter table ${table} owner to tms_owner; select app.isolate('${table}')`,
  );

test("a product can add columns with defaults, generated columns and other types to the service's tables", () =>
  rolledBack(database.sql, async tx => {
    await seedTenant(tx, { slug: "acme" });
    for (const table of ["app.tenants", "app.users", "app.boards"])
      await tx.unsafe(
        `alter table ${table} add archived boolean not null default false, add label text generated always as (id::text) stored`,
      );
    await tx.unsafe("alter table app.boards alter title type varchar(500)");
    const { body } = await call(tx, "list_tenants", OPERATOR, 100, null, null, null);
    assert.deepEqual(
      body.tenants.map(({ slug }: { slug: string }) => slug),
      ["acme"],
    );
  }));

test("readiness checks a table in a schema of its own, and explain shows it", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "acme" });
    await tx.unsafe("create schema crm; grant usage on schema crm to tms_app, tms_auditor");
    await isolated(
      tx,
      "crm.deals",
      "(tenant_id uuid not null, id int not null, primary key (tenant_id, id))",
    );
    await tx.unsafe("insert into crm.deals values ($1, 1)", [id]);
    const ready = async () =>
      (
        await tx<{ fault: string }[]>`select fault from app.isolation_breaches() where object = 'crm.deals'`
      ).map(({ fault }) => fault);
    assert.deepEqual(await ready(), []);
    const [row] = await tx`select api.explain_access('acme', 'jwt', 'ann') as found`;
    const { tables } = row!.found as { tables: { table: string; held: number; shown: number }[] };
    assert.deepEqual(
      tables.filter(({ table }) => table === "crm.deals").map(({ held, shown }) => [held, shown]),
      [[1, 0]],
    );
    await tx.unsafe("drop policy tenant_only on crm.deals");
    assert.ok((await ready()).includes("rows are visible outside their tenant"));
    await tx.unsafe("alter table crm.deals no force row level security");
    assert.ok((await ready()).includes("row-level security is not enabled and forced"));
    // No request reaches this one; only the audit covers it.
    await tx.unsafe("revoke usage on schema crm from tms_app");
    assert.deepEqual(await ready(), []);
  }));

test("explain says that requests may not read a table, and gives no count for it", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "acme" });
    await seedUser(tx, id, { subject: "ann" });
    await tx`revoke select on app.media from tms_app`;
    const [row] = await tx`select api.explain_access('acme', 'jwt', 'ann') as found`;
    const { tables } = row!.found as { tables: { table: string; shown: number | null }[] };
    assert.equal(tables.find(({ table }) => table === "app.media")!.shown, null);
    assert.equal(tables.find(({ table }) => table === "app.users")!.shown, 1);
  }));

test("a tenant is deleted although tables refer to each other in a circle", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "acme" });
    const user = await seedUser(tx, id, { subject: "ann" });
    const columns =
      "tenant_id uuid not null, id int, other int, user_id uuid not null, primary key (tenant_id, id)";
    const refers = "foreign key (tenant_id, user_id) references app.users (tenant_id, id)";
    await isolated(tx, "app.hens", `(${columns}, ${refers})`);
    await isolated(
      tx,
      "app.eggs",
      `(${columns}, ${refers}, foreign key (tenant_id, other) references app.hens)`,
    );
    await tx.unsafe("alter table app.hens add foreign key (tenant_id, other) references app.eggs");
    await isolated(tx, "app.shells", `(${columns}, foreign key (tenant_id, other) references app.eggs)`);
    for (const [table, other] of [
      ["hens", null],
      ["eggs", 1],
      ["shells", 1],
    ])
      await tx.unsafe(`insert into app.${table} values ($1, 1, $2, $3)`, [id, other!, user]);
    await tx`update app.hens set other = 1`;
    await call(tx, "delete_tenant", OPERATOR, id);
    await tx.unsafe("set constraints all immediate");
    const [left] = await tx`
      select (select count(*)::int from app.hens) + (select count(*)::int from app.eggs) + (select count(*)::int from app.users) as n`;
    assert.equal(left!.n, 0);
  }));

test("a deletion includes tables that requests may not reach or may not delete from", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "acme" });
    const columns = "(tenant_id uuid not null, id int not null, primary key (tenant_id, id))";
    await tx.unsafe(
      "create schema crm authorization tms_owner; grant usage on schema crm to tms_app, tms_auditor",
    );
    for (const table of ["crm.deals", "app.notes"]) {
      await isolated(tx, table, columns);
      await tx.unsafe(`insert into ${table} values ($1, 1)`, [id]);
    }
    await tx.unsafe("revoke usage on schema crm from tms_app; revoke delete on app.notes from tms_app");
    await call(tx, "delete_tenant", OPERATOR, id);
    const [left] = await tx`
      select (select count(*)::int from crm.deals) + (select count(*)::int from app.notes) as n`;
    assert.equal(left!.n, 0);
  }));

test("a range type and a security_invoker view are no findings; a function that requests reach is one until somebody vouches for it", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`
      set local role tms_owner;
      create type app.span as range (subtype = int4);
      create view app.my_boards with (security_invoker = true) as select * from app.boards;
      grant select, insert, update, delete on app.my_boards to tms_app`);
    const gate = () => as(tx, "tms_owner", sp => sp`select control.gate()`);
    await gate();
    const define = (body: string) =>
      as(tx, "tms_owner", sp =>
        sp.unsafe(
          `create or replace function app.twice(x int) returns int language sql security definer set search_path = pg_catalog, pg_temp as '${body}';
           grant execute on function app.twice(int) to tms_app`,
        ),
      );
    await define("select 2 * x");
    await assert.rejects(
      tx.savepoint(gate),
      /Tenants are not isolated: app\.twice\(integer\): nobody vouches for it/,
    );
    await assert.rejects(
      as(tx, "tms_auditor", sp => sp`select audit.vouch('app.twice(int)', 'it reads no table')`),
      /permission denied for table vouched/,
    );
    for (const [what, reason, state] of [
      ["app.thrice(int)", "there is none", "42704"],
      ["app.twice(int)", "", "22023"],
    ] as const)
      await assert.rejects(
        as(tx, "tms_owner", sp => sp`select audit.vouch(${what}, ${reason})`),
        ({ code }) => code === state,
      );
    await as(tx, "tms_owner", sp => sp`select audit.vouch('app.twice(int)', 'it reads no table')`);
    await gate();
    await define("select 3 * x");
    await assert.rejects(tx.savepoint(gate), /app\.twice\(integer\): nobody vouches for it/);
  }));

test("a unique key over all tenants keeps a table from being isolated until somebody vouches for it", () =>
  rolledBack(database.sql, async tx => {
    const columns =
      "(tenant_id uuid not null, id int, domain text constraint one_owner unique, primary key (tenant_id, id))";
    await assert.rejects(
      tx.savepoint(sp => isolated(sp, "app.domains", columns)),
      /one_owner does not begin with tenant_id/,
    );
    await tx.unsafe(`create table app.domains ${columns}; alter table app.domains owner to tms_owner`);
    await as(
      tx,
      "tms_owner",
      sp => sp`select audit.vouch('app.one_owner', 'a domain belongs to one tenant')`,
    );
    await tx`select app.isolate('app.domains')`;
    await tx.unsafe(
      "alter table app.domains drop constraint one_owner, add constraint one_owner unique (domain, id)",
    );
    await assert.rejects(
      tx.savepoint(sp => sp`select app.isolate('app.domains')`),
      /one_owner does not begin with tenant_id/,
    );
  }));

test("explain continues with other tables if the auditor may not count one", () =>
  rolledBack(database.sql, async tx => {
    await seedTenant(tx, { slug: "acme" });
    await tx.unsafe("create schema crm; grant usage on schema crm to tms_app");
    await isolated(
      tx,
      "crm.deals",
      "(tenant_id uuid not null, id int not null, primary key (tenant_id, id))",
    );
    const [row] = await tx`select api.explain_access('acme', 'jwt', 'ann') as found`;
    const { tables } = row!.found as { tables: { table: string; held: number | null; more: boolean }[] };
    const deals = tables.find(({ table }) => table === "crm.deals")!;
    assert.deepEqual([deals.held, deals.more], [null, false]);
  }));
