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
const errors = async (tx: Transaction, ...checks: string[]) => {
  const found = await tx<{ relation: string; detail: string }[]>`
    select relation, detail from unnest(${checks}::text[]) c cross join lateral audit.run_check(c) where severity = 'error'`;
  return found.map(({ relation, detail }) => `${relation}: ${detail}`);
};

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

test("a range type, a security_invoker view and a helper function of tms_app are no findings", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`
      set local role tms_owner;
      create type app.span as range (subtype = int4);
      create view app.my_boards with (security_invoker = true) as select * from app.boards;
      grant select, insert, update, delete on app.my_boards to tms_app;
      reset role;
      grant create on schema app to tms_app;
      set local role tms_app;
      create function app.twice(x int) returns int language sql immutable set search_path = pg_catalog, pg_temp as 'select 2 * x';
      revoke all on function app.twice(int) from public;
      reset role;
      revoke create on schema app from tms_app`);
    const checks = await tx<{ check: string }[]>`
      select "check" from audit.checks() where family = 'schema' and gate`;
    assert.deepEqual(await errors(tx, ...checks.map(one => one.check)), []);
  }));

test("the remedies for a function of tms_app work as tms_owner, as in a migration", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`
      grant create on schema api to tms_app;
      set local role tms_app;
      create function api.forgotten() returns int language sql security definer as 'select 1';
      grant execute on function api.forgotten() to public, tms_service;
      reset role;
      revoke create on schema api from tms_app`);
    for (const check of ["function_search_path", "function_public"]) {
      const found = await tx<{ remedy: string }[]>`
        select remedy from audit.run_check(${check}) where relation = 'api.forgotten()'`;
      assert.ok(found.length > 0, check);
      await as(tx, "tms_owner", async sp => {
        for (const { remedy } of found)
          await sp.unsafe(remedy.replaceAll("reset role", "set local role tms_owner"));
      });
      assert.deepEqual(await errors(tx, check), [], check);
    }
  }));

test("a trigger that sets tenant_id to the transaction's tenant opens no way to other tenants", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "acme" });
    await isolated(tx, "app.notes", "(tenant_id uuid not null, id int, primary key (tenant_id, id))");
    await tx.unsafe("insert into app.notes values ($1, 1)", [id]);
    await tx.unsafe(`
      create function public.own() returns trigger language plpgsql as $$
        begin new.tenant_id := app.tenant_id(); new.id := new.id + 1; return new; end $$;
      create trigger own before insert or update on app.notes for each row execute function public.own()`);
    const about = async () =>
      (await errors(tx, "proof_writes")).filter(found => found.startsWith("app.notes"));
    assert.deepEqual(await about(), []);
    await tx.unsafe(
      "drop policy tenant_only on app.notes; create policy tenant_only on app.notes as restrictive to tms_app using (true)",
    );
    assert.ok((await about()).length > 0);
  }));

test("an accepted function is no finding until it changes, and only the owner can accept it", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`
      grant create on schema app to tms_app;
      set local role tms_app;
      create function app.shop_total() returns int language sql security definer set search_path = pg_catalog, pg_temp as 'select 1';
      revoke all on function app.shop_total() from public;
      reset role;
      revoke create on schema app from tms_app;
      create schema shop;
      create function shop.touch() returns trigger language plpgsql as $$ begin new.updated_at := now(); return new; end $$;
      create trigger shop_touch before update on app.boards for each row execute function shop.touch()`);
    const changed = async () => {
      const found = await tx<
        { row: Record<string, string> }[]
      >`select "row" from audit.run_check('function_changed')`;
      return found.map(({ row }) => Object.values(row)[0]).sort((a, b) => (a! < b! ? -1 : 1));
    };
    const own = ["app.shop_total()", "shop_touch on app.boards"];
    assert.deepEqual(await changed(), own);
    await assert.rejects(
      as(tx, "tms_auditor", sp => sp.unsafe(`select audit.accept('${own[0]}')`)),
      /permission denied for table accepted/,
    );
    await as(tx, "tms_owner", async sp => {
      for (const name of own) await sp`select audit.accept(${name})`;
      await assert.rejects(
        sp.savepoint(inner => inner`select audit.accept('app.tenant_id()')`),
        /is not a function or trigger of your own/,
      );
    });
    assert.deepEqual(await changed(), []);
    await tx.unsafe(`
      create or replace function app.shop_total() returns int language sql security definer
        set search_path = pg_catalog, pg_temp as 'select 2';
      create or replace function shop.touch() returns trigger language plpgsql as $$ begin new.title := 'x'; return new; end $$`);
    assert.deepEqual(await changed(), own);
    await tx`drop trigger shop_touch on app.boards`;
    assert.deepEqual(await changed(), own);
    await tx`delete from audit.accepted where name = ${own[1]!}`;
    assert.deepEqual(await changed(), own.slice(0, 1));
  }));

test("an accepted function in another schema is a finding again once its body or its grants change", () =>
  rolledBack(database.sql, async tx => {
    const define = (body: string) =>
      tx.unsafe(
        `create or replace function pgbouncer.get_auth(text) returns text language sql security definer
          set search_path = pg_catalog, pg_temp as '${body}'`,
      );
    await tx.unsafe("create schema pgbouncer");
    await define("select $1");
    const bypass = async () =>
      (await tx<{ severity: string }[]>`select severity from audit.run_check('function_bypass')`).map(
        ({ severity }) => severity,
      );
    const accept = () =>
      as(tx, "tms_owner", sp => sp.unsafe("select audit.accept('pgbouncer.get_auth(text)')"));
    assert.deepEqual(await bypass(), ["warning"]);
    await tx`select audit.require_isolation()`;
    await accept();
    assert.deepEqual(await bypass(), []);
    for (const change of [
      () => define("select $1 || $1"),
      () => tx.unsafe("grant execute on function pgbouncer.get_auth(text) to pg_monitor"),
      () => tx.unsafe("alter function pgbouncer.get_auth(text) set jit = off"),
    ]) {
      await change();
      assert.deepEqual(await bypass(), ["warning"]);
      await accept();
      assert.deepEqual(await bypass(), []);
    }
    const [other] = await tx<{ made: string }[]>`
      select replace(pg_get_functiondef('pgbouncer.get_auth(text)'::regprocedure), 'get_auth', 'get_other') as made`;
    await tx.unsafe(`${other!.made}; grant execute on function pgbouncer.get_other(text) to pg_monitor`);
    assert.deepEqual(await bypass(), ["warning"], "nor one of another name, though all else is the same");
    await tx.unsafe(
      "drop function pgbouncer.get_other(text); grant usage on schema pgbouncer to tms_service",
    );
    assert.deepEqual(await bypass(), ["error"], "for the roles of the service nobody vouches");
    await accept();
    assert.deepEqual(await bypass(), ["error"]);
    await tx.unsafe("drop function pgbouncer.get_auth(text)");
    assert.deepEqual([...(await tx`select * from audit.run_check('function_changed')`)], []);
  }));

test("a trigger that only sets a column is no warning, whatever condition it has", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`
      create function public.touch() returns trigger language plpgsql as $$
        begin if tg_op = 'UPDATE' then /* or insert */ new.updated_at := now(); end if; -- delete has none
        return new; end $$;
      create trigger touch before insert or update on app.boards for each row execute function public.touch();
      create trigger same before update on app.users for each row execute function suppress_redundant_updates_trigger()`);
    assert.deepEqual([...(await tx`select * from audit.run_check('trigger_rights')`)], []);
  }));

test("a trigger is a warning only where a foreign key's action can fire it", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`
      create function public.note() returns trigger language plpgsql as $$ begin perform 1 from app.media; return new; end $$;
      create trigger note after insert or update on app.boards for each row execute function public.note()`);
    const warned = async () => (await tx`select * from audit.run_check('trigger_rights')`).length;
    assert.equal(await warned(), 0);
    await tx.unsafe(
      "alter table app.boards add foreign key (tenant_id, owner_id) references app.users (tenant_id, id) on update cascade",
    );
    assert.equal(await warned(), 1);
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
