/** Whose functions are, with whose rights and settings, and what differs from the release. */
import { type Branch, CRM, ORDERS } from "./branch.ts";

const definer = (name: string, owner = "tms_owner", body = "return 1") =>
  `create function ${name} returns int language sql security definer set search_path = pg_catalog, pg_temp ${body}; alter function ${name} owner to ${owner};`;

const SEEN =
  "create or replace function public.seen() returns event_trigger language plpgsql set search_path = pg_catalog, pg_temp as $$ begin end $$;";

/** Of a superuser's, and for everybody; nobody can call it. */
const EVENT = `create schema extra; grant usage on schema extra to public; create function extra.seen() returns event_trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin end $$;
  create event trigger seen on ddl_command_end execute function extra.seen()`;

export const functionBranches: Branch[] = [
  [
    "function_changed",
    `${ORDERS} create function shop.f() returns trigger language plpgsql as $$ begin return new; end $$; create trigger f before insert on shop.orders for each row execute function shop.f();
     create function app.help() returns int language sql return 1; grant execute on function app.tenant_id() to pg_monitor; grant execute on function app.etag(text,text) to public; alter function app.iso_time(timestamptz) owner to pg_monitor`,
    "error - app.etag(text,text)",
    "error - app.iso_time(timestamp with time zone)",
    "warning - app.tenant_id()",
  ],
  ...[
    `${SEEN.replace("begin", "begin perform 1;")}`,
    "drop event trigger seen; create event trigger seen on sql_drop execute function public.seen()",
    "drop event trigger seen; create event trigger seen on ddl_command_end when tag in ('CREATE TABLE') execute function public.seen()",
    `drop event trigger seen; ${SEEN.replace("seen", "look")} create event trigger seen on ddl_command_end execute function public.look()`,
    "drop event trigger seen",
  ].map((change): [string, string, string] => [
    "function_changed",
    `${SEEN} create event trigger seen on ddl_command_end execute function public.seen(); select audit.accept('seen'); ${change}`,
    "error - seen",
  ]),
  [
    "function_changed",
    `create function app.shop() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$ begin return new; end $$; create trigger shop before insert on app.boards for each row execute function app.shop();
     select audit.accept('shop on app.boards'); create or replace function app.shop() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$ begin perform 1; return new; end $$`,
    "error - shop on app.boards",
  ],
  [
    "function_changed",
    "insert into audit.accepted (kind, name, owner, granted, body) values ('function', 'app.tenant_id()', 'x', 'x', 'x')",
  ],
  ...["tms_app", "tms_registrar", "tms_auditor"].map((role): [string, string, string] => [
    "function_owner",
    `alter function audit.checks() owner to ${role}`,
    "error audit.checks() ",
  ]),
  [
    "function_owner",
    `${CRM} create function crm.f() returns trigger language plpgsql as $$ begin return new; end $$; create trigger f before insert on app.boards for each row execute function crm.f();
     create function crm.ok(text) returns text language sql immutable return $1; create index on app.media (tenant_id, crm.ok(storage_url)); create function crm.e(text) returns boolean language sql immutable return true;
     alter function crm.f() owner to pg_monitor; alter function crm.ok(text) owner to pg_monitor; create type crm.mood as enum (); alter type crm.mood owner to pg_monitor; alter table app.users add mood crm.mood`,
    "error app.boards crm.f()",
    "error app.media crm.ok(text)",
    "warning app.users crm.mood",
  ],
  [
    "function_owner",
    `${CRM} create role crew; grant tms_owner to crew; alter function control.similarity(text, text) owner to crew;
     create function crm.f() returns boolean language sql return true; alter function crm.f() owner to crew; alter table app.boards add check (crm.f()), add check (control.similarity(title, 'x') >= 0);
     create function crm.h() returns boolean language sql return true; alter table app.boards add check (crm.h())`,
  ],
  [
    // Who may make an extension may put its own into it.
    "function_owner",
    "alter function control.similarity(text, text) owner to pg_monitor; alter table app.boards add check (control.similarity(title, 'x') >= 0)",
    "error app.boards control.similarity(text,text)",
    "error control.similarity(text,text) ",
  ],
  ...["tms_owner", "tms_app", "tms_registrar", "tms_auditor"].map((role): [string, string] => [
    "function_owner",
    `${CRM} create function crm.f() returns boolean language sql return true; alter function crm.f() owner to ${role}; alter table app.boards add check (crm.f())`,
  ]),
  [
    "function_owner",
    `${CRM} create function crm.d() returns text language sql return 'x'; alter function crm.d() owner to pg_monitor; create function crm.ok(text) returns boolean language sql immutable return true;
     alter function crm.ok(text) owner to pg_monitor; alter table app.users alter display_name set default crm.d(); alter table app.generations add check (crm.ok(status));
     create policy p on app.provider_configs using (crm.ok(provider_name)); create statistics app.s on (crm.ok(type)) from app.credit_transactions`,
    "error app.credit_transactions crm.ok(text)",
    "error app.generations crm.ok(text)",
    "error app.provider_configs crm.ok(text)",
    "error app.users crm.d()",
  ],
  ["function_owner", "create extension lo with schema control; alter table app.media add pages control.lo"],
  [
    "function_security",
    `create function app.h() returns int language sql return 1; alter function app.h() owner to tms_registrar; create function app.i() returns int language sql return 1; alter function app.i() owner to tms_auditor;
     create function app.j() returns int language sql return 1; alter function app.j() owner to tms_app; create function api.h() returns int language sql return 1; alter function api.h() owner to tms_app`,
    "error api.h() ",
  ],
  [
    "function_security",
    "alter function app.fence_tenant(uuid) security invoker",
    "error app.fence_tenant(uuid) ",
  ],
  [
    "function_bypass",
    `${CRM} create role chief superuser; ${definer("crm.a()", "chief")} select audit.accept('crm.a()'); grant usage on schema crm to tms_app`,
    "error crm.a() ",
  ],
  [
    "function_bypass",
    `${CRM} create role chief superuser; ${definer("crm.a()", "chief")} select audit.accept('crm.a()')`,
  ],
  ...[
    "create role head superuser; alter function crm.a() owner to head",
    "grant execute on function crm.a() to pg_monitor",
    "create or replace function crm.a() returns int language sql security definer set search_path = pg_catalog, pg_temp return 2",
  ].map((change): [string, string, string] => [
    "function_bypass",
    `${CRM} create role chief superuser; ${definer("crm.a()", "chief")} select audit.accept('crm.a()'); ${change}`,
    "warning crm.a() ",
  ]),
  ...["truncate", "delete", "insert (n)", "update (n)"].map((right): [string, string, string] => [
    "function_bypass",
    `${CRM} create role chief superuser; create table crm.notes (n int); grant ${right} on crm.notes to tms_app;
      create function crm.t() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as 'begin return null; end';
      alter function crm.t() owner to chief; revoke all on function crm.t() from public;
      create trigger t after ${right.split(" ")[0]} on crm.notes execute function crm.t()`,
    "error crm.t() ",
  ]),
  [
    "function_bypass",
    `${CRM} create role backup bypassrls; create role deputy; grant tms_app to deputy; create role reader; grant tms_auditor to reader; ${definer("crm.a()", "backup")} ${definer("crm.b()", "deputy")}
     ${definer("crm.c()", "reader")} ${definer("crm.d()", "pg_monitor")} create function crm.e() returns int language sql return 1`,
    "error crm.b() ",
    "error crm.c() ",
    "warning crm.a() ",
  ],
  [
    "function_bypass",
    `${CRM} create role chief superuser; ${definer("crm.a()", "chief")} create function crm.b() returns int language sql return 1; alter function crm.b() owner to tms_app`,
    "warning crm.a() ",
  ],
  [
    "function_bypass",
    `create schema extra; ${["a", "b", "c"]
      .map(
        name =>
          `create table extra.${name} (n int, m int); create function extra.${name}() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin return new; end $$;
           create trigger t before insert on extra.${name} for each row execute function extra.${name}();`,
      )
      .join("")} grant insert (n) on extra.b to tms_app; grant delete on extra.c to tms_registrar`,
    "error extra.b() ",
    "error extra.c() ",
    "warning extra.a() ",
  ],
  [
    "function_bypass",
    `create schema extra; create schema open; grant usage on schema open to public; ${["a", "b", "c"]
      .map(
        name =>
          `create function extra.${name}(int, int) returns int language sql security definer set search_path = pg_catalog, pg_temp return $1 + $2;`,
      )
      .join(
        "",
      )} create function open.a() returns int language sql return extra.a(1, 2); create aggregate extra.total(int) (sfunc = extra.b, stype = int);
     create aggregate open.total(int) (sfunc = extra.c, stype = int); revoke all on function open.total(int) from public;
     create function extra.packed() returns int language sql security definer return 1; alter extension pg_trgm add function extra.packed();
     create function pg_temp.mine() returns int language sql security definer return 1`,
    "error extra.a(integer,integer) ",
    "warning extra.b(integer,integer) ",
    "warning extra.c(integer,integer) ",
  ],
  [
    "function_bypass",
    `${CRM} ${[
      "cmp(int, int) returns int",
      "diff(int, int) returns float8",
      "same(int, int) returns boolean",
      "idle(int, int) returns boolean",
    ]
      .map(
        name =>
          `create function crm.${name} language plpgsql immutable security definer set search_path = pg_catalog, pg_temp as 'begin return null; end';`,
      )
      .join("")} create type crm.span as range (subtype = int, subtype_diff = crm.diff);
     create operator crm.=== (leftarg = int, rightarg = int, function = crm.same, commutator = operator(crm.===)); create operator crm.!!! (leftarg = int, rightarg = int, function = crm.idle);
     create operator class crm.ops for type int using btree as operator 3 crm.===, function 1 crm.cmp(int, int); create table crm.n (n int, exclude using btree (n crm.ops with operator(crm.===)));
     revoke all on all functions in schema crm from public`,
    "error crm.cmp(integer,integer) ",
    "error crm.diff(integer,integer) ",
    "error crm.same(integer,integer) ",
    "warning crm.idle(integer,integer) ",
  ],
  [
    "function_bypass",
    `create role metabase login in role pg_read_all_data; ${CRM} ${definer("crm.a()", "metabase")} create view crm.v with (security_invoker) as select 1 as one;
     create function crm.b() returns event_trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin end $$; create event trigger b on ddl_command_end execute function crm.b()`,
    "warning crm.b() ",
  ],
  ["function_bypass", EVENT, "warning extra.seen() "],
  ["function_bypass", `${EVENT}; select audit.accept('extra.seen()')`],
  [
    "function_bypass",
    `${EVENT}; select audit.accept('extra.seen()'); create or replace function extra.seen() returns event_trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin perform 1; end $$`,
    "warning extra.seen() ",
  ],
  [
    "function_search_path",
    `${EVENT}; alter function extra.seen() reset search_path`,
    "warning extra.seen() ",
  ],
  [
    "function_search_path",
    `${CRM} grant usage on schema crm to public; create function crm.a() returns int language plpgsql as $$ begin return 1; end $$; create function crm.b() returns int language sql set search_path = public return 1;
     create function crm.c(text, text) returns text language internal security definer as 'textcat'; set local quote_all_identifiers = on; create function app.d() returns int language sql set search_path = pg_catalog, pg_temp return 1`,
  ],
  ...[
    "role = tms_app",
    "session_authorization = tms_app",
    "session_replication_role = replica",
    "app.maintenance = 'on'",
    "app.actor = '[]'",
  ].map((setting): [string, string, string] => [
    "function_settings",
    `create function app.f() returns int language sql set search_path = pg_catalog, pg_temp set ${setting} return 1`,
    "error app.f() ",
  ]),
  [
    "function_settings",
    "alter function control.examine(text, uuid, int, text[]) set row_security = off",
    "error control.examine(text,uuid,integer,text[]) ",
  ],
  [
    "function_settings",
    "alter function audit.checks() set row_security = on; alter function app.etag(text,text) set row_security = on",
    "error app.etag(text,text) ",
    "error audit.checks() ",
  ],
  ["function_public", `${CRM} create extension dblink schema crm`],
  [
    "function_public",
    `${CRM} create table crm.asked (n int); grant insert on crm.asked to tms_app; create table crm.shut (n int); ${[
      "a",
      "b",
      "c",
    ]
      .map(
        name =>
          `create function crm.${name}() returns trigger language plpgsql ${name === "b" ? "" : "security definer set search_path = pg_catalog, pg_temp"} as $$ begin return new; end $$; alter function crm.${name}() owner to pg_monitor; revoke all on function crm.${name}() from public;
           create trigger t${name} before insert on crm.${name === "a" ? "shut" : "asked"} for each row execute function crm.${name}();`,
      )
      .join(
        "",
      )} create function crm.d() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin return new; end $$; revoke all on function crm.d() from public; create trigger td before insert on crm.asked for each row execute function crm.d()`,
    "warning crm.c() tms_app",
    "warning crm.d() tms_app",
  ],
  [
    "function_public",
    `${CRM} grant usage on schema crm to tms_app; create trusted language plnosuchu handler plpgsql_call_handler;
     create function crm.read() returns text language plnosuchu as 'begin end'`,
    "error crm.read() tms_app",
  ],
  [
    "function_public",
    `${CRM} grant usage on schema crm to public; ${definer("crm.a()", "pg_monitor")} revoke all on function crm.a() from public; grant execute on function crm.a() to tms_service, tms_registrar, pg_read_all_stats;
     ${definer("crm.b()", "pg_monitor")} create function crm.c() returns int language sql return 1; grant execute on function app.tenant_id() to tms_auditor with grant option;
     grant execute on function api.get_release() to tms_app, pg_monitor, tms_auditor; grant execute on function app.etag(text,text) to tms_auditor;
     create schema shut; create function shut.cat(text) returns text language internal strict as 'pg_read_file_all'`,
    "error api.get_release() pg_monitor",
    "error api.get_release() tms_app",
    "error app.tenant_id() tms_auditor",
    "error crm.a() tms_service",
    "warning crm.a() tms_registrar",
    "warning crm.b() public",
  ],
  [
    "function_leakproof",
    "alter function control.similarity(text, text) leakproof; alter function uuid_eq(uuid, uuid) not leakproof; create function app.w() returns int language internal window leakproof as 'window_row_number'",
    "error app.w() ",
    "error uuid_eq(uuid,uuid) ",
    "warning control.similarity(text,text) ",
  ],
  [
    "function_leakproof",
    "alter function uuid_eq(uuid, uuid) not leakproof; alter function uuid_eq(uuid, uuid) leakproof",
  ],
  [
    // Its WHEN calls it, whoever may use its schema; the trigger's own function elsewhere is fired by nobody of ours.
    "function_bypass",
    `${CRM} create table crm.log (t text); create function crm.seen(text) returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin insert into crm.log values ($1); return true; end $$;
     create function crm.t() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin return new; end $$; create trigger own before insert on crm.log for each row execute function crm.t();
     create function public.t() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$ begin return new; end $$; create trigger t before insert on app.boards for each row when (crm.seen(new.title)) execute function public.t();
     select audit.accept('crm.t()'), audit.accept('crm.seen(text)')`,
    "error crm.seen(text) ",
  ],
  [
    "function_changed",
    `create function pg_catalog.substring(text, uuid) returns text language sql as 'select $1'; create function pg_catalog.same(text, text) returns boolean language sql as 'select $1 = $2';
     create operator pg_catalog.=== (leftarg = text, rightarg = text, function = pg_catalog.same); create function public.format(text, uuid) returns text language sql as 'select $1'`,
    'error - "substring"(text,uuid)',
    "error - same(text,text)",
    "error - ===(text,text)",
  ],
  [
    "function_changed",
    `create function app.refuse(int, text, text, text) returns void language sql set search_path = pg_catalog, pg_temp as 'select'; create function app.set_tenant(text) returns void language sql set search_path = pg_catalog, pg_temp as 'select';
     create function app.refuses() returns void language sql set search_path = pg_catalog, pg_temp as 'select'; create schema shop; create function shop.set_tenant(text) returns void language sql as 'select'`,
    "error - app.refuse(integer,text,text,text)",
    "error - app.set_tenant(text)",
  ],
  [
    "function_search_path",
    `${CRM} create schema "crm, pg_temp"; grant usage on schema crm to tms_app; create function crm.a() returns void language sql security definer set search_path = 'crm, pg_temp' as 'select 1';
     create function crm.b() returns void language sql security definer set search_path = crm, pg_temp as 'select 1'; create function crm.c() returns void language sql security definer set search_path = crm, "pg_temp" as 'select 1'`,
    "error crm.a() ",
  ],
  [
    // What a view, a shared table's policy, or the operators of an index have requests call; nobody asked for the others.
    "function_owner",
    `${ORDERS} create role joe; create schema joes authorization joe; grant usage on schema joes to tms_app; create function joes.spy() returns boolean language sql as 'select true'; alter function joes.spy() owner to joe;
     create function joes.rank(text, text) returns int language sql immutable as 'select 0'; alter function joes.rank(text, text) owner to joe; create operator class joes.ops for type text using btree as operator 3 =, function 1 joes.rank(text, text);
     create view shop.spies with (security_invoker) as select joes.spy(); create view shop.deep with (security_invoker) as select * from shop.spies; create view shop.closed with (security_invoker) as select joes.spy();
     create table shop.shared (id int); create policy spied on shop.shared using (joes.spy()); create table joes.own (id int check (joes.spy()));
     alter table shop.orders add note text; create index on shop.orders (tenant_id, note joes.ops); grant select on shop.deep, shop.shared to tms_app`,
    "error shop.deep joes.spy()",
    "error shop.orders joes.rank(text,text)",
    "error shop.shared joes.spy()",
  ],
  [
    // Of a view, a shared table and a body in requests; nothing of what a table does when it is written runs for who only reads.
    "function_owner",
    `${ORDERS} ${CRM} create role joe; create schema joes authorization joe; grant usage on schema joes to tms_app; create function joes.spy(text) returns text language sql as 'select $1'; create function joes.ask(text) returns text language sql as 'select $1';
     create function joes.touch() returns trigger language plpgsql as $$ begin return new; end $$; create domain joes.code as text check (joes.ask(value) <> '');
     alter function joes.spy(text) owner to joe; alter function joes.ask(text) owner to joe; alter function joes.touch() owner to joe; alter domain joes.code owner to joe; grant execute on function joes.ask(text) to tms_app;
     create table shop.countries (code joes.code, name text default joes.ask('x') check (joes.ask(name) <> '')); create trigger touch before update on shop.countries for each row execute function joes.touch();
     create function shop.tg() returns trigger language plpgsql as $$ begin new.note := joes.spy(new.note); return new; end $$; alter table shop.orders add note text; create trigger tg before insert on shop.orders for each row execute function shop.tg();
     create function crm.unreached() returns void language plpgsql as $$ begin perform joes.spy('x'); end $$; revoke all on function crm.unreached() from public; grant select on shop.countries to tms_app`,
    "warning joes.ask(text) tms_app",
    "warning joes.spy(text) shop.tg()",
  ],
  [
    "function_owner",
    `${ORDERS} create role joe; create type shop.mood as enum ('a'); alter type shop.mood owner to joe; alter table shop.orders add mood shop.mood`,
    "warning shop.orders shop.mood",
  ],
  [
    "function_search_path",
    `${ORDERS} create role joe; create role boss; grant tms_owner to boss; create schema joes authorization joe; create schema util; create schema fine; grant create on schema util to joe; grant create on schema fine to boss; create function joes.own() returns trigger language plpgsql set search_path = joes, pg_temp as $$ begin return new; end $$; alter function joes.own() owner to joe; create trigger own before insert on shop.orders for each row execute function joes.own(); ${[
      "joes",
      "util",
      "fine",
      "public",
    ]
      .map(
        schema =>
          `create function shop.in_${schema}() returns trigger language plpgsql set search_path = pg_catalog, ${schema}, pg_temp as $$ begin return new; end $$; create trigger in_${schema} before insert on shop.orders for each row execute function shop.in_${schema}();`,
      )
      .join(" ")}`,
    "error shop.in_joes() ",
    "error shop.in_util() ",
  ],
  [
    "function_owner",
    `${ORDERS} ${CRM} create role joe; create function crm.same(text, text) returns boolean language sql immutable as 'select $1 = $2'; create operator crm.=== (leftarg = text, rightarg = text, function = crm.same); alter operator crm.=== (text, text) owner to joe;
     alter table shop.orders add note text check (note operator(crm.===) 'x')`,
    "error shop.orders crm.===(text,text)",
  ],
  [
    "function_search_path",
    `${CRM} grant usage on schema crm to tms_app; create function crm.f() returns void language sql security definer set search_path = pg_temp as 'select 1'`,
    "error crm.f() ",
  ],
];
