--! Previous: -
--! Hash: sha1:6237a28cd6222ee4ff28ffd14d8a219859eee0da
--! Message: initial

-- The database is closed but for the roles that are named here; roles come from db/roles.sql.
revoke all on database :DATABASE_NAME from public;
grant connect on database :DATABASE_NAME to tms_service, tms_auditor;
revoke all on schema public from public;

create schema app;
create schema api;
create schema control;
comment on schema app is 'The tenants'' tables, each under row level security keyed on app.tenant_id';
comment on schema api is 'The SQL functions that HTTP calls, one an operation; nothing else';
comment on schema control is 'The service''s own bookkeeping: no tenant data';
grant usage on schema app to tms_app, tms_registrar, tms_auditor;
grant usage on schema api to tms_service, tms_app, tms_registrar;
grant usage on schema control to tms_registrar;
alter default privileges revoke execute on functions from public;

-- Functions belong to the role they act as; creating them takes a right that no role keeps.
grant create on schema app, api to tms_app, tms_registrar;

create extension if not exists pg_trgm with schema control;
set local search_path = control, public, pg_catalog;

--! Included context/tenant_id.sql
-- The one expression every policy is built on. A standard body: names are bound now, so no search_path and no
-- temporary object can redirect it later. STABLE, never IMMUTABLE: an immutable reader of a setting is folded into
-- cached plans and hands one tenant's rows to the next. nullif: after a transaction the setting reads '' and not null.
create or replace function app.tenant_id()
returns uuid
language sql
stable
parallel safe
return nullif(pg_catalog.current_setting('app.tenant_id', true), '')::uuid;

comment on function app.tenant_id() is
  'The tenant of this transaction, from the setting app.tenant_id; null when it is unset or empty. Raises 22P02 when it is not a uuid.';
revoke all on function app.tenant_id() from public;
grant execute on function app.tenant_id() to tms_app, tms_registrar, tms_auditor;
--! EndIncluded context/tenant_id.sql
--! Included context/set_tenant.sql
-- A real SET LOCAL and not set_config(): only the statement travels to the workers of a distributed database.
create or replace function app.set_tenant(p_tenant_id uuid)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('set local app.tenant_id = %L', coalesce(p_tenant_id::text, ''));
end
$$;

comment on function app.set_tenant(uuid) is
  'Puts the rest of the transaction into one tenant; null takes it out. A savepoint that is rolled back restores the tenant before it.';
revoke all on function app.set_tenant(uuid) from public;
grant execute on function app.set_tenant(uuid) to tms_app, tms_registrar, tms_auditor;
--! EndIncluded context/set_tenant.sql
--! Included context/iso_time.sql
create or replace function app.iso_time(p_at timestamptz)
returns text
language sql
stable
parallel safe
return pg_catalog.to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

comment on function app.iso_time(timestamptz) is 'ISO 8601 in UTC with microseconds, whatever the session''s time zone.';
revoke all on function app.iso_time(timestamptz) from public;
grant execute on function app.iso_time(timestamptz) to tms_app, tms_registrar, tms_auditor;
--! EndIncluded context/iso_time.sql
--! Included context/parse_uuid.sql
-- Postgres also reads braces and missing hyphens; an address of a resource has one spelling.
create or replace function app.parse_uuid(p_text text)
returns uuid
language sql
immutable
parallel safe
return case when p_text ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then p_text::uuid end;

comment on function app.parse_uuid(text) is 'The uuid that a text spells in the usual 8-4-4-4-12 form, or null. Never raises.';
revoke all on function app.parse_uuid(text) from public;
grant execute on function app.parse_uuid(text) to tms_app, tms_registrar;
--! EndIncluded context/parse_uuid.sql
--! Included context/refuse.sql
-- Functions raise, nothing returns an error value. SQLSTATE TMnnn is HTTP nnn; src/errors.ts reads the rest.
create or replace function app.refuse(p_status int, p_error text, p_detail text, p_reason text, p_extra jsonb default null)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'TM' || p_status, message = p_detail, hint = p_error, constraint = p_reason,
    detail = coalesce(p_extra::text, '');
end
$$;

comment on function app.refuse(int, text, text, text, jsonb) is
  'Raises TM<status>: message is the `detail` a client reads, hint the `error`, constraint the reason for logs and metrics, detail extra body fields as JSON.';
revoke all on function app.refuse(int, text, text, text, jsonb) from public;
grant execute on function app.refuse(int, text, text, text, jsonb) to tms_app, tms_registrar;
--! EndIncluded context/refuse.sql
--! Included context/cursor.sql
-- Where a page ended: the sort key of its last row, in a spelling that nobody has reason to build by hand.
create or replace function app.cursor_of(p_at timestamptz, p_id uuid)
returns text
language sql
stable
parallel safe
return translate(encode(convert_to((extract(epoch from p_at) * 1000000)::bigint || ' ' || p_id, 'UTF8'), 'base64'), E'+/=\n', '-_');
comment on function app.cursor_of(timestamptz, uuid) is 'An opaque cursor: the row after which the next page begins, URL-safe.';
revoke all on function app.cursor_of(timestamptz, uuid) from public;
grant execute on function app.cursor_of(timestamptz, uuid) to tms_app, tms_registrar;

create or replace function app.read_cursor(p_cursor text, out at timestamptz, out id uuid)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_part text[];
begin
  if p_cursor is null then
    -- What sorts before every row: one shape of query serves the first page and the others, and the index serves both.
    at := 'infinity';
    id := '00000000-0000-0000-0000-000000000000';
    return;
  end if;
  begin
    v_part := string_to_array(convert_from(decode(
      translate(p_cursor, '-_', '+/') || repeat('=', -length(p_cursor) & 3), 'base64'), 'UTF8'), ' ');
    at := timestamptz 'epoch' + v_part[1]::bigint * interval '1 microsecond';
    id := v_part[2]::uuid;
  exception when data_exception then
    at := null;
  end;
  if at is null or id is null then
    perform app.refuse(422, 'Validation failed', 'The cursor was not made by this service', 'bad_cursor',
      '{"errors": [{"field": "cursor", "message": "was not made by this service"}]}');
  end if;
end
$$;
comment on function app.read_cursor(text) is 'The sort key in a cursor, the one before every row for a null cursor; raises TM422 for anything that app.cursor_of did not make.';
revoke all on function app.read_cursor(text) from public;
grant execute on function app.read_cursor(text) to tms_app, tms_registrar;
--! EndIncluded context/cursor.sql
--! Included context/write_policies.sql
-- The policy text stands here and nowhere else. RESTRICTIVE carries the tenant, a permissive `true` beside it lets
-- rows through at all: a policy that somebody adds later can then only narrow. The scalar subquery makes the tenant an
-- InitPlan: read once per statement, free on scans, and it cannot change inside one statement. Citus refuses
-- subqueries in policies, so there the bare call stands.
create or replace function app.write_policies(p_table regclass, p_column name)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_distributed constant boolean := exists (select from pg_extension where extname = 'citus');
  v_own constant text := format(case when v_distributed then '%I = app.tenant_id()' else '%I = (select app.tenant_id())' end, p_column);
  v_maintenance constant text := case when v_distributed
    then $q$current_setting('app.maintenance', true) = 'on'$q$
    else $q$(select current_setting('app.maintenance', true)) = 'on'$q$ end;
begin
  execute format('alter table %s enable row level security', p_table);
  execute format('alter table %s force row level security', p_table);
  execute format('drop policy if exists tenant_only on %s', p_table);
  execute format('create policy tenant_only on %s as restrictive for all to tms_app using (%s) with check (%s)', p_table, v_own, v_own);
  execute format('drop policy if exists tenant_rows on %s', p_table);
  execute format('create policy tenant_rows on %s for all to tms_app using (true) with check (true)', p_table);
  execute format('drop policy if exists maintenance on %s', p_table);
  execute format('create policy maintenance on %s for all to tms_owner using (%s) with check (%s)', p_table, v_maintenance, v_maintenance);
  execute format('drop policy if exists auditor on %s', p_table);
  execute format('create policy auditor on %s for select to tms_auditor using (true)', p_table);
end
$$;

comment on function app.write_policies(regclass, name) is
  'Enables and forces row level security on a table and writes its four policies; p_column holds the tenant. Safe to run again.';
revoke all on function app.write_policies(regclass, name) from public;
--! EndIncluded context/write_policies.sql

--! Included tables/tenants.sql
create table app.tenants (
  id uuid primary key default gen_random_uuid(),
  name text not null
    constraint tenants_name_length check (char_length(name) between 1 and 255)
    constraint tenants_name_not_blank check (name ~ '\S'),
  slug text collate "C" not null
    constraint tenants_slug_key unique
    constraint tenants_slug_format check (slug ~ '^[a-z0-9-]{1,255}$'),
  settings jsonb not null default '{}'
    constraint tenants_settings_is_object check (jsonb_typeof(settings) = 'object'),
  status text not null default 'active'
    constraint tenants_status_known check (status in ('pending', 'active', 'suspended')),
  is_default boolean not null default false,
  registration jsonb
    constraint tenants_registration_is_object check (jsonb_typeof(registration) = 'object'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
    constraint tenants_times_in_order check (updated_at >= created_at)
);
-- A flag and not the slug says which tenant is the default one, so that renaming it never makes it deletable.
create unique index tenants_one_default on app.tenants (is_default) where is_default;
create index tenants_newest_first on app.tenants (created_at desc, id);
create index tenants_status on app.tenants (status, created_at desc, id);
create index tenants_search on app.tenants using gin (name gin_trgm_ops, slug gin_trgm_ops);

select app.write_policies('app.tenants', 'id');
create policy registrar on app.tenants for all to tms_registrar using (true) with check (true);
revoke all on table app.tenants from public;
grant select on table app.tenants to tms_app, tms_auditor;
grant select, insert, update, delete on table app.tenants to tms_registrar;

comment on table app.tenants is 'The organizations. The only table with a key that is unique across tenants.';
comment on column app.tenants.slug is 'The tenant''s name in tokens and in the X-Tenant header.';
comment on column app.tenants.status is 'pending: registered, waits for approval. active. suspended: nobody gets in.';
comment on column app.tenants.is_default is 'The tenant of the single-tenant past; at most one.';
comment on column app.tenants.registration is 'What a self-service registration gave: admin_email, admin_name, use_case, organization_size, metadata. Null when an operator made the tenant.';
--! EndIncluded tables/tenants.sql
--! Included context/isolation_faults.sql
-- Foreign key checks and unique indexes look past row level security, so the keys themselves must carry the tenant.
create or replace function app.isolation_faults(p_table regclass)
returns table (fault text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with tenant_column as (
    select attnum, atttypid, attnotnull from pg_attribute
    where attrelid = p_table and attname = 'tenant_id' and not attisdropped
  )
  select 'it is not a table' from pg_class where oid = p_table and relkind not in ('r', 'p')
  union all
  select 'it has no column tenant_id' where not exists (select from tenant_column)
  union all
  select 'tenant_id is not of type uuid' from tenant_column where atttypid <> 'uuid'::regtype
  union all
  select 'tenant_id may be null' from tenant_column where not attnotnull
  union all
  select 'it has no primary key' where not exists (select from pg_index where indrelid = p_table and indisprimary)
  union all
  select format('the unique index %s does not begin with tenant_id, so one tenant could learn another''s values', indexrelid::regclass)
  from pg_index
  where indrelid = p_table and (indisunique or indisexclusion) and indkey[0] is distinct from (select attnum from tenant_column)
  union all
  select format('the foreign key %I does not pair tenant_id with tenant_id, so a row could point into another tenant', conname)
  from pg_constraint c
  where conrelid = p_table and contype = 'f' and confrelid <> 'app.tenants'::regclass
    and exists (select from pg_attribute where attrelid = confrelid and attname = 'tenant_id' and not attisdropped)
    and not exists (
      select from unnest(conkey, confkey) as pair (child, parent)
      join pg_attribute a on a.attrelid = confrelid and a.attnum = pair.parent and a.attname = 'tenant_id'
      where pair.child = (select attnum from tenant_column))
  union all
  select format('the foreign key %I would set tenant_id to null', conname)
  from pg_constraint
  where conrelid = p_table and contype = 'f' and confdeltype in ('n', 'd')
    and (confdelsetcols is null or (select attnum from tenant_column) = any (confdelsetcols))
    and (select attnum from tenant_column) = any (conkey)
$$;

comment on function app.isolation_faults(regclass) is
  'What keeps a table from being isolated, one sentence a fault; no row when nothing does.';
revoke all on function app.isolation_faults(regclass) from public;
grant execute on function app.isolation_faults(regclass) to tms_auditor;
--! EndIncluded context/isolation_faults.sql
--! Included context/adopt.sql
create or replace function app.adopt(p_table regclass)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default constant uuid := (select id from app.tenants where is_default);
  v_key name;
  v_columns text;
begin
  if v_default is null then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = format('%s cannot be adopted: there is no default tenant (or app.maintenance is off)', p_table);
  end if;
  if not exists (select from pg_attribute where attrelid = p_table and attname = 'tenant_id' and not attisdropped) then
    -- A constant default fills the old rows without rewriting the table; it must not outlive the fill.
    execute format('alter table %s add column tenant_id uuid not null default %L', p_table, v_default);
    execute format('alter table %s alter column tenant_id drop default', p_table);
  end if;

  select c.conname, string_agg(quote_ident(a.attname), ', ' order by k.n)
  into v_key, v_columns
  from pg_constraint c
  cross join unnest(c.conkey) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum
  where c.conrelid = p_table and c.contype = 'p'
    and not exists (
      select from pg_attribute t
      where t.attrelid = c.conrelid and t.attname = 'tenant_id' and t.attnum = c.conkey[1])
  group by c.conname;
  if found then
    execute format('alter table %s drop constraint %I, add constraint %I primary key (tenant_id, %s)', p_table, v_key, v_key, v_columns);
  end if;
end
$$;

comment on function app.adopt(regclass) is
  'Gives a single-tenant table a tenant_id: filled with the default tenant, not null, first in the primary key. Raises 55000 without a default tenant, 2BP01 while other tables'' foreign keys need the old primary key.';
revoke all on function app.adopt(regclass) from public;
--! EndIncluded context/adopt.sql
--! Included context/isolate.sql
create or replace function app.isolate(p_table regclass, p_adopt boolean default false)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_fault text;
  v_partition regclass;
begin
  if p_adopt then
    perform app.adopt(p_table);
  end if;

  select f.fault into v_fault from app.isolation_faults(p_table) f limit 1;
  if found then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = format('%s cannot be isolated: %s', p_table, v_fault);
  end if;

  if not exists (
    select from pg_constraint
    where conrelid = p_table and confrelid = 'app.tenants'::regclass and contype = 'f' and confdeltype = 'c'
      and conkey = array(select attnum from pg_attribute where attrelid = p_table and attname = 'tenant_id')
  ) then
    execute format('alter table %s add foreign key (tenant_id) references app.tenants (id) on delete cascade', p_table);
  end if;

  perform app.write_policies(p_table, 'tenant_id');
  -- All first: TRUNCATE, REFERENCES and TRIGGER are not under row level security.
  execute format('revoke all on table %s from public, tms_app, tms_service', p_table);
  execute format('grant select, insert, update, delete on table %s to tms_app', p_table);
  execute format('grant select on table %s to tms_auditor', p_table);

  -- A partition that is queried by its own name does not look at its parent's policies.
  for v_partition in
    with recursive below as (
      select inhrelid from pg_inherits where inhparent = p_table
      union all
      select i.inhrelid from pg_inherits i join below b on i.inhparent = b.inhrelid
    )
    select inhrelid::regclass from below
  loop
    perform app.write_policies(v_partition, 'tenant_id');
    execute format('revoke all on table %s from public, tms_app, tms_service', v_partition);
    execute format('grant select on table %s to tms_auditor', v_partition);
  end loop;
end
$$;

comment on function app.isolate(regclass, boolean) is
$$Makes a table one of tenants: checks its keys, enables and forces row level security, writes policies and grants, and
adds the foreign key to app.tenants. Safe to run again. With p_adopt the table comes from a single-tenant past: a missing
tenant_id is added, filled with the default tenant, and put in front of the primary key.
Raises 55000 with the first rule that the table breaks (app.isolation_faults lists them all).
  select app.isolate('app.invoices');$$;
revoke all on function app.isolate(regclass, boolean) from public;
--! EndIncluded context/isolate.sql
--! Included tables/users.sql
create table app.users (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  auth_provider text collate "C" not null constraint users_provider_length check (char_length(auth_provider) between 1 and 255),
  auth_subject text collate "C" not null constraint users_subject_length check (char_length(auth_subject) between 1 and 255),
  email text,
  display_name text,
  role text not null default 'member' constraint users_role_known check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now() constraint users_times_in_order check (updated_at >= created_at),
  removed_at timestamptz,
  primary key (tenant_id, id),
  constraint users_tenant_identity_key unique (tenant_id, auth_provider, auth_subject)
);
-- Not unique: one person in two tenants has two rows. Serves membership by identity and the limit of tenants per user.
create index users_identity on app.users (auth_provider, auth_subject);

select app.isolate('app.users');
create policy registrar on app.users for all to tms_registrar using (true) with check (true);
grant select, insert, update, delete on table app.users to tms_registrar;

comment on table app.users is 'The members of each tenant. An identity is the pair (auth_provider, auth_subject).';
comment on column app.users.auth_provider is 'The token''s issuer, or jwt when it names none.';
comment on column app.users.auth_subject is 'The token''s sub.';
comment on column app.users.removed_at is 'Set when the membership ended. The row stays: boards, generations and the credit ledger refer to it.';
--! EndIncluded tables/users.sql
--! Included tables/boards.sql
create table app.boards (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  owner_id uuid not null,
  title text not null constraint boards_title_length check (char_length(title) between 1 and 255),
  description text,
  settings jsonb not null default '{}' constraint boards_settings_is_object check (jsonb_typeof(settings) = 'object'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now() constraint boards_times_in_order check (updated_at >= created_at),
  primary key (tenant_id, id),
  constraint boards_owner foreign key (tenant_id, owner_id) references app.users (tenant_id, id)
);
create index boards_by_owner on app.boards (tenant_id, owner_id);
create index boards_newest_first on app.boards (tenant_id, created_at desc, id);
select app.isolate('app.boards');
comment on table app.boards is 'A tenant''s boards.';

create table app.board_members (
  tenant_id uuid not null,
  board_id uuid not null,
  user_id uuid not null,
  role text not null default 'viewer' constraint board_members_role_known check (role in ('viewer', 'editor', 'admin')),
  invited_by uuid,
  created_at timestamptz not null default now(),
  primary key (tenant_id, board_id, user_id),
  constraint board_members_board foreign key (tenant_id, board_id) references app.boards (tenant_id, id) on delete cascade,
  constraint board_members_user foreign key (tenant_id, user_id) references app.users (tenant_id, id) on delete cascade,
  constraint board_members_inviter foreign key (tenant_id, invited_by) references app.users (tenant_id, id)
);
create index board_members_by_user on app.board_members (tenant_id, user_id);
create index board_members_by_inviter on app.board_members (tenant_id, invited_by);
select app.isolate('app.board_members');
comment on table app.board_members is 'Who besides its owner works on a board, and as what.';
--! EndIncluded tables/boards.sql
--! Included tables/generations.sql
create table app.generations (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  board_id uuid not null,
  user_id uuid not null,
  artifact_type text not null constraint generations_artifact_type_length check (char_length(artifact_type) between 1 and 50),
  status text not null default 'pending'
    constraint generations_status_known check (status in ('pending', 'processing', 'completed', 'failed', 'cancelled')),
  input jsonb not null default '{}' constraint generations_input_is_object check (jsonb_typeof(input) = 'object'),
  error text,
  created_at timestamptz not null default now(),
  completed_at timestamptz constraint generations_times_in_order check (completed_at >= created_at),
  primary key (tenant_id, id),
  constraint generations_board foreign key (tenant_id, board_id) references app.boards (tenant_id, id) on delete cascade,
  constraint generations_user foreign key (tenant_id, user_id) references app.users (tenant_id, id)
);
create index generations_by_board on app.generations (tenant_id, board_id);
create index generations_by_user on app.generations (tenant_id, user_id);
select app.isolate('app.generations');
comment on table app.generations is 'What was generated on a board, by whom.';

create table app.media (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  generation_id uuid not null,
  storage_url text not null constraint media_storage_url_length check (char_length(storage_url) between 1 and 2048),
  content_type text,
  size_bytes bigint constraint media_size_not_negative check (size_bytes >= 0),
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id) on delete cascade
);
create index media_by_generation on app.media (tenant_id, generation_id);
select app.isolate('app.media');
comment on table app.media is 'The files of a generation; the bytes are elsewhere.';
--! EndIncluded tables/generations.sql
--! Included tables/provider_configs.sql
create table app.provider_configs (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  provider_name text not null constraint provider_configs_name_length check (char_length(provider_name) between 1 and 255),
  config jsonb not null default '{}' constraint provider_configs_config_is_object check (jsonb_typeof(config) = 'object'),
  is_enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now() constraint provider_configs_times_in_order check (updated_at >= created_at),
  primary key (tenant_id, id),
  constraint provider_configs_name_key unique (tenant_id, provider_name)
);
select app.isolate('app.provider_configs');
comment on table app.provider_configs is 'How a tenant reaches the providers it generates with. config may hold secrets: no function returns it.';
--! EndIncluded tables/provider_configs.sql
--! Included tables/credit_transactions.sql
create table app.credit_transactions (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  generation_id uuid,
  type text not null constraint credit_transactions_type_length check (char_length(type) between 1 and 50),
  amount bigint not null,
  balance_after bigint not null,
  description text,
  -- The moment and not the transaction's start: the ledger's order is (created_at, id).
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, id),
  constraint credit_transactions_user foreign key (tenant_id, user_id) references app.users (tenant_id, id),
  constraint credit_transactions_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id)
);
create index credit_transactions_ledger on app.credit_transactions (tenant_id, user_id, created_at, id);
create index credit_transactions_by_generation on app.credit_transactions (tenant_id, generation_id);
select app.isolate('app.credit_transactions');
comment on table app.credit_transactions is 'A ledger for each user: balance_after is the balance before plus amount, in the order (created_at, id).';
comment on column app.credit_transactions.amount is 'Credits; what is spent is negative.';
--! EndIncluded tables/credit_transactions.sql
--! Included control/deployment.sql
create table control.deployment (
  singleton boolean primary key default true check (singleton),
  default_tenant_made_at timestamptz not null default now()
);
revoke all on table control.deployment from public;
grant select, insert on table control.deployment to tms_registrar;
comment on table control.deployment is 'One row once the default tenant was made: it is made once, and a deliberate deletion stays one.';
--! EndIncluded control/deployment.sql
--! Included control/tenant_counts.sql
-- An exact total that is cheap at a million tenants. Sixty-four rows, each backend adding to its own, so that parallel
-- registrations do not queue on one counter; one row a shard, so that no order of statements can deadlock.
create table control.tenant_counts (
  shard int primary key check (shard between 0 and 63),
  pending bigint not null default 0,
  active bigint not null default 0,
  suspended bigint not null default 0
) with (fillfactor = 50);
revoke all on table control.tenant_counts from public;
grant select, insert, update on table control.tenant_counts to tms_registrar;
comment on table control.tenant_counts is 'Tenants by status, in shards: only the sums mean anything.';

create function control.tg_tenants__count()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pending bigint := 0;
  v_active bigint := 0;
  v_suspended bigint := 0;
begin
  if tg_op = 'TRUNCATE' then
    delete from control.tenant_counts;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    select v_pending - count(*) filter (where status = 'pending'), v_active - count(*) filter (where status = 'active'),
           v_suspended - count(*) filter (where status = 'suspended')
    into v_pending, v_active, v_suspended from gone;
  end if;
  if tg_op <> 'DELETE' then
    select v_pending + count(*) filter (where status = 'pending'), v_active + count(*) filter (where status = 'active'),
           v_suspended + count(*) filter (where status = 'suspended')
    into v_pending, v_active, v_suspended from come;
  end if;
  if v_pending <> 0 or v_active <> 0 or v_suspended <> 0 then
    insert into control.tenant_counts as c (shard, pending, active, suspended)
    values (pg_backend_pid() % 64, v_pending, v_active, v_suspended)
    on conflict (shard) do update
    set pending = c.pending + excluded.pending, active = c.active + excluded.active, suspended = c.suspended + excluded.suspended;
  end if;
  return null;
end
$$;
comment on function control.tg_tenants__count() is 'Keeps control.tenant_counts in step with app.tenants, one update a statement.';
revoke all on function control.tg_tenants__count() from public;

create trigger _500_count_insert after insert on app.tenants
  referencing new table as come for each statement execute function control.tg_tenants__count();
create trigger _500_count_update after update on app.tenants
  referencing old table as gone new table as come for each statement execute function control.tg_tenants__count();
create trigger _500_count_delete after delete on app.tenants
  referencing old table as gone for each statement execute function control.tg_tenants__count();
create trigger _500_count_truncate after truncate on app.tenants
  for each statement execute function control.tg_tenants__count();
--! EndIncluded control/tenant_counts.sql
--! Included control/idempotency_keys.sql
create table control.idempotency_keys (
  auth_provider text collate "C" not null,
  auth_subject text collate "C" not null,
  key text collate "C" not null constraint idempotency_keys_length check (char_length(key) between 8 and 255),
  request_hash bytea not null,
  -- Forgotten with the tenant: a repeat after its deletion makes a new one instead of naming a ghost.
  tenant_id uuid references app.tenants (id) on delete cascade,
  body json,
  created_at timestamptz not null default now(),
  primary key (auth_provider, auth_subject, key)
);
create index idempotency_keys_by_tenant on control.idempotency_keys (tenant_id);
create index idempotency_keys_oldest on control.idempotency_keys (created_at);
revoke all on table control.idempotency_keys from public;
grant select, insert, update, delete on table control.idempotency_keys to tms_registrar;
comment on table control.idempotency_keys is 'First answers to POST /api/setup/tenant by Idempotency-Key; kept for 24 hours at least.';
--! EndIncluded control/idempotency_keys.sql
--! Included control/rate_limits.sql
-- Unlogged: a crash empties it, which costs nobody more than a window. A counter is written once a limited request.
create unlogged table control.rate_limits (
  bucket text collate "C" not null,
  identity text collate "C" not null,
  hits int not null,
  reset_at timestamptz not null,
  primary key (bucket, identity)
) with (fillfactor = 70);
create index rate_limits_expired on control.rate_limits (reset_at);
revoke all on table control.rate_limits from public;
grant select, insert, update, delete on table control.rate_limits to tms_registrar;
comment on table control.rate_limits is 'Requests of an identity in the current window of a bucket.';
--! EndIncluded control/rate_limits.sql

--! Included context/schema_version.sql
create or replace function app.schema_version()
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select max(filename) from graphile_migrate.migrations);
end
$$;
comment on function app.schema_version() is 'The last committed migration that was applied, as its file name; null before the first.';
revoke all on function app.schema_version() from public;
grant execute on function app.schema_version() to tms_registrar, tms_auditor;
--! EndIncluded context/schema_version.sql
--! Included context/tenant_json.sql
create or replace function app.tenant_json(p_tenant app.tenants)
returns json
language sql
stable
return json_build_object(
  'tenant_id', p_tenant.id, 'name', p_tenant.name, 'slug', p_tenant.slug, 'status', p_tenant.status,
  'settings', p_tenant.settings,
  'created_at', app.iso_time(p_tenant.created_at), 'updated_at', app.iso_time(p_tenant.updated_at)
);
comment on function app.tenant_json(app.tenants) is 'A tenant as every answer shows it.';
revoke all on function app.tenant_json(app.tenants) from public;
grant execute on function app.tenant_json(app.tenants) to tms_app, tms_registrar;
--! EndIncluded context/tenant_json.sql
--! Included context/member_json.sql
create or replace function app.member_json(p_user app.users)
returns json
language sql
stable
return json_build_object(
  'user_id', p_user.id, 'role', p_user.role, 'auth_provider', p_user.auth_provider, 'auth_subject', p_user.auth_subject,
  'email', p_user.email, 'display_name', p_user.display_name, 'joined_at', app.iso_time(p_user.created_at)
);
comment on function app.member_json(app.users) is 'A member of a tenant as every answer shows it.';
revoke all on function app.member_json(app.users) from public;
grant execute on function app.member_json(app.users) to tms_app;
--! EndIncluded context/member_json.sql
--! Included context/board_json.sql
-- JSON by concat(): it looks up how a type is written once a query, where json_agg() does so for every column of every
-- row: two thirds of the time for a list. Only where DateStyle is ISO, which the caller's SET clause sees to.
create or replace function app.board_json(p_board app.boards)
returns text
language sql
stable
return concat(
  '{"board_id":"', p_board.id, '","title":', to_json(p_board.title),
  ',"description":', coalesce(to_json(p_board.description), 'null'), ',"owner_id":"', p_board.owner_id,
  '","created_at":"', (p_board.created_at at time zone 'UTC')::date, 'T', (p_board.created_at at time zone 'UTC')::time,
  'Z","updated_at":"', (p_board.updated_at at time zone 'UTC')::date, 'T', (p_board.updated_at at time zone 'UTC')::time, 'Z"}'
);
comment on function app.board_json(app.boards) is 'A board as every answer shows it, as JSON text. Needs DateStyle ISO.';
revoke all on function app.board_json(app.boards) from public;
grant execute on function app.board_json(app.boards) to tms_app;
--! EndIncluded context/board_json.sql
--! Included context/etag.sql
create or replace function app.etag(p_body json)
returns text
language sql
immutable
return '"' || left(encode(sha256(convert_to(p_body::text, 'UTF8')), 'hex'), 32) || '"';
comment on function app.etag(json) is 'A strong ETag: a hash of the body itself.';
revoke all on function app.etag(json) from public;
grant execute on function app.etag(json) to tms_registrar;
--! EndIncluded context/etag.sql
--! Included context/enter_default_tenant.sql
set local role tms_registrar;
create or replace function app.enter_default_tenant(
  p_auth_provider text, p_auth_subject text, p_email text, p_display_name text,
  out tenant_id uuid, out user_id uuid, out role text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenant_id constant uuid := (select id from app.tenants where is_default and status = 'active');
begin
  -- Read first: the usual request writes nothing, and works on a read-only replica.
  for v_try in 1 .. 2 loop
    select u.tenant_id, u.id, u.role into tenant_id, user_id, role
    from app.users u
    where u.tenant_id = v_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
      and u.removed_at is null;
    exit when found or v_tenant_id is null;
    insert into app.users (tenant_id, auth_provider, auth_subject, email, display_name)
    values (v_tenant_id, p_auth_provider, p_auth_subject, p_email, p_display_name)
    on conflict on constraint users_tenant_identity_key do nothing;
  end loop;
end
$$;
comment on function app.enter_default_tenant(text, text, text, text) is
  'The caller''s membership of the default tenant, made at the first request; nulls when there is no active default tenant or the membership was ended.';
revoke all on function app.enter_default_tenant(text, text, text, text) from public;
reset role;
--! EndIncluded context/enter_default_tenant.sql
--! Included context/enter_tenant.sql
-- Unknown, pending, suspended and not a member are one refusal, byte for byte: nobody can probe which tenants exist.
set local role tms_registrar;
create or replace function app.enter_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text,
  out tenant_id uuid, out user_id uuid, out role text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if p_tenant_slug is null then
    select e.tenant_id, e.user_id, e.role into tenant_id, user_id, role
    from app.enter_default_tenant(p_auth_provider, p_auth_subject, p_email, p_display_name) e;
  else
    select u.tenant_id, u.id, u.role into tenant_id, user_id, role
    from app.tenants t
    join app.users u on u.tenant_id = t.id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
    where t.slug = p_tenant_slug and t.status = 'active' and u.removed_at is null;
  end if;
  if tenant_id is null then
    perform app.refuse(403, 'Access denied', 'User does not belong to tenant', 'not_a_member');
  end if;
  -- app.set_tenant(), without the call: every request passes here.
  execute format('set local app.tenant_id = %L', tenant_id);
  -- What a DBA sees in pg_stat_activity and in the server's log, for as long as the transaction lasts.
  perform set_config('application_name', left('tms ' || coalesce(p_tenant_slug, '(default)'), 63), true);
end
$$;
comment on function app.enter_tenant(text, text, text, text, text) is
$$Puts the transaction into the tenant that a caller named, if the caller is a member of it and it is active.
p_tenant_slug null is single-tenant mode: the default tenant, which a verified caller joins at the first request.
Returns tenant, user and role; raises TM403 `Access denied`.$$;
revoke all on function app.enter_tenant(text, text, text, text, text) from public;
grant execute on function app.enter_tenant(text, text, text, text, text) to tms_app;
reset role;
--! EndIncluded context/enter_tenant.sql
--! Included context/enter_lobby.sql
set local role tms_registrar;
create or replace function app.enter_lobby(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from app.tenants where slug = p_tenant_slug and not is_default) then
    perform app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  end if;
end
$$;
comment on function app.enter_lobby(text, text, text, text, text) is
  'For callers who belong nowhere yet: returns when the slug names no tenant or the default one; another existing tenant still needs membership (TM403).';
revoke all on function app.enter_lobby(text, text, text, text, text) from public;
reset role;
--! EndIncluded context/enter_lobby.sql
--! Included context/require_operator.sql
-- An operator's authority covers the deployment: the tenant must be named, but membership is not asked. For everybody
-- else membership is asked first, so that the answer to a stranger does not differ from any other refusal.
set local role tms_registrar;
create or replace function app.require_operator(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_missing_role is null then
    return;
  end if;
  perform app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  perform app.refuse(403, 'Access denied', format('The role %s is required', p_missing_role), 'not_an_operator');
end
$$;
comment on function app.require_operator(text, text, text, text, text, text) is
  'Returns for an operator (p_missing_role null); raises TM403 `Access denied` for everybody else.';
revoke all on function app.require_operator(text, text, text, text, text, text) from public;
reset role;
--! EndIncluded context/require_operator.sql
--! Included context/require_member_admin.sql
create or replace function app.require_member_admin(p_role text, p_target_role text)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if not (p_role = 'owner' or (p_role = 'admin' and p_target_role <> 'owner')) then
    perform app.refuse(403, 'Access denied', format('The tenant role %s is required', case when p_target_role = 'owner' then 'owner' else 'admin' end), 'not_an_admin');
  end if;
end
$$;
comment on function app.require_member_admin(text, text) is
  'Raises TM403 unless a member with p_role may add and remove members with p_target_role.';
revoke all on function app.require_member_admin(text, text) from public;
grant execute on function app.require_member_admin(text, text) to tms_app;
--! EndIncluded context/require_member_admin.sql
--! Included context/find_tenant.sql
set local role tms_registrar;
create or replace function app.find_tenant(p_tenant_id text, p_for_update boolean default false)
returns app.tenants
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant uuid := app.parse_uuid(p_tenant_id);
  v_tenant app.tenants;
begin
  if p_for_update then
    select * into v_tenant from app.tenants where id = v_id for update;
  else
    select * into v_tenant from app.tenants where id = v_id;
  end if;
  if v_tenant.id is null then
    perform app.refuse(404, 'Tenant not found', format('Tenant with ID %s not found', p_tenant_id), 'tenant_not_found');
  end if;
  return v_tenant;
end
$$;
comment on function app.find_tenant(text, boolean) is
  'The tenant with this id; raises TM404 `Tenant not found`, also for what is not a uuid. p_for_update locks the row until the transaction ends.';
revoke all on function app.find_tenant(text, boolean) from public;
reset role;
--! EndIncluded context/find_tenant.sql
--! Included context/move_tenant.sql
set local role tms_registrar;
create or replace function app.move_tenant(p_tenant_id text, p_from text, p_to text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants := app.find_tenant(p_tenant_id, true);
begin
  if v_tenant.status <> p_from then
    perform app.refuse(409, 'Conflict', format('The tenant is %s, not %s', v_tenant.status, p_from), 'wrong_status');
  end if;
  update app.tenants set status = p_to, updated_at = greatest(clock_timestamp(), updated_at)
  where id = v_tenant.id
  returning * into v_tenant;
  return app.tenant_json(v_tenant);
end
$$;
comment on function app.move_tenant(text, text, text) is
  'Moves a tenant from one status to the next and returns it; raises TM404, or TM409 when it is not in p_from.';
revoke all on function app.move_tenant(text, text, text) from public;
reset role;
--! EndIncluded context/move_tenant.sql
--! Included context/empty_tenant.sql
-- Children before parents: a cascade from the top looks for children row by row, and finds them; from the leaves up the
-- same look-ups find nothing. The order comes from the catalog, so that a table isolated tomorrow takes its place in it.
set local role tms_app;
create or replace function app.empty_tenant(p_tenant_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table regclass;
begin
  perform app.set_tenant(p_tenant_id);
  for v_table in
    with recursive tables as (
      select conrelid as relid from pg_constraint
      where contype = 'f' and confrelid = 'app.tenants'::regclass and conparentid = 0
    ), levels (relid, level) as (
      select relid, 0 from tables
      union
      -- The bound ends cycles of tables that refer to each other: those are left to the cascade.
      select c.conrelid, l.level + 1
      from levels l
      join pg_constraint c on c.confrelid = l.relid and c.contype = 'f' and c.conrelid <> c.confrelid
      where c.conrelid in (select relid from tables) and l.level < (select count(*) from tables)
    )
    select relid from levels group by relid order by max(level) desc, relid
  loop
    if has_table_privilege(v_table, 'delete') then
      execute format('delete from %s where tenant_id = $1', v_table) using p_tenant_id;
    end if;
  end loop;
end
$$;
comment on function app.empty_tenant(uuid) is
  'Deletes every row of a tenant but the tenant itself, children before parents, and leaves the transaction inside the tenant.';
revoke all on function app.empty_tenant(uuid) from public;
grant execute on function app.empty_tenant(uuid) to tms_registrar;
reset role;
--! EndIncluded context/empty_tenant.sql
--! Included context/remove_tenant.sql
set local role tms_registrar;
create or replace function app.remove_tenant(p_tenant app.tenants)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.empty_tenant(p_tenant.id);
  delete from app.tenants where id = p_tenant.id;
  return json_build_object(
    'message', format('Tenant ''%s'' (%s) deleted successfully', p_tenant.name, p_tenant.slug),
    'tenant_id', p_tenant.id,
    'warning', 'All related data has been permanently deleted: users, boards and their content, generations and media, provider configurations, credit transactions');
end
$$;
comment on function app.remove_tenant(app.tenants) is 'Deletes a tenant with everything in it and says so.';
revoke all on function app.remove_tenant(app.tenants) from public;
reset role;
--! EndIncluded context/remove_tenant.sql
--! Included context/count_tenants.sql
set local role tms_registrar;
create or replace function app.count_tenants(p_status text)
returns bigint
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(case p_status when 'pending' then pending when 'active' then active when 'suspended' then suspended
                      else pending + active + suspended end), 0)::bigint
  from control.tenant_counts
$$;
comment on function app.count_tenants(text) is 'How many tenants have a status, exactly; null counts all.';
revoke all on function app.count_tenants(text) from public;
reset role;
--! EndIncluded context/count_tenants.sql
--! Included context/tenant_page.sql
set local role tms_registrar;
create or replace function app.tenant_page(p_limit int, p_after_at timestamptz, p_after_id uuid, p_status text, p_pattern text)
returns setof app.tenants
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Dynamic for the plan's sake: a predicate that may be absent keeps the planner off the index that serves it.
  return query execute
    'select * from app.tenants where created_at <= $1 and (created_at < $1 or id > $2)'
    || case when p_status is null then '' else ' and status = $3' end
    || case when p_pattern is null then '' else ' and (name ilike $4 or slug ilike $4)' end
    || ' order by created_at desc, id limit $5'
  using p_after_at, p_after_id, p_status, p_pattern, p_limit;
end
$$;
comment on function app.tenant_page(int, timestamptz, uuid, text, text) is
  'p_limit tenants, newest first, after (p_after_at, p_after_id), with a status, name or slug like a pattern; null for either asks nothing.';
revoke all on function app.tenant_page(int, timestamptz, uuid, text, text) from public;
reset role;
--! EndIncluded context/tenant_page.sql
--! Included context/create_sample_data.sql
-- The tenant of the transaction owns the rows: the caller sets it first, and row level security holds it to that.
set local role tms_app;
create or replace function app.create_sample_data(p_user_id uuid)
returns void
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  with board as (
    insert into app.boards (tenant_id, owner_id, title, description)
    values (app.tenant_id(), p_user_id, 'Welcome board', 'Sample content; delete it when you are done looking.')
    returning tenant_id, id
  ), generation as (
    insert into app.generations (tenant_id, board_id, user_id, artifact_type, status, input, completed_at)
    select tenant_id, id, p_user_id, kind, 'completed', jsonb_build_object('prompt', prompt), clock_timestamp()
    from board, (values ('image', 'A lighthouse at dusk'), ('text', 'Three names for a lighthouse'), ('audio', 'Waves under a lighthouse')) as sample (kind, prompt)
    returning tenant_id, id, artifact_type
  ), medium as (
    insert into app.media (tenant_id, generation_id, storage_url, content_type, size_bytes)
    select tenant_id, id, format('sample://%s/%s', tenant_id, artifact_type),
           case artifact_type when 'image' then 'image/png' when 'text' then 'text/plain' else 'audio/ogg' end, 1024
    from generation
  ), credit as (
    insert into app.credit_transactions (tenant_id, user_id, generation_id, type, amount, balance_after, description, created_at)
    select board.tenant_id, p_user_id, null::uuid, 'grant', 100, 100, 'Welcome credits', now() from board
    union all
    select tenant_id, p_user_id, id, 'usage', -10, 90, 'Sample generation', now() + interval '1 microsecond'
    from generation where artifact_type = 'image'
  )
  insert into app.provider_configs (tenant_id, provider_name, config, is_enabled)
  select tenant_id, 'sample-provider', '{"endpoint": "https://provider.example"}', false from board
$$;
comment on function app.create_sample_data(uuid) is
  'One board with three generations and their media, a credit grant and its use, one disabled provider configuration, owned by a user of the transaction''s tenant.';
revoke all on function app.create_sample_data(uuid) from public;
grant execute on function app.create_sample_data(uuid) to tms_registrar;
reset role;
--! EndIncluded context/create_sample_data.sql
--! Included context/insert_tenant.sql
set local role tms_registrar;
create or replace function app.insert_tenant(p_name text, p_slug text, p_slug_base text, p_status text, p_registration jsonb)
returns app.tenants
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants;
  v_slug text := coalesce(p_slug, p_slug_base);
begin
  loop
    insert into app.tenants (name, slug, status, registration)
    values (p_name, v_slug, p_status, p_registration)
    on conflict on constraint tenants_slug_key do nothing
    returning * into v_tenant;
    if found then
      return v_tenant;
    elsif p_slug is not null then
      perform app.refuse(409, 'Conflict', format('A tenant with slug ''%s'' already exists', p_slug), 'tenants_slug_key');
    end if;
    -- The first free suffix; whoever takes it in between sends us round again. The cut leaves room for it.
    select s.slug into v_slug
    from (select rtrim(left(p_slug_base, 255 - 8), '-') || '-' || generate_series(2, 1000000) as slug) s
    where not exists (select from app.tenants t where t.slug = s.slug)
    limit 1;
  end loop;
end
$$;
comment on function app.insert_tenant(text, text, text, text, jsonb) is
  'Inserts a tenant with the slug p_slug, or with the first free one of p_slug_base, p_slug_base-2, p_slug_base-3 … when p_slug is null. Raises TM409 when p_slug is used.';
revoke all on function app.insert_tenant(text, text, text, text, jsonb) from public;
reset role;
--! EndIncluded context/insert_tenant.sql
--! Included context/replay.sql
set local role tms_registrar;
create or replace function app.replay(p_auth_provider text, p_auth_subject text, p_key text, p_request jsonb)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash constant bytea := sha256(convert_to(p_request::text, 'UTF8'));
  v_first control.idempotency_keys;
begin
  loop
    -- A parallel repeat waits here for the first to end; when that one fails its claim is gone and this one goes ahead.
    insert into control.idempotency_keys (auth_provider, auth_subject, key, request_hash)
    values (p_auth_provider, p_auth_subject, p_key, v_hash)
    on conflict do nothing;
    if found then
      -- Each new key sweeps a few old ones: nothing to schedule, nothing that piles up.
      delete from control.idempotency_keys where ctid in (
        select ctid from control.idempotency_keys where created_at < now() - interval '24 hours' limit 10 for update skip locked);
      return null;
    end if;
    select * into v_first from control.idempotency_keys
    where auth_provider = p_auth_provider and auth_subject = p_auth_subject and key = p_key;
    exit when found;  -- else it was swept, or went with its tenant, in between
  end loop;
  if v_first.request_hash <> v_hash then
    perform app.refuse(422, 'Validation failed', 'The Idempotency-Key was already used with another request', 'idempotency_key_reused',
      '{"errors": [{"field": "Idempotency-Key", "message": "was already used with another request"}]}');
  end if;
  return (v_first.body::jsonb || '{"existing": true}')::json;
end
$$;
comment on function app.replay(text, text, text, jsonb) is
  'Claims an idempotency key and returns null, or returns the first answer with existing true; raises TM422 when the request differs.';
revoke all on function app.replay(text, text, text, jsonb) from public;
reset role;
--! EndIncluded context/replay.sql
--! Included context/isolation_advice.sql
set local role tms_registrar;
create or replace function app.isolation_advice()
returns setof text
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select format('The table %s holds tenants'' rows without forced row level security: select app.isolate(''%s'')', c.oid::regclass, c.oid::regclass)
  from pg_class c
  where c.relkind in ('r', 'p') and c.relnamespace = 'app'::regnamespace and not (c.relrowsecurity and c.relforcerowsecurity)
  union all
  select format('The role %s can bypass row level security: run db/roles.sql again', rolname)
  from pg_roles
  where rolname in ('tms_service', 'tms_app', 'tms_registrar', 'tms_owner', 'tms_auditor') and (rolsuper or rolbypassrls)
$$;
comment on function app.isolation_advice() is 'What GET /api/setup/status says of isolation: one sentence a fault that the catalog shows, none when there is none.';
revoke all on function app.isolation_advice() from public;
reset role;
--! EndIncluded context/isolation_advice.sql

--! Included api/service/ensure_default_tenant.sql
set local role tms_registrar;
create or replace function api.ensure_default_tenant(p_slug text, p_name text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Read first: every start but the very first writes nothing, and works while the server only reads.
  if exists (select from control.deployment) then
    return;
  end if;
  insert into control.deployment default values on conflict do nothing;
  if found then
    insert into app.tenants (slug, name, is_default) values (p_slug, p_name, true);
  end if;
end
$$;
comment on function api.ensure_default_tenant(text, text) is
  'Makes the default tenant, once in the life of a database: a later start, also with another slug, changes nothing.';
revoke all on function api.ensure_default_tenant(text, text) from public;
grant execute on function api.ensure_default_tenant(text, text) to tms_service;
reset role;
--! EndIncluded api/service/ensure_default_tenant.sql
--! Included api/service/get_login_faults.sql
-- Not a definer: the question is what the login itself may do.
set local role tms_registrar;
create or replace function api.get_login_faults()
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'it is a superuser' from pg_roles where rolname = session_user and rolsuper
  union all
  select 'it has BYPASSRLS' from pg_roles where rolname = session_user and rolbypassrls
  union all
  select 'it may replicate, and so read every row' from pg_roles where rolname = session_user and rolreplication
  union all
  select 'it may create roles' from pg_roles where rolname = session_user and rolcreaterole
  union all
  select format('it is a member of the role %s', g.rolname)
  from pg_auth_members m join pg_roles g on g.oid = m.roleid join pg_roles l on l.oid = m.member
  where l.rolname = session_user
  union all
  select format('it owns or has a right on the table %s.%s', n.nspname, c.relname)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where (n.nspname in ('app', 'control', 'audit') or exists (select from pg_policy where polrelid = c.oid and polname = 'tenant_only'))
    and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    and case when c.relkind = 'S' then has_sequence_privilege(session_user, c.oid, 'usage, select, update')
        else has_any_column_privilege(session_user, c.oid, 'select, insert, update, references')
          or has_table_privilege(session_user, c.oid, 'delete, truncate, trigger') end
  union all
  select 'it may create objects in the schema ' || nspname from pg_namespace
  where nspname in ('app', 'api', 'control', 'audit') and has_schema_privilege(session_user, oid, 'create')
$$;
comment on function api.get_login_faults() is
  'Why the current login must not be the service''s: one reason a row, none for a login that can only execute api functions.';
revoke all on function api.get_login_faults() from public;
grant execute on function api.get_login_faults() to tms_service;
reset role;
--! EndIncluded api/service/get_login_faults.sql
--! Included api/service/get_schema_version.sql
set local role tms_registrar;
create or replace function api.get_schema_version()
returns text
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select app.schema_version()
$$;
comment on function api.get_schema_version() is 'The last applied migration, as its file name; null before the first is committed.';
revoke all on function api.get_schema_version() from public;
grant execute on function api.get_schema_version() to tms_service;
reset role;
--! EndIncluded api/service/get_schema_version.sql
--! Included api/service/take_rate_limit.sql
-- One statement and its own transaction: a request that is rolled back has counted all the same.
set local role tms_registrar;
create or replace function api.take_rate_limit(
  p_bucket text, p_identity text, p_window_seconds int,
  out hits int, out reset_at bigint
)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  with swept as (
    delete from control.rate_limits where ctid in (
      select ctid from control.rate_limits
      where reset_at < now() - interval '1 hour' order by reset_at limit 2 for update skip locked)
  )
  insert into control.rate_limits as r (bucket, identity, hits, reset_at)
  values (p_bucket, p_identity, 1, clock_timestamp() + make_interval(secs => p_window_seconds))
  on conflict (bucket, identity) do update
  set hits = case when r.reset_at <= clock_timestamp() then 1 else least(r.hits, 2147483646) + 1 end,
      reset_at = case when r.reset_at <= clock_timestamp() then excluded.reset_at else r.reset_at end
  returning hits, ceil(extract(epoch from reset_at))::bigint
$$;
comment on function api.take_rate_limit(text, text, int) is
  'Counts one request of an identity in a bucket''s fixed window: hits in this window with this one, and when it ends (Unix seconds, rounded up).';
revoke all on function api.take_rate_limit(text, text, int) from public;
grant execute on function api.take_rate_limit(text, text, int) to tms_service;
reset role;
--! EndIncluded api/service/take_rate_limit.sql
--! Included api/setup/get_setup_status.sql
set local role tms_registrar;
create or replace function api.get_setup_status(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_schema_version text, p_advice text[]
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default app.tenants;
  v_behind constant boolean := app.schema_version() is distinct from p_schema_version;
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  select * into v_default from app.tenants where is_default;
  return json_build_object(
    'setup_needed', (v_default.id is null and p_tenant_slug is null) or v_behind,
    'has_default_tenant', v_default.id is not null,
    'default_tenant_id', v_default.id,
    'default_tenant_slug', v_default.slug,
    'multi_tenant_mode', p_tenant_slug is not null,
    'auth_provider', 'jwt',
    'recommendations', array(
      select 'The database schema is not the one of this release: run npm run migrate' where v_behind
      union all
      select 'There is no default tenant: create it with POST /api/setup/tenant and the default slug'
      where v_default.id is null and p_tenant_slug is null
      union all
      select format('%s tenant(s) wait for approval: GET /api/setup/tenants?status=pending lists them', app.count_tenants('pending'))
      where app.count_tenants('pending') > 0
      union all
      select * from app.isolation_advice()
      union all
      select * from unnest(p_advice)
    )
  );
end
$$;
comment on function api.get_setup_status(text, text, text, text, text, text, text, text[]) is
$$The setup status (spec 2.2). p_schema_version is the migration this release was built with; p_advice are sentences the
service found in its own configuration. Reads only. Raises TM403.$$;
revoke all on function api.get_setup_status(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.get_setup_status(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/get_setup_status.sql
--! Included api/setup/create_tenant.sql
set local role tms_registrar;
create or replace function api.create_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_name text, p_slug text, p_settings jsonb, p_sample_data boolean, p_may_be_default boolean,
  p_idempotency_key text,
  out body json, out created boolean
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenant_id uuid;
  v_user_id uuid;
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  if p_idempotency_key is not null then
    select r.body into body from app.replay(p_auth_provider, p_auth_subject, p_idempotency_key,
      jsonb_build_object('name', p_name, 'slug', p_slug, 'settings', p_settings, 'include_sample_data', p_sample_data)) r (body);
    created := body is null;
    if not created then
      return;
    end if;
  end if;

  insert into app.tenants (name, slug, settings, is_default)
  values (p_name, p_slug, coalesce(p_settings, '{}'),
          p_may_be_default and not exists (select from app.tenants where is_default))
  on conflict on constraint tenants_slug_key do nothing
  returning id into v_tenant_id;
  if v_tenant_id is null then
    perform app.refuse(409, 'Conflict', format('A tenant with slug ''%s'' already exists', p_slug), 'tenants_slug_key');
  end if;

  if p_sample_data then
    insert into app.users (tenant_id, auth_provider, auth_subject, display_name, role)
    values (v_tenant_id, 'sample', 'sample-user', 'Sample user', 'member')
    returning id into v_user_id;
    perform app.set_tenant(v_tenant_id);
    perform app.create_sample_data(v_user_id);
  end if;

  body := json_build_object(
    'tenant_id', v_tenant_id, 'name', p_name, 'slug', p_slug,
    'message', format('Tenant ''%s'' (%s) created successfully', p_name, p_slug), 'existing', false);
  created := true;
  if p_idempotency_key is not null then
    update control.idempotency_keys k set tenant_id = v_tenant_id, body = create_tenant.body
    where k.auth_provider = p_auth_provider and k.auth_subject = p_auth_subject and k.key = p_idempotency_key;
  end if;
end
$$;
comment on function api.create_tenant(text, text, text, text, text, text, text, text, jsonb, boolean, boolean, text) is
$$Creates a tenant, with sample data when asked, in one transaction. With an idempotency key a repeat by the same caller
with the same request returns the first body with existing true. p_may_be_default: this tenant becomes the default one if
there is none. Raises TM403, TM409 `Conflict` (slug used), TM422 (key used with another body).$$;
revoke all on function api.create_tenant(text, text, text, text, text, text, text, text, jsonb, boolean, boolean, text) from public;
grant execute on function api.create_tenant(text, text, text, text, text, text, text, text, jsonb, boolean, boolean, text) to tms_service;
reset role;
--! EndIncluded api/setup/create_tenant.sql
--! Included api/setup/list_tenants.sql
set local role tms_registrar;
create or replace function api.list_tenants(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_limit int, p_cursor text, p_status text, p_search text,
  out body json, out next_cursor text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_after record := app.read_cursor(p_cursor);
  -- The client's text is a text, not a pattern.
  v_pattern constant text := '%' || regexp_replace(p_search, '([%_\\])', '\\\1', 'g') || '%';
  v_total bigint;
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  if p_search is null then
    v_total := app.count_tenants(p_status);
  else
    select count(*) into v_total from app.tenants
    where (name ilike v_pattern or slug ilike v_pattern) and (p_status is null or status = p_status);
  end if;

  -- One row more than the page tells whether there is a next one.
  select json_build_object(
           'tenants', coalesce(json_agg(app.tenant_json(p.t) order by p.n) filter (where p.n <= p_limit), '[]'),
           'total_count', v_total),
         case when count(*) > p_limit then max(app.cursor_of((p.t).created_at, (p.t).id)) filter (where p.n = p_limit) end
  into body, next_cursor
  from (
    select t, row_number() over (order by t.created_at desc, t.id) as n
    from app.tenant_page(p_limit + 1, v_after.at, v_after.id, p_status, v_pattern) t) p;
end
$$;
comment on function api.list_tenants(text, text, text, text, text, text, int, text, text, text) is
$$Tenants newest first, then by id: p_limit of them after p_cursor, with a status, whose name or slug contains p_search.
body is {tenants, total_count}: the total counts all that match, exactly. next_cursor is null on the last page. Raises TM403, TM422.$$;
revoke all on function api.list_tenants(text, text, text, text, text, text, int, text, text, text) from public;
grant execute on function api.list_tenants(text, text, text, text, text, text, int, text, text, text) to tms_service;
reset role;
--! EndIncluded api/setup/list_tenants.sql
--! Included api/setup/get_tenant.sql
set local role tms_registrar;
create or replace function api.get_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text,
  out body json, out etag text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  body := app.tenant_json(app.find_tenant(p_tenant_id));
  etag := app.etag(body);
end
$$;
comment on function api.get_tenant(text, text, text, text, text, text, text) is
$$One tenant and its ETag. Raises TM403, TM404.$$;
revoke all on function api.get_tenant(text, text, text, text, text, text, text) from public;
grant execute on function api.get_tenant(text, text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/setup/get_tenant.sql
--! Included api/setup/update_tenant.sql
set local role tms_registrar;
create or replace function api.update_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text, p_name text, p_slug text, p_settings jsonb, p_if_match text[],
  out body json, out etag text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants;
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  v_tenant := app.find_tenant(p_tenant_id, true);
  etag := app.etag(app.tenant_json(v_tenant));
  if p_if_match is not null and not (etag = any (p_if_match) or '*' = any (p_if_match)) then
    perform app.refuse(412, 'Precondition failed', 'The tenant has changed since it was read', 'stale_etag');
  end if;

  -- An empty object changes nothing, not even updated_at. Each given field is replaced as a whole.
  if coalesce(p_name, p_slug, p_settings::text) is not null then
    begin
      update app.tenants
      set name = coalesce(p_name, name), slug = coalesce(p_slug, slug), settings = coalesce(p_settings, settings),
          updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
      where id = v_tenant.id
      returning * into v_tenant;
    exception when unique_violation then
      perform app.refuse(409, 'Conflict', format('A tenant with slug ''%s'' already exists', p_slug), 'tenants_slug_key');
    end;
  end if;
  body := app.tenant_json(v_tenant);
  etag := app.etag(body);
end
$$;
comment on function api.update_tenant(text, text, text, text, text, text, text, text, text, jsonb, text[]) is
$$Changes what is given (not null) of a tenant and returns it with its new ETag. p_if_match: ETags of which one must be
that of the tenant, or *; null asks nothing. Raises TM403, TM404, TM409 `Conflict`, TM412.$$;
revoke all on function api.update_tenant(text, text, text, text, text, text, text, text, text, jsonb, text[]) from public;
grant execute on function api.update_tenant(text, text, text, text, text, text, text, text, text, jsonb, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/update_tenant.sql
--! Included api/setup/delete_tenant.sql
set local role tms_registrar;
create or replace function api.delete_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants;
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  v_tenant := app.find_tenant(p_tenant_id, true);
  if v_tenant.is_default and p_tenant_slug is null then
    perform app.refuse(400, 'Default tenant', 'The default tenant cannot be deleted in single-tenant mode', 'default_tenant');
  end if;
  return app.remove_tenant(v_tenant);
end
$$;
comment on function api.delete_tenant(text, text, text, text, text, text, text) is
$$Deletes a tenant and by cascade every row of it, in one transaction. Raises TM403, TM404, TM400 `Default tenant`.$$;
revoke all on function api.delete_tenant(text, text, text, text, text, text, text) from public;
grant execute on function api.delete_tenant(text, text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/setup/delete_tenant.sql
--! Included api/setup/approve_tenant.sql
set local role tms_registrar;
create or replace function api.approve_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  return app.move_tenant(p_tenant_id, 'pending', 'active');
end
$$;
comment on function api.approve_tenant(text, text, text, text, text, text, text) is
$$Approves a registration: pending to active. Returns the tenant. Raises TM403, TM404, TM409 when it is not pending.$$;
revoke all on function api.approve_tenant(text, text, text, text, text, text, text) from public;
grant execute on function api.approve_tenant(text, text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/setup/approve_tenant.sql
--! Included api/setup/reject_tenant.sql
set local role tms_registrar;
create or replace function api.reject_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants;
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  v_tenant := app.find_tenant(p_tenant_id, true);
  if v_tenant.status <> 'pending' then
    perform app.refuse(409, 'Conflict', format('The tenant is %s, not pending', v_tenant.status), 'wrong_status');
  end if;
  return app.remove_tenant(v_tenant);
end
$$;
comment on function api.reject_tenant(text, text, text, text, text, text, text) is
$$Rejects a registration: deletes a pending tenant. Raises TM403, TM404, TM409 when it is not pending.$$;
revoke all on function api.reject_tenant(text, text, text, text, text, text, text) from public;
grant execute on function api.reject_tenant(text, text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/setup/reject_tenant.sql
--! Included api/setup/suspend_tenant.sql
set local role tms_registrar;
create or replace function api.suspend_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  if p_tenant_slug is null and (app.find_tenant(p_tenant_id)).is_default then
    perform app.refuse(409, 'Conflict', 'The default tenant cannot be suspended in single-tenant mode', 'default_tenant');
  end if;
  return app.move_tenant(p_tenant_id, 'active', 'suspended');
end
$$;
comment on function api.suspend_tenant(text, text, text, text, text, text, text) is
$$Suspends a tenant: nobody gets in until it is resumed. Returns the tenant. Raises TM403, TM404, TM409 when it is not active.$$;
revoke all on function api.suspend_tenant(text, text, text, text, text, text, text) from public;
grant execute on function api.suspend_tenant(text, text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/setup/suspend_tenant.sql
--! Included api/setup/resume_tenant.sql
set local role tms_registrar;
create or replace function api.resume_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  return app.move_tenant(p_tenant_id, 'suspended', 'active');
end
$$;
comment on function api.resume_tenant(text, text, text, text, text, text, text) is
$$Resumes a suspended tenant. Returns the tenant. Raises TM403, TM404, TM409 when it is not suspended.$$;
revoke all on function api.resume_tenant(text, text, text, text, text, text, text) from public;
grant execute on function api.resume_tenant(text, text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/setup/resume_tenant.sql
--! Included api/tenants/get_registration_status.sql
set local role tms_registrar;
create or replace function api.get_registration_status(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_requires_approval boolean, p_max_tenants_per_user int, p_allowed_domains text[]
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.enter_lobby(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  return json_build_object(
    'enabled', p_tenant_slug is not null, 'requires_approval', p_requires_approval,
    'max_tenants_per_user', p_max_tenants_per_user, 'allowed_domains', p_allowed_domains);
end
$$;
comment on function api.get_registration_status(text, text, text, text, text, text, boolean, int, text[]) is
$$The registration status (spec 2.3), from the configuration of the service. Raises TM403.$$;
revoke all on function api.get_registration_status(text, text, text, text, text, text, boolean, int, text[]) from public;
grant execute on function api.get_registration_status(text, text, text, text, text, text, boolean, int, text[]) to tms_service;
reset role;
--! EndIncluded api/tenants/get_registration_status.sql
--! Included api/tenants/register_tenant.sql
set local role tms_registrar;
create or replace function api.register_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_organization_name text, p_organization_slug text, p_slug_base text, p_email_domain text, p_registration jsonb, p_sample_data boolean,
  p_requires_approval boolean, p_max_tenants_per_user int, p_allowed_domains text[], p_frontend_base_url text,
  out body json, out status text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants;
  v_user_id uuid;
begin
  if p_tenant_slug is null then
    perform app.refuse(403, 'Registration disabled', 'Tenant registration is only available in multi-tenant mode', 'registration_disabled');
  end if;
  perform app.enter_lobby(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  if not p_email_domain = any (p_allowed_domains) then
    perform app.refuse(403, 'Domain not allowed', format('Email domain ''%s'' is not allowed for registration', p_email_domain), 'domain_not_allowed');
  end if;
  if p_max_tenants_per_user is not null then
    -- One registration of an identity at a time, or parallel ones would all count before any of them inserts.
    perform pg_advisory_xact_lock(hashtextextended(p_auth_provider || chr(10) || p_auth_subject, 0));
    if (select count(*) from app.users u
        where u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
          and u.role = 'owner' and u.removed_at is null) >= p_max_tenants_per_user then
      perform app.refuse(403, 'Tenant limit reached', format('A user may own at most %s tenant(s)', p_max_tenants_per_user), 'tenant_limit');
    end if;
  end if;

  status := case when p_requires_approval then 'pending' else 'active' end;
  select * into v_tenant from app.insert_tenant(p_organization_name, p_organization_slug, p_slug_base, status, p_registration);
  insert into app.users (tenant_id, auth_provider, auth_subject, email, display_name, role)
  values (v_tenant.id, p_auth_provider, p_auth_subject, p_registration ->> 'admin_email',
          coalesce(p_registration ->> 'admin_name', p_display_name), 'owner')
  returning id into v_user_id;
  if p_sample_data then
    perform app.set_tenant(v_tenant.id);
    perform app.create_sample_data(v_user_id);
  end if;

  body := json_build_object(
    'tenant_id', v_tenant.id, 'organization_name', v_tenant.name, 'tenant_slug', v_tenant.slug, 'status', status,
    'admin_instructions', case when p_requires_approval
      then format('The tenant waits for approval. Once it is approved, send the header X-Tenant: %s on all API requests.', v_tenant.slug)
      else format('Send the header X-Tenant: %s on all API requests.', v_tenant.slug) end,
    'dashboard_url', coalesce(p_frontend_base_url, '') || '/?tenant=' || v_tenant.slug,
    'api_access', json_build_object(
      'tenant_header', 'X-Tenant: ' || v_tenant.slug, 'graphql_endpoint', '/graphql',
      'api_base_url', '/api', 'authentication_required', true));
end
$$;
comment on function api.register_tenant(text, text, text, text, text, text, text, text, text, text, jsonb, boolean, boolean, int, text[], text) is
$$Registers a tenant whose owner is the caller (spec 4.2). The slug is p_organization_slug, or made from p_slug_base when
that is null. p_registration keeps admin_email, admin_name, use_case, organization_size, metadata with the tenant.
Raises TM403 `Registration disabled`, `Access denied`, `Domain not allowed`, `Tenant limit reached`, in this order, then TM409 `Conflict`.$$;
revoke all on function api.register_tenant(text, text, text, text, text, text, text, text, text, text, jsonb, boolean, boolean, int, text[], text) from public;
grant execute on function api.register_tenant(text, text, text, text, text, text, text, text, text, text, jsonb, boolean, boolean, int, text[], text) to tms_service;
reset role;
--! EndIncluded api/tenants/register_tenant.sql
--! Included api/tenants/get_current_tenant.sql
set local role tms_app;
create or replace function api.get_current_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller record := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
begin
  return (
    select json_build_object('tenant', app.tenant_json(t), 'membership', app.member_json(u))
    from app.tenants t
    join app.users u on u.tenant_id = t.id and u.id = v_caller.user_id
    where t.id = v_caller.tenant_id);
end
$$;
comment on function api.get_current_tenant(text, text, text, text, text, text) is
$$The tenant of the request and the membership of the caller: {tenant, membership}. Raises TM403.$$;
revoke all on function api.get_current_tenant(text, text, text, text, text, text) from public;
grant execute on function api.get_current_tenant(text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/tenants/get_current_tenant.sql
--! Included api/tenants/list_my_tenants.sql
set local role tms_registrar;
create or replace function api.list_my_tenants(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tenant_slug is null then
    perform app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  end if;
  return (
    select json_build_object('tenants', coalesce(json_agg(json_build_object(
        'tenant_id', t.id, 'name', t.name, 'slug', t.slug, 'status', t.status,
        'role', u.role, 'joined_at', app.iso_time(u.created_at)) order by u.created_at, t.id), '[]'),
      'total_count', count(*))
    from app.users u
    join app.tenants t on t.id = u.tenant_id
    where u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject and u.removed_at is null);
end
$$;
comment on function api.list_my_tenants(text, text, text, text, text, text) is
$$Every tenant that the caller is a member of, whatever its status, oldest membership first: {tenants, total_count}. In multi-tenant mode any identified tenant will do.$$;
revoke all on function api.list_my_tenants(text, text, text, text, text, text) from public;
grant execute on function api.list_my_tenants(text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/tenants/list_my_tenants.sql
--! Included api/members/list_members.sql
set local role tms_app;
create or replace function api.list_members(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_limit int, p_cursor text,
  out body json, out next_cursor text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller record;
  v_after record := app.read_cursor(p_cursor);
begin
  select * into v_caller from app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  select json_build_object('members', coalesce(json_agg(app.member_json(p.m) order by p.n) filter (where p.n <= p_limit), '[]')),
         case when count(*) > p_limit then max(app.cursor_of((p.m).created_at, (p.m).id)) filter (where p.n = p_limit) end
  into body, next_cursor
  from (
    select m, row_number() over (order by m.created_at desc, m.id) as n
    from app.users m
    where m.tenant_id = v_caller.tenant_id and m.removed_at is null
      and m.created_at <= v_after.at and (m.created_at < v_after.at or m.id > v_after.id)
    order by m.created_at desc, m.id
    limit p_limit + 1) p;
end
$$;
comment on function api.list_members(text, text, text, text, text, text, int, text) is
$$The members of the tenant, newest first: {members}. next_cursor is null on the last page. Raises TM403, TM422.$$;
revoke all on function api.list_members(text, text, text, text, text, text, int, text) from public;
grant execute on function api.list_members(text, text, text, text, text, text, int, text) to tms_service;
reset role;
--! EndIncluded api/members/list_members.sql
--! Included api/members/add_member.sql
set local role tms_app;
create or replace function api.add_member(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_new_provider text, p_new_subject text, p_new_email text, p_new_display_name text, p_new_role text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller record;
  v_user app.users;
begin
  select * into v_caller from app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  perform app.require_member_admin(v_caller.role, p_new_role);
  insert into app.users as u (tenant_id, auth_provider, auth_subject, email, display_name, role)
  values (v_caller.tenant_id, coalesce(p_new_provider, p_auth_provider), p_new_subject, p_new_email, p_new_display_name, p_new_role)
  on conflict on constraint users_tenant_identity_key do update
  set email = coalesce(excluded.email, u.email), display_name = coalesce(excluded.display_name, u.display_name),
      role = excluded.role, removed_at = null, updated_at = excluded.updated_at
  where u.removed_at is not null
  returning * into v_user;
  if v_user.id is null then
    perform app.refuse(409, 'Conflict', 'This identity is already a member of the tenant', 'users_tenant_identity_key');
  end if;
  return app.member_json(v_user);
end
$$;
comment on function api.add_member(text, text, text, text, text, text, text, text, text, text, text) is
$$Makes an identity a member of the tenant, or a removed one a member again. Owners add every role, admins all but owner. Raises TM403, TM409 `Conflict`.$$;
revoke all on function api.add_member(text, text, text, text, text, text, text, text, text, text, text) from public;
grant execute on function api.add_member(text, text, text, text, text, text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/members/add_member.sql
--! Included api/members/remove_member.sql
set local role tms_app;
create or replace function api.remove_member(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_user_id text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller record;
  v_user app.users;
begin
  select * into v_caller from app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  -- Owners are locked in one order, so that two of them removing each other cannot leave none.
  perform from app.users where tenant_id = v_caller.tenant_id and role = 'owner' and removed_at is null order by id for update;
  select * into v_user from app.users
  where tenant_id = v_caller.tenant_id and id = app.parse_uuid(p_user_id) and removed_at is null;
  if v_user.id is null then
    perform app.refuse(404, 'Member not found', format('Member with ID %s not found', p_user_id), 'member_not_found');
  end if;
  if v_user.id <> v_caller.user_id then
    perform app.require_member_admin(v_caller.role, v_user.role);
  end if;
  if v_user.role = 'owner' and not exists (
    select from app.users
    where tenant_id = v_caller.tenant_id and role = 'owner' and removed_at is null and id <> v_user.id)
  then
    perform app.refuse(409, 'Conflict', 'The last owner of a tenant cannot be removed', 'last_owner');
  end if;
  update app.users set removed_at = now(), updated_at = now() where tenant_id = v_caller.tenant_id and id = v_user.id;
  delete from app.board_members where tenant_id = v_caller.tenant_id and user_id = v_user.id;
  return json_build_object('message', 'Member removed', 'user_id', v_user.id);
end
$$;
comment on function api.remove_member(text, text, text, text, text, text, text) is
$$Ends a membership at once; what the member made stays. Everybody may leave, owners remove anybody, admins all but owners. Raises TM403, TM404 `Member not found`, TM409 for the last owner.$$;
revoke all on function api.remove_member(text, text, text, text, text, text, text) from public;
grant execute on function api.remove_member(text, text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/members/remove_member.sql
--! Included api/boards/list_boards.sql
set local role tms_app;
create or replace function api.list_boards(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_limit int, p_cursor text,
  out body text, out next_cursor text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set datestyle = 'ISO'
as $$
declare
  v_caller record := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  v_after record := app.read_cursor(p_cursor);
  v_boards text[];
  v_ids uuid[];
  v_times timestamptz[];
begin
  -- One row more than the page tells whether there is a next one.
  select array_agg(app.board_json(b)), array_agg(b.id), array_agg(b.created_at)
  into v_boards, v_ids, v_times
  from (
    select * from app.boards t
    where t.tenant_id = v_caller.tenant_id
      and t.created_at <= v_after.at and (t.created_at < v_after.at or t.id > v_after.id)
    order by t.created_at desc, t.id
    limit p_limit + 1) b;
  if cardinality(v_boards) > p_limit then
    next_cursor := app.cursor_of(v_times[p_limit], v_ids[p_limit]);
    v_boards := v_boards[:p_limit];
  end if;
  body := concat('{"boards":[', array_to_string(v_boards, ','), ']}');
end
$$;
comment on function api.list_boards(text, text, text, text, text, text, int, text) is
$$The boards of the tenant, newest first: p_limit of them after p_cursor. body is {boards}; next_cursor is null on the last page. Raises TM403, TM422.$$;
revoke all on function api.list_boards(text, text, text, text, text, text, int, text) from public;
grant execute on function api.list_boards(text, text, text, text, text, text, int, text) to tms_service;
reset role;
--! EndIncluded api/boards/list_boards.sql

revoke create on schema app, api from tms_app, tms_registrar;
