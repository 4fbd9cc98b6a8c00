/** Every schema check finds its violation, planted the way a migration, a superuser or a restore plants it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import postgres from "postgres";
import { createDatabase, type Database } from "../harness.ts";
import { assertFinding, planted, seedTenants } from "./world.ts";

interface Plant {
  check: string;
  severity?: string;
  how: string;
  sql: string;
  relation: string | null;
  row?: Record<string, unknown>;
}

/** Isolated, with one partition, and nothing wrong with it. */
const PARTITIONED = `
  create table app.events (tenant_id uuid not null, id uuid not null, other uuid, name text, primary key (tenant_id, id)) partition by hash (tenant_id);
  alter table app.events owner to tms_owner;
  create table app.events_0 partition of app.events for values with (modulus 1, remainder 0);
  alter table app.events_0 owner to tms_owner;
  select app.isolate('app.events');`;

const PLANTS: Plant[] = [
  {
    check: "rls_disabled",
    how: "a table that a migration forgot",
    sql: "create table app.notes (tenant_id uuid not null, id uuid, primary key (tenant_id, id))",
    relation: "app.notes",
  },
  {
    check: "rls_disabled",
    how: "row-level security switched off for a load",
    sql: "alter table app.media disable row level security",
    relation: "app.media",
  },
  {
    check: "rls_disabled",
    how: "a partition made after its table was isolated",
    sql: `create table app.events (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id)) partition by hash (tenant_id);
          alter table app.events owner to tms_owner; select app.isolate('app.events');
          create table app.events_0 partition of app.events for values with (modulus 1, remainder 0)`,
    relation: "app.events_0",
  },
  {
    check: "rls_not_forced",
    how: "NO FORCE for a definer function's sake",
    sql: "alter table app.users no force row level security",
    relation: "app.users",
  },
  {
    check: "table_inherits",
    how: "a parent that knows no tenants",
    sql: "create schema crm; create table crm.secrets (config jsonb not null); alter table crm.secrets owner to tms_owner; alter table app.provider_configs inherit crm.secrets",
    relation: "app.provider_configs",
    row: { parent: "crm.secrets" },
  },
  {
    check: "policy_missing",
    how: "a dropped restrictive policy",
    sql: "drop policy tenant_only on app.boards",
    relation: "app.boards",
    row: { policy: "tenant_only" },
  },
  {
    check: "policy_changed",
    how: "an OR for unset tenants",
    sql: "alter policy tenant_only on app.boards using (tenant_id = (select app.tenant_id()) or app.tenant_id() is null)",
    relation: "app.boards",
    row: { policy: "tenant_only" },
  },
  {
    check: "policy_changed",
    how: "WITH CHECK (true)",
    sql: "alter policy tenant_only on app.tenants with check (true)",
    relation: "app.tenants",
    row: { policy: "tenant_only" },
  },
  {
    check: "policy_extra",
    how: "a policy for everybody",
    sql: "create policy help on app.media for select using (true)",
    relation: "app.media",
    row: { policy: "help" },
  },
  {
    check: "policy_extra",
    severity: "warning",
    how: "a second policy for tms_app",
    sql: "create policy more on app.media for select to tms_app using (true)",
    relation: "app.media",
    row: { policy: "more" },
  },
  {
    check: "policy_function",
    how: "an immutable reader of the setting",
    sql: "create function app.t() returns uuid language sql immutable set search_path = pg_catalog, pg_temp return current_setting('app.tenant_id')::uuid; create policy quick on app.media as restrictive to tms_app using (tenant_id = app.t())",
    relation: "app.media",
    row: { policy: "quick" },
  },
  {
    check: "policy_function",
    how: "a policy that reads a table",
    sql: "create policy owners on app.media to tms_app using (exists (select from app.boards))",
    relation: "app.media",
    row: { policy: "owners" },
  },
  {
    check: "tenant_id_function",
    how: "IMMUTABLE for speed",
    sql: "alter function app.tenant_id() immutable",
    relation: null,
    row: { function: "app.tenant_id()" },
  },
  {
    check: "tenant_id_function",
    how: "a fallback tenant",
    sql: "create or replace function app.tenant_id() returns uuid language sql stable return coalesce(nullif(current_setting('app.tenant_id', true), '')::uuid, '00000000-0000-0000-0000-000000000000')",
    relation: null,
    row: { function: "app.tenant_id()" },
  },
  {
    check: "audit_filtered",
    how: "a restrictive policy to public",
    sql: "create policy narrow on app.boards as restrictive for select using (true)",
    relation: "app.boards",
  },
  { check: "table_missing", how: "a dropped table", sql: "drop table app.media", relation: "app.media" },
  {
    check: "table_missing",
    how: "a renamed column",
    sql: "alter table app.provider_configs rename config to configuration",
    relation: "app.provider_configs",
    row: { column: "config" },
  },
  {
    check: "table_missing",
    how: "a config that became json",
    sql: "alter table app.provider_configs drop constraint provider_configs_config_is_object, alter config drop default, alter config type json",
    relation: "app.provider_configs",
    row: { column: "config" },
  },
  {
    check: "table_missing",
    how: "a time that lost its zone",
    sql: "alter table app.generations alter completed_at type timestamp",
    relation: "app.generations",
    row: { column: "completed_at" },
  },
  {
    check: "table_missing",
    how: "a balance that may be null",
    sql: "alter table app.credit_transactions alter balance_after drop not null",
    relation: "app.credit_transactions",
    row: { column: "balance_after" },
  },
  {
    check: "table_missing",
    how: "an owner that may be null",
    sql: "alter table app.boards alter owner_id drop not null",
    relation: "app.boards",
    row: { column: "owner_id" },
  },
  {
    check: "table_rules",
    how: "a nullable tenant_id",
    sql: "alter table app.media drop constraint media_pkey, alter tenant_id drop not null",
    relation: "app.media",
  },
  {
    check: "table_rules",
    how: "a unique key across tenants",
    sql: "create unique index on app.users (email)",
    relation: "app.users",
  },
  {
    check: "table_rules",
    how: "a foreign key without the tenant",
    sql: "create unique index on app.boards (id); alter table app.generations add constraint by_id foreign key (board_id) references app.boards (id)",
    relation: "app.generations",
  },
  {
    check: "table_rules",
    how: "ON DELETE SET NULL over tenant_id",
    sql: "alter table app.board_members drop constraint board_members_inviter, add foreign key (tenant_id, invited_by) references app.users (tenant_id, id) on delete set null",
    relation: "app.board_members",
  },
  {
    check: "table_rules",
    how: "a unique index on one partition",
    sql: `${PARTITIONED} create unique index on app.events_0 (name)`,
    relation: "app.events_0",
  },
  {
    check: "table_rules",
    how: "a foreign key of one partition that pairs the tenant with another column",
    sql: `${PARTITIONED} alter table app.events_0 add foreign key (other, id) references app.users (tenant_id, id)`,
    relation: "app.events_0",
  },
  {
    check: "table_rules",
    how: "a unique index on a child",
    sql: `create table app.events (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
          create table app.events_0 (primary key (id)) inherits (app.events)`,
    relation: "app.events_0",
  },
  {
    check: "table_rules",
    how: "an exclusion of whatever other tenants have",
    sql: "create extension if not exists btree_gist; alter table app.boards add exclude using gist (tenant_id with <>, id with =)",
    relation: "app.boards",
  },
  {
    check: "table_without_tenant",
    how: "a table hung on boards",
    sql: "create schema extra; create unique index on app.boards (id); create table extra.labels (board_id uuid references app.boards (id))",
    relation: "extra.labels",
  },
  {
    check: "tenant_key",
    how: "a foreign key lost in a restore",
    sql: "alter table app.media drop constraint media_tenant_id_fkey",
    relation: "app.media",
  },
  {
    check: "tenant_key",
    how: "a foreign key without CASCADE",
    sql: "alter table app.media drop constraint media_tenant_id_fkey, add foreign key (tenant_id) references app.tenants (id)",
    relation: "app.media",
  },
  {
    check: "tenant_key",
    how: "answers that outlive their tenant",
    sql: "alter table control.idempotency_keys drop constraint idempotency_keys_tenant_id_fkey",
    relation: "control.idempotency_keys",
  },
  {
    check: "foreign_key_missing",
    how: "a key that was made to point elsewhere",
    sql: `alter table app.boards drop constraint boards_owner,
          add constraint boards_owner foreign key (tenant_id, owner_id) references app.generations (tenant_id, id) not valid`,
    relation: "app.boards",
    row: { columns: ["owner_id"] },
  },
  {
    check: "foreign_key_missing",
    how: "a dropped composite key",
    sql: "alter table app.generations drop constraint generations_board",
    relation: "app.generations",
    row: { columns: ["board_id"] },
  },
  {
    check: "foreign_key_missing",
    severity: "warning",
    how: "a reference that nobody declared",
    sql: "alter table app.media add column folder_id uuid",
    relation: "app.media",
    row: { columns: ["folder_id"] },
  },
  {
    check: "unique_key_missing",
    how: "a dropped unique constraint",
    sql: "alter table app.users drop constraint users_tenant_identity_key",
    relation: "app.users",
    row: { columns: ["tenant_id", "auth_provider", "auth_subject"] },
  },
  {
    check: "foreign_key_missing",
    severity: "warning",
    how: "a key without its CASCADE",
    sql: "alter table app.media drop constraint media_generation, add constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id)",
    relation: "app.media",
    row: { columns: ["generation_id"] },
  },
  {
    check: "unique_key_missing",
    how: "an index in place of the constraint that an INSERT names",
    sql: "alter table app.tenants drop constraint tenants_slug_key; create unique index on app.tenants (slug)",
    relation: "app.tenants",
    row: { columns: ["slug"] },
  },
  {
    check: "unique_key_missing",
    how: "a constraint that waits for the commit, which no ON CONFLICT takes",
    sql: "alter table app.users drop constraint users_tenant_identity_key, add constraint users_tenant_identity_key unique (tenant_id, auth_provider, auth_subject) deferrable",
    relation: "app.users",
    row: { columns: ["tenant_id", "auth_provider", "auth_subject"] },
  },
  {
    check: "unique_key_missing",
    how: "a lost primary key",
    sql: "alter table app.media drop constraint media_pkey",
    relation: "app.media",
    row: { columns: ["tenant_id", "id"] },
  },
  {
    check: "constraint_not_valid",
    how: "a key that was never validated",
    sql: "alter table app.media drop constraint media_generation, add constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id) not valid",
    relation: "app.media",
    row: { constraint: "media_generation" },
  },
  {
    check: "trigger_disabled",
    how: "triggers left off after a load",
    sql: "alter table app.media disable trigger all",
    relation: "app.media",
    row: { trigger: "any" },
  },
  {
    check: "index_missing",
    severity: "warning",
    how: "a dropped index",
    sql: "drop index app.media_by_generation",
    relation: "app.media",
    row: { constraint: "media_generation" },
  },
  {
    check: "table_owner",
    how: "a table made by somebody else",
    sql: "alter table app.media owner to postgres",
    relation: "app.media",
  },
  {
    check: "view_leaks",
    how: "a reporting view",
    sql: "create view app.every_board as select * from app.boards",
    relation: "app.every_board",
  },
  {
    check: "view_leaks",
    how: "a view over a view, elsewhere",
    sql: "create schema extra; create view extra.a with (security_invoker) as select * from app.boards; create view extra.b as select * from extra.a",
    relation: "extra.b",
  },
  {
    check: "view_leaks",
    how: "a materialized view",
    sql: "create materialized view app.totals as select tenant_id, count(*) from app.boards group by 1",
    relation: "app.totals",
  },
  {
    check: "foreign_table",
    how: "another server's table",
    sql: "create foreign data wrapper far; create server far foreign data wrapper far; create foreign table app.far (tenant_id uuid) server far",
    relation: "app.far",
  },
  {
    check: "rewrite_rule",
    how: "a rule that copies",
    sql: "create rule copy as on insert to app.media do also select 1",
    relation: "app.media",
    row: { rule: "copy" },
  },
  {
    check: "publication",
    severity: "warning",
    how: "a feed for a warehouse",
    sql: "create publication feed for table app.boards",
    relation: "app.boards",
    row: { publication: "feed" },
  },
  {
    check: "table_grants",
    how: "TRUNCATE for the application",
    sql: "grant truncate on app.boards to tms_app",
    relation: "app.boards",
    row: { role: "tms_app", privilege: "TRUNCATE" },
  },
  {
    check: "table_grants",
    how: "a column for everybody",
    sql: "grant select (title) on app.boards to public",
    relation: "app.boards",
    row: { role: "public", privilege: "SELECT" },
  },
  {
    check: "table_grants",
    severity: "warning",
    how: "a reader from outside",
    sql: "grant select on app.boards to pg_read_all_settings",
    relation: "app.boards",
    row: { role: "pg_read_all_settings", privilege: "SELECT" },
  },
  {
    check: "table_grants",
    how: "an auditor who may not look",
    sql: "revoke select on app.boards from tms_auditor",
    relation: "app.boards",
    row: { role: "tms_auditor", privilege: "SELECT" },
  },
  {
    check: "other_grants",
    how: "a right to write the audit's results",
    sql: "grant insert on audit.found to tms_auditor",
    relation: "audit.found",
    row: { role: "tms_auditor", privilege: "INSERT" },
  },
  {
    check: "schema_grants",
    how: "CREATE kept after a migration",
    sql: "grant create on schema api to tms_app",
    relation: null,
    row: { object: "schema api", role: "tms_app", privilege: "CREATE" },
  },
  {
    check: "schema_grants",
    how: "CREATE for everybody in public",
    sql: "grant create on schema public to public",
    relation: null,
    row: { object: "schema public", role: "public", privilege: "CREATE" },
  },
  {
    check: "default_privileges",
    how: "tables given away as they are made",
    sql: "alter default privileges for role tms_owner in schema app grant select on tables to tms_service",
    relation: null,
    row: { owner: "tms_owner", role: "tms_service", privilege: "SELECT" },
  },
  {
    check: "service_reach",
    how: "a function beside the api",
    sql: "grant execute on function app.set_tenant(uuid) to tms_service",
    relation: "app.set_tenant(uuid)",
    row: { role: "tms_service" },
  },
  {
    check: "service_reach",
    how: "a right on a table",
    sql: "grant select on control.deployment to public",
    relation: "control.deployment",
    row: { role: "tms_service" },
  },
  {
    check: "service_reach",
    severity: "warning",
    how: "a view that an extension opens to everybody",
    sql: "create view public.seen as select 1 as one; grant select on public.seen to public; alter extension pg_trgm add view public.seen",
    relation: "public.seen",
    row: { role: "tms_service" },
  },
  {
    check: "app_reach",
    severity: "warning",
    how: "a copy outside the wall",
    sql: "create schema crm; create table crm.notes (org_id uuid, body text); grant usage on schema crm to tms_app; grant select on crm.notes to tms_app",
    relation: "crm.notes",
    row: { role: "tms_app" },
  },
  {
    check: "app_reach",
    severity: "warning",
    how: "a log that every request may write and none may read",
    sql: "create schema crm; create table crm.log (body text); grant usage on schema crm to tms_app; grant insert on crm.log to tms_app",
    relation: "crm.log",
    row: { role: "tms_app" },
  },
  {
    check: "app_reach",
    how: "a table that every request may write and read",
    sql: "create schema crm; create table crm.notes (org_id uuid, body text); grant usage on schema crm to tms_app; grant insert (body) on crm.notes to public; grant select on crm.notes to tms_app",
    relation: "crm.notes",
    row: { role: "tms_app" },
  },
  {
    check: "app_reach",
    how: "a view with its owner's rights over the bookkeeping",
    sql: "create schema crm; create view crm.v as select * from control.tenant_events; grant usage on schema crm to tms_app; grant select on crm.v to tms_app",
    relation: "crm.v",
    row: { role: "tms_app" },
  },
  {
    check: "system_grants",
    how: "keys switched off by a setting",
    sql: "grant set on parameter session_replication_role to tms_app",
    relation: null,
    row: { object: "session_replication_role", role: "tms_app", privilege: "SET" },
  },
  {
    check: "system_grants",
    how: "the planner's samples of rows",
    sql: "grant select on pg_statistic to tms_app",
    relation: "pg_statistic",
    row: { object: "pg_statistic", role: "tms_app", privilege: "SELECT" },
  },
  {
    check: "system_grants",
    how: "one column of them",
    sql: "grant select (stavalues1) on pg_statistic to tms_app",
    relation: "pg_statistic",
    row: { object: "pg_statistic", role: "tms_app", privilege: "SELECT" },
  },
  {
    check: "system_grants",
    how: "the server's files",
    sql: "grant execute on function pg_read_file(text) to public",
    relation: null,
    row: { object: "pg_read_file(text)", role: "public", privilege: "EXECUTE" },
  },
  {
    check: "system_grants",
    how: "the first schema of every search_path",
    sql: "grant create on schema pg_catalog to tms_app",
    relation: null,
    row: { object: "pg_catalog", role: "tms_app", privilege: "CREATE" },
  },
  {
    check: "role_owns",
    how: "a schema of the service's own",
    sql: "create schema crm authorization tms_service",
    relation: null,
    row: { role: "tms_service", object: "schema crm" },
  },
  {
    check: "role_owns",
    how: "the database itself",
    sql: "do $$ begin execute format('alter database %I owner to tms_service', current_database()); end $$",
    relation: null,
    row: { role: "tms_service", object: "database" },
  },
  {
    check: "rewrite_rule",
    how: "a rule elsewhere that reads boards",
    sql: "create schema crm; create table crm.door (a int); create rule peek as on insert to crm.door do also select title from app.boards",
    relation: "crm.door",
    row: { rule: "peek" },
  },
  {
    check: "tenant_id_function",
    how: "a cast that somebody else wrote",
    sql: `create schema ev; create function ev.f(text) returns uuid language sql return null::uuid;
          create cast (text as uuid) with function ev.f(text);
          create or replace function app.tenant_id() returns uuid language sql stable parallel safe
          return (case when pg_catalog.current_setting('app.tenant_id', true) like '________-____-____-____-____________'
            then pg_catalog.current_setting('app.tenant_id', true) end)::uuid`,
    relation: null,
    row: { function: "app.tenant_id()" },
  },
  {
    check: "schema_grants",
    how: "tables of its own",
    sql: "create schema crm; grant create on schema crm to tms_app",
    relation: null,
    row: { object: "schema crm", role: "tms_app", privilege: "CREATE" },
  },
  {
    check: "registrar_reach",
    how: "a third table",
    sql: "grant select on app.boards to tms_registrar",
    relation: "app.boards",
    row: { role: "tms_registrar" },
  },
  {
    check: "function_owner",
    how: "an api function of a superuser's",
    sql: "create function api.help() returns int language sql security definer set search_path = pg_catalog, pg_temp return 1",
    relation: "api.help()",
  },
  {
    check: "function_security",
    how: "an owner's definer",
    sql: "create function app.help() returns int language sql security definer set search_path = pg_catalog, pg_temp return 1; alter function app.help() owner to tms_owner",
    relation: "app.help()",
  },
  {
    check: "function_bypass",
    how: "a superuser's definer, elsewhere",
    sql: "create schema extra; create function extra.help() returns int language sql security definer set search_path = pg_catalog, pg_temp return 1",
    relation: "extra.help()",
  },
  {
    check: "function_search_path",
    how: "a function without a path",
    sql: "alter function api.get_login_faults() reset search_path",
    relation: "api.get_login_faults()",
  },
  {
    check: "function_search_path",
    how: "pg_temp in front",
    sql: "alter function api.get_login_faults() set search_path = pg_temp, pg_catalog",
    relation: "api.get_login_faults()",
  },
  {
    check: "function_settings",
    how: "a function with a tenant of its own",
    sql: "alter function app.set_tenant(uuid) set app.tenant_id = '00000000-0000-0000-0000-000000000001'",
    relation: "app.set_tenant(uuid)",
  },
  {
    check: "function_body",
    how: "a tenant set for the session",
    sql: "create function app.visit(p uuid) returns text language sql set search_path = pg_catalog, pg_temp as $$ select set_config('app.tenant_id', p::text, false) $$",
    relation: "app.visit(uuid)",
  },
  {
    check: "function_body",
    how: "a session's tenant by a standard body",
    sql: "create function app.visit(p uuid, keep boolean) returns text language sql return set_config('app.tenant_id', p::text, not keep)",
    relation: "app.visit(uuid,boolean)",
  },
  {
    check: "function_body",
    how: "a statement that is made from text",
    sql: "create function app.visit(p uuid) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$ begin execute 'set session app.tenant_id = ' || quote_literal(p); end $$",
    relation: "app.visit(uuid)",
  },
  {
    check: "function_body",
    how: "a quoted setting",
    sql: "create function app.visit() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$ begin set \"app.maintenance\" = 'on'; end $$",
    relation: "app.visit()",
  },
  {
    check: "function_body",
    how: "an update of the view of settings",
    sql: "create function app.visit() returns void language sql set search_path = pg_catalog, pg_temp as $$ update pg_settings set setting = 'on' where name = 'row_security' $$",
    relation: "app.visit()",
  },
  {
    check: "function_changed",
    how: "a gate that asks nobody",
    sql: "update pg_proc set prosrc = replace(prosrc, 'and u.auth_subject = p_auth_subject', '') where oid = 'app.enter_tenant(text,text,text,text,text)'::regprocedure",
    relation: null,
    row: { function: "app.enter_tenant(text,text,text,text,text)" },
  },
  {
    check: "function_changed",
    how: "a function that reads every tenant",
    sql: "create function api.everyone() returns setof text language sql security definer set search_path = pg_catalog, pg_temp as $$ select email from app.users $$; alter function api.everyone() owner to tms_registrar",
    relation: null,
    row: { function: "api.everyone()" },
  },
  {
    check: "function_changed",
    how: "an overload of the owner's own",
    sql: "create function app.last_audit(text) returns text language sql security definer set search_path = pg_catalog, pg_temp as $$ select $1 $$; alter function app.last_audit(text) owner to tms_owner",
    relation: null,
    row: { function: "app.last_audit(text)" },
  },
  {
    check: "function_changed",
    how: "a deletion in the auditor's hands",
    sql: "grant execute on function app.remove_tenant(app.tenants) to tms_auditor",
    relation: null,
    row: { function: "app.remove_tenant(app.tenants)" },
  },
  {
    check: "function_changed",
    how: "a trigger that wrote the events",
    sql: "drop trigger _600_record_delete on app.tenants",
    relation: null,
    row: { trigger: "_600_record_delete on app.tenants" },
  },
  {
    check: "function_changed",
    severity: "warning",
    how: "a trigger that swallows deletions",
    sql: "create function public.no() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$ begin return null; end $$; create trigger no before delete on app.boards for each row execute function public.no()",
    relation: null,
    row: { trigger: "no on app.boards" },
  },
  {
    check: "function_public",
    how: "the default of CREATE FUNCTION",
    sql: "create function app.help() returns int language sql return 1",
    relation: "app.help()",
    row: { role: "public" },
  },
  {
    check: "function_public",
    severity: "info",
    how: "a database made by hand, with large objects for everybody",
    sql: "grant execute on function pg_catalog.lo_create(oid) to public",
    relation: "lo_create(oid)",
    row: { role: "tms_service" },
  },
  {
    check: "function_leakproof",
    how: "a promise for speed",
    sql: "create function app.help() returns int language sql leakproof return 1",
    relation: "app.help()",
  },
  {
    check: "role_attributes",
    how: "BYPASSRLS for a migration",
    sql: "alter role tms_app bypassrls",
    relation: null,
    row: { role: "tms_app" },
  },
  {
    check: "role_membership",
    how: "a helpful grant",
    sql: "grant tms_registrar to tms_service",
    relation: null,
    row: { role: "tms_registrar", member: "tms_service" },
  },
  {
    check: "role_membership",
    how: "a grant that may only be passed on",
    sql: "grant tms_registrar to tms_service with admin option; do $$ begin if current_setting('server_version_num')::int >= 160000 then execute 'grant tms_registrar to tms_service with inherit false, set false'; end if; end $$",
    relation: null,
    row: { role: "tms_registrar", member: "tms_service" },
  },
  {
    check: "role_membership",
    severity: "warning",
    how: "a revoked membership that migrations need",
    sql: "revoke tms_registrar from tms_owner",
    relation: null,
    row: { role: "tms_registrar", member: "tms_owner" },
  },
  {
    check: "role_settings",
    how: "a tenant by default",
    sql: "alter role tms_service set app.tenant_id = '00000000-0000-0000-0000-000000000001'",
    relation: null,
    row: { role: "tms_service", setting: "app.tenant_id=00000000-0000-0000-0000-000000000001" },
  },
  {
    check: "role_settings",
    severity: "warning",
    how: "a tenant for whoever deploys",
    sql: "create role deployer; alter role deployer set app.tenant_id = '00000000-0000-0000-0000-000000000001'",
    relation: null,
    row: { role: "deployer", setting: "app.tenant_id=00000000-0000-0000-0000-000000000001" },
  },
  {
    check: "role_settings",
    how: "the same in other letters",
    sql: "alter role tms_owner set \"App.Maintenance\" = 'on'",
    relation: null,
    row: { role: "tms_owner", setting: "App.Maintenance=on" },
  },
  {
    check: "role_settings",
    severity: "warning",
    how: "another search_path for everybody",
    sql: "do $$ begin execute format('alter database %I set search_path = evil, public', current_database()); end $$",
    relation: null,
    row: { role: "all", setting: "search_path=evil, public" },
  },
  {
    check: "role_settings",
    how: "in every database at once",
    sql: "alter role all set app.tenant_id = '00000000-0000-0000-0000-000000000001'",
    relation: null,
    row: { role: "all", setting: "app.tenant_id=00000000-0000-0000-0000-000000000001" },
  },
  {
    check: "bypass_role",
    severity: "warning",
    how: "a backup role",
    sql: "create role tms_test_backup bypassrls; grant select on app.boards to tms_test_backup; alter role tms_test_backup rename to test_backup",
    relation: null,
    row: { role: "test_backup" },
  },
  {
    check: "statistics_view",
    severity: "warning",
    how: "a cluster older than the fix",
    sql: `set local allow_system_table_mods = on;
          do $$ begin execute 'create or replace view pg_catalog.pg_stats_ext with (security_barrier) as '
            || regexp_replace(pg_get_viewdef('pg_catalog.pg_stats_ext'::regclass), 'pg_has_role\\(c\\.relowner, ''USAGE''::text\\)', 'true'); end $$`,
    relation: "pg_catalog.pg_stats_ext",
  },
  {
    check: "proof_rows",
    how: "a permissive policy where a restrictive one stood",
    sql: "drop policy tenant_only on app.boards",
    relation: "app.boards",
    row: { tenant_id: "t1" },
  },
  {
    check: "proof_nothing",
    how: "an escape for unset tenants",
    sql: "alter policy tenant_only on app.boards using (app.tenant_id() is null or tenant_id = app.tenant_id())",
    relation: "app.boards",
    row: { inside: "no tenant" },
  },
  {
    check: "proof_writes",
    how: "WITH CHECK (true) on insert",
    sql: "alter policy tenant_only on app.boards with check (true)",
    relation: "app.boards",
    row: { attempt: "insert a row for another tenant" },
  },
  {
    check: "proof_writes",
    how: "deletes that no policy narrows",
    sql: "drop policy tenant_only on app.provider_configs; create policy a on app.provider_configs as restrictive for select to tms_app using (tenant_id = app.tenant_id()); create policy b on app.provider_configs as restrictive for update to tms_app using (tenant_id = app.tenant_id())",
    relation: "app.provider_configs",
    row: { attempt: "delete the rows of other tenants" },
  },
  {
    check: "proof_writes",
    how: "updates whose USING is true",
    sql: "drop policy tenant_only on app.provider_configs; create policy a on app.provider_configs as restrictive for select to tms_app using (tenant_id = app.tenant_id()); create policy b on app.provider_configs as restrictive for delete to tms_app using (tenant_id = app.tenant_id()); create policy c on app.provider_configs as restrictive for update to tms_app using (true) with check (tenant_id = app.tenant_id())",
    relation: "app.provider_configs",
    row: { attempt: "take the rows of other tenants" },
  },
];

/** Planted otherwise: a server cannot be made older in a transaction, nor restarted with other settings; a shard is in shards.test.ts. */
const ELSEWHERE = ["server_version", "server_settings", "shard_differs"];

void describe("the schema checks", () => {
  let database: Database;
  let first: string;
  before(async () => {
    database = await createDatabase();
    await seedTenants(database.sql, 5);
    const [row] = await database.sql`select id from app.tenants where is_default`;
    first = row!.id as string;
  });
  after(() => database.drop());

  for (const plant of PLANTS) {
    it(`${plant.check} finds ${plant.how}`, async () => {
      const { sql } = database;
      assert.deepEqual(await planted(sql, "select", plant.check), [], "clean before");
      const found = await planted(sql, plant.sql, plant.check);
      const row = { ...plant.row };
      let tenantId: string | null = null;
      if (row.trigger) row.trigger = found[0]?.row.trigger;
      if (plant.check === "proof_rows") {
        row.tenant_id = first;
        tenantId = first;
      }
      if (plant.check === "proof_writes")
        tenantId = found.find(f => f.row.attempt === row.attempt)?.tenant_id ?? null;
      assertFinding(found, {
        check: plant.check,
        category: "isolation_config",
        severity: plant.severity ?? "error",
        tenant_id: tenantId,
        relation: plant.relation,
        row,
      });
    });
  }

  it("table_rules blames a table, and not its partitions too, for a key that it gave them", async () => {
    const found = await planted(
      database.sql,
      `${PARTITIONED} create unique index on app.boards (id, tenant_id);
       create unique index on app.events (name, tenant_id); alter table app.events add foreign key (other, id) references app.boards (id, tenant_id)`,
      "table_rules",
    );
    const events = found.filter(one => one.relation !== "app.boards");
    assert.deepEqual(
      events.map(one => one.relation),
      ["app.events", "app.events"],
    );
  });

  it("table_rules has the table isolated, and not the partition with the fault, which tms_app could then write by its own name", async () => {
    const [found] = await planted(
      database.sql,
      `${PARTITIONED} create unique index on app.events_0 (name)`,
      "table_rules",
    );
    assert.match(found!.remedy, /app\.isolate\('app\.events'\)/);
  });

  it("table_rules has nothing against an exclusion within a tenant", async () => {
    const plant =
      "create extension if not exists btree_gist; alter table app.boards add exclude using gist (tenant_id with =, title with =)";
    assert.deepEqual(await planted(database.sql, plant, "table_rules"), []);
  });

  it("view_leaks knows every spelling of a view that runs as its reader", async () => {
    for (const value of ["true", "t", "on", "y", "yes", "1", "TRUE"]) {
      const plant = `create view app.shown with (security_invoker = ${value}, check_option = local) as select * from app.boards`;
      assert.deepEqual(await planted(database.sql, plant, "view_leaks"), [], value);
    }
    for (const value of ["off", "f", "0"]) {
      const plant = `create view app.shown with (security_invoker = ${value}) as select * from app.boards`;
      assert.equal((await planted(database.sql, plant, "view_leaks")).length, 1, value);
    }
  });

  it("has a plant for every schema check of the catalog", async () => {
    const checks = await database.sql`select "check" from audit.checks() where family = 'schema'`;
    const missing = checks
      .map(row => row.check as string)
      .filter(name => !ELSEWHERE.includes(name) && !PLANTS.some(plant => plant.check === name));
    assert.deepEqual(missing, []);
  });

  it("server_version knows the floor of each branch, lets the embedded server off with a warning, and doubts what it does not know", async () => {
    const rows = await database.sql`
      select v.num, v.embedded, f.severity, f.fault is not null as fault
      from (values (150019, false), (150020, false), (160014, false), (160015, false), (170010, false), (170011, false),
                   (180004, false), (180004, true), (180006, false), (190001, false)) v (num, embedded),
           audit.version_fault(v.num, v.embedded) f`;
    assert.deepEqual(
      rows.map(row => `${row.num}${row.embedded ? " embedded" : ""}: ${row.fault ? row.severity : "fine"}`),
      [
        "150019: error",
        "150020: fine",
        "160014: error",
        "160015: fine",
        "170010: error",
        "170011: fine",
        "180004: error",
        "180004 embedded: warning",
        "180006: fine",
        "190001: warning",
      ],
    );
  });

  it("server_settings finds what sessions of the database begin with", async () => {
    const { sql, name, urls } = database;
    await sql.unsafe(`alter database ${name} set lo_compat_privileges = on`);
    const fresh = postgres(urls.root, { max: 1, onnotice: () => {} });
    try {
      const found = await planted(fresh, "select", "server_settings");
      assert.deepEqual(
        found.map(({ severity, row }) => [severity, row]),
        [["error", { setting: "lo_compat_privileges" }]],
      );
    } finally {
      await fresh.end();
      await sql.unsafe(`alter database ${name} reset lo_compat_privileges`);
    }
  });

  it("server_settings finds a tenant, or open tables, that every session begins with, and not what one session set", async () => {
    const { sql, name, urls } = database;
    await sql.unsafe(`alter database ${name} set "App.maintenance" = 'on'`);
    const fresh = postgres(urls.root, { max: 1, onnotice: () => {} });
    try {
      await fresh`set app.tenant_id = '00000000-0000-0000-0000-000000000001'`;
      const found = await planted(fresh, "select", "server_settings");
      assert.deepEqual(
        found.map(({ severity, row }) => [severity, row]),
        [["error", { setting: "app.maintenance" }]],
      );
      const [kept] = await fresh`select current_setting('app.tenant_id') as tenant`;
      assert.equal(kept!.tenant, "00000000-0000-0000-0000-000000000001");
    } finally {
      await fresh.end();
      await sql.unsafe(`alter database ${name} reset "App.maintenance"`);
    }
  });

  it("function_body has nothing against columns and messages that only look like settings", async () => {
    const sql = `create function app.promote(p uuid) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
      begin
        if app.tenant_id() is null then raise exception 'set app.tenant_id first, or set local role tms_app'; end if;
        update app.users set role = 'admin' where tenant_id = app.tenant_id() and id = p;
        set local app.tenant_id = '';
        perform set_config('app.tenant_id', p::text, true);
        raise notice '%', current_setting('app.maintenance', true);
      end $$`;
    assert.deepEqual(await planted(database.sql, sql, "function_body"), []);
  });

  it("app_reach leaves alone what requests cannot get at, and views with their reader's rights", async () => {
    const sql = `create schema crm; create table crm.notes (body text); grant select on crm.notes to tms_app;
      create schema open; grant usage on schema open to tms_app;
      create view open.own with (security_invoker) as select title from app.boards; grant select on open.own to tms_app`;
    assert.deepEqual(await planted(database.sql, sql, "app_reach"), []);
  });
});
