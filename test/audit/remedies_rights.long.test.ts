/** Remedies of roles, rights and functions are pasted as they are printed. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type postgres from "postgres";
import { createDatabase, rolledBack } from "../harness.ts";
import { asOwner, type Found, paste, runCheck, seedTenants } from "./world.ts";

const database = await createDatabase();
await seedTenants(database.sql, 2);
after(() => database.drop());

void describe("the remedies of roles, rights and functions", () => {
  const undone = (work: (sql: postgres.TransactionSql) => Promise<void>) => rolledBack(database.sql, work);

  it("let a function that is not the service's find its own schema, or those that it names", () =>
    undone(async sql => {
      await sql.unsafe(
        `create schema "Shop"; grant usage on schema "Shop" to tms_app; create table "Shop".notes (id int); create schema other`,
      );
      for (const [path, mended] of [
        ["", 'pg_catalog, "Shop", pg_temp'],
        ["set search_path = ''", 'pg_catalog, "Shop", pg_temp'],
        ['set search_path = other, "Shop"', 'other, "Shop", pg_temp'],
        ['set search_path = pg_temp, "Shop"', '"Shop", pg_temp'],
      ]) {
        await sql.unsafe(`set local search_path = "Shop"; create or replace function "Shop".notes() returns bigint language plpgsql security definer ${path}
          as $$ begin return (select count(*) from notes); end $$; grant execute on function "Shop".notes() to public`);
        assert.equal((await paste(sql, "function_search_path")).length, 1, path);
        await sql`set local search_path = ''`;
        assert.equal((await sql`select "Shop".notes() as n`)[0]!.n, "0", path);
        assert.deepEqual(await runCheck(sql, "function_search_path"), [], path);
        const [row] = await sql`select proconfig[1] as set from pg_proc where proname = 'notes'`;
        assert.equal(row!.set, `search_path=${mended}`);
        await sql`drop function "Shop".notes()`;
      }
    }));

  it("give a function of the release its owner back", () =>
    undone(async sql => {
      await sql.unsafe(`alter function app.enter_tenant(app.caller) owner to tms_owner;
        grant create on schema app to tms_registrar; alter function app.tenant_id() owner to tms_registrar; revoke create on schema app from tms_registrar`);
      assert.equal((await paste(sql, "function_changed")).length, 2);
      for (const check of ["function_changed", "schema_grants"])
        assert.deepEqual(await runCheck(sql, check), [], check);
    }));

  it("bring the objects of a dump that was restored without its owners back to theirs, a function of one's own too", () =>
    undone(async sql => {
      await sql.unsafe(`grant create on schema app to tms_app; set local role tms_app;
        create function app.shop_log() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as 'begin end';
        revoke all on function app.shop_log() from public; reset role; revoke create on schema app from tms_app; select audit.accept('app.shop_log()');
        alter schema graphile_migrate owner to current_user; alter table graphile_migrate.migrations owner to current_user; alter function app.shop_log() owner to current_user`);
      for (const check of ["function_owner", "function_bypass", "function_changed"]) {
        assert.match(
          (await runCheck(sql, check))[0]!.remedy,
          /alter routine app\.shop_log\(\) owner to tms_app;/,
          check,
        );
      }
      await paste(sql, "function_bypass");
      await paste(sql, "table_owner");
      for (const check of ["table_owner", "function_owner", "function_bypass", "function_changed"])
        assert.deepEqual(await runCheck(sql, check), [], check);
      await sql.unsafe("set local role tms_owner; table graphile_migrate.migrations");
    }));

  it("take a function that two triggers call to another schema once", () =>
    undone(async sql => {
      await sql.unsafe(`create function public.sweep() returns trigger language plpgsql as $$ begin delete from app.media m where m.id = old.id; return old; end $$;
        alter function public.sweep() owner to tms_owner;
        create trigger a before delete on app.users for each row execute function public.sweep();
        create trigger b before delete on app.boards for each row execute function public.sweep();
        create trigger c before delete on app.boards for each row execute function public.sweep()`);
      const found = await paste(sql, "trigger_rights");
      assert.equal((await runCheck(sql, "trigger_rights")).length, 3);
      const steps = found.map(({ remedy }) => remedy.replaceAll(/^-- (?!as above)/gm, ""));
      for (const step of steps) await sql.unsafe(step);
      assert.deepEqual(await runCheck(sql, "trigger_rights"), []);
      const [owner] =
        await sql`select proowner::regrole::text as name from pg_proc where oid = 'app.sweep()'::regprocedure`;
      assert.equal(owner!.name, "tms_app");
    }));

  it("leave what pg_repack copies, and its trigger, to pg_repack", () =>
    undone(async sql => {
      await sql.unsafe(`create schema repack;
        do $$ begin execute format('create table repack.table_%s as table app.media', 'app.media'::regclass::oid); end $$;
        create function repack.log() returns trigger language plpgsql as 'begin return null; end';
        alter extension pg_trgm add function repack.log();
        create trigger repack_trigger after insert on app.media for each row execute function repack.log()`);
      await sql`select audit.require_isolation()`;
      const [copy, ...more] = await runCheck(sql, "view_leaks");
      assert.deepEqual([copy!.severity, more], ["warning", []]);
      assert.match(copy!.detail, /copy of app\.media/);
      for (const { remedy } of [copy!, (await runCheck(sql, "function_changed"))[0]!])
        assert.match(remedy, /^-- unless pg_repack is at work:\ndrop extension pg_repack cascade;/);
    }));

  it("say of a dump that was restored without rights that it is to be restored again", () =>
    undone(async sql => {
      await sql.unsafe("revoke usage on schema audit from tms_auditor");
      assert.match(
        (await runCheck(sql, "rls_disabled"))[0]!.remedy,
        /^-- its rights are gone.*restore the database again/,
      );
    }));

  it("take a function in control back from whom it was given to, though its owner may not name it there", () =>
    undone(async sql => {
      await sql.unsafe(
        "grant execute on function control.visible_rows(regclass, name, uuid[], text[]), control.examine(text, uuid, int, text[]), app.count_tenants(text) to pg_monitor, tms_service",
      );
      assert.equal((await asOwner(sql, "function_changed")).length, 3);
      for (const check of ["function_changed", "service_reach", "schema_grants"])
        assert.deepEqual(await runCheck(sql, check), [], check);
      // It may use the schema, and must not lose that.
      const [row] = await sql`select audit.by_owner('tms_registrar', 'drop function control.f();') as text`;
      assert.equal(row!.text, "set role tms_registrar; drop function control.f(); reset role;");
    }));

  it("blame the role, and not its functions, where a role of ours passes every policy", () =>
    undone(async sql => {
      await sql.unsafe(
        "alter role tms_app bypassrls; create schema extra; grant usage on schema extra to tms_app",
      );
      await sql.unsafe(
        "create function extra.help() returns int language sql security definer set search_path = pg_catalog, pg_temp return 1",
      );
      const found = await runCheck(sql, "function_bypass");
      const remedies = [...new Set(found.map(one => one.remedy.replace(/\n/g, " ")))].sort();
      assert.deepEqual(remedies, [
        "-- as an administrator: \\i db/roles.sql",
        "-- as its owner, or as a superuser: alter routine extra.help() security invoker; -- or: revoke execute on routine extra.help() from public;",
      ]);
    }));

  it("vouch for what a provider keeps to itself, as the owner, and for its event triggers", () =>
    undone(async sql => {
      await sql.unsafe(`create schema pgbouncer;
        create function pgbouncer.get_auth(text) returns text language sql security definer set search_path = '' return $1;
        create function pgbouncer.fast() returns int language sql leakproof set row_security = off return 1;
        create function pgbouncer.become(who text) returns void language plpgsql as $$ begin perform set_config('role', who, true); end $$;
        create function pgbouncer.seen() returns event_trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin end $$;
        create event trigger "Seen" on ddl_command_end execute function pgbouncer.seen()`);
      const checks = ["bypass", "search_path", "leakproof", "settings", "body", "changed"].map(
        name => `function_${name}`,
      );
      const remedies: string[] = [];
      for (const check of checks) {
        const found = await runCheck(sql, check);
        assert.ok(found.length > 0, check);
        assert.deepEqual([...new Set(found.map(one => one.severity))], ["warning"], check);
        remedies.push(...found.map(one => one.remedy));
      }
      await sql.unsafe("set local role tms_owner");
      for (const remedy of remedies) {
        assert.match(remedy, /select audit\.accept\(/);
        // What is to be read first is a statement of its own, with the other behind it.
        await sql.unsafe(remedy.replace(/^select pg_get_functiondef.*then: /, ""));
      }
      await sql.unsafe("reset role");
      for (const check of checks) assert.deepEqual(await runCheck(sql, check), [], check);
    }));

  it("give what is missing, or too much, in memberships, and leave those alone that are as they should be", () =>
    undone(async sql => {
      await sql.unsafe(`create role guests; create role head login; create role cleo login in role head; create role chef login createrole;
        grant tms_app to guests; grant tms_auditor to head; grant tms_owner to chef with admin option; grant tms_registrar to cleo`);
      const named = async () => {
        const found = await runCheck(sql, "role_membership");
        return found.filter(({ row }) =>
          ["guests", "head", "cleo", "chef"].includes((row.member ?? row.administrator) as string),
        );
      };
      const found = await named();
      assert.deepEqual(
        found
          .map(({ severity, row }) => [severity, ...Object.values(row as Record<string, string>)].join(" "))
          .sort(),
        [
          "info chef",
          "info tms_auditor cleo",
          "warning tms_app guests",
          "warning tms_auditor head",
          "warning tms_owner chef",
          "warning tms_registrar cleo",
        ],
      );
      for (const { severity, remedy } of found) if (severity === "warning") await sql.unsafe(remedy);
      assert.deepEqual(
        (await named()).filter(({ row }) => row.administrator !== "chef"),
        [],
      );
    }));

  it("take no role from who made it, before Postgres 16 and since", () =>
    undone(async sql => {
      await sql.unsafe("create role chef login createrole");
      const [server] = await sql`select current_setting('server_version_num')::int as version`;
      if (server!.version >= 160000)
        await sql.unsafe("grant tms_app, tms_owner to chef with admin option, inherit false, set false");
      const found = (await runCheck(sql, "role_membership")).filter(
        ({ row }) => row.member === "chef" || row.administrator === "chef",
      );
      assert.deepEqual(
        found.map(({ severity, row }) => [severity, row]),
        [["info", { administrator: "chef" }]],
      );
      assert.match(found[0]!.remedy, /^-- nothing[^\n]*$/);
      if (server!.version >= 160000) assert.match(found[0]!.detail, /^chef administers tms_app, tms_owner: /);
    }));

  it("take the owner's default rights from strangers, where a migration is written", () =>
    undone(async sql => {
      await sql.unsafe(`create role guests; alter default privileges for role tms_owner grant all on tables to guests;
        alter default privileges for role tms_owner in schema app grant all on sequences to guests;
        alter default privileges for role tms_app grant execute on functions to guests`);
      assert.ok((await asOwner(sql, "default_privileges")).length > 8);
      assert.deepEqual(await runCheck(sql, "default_privileges"), []);
    }));

  it("take a right to execute from roles whatever they are called", () =>
    undone(async sql => {
      await sql.unsafe(`create role "Bea ""public"" Lee"; create role cleo;
        grant execute on function app.tenant_id() to "Bea ""public"" Lee", cleo`);
      assert.deepEqual(
        (await asOwner(sql, "function_changed")).map(one => one.severity),
        ["warning"],
      );
      assert.deepEqual(await runCheck(sql, "function_changed"), []);
    }));

  it("give what a role owned back to the owner, and the role the rights that it had before", () =>
    undone(async sql => {
      const rights = () => sql<{ has: boolean }[]>`
        select has_schema_privilege('tms_app', 'app', 'usage') and has_schema_privilege('tms_service', 'api', 'usage')
          and has_table_privilege('tms_app', 'app.boards', 'select') and has_table_privilege('tms_app', 'app.media', 'insert') as has`;
      for (const check of ["table_owner", "role_owns"]) {
        await sql.unsafe(`alter schema app owner to tms_app; alter schema api owner to tms_service;
          alter table app.boards owner to tms_app; alter table app.media owner to tms_app`);
        assert.equal((await paste(sql, check)).length, 4);
        assert.deepEqual([...(await rights())], [{ has: true }], check);
      }
      await sql.unsafe("select audit.require_isolation()");
    }));

  it("give a schema, a table or a view back, and leave the role that had it the rights that it had before", () =>
    undone(async sql => {
      const roles = ["tms_service", "tms_app", "tms_registrar", "tms_auditor"];
      const rights = async () => {
        const rows = await sql<{ has: string }[]>`
          select concat_ws(' ', r, p, nspname) as has from pg_namespace n, unnest(${roles}::text[]) r, unnest('{create,usage}'::text[]) p
          where nspname in ('app', 'api', 'audit', 'control') and has_schema_privilege(r, n.oid, p)
          union all
          select concat_ws(' ', r, p, c.oid::regclass)
          from pg_class c, unnest(${roles}::text[]) r, unnest('{select,insert,update,delete,truncate,references,trigger}'::text[]) p
          where c.relnamespace in ('app'::regnamespace, 'audit'::regnamespace, 'control'::regnamespace) and c.relkind in ('r', 'v')
            and has_table_privilege(r, c.oid, p)
          order by 1`;
        return rows.map(({ has }) => has);
      };
      const before = await rights();
      const objects = await sql<{ name: string }[]>`
        select 'schema ' || s as name from unnest('{app,api,audit}'::text[]) s
        union all
        select case c.relkind when 'v' then 'view ' else 'table ' end || c.oid::regclass from pg_class c
        where c.relnamespace in ('app'::regnamespace, 'audit'::regnamespace, 'control'::regnamespace) and c.relkind in ('r', 'v')`;
      for (const { name } of objects)
        for (const role of roles) {
          await sql.unsafe(`alter ${name} owner to ${role}`);
          const [found] = await runCheck(sql, "table_owner");
          await sql.unsafe(found!.remedy);
          assert.deepEqual(await rights(), before, `${name} of ${role}`);
        }
    }));

  it("leave a function of one's own in api a definer, which it has to be there", () =>
    undone(async sql => {
      await sql.unsafe(`create function api.help() returns int language sql security definer set search_path = pg_catalog, pg_temp return 1;
        revoke all on function api.help() from public; grant execute on function api.help() to tms_service; alter function api.help() owner to tms_app`);
      assert.equal((await paste(sql, "function_changed")).length, 1);
      for (const check of ["function_changed", "function_security"])
        assert.deepEqual(await runCheck(sql, check), [], check);
    }));

  it("take a tenant out of a function whoever owns it, as the superuser who alone may", () =>
    undone(async sql => {
      await sql.unsafe(`create function app.help() returns int language sql set search_path = pg_catalog, pg_temp set row_security = on
        set app.tenant_id = 'x' return 1; alter function app.help() owner to tms_app`);
      assert.equal((await paste(sql, "function_settings")).length, 2);
      assert.deepEqual(await runCheck(sql, "function_settings"), []);
    }));

  it("give what a role owns to the owner, whatever it is called, and drop what has none", () =>
    undone(async sql => {
      await sql.unsafe(`create schema crm; create table crm.notes (a int); create statistics crm.few on (a + 1) from crm.notes; alter statistics crm.few owner to tms_app;
        create foreign data wrapper far; create server "the hq" foreign data wrapper far; create user mapping for tms_app server "the hq"`);
      assert.equal((await paste(sql, "role_owns")).length, 2);
      assert.deepEqual(await runCheck(sql, "role_owns"), []);
    }));

  it("drop a large object as the login that made it", () =>
    undone(async sql => {
      await sql.unsafe(
        "select lo_create(4711); alter large object 4711 owner to tms_service; grant execute on function lo_unlink(oid) to tms_service",
      );
      const [found] = await runCheck(sql, "role_owns");
      const unlink = /^-- then, as tms_service: (.*)$/m.exec(found!.remedy)![1]!;
      await sql.unsafe(`set local role tms_service; ${unlink} reset role`);
      assert.deepEqual(await runCheck(sql, "role_owns"), []);
    }));

  it("close a copy of the database, which has a new one's rights, to all but the service's logins", () =>
    undone(async sql => {
      const name = sql(database.name);
      await sql`revoke all on database ${name} from tms_service, tms_auditor`;
      await sql`grant connect, temporary on database ${name} to public`;
      assert.equal((await paste(sql, "schema_grants")).length, 2);
      const rights = await sql<{ may: string }[]>`
        select concat_ws(' ', case when grantee = 0 then 'public' else grantee::regrole::text end, privilege_type) as may
        from pg_database, aclexplode(datacl) where datname = current_database() and grantee <> datdba order by 1`;
      assert.deepEqual(
        rights.map(({ may }) => may),
        ["tms_auditor CONNECT", "tms_service CONNECT"],
      );
    }));

  it("say where a setting is changed on a managed server, whose superuser is the provider", () =>
    undone(async sql => {
      const remedies = await sql<{ remedy: string }[]>`
        select distinct remedy from audit.check_server_settings()`;
      assert.ok(remedies.length > 4);
      for (const { remedy } of remedies) assert.match(remedy, /provider's parameter group/);
      await sql.unsafe("create role backup bypassrls in role pg_read_all_data");
      const found = await sql<
        Found[]
      >`select * from audit.run_check('bypass_role') where detail !~ '^(kiosk_)?auditor_' order by detail`;
      assert.match(found[0]!.detail, /every tenant once it may connect/);
      assert.match(found[1]!.detail, /as a member of pg_read_all_data/);
      for (const { remedy } of found) await sql.unsafe(remedy);
      assert.deepEqual(await runCheck(sql, "bypass_role"), []);
    }));

  it("move an extension out of reach where its view is the provider's", () =>
    undone(async sql => {
      await sql.unsafe(
        "grant usage on schema public to public; create view public.seen as select 1 as one; grant select on public.seen to public; alter extension pg_trgm add view public.seen; create view public.ours as select 1 as one; grant select on public.ours to public",
      );
      for (const check of ["service_reach", "app_reach"]) {
        const found = await runCheck(sql, check);
        const of = (view: string) => found.find(({ relation }) => relation === view)!.remedy;
        assert.match(of("public.seen"), /-- or, where that is refused: alter extension pg_trgm set schema/);
        assert.doesNotMatch(of("public.ours"), /extension/);
      }
    }));

  it("leave requests the view that they read, once its reader's rights decide", () =>
    undone(async sql => {
      await sql.unsafe(`create schema shop; grant usage on schema shop to tms_app;
        create view shop.titles with (security_invoker = true) as select title from app.boards; grant select on shop.titles to tms_app;
        create or replace view shop.titles as select title, id from app.boards`);
      const remedies = await Promise.all(["view_leaks", "app_reach"].map(check => runCheck(sql, check)));
      for (const { remedy } of remedies.flat()) await sql.unsafe(remedy);
      assert.equal(remedies.flat().length, 2);
      for (const check of ["view_leaks", "app_reach"])
        assert.deepEqual(await runCheck(sql, check), [], check);
      await sql.unsafe("set local role tms_app; select title from shop.titles");
    }));

  it("leave requests the table whose tenant has another name, once it is isolated", () =>
    undone(async sql => {
      await sql.unsafe(`create schema shop; grant usage on schema shop to tms_app, tms_auditor, tms_owner;
        create table shop.orders ("tenantId" uuid not null references app.tenants on delete cascade, id int, primary key ("tenantId", id));
        alter table shop.orders owner to tms_owner; grant select, insert on shop.orders to tms_app`);
      const remedies = await Promise.all(
        ["table_without_tenant", "app_reach"].map(check => runCheck(sql, check)),
      );
      for (const { remedy } of remedies.flat()) await sql.unsafe(remedy);
      for (const check of ["table_without_tenant", "app_reach", "table_rules", "table_grants"])
        assert.deepEqual(await runCheck(sql, check), [], check);
      await sql.unsafe("set local role tms_app; select tenant_id from shop.orders");
    }));

  it("take a stranger off the way of requests", () =>
    undone(async sql => {
      await sql.unsafe(`create role joe; create schema shop authorization tms_owner; create schema joes authorization joe; grant usage on schema joes to tms_app, tms_owner; grant usage on schema shop to tms_app, tms_auditor;
        create table shop.orders (tenant_id uuid not null, id int, primary key (tenant_id, id)); alter table shop.orders owner to tms_owner; select app.isolate('shop.orders');
        create function joes.spy() returns boolean language sql as 'select true'; alter function joes.spy() owner to joe; create view joes.v with (security_invoker) as select joes.spy();
        create table joes.t (n int); alter view joes.v owner to joe; alter table joes.t owner to joe; grant select on joes.v, joes.t to tms_app; alter schema shop owner to joe; grant create on schema shop to pg_monitor;
        grant alter system on parameter row_security to joe; create function pg_catalog.same(text) returns text language sql as 'select $1'; create function app.set_tenant(text) returns void language sql set search_path = pg_catalog, pg_temp as 'select'; alter function app.set_tenant(text) owner to tms_owner`);
      for (const [check, found] of [
        ["function_owner", 1],
        ["table_owner", 4], // his schema, in which one is ours by now
        ["schema_grants", 1],
        ["system_grants", 1],
        ["function_changed", 2],
      ] as const) {
        assert.equal((await paste(sql, check)).length, found, check);
        assert.deepEqual(await runCheck(sql, check), [], check);
      }
    }));

  it("keep strangers from what a function may find before the real one", () =>
    undone(async sql => {
      await sql.unsafe(
        `create role joe; create schema joes authorization joe; create schema util; grant create on schema util to joe; do $$ begin execute format('grant create on database %I to joe', current_database()); end $$`,
      );
      for (const path of ["joes", "util", "missing", '"$user"'])
        await sql.unsafe(
          `create function app.tidy_${path.replaceAll(/\W/g, "")}() returns trigger language plpgsql security definer set search_path = pg_catalog, ${path}, pg_temp as 'begin return new; end'`,
        );
      const faults = async () =>
        (await runCheck(sql, "function_search_path")).filter(({ detail }) => / joe may create /.test(detail));
      const found = await faults();
      // In the service's schemas any other path than pg_catalog is told of first.
      assert.equal(found.length, 0);
      await sql.unsafe(
        "create schema shop; grant usage on schema shop to tms_app; do $$ declare f regprocedure; begin for f in select oid from pg_proc where proname like 'tidy%' loop execute format('alter function %s set schema shop', f); end loop; end $$",
      );
      assert.equal((await faults()).length, 4);
      for (const { remedy } of await faults()) await sql.unsafe(remedy);
      assert.deepEqual(await faults(), []);
    }));

  it("take a procedure of the audit's from the service's login", () =>
    undone(async sql => {
      await sql.unsafe("grant execute on procedure audit.run to tms_service");
      await paste(sql, "service_reach");
      assert.deepEqual(await runCheck(sql, "service_reach"), []);
    }));
});
