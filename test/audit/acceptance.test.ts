/** Choices that end: what is right here is kept by name, or by a right, and the audit says no more of it than that. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type postgres from "postgres";
import { createDatabase, rolledBack } from "../harness.ts";
import { asOwner, runCheck, seedTenants } from "./world.ts";

const database = await createDatabase();
await seedTenants(database.sql, 2);
after(() => database.drop());

/** What a person takes out of a comment. */
const uncommented = (remedy: string) =>
  remedy
    .split("\n")
    .map(line => line.replace(/^-- (?=grant |alter |set role |select )/, ""))
    .join("\n");

void describe("a choice", () => {
  const undone = (work: (sql: postgres.TransactionSql) => Promise<void>) => rolledBack(database.sql, work);
  const told = async (sql: postgres.TransactionSql, check: string, relation: RegExp) =>
    (await runCheck(sql, check))
      .filter(one => relation.test(one.relation ?? ""))
      .map(one => `${one.severity} ${one.detail}`);

  const DOMAINS = `create schema shop authorization tms_owner; grant usage on schema shop to tms_app, tms_auditor; set local role tms_owner;
    create table shop.domains (tenant_id uuid not null, id int, host text, primary key (tenant_id, id), constraint one_host unique (host));`;

  it("keeps a key over all tenants, whose remedy says first what a key per tenant would be", () =>
    undone(async sql => {
      await sql.unsafe(`${DOMAINS} set local role none`);
      const [found, ...more] = await runCheck(sql, "table_rules");
      assert.deepEqual([found!.severity, more], ["error", []]);
      assert.match(
        found!.remedy,
        /^-- per tenant: two tenants may then have the same \(host\)\. Where no two may, keep it: select audit\.accept\('shop\.one_host', 'the reason'\);\nalter table shop\.domains drop constraint one_host, add/,
      );
      await sql.unsafe(
        "set local role tms_owner; select audit.accept('shop.one_host', 'a host is one tenant''s'); select app.isolate('shop.domains'); set local role none",
      );
      assert.deepEqual(await told(sql, "table_rules", /./), [
        "info the unique index shop.one_host is over all tenants, as was accepted (a host is one tenant's): who writes a value learns whether another tenant has it",
      ]);
      await sql`select audit.require_isolation()`;
      assert.deepEqual(await runCheck(sql, "function_changed"), []);
      const [info] = await runCheck(sql, "table_rules");
      await sql.unsafe(/take that back: (.*)/.exec(info!.remedy)![1]!);
      assert.match(
        (await told(sql, "table_rules", /./)).join(),
        /^error the unique index shop\.one_host does not begin with tenant_id/,
      );
    }));

  it("of a key is of the key as it was", () =>
    undone(async sql => {
      await sql.unsafe(
        `${DOMAINS} select audit.accept('shop.one_host'); alter table shop.domains drop constraint one_host, add constraint one_host unique (id); set local role none`,
      );
      assert.match((await told(sql, "table_rules", /./)).join(), /^error the unique index shop\.one_host/);
      await assert.rejects(
        sql.savepoint(sp => sp`select audit.accept('shop.no_host')`),
        /shop\.no_host is not a function or trigger of your own, nor a unique key/,
      );
    }));

  it("keeps a key of the tenants themselves", () =>
    undone(async sql => {
      await sql.unsafe("alter table app.tenants add domain text unique");
      const [found] = await runCheck(sql, "table_rules");
      assert.equal(found!.severity, "warning");
      await sql.unsafe(/keep it: (.*); else:/.exec(found!.remedy)![1]!);
      assert.match(
        (await told(sql, "table_rules", /./)).join(),
        /^info the unique index app\.tenants_domain_key is over all tenants, as was accepted \(the reason\)/,
      );
    }));

  it("says nothing of what a primary key of numbers or uuids would be per tenant", () =>
    undone(async sql => {
      await sql.unsafe(
        "create table app.a (id uuid primary key, tenant_id uuid not null); create table app.b (code text primary key, tenant_id uuid not null); create table app.c (id int, tenant_id uuid not null, unique (id, tenant_id))",
      );
      const found = await runCheck(sql, "table_rules");
      assert.deepEqual(
        found.filter(({ remedy }) => remedy.startsWith("-- per tenant")).map(({ relation }) => relation),
        ["app.b"],
      );
    }));

  it("of a reference to what all tenants share never takes the key away, and ends with a right to its values alone", () =>
    undone(async sql => {
      await sql.unsafe(`create schema shop authorization tms_owner; create schema auth authorization tms_owner; grant usage on schema shop to tms_app, tms_auditor; set local role tms_owner;
        create table auth.users (id text primary key, email text); create table auth.devices (id uuid primary key); create table auth.open (code text primary key);
        create table shop.notes (tenant_id uuid not null, id int, user_id text references auth.users, device uuid references auth.devices, primary key (tenant_id, id));
        select app.isolate('shop.notes'); set local role none`);
      const [found, ...more] = await runCheck(sql, "app_reach");
      assert.deepEqual(
        [found!.severity, found!.row, more],
        ["info", { constraint: "notes_user_id_fkey" }, []],
      );
      await asOwner(sql, "app_reach"); // nothing but a comment
      assert.equal((await runCheck(sql, "app_reach")).length, 1);
      await sql.unsafe(uncommented(found!.remedy));
      assert.deepEqual(await runCheck(sql, "app_reach"), []);
      await sql.unsafe("grant select (email) on auth.users to tms_app");
      assert.match((await told(sql, "app_reach", /./)).join(), /^warning every tenant reads all of it/);
    }));

  it("of who works in tenants, and reads more, is a right of requests, or none", () =>
    undone(async sql => {
      await sql.unsafe(
        "create schema billing authorization tms_owner; create role job login; grant tms_app to job; grant usage on schema billing to job; create table billing.notes (n int); alter table billing.notes owner to tms_owner; grant select on billing.notes to job",
      );
      await assert.rejects(
        sql.savepoint(sp => sp`select audit.require_isolation()`),
        /billing\.notes: job works in tenants, as a member of tms_app, and reads/,
      );
      assert.equal((await asOwner(sql, "app_reach")).length, 1);
      assert.deepEqual(await runCheck(sql, "app_reach"), []);
    }));

  it("of a trigger that works past the policies leaves its function as it is until a person made it again", () =>
    undone(async sql => {
      await sql.unsafe(`create schema shop authorization tms_owner; grant usage on schema shop to tms_app, tms_auditor; set local role tms_owner; set local search_path = shop, pg_catalog;
        create table shop.orders (tenant_id uuid not null, id int, primary key (tenant_id, id)); select app.isolate('shop.orders'); create table shop.log2 (id int);
        create function shop.note() returns trigger language plpgsql as $$ begin insert into log2 values (old.id); return old; end $$;
        create trigger note before delete on shop.orders for each row execute function shop.note(); set local app.maintenance = on; insert into shop.orders select id, 1 from app.tenants`);
      const [found] = await asOwner(sql, "trigger_rights");
      assert.equal(found!.severity, "error");
      await sql.unsafe(
        "set local role tms_owner; set local search_path = shop, pg_catalog; delete from shop.orders",
      );
      assert.equal((await sql`select from shop.log2`).length, 2);
      await sql.unsafe("set local role none; set local search_path = pg_catalog");
      await sql.unsafe(uncommented(found!.remedy));
      assert.deepEqual(await runCheck(sql, "trigger_rights"), []);
    }));

  it("of a materialized view is a view that shows its reader's rows, and the remedy has both texts", () =>
    undone(async sql => {
      await sql.unsafe(`create schema shop authorization tms_owner; grant usage on schema shop to tms_app; set local role tms_owner; set local app.maintenance = on;
        create materialized view shop.totals as select tenant_id, count(*) as n from app.boards group by 1; create unique index one on shop.totals (tenant_id); grant select on shop.totals to tms_app`);
      const [tenant] = await sql`select id from app.tenants where slug = 't2'`;
      const [found] = await asOwner(sql, "view_leaks");
      assert.match(
        found!.remedy,
        /\n-- as it was made: create materialized view shop\.totals as\n-- {2}SELECT (?:boards\.)?tenant_id,\n(?:.*\n)*-- CREATE UNIQUE INDEX one ON shop\.totals USING btree \(tenant_id\);$/,
      );
      for (const check of ["view_leaks", "app_reach"])
        assert.deepEqual(await runCheck(sql, check), [], check);
      await sql.unsafe("set local role tms_app; set local app.maintenance = off");
      assert.equal((await sql`select from shop.totals`).length, 0);
      await sql`select app.set_tenant(${tenant!.id as string})`;
      assert.deepEqual(
        [...(await sql`select tenant_id, n::int from shop.totals`)],
        [{ tenant_id: tenant!.id as string, n: 1 }],
      );
    }));
});
