/** For each check of the catalog a fault as it happens in life, and what is nearly one. */
interface Plant {
  how: string;
  sql: string;
  severity: string;
  relation?: string;
  object?: string;
  nearly: string;
}

/** An isolated table of an adopter's. */
export const table = (name: string, more = "") => `
  create table shop.${name} (tenant_id uuid not null, id uuid not null, ${more} primary key (tenant_id, id));
  alter table shop.${name} owner to tms_owner; select app.isolate('shop.${name}');`;
const readWrite = (name: string) => `grant select, insert on shop.${name} to tms_app;`;
export const definer = (name: string, path = "") =>
  `create function shop.${name}() returns int language sql security definer ${path} as 'select 1';`;
export const vouch = (name: string) =>
  `insert into pg_temp.vouched values ('function', 'shop.${name}()', pg_temp.hash_of('pg_proc', 'shop.${name}()'::regprocedure), 'read');`;

/** All are planted in one transaction: what one check finds of another's plant is a fault told twice. */
export const PLANTS: Record<string, Plant> = {
  rls_disabled: {
    how: "a table that a migration forgot",
    sql: "create table shop.notes (tenant_id uuid not null references app.tenants on delete cascade, id int, primary key (tenant_id, id)); alter table shop.notes owner to tms_owner; grant select on shop.notes to tms_app",
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
          ${readWrite("labels")}`,
    severity: "error",
    relation: "shop.labels",
    nearly: `${table("seats", "board uuid, foreign key (tenant_id, board) references app.boards (tenant_id, id),")}
             create table shop.seat_marks (tenant_id uuid not null, seat uuid not null, mark text, foreign key (tenant_id, seat) references shop.seats (tenant_id, id));
             alter table shop.seat_marks add primary key (tenant_id, seat); alter table shop.seat_marks owner to tms_owner; select app.isolate('shop.seat_marks')`,
  },
  not_of_tenants: {
    how: "a log that every request writes and reads",
    sql: `create table shop.log (body text); ${readWrite("log")}`,
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
  bridge_open: {
    how: "an old application that outlived its day",
    sql: `${table("bridged")} create role old_app login; create policy bridge_until_2026_01_31 on shop.bridged to old_app using (true)`,
    severity: "error",
    relation: "shop.bridged",
    object: "bridge_until_2026_01_31",
    nearly: `create role old_app login; ${table("bridged")} grant select on shop.bridged to old_app;
             select app.isolate('shop.bridged', bridge => 'old_app', until => current_date + 1), app.isolate('shop.bridged')`,
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

export const SHOP = "create schema shop authorization tms_owner; grant usage on schema shop to tms_app;";

/** As one transaction plants them. */
export const ALL_PLANTS = `${SHOP} ${Object.values(PLANTS)
  .map(one => one.sql)
  .join(";\n")}`;
