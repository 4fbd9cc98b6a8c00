/** Each check finds its plant, planted as it happens in life, and that alone; and leaves its near miss alone. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase, rolledBack } from "../../harness.ts";
import { DAMAGE, SHARDED } from "../plants/shards.ts";
import { seedTenants } from "../world.ts";
import { CHECKS, type Finding, findings, openAudit, plant, read } from "./world.ts";

const database = await createDatabase();
await seedTenants(database.sql, 10);
const sql = await openAudit(database);
after(async () => {
  await sql.end();
  await database.drop();
});

interface Plant {
  how: string;
  sql: string;
  severity: string;
  relation?: string;
  object?: string;
  nearly: string;
}

/** An isolated table of an adopter's. */
const table = (name: string, more = "") => `
  create table shop.${name} (tenant_id uuid not null, id uuid not null, ${more} primary key (tenant_id, id));
  alter table shop.${name} owner to tms_owner; select app.isolate('shop.${name}');`;
const read_write = (name: string) => `grant select, insert on shop.${name} to tms_app;`;
const definer = (name: string, path = "") =>
  `create function shop.${name}() returns int language sql security definer ${path} as 'select 1';`;
const vouch = (name: string) =>
  `insert into pg_temp.vouched values ('function', 'shop.${name}()', pg_temp.hash_of('pg_proc', 'shop.${name}()'::regprocedure), 'read');`;

/** All are planted in one transaction: what one check finds of another's plant is a fault told twice. */
const PLANTS: Record<string, Plant> = {
  rls_disabled: {
    how: "a table that a migration forgot",
    sql: "create table shop.notes (tenant_id uuid not null references app.tenants, id int); grant select on shop.notes to tms_app",
    severity: "error",
    relation: "shop.notes",
    nearly: table("notes"),
  },
  owner_bypasses: {
    how: "NO FORCE for a definer function's sake",
    sql: `${table("held")} alter table shop.held no force row level security`,
    severity: "warning",
    relation: "shop.held",
    object: "tms_owner",
    nearly: table("held"),
  },
  table_without_tenant: {
    how: "labels hung on boards",
    sql: `create table shop.labels (tenant uuid, board uuid, label text, foreign key (tenant, board) references app.boards (tenant_id, id));
          ${read_write("labels")}`,
    severity: "error",
    relation: "shop.labels",
    nearly: `${table("seats", "board uuid, foreign key (tenant_id, board) references app.boards (tenant_id, id),")}
             create table shop.seat_marks (tenant_id uuid not null, seat uuid not null, mark text, foreign key (tenant_id, seat) references shop.seats (tenant_id, id));
             alter table shop.seat_marks add primary key (tenant_id, seat); alter table shop.seat_marks owner to tms_owner; select app.isolate('shop.seat_marks')`,
  },
  not_of_tenants: {
    how: "a log that every request writes and reads",
    sql: `create table shop.log (body text); ${read_write("log")}`,
    severity: "error",
    relation: "shop.log",
    nearly:
      "create table shop.log (body text); create view shop.titles with (security_invoker) as select title from app.boards; grant select on shop.titles to tms_app",
  },
  view_as_owner: {
    how: "a reporting view",
    sql: "create view shop.every_board as select * from app.boards; grant select on shop.every_board to tms_app",
    severity: "error",
    relation: "shop.every_board",
    nearly:
      "create view shop.own_boards with (security_invoker = yes) as select * from app.boards; grant select on shop.own_boards to tms_app",
  },
  foreign_table: {
    how: "the old system's table",
    sql: `create foreign data wrapper far; create server far foreign data wrapper far;
          create foreign table shop.far (tenant_id uuid) server far; grant select on shop.far to tms_app`,
    severity: "error",
    relation: "shop.far",
    object: "far",
    nearly:
      "create foreign data wrapper far; create server far foreign data wrapper far; create foreign table shop.prices (price int) server far",
  },
  rewrite_rule: {
    how: "a rule that copies",
    sql: `${table("copied")} create rule copy as on insert to shop.copied do also select 1`,
    severity: "error",
    relation: "shop.copied",
    object: "copy",
    nearly: "create table shop.door (a int); create rule enter as on insert to shop.door do also select 1",
  },
  table_inherits: {
    how: "a parent that knows no tenants",
    sql: `${table("secrets", "config jsonb,")} create table shop.everything (config jsonb); alter table shop.secrets inherit shop.everything`,
    severity: "warning",
    relation: "shop.secrets",
    object: "shop.everything",
    nearly: "create table shop.old_notes (n int); create table shop.new_notes () inherits (shop.old_notes)",
  },
  publication: {
    how: "a feed for a warehouse",
    sql: `${table("orders")} create publication feed for table shop.orders`,
    severity: "warning",
    relation: "shop.orders",
    object: "feed",
    nearly: `${table("orders")} create publication one_tenant for table shop.orders where (tenant_id = '00000000-0000-0000-0000-000000000001')`,
  },
  key_crosses_tenants: {
    how: "a foreign key without the tenant, as a generator writes it",
    sql: `${table("places")} create unique index on shop.places (id);
          ${table("visits", "place uuid,")} alter table shop.visits add constraint visits_place foreign key (place) references shop.places (id) on delete cascade`,
    severity: "error",
    relation: "shop.visits",
    object: "visits_place",
    nearly: `${table("places")} ${table("visits", "place uuid,")}
             alter table shop.visits add foreign key (tenant_id, place) references shop.places (tenant_id, id) on delete set null (place)`,
  },
  tenant_column: {
    how: "a tenant that may be null",
    sql: `${table("drafts")} alter table shop.drafts drop constraint drafts_pkey, alter tenant_id drop not null; create index on shop.drafts (tenant_id)`,
    severity: "error",
    relation: "shop.drafts",
    object: "tenant_id",
    nearly: `${table("drafts")} alter table shop.drafts alter id drop default`,
  },
  tenant_unchecked: {
    how: "a foreign key lost in a restore",
    sql: `${table("restored")} alter table shop.restored drop constraint restored_tenant_id_fkey`,
    severity: "warning",
    relation: "shop.restored",
    object: "tenant_id",
    nearly: `${table("bills")} ${table("lines", "bill uuid not null, foreign key (tenant_id, bill) references shop.bills (tenant_id, id),")}
             alter table shop.lines drop constraint lines_tenant_id_fkey`,
  },
  constraint_off: {
    how: "a key that was never validated",
    sql: `${table("rooms")} ${table("stays", "room uuid,")}
          alter table shop.stays add constraint stays_room foreign key (tenant_id, room) references shop.rooms (tenant_id, id) not valid`,
    severity: "error",
    relation: "shop.stays",
    object: "stays_room",
    nearly: `${table("stays", "nights int,")} alter table shop.stays add check (nights > 0) not valid, add check (nights < 9);
             alter table shop.stays validate constraint stays_nights_check`,
  },
  unique_over_tenants: {
    how: "a name that one tenant takes from all others",
    sql: `${table("domains", "host text,")} create unique index domains_host on shop.domains (host)`,
    severity: "warning",
    relation: "shop.domains",
    object: "shop.domains_host",
    nearly: `${table("domains", "host text, number bigint generated always as identity,")} create unique index on shop.domains (number); create unique index on shop.domains (host, tenant_id);
             create unique index on shop.domains (id)`,
  },
  policy_depends: {
    how: "a policy that lets one login through",
    sql: `${table("asked")} create policy jobs on shop.asked to tms_app using (session_user = 'tms_service')`,
    severity: "error",
    relation: "shop.asked",
    object: "jobs",
    nearly: `${table("asked", "note text default 'now()',")} create policy mine on shop.asked as restrictive to tms_app using (note <> 'x');
             create policy dba on shop.asked to tms_owner using (session_user = 'postgres')`,
  },
  grants_beyond: {
    how: "GRANT ALL",
    sql: `${table("granted")} grant truncate on shop.granted to tms_app`,
    severity: "error",
    relation: "shop.granted",
    object: "tms_app",
    nearly: `${table("granted")} grant truncate on shop.granted to pg_monitor`,
  },
  default_privileges: {
    how: "tables given away as they are made",
    sql: "alter default privileges for role tms_owner in schema shop grant select on tables to tms_app",
    severity: "error",
    object: "tms_owner",
    nearly: `alter default privileges for role tms_owner in schema shop grant select on tables to tms_auditor;
             alter default privileges for role tms_owner in schema shop grant usage on sequences to tms_app`,
  },
  schema_grants: {
    how: "CREATE kept after a migration",
    sql: "create schema made; grant usage, create on schema made to tms_app",
    severity: "error",
    object: "schema made",
    nearly:
      "create schema made; grant usage on schema made to tms_app; grant create on schema made to pg_monitor",
  },
  system_grants: {
    how: "the planner's samples of rows, for a report",
    sql: "grant select (stavalues1) on pg_catalog.pg_statistic to tms_app",
    severity: "error",
    object: "pg_statistic",
    nearly:
      "grant select (stavalues1) on pg_catalog.pg_statistic to pg_monitor; grant execute on function pg_catalog.lo_get(oid) to tms_app; revoke execute on function pg_catalog.lo_get(oid) from tms_app",
  },
  role_bypasses: {
    how: "a helpful membership",
    sql: "create role shop_admin bypassrls; grant shop_admin to tms_app",
    severity: "error",
    object: "shop_admin",
    nearly: "create role shop_admin; grant shop_admin to tms_app",
  },
  role_settings: {
    how: "a job with a tenant of its own",
    sql: "create role shop_job login in role tms_app; alter role shop_job set app.tenant_id = '00000000-0000-0000-0000-000000000001'",
    severity: "error",
    object: "shop_job",
    nearly:
      "create role shop_job login in role tms_app; alter role shop_job set statement_timeout = '5s'; alter role shop_job set app.tenant_id = ''",
  },
  server_settings: {
    how: "a pooler's connection that comes with a tenant",
    sql: "set local app.tenant_id = '00000000-0000-0000-0000-000000000001'",
    severity: "error",
    object: "app.tenant_id",
    nearly: "set local app.tenant_id = ''; set local app.region = 'eu'",
  },
  function_unknown: {
    how: "a definer of a superuser's, for everybody",
    sql: definer("help", "set search_path = pg_catalog, pg_temp"),
    severity: "error",
    relation: "shop.help()",
    nearly: `${definer("help")} revoke all on function shop.help() from public`,
  },
  function_search_path: {
    how: "one that was read, with its caller's search_path",
    sql: `${definer("find")} ${vouch("find")}`,
    severity: "error",
    relation: "shop.find()",
    nearly: `${definer("find", "set search_path = pg_catalog, pg_temp")} ${vouch("find")}`,
  },
  function_leakproof: {
    how: "a promise for speed",
    sql: `create function shop.same(int) returns int language sql leakproof return 1;
          insert into pg_temp.vouched values ('function', 'shop.same(integer)', pg_temp.hash_of('pg_proc', 'shop.same(int)'::regprocedure), 'read')`,
    severity: "error",
    relation: "shop.same(integer)",
    nearly: `create function shop.same(int) returns int language sql return 1;
             insert into pg_temp.vouched values ('function', 'shop.same(integer)', pg_temp.hash_of('pg_proc', 'shop.same(int)'::regprocedure), 'read')`,
  },
};
/** What no transaction can plant, or what would hide other plants. */
const ELSEWHERE = ["server_version", "shard_differs"];

const SHOP = "create schema shop authorization tms_owner; grant usage on schema shop to tms_app;";
const named = (f: Pick<Finding, "check" | "severity" | "relation" | "object">) =>
  `${f.check}: ${f.severity} ${f.relation ?? "-"} ${f.object ?? "-"}`;
const CATALOG = CHECKS.filter(check => check !== "server_version");

void describe("the checks of the catalog", () => {
  it("find nothing in a database as the release made it", () =>
    rolledBack(sql, async tx => assert.deepEqual((await findings(tx, CATALOG)).map(named), [])));

  it("have a plant each", () => {
    assert.deepEqual([...Object.keys(PLANTS), ...ELSEWHERE].sort(), CHECKS);
  });

  it("find each its plant, once", () =>
    rolledBack(sql, async tx => {
      await plant(
        tx,
        `${SHOP} ${Object.values(PLANTS)
          .map(one => one.sql)
          .join(";\n")}`,
      );
      const expected = Object.entries(PLANTS).map(([check, { severity, relation, object }]) =>
        named({ check, severity, relation: relation ?? null, object: object ?? null }),
      );
      const found = await findings(tx, CATALOG);
      assert.deepEqual(found.map(named).sort(), expected.sort());
      for (const { check, detail, remedy } of found) {
        assert.ok(detail.length > 10, `${check}: ${detail}`);
        assert.ok(remedy.length > 10, `${check}: ${remedy}`);
      }
    }));

  for (const [check, { nearly }] of Object.entries(PLANTS))
    it(`${check} leaves its near miss alone`, () =>
      rolledBack(sql, async tx => {
        await plant(tx, `${SHOP} ${nearly}`);
        assert.deepEqual((await findings(tx, [check])).map(named), []);
      }));

  it("rls_disabled is one line where nothing is isolated at all", () =>
    rolledBack(sql, async tx => {
      await plant(
        tx,
        `do $$ declare t regclass; begin for t in select oid from pg_class where relrowsecurity and relkind = 'r' loop
        execute format('alter table %s disable row level security', t); end loop; end $$`,
      );
      const [found, ...more] = await findings(tx, ["rls_disabled"]);
      assert.deepEqual([found?.severity, found?.relation, more], ["error", null, []]);
      assert.match(found!.detail, /^nothing is isolated here: none of the 10 tables/);
      assert.match(found!.remedy, /adopt --plan/);
    }));

  it("function_unknown takes a function that changed since it was vouched for as unknown again", () =>
    rolledBack(sql, async tx => {
      const told = async () => (await findings(tx, ["function_unknown"])).map(named);
      await plant(tx, `${SHOP} ${definer("find", "set search_path = pg_catalog, pg_temp")} ${vouch("find")}`);
      assert.deepEqual(await told(), []);
      for (const change of [
        "create or replace function shop.find() returns int language sql security definer set search_path = pg_catalog, pg_temp as 'select 2'",
        "grant execute on function shop.find() to pg_monitor",
        "alter function shop.find() owner to tms_owner",
      ])
        await tx
          .savepoint(async savepoint => {
            await plant(savepoint, change);
            assert.equal((await findings(savepoint, ["function_unknown"])).length, 1, change);
            throw new Error("undo");
          })
          .catch((error: Error) => assert.equal(error.message, "undo"));
      assert.deepEqual(await told(), []);
    }));

  it("server_version knows the floor of each branch, and what it does not know", async () => {
    const found = async (version: number, embedded: boolean) =>
      rolledBack(sql, async tx => {
        const text = read("checks/server_version.sql")
          .replaceAll("current_setting('server_version_num')", `'${version}'`)
          .replaceAll("current_setting('cluster_name')", embedded ? "'tenancy embedded'" : "''");
        await tx.unsafe(`drop view pg_temp.server_version; ${text}`);
        const rows = await tx<Finding[]>`select * from pg_temp.server_version`;
        return rows.map(row => row.severity).join();
      });
    for (const [version, embedded, expected] of [
      [150019, false, "error"],
      [150020, false, ""],
      [160014, false, "error"],
      [160015, false, ""],
      [170010, false, "error"],
      [170011, false, ""],
      [180004, false, "error"],
      [180004, true, "warning"],
      [180006, false, ""],
      [190001, false, "warning"],
    ] as const)
      assert.equal(await found(version, embedded), expected, `${version} ${embedded}`);
  });

  it("shard_differs has nothing to ask on plain Postgres, and nothing against a shard that is as its table", () =>
    rolledBack(sql, async tx => {
      assert.deepEqual(await findings(tx, ["shard_differs"]), []);
      await plant(tx, SHARDED);
      assert.deepEqual(await findings(tx, ["shard_differs"]), []);
    }));

  for (const [what, [harm, detail]] of Object.entries(DAMAGE))
    it(`shard_differs finds ${what}`, () =>
      rolledBack(sql, async tx => {
        await plant(tx, `${SHARDED} ${harm}`);
        const [found, ...more] = await findings(tx, ["shard_differs"]);
        assert.deepEqual(
          [found?.severity, found?.relation, found?.object, more],
          ["error", "app.users", "app.users_102009 on worker:5432", []],
        );
        assert.match(found!.detail, detail);
      }));
});
