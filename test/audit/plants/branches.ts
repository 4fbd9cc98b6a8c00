/** What each condition of a check decides: all that it then finds but infos, as severity, relation and the values of its row. */
import { PARTITIONED } from "./keys.ts";

const TABLES = [
  "board_members",
  "boards",
  "credit_transactions",
  "generations",
  "media",
  "provider_configs",
  "tenants",
  "users",
].map(name => `app.${name}`);

/** tms_owner's, and closed to requests. */
const SHOP = "create schema shop authorization tms_owner;";
const OPEN_SHOP = `${SHOP} grant usage on schema shop to tms_app, tms_auditor;`;
const ORDERS = `${OPEN_SHOP} create table shop.orders (tenant_id uuid not null, id uuid, primary key (tenant_id, id));
  alter table shop.orders owner to tms_owner; select app.isolate('shop.orders');`;
/** A provider's or another product's. */
const CRM = "create schema crm;";
const definer = (name: string, owner = "tms_owner", body = "return 1") =>
  `create function ${name} returns int language sql security definer set search_path = pg_catalog, pg_temp ${body}; alter function ${name} owner to ${owner};`;
const SEEN =
  "create or replace function public.seen() returns event_trigger language plpgsql set search_path = pg_catalog, pg_temp as $$ begin end $$;";
const onDatabase = (statement: string) =>
  `do $$ begin execute format('${statement}', current_database()); end $$`;

export const branches: [check: string, sql: string, ...found: string[]][] = [
  ["table_inherits", "create table app.far_media () inherits (app.media)"],
  [
    "rls_disabled",
    `${PARTITIONED} alter table app.events_0 disable row level security`,
    "error app.events_0 ",
  ],
  [
    "tenant_key",
    "alter table control.idempotency_keys drop constraint idempotency_keys_tenant_id_fkey, add foreign key (tenant_id) references app.tenants on delete cascade not valid",
    "error control.idempotency_keys ",
  ],
  [
    "tenant_key",
    `create table app.plans (tenant_id uuid primary key); insert into app.plans select id from app.tenants; alter table app.media drop constraint media_tenant_id_fkey,
       add partner_id uuid references app.tenants on delete cascade, add foreign key (tenant_id) references app.plans on delete cascade`,
    "error app.media ",
    "error app.plans ",
  ],
  ["tenant_key", PARTITIONED],
  [
    "tenant_key",
    `create table control.events (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id)) partition by hash (tenant_id);
       create table app.events_0 partition of control.events for values with (modulus 1, remainder 0)`,
    "error app.events_0 ",
  ],
  [
    "foreign_key_missing",
    `alter table app.media add folder_id uuid, add foreign key (tenant_id, folder_id) references app.boards (tenant_id, id),
       add dropped_id uuid; alter table app.media drop dropped_id`,
  ],
  [
    "foreign_key_missing",
    "alter table app.generations drop constraint generations_board",
    "error app.generations board_id",
  ],
  [
    "foreign_key_missing",
    `create table app.category (tenant_id uuid not null, id int, primary key (tenant_id, id)); create table app.taxes (tenant_id uuid not null, id int, primary key (tenant_id, id));
     alter table app.media add category_id int, add tax_id int, add "A" uuid`,
    "warning app.media category_id",
    "warning app.media tax_id",
  ],
  [
    "constraint_not_valid",
    "alter table app.media add constraint old check (storage_url <> '') not valid",
    "warning app.media old",
  ],
  [
    "trigger_disabled",
    `create trigger seen before update on app.media for each row execute function suppress_redundant_updates_trigger();
     create trigger told before update on app.media for each row execute function suppress_redundant_updates_trigger();
     alter table app.media disable trigger seen, enable replica trigger told`,
    "warning app.media seen",
    "warning app.media told",
  ],
  [
    "index_missing",
    "update pg_index set indisvalid = false where indexrelid = 'app.media_by_generation'::regclass",
    "warning app.media media_generation",
  ],
  [
    "index_missing",
    "drop index app.media_by_generation; create index on app.media (tenant_id) include (generation_id)",
    "warning app.media media_generation",
  ],
  [
    "index_missing",
    `${PARTITIONED} alter table app.events add foreign key (tenant_id, other) references app.users (tenant_id, id)`,
    "warning app.events events_tenant_id_other_fkey",
  ],
  ...["create index", "create unique index", "create unique index"].map(
    (index, i): [string, string, string] => [
      "unique_key_missing",
      `drop index app.tenants_one_default; ${index} again on app.tenants (is_default${i === 1 ? ", lower(slug)" : ""}) where is_default;
       update pg_index set indisvalid = ${i < 2} where indexrelid = 'app.again'::regclass`,
      "error app.tenants is_default",
    ],
  ),
  [
    "table_rules",
    "alter table app.tenants add constraint named exclude using btree (name with =)",
    "warning app.tenants app.named",
  ],
  ["table_rules", ORDERS],
  [
    "table_without_tenant",
    `${SHOP} create table shop.a (org_id uuid not null references app.tenants) partition by list (org_id); create table shop.b (n int) partition by list (n);
     create table shop.countries (code text); create temporary table drafts (n int); create table app.countries (code text) partition by list (code)`,
    "error app.countries ",
    "error shop.a ",
  ],
  ["table_owner", "alter table control.deployment owner to pg_monitor", "error control.deployment "],
  ["table_owner", "alter table audit.found owner to pg_monitor", "error audit.found "],
  ["table_owner", `${ORDERS} alter table shop.orders owner to pg_monitor`, "error shop.orders "],
  [
    "table_owner",
    "create view api.v as select 1 as one; alter view api.v owner to pg_monitor; create sequence app.n; create table app.p (n int) partition by list (n)",
    "error api.v ",
    "error app.n ",
    "error app.p ",
  ],
  ...["app", "api", "audit"].map((name): [string, string, string] => [
    "table_owner",
    `alter schema ${name} owner to pg_monitor`,
    `error ${name} ${name}`,
  ]),
  ["view_leaks", `${SHOP} create view shop.v as table audit.found`, "error shop.v "],
  [
    "foreign_table",
    `${SHOP} create foreign data wrapper far; create server far foreign data wrapper far; create foreign table shop.far (tenant_id uuid) server far;
     create foreign table shop.other (id uuid) server far; create table shop.near (tenant_id uuid); create foreign table app.other (id uuid) server far`,
    "error app.other ",
    "error shop.far ",
  ],
  [
    "rewrite_rule",
    `${SHOP} create table shop.door (a int); create rule peek as on insert to shop.door do also select from control.tenant_events;
     create rule look as on insert to shop.door do also select from audit.found; create rule own as on insert to shop.door do also select from shop.door;
     create rule two as on insert to app.media do also select from app.boards`,
    "error app.media two",
    "error shop.door look",
    "error shop.door peek",
  ],
  ["publication", `${ORDERS} create publication shop for tables in schema shop`, "warning shop.orders shop"],
  [
    "table_grants",
    `${PARTITIONED} grant select on app.events_0 to tms_app; grant update on app.tenants to tms_app; grant select on app.media to tms_app with grant option;
     grant references on app.media to pg_monitor; grant insert, update, delete on app.media to pg_monitor; grant select on app.boards to pg_monitor with grant option`,
    "error app.boards pg_monitor SELECT",
    "error app.events_0 tms_app SELECT",
    "error app.media pg_monitor REFERENCES",
    "error app.media tms_app SELECT",
    "error app.tenants tms_app UPDATE",
    "warning app.media pg_monitor DELETE",
    "warning app.media pg_monitor INSERT",
    "warning app.media pg_monitor UPDATE",
  ],
  [
    "table_grants",
    "create role tms_jobs; grant select on app.boards to tms_jobs",
    "error app.boards tms_jobs SELECT",
  ],
  [
    "table_grants",
    `${ORDERS} revoke usage on schema shop from tms_auditor`,
    "error shop.orders tms_auditor SELECT",
  ],
  [
    "publication",
    "create publication every for all tables",
    ...TABLES.map(table => `warning ${table} every`),
  ],
  [
    "other_grants",
    `create view app.v with (security_invoker, check_option = local) as select title from app.boards; create view app.w as select 1 as one; create sequence app.n;
     grant select, insert, update, delete on app.v to tms_app; grant select on app.v to tms_auditor; grant usage, select on sequence app.n to tms_app, tms_auditor`,
  ],
  [
    "other_grants",
    `create view app.v with (security_invoker) as select title from app.boards; create view app.w with (check_option = local) as select title from app.boards; create sequence app.n;
     create view api.v with (security_invoker) as select 1 as one;
     grant references, select on app.v to tms_app, tms_service, pg_monitor; grant insert on app.v to tms_auditor; grant select on app.w, api.v, audit.found to pg_monitor;
     grant select, update on sequence app.n to pg_monitor; grant usage on sequence app.n to tms_service`,
    "error api.v pg_monitor SELECT",
    "error app.n pg_monitor UPDATE",
    "error app.n tms_service USAGE",
    "error app.v tms_app REFERENCES",
    "error app.v tms_auditor INSERT",
    "error app.v tms_service REFERENCES",
    "error app.v tms_service SELECT",
    "error app.w pg_monitor SELECT",
    "error audit.found pg_monitor SELECT",
    "warning app.n pg_monitor SELECT",
    "warning app.v pg_monitor REFERENCES",
    "warning app.v pg_monitor SELECT",
  ],
  [
    "other_grants",
    `grant select (slug), insert (slug) on control.tenant_events to tms_auditor, tms_registrar, tms_owner; grant truncate on control.tenant_events to tms_registrar; grant select on control.deployment to tms_auditor;
     grant select on audit.found to tms_registrar; create materialized view control.m as select 1 as one; grant select on control.m to tms_app;
     create table control.p (n int) partition by list (n); grant select on control.p to tms_app; grant select on graphile_migrate.migrations to tms_app`,
    "error audit.found tms_registrar SELECT",
    "error control.deployment tms_auditor SELECT",
    "error control.m tms_app SELECT",
    "error control.p tms_app SELECT",
    "error control.tenant_events tms_auditor INSERT",
    "error control.tenant_events tms_auditor SELECT",
    "error control.tenant_events tms_registrar TRUNCATE",
    "error graphile_migrate.migrations tms_app SELECT",
  ],
  [
    "other_grants",
    `${SHOP} create sequence shop.n; grant update on sequence shop.n to tms_app, pg_monitor; create schema open; grant usage on schema open to tms_service;
     create sequence open.n; create sequence open.packed; create table open.t (n int); grant update on sequence open.n, open.packed to pg_monitor, public; grant update on open.t to public;
     alter extension pg_trgm add sequence open.packed; create temporary sequence n; grant update on sequence n to public`,
    "error open.n public UPDATE",
  ],
  [
    "schema_grants",
    `create schema crm authorization pg_monitor; grant usage on schema crm to public; grant create on schema crm to tms_service, tms_registrar, tms_auditor, pg_read_all_stats;
     create role tms_jobs; grant usage on schema app, api, control, audit, public to tms_jobs; grant create on schema app to tms_app; grant usage on schema api to pg_monitor;
     grant create on schema control to tms_registrar; grant usage on schema control to tms_auditor; grant create on schema audit to tms_auditor; grant usage on schema audit to tms_app;
     grant usage on schema public to tms_app; grant create on schema public to tms_app, tms_service, tms_registrar, tms_auditor, tms_jobs, pg_monitor; grant create on schema api to tms_service`,
    "error - tms_app schema app CREATE",
    "error - tms_jobs schema app USAGE",
    "error - tms_jobs schema api USAGE",
    "error - tms_app schema audit USAGE",
    "error - tms_auditor schema audit CREATE",
    "error - tms_jobs schema audit USAGE",
    "error - tms_auditor schema control USAGE",
    "error - tms_jobs schema control USAGE",
    "error - tms_registrar schema control CREATE",
    "error - tms_auditor schema crm CREATE",
    "error - tms_registrar schema crm CREATE",
    "error - tms_service schema crm CREATE",
    "error - tms_app schema public CREATE",
    "error - tms_auditor schema public CREATE",
    "error - tms_registrar schema public CREATE",
    "error - tms_service schema api CREATE",
    "error - tms_service schema public CREATE",
    "warning - pg_monitor schema api USAGE",
  ],
  [
    "schema_grants",
    `${onDatabase("grant connect on database %1$I to public; grant temporary, create on database %1$I to public, tms_app, pg_monitor; grant create on database %1$I to pg_read_all_stats with grant option")};`,
    "error - public database CREATE",
    "error - public database TEMPORARY",
    "error - tms_app database CREATE",
    "error - tms_app database TEMPORARY",
    "warning - pg_read_all_stats database CREATE",
    "warning - public database CONNECT",
  ],
  [
    "default_privileges",
    `create schema crm authorization pg_monitor; alter default privileges for role pg_monitor in schema crm grant select on tables to pg_read_all_stats;
     alter default privileges for role pg_monitor in schema crm grant select on tables to public; alter default privileges for role pg_monitor in schema crm grant execute on functions to tms_auditor;
     alter default privileges for role pg_monitor in schema crm grant select on tables to tms_auditor; alter default privileges for role pg_monitor in schema crm grant usage on sequences to tms_auditor;
     alter default privileges for role pg_monitor in schema crm grant usage on sequences to tms_registrar; alter default privileges for role pg_monitor in schema crm grant select on tables to tms_app;
     alter default privileges for role pg_monitor in schema crm grant execute on functions to public;
     alter default privileges for role pg_monitor in schema public grant select on tables to tms_registrar; alter default privileges for role pg_monitor grant select on tables to tms_app`,
    "error - tms_app pg_monitor SELECT",
    "error - tms_registrar pg_monitor SELECT",
    "warning - public pg_monitor EXECUTE",
    "warning - public pg_monitor SELECT",
    "warning - tms_app pg_monitor SELECT",
    "warning - tms_registrar pg_monitor USAGE",
  ],
  ...["app", "api", "control", "audit"].map((schema): [string, string, string] => [
    "default_privileges",
    `alter default privileges for role pg_monitor in schema ${schema} grant select on tables to tms_service`,
    "error - tms_service pg_monitor SELECT",
  ]),
  [
    "default_privileges",
    `${SHOP} alter default privileges for role tms_owner grant select, insert, update, delete on tables to pg_monitor; alter default privileges for role tms_owner grant update on sequences to pg_monitor;
     alter default privileges for role tms_owner in schema shop grant select on tables to pg_read_all_stats with grant option; alter default privileges for role tms_owner in schema shop grant usage on sequences to tms_app with grant option;
     alter default privileges for role tms_app grant usage on schemas to public`,
    "error - public tms_app USAGE",
    "error - pg_monitor tms_owner UPDATE",
    "error - pg_read_all_stats tms_owner SELECT",
    "error - tms_app tms_owner USAGE",
    "warning - pg_monitor tms_owner DELETE",
    "warning - pg_monitor tms_owner INSERT",
    "warning - pg_monitor tms_owner SELECT",
    "warning - pg_monitor tms_owner UPDATE",
  ],
  ...["", " in schema control", " in schema audit", " in schema api"].map(
    (where): [string, string, string] => [
      "default_privileges",
      `alter default privileges for role tms_owner${where} grant usage on sequences to tms_app`,
      "error - tms_app tms_owner USAGE",
    ],
  ),
  [
    "default_privileges",
    `${SHOP} alter default privileges for role tms_owner grant execute on functions to public; alter default privileges for role tms_registrar grant select on tables to tms_owner; alter default privileges for role tms_registrar revoke execute on functions from public;
     alter default privileges for role tms_owner in schema shop grant execute on functions to pg_monitor; alter default privileges for role tms_owner grant usage on types to pg_monitor`,
    "error - pg_monitor tms_owner EXECUTE",
    "warning - public tms_owner EXECUTE",
  ],
  [
    "service_reach",
    `create table app.t (n int, m int); grant select (n) on app.t to tms_service; create view api.v as select 1 as one; create materialized view control.m as select 1 as one;
     grant select on control.m to tms_service; create table app.p (n int) partition by list (n); grant delete on app.p to public; create schema shop; create table shop.t (n int);
     grant select on shop.t to public; create sequence api.s; grant execute on function app.tenant_id(), control.find_tenant(text), audit.checks() to tms_service`,
    "error api.v ",
    "error app.p tms_service",
    "error app.t tms_service",
    "error app.tenant_id() tms_service",
    "error audit.checks() tms_service",
    "error control.find_tenant(text) tms_service",
    "error control.m tms_service",
  ],
  [
    "app_reach",
    `${OPEN_SHOP} create table shop.p (n int) partition by list (n); grant select on shop.p to tms_app; create materialized view shop.m as select 1 as one; create foreign data wrapper far;
     create server far foreign data wrapper far; create foreign table shop.far (n int) server far; grant select on shop.m, shop.far to tms_app; create table shop.tidy (n int);
     grant delete on shop.tidy to tms_app; grant usage on schema shop to tms_registrar; create table shop.mine (n int); grant select on shop.mine to tms_registrar;
     create table shop.rows (tenant_id uuid); grant select on shop.rows to tms_app; create temporary table mine (n int); grant select on mine to tms_app;
     create view shop.packed as select 1 as one; grant select on shop.packed to tms_app; alter extension pg_trgm add view shop.packed`,
    "error shop.far tms_app",
    "error shop.m tms_app",
    "error shop.mine tms_registrar",
    "warning shop.p tms_app",
    "warning shop.packed tms_app",
    "warning shop.tidy tms_app",
  ],
  [
    "system_grants",
    `create foreign data wrapper far; grant usage on foreign data wrapper far to tms_app; create role report; grant select on pg_statistic_ext_data, pg_authid to report;
     grant select (rolpassword) on pg_authid to tms_app; grant update on pg_settings to tms_app; create schema shop; create table shop.t (n int); grant select (n) on shop.t to tms_app`,
    "error - tms_app far USAGE",
    "error pg_authid tms_app pg_authid SELECT",
    "error pg_settings tms_app pg_settings UPDATE",
    "warning pg_statistic_ext_data report pg_statistic_ext_data SELECT",
  ],
  [
    "role_owns",
    `create schema shop; create function shop.f() returns int language sql return 1; create function shop.g() returns int language sql return 1; create type shop.t as enum ();
     alter function shop.f() owner to tms_service; alter function shop.g() owner to tms_registrar; alter type shop.t owner to tms_auditor`,
    "error - tms_auditor type shop.t",
    "error - tms_service function shop.f()",
  ],
  ...["superuser", "createrole", "replication", "createdb", "inherit", "login"].map(
    (attribute): [string, string, string] => [
      "role_attributes",
      `alter role tms_auditor ${attribute}`,
      "error - tms_auditor",
    ],
  ),
  ["role_attributes", "alter role tms_auditor rename to tms_reader", "error - tms_auditor"],
  ["registrar_reach", "grant truncate on app.boards to tms_registrar", "error app.boards tms_registrar"],
  [
    "registrar_reach",
    "create policy theirs on app.boards to tms_registrar using (true)",
    "error app.boards tms_registrar",
  ],
  ...["tms_owner", "tms_service", "tms_registrar"].map((role): [string, string, string] => [
    "role_membership",
    `create role guest; create role chief superuser; grant ${role} to guest, chief`,
    `warning - ${role} guest`,
  ]),
  ["role_membership", "grant tms_app to tms_owner with admin option", "error - tms_app tms_owner"],
  [
    "role_membership",
    "create role chief superuser; grant chief to tms_app; create role crew; grant crew to tms_registrar",
    "error - crew tms_registrar",
    "error - chief tms_app",
  ],
  [
    "role_settings",
    `alter role tms_service set row_security = off; alter role tms_app set role = tms_owner; alter role tms_owner set app.actor = '[]'; alter role tms_auditor set app.event = 'x';
     alter role tms_app set lo_compat_privileges = on;
     alter role tms_registrar set search_path = public; create role guest; alter role guest set search_path = public; alter role guest set app.environment = 'x'; alter role guest set row_security = off`,
    "error - tms_app lo_compat_privileges=on",
    "error - tms_app role=tms_owner",
    "error - tms_auditor app.event=x",
    "error - tms_owner app.actor=[]",
    "error - tms_service row_security=off",
    "warning - tms_registrar search_path=public",
  ],
  [
    "role_settings",
    `alter role tms_service set row_security = on; alter role all set app.tenant_id = ''; alter role tms_owner set app.maintenance = off;
     ${onDatabase("alter database %I set session_replication_role = origin")}; alter role tms_app set lo_compat_privileges = off`,
  ],
  [
    "role_settings",
    `create role guest; alter role guest in database template1 set app.tenant_id = 1; alter database template1 set app.tenant_id = 2;
     alter role tms_service in database template1 set search_path = public`,
  ],
  [
    "bypass_role",
    `create role backup bypassrls; create role loader login in role pg_write_server_files, pg_execute_server_program, pg_read_server_files;
     create role chief superuser in role pg_read_all_data; grant pg_read_all_data to tms_auditor`,
    "warning - pg_execute_server_program loader",
    "warning - pg_read_server_files loader",
    "warning - pg_write_server_files loader",
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
  ],
  [
    "function_owner",
    `${CRM} create role crew; grant tms_owner to crew; alter function control.similarity(text, text) owner to crew;
     create function crm.f() returns boolean language sql return true; alter function crm.f() owner to crew; alter table app.boards add check (crm.f()), add check (control.similarity(title, 'x') >= 0);
     alter function control.similarity(text, text) owner to pg_monitor; create function crm.h() returns boolean language sql return true; alter table app.boards add check (crm.h())`,
  ],
  ...["tms_owner", "tms_app", "tms_registrar", "tms_auditor"].map((role): [string, string] => [
    "function_owner",
    `${CRM} create function crm.f() returns boolean language sql return true; alter function crm.f() owner to ${role}; alter table app.boards add check (crm.f())`,
  ]),
  [
    "function_security",
    `create function app.h() returns int language sql return 1; alter function app.h() owner to tms_registrar; create function app.i() returns int language sql return 1; alter function app.i() owner to tms_auditor;
     create function app.j() returns int language sql return 1; alter function app.j() owner to tms_app; create function api.h() returns int language sql return 1; alter function api.h() owner to tms_app`,
    "error api.h() ",
  ],
  [
    "function_bypass",
    `${CRM} create role backup bypassrls; create role deputy; grant tms_app to deputy; create role reader; grant tms_auditor to reader; ${definer("crm.a()", "backup")} ${definer("crm.b()", "deputy")}
     ${definer("crm.c()", "reader")} ${definer("crm.d()", "pg_monitor")} create function crm.e() returns int language sql return 1`,
    "error crm.b() ",
    "error crm.c() ",
    "warning crm.a() ",
  ],
  [
    "trigger_rights",
    `${PARTITIONED} ${CRM} create function crm.f() returns trigger language plpgsql as $$ begin perform 1; return old; end $$; create function crm.g() returns trigger language plpgsql security definer as $$ begin perform 1; return old; end $$;
     create trigger f before delete on app.events for each row execute function crm.f(); create trigger f after delete on app.tenants for each row execute function crm.f();
     create trigger g before delete on app.boards for each row execute function crm.g(); create trigger f before update on app.users for each row execute function crm.f();
     create trigger f before update on app.media for each row execute function crm.f(); alter table app.media add note_id uuid, add foreign key (tenant_id, note_id) references app.boards (tenant_id, id) on delete set null (note_id);
     create trigger f before update on app.generations for each row execute function crm.f(); alter table app.generations add note_id uuid, add foreign key (tenant_id, note_id) references app.boards (tenant_id, id) on delete set default (note_id);
     create function crm.h() returns trigger language plpgsql as $$ begin /* delete */ new.note_id := 'update'; return new; end $$; create trigger h before delete on app.provider_configs for each row execute function crm.h();
     create function crm.c() returns trigger language internal as 'suppress_redundant_updates_trigger'; create trigger c before update on app.media for each row execute function crm.c();
     create trigger same before update on app.media for each row execute function suppress_redundant_updates_trigger(); create table crm.models (id int primary key);
     alter table app.board_members add model int references crm.models on update set null; create trigger f before update on app.board_members for each row execute function crm.f();
     alter table app.credit_transactions add model int references crm.models on update set default; create trigger f before update on app.credit_transactions for each row execute function crm.f()`,
    "warning app.board_members f",
    "warning app.credit_transactions f",
    "warning app.events f",
    "warning app.generations f",
    "warning app.media c",
    "warning app.media f",
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
    "alter function control.examine(text, uuid, int) set row_security = off",
    "error control.examine(text,uuid,integer) ",
  ],
  [
    "function_settings",
    "alter function audit.checks() set row_security = on; alter function app.etag(json) set row_security = on",
    "error app.etag(json) ",
    "error audit.checks() ",
  ],
  ...[
    "set local role tms_owner",
    "set session authorization tms_owner",
    'set local "session_authorization" to tms_owner',
    "set row_security to off",
    "perform set_config('app.maintenance', 'on', true)",
    "execute 'set local app.maintenance = on'",
  ].map((statement): [string, string, string] => [
    "function_body",
    `create function app.f() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$ begin ${statement}; end $$`,
    "error app.f() ",
  ]),
  [
    "function_body",
    "create function app.f() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$ begin perform set_config('app.note', 'x', false); end $$",
  ],
  [
    "function_public",
    `${CRM} grant usage on schema crm to public; ${definer("crm.a()", "pg_monitor")} revoke all on function crm.a() from public; grant execute on function crm.a() to tms_service, tms_registrar, pg_read_all_stats;
     ${definer("crm.b()", "pg_monitor")} create function crm.c() returns int language sql return 1; grant execute on function app.tenant_id() to tms_auditor with grant option;
     grant execute on function api.get_schema_version() to tms_app, pg_monitor, tms_auditor; grant execute on function app.etag(json) to tms_auditor;
     create schema shut; create function shut.cat(text) returns text language internal strict as 'pg_read_file_all'`,
    "error api.get_schema_version() pg_monitor",
    "error api.get_schema_version() tms_app",
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
  ...["security definer", "set jit = off", "leakproof", "rename to tenant"].map(
    (change): [string, string, string] => [
      "tenant_id_function",
      `alter function app.tenant_id() ${change}`,
      "error - app.tenant_id()",
    ],
  ),
  ["table_missing", "alter table app.boards add check (owner_id is not null) not valid"],
  [
    "table_rules",
    `${ORDERS} create table shop.models (id int primary key); create table shop.twisted (tenant_id uuid not null, id uuid, primary key (tenant_id, id), unique (id, tenant_id));
     alter table shop.orders add a uuid, add b uuid, add model int references shop.models on delete set null on update set null, add foreign key (tenant_id, a) references app.boards on delete set null (a),
       add foreign key (tenant_id, b) references app.boards on delete set default (b), add partner uuid references app.tenants on delete set null, add owner uuid references app.tenants on delete cascade,
       drop constraint orders_tenant_id_fkey, add foreign key (tenant_id) references app.tenants;
     alter table shop.twisted add foreign key (tenant_id, id) references shop.twisted (id, tenant_id)`,
    "error shop.twisted ",
    "error shop.twisted ",
  ],
  [
    "table_rules",
    `${ORDERS} alter table shop.orders add a uuid, add foreign key (tenant_id, a) references app.boards on update set null, add foreign key (tenant_id, a) references app.boards on delete set default,
       add foreign key (tenant_id, a) references app.boards on delete set null (tenant_id)`,
    "error shop.orders ",
    "error shop.orders ",
    "error shop.orders ",
  ],
  [
    "table_rules",
    "create table app.loose (tenant_id uuid, id uuid); create table app.child () inherits (app.loose);",
    "error app.loose ",
    "error app.loose ",
  ],
  [
    "default_privileges",
    "alter default privileges for role tms_owner grant execute on functions to public, pg_monitor",
    "error - pg_monitor tms_owner EXECUTE",
    "error - public tms_owner EXECUTE",
  ],
  [
    "unique_key_missing",
    "drop index app.tenants_one_default; create unique index on app.tenants (is_default) where not is_default and slug = '-'",
    "error app.tenants is_default",
  ],
  [
    "unique_key_missing",
    "alter table app.provider_configs drop constraint provider_configs_name_key, add constraint provider_configs_name_key unique (tenant_id, provider_name) include (is_enabled)",
  ],
  [
    "unique_key_missing",
    "alter table app.media drop constraint media_pkey; alter table app.boards rename constraint boards_pkey to media_pkey",
    "error app.boards tenant_id,id",
    "error app.media tenant_id,id",
  ],
  ["role_membership", "create role bea login in role tms_auditor; create schema bea authorization bea"],
  [
    "role_membership",
    "create role chief superuser; create role lead login in role tms_auditor; grant lead to chief",
  ],
  ["bypass_role", "alter role tms_app bypassrls"],
  [
    "app_reach",
    `${OPEN_SHOP} create view shop.v with (check_option = local) as select title from app.boards; grant select on shop.v to tms_app`,
    "error shop.v tms_app",
  ],
  [
    "system_grants",
    `grant execute on function pg_catalog.lower(text) to tms_app; grant insert on pg_am to public; grant update (subname) on pg_subscription to public; grant select (subname) on pg_subscription to tms_app`,
    "error - tms_app lower(text) EXECUTE",
    "error pg_am public pg_am INSERT",
    "error pg_subscription public pg_subscription UPDATE",
    "error pg_subscription tms_app pg_subscription SELECT",
  ],
  [
    "function_bypass",
    `${CRM} create role chief superuser; ${definer("crm.a()", "chief")} create function crm.b() returns int language sql return 1; alter function crm.b() owner to tms_app`,
    "warning crm.a() ",
  ],
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
  [
    "function_changed",
    `${ORDERS} create function shop.f() returns trigger language plpgsql as $$ begin return new; end $$; create trigger f before insert on shop.orders for each row execute function shop.f();
     create function app.help() returns int language sql return 1; grant execute on function app.tenant_id() to pg_monitor; grant execute on function app.etag(json) to public; alter function app.iso_time(timestamptz) owner to pg_monitor`,
    "error - app.etag(json)",
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
    "insert into audit.accepted (kind, name, owner, granted, body) values ('function', 'app.tenant_id()', 'x', 'x', 'x')",
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
    "warning extra.a(integer,integer) ",
    "warning extra.b(integer,integer) ",
    "warning extra.c(integer,integer) ",
  ],
  ["rls_disabled", "create temporary table mine (tenant_id uuid)"],
  [
    "audit_filtered",
    "create policy narrow on app.boards as restrictive for insert with check (true); create table app.notes (tenant_id uuid)",
  ],
  ["audit_filtered", "alter policy auditor on app.boards using (title <> 'x')", "error app.boards "],
  [
    "tenant_key",
    "alter table app.media add constraint another foreign key (tenant_id) references app.tenants on delete cascade not valid",
  ],
  [
    "tenant_key",
    `${PARTITIONED} alter table app.events drop constraint events_tenant_id_fkey`,
    "error app.events ",
  ],
  [
    "foreign_key_missing",
    `${PARTITIONED} alter table app.events add shop_id uuid; alter table app.tenants add partner_id uuid`,
    "warning app.events shop_id",
  ],
  [
    "foreign_key_missing",
    `create table app.companies (tenant_id uuid not null, id int, primary key (tenant_id, id)); alter table app.media add company_id int;
     create table app."_BoardToMedia" (tenant_id uuid not null, "A" int, "B" text, primary key (tenant_id, "A", "B"))`,
    'warning app."_BoardToMedia" A',
    'warning app."_BoardToMedia" B',
    "warning app.media company_id",
  ],
  ["table_missing", "drop table app.media", "error app.media "],
  ["table_rules", "alter table app.boards alter owner_id set default '00000000-0000-0000-0000-000000000001'"],
  [
    "rewrite_rule",
    `${SHOP} create table shop.door (a int); create rule peek as on insert to shop.door do also select id, title from app.boards`,
    "error shop.door peek",
  ],
  [
    "publication",
    `create subscription moved connection 'dbname=elsewhere' publication everything with (connect = false); create subscription idle connection 'dbname=elsewhere' publication everything with (connect = false);
     set local allow_system_table_mods = on; insert into pg_subscription_rel (srsubid, srrelid, srsubstate) select oid, 'app.boards'::regclass, 'r' from pg_subscription where subname = 'moved'`,
    "warning app.boards moved",
  ],
  ["table_grants", "grant select on app.boards to tms_registrar", "error app.boards tms_registrar SELECT"],
  [
    "schema_grants",
    `${onDatabase("grant connect on database %I to tms_service with grant option")};`,
    "error - tms_service database CONNECT",
  ],
  [
    "service_reach",
    `grant select on audit.found to tms_service; create table api.a (n int); create table api.p (n int) partition by list (n); create materialized view api.m as select 1 as one;
     create foreign data wrapper far; create server far foreign data wrapper far; create foreign table api.f (n int) server far`,
    "error api.a ",
    "error api.f ",
    "error api.m ",
    "error api.p ",
    "error audit.found tms_service",
  ],
  [
    "app_reach",
    "create table app.plain (n int); grant select on app.plain to tms_app; grant select on audit.found to tms_registrar",
  ],
  ...[
    "drop policy tenant_rows on app.boards; create policy tenant_rows on app.boards as restrictive for all to tms_app using (true) with check (true)",
    "drop policy tenant_rows on app.boards; create policy tenant_rows on app.boards for all to tms_app using (true)",
  ].map((change): [string, string, string] => ["policy_changed", change, "error app.boards tenant_rows"]),
  ...[
    "drop policy auditor on app.boards; create policy auditor on app.boards for all to tms_auditor using (true)",
    "alter policy auditor on app.boards to tms_auditor, pg_monitor",
  ].map((change): [string, string, string] => ["policy_changed", change, "error app.boards auditor"]),
  [
    "policy_extra",
    "create policy registrar on app.boards to tms_registrar using (true)",
    "error app.boards registrar",
  ],
  [
    "role_settings",
    `alter role tms_service reset search_path; alter role tms_app set search_path = pg_catalog, pg_temp;
     set local search_path = "pg_catalog", "pg_temp"; select set_config('search_path', '"pg_catalog", "pg_temp"', true); alter role tms_owner set search_path from current`,
    "warning - tms_service search_path",
  ],
  [
    "bypass_role",
    "create role loader login noinherit in role pg_read_all_data",
    "warning - pg_read_all_data loader",
  ],
  [
    "function_security",
    "alter function app.fence_tenant(uuid) security invoker",
    "error app.fence_tenant(uuid) ",
  ],
  ["function_owner", "create extension lo with schema control; alter table app.media add pages control.lo"],
  [
    "function_leakproof",
    "alter function uuid_eq(uuid, uuid) not leakproof; alter function uuid_eq(uuid, uuid) leakproof",
  ],
  [
    "tenant_id_function",
    "create or replace function app.tenant_id() returns uuid language sql stable parallel safe as $$ select null::uuid $$",
    "error - app.tenant_id()",
  ],
];
