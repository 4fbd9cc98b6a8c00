/** What policies and row-level security are for each table. */
import type { Plant } from "./plant.ts";

export const policies: Plant[] = [
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
    how: "a function behind an operator",
    sql: "create function app.same(text, text) returns boolean language plpgsql cost 0.0001 as $$ begin return true; end $$; create operator app.=== (leftarg = text, rightarg = text, function = app.same); create policy mine on app.boards as restrictive to tms_app using (title operator(app.===) 'x')",
    relation: "app.boards",
    row: { policy: "mine" },
  },
  {
    check: "policy_function",
    how: "a function in a domain's test",
    sql: "create function app.seen(text) returns boolean language plpgsql as $$ begin return true; end $$; create domain app.seen as text check (app.seen(value)); create policy mine on app.boards as restrictive to tms_app using (title::app.seen is not null)",
    relation: "app.boards",
    row: { policy: "mine" },
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
    how: "a policy that enters a tenant",
    sql: "create policy entered on app.media as restrictive to tms_app using (set_config('app.tenant_id', tenant_id::text, true) is not null)",
    relation: "app.media",
    row: { policy: "entered" },
  },
  {
    check: "policy_function",
    how: "a policy that tells of rows, before it is asked whose they are",
    sql: "create policy heard on app.media as restrictive to tms_app using (pg_notify('media', storage_url) is not null)",
    relation: "app.media",
    row: { policy: "heard" },
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
];
