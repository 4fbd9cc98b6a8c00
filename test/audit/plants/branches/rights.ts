/** Grants, and what the service's roles reach. */
import { PARTITIONED } from "../keys.ts";
import { type Branch, CRM, OPEN_SHOP, ORDERS, onDatabase, SHOP } from "./branch.ts";

export const rightBranches: Branch[] = [
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
    "create role tms_jobs; grant select on app.boards to tms_jobs", // somebody's, whatever its name
    "warning app.boards tms_jobs SELECT",
  ],
  [
    "table_grants",
    `${ORDERS} revoke usage on schema shop from tms_auditor`,
    "error shop.orders tms_auditor SELECT",
  ],
  ["table_grants", `${ORDERS} alter schema shop owner to pg_monitor`, "warning shop.orders tms_owner USAGE"],
  ["table_grants", "grant select on app.boards to tms_registrar", "error app.boards tms_registrar SELECT"],
  [
    "rights_missing",
    `revoke usage on schema api from tms_service; revoke insert on app.boards, app.tenants from tms_app, tms_registrar; revoke delete, truncate on control.rate_limits from tms_registrar;
     grant usage on schema control to tms_app; set role tms_app; revoke execute on function control.shown_rows(uuid, int) from tms_registrar; reset role; revoke usage on schema control from tms_app;
     create table shared (id int); revoke all on shared from tms_app; revoke select on audit.accepted from tms_auditor`,
    "warning - tms_registrar control.shown_rows(uuid,integer) EXECUTE",
    "warning - tms_service schema api USAGE",
    "warning app.boards tms_app INSERT",
    "warning app.tenants tms_registrar INSERT",
    "warning control.rate_limits tms_registrar DELETE",
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
    "error - tms_app schema audit USAGE",
    "error - tms_auditor schema audit CREATE",
    "error - tms_auditor schema control USAGE",
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
    "warning - pg_read_all_stats schema crm CREATE",
    "warning - tms_jobs schema api USAGE",
    "warning - tms_jobs schema app USAGE",
    "warning - tms_jobs schema audit USAGE",
    "warning - tms_jobs schema control USAGE",
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
    "schema_grants",
    `${onDatabase("grant connect on database %I to tms_service with grant option")};`,
    "error - tms_service database CONNECT",
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
    "default_privileges",
    "alter default privileges for role tms_owner grant execute on functions to public, pg_monitor",
    "error - pg_monitor tms_owner EXECUTE",
    "error - public tms_owner EXECUTE",
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
    "system_grants",
    "create role barman; grant execute on function pg_backup_start(text, boolean), pg_ls_waldir(), pg_stat_file(text), pg_read_file(text) to barman",
    "warning - barman pg_read_file(text) EXECUTE",
  ],
  [
    "system_grants",
    `grant execute on function pg_catalog.lower(text), pg_catalog.upper(text) to tms_app; revoke execute on function pg_catalog.lower(text) from public; grant insert on pg_am to public; grant update (subname) on pg_subscription to public; grant select (subname) on pg_subscription to tms_app`,
    "error - tms_app lower(text) EXECUTE",
    "error pg_am public pg_am INSERT",
    "error pg_subscription public pg_subscription UPDATE",
    "error pg_subscription tms_app pg_subscription SELECT",
  ],
  [
    "system_grants",
    `${CRM} create role report; create role job in role tms_app; create role chief superuser;
     create view crm.a as select starelid, stavalues1::text as v from pg_statistic; create view crm.b as table crm.a; create materialized view crm.c as select most_common_vals::text from pg_stats;
     create view crm.d as select s::text as one from pg_statistic s; create view crm.e as select stxdmcv::text from pg_statistic_ext_data; create view crm.f as table crm.c;
     grant select on crm.a, crm.c, crm.d to report; grant select (v) on crm.b to job; grant select on crm.e to public; grant insert, select on crm.f to report; grant select on crm.f to tms_app, chief`,
    "warning crm.a report SELECT",
    "warning crm.b job SELECT",
    "warning crm.c report SELECT",
    "warning crm.d report SELECT",
    "warning crm.e public SELECT",
    "warning crm.f report SELECT",
  ],
  [
    "system_grants",
    `${CRM} create role report; create view crm.a with (security_invoker) as select stavalues1::text from pg_statistic; create view crm.b as select starelid, stanullfrac, stawidth from pg_statistic;
     create view crm.c as select tablename, most_common_vals::text from pg_stats; create materialized view crm.d as select tablename, null_frac from pg_stats; create view crm.e as select stavalues1::text from pg_statistic;
     alter view crm.e owner to report; create view crm.packed as select stavalues1::text from pg_statistic; alter extension pg_trgm add view crm.packed; create view crm.shut as table crm.packed;
     grant select on crm.a, crm.b, crm.c, crm.d, crm.packed to report; grant select on crm.e to public; grant update on crm.shut to report`,
  ],
  [
    "system_grants",
    `create role job in role tms_app; create role loader; create role team; grant team to job; create role tool; grant set on parameter session_replication_role, work_mem to job, tool;
     grant set on parameter lo_compat_privileges to team; grant alter system on parameter session_replication_role to loader; grant tms_owner to loader`,
    "warning - job session_replication_role SET",
    "warning - team lo_compat_privileges SET",
    "warning - loader session_replication_role ALTER SYSTEM",
  ],
  [
    "system_grants",
    `create role report; grant usage on schema pg_toast to tms_app, report; grant select (chunk_data) on pg_toast.pg_toast_2619 to report; grant select on pg_toast.pg_toast_1255 to report, tms_service`,
    "error - tms_app pg_toast USAGE",
    "error pg_toast.pg_toast_1255 tms_service pg_toast.pg_toast_1255 SELECT",
    "warning pg_toast.pg_toast_2619 report pg_toast.pg_toast_2619 SELECT",
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
    "service_reach",
    `grant select on audit.found to tms_service; create table api.a (n int); create table api.p (n int) partition by list (n); create materialized view api.m as select 1 as one;
     create foreign data wrapper far; create server far foreign data wrapper far; create foreign table api.f (n int) server far`,
    "error api.a ",
    "error api.f ",
    "error api.m ",
    "error api.p ",
    "error audit.found tms_service",
  ],
  ["registrar_reach", "grant truncate on app.boards to tms_registrar", "error app.boards tms_registrar"],
  [
    "registrar_reach",
    "create policy theirs on app.boards to tms_registrar using (true)",
    "error app.boards tms_registrar",
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
    "app_reach",
    `${OPEN_SHOP} create view shop.v with (check_option = local) as select title from app.boards; grant select on shop.v to tms_app`,
    "error shop.v tms_app",
  ],
  [
    "app_reach",
    `${SHOP} create table shop.t (n int); grant select, insert on shop.t to tms_app; create view shop.v with (security_invoker) as table shop.t; create table shop.child () inherits (shop.t); grant select on shop.v to pg_monitor`,
  ],
  [
    "app_reach",
    `${SHOP} create table shop.t (n int); grant select, insert on shop.t to tms_app; create view shop.v with (security_invoker) as table shop.t; create schema open; grant usage on schema open to tms_registrar;
     create function open.f() returns bigint begin atomic select count(*) from shop.v; end`,
    "error shop.t tms_app",
  ],
  [
    "app_reach",
    `${SHOP} create table shop.t (n int, foreign key (n) references shop.t, primary key (n)); grant select, insert on shop.t to tms_app; create policy own on shop.t using (n = 1)`,
  ],
  [
    "app_reach",
    `${OPEN_SHOP} create table shop.a (a int primary key, b int unique); create table shop.b (a int primary key); create table shop.log (n int) partition by list (n); create table shop.log_1 partition of shop.log default;
     alter table app.boards add a int references shop.a on update cascade, add b int references shop.b on delete cascade; grant delete, update (b) on shop.a to tms_app; grant insert, update on shop.b to tms_app; grant insert on shop.log, shop.log_1 to tms_app`,
    "warning shop.a tms_app",
    "warning shop.b tms_app",
    "warning shop.log tms_app",
    "warning shop.log_1 tms_app",
  ],
  [
    "app_reach",
    "create table app.plain (n int); grant select on app.plain to tms_app; grant select on audit.found to tms_registrar",
  ],
  [
    "role_owns",
    `create schema shop; create function shop.f() returns int language sql return 1; create function shop.g() returns int language sql return 1; create type shop.t as enum ();
     alter function shop.f() owner to tms_service; alter function shop.g() owner to tms_registrar; alter type shop.t owner to tms_auditor`,
    "error - tms_auditor type shop.t",
    "error - tms_service function shop.f()",
  ],
  [
    "schema_grants",
    `${ORDERS} ${CRM} create role joe; create role boss; grant tms_owner to boss; grant create on schema shop, crm to joe, boss`,
    "warning - joe schema shop CREATE",
  ],
  [
    "schema_grants", // where a function that fits better takes the place of another
    `${CRM} create role joe; create schema own authorization joe; create schema util authorization tms_owner; grant usage on schema util to tms_app; create schema made; create function made.f() returns int language sql return 1;
     alter function made.f() owner to tms_owner; grant create on schema util, made, crm, public to joe`,
    "warning - joe schema made CREATE",
    "warning - joe schema util CREATE",
  ],
  [
    "schema_grants",
    `create role joe; create function public.f() returns int language sql return 1; alter function public.f() owner to tms_owner; grant create on schema public to joe; ${onDatabase("grant create on database %I to joe")}`,
    "warning - joe schema public CREATE",
  ],
  [
    "schema_grants",
    `create role joe; create role job login; grant tms_app to job; ${onDatabase("grant create on database %I to joe")}`,
    "warning - joe database CREATE",
  ],
  [
    "table_owner",
    `create role joe; create role boss; grant tms_owner to boss; ${onDatabase("alter database %I owner to joe")}`,
    "warning - joe database",
  ],
  [
    "table_owner",
    `create role boss; grant tms_owner to boss; ${onDatabase("alter database %I owner to boss")}`,
  ],
  [
    "app_reach", // by a right of its own, who works in tenants reads what is no tenant's
    `${ORDERS} create schema billing; create role job login; create role crew; create role boss login; create role joe login; grant tms_app to job, crew, boss; grant tms_owner to boss; grant usage on schema billing to job, crew, boss, joe;
     create schema shut; create table shut.lists (n int); grant select on shut.lists to job; ${["notes", "part", "drafts", "held", "seen", "free"].map(name => `create table billing.${name} (n int, m int)`).join("; ")};
     grant select on billing.notes to job, crew; grant select (n) on billing.part to job; grant insert on billing.drafts to job; grant select on billing.held to boss, joe; grant select on billing.seen to public;
     create view billing.own with (security_invoker) as table billing.notes; create view billing.open as table billing.notes; grant select on billing.own, billing.open to job; create table billing.rows (tenant_id uuid); grant select on billing.rows to job;
     create table shop.lists (n int); grant select on shop.lists to tms_app, job; create table billing.mine (n int); alter table billing.mine owner to job; create table billing.packed (n int); grant select on billing.packed to job; alter extension pg_trgm add table billing.packed`,
    "error billing.mine job",
    "error billing.notes crew, job",
    "error billing.open job",
    "error billing.part job",
    "error billing.seen crew, job",
    "warning shop.lists tms_app",
  ],
  [
    "system_grants",
    `create role joe; grant alter system on parameter session_replication_role, row_security, "app.tenant_id", archive_command, archive_library, hba_file, session_preload_libraries, work_mem to joe; grant set on parameter session_replication_role to joe`,
    "warning - joe app.tenant_id ALTER SYSTEM",
    "warning - joe archive_command ALTER SYSTEM",
    "warning - joe archive_library ALTER SYSTEM",
    "warning - joe hba_file ALTER SYSTEM",
    "warning - joe row_security ALTER SYSTEM",
    "warning - joe session_preload_libraries ALTER SYSTEM",
    "warning - joe session_replication_role ALTER SYSTEM",
  ],
  [
    "other_grants",
    `${ORDERS} alter table shop.orders add n int generated always as identity; create sequence shop.own; create role joe; grant update on sequence shop.orders_n_seq, shop.own to joe`,
    "warning shop.orders_n_seq joe UPDATE",
  ],
  [
    "system_grants",
    "create role joe; grant select on pg_largeobject to joe",
    "warning pg_largeobject joe pg_largeobject SELECT",
  ],
  [
    // Whose deletion cascades into tenants' rows: an owner's, and by a right.
    "app_reach",
    `${ORDERS} create role joe; create role boss; grant tms_owner to boss; create table shop.countries (code text primary key); create table shop.regions (code text primary key); create table shop.units (code text primary key); create table shop.kinds (code text primary key);
     alter table shop.countries owner to joe; alter table shop.units owner to boss; grant delete on shop.regions to joe, boss; grant delete on shop.kinds to joe;
     alter table shop.orders add country text references shop.countries on delete cascade, add region text references shop.regions on delete cascade, add unit text references shop.units on delete cascade, add kind text references shop.kinds`,
    "warning shop.countries joe DELETE",
    "warning shop.regions joe DELETE",
  ],
];
