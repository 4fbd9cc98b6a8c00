--! Previous: -
--! Hash: sha1:03cd2b51fe8d95102f10a710cc1a444c9acf563b
--! Message: initial

-- The database is closed but for the roles that are named here; roles come from db/roles.sql.
revoke all on database :DATABASE_NAME from public;
grant connect on database :DATABASE_NAME to tms_service, tms_auditor;
-- Before Postgres 16 an owner that inherits nothing has the rights of pg_database_owner only after it says so.
set local role pg_database_owner;
revoke all on schema public from public;
reset role;

create schema app;
create schema api;
create schema control;
comment on schema app is 'The tenants'' tables, each under row level security keyed on app.tenant_id';
comment on schema api is 'The SQL functions that HTTP calls, one an operation; nothing else';
comment on schema control is 'The service''s own bookkeeping: no tenant data';
grant usage on schema app to tms_app, tms_registrar, tms_auditor;
grant usage on schema api to tms_service, tms_app, tms_registrar, tms_auditor;
grant usage on schema control to tms_registrar;
alter default privileges revoke execute on functions from public;

-- Functions belong to the role they act as; creating them takes a right that no role keeps.
grant create on schema app, api to tms_app, tms_registrar;

create extension if not exists pg_trgm with schema control;
set local search_path = control, public, pg_catalog;

--! Included context/tenant_id.sql
-- The one expression every policy is built on. A standard body: names are bound now, so no search_path and no
-- temporary object can redirect it later. STABLE, never IMMUTABLE: an immutable reader of a setting is folded into
-- cached plans and hands one tenant's rows to the next. What has not the form of a uuid is no tenant, like '' and unset: no
-- rows. LIKE, because every statement asks: a regular expression takes 7 µs, this half of one.
create or replace function app.tenant_id()
returns uuid
language sql
stable
parallel safe
return case
  when pg_catalog.current_setting('app.tenant_id', true) like '________-____-____-____-____________'
  then pg_catalog.current_setting('app.tenant_id', true)::uuid
end;

comment on function app.tenant_id() is
  'The tenant of this transaction, from the setting app.tenant_id; null when it is unset, empty or has not the form of a uuid. Raises 22P02 for that form with other digits than hexadecimal ones.';
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
--! Included context/is_distributed.sql
-- db/distribute.sql makes app.distribute(), and with it this database is that of a Citus cluster. Bound when it is asked,
-- so that a plain database needs nothing of Citus.
create or replace function app.is_distributed()
returns boolean
language sql
stable
return to_regprocedure('app.distribute(regclass)') is not null;

comment on function app.is_distributed() is 'Whether db/distribute.sql has made this database that of a Citus cluster.';
revoke all on function app.is_distributed() from public;
grant execute on function app.is_distributed() to tms_registrar, tms_auditor;
--! EndIncluded context/is_distributed.sql
--! Included context/write_policies.sql
-- The policy text stands here and nowhere else. RESTRICTIVE carries the tenant, a permissive `true` beside it lets
-- rows through at all: a policy that somebody adds later can then only narrow. The scalar subquery makes the tenant an
-- InitPlan: read once per statement, free on scans, and it cannot change inside one statement.
-- On Citus three things differ: subqueries are refused, so the bare call stands; RESTRICTIVE is lost on the way to the
-- shards, where the `true` would open everything, so the tenant's policy is the only one; FORCE is off (db/distribute.sql, 4).
create or replace function app.write_policies(p_table regclass, p_column name)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_distributed constant boolean := app.is_distributed();
  v_own constant text := format(case when v_distributed then '%I = app.tenant_id()' else '%I = (select app.tenant_id())' end, p_column);
  v_maintenance constant text := case when v_distributed
    then $q$current_setting('app.maintenance', true) = 'on'$q$
    else $q$(select current_setting('app.maintenance', true)) = 'on'$q$ end;
begin
  execute format('alter table %s enable row level security', p_table);
  execute format('alter table %s %s row level security', p_table, case when v_distributed then 'no force' else 'force' end);
  execute format('drop policy if exists tenant_only on %s', p_table);
  execute format('create policy tenant_only on %s as %s for all to tms_app using (%s) with check (%s)', p_table,
    case when v_distributed then 'permissive' else 'restrictive' end, v_own, v_own);
  execute format('drop policy if exists tenant_rows on %s', p_table);
  if not v_distributed then
    execute format('create policy tenant_rows on %s for all to tms_app using (true) with check (true)', p_table);
  end if;
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

  if app.is_distributed() then
    execute format('select app.distribute(%L)', p_table);
  end if;

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
-- With the sums, so that a ledger is read, and audited, from the index alone.
create index credit_transactions_ledger on app.credit_transactions (tenant_id, user_id, created_at, id) include (amount, balance_after);
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

--! Included control/tenant_events.sql
-- What happened to tenants, written by the statement that did it: no foreign key, so that it outlives its tenant.
create table if not exists control.tenant_events (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  event text not null constraint tenant_events_known check (event in (
    'created', 'registered', 'imported', 'approved', 'rejected', 'suspended', 'resumed', 'updated', 'deleted')),
  tenant_id uuid not null,
  slug text collate "C" not null,
  name text not null,
  changed text[],
  actor_provider text collate "C",
  actor_subject text collate "C",
  login name not null default session_user
);
create index if not exists tenant_events_by_slug on control.tenant_events (slug, id);
create index if not exists tenant_events_by_tenant on control.tenant_events (tenant_id, id);
revoke all on table control.tenant_events from public;
comment on table control.tenant_events is 'What happened to tenants, by whom, in the order of id; kept when the tenant is gone. No tenant data but id, slug and name.';
comment on column control.tenant_events.changed is 'Of an update: the fields that changed.';
comment on column control.tenant_events.actor_subject is 'Who asked over HTTP; null for what was done in SQL, by the login.';

create or replace function control.tg_tenants__record()
returns trigger
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event constant text := nullif(current_setting('app.event', true), '');
  v_actor constant json := nullif(current_setting('app.actor', true), '');
begin
  if tg_op = 'INSERT' then
    insert into control.tenant_events (event, tenant_id, slug, name, actor_provider, actor_subject)
    select coalesce(v_event, case when registration is null then 'created' else 'registered' end), id, slug, name, v_actor ->> 0, v_actor ->> 1
    from come;
  elsif tg_op = 'UPDATE' then
    insert into control.tenant_events (event, tenant_id, slug, name, changed, actor_provider, actor_subject)
    select case when g.status = c.status then 'updated' when c.status = 'suspended' then 'suspended'
                when g.status = 'pending' then 'approved' else 'resumed' end,
           c.id, c.slug, c.name, nullif(k.changed, '{}'), v_actor ->> 0, v_actor ->> 1
    from gone g join come c using (id)
    cross join lateral (select array_remove(array[
      case when g.name <> c.name then 'name' end, case when g.slug <> c.slug then 'slug' end,
      case when g.settings <> c.settings then 'settings' end], null) as changed) k
    where g.status <> c.status or k.changed <> '{}';
  else
    insert into control.tenant_events (event, tenant_id, slug, name, actor_provider, actor_subject)
    select case status when 'pending' then 'rejected' else 'deleted' end, id, slug, name, v_actor ->> 0, v_actor ->> 1
    from gone;
  end if;
  return null;
end
$$;
comment on function control.tg_tenants__record() is
  'Writes control.tenant_events, one row a tenant that a statement touched. app.actor is [provider, subject] as JSON; app.event overrides the word for an insert.';
revoke all on function control.tg_tenants__record() from public;

create or replace trigger _600_record_insert after insert on app.tenants
  referencing new table as come for each statement execute function control.tg_tenants__record();
create or replace trigger _600_record_update after update on app.tenants
  referencing old table as gone new table as come for each statement execute function control.tg_tenants__record();
create or replace trigger _600_record_delete after delete on app.tenants
  referencing old table as gone for each statement execute function control.tg_tenants__record();
--! EndIncluded control/tenant_events.sql
--! Included context/set_actor.sql
create or replace function app.set_actor(p_auth_provider text, p_auth_subject text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config('app.actor', json_build_array(p_auth_provider, p_auth_subject)::text, true);
end
$$;
comment on function app.set_actor(text, text) is 'Whom control.tenant_events names for what the rest of the transaction does.';
revoke all on function app.set_actor(text, text) from public;
grant execute on function app.set_actor(text, text) to tms_registrar;
--! EndIncluded context/set_actor.sql
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
--! Included context/join_tenant.sql
-- As tms_app, like all that the request does afterwards: on a distributed database two roles cannot work on one shard in
-- one transaction once either has written.
set local role tms_app;
create or replace function app.join_tenant(
  p_tenant_id uuid, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text,
  out tenant_id uuid, out user_id uuid, out role text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  insert into app.users as u (tenant_id, auth_provider, auth_subject, email, display_name)
  values (p_tenant_id, p_auth_provider, p_auth_subject, p_email, p_display_name)
  on conflict on constraint users_tenant_identity_key do nothing
  returning u.tenant_id, u.id, u.role into tenant_id, user_id, role;
  if not found then
    select u.tenant_id, u.id, u.role into tenant_id, user_id, role
    from app.users u
    where u.tenant_id = p_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
      and u.removed_at is null;
  end if;
end
$$;
comment on function app.join_tenant(uuid, text, text, text, text) is
  'Makes the caller a member of the transaction''s tenant, unless a parallel request just did; nulls when the membership was ended.';
revoke all on function app.join_tenant(uuid, text, text, text, text) from public;
grant execute on function app.join_tenant(uuid, text, text, text, text) to tms_registrar;
reset role;
--! EndIncluded context/join_tenant.sql
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
  select u.tenant_id, u.id, u.role into tenant_id, user_id, role
  from app.users u
  where u.tenant_id = v_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
    and u.removed_at is null;
  if not found and v_tenant_id is not null then
    perform app.set_tenant(v_tenant_id);
    select j.tenant_id, j.user_id, j.role into tenant_id, user_id, role
    from app.join_tenant(v_tenant_id, p_auth_provider, p_auth_subject, p_email, p_display_name) j;
  end if;
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
declare
  v_tenant_id uuid;
begin
  if p_tenant_slug is null then
    select e.tenant_id, e.user_id, e.role into tenant_id, user_id, role
    from app.enter_default_tenant(p_auth_provider, p_auth_subject, p_email, p_display_name) e;
  else
    -- Two look-ups, as quick as a join and sent to one shard where there are shards. An unknown slug looks as well, for
    -- nobody's members: the time it takes tells nothing either.
    v_tenant_id := coalesce((select t.id from app.tenants t where t.slug = p_tenant_slug and t.status = 'active'), gen_random_uuid());
    select u.tenant_id, u.id, u.role into tenant_id, user_id, role
    from app.users u
    where u.tenant_id = v_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
      and u.removed_at is null;
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
    perform app.set_actor(p_auth_provider, p_auth_subject);
    return;
  end if;
  perform app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  perform app.refuse(403, 'Access denied', format('The role %s is required', p_missing_role), 'not_an_operator');
end
$$;
comment on function app.require_operator(text, text, text, text, text, text) is
  'Returns for an operator (p_missing_role null), who is then the actor of what happens; raises TM403 `Access denied` for everybody else.';
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
  v_now constant timestamptz := clock_timestamp();
begin
  if v_tenant.status <> p_from then
    perform app.refuse(409, 'Conflict', format('The tenant is %s, not %s', v_tenant.status, p_from), 'wrong_status');
  end if;
  update app.tenants set status = p_to, updated_at = greatest(v_now, updated_at)
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
  -- In FROM, where a distributed database sends a call made here to the tenant's worker.
  perform 1 from app.empty_tenant(p_tenant.id);
  delete from control.idempotency_keys where tenant_id = p_tenant.id;
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
  select case when app.is_distributed()
    -- No trigger keeps the counts there: app.tenants is a table of every node.
    then (select count(*) from app.tenants where p_status is null or status = p_status)
    else (select coalesce(sum(case p_status when 'pending' then pending when 'active' then active when 'suspended' then suspended
                              else pending + active + suspended end), 0)::bigint
          from control.tenant_counts) end
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
-- The tenant must be the transaction's: the caller sets it first, and row level security holds the rows to it. It is an
-- argument too, because on a distributed database that is what sends the call (when it stands in FROM) to the tenant's
-- worker; and there no statement may be fed by another one's rows.
drop function if exists app.create_sample_data(uuid);
set local role tms_app;
create or replace function app.create_sample_data(p_tenant_id uuid, p_user_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_board_id constant uuid := gen_random_uuid();
  v_image_id constant uuid := gen_random_uuid();
  v_text_id constant uuid := gen_random_uuid();
  v_audio_id constant uuid := gen_random_uuid();
begin
  insert into app.boards (tenant_id, id, owner_id, title, description)
  values (p_tenant_id, v_board_id, p_user_id, 'Welcome board', 'Sample content; delete it when you are done looking.');

  insert into app.generations (tenant_id, id, board_id, user_id, artifact_type, status, input, completed_at)
  values
    (p_tenant_id, v_image_id, v_board_id, p_user_id, 'image', 'completed', '{"prompt": "A lighthouse at dusk"}', clock_timestamp()),
    (p_tenant_id, v_text_id, v_board_id, p_user_id, 'text', 'completed', '{"prompt": "Three names for a lighthouse"}', clock_timestamp()),
    (p_tenant_id, v_audio_id, v_board_id, p_user_id, 'audio', 'completed', '{"prompt": "Waves under a lighthouse"}', clock_timestamp());

  insert into app.media (tenant_id, generation_id, storage_url, content_type, size_bytes)
  values
    (p_tenant_id, v_image_id, format('sample://%s/image', p_tenant_id), 'image/png', 1024),
    (p_tenant_id, v_text_id, format('sample://%s/text', p_tenant_id), 'text/plain', 1024),
    (p_tenant_id, v_audio_id, format('sample://%s/audio', p_tenant_id), 'audio/ogg', 1024);

  insert into app.credit_transactions (tenant_id, user_id, generation_id, type, amount, balance_after, description, created_at)
  values
    (p_tenant_id, p_user_id, null, 'grant', 100, 100, 'Welcome credits', now()),
    (p_tenant_id, p_user_id, v_image_id, 'usage', -10, 90, 'Sample generation', now() + interval '1 microsecond');

  insert into app.provider_configs (tenant_id, provider_name, config, is_enabled)
  values (p_tenant_id, 'sample-provider', '{"endpoint": "https://provider.example"}', false);
end
$$;
comment on function app.create_sample_data(uuid, uuid) is
  'One board with three generations and their media, a credit grant and its use, one disabled provider configuration, owned by a user of the transaction''s tenant.';
revoke all on function app.create_sample_data(uuid, uuid) from public;
grant execute on function app.create_sample_data(uuid, uuid) to tms_registrar;
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
--! Included context/leaking_tables.sql
-- The proof by doing: whoever is in no tenant, or in one that does not exist, sees nothing. Index scans only: with no
-- tenant they end at once, where a scan of a large table would look at every row to find none.
set local role tms_app;
create or replace function app.leaking_tables()
returns setof regclass
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_table regclass;
  v_nowhere uuid;
  v_seen boolean;
  v_tenant_id constant uuid := app.tenant_id();
begin
  for v_nowhere in select unnest(array[null, gen_random_uuid()]) loop
    perform app.set_tenant(v_nowhere);
    for v_table in
      select c.oid from pg_class c
      where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p')
        and (c.oid = 'app.tenants'::regclass
          or exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id' and not attisdropped))
        and has_table_privilege(c.oid, 'select')
    loop
      execute format('select exists (select 1 from %s)', v_table) into v_seen;
      if v_seen then
        return next v_table;
      end if;
    end loop;
  end loop;
  perform app.set_tenant(v_tenant_id);
end
$$;
comment on function app.leaking_tables() is
  'The tenants'' tables of which tms_app sees a row without a tenant, or inside one that does not exist: none, or isolation is broken.';
revoke all on function app.leaking_tables() from public;
grant execute on function app.leaking_tables() to tms_registrar, tms_auditor;
reset role;
--! EndIncluded context/leaking_tables.sql
--! Included context/unprotected_tables.sql
create or replace function app.unprotected_tables()
returns table (name regclass, fault text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with tenant_table as (
    select c.oid, c.relrowsecurity and (c.relforcerowsecurity or app.is_distributed()) as forced,
           (select polname from pg_policy p
            where p.polrelid = c.oid and p.polpermissive = app.is_distributed() and p.polcmd = '*'
              and (to_regrole('tms_app') = any (p.polroles) or p.polroles = '{0}')
              and pg_get_expr(p.polqual, p.polrelid) ~ '^\((tenant_id|id) = (\( SELECT )?app\.tenant_id\(\)'
              and pg_get_expr(p.polwithcheck, p.polrelid) = pg_get_expr(p.polqual, p.polrelid)
            limit 1) as tenant_policy
    from pg_class c
    where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p')
      and (c.oid = 'app.tenants'::regclass
        or exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id' and not attisdropped))
  )
  select oid::regclass, 'row level security is not enabled and forced' from tenant_table where not forced
  union all
  select oid::regclass, 'the policy that keeps its rows to one tenant is missing' from tenant_table where tenant_policy is null
$$;
comment on function app.unprotected_tables() is
  'The tenants'' tables that the catalog shows without forced row level security or without the restrictive policy on the tenant.';
revoke all on function app.unprotected_tables() from public;
grant execute on function app.unprotected_tables() to tms_registrar, tms_auditor;
--! EndIncluded context/unprotected_tables.sql
--! Included context/last_audit.sql
create or replace function app.last_audit()
returns json
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select json_build_object('finished_at', app.iso_time(finished_at),
      'age_seconds', round(extract(epoch from clock_timestamp() - finished_at))::bigint,
      'errors', errors, 'warnings', warnings, 'not_run', not_run)
    from audit.runs
    where finished_at is not null and tenant is null
    order by id desc limit 1);
end
$$;
comment on function app.last_audit() is 'The last audit of all tenants that ended: {finished_at, age_seconds, errors, warnings, not_run}; null when there was none.';
revoke all on function app.last_audit() from public;
grant execute on function app.last_audit() to tms_registrar;
--! EndIncluded context/last_audit.sql
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
  where c.relkind in ('r', 'p') and c.relnamespace = 'app'::regnamespace and not (c.relrowsecurity and (c.relforcerowsecurity or app.is_distributed()))
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
  v_is_default boolean;
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

  v_is_default := p_may_be_default and not exists (select from app.tenants where is_default);
  insert into app.tenants (name, slug, settings, is_default)
  values (p_name, p_slug, coalesce(p_settings, '{}'), v_is_default)
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
    perform 1 from app.create_sample_data(v_tenant_id, v_user_id);
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
  v_now timestamptz;
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  v_tenant := app.find_tenant(p_tenant_id, true);
  etag := app.etag(app.tenant_json(v_tenant));
  if p_if_match is not null and not (etag = any (p_if_match) or '*' = any (p_if_match)) then
    perform app.refuse(412, 'Precondition failed', 'The tenant has changed since it was read', 'stale_etag');
  end if;

  -- An empty object changes nothing, not even updated_at. Each given field is replaced as a whole.
  if coalesce(p_name, p_slug, p_settings::text) is not null then
    -- The row is locked, so this is later than what it says now; and no node is asked for its own clock.
    v_now := greatest(clock_timestamp(), v_tenant.updated_at + interval '1 microsecond');
    begin
      update app.tenants
      set name = coalesce(p_name, name), slug = coalesce(p_slug, slug), settings = coalesce(p_settings, settings),
          updated_at = v_now
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

  perform app.set_actor(p_auth_provider, p_auth_subject);
  status := case when p_requires_approval then 'pending' else 'active' end;
  select * into v_tenant from app.insert_tenant(p_organization_name, p_organization_slug, p_slug_base, status, p_registration);
  insert into app.users (tenant_id, auth_provider, auth_subject, email, display_name, role)
  values (v_tenant.id, p_auth_provider, p_auth_subject, p_registration ->> 'admin_email',
          coalesce(p_registration ->> 'admin_name', p_display_name), 'owner')
  returning id into v_user_id;
  if p_sample_data then
    perform app.set_tenant(v_tenant.id);
    perform 1 from app.create_sample_data(v_tenant.id, v_user_id);
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
    select json_build_object('tenant', app.tenant_json(row(t.*)::app.tenants), 'membership', app.member_json(row(u.*)::app.users))
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
  -- One row more than the page tells whether there is a next one.
  select json_build_object('members', coalesce(json_agg(p.member order by p.n) filter (where p.n <= p_limit), '[]')),
         case when count(*) > p_limit then max(p.cursor) filter (where p.n = p_limit) end
  into body, next_cursor
  from (
    select app.member_json(row(m.*)::app.users) as member, app.cursor_of(m.created_at, m.id) as cursor,
           row_number() over (order by m.created_at desc, m.id) as n
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
  select array_agg(app.board_json(row(b.*)::app.boards)), array_agg(b.id), array_agg(b.created_at)
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

--! Included api/service/get_readiness.sql
set local role tms_registrar;
create or replace function api.get_readiness(p_schema_version text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version constant text := app.schema_version();
begin
  return json_build_object(
    'migrations', array(
      select format('the schema is at %s, this release needs %s', coalesce(v_version, 'nothing committed'), coalesce(p_schema_version, 'nothing committed'))
      where v_version is distinct from p_schema_version),
    'isolation', array(
      select format('the service''s login: %s', f) from api.get_login_faults() f
      union all
      select format('%s: %s', u.name, u.fault) from app.unprotected_tables() u
      union all
      select distinct format('%s: rows are visible outside their tenant', l) from app.leaking_tables() l
      union all
      select format('the role %s can bypass row level security', rolname)
      from pg_roles where rolname in ('tms_app', 'tms_registrar', 'tms_owner') and (rolsuper or rolbypassrls)),
    'audit', app.last_audit(),
    'tenants', json_build_object('pending', app.count_tenants('pending'), 'active', app.count_tenants('active'),
      'suspended', app.count_tenants('suspended')));
end
$$;
comment on function api.get_readiness(text) is
$$What GET /ready and GET /metrics say of the database: {migrations, isolation} are sentences, one a fault, none when all is
well; tenants are the numbers by status, audit is the last one. p_schema_version is the migration this release was built with.$$;
revoke all on function api.get_readiness(text) from public;
grant execute on function api.get_readiness(text) to tms_service;
reset role;
--! EndIncluded api/service/get_readiness.sql
--! Included context/shown_rows.sql
-- Counted as tms_app, so that row level security itself gives the numbers, and counted to a limit: a tenant may be large.
set local role tms_app;
create or replace function app.shown_rows(p_tenant_id uuid, p_limit int)
returns table (name regclass, rows bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before constant uuid := app.tenant_id();
begin
  perform app.set_tenant(p_tenant_id);
  for name in
    select c.oid from pg_class c
    where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id' and not attisdropped)
    order by c.relname
  loop
    if has_table_privilege(name, 'select') then
      execute format('select count(*) from (select 1 from %s limit %s) t', name, p_limit) into rows;
    else
      rows := null;
    end if;
    return next;
  end loop;
  perform app.set_tenant(v_before);
end
$$;
comment on function app.shown_rows(uuid, int) is
  'What each tenant table shows inside a tenant, counted up to p_limit; null where tms_app may not look. A null tenant sees nothing.';
revoke all on function app.shown_rows(uuid, int) from public;
grant execute on function app.shown_rows(uuid, int) to tms_registrar, tms_auditor;
reset role;
--! EndIncluded context/shown_rows.sql
--! Included api/setup/explain_access.sql
-- Which claim names the tenant is HTTP's to say (src/tenant.ts, the one truth): it comes in as a slug and its source.
set local role tms_registrar;
create or replace function api.explain_access(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_source text default 'given', p_operator boolean default false
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants;
  v_user app.users;
  v_joins boolean;
  v_allowed boolean;
  v_because text;
  v_login pg_roles;
  v_limit constant int := 10000;
begin
  select * into v_tenant from app.tenants
  where case when p_tenant_slug is null then is_default else slug = p_tenant_slug end;
  select * into v_user from app.users
  where tenant_id = v_tenant.id and auth_provider = p_auth_provider and auth_subject = p_auth_subject;
  v_joins := p_tenant_slug is null and v_user.id is null and p_auth_subject is not null;
  select * into v_login from pg_roles where rolname = session_user;

  v_because := case
    when v_tenant.id is null and p_tenant_slug is null then 'There is no default tenant'
    when v_tenant.id is null then format('No tenant has the slug %s', p_tenant_slug)
    when v_tenant.status <> 'active' then format('The tenant is %s', v_tenant.status)
    when v_joins then 'In single-tenant mode a verified caller joins the default tenant at the first request'
    when v_user.id is null and p_auth_subject is null then 'No identity is given'
    when v_user.id is null then format('%s of %s is not a member of the tenant', p_auth_subject, p_auth_provider)
    when v_user.removed_at is not null then 'The membership was ended'
    else format('%s is a member of the tenant, as %s', p_auth_subject, v_user.role) end;
  v_allowed := v_tenant.status = 'active' and (v_joins or (v_user.id is not null and v_user.removed_at is null));

  return json_build_object(
    'allowed', coalesce(v_allowed, false),
    'because', v_because,
    'operator', p_operator,
    'tenant', json_build_object(
      'slug', coalesce(v_tenant.slug, p_tenant_slug), 'source', p_source, 'exists', v_tenant.id is not null,
      'tenant_id', v_tenant.id, 'name', v_tenant.name, 'status', v_tenant.status, 'is_default', v_tenant.is_default),
    'identity', json_build_object('provider', p_auth_provider, 'subject', p_auth_subject),
    'membership', case when v_user.id is not null then json_build_object(
      'user_id', v_user.id, 'role', v_user.role, 'joined_at', app.iso_time(v_user.created_at), 'removed_at', app.iso_time(v_user.removed_at)) end,
    'roles', json_build_object(
      'login', json_build_object('name', v_login.rolname, 'superuser', v_login.rolsuper, 'bypassrls', v_login.rolbypassrls),
      'acts_as', (select json_build_object('name', rolname, 'superuser', rolsuper, 'bypassrls', rolbypassrls)
                  from pg_roles where rolname = 'tms_app')),
    'tables', (
      select coalesce(json_agg(json_build_object(
        'table', s.name::text,
        'row_security', case when c.relforcerowsecurity and c.relrowsecurity then 'forced' when c.relrowsecurity then 'enabled' else 'off' end,
        'held', least(s.rows, v_limit),
        'shown', case when v_allowed then least(s.rows, v_limit) else 0 end,
        'more', s.rows > v_limit)), '[]')
      from app.shown_rows(v_tenant.id, v_limit + 1) s join pg_class c on c.oid = s.name),
    'notes', array(
      select n.note
      from (values
        (p_operator, 'An operator''s token: the setup endpoints ask for no membership, every other endpoint does'),
        (v_login.rolsuper or v_login.rolbypassrls,
         format('You are logged in as %s, which sees every row whatever app.tenant_id says: begin; set local role tms_app; set local app.tenant_id = ''…'';', v_login.rolname)),
        (v_tenant.id is null, 'A refusal reads the same for an unknown tenant and for one without a membership: nobody can probe which tenants exist')
      ) as n (holds, note)
      where n.holds)
  );
end
$$;
comment on function api.explain_access(text, text, text, text, boolean) is
$$Why is this identity refused, why does it see nothing: the tenant (a null slug: the default one), its status, the membership,
the roles, and what each table holds and would show, counted up to 10000. Changes nothing.
  select json_pretty from jsonb_pretty(api.explain_access('acme', 'jwt', 'alice')::jsonb) as json_pretty;$$;
revoke all on function api.explain_access(text, text, text, text, boolean) from public;
grant execute on function api.explain_access(text, text, text, text, boolean) to tms_auditor, tms_owner;
reset role;
--! EndIncluded api/setup/explain_access.sql
--! Included api/setup/explain_for_operator.sql
set local role tms_registrar;
create or replace function api.explain_for_operator(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_asked_slug text, p_asked_provider text, p_asked_subject text, p_source text, p_operator boolean
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  return api.explain_access(p_asked_slug, p_asked_provider, p_asked_subject, p_source, p_operator);
end
$$;
comment on function api.explain_for_operator(text, text, text, text, text, text, text, text, text, text, boolean) is
  'api.explain_access for GET and POST /api/setup/explain: the asked identity comes after the caller''s. Raises TM403.';
revoke all on function api.explain_for_operator(text, text, text, text, text, text, text, text, text, text, boolean) from public;
grant execute on function api.explain_for_operator(text, text, text, text, text, text, text, text, text, text, boolean) to tms_service;
reset role;
--! EndIncluded api/setup/explain_for_operator.sql

--! Included audit/schema.sql
-- The isolation audit. Everything here is tms_owner's, but for the functions that must read as somebody else: what reads
-- the tenants' rows is tms_auditor's, what acts inside a tenant is tms_app's. Both need the right to create here while
-- their functions are made; audit/end.sql takes it back.
create schema if not exists audit;
comment on schema audit is 'The tenant-isolation audit: call audit.run(), then read audit.findings';
revoke all on schema audit from public;
grant usage on schema audit to tms_auditor;
grant create, usage on schema audit to tms_auditor, tms_app;

-- What a check says of one object it looked at. detail is null where the object is in order, so that examined and found
-- are counted from the same rows.
do $$
begin
  if to_regtype('audit.observation') is null then
    create type audit.observation as (severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text);
    -- One check on one relation: rows examined, findings by severity, and the first thousand findings themselves.
    create type audit.outcome as (
      "check" text, relation text, checked bigint, errors bigint, warnings bigint, infos bigint, kept audit.observation[]);
  end if;
end
$$;

create table if not exists audit.runs (
  id bigint generated always as identity primary key,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  tenant text,
  tenant_id uuid,
  family text constraint runs_family_known check (family in ('data', 'schema')),
  sample int constraint runs_sample_positive check (sample > 0),
  run_by name not null default session_user,
  server_version text not null default current_setting('server_version'),
  schema_version text,
  passes int not null default 0,
  checks int not null default 0,
  rows_checked bigint not null default 0,
  errors bigint not null default 0,
  warnings bigint not null default 0,
  infos bigint not null default 0,
  not_run int not null default 0
);
comment on table audit.runs is 'One row a run of the audit. finished_at is null while it goes on, and for ever when it was cancelled.';
comment on column audit.runs.tenant is 'The slug of the one tenant whose rows were examined; null: all.';
comment on column audit.runs.family is 'data, schema, or null for both.';
comment on column audit.runs.sample is 'In how many tenants the proof acted; null: in all.';
comment on column audit.runs.not_run is 'Checks that could not run, each an error too: with one of them the run proves nothing.';

create table if not exists audit.results (
  run_id bigint not null references audit.runs on delete cascade,
  check_name text not null,
  relation text not null default '',
  checked bigint not null,
  errors bigint not null,
  warnings bigint not null,
  infos bigint not null,
  elapsed interval not null,
  failed boolean not null default false,
  primary key (run_id, check_name, relation)
);
comment on table audit.results is 'What each check of a run looked at and found, by relation; relation is empty where a check is about something else.';
comment on column audit.results.elapsed is 'Of the pass over the relation; several checks share one pass.';

create table if not exists audit.found (
  run_id bigint not null references audit.runs on delete cascade,
  check_name text not null,
  n int not null,
  severity text not null constraint found_severity_known check (severity in ('error', 'warning', 'info')),
  tenant_id uuid,
  relation text,
  "row" jsonb not null,
  detail text not null,
  remedy text not null,
  primary key (run_id, check_name, n)
);
comment on table audit.found is 'The first thousand findings of each check, kept for the last hundred runs. Key columns only, no payload.';

revoke all on table audit.runs, audit.results, audit.found from public;
grant select on table audit.runs, audit.results, audit.found to tms_auditor;
--! EndIncluded audit/schema.sql
--! Included audit/catalog.sql
-- Every check: what it finds, why that matters, how it is mended. The report, docs/audit.md and the tests are held to it.
create or replace function audit.checks()
returns table ("check" text, category text, severity text, family text, gate boolean, finds text, why text, mend text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
  -- data: one tenant's rows reaching into another's
  ('user_of_other_tenant', 'cross_tenant_access', 'error', 'data', false,
    'A row acts for a user of another tenant: its author, or whoever is charged for it.',
    'Whoever lists the row shows a person, and whatever hangs on that person, to strangers.',
    'Point the row to a user of its own tenant or delete it; then look for the foreign key that let it in.'),
  ('parent_of_other_tenant', 'cross_tenant_access', 'error', 'data', false,
    'A row belongs to a row of another tenant: a generation on a foreign board, media of a foreign generation.',
    'Deleting or listing the one reaches the other, across the wall that policies keep.',
    'Move the row to the tenant of what it belongs to, or delete it.'),
  ('storage_of_other_tenant', 'cross_tenant_access', 'error', 'data', false,
    'The storage address of a medium names another tenant''s id and not its own tenant''s.',
    'Policies end at the table: whoever is given the address reads the other tenant''s file.',
    'Find out whose file it is; correct tenant_id or storage_url.'),
  -- data: rows that belong to nothing
  ('tenant_missing', 'orphaned_record', 'error', 'data', false,
    'A row''s tenant does not exist, or the row has none.',
    'No tenant sees it and no deletion reaches it: data kept that was promised gone, waiting for an id to come back.',
    'Delete it, or restore the tenant; then validate the foreign key to app.tenants.'),
  ('parent_missing', 'orphaned_record', 'error', 'data', false,
    'A row refers to a row that is in no tenant at all.',
    'A half-deleted tenant or a restore of single tables looks like this.',
    'Delete it, or restore what it refers to; then validate the foreign key.'),
  -- data: boards
  ('board_owner_outside_tenant', 'board_membership', 'error', 'data', false,
    'A board''s owner is not a user of the board''s tenant.', 'Somebody from outside holds the board.', 'Give the board an owner of its tenant.'),
  ('board_member_outside_tenant', 'board_membership', 'error', 'data', false,
    'A member of a board is not a user of the board''s tenant.', 'Somebody from outside works on the board.', 'Delete the membership.'),
  ('membership_without_board', 'board_membership', 'error', 'data', false,
    'A membership names a board that its tenant does not have.', 'The right to a board of another tenant, or of nobody.', 'Delete the membership.'),
  ('board_inviter_outside_tenant', 'board_membership', 'error', 'data', false,
    'Whoever invited a board member is not a user of the tenant.', 'Nobody inside answers for the invitation.', 'Set invited_by to null, and ask who this is.'),
  ('removed_member_on_board', 'board_membership', 'error', 'data', false,
    'A user who has left the tenant is still on a board.', 'Coming back under the same identity would bring the old rights along.', 'Delete the membership.'),
  ('board_role_unknown', 'board_membership', 'error', 'data', false,
    'A board member''s role is not viewer, editor or admin.', 'What the role may do is up to whichever code reads it first.', 'Set one of the three roles, then restore the constraint.'),
  ('board_owner_as_member', 'board_membership', 'info', 'data', false,
    'A board''s owner is also listed as one of its members.', 'Two roles for one person: the lesser one may win.', 'Delete the membership; the owner needs none.'),
  -- data: rows that contradict others
  ('identity_twice_in_tenant', 'data_consistency', 'error', 'data', false,
    'One identity has two rows in one tenant.', 'Which of the two roles a request gets is chance.', 'Merge the two users, then restore the unique constraint.'),
  ('provider_twice_in_tenant', 'data_consistency', 'error', 'data', false,
    'A tenant has two configurations for one provider.', 'Which of the two credentials is used, and billed, is chance.', 'Delete one, then restore the unique constraint.'),
  ('slug_twice', 'data_consistency', 'error', 'data', false,
    'Two tenants have one slug.', 'A request that names the slug may be let into either.', 'Rename one, then restore the unique constraint.'),
  ('default_tenant_twice', 'data_consistency', 'error', 'data', false,
    'More than one tenant is the default one.', 'In single-tenant mode requests would land in either.', 'Clear the flag of all but one, then restore the unique index.'),
  ('tenant_malformed', 'data_consistency', 'error', 'data', false,
    'A tenant''s slug cannot be written in a request, or its name is blank or too long.', 'Nobody gets into it, and slugs that look alike mislead.', 'Rename it.'),
  ('tenant_count_wrong', 'data_consistency', 'error', 'data', false,
    'The running totals of tenants differ from the tenants there are.', 'Somebody wrote app.tenants past its triggers.', 'Recount, as the remedy does.'),
  ('tenant_without_owner', 'data_consistency', 'warning', 'data', false,
    'A tenant that somebody registered has no owner left.', 'Nobody inside may manage it.', 'Make a member its owner.'),
  ('credit_balance', 'data_consistency', 'error', 'data', false,
    'A balance is not the balance before it plus the amount, in the order of the ledger.', 'Credit appears or vanishes.', 'Look at the ledger around the row; book a correction.'),
  ('generation_state', 'data_consistency', 'error', 'data', false,
    'A generation is completed without a time, or has a time and is not finished.', 'Bills and retries go by either.', 'Set the status that is true.'),
  ('completed_without_media', 'data_consistency', 'warning', 'data', false,
    'A generation is completed and has no media.', 'It was paid for and shows nothing.', 'Mark it failed, or restore the media.'),
  ('value_unknown', 'data_consistency', 'error', 'data', false,
    'A role or status is not one that the service knows.', 'Code that asks "not a member?" lets unknown roles in.', 'Set a known value, then restore the constraint.'),
  ('times_out_of_order', 'data_consistency', 'error', 'data', false,
    'A row was changed, finished or removed before it was made.', 'The order of events, which audits and bills rest on, is wrong.', 'Correct the times, then restore the constraint.'),
  ('time_in_future', 'data_consistency', 'warning', 'data', false,
    'A credit transaction was booked more than an hour from now.', 'A clock is wrong, or somebody wrote the time by hand: the ledger''s order is no longer that of events.', 'Correct created_at.'),
  ('not_an_object', 'data_consistency', 'error', 'data', false,
    'Settings, config, input, registration or metadata hold JSON that is not an object.', 'Readers that look for a key find null, and defaults apply unasked.', 'Write an object, then restore the constraint.'),
  ('constraint_broken', 'data_consistency', 'error', 'data', false,
    'A row breaks a CHECK of its table that was added NOT VALID or is not enforced.', 'The rule is believed and does not hold.', 'Correct the row, then validate the constraint.'),

  -- schema: the wall itself
  ('rls_disabled', 'isolation_config', 'error', 'schema', true,
    'A tenants'' table, partition or child without row-level security.', 'Policies, if there are any, are not applied to anybody.', 'Enable it; app.isolate() does.'),
  ('rls_not_forced', 'isolation_config', 'error', 'schema', true,
    'Row-level security that its owner is exempt from.', 'Definer functions of the owner, and migrations, see every tenant.', 'Force it; app.isolate() does.'),
  ('policy_missing', 'isolation_config', 'error', 'schema', true,
    'One of the template''s policies is not there.', 'Without the restrictive one tenants see each other; without the auditor''s this audit is blind.', 'app.write_policies() writes all of them.'),
  ('policy_changed', 'isolation_config', 'error', 'schema', true,
    'A policy differs from the template: its expression, command, role, or being restrictive.', 'One OR, one missing WITH CHECK, one permissive instead of restrictive opens the table.', 'app.write_policies() writes it anew.'),
  ('policy_extra', 'isolation_config', 'error', 'schema', true,
    'A policy that the template does not have. To tms_app it is a warning: there it can only narrow.', 'To any other role it opens the table, or blinds the audit or the migrations.', 'Drop it.'),
  ('policy_function', 'isolation_config', 'error', 'schema', true,
    'A policy calls a function other than app.tenant_id(), or reads another table.', 'Immutable functions are folded into plans that the next tenant runs; other tables bring their own holes.', 'Drop the policy, or write it with app.tenant_id().'),
  ('tenant_id_function', 'isolation_config', 'error', 'schema', true,
    'app.tenant_id(), on which every policy rests, is not what it came as.', 'Whoever changes it changes every policy at once.', 'Create it anew, as the remedy does.'),
  ('audit_filtered', 'isolation_config', 'error', 'schema', true,
    'A policy hides rows of a table from the audit.', 'What is hidden cannot be found; the data checks then refuse to run.', 'Restore the auditor policy; drop restrictive policies that reach tms_auditor.'),
  -- schema: tables and keys
  ('table_missing', 'isolation_config', 'error', 'schema', true,
    'One of the service''s own tables, or a column that the checks read, is not there.', 'What is not there is not examined.', 'Restore it.'),
  ('table_rules', 'isolation_config', 'error', 'schema', true,
    'A table breaks a rule of app.isolate(): tenant_id nullable, a key that does not begin with it, a foreign key without it.', 'Keys look past policies: they tell one tenant of another''s values, and let rows point across.', 'Mend the key, then app.isolate().'),
  ('table_without_tenant', 'isolation_config', 'error', 'schema', true,
    'A table among the tenants'' tables, or hanging on one by a foreign key, has no tenant_id.', 'Checks that look for the column never see it: everybody reads it.', 'app.isolate(…, p_adopt => true).'),
  ('tenant_key', 'isolation_config', 'error', 'schema', true,
    'tenant_id is not tied to app.tenants by a validated foreign key with ON DELETE CASCADE.', 'Rows outlive their tenant.', 'Add or validate the foreign key.'),
  ('foreign_key_missing', 'isolation_config', 'error', 'schema', true,
    'A reference between tenants'' tables without its composite foreign key. In tables that are not the service''s own it is a warning.', 'Only the key stops a row from pointing into another tenant.', 'Add it.'),
  ('unique_key_missing', 'isolation_config', 'error', 'schema', true,
    'One of the unique keys that the service relies on is not there.', 'Two rows for one identity, or two tenants for one slug: which one a request meets is chance.', 'Create it.'),
  ('constraint_not_valid', 'isolation_config', 'error', 'schema', true,
    'A constraint that is NOT VALID or NOT ENFORCED. A CHECK is a warning.', 'It reads like a promise and is none.', 'Validate it.'),
  ('trigger_disabled', 'isolation_config', 'error', 'schema', true,
    'A trigger is disabled: a foreign key''s own, or (a warning) somebody else''s.', 'A load that switched triggers off left the keys unchecked.', 'Enable it, then run the data checks.'),
  ('index_missing', 'isolation_config', 'warning', 'schema', true,
    'No index leads with a foreign key''s columns.', 'Look-ups read other tenants'' rows, and the time they take tells of them; deleting a tenant takes hours.', 'Create the index.'),
  ('table_owner', 'isolation_config', 'error', 'schema', true,
    'A table, view, sequence or schema of the service is not tms_owner''s.', 'Its owner can switch the policies off.', 'Give it to tms_owner.'),
  ('view_leaks', 'isolation_config', 'error', 'schema', true,
    'A view over tenants'' rows that runs as its owner, or a materialized view of them.', 'Policies are asked for the owner and not for the reader; a materialized view has none.', 'security_invoker = true; drop the materialized view.'),
  ('foreign_table', 'isolation_config', 'error', 'schema', true,
    'A foreign table among the tenants'' tables.', 'No policy applies to it.', 'Keep it in another schema, behind a function.'),
  ('rewrite_rule', 'isolation_config', 'error', 'schema', true,
    'A rewrite rule on a tenants'' table.', 'What it adds runs with the rights of the table''s owner.', 'Drop it.'),
  ('publication', 'isolation_config', 'warning', 'schema', true,
    'A publication sends tenants'' rows.', 'Subscribers get every tenant''s.', 'Drop the table from it, unless the subscriber is a replica of the whole.'),
  -- schema: rights
  ('table_grants', 'isolation_config', 'error', 'schema', true,
    'A right on a tenants'' table beyond the template, or the auditor''s own missing.', 'TRUNCATE, REFERENCES and TRIGGER know no policy; a right of PUBLIC is everybody''s.', 'Revoke it.'),
  ('other_grants', 'isolation_config', 'error', 'schema', true,
    'Rights on the service''s bookkeeping, the audit''s results, views or sequences.', 'Whoever writes the results of the audit decides what it finds.', 'Revoke them.'),
  ('schema_grants', 'isolation_config', 'error', 'schema', true,
    'CREATE, TEMP or USAGE on a schema or the database beyond what the roles need.', 'Whoever can create can put an object in another''s place.', 'Revoke it.'),
  ('default_privileges', 'isolation_config', 'error', 'schema', true,
    'Default privileges that give tables or functions away as they are made.', 'A table is open from the moment it is made until somebody isolates it.', 'Revoke them.'),
  ('service_reach', 'isolation_config', 'error', 'schema', true,
    'The service''s login has a right on a table, or on a function outside api; or api holds something else.', 'A login that can only call api functions cannot set a tenant and read it.', 'Revoke it.'),
  ('registrar_reach', 'isolation_config', 'error', 'schema', true,
    'tms_registrar reaches a tenants'' table beyond app.tenants and app.users.', 'It crosses tenants by design; its functions must have nothing to carry.', 'Revoke it.'),
  -- schema: functions
  ('function_owner', 'isolation_config', 'error', 'schema', true,
    'A function of the service is owned by a role that no policy was written for.', 'A definer function has its owner''s rights.', 'Give it back.'),
  ('function_security', 'isolation_config', 'error', 'schema', true,
    'A function is SECURITY DEFINER and should not be, or the other way round.', 'As tms_owner''s definer it may do what only migrations should.', 'Change it back.'),
  ('function_bypass', 'isolation_config', 'error', 'schema', true,
    'Any definer function in the database whose owner no policy applies to, or that runs as a role of the service from outside.', 'Calling it is a way around every policy.', 'Make it SECURITY INVOKER, or give it to a role under the policies.'),
  ('function_search_path', 'isolation_config', 'error', 'schema', true,
    'A function without a fixed search_path, or with pg_temp not in the last place.', 'A temporary table of the same name takes the place of the real one.', 'Set it.'),
  ('function_settings', 'isolation_config', 'error', 'schema', true,
    'A function comes with a setting for the role, the tenant, or how policies apply.', 'It then works in a tenant of its own choosing.', 'Reset it.'),
  ('function_body', 'isolation_config', 'error', 'schema', true,
    'A function sets the tenant for the whole session, opens the tables to their owner, or changes the role.', 'On a pooled connection the next request is another tenant''s.', 'Use app.set_tenant().'),
  ('function_public', 'isolation_config', 'error', 'schema', true,
    'PUBLIC, or another role than planned, may execute a function.', 'Functions are executable by everybody until that is revoked.', 'Revoke it.'),
  ('function_leakproof', 'isolation_config', 'error', 'schema', true,
    'A function claims to be LEAKPROOF; or the comparison of tenant ids no longer is.', 'The planner runs leakproof conditions before policies.', 'Take the mark away.'),
  -- schema: roles and server
  ('role_attributes', 'isolation_config', 'error', 'schema', true,
    'One of the five roles has an attribute that it must not have.', 'No policy applies to a superuser or BYPASSRLS.', 'Run db/roles.sql.'),
  ('role_membership', 'isolation_config', 'error', 'schema', true,
    'One of the five roles is a member of another role, or somebody may become one that crosses tenants (a warning).', 'Policies and rights come along with membership, and pg_policy does not show it.', 'Revoke it.'),
  ('role_settings', 'isolation_config', 'error', 'schema', true,
    'Sessions begin with a tenant, with open tables, another role or another search_path.', 'Without a tenant of its own a request would be in that one.', 'Reset it.'),
  ('bypass_role', 'isolation_config', 'warning', 'schema', true,
    'A role with BYPASSRLS has rights on tenants'' tables.', 'It sees every tenant.', 'Take the attribute away.'),
  ('server_version', 'isolation_config', 'error', 'schema', false,
    'A Postgres with known holes in row-level security; a warning for the embedded one and for releases nobody looked at.', 'The wall is the server''s own.', 'Update it.'),
  ('server_settings', 'isolation_config', 'error', 'schema', false,
    'Server settings that switch triggers, policies or the protection of large objects off, or log tenants'' values.', 'They work on every database and role.', 'Reset them.'),
  ('statistics_view', 'isolation_config', 'warning', 'schema', false,
    'A statistics view from before CVE-2024-4317.', 'It shows the most common values of hidden rows.', 'Run the script of the release notes.'),
  -- schema: the proof
  ('proof_rows', 'isolation_config', 'error', 'schema', false,
    'Inside a tenant tms_app does not see exactly the rows that the auditor counts for it.', 'Everything above is reading the plans of the wall; this is leaning on it.', 'Restore the policies.'),
  ('proof_nothing', 'isolation_config', 'error', 'schema', false,
    'Without a tenant, or in one that does not exist, tms_app sees a row.', 'A request that forgot its tenant must find nothing.', 'Restore the policies.'),
  ('proof_writes', 'isolation_config', 'error', 'schema', false,
    'Inside a tenant tms_app can write a row into another, or reach one.', 'Reading back is not needed to do harm.', 'Restore the policies.')
$$;
comment on function audit.checks() is
$$Every check of the audit: category, worst severity, family (data or schema), whether the migration gate runs it (gate), what it finds, why that matters,
how it is mended.  select * from audit.checks();$$;
--! EndIncluded audit/catalog.sql
--! Included audit/relations.sql
create or replace function audit.relations()
returns table (relid regclass, tenant_column name, is_child boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select c.oid::regclass, a.attname, exists (select from pg_inherits where inhrelid = c.oid)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
    and a.attname = case when c.oid = to_regclass('app.tenants') then 'id' else 'tenant_id' end
  where c.relkind in ('r', 'p') and c.relpersistence <> 't'
    and n.nspname not in ('pg_catalog', 'information_schema', 'control', 'audit', 'graphile_migrate')
  order by c.oid::regclass::text
$$;
comment on function audit.relations() is
$$The tables that must keep tenants apart: app.tenants, and every table with a column tenant_id wherever it is, with their
partitions and children (is_child). The schemas control, audit and graphile_migrate hold no tenant's data.$$;

-- The keys of the service's own tables, by heart: a dropped constraint is no longer in the catalog to be missed.
create or replace function audit.expected_references()
returns table (child text, child_column name, parent text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('app.boards', 'owner_id'::name, 'app.users'),
    ('app.board_members', 'board_id', 'app.boards'),
    ('app.board_members', 'user_id', 'app.users'),
    ('app.board_members', 'invited_by', 'app.users'),
    ('app.generations', 'board_id', 'app.boards'),
    ('app.generations', 'user_id', 'app.users'),
    ('app.media', 'generation_id', 'app.generations'),
    ('app.credit_transactions', 'user_id', 'app.users'),
    ('app.credit_transactions', 'generation_id', 'app.generations')
$$;

create or replace function audit.tenant_references()
returns table (child regclass, parent regclass, child_columns name[], parent_columns name[], constraint_name name)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with declared as (
    select c.conrelid::regclass as child, c.confrelid::regclass as parent, c.conname,
      array_agg(ca.attname order by k.n) as child_columns, array_agg(pa.attname order by k.n) as parent_columns
    from pg_constraint c
    cross join unnest(c.conkey, c.confkey) with ordinality as k (child, parent, n)
    join pg_attribute ca on ca.attrelid = c.conrelid and ca.attnum = k.child
    join pg_attribute pa on pa.attrelid = c.confrelid and pa.attnum = k.parent
    join audit.relations() cr on cr.relid = c.conrelid and not cr.is_child
    join audit.relations() pr on pr.relid = c.confrelid
    where c.contype = 'f' and c.conparentid = 0 and c.confrelid is distinct from to_regclass('app.tenants')
      and not (ca.attname = 'tenant_id' and pa.attname = 'tenant_id')
    group by c.oid
  )
  select child, parent, child_columns, parent_columns, conname from declared
  union all
  select to_regclass(e.child), to_regclass(e.parent), array[e.child_column], array['id'::name], null
  from audit.expected_references() e
  where to_regclass(e.child) is not null and to_regclass(e.parent) is not null
    and not exists (select from declared d where d.child = to_regclass(e.child) and d.child_columns = array[e.child_column])
  order by 1, 3
$$;
comment on function audit.tenant_references() is
$$How tenants' tables refer to each other, without the tenant columns: every foreign key in the catalog, and those of the
service's own tables that are no longer there (constraint_name null), even when their column is gone: the check then fails.$$;
--! EndIncluded audit/relations.sql
--! Included audit/require_unfiltered.sql
-- row_security = off cannot be asked for: it raises wherever a policy applies, even one that says true. So the policies
-- themselves are read. Exactly what Postgres would apply to this role decides: a permissive `true`, and nothing
-- restrictive. (Other permissive policies beside a true one change nothing; another check names them.)
create or replace function audit.filter_of(p_table regclass)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when not row_security_active(p_table) then null
    when string_agg(p.polname, ', ') filter (where not p.polpermissive) is not null
      then format('%s does not see all of it: the restrictive policy %s applies to it', current_user, string_agg(p.polname, ', ') filter (where not p.polpermissive))
    when coalesce(bool_or(p.polpermissive and pg_get_expr(p.polqual, p.polrelid) = 'true'), false) then null
    else format('%s does not see all of it: no policy lets it read every row', current_user) end
  from pg_policy p
  where p.polrelid = p_table and p.polcmd in ('r', '*')
    and exists (select from unnest(p.polroles) as r (role) where r.role = 0 or pg_has_role(r.role, 'usage'))
$$;
comment on function audit.filter_of(regclass) is 'Why the current role would not see every row of a table; null when it would.';

create or replace function audit.require_unfiltered(p_table regclass)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_filter constant text := audit.filter_of(p_table);
  v_owner constant regrole := (select relowner from pg_class where oid = p_table);
begin
  -- Whoever owns a table chooses what reading it calls: policies, constraints, triggers. Not with the auditor's rights.
  if v_owner <> 'tms_owner'::regrole then
    raise exception using errcode = 'insufficient_privilege',
      message = format('%s is owned by %s: what it calls when it is read would run with the rights of %s', p_table, v_owner, current_user),
      hint = format('alter table %s owner to tms_owner;', p_table);
  end if;
  if v_filter is not null then
    raise exception using errcode = 'insufficient_privilege', message = format('%s: %s', p_table, v_filter);
  end if;
end
$$;
comment on function audit.require_unfiltered(regclass) is
  'Raises 42501 unless the table is tms_owner''s and the current role sees every row of it: called before each table is read, in the transaction that reads it.';

-- A second witness for an empty table: another role, another policy.
create or replace function audit.has_rows(p_table regclass, p_column name, p_tenant_id uuid)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before constant text := coalesce(current_setting('app.maintenance', true), '');
  v_any boolean;
begin
  -- Not as a SET clause of the function: only a superuser may write one for a setting that no module has declared.
  set local app.maintenance = 'on';
  execute format('select exists (select from %s where $1 is null or %I = $1)', p_table, p_column) into v_any using p_tenant_id;
  execute format('set local app.maintenance = %L', v_before);
  return v_any;
end
$$;
comment on function audit.has_rows(regclass, name, uuid) is
  'Whether the owner of the tables sees a row where the auditor saw none: nothing examined where rows exist is not a pass.';
--! EndIncluded audit/require_unfiltered.sql
--! Included audit/row_tests.sql
-- What is asked of each row of a table: a predicate over the row `c` and the rows it refers to: `t` is the row's tenant,
-- `r1`, `r2` … the referred rows, null where there is none. `suspects` asks the same of the whole table in the cheapest way
-- there is, and of all tests of one reference at once: an anti-join that returns nothing where all is well, and that can be a
-- merge of two indexes. Only where it finds something is the predicate asked, row by row.
-- Its columns may change between releases, which `create or replace` refuses.
drop function if exists audit.row_tests(regclass);
create or replace function audit.row_tests(p_table regclass)
returns table (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, suspects text, parent regclass)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with col as (
    select attname as name, atttypid as type from pg_attribute where attrelid = p_table and attnum > 0 and not attisdropped
  ), ref as (
    select r.*, 'r' || row_number() over (order by r.child_columns) as alias,
      (select string_agg(format('c.%I', x), ', ') from unnest(r.child_columns) x) as child_list,
      (select string_agg(format('c.%I is not null', x), ' and ') from unnest(r.child_columns) x) as given
    from audit.tenant_references() r
    where r.child = p_table
  ), own as (
    -- The tests of the service's own tables. {column} is the row that a column refers to; in order is the row for which
    -- `fine` holds as well.
    select * from (values
      ('app.board_members', 'removed_member_on_board', '{user_id}.removed_at is not null', '{user_id}.removed_at is null',
        $q$'the user ' || c.user_id || ' has left the tenant and is still on the board ' || c.board_id$q$),
      ('app.board_members', 'board_owner_as_member', '{board_id}.owner_id = c.user_id', '{board_id}.owner_id <> c.user_id',
        $q$'the user ' || c.user_id || ' owns the board and is also listed as ' || c.role$q$),
      ('app.board_members', 'board_role_unknown', $q$c.role is null or c.role not in ('viewer', 'editor', 'admin')$q$, null,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not viewer, editor or admin'$q$),
      ('app.users', 'value_unknown', $q$c.role is null or c.role not in ('owner', 'admin', 'member')$q$, null,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not owner, admin or member'$q$),
      ('app.generations', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'processing', 'completed', 'failed', 'cancelled')$q$, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not one of pending, processing, completed, failed, cancelled'$q$),
      ('app.generations', 'generation_state', $q$case when c.completed_at is null then c.status = 'completed' else c.status in ('pending', 'processing') end$q$, null,
        $q$'the status is ' || c.status || ' and completed_at is ' || coalesce(c.completed_at::text, 'null')$q$),
      ('app.media', 'storage_of_other_tenant',
        -- Almost every address holds its own tenant's id; the expensive question is put to the others.
        $q$position(c.tenant_id::text in c.storage_url) = 0 and exists (
          select from app.tenants o
          where o.id <> c.tenant_id
            and o.id = substring(c.storage_url from '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')::uuid)$q$, null,
        $q$'the address names the tenant ' || substring(c.storage_url from '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')$q$),
      ('app.credit_transactions', 'time_in_future', $q$c.created_at > now() + interval '1 hour'$q$, null, $q$'created_at is ' || c.created_at$q$),
      ('app.tenants', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'active', 'suspended')$q$, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not pending, active or suspended'$q$),
      ('app.tenants', 'tenant_malformed', $q$c.slug is null or c.slug !~ '^[a-z0-9-]{1,255}$' or c.name is null or c.name !~ '\S' or char_length(c.name) > 255$q$, null,
        $q$case when c.slug ~ '^[a-z0-9-]{1,255}$' then 'the name is blank or longer than 255 characters'
           else 'nobody can name the slug ' || coalesce(quote_literal(left(c.slug, 300)), 'null') end$q$)
    ) as o (relation, check_name, predicate, fine, detail)
    where to_regclass(o.relation) = p_table
  ), ref_sql as (
    select ref.*,
      format('left join %s %s on %s.%I = c.tenant_id and (%s) = (%s)',
        -- Postgres lets a foreign key point at a unique key only. Where that is gone, duplicates must not multiply rows.
        case when exists (
          select from pg_index i
          where i.indrelid = parent and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
            and (select array_agg(a.attname) from unnest((i.indkey::int2[])[0:i.indnkeyatts-1]) k join pg_attribute a on a.attrelid = parent and a.attnum = k)
                <@ (array['tenant_id'::name] || parent_columns))
          then parent::text
          else format('(select distinct on (tenant_id, %s) * from %s)', parent_list, parent) end,
        alias, alias, 'tenant_id', (select string_agg(format('%s.%I', alias, x), ', ') from unnest(parent_columns) x), child_list) as joins
      , format('select count(*) from %s c where %s and not exists (select from %s %s where %s.tenant_id = c.tenant_id and (%s) = (%s)%s)',
        p_table, given, parent, alias, alias, (select string_agg(format('%s.%I', alias, x), ', ') from unnest(parent_columns) x), child_list,
        (select string_agg(' and ' || replace(o.fine, '{' || child_columns[1] || '}', alias), '') from own o
         where position('{' || child_columns[1] || '}' in o.fine) > 0 and cardinality(child_columns) = 1)) as suspects
    from ref
    cross join lateral (select string_agg(quote_ident(x), ', ') as parent_list from unnest(parent_columns) x) l
  ), own_sql as (
    select o.check_name, r.joins, case when o.fine is not null then r.suspects end as suspects, r.parent,
      case when r.alias is null then o.predicate else replace(o.predicate, '{' || r.child_columns[1] || '}', r.alias) end as predicate, o.detail
    from own o
    left join ref_sql r on position('{' || r.child_columns[1] || '}' in o.predicate) > 0 and cardinality(r.child_columns) = 1
  )
  select * from (
  select 'tenant_missing', null::text, 'left join app.tenants t on t.id = c.tenant_id', 't.id is null', null::text,
    $q$case when c.tenant_id is null then 'the row has no tenant' else 'there is no tenant ' || c.tenant_id end$q$,
    format('select count(*) from %s c where not exists (select from app.tenants t where t.id = c.tenant_id)', p_table), null::regclass
  where p_table is distinct from to_regclass('app.tenants')
  union all
  select
    coalesce(b.name, 'parent_missing'),
    coalesce(b.name, case when parent = to_regclass('app.users') then 'user_of_other_tenant' else 'parent_of_other_tenant' end),
    joins, format('%s and %s.tenant_id is null', given, alias),
    -- Asked of suspects only: does the row exist, elsewhere?
    format('(%s) in (select %s from %s)', child_list, (select string_agg(quote_ident(x), ', ') from unnest(parent_columns) x), parent),
    format($q$concat_ws(', ', %s)$q$, (select string_agg(format($f$%L || c.%I$f$, x || ' ', x), ', ') from unnest(child_columns) x))
      || format($q$ || case when s.elsewhere then %L else %L end$q$,
        format(' is in %s, but in another tenant', parent), format(' is not in %s', parent)),
    suspects, parent
  from ref_sql
  left join (values
    ('app.boards', 'owner_id', 'board_owner_outside_tenant'), ('app.board_members', 'user_id', 'board_member_outside_tenant'),
    ('app.board_members', 'board_id', 'membership_without_board'), ('app.board_members', 'invited_by', 'board_inviter_outside_tenant')
  ) as b (relation, column_name, name) on to_regclass(b.relation) = child and child_columns = array[b.column_name::name]
  union all
  select check_name, null, joins, predicate, null, detail, suspects, parent from own_sql
  union all
  select 'times_out_of_order', null, null, format('c.%I < c.created_at', name), null,
    format($q$%L || c.%I || ' is before created_at ' || c.created_at$q$, name || ' ', name), null, null
  from col
  where name in ('updated_at', 'started_at', 'completed_at', 'finished_at', 'removed_at', 'deleted_at') and type = 'timestamptz'::regtype
    and exists (select from col where name = 'created_at' and type = 'timestamptz'::regtype)
  union all
  select 'not_an_object', null, null, format($q$jsonb_typeof(c.%I) <> 'object'$q$, name), null,
    format($q$%L || jsonb_typeof(c.%I)$q$, name || ' holds a JSON ', name), null, null
  from col where name in ('settings', 'config', 'input', 'registration', 'metadata') and type = 'jsonb'::regtype
  union all
  -- A validated CHECK cannot have been broken; one that was added NOT VALID says nothing about the rows before it.
  select 'constraint_broken', null, null, format('(c).ctid in (select ctid from %s where not (%s))', p_table, pg_get_expr(conbin, conrelid)), null,
    format($q$%L$q$, format('the row breaks the constraint %I', conname)), null, null
  from pg_constraint where conrelid = p_table and contype = 'c' and not (convalidated and coalesce((to_jsonb(pg_constraint) ->> 'conenforced')::boolean, true))
  ) as tests (check_name, check_elsewhere, joins, predicate, elsewhere, detail, suspects, parent)
  order by suspects, check_name
$$;
comment on function audit.row_tests(regclass) is
$$The tests of a table: `predicate` is true of a row that fails; for references `elsewhere` then tells whether the missing row
lives in another tenant (check_elsewhere) or nowhere (check_name). `detail` is an SQL expression.$$;
--! EndIncluded audit/row_tests.sql
--! Included audit/scan.sql
-- What a validated CHECK proves is not asked again: the planner refutes the predicate against the constraints that hold
-- (triggers off or not, Postgres never skips a CHECK), and leaves nothing to scan. A constraint that is gone, NOT VALID or NOT
-- ENFORCED proves nothing, and then the rows are read.
create or replace function audit.is_proved(p_table regclass, p_predicate text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set constraint_exclusion = on
as $$
declare
  v_plan json;
begin
  execute format('explain (format json, costs off) select from %s c where %s', p_table, p_predicate) into v_plan;
  return coalesce(v_plan #>> '{0,Plan,One-Time Filter}' = 'false', false);
end
$$;
comment on function audit.is_proved(regclass, text) is 'Whether the table''s own constraints rule the predicate out for every row; `c` is the row.';

-- The tenants that a table names: with many rows a tenant they are read off an index, one step a tenant.
create or replace function audit.count_lost_tenants(p_table regclass, p_rows bigint)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count bigint;
begin
  if p_rows < 100 * (select greatest(reltuples, 1) from pg_class where oid = 'app.tenants'::regclass)
    or not exists (
      select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indrelid = p_table and i.indisvalid and i.indpred is null and a.attname = 'tenant_id' and a.attnotnull)
  then
    execute format('select count(*) from %s c where not exists (select from app.tenants t where t.id = c.tenant_id)', p_table) into v_count;
  else
    execute format(
      'with recursive named (id) as (
         (select tenant_id from %1$s order by tenant_id limit 1)
         union all
         select (select tenant_id from %1$s where tenant_id > n.id order by tenant_id limit 1) from named n where n.id is not null)
       select count(*) from named n where n.id is not null and not exists (select from app.tenants t where t.id = n.id)', p_table) into v_count;
  end if;
  return v_count;
end
$$;
comment on function audit.count_lost_tenants(regclass, bigint) is 'How many tenants, or rows, of a table name a tenant that does not exist: 0 or more than 0 is all that is promised.';

-- A hash table that outgrows the processor's cache costs several times the merge of two indexes, which needs no memory either.
-- The planner's costs do not know that. In parallel each worker would read the whole inner index. Undone when
-- audit.examine() returns.
create or replace function audit.prefer_merge(p_table regclass)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select set_config('enable_hashjoin', case when large then 'off' else 'on' end, true),
    set_config('min_parallel_index_scan_size', case when large then '1TB' else '512kB' end, true)
  from (select coalesce((select reltuples from pg_class where oid = p_table), 0) > 200000 as large) size
$$;

-- One question for each reference, one for all tests of single rows; on a clean table nothing else is asked.
create or replace function audit.scan(p_table regclass, p_tenant_id uuid)
returns setof audit.outcome
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_column name;
  v_joined regclass;
  v_asked text[];
  v_counts bigint[];
  v_keys name[];
  v_row text;
  v_key text;
  v_test record;
  v_question text;
  v_count bigint;
  v_suspected boolean;
  v_found audit.outcome;
begin
  select tenant_column into strict v_column from audit.relations() where relid = p_table;
  for v_joined in
    select p_table union select r.parent from audit.tenant_references() r where r.child = p_table
    union select 'app.tenants'::regclass
  loop
    perform audit.require_unfiltered(v_joined);
  end loop;
  select array_agg(t.predicate) filter (where t.suspects is null and not audit.is_proved(p_table, t.predicate))
  into v_asked from audit.row_tests(p_table) t;
  execute format('select array[count(*), count(*) filter (where %s)] from %s c where $1 is null or c.%I = $1',
    coalesce('(' || array_to_string(v_asked, ') or (') || ')', 'false'), p_table, v_column)
  into v_counts using p_tenant_id;
  if v_counts[1] = 0 and audit.has_rows(p_table, v_column, p_tenant_id) then
    raise exception using errcode = 'data_exception',
      message = format('%s shows the auditor no row, and it has rows', p_table);
  end if;

  select array_agg(a.attname order by k.n) into v_keys
  from pg_index i cross join unnest(i.indkey) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where i.indrelid = p_table and i.indisprimary;
  v_keys := coalesce(v_keys, array['ctid'::name]);
  select string_agg(format('%L, c.%I', k, k), ', '),
         'concat_ws('' and '', ' || string_agg(format('format(%L, c.%I)', k || ' = %L', k), ', ') || ')'
  into v_row, v_key from unnest(v_keys) k;

  for v_test in select * from audit.row_tests(p_table) loop
    if v_test.suspects is null then
      v_suspected := v_counts[2] > 0 and v_test.predicate = any (v_asked);
    else
      -- Several tests may share one question.
      if v_test.suspects is distinct from v_question then
        v_question := v_test.suspects;
        perform audit.prefer_merge(v_test.parent);
        if v_test.check_name = 'tenant_missing' and p_tenant_id is null then
          v_count := audit.count_lost_tenants(p_table, v_counts[1]);
        else
          execute v_question || case when p_tenant_id is null then '' else format(' and c.%I = $1', v_column) end into v_count using p_tenant_id;
        end if;
      end if;
      v_suspected := v_count > 0;
    end if;
    for v_found."check" in select unnest(array_remove(array[v_test.check_name, nullif(v_test.check_elsewhere, v_test.check_name)], null)) loop
      v_found.relation := p_table;
      v_found.checked := v_counts[1];
      v_found.errors := 0;
      v_found.kept := null;
      if v_suspected then
        execute format(
          $q$with s as materialized (
               select %1$s as tenant_id, jsonb_build_object(%2$s) as key, %3$s as detail, %4$s as place
               from %11$s c %5$s cross join lateral (select %6$s as elsewhere) s
               where (%7$s) %8$s %9$s)
             select count(*), array(
               select row(null, tenant_id, %10$L, key, detail,
                 format('-- look at it, then correct or delete it:' || chr(10) || 'select * from %11$s where %%s;', place))::audit.observation
               from s order by key limit 1000)
             from s$q$,
          format('c.%I', v_column), v_row, v_test.detail, v_key, coalesce(v_test.joins, ''), coalesce(v_test.elsewhere, 'null::boolean'), v_test.predicate,
          case when v_test.check_elsewhere is null or v_test.check_elsewhere = v_test.check_name then ''
               when v_found."check" = v_test.check_elsewhere then 'and s.elsewhere' else 'and not s.elsewhere' end,
          case when p_tenant_id is null then '' else format('and c.%I = $1', v_column) end,
          p_table::text, p_table)
        into v_found.errors, v_found.kept using p_tenant_id;
      end if;
      return next v_found;
    end loop;
  end loop;
end
$$;
comment on function audit.scan(regclass, uuid) is
$$Runs every row test of a table, over all its rows or those of one tenant: one outcome a test, all findings counted under
`errors` (the caller knows the severity). Raises 42501 when the auditor would not see every row, 22000 when it sees none and there are some.$$;
--! EndIncluded audit/scan.sql
--! Included audit/data_checks.sql
-- The data checks that are about more than one row of a table. $1 is the tenant, or null for all.
create or replace function audit.data_checks()
returns table (check_name text, tables text[], rows_sql text, failing_sql text, remedy text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
  ('identity_twice_in_tenant', array['app.users'],
    'select count(*) from app.users where $1 is null or tenant_id = $1',
    $q$select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', max(id::text)) as key,
         format('%s rows stand for one identity: the users %s', count(*), string_agg(id::text, ', ' order by created_at, id)) as detail
       from app.users where $1 is null or tenant_id = $1
       group by tenant_id, auth_provider, auth_subject having count(*) > 1$q$,
    $q$-- point everything to one of the users, then delete the other and restore the constraint:
alter table app.users add constraint users_tenant_identity_key unique (tenant_id, auth_provider, auth_subject);$q$),

  ('provider_twice_in_tenant', array['app.provider_configs'],
    'select count(*) from app.provider_configs where $1 is null or tenant_id = $1',
    $q$select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', max(id::text)) as key,
         format('%s configurations are for one provider: %s', count(*), string_agg(id::text, ', ' order by created_at, id)) as detail
       from app.provider_configs where $1 is null or tenant_id = $1
       group by tenant_id, provider_name having count(*) > 1$q$,
    $q$-- delete all but one, then restore the constraint:
alter table app.provider_configs add constraint provider_configs_name_key unique (tenant_id, provider_name);$q$),

  ('slug_twice', array['app.tenants'],
    'select count(*) from app.tenants',
    $q$select max(id::text)::uuid as tenant_id, jsonb_build_object('id', max(id::text)) as key,
         format('%s tenants have the slug %L: %s', count(*), lower(slug), string_agg(id::text, ', ' order by created_at, id)) as detail
       from app.tenants group by lower(slug) having count(*) > 1 and ($1 is null or bool_or(id = $1))$q$,
    $q$-- give one of the tenants another slug, then restore the constraint:
alter table app.tenants add constraint tenants_slug_key unique (slug);$q$),

  ('default_tenant_twice', array['app.tenants'],
    'select count(*) from app.tenants',
    $q$select id as tenant_id, jsonb_build_object('id', id) as key, 'is_default is true here and in an older tenant too' as detail
       from (select id, row_number() over (order by created_at, id) as n from app.tenants where is_default) d where n > 1$q$,
    $q$update app.tenants set is_default = false where id = '{id}';
create unique index tenants_one_default on app.tenants (is_default) where is_default;$q$),

  ('tenant_count_wrong', array['app.tenants'],
    'select count(*) from app.tenants',
    $q$select null::uuid as tenant_id, jsonb_build_object('status', s.status) as key,
         format('control.tenant_counts says %s tenants are %s, app.tenants holds %s', app.count_tenants(s.status), s.status, s.n) as detail
       from (select v.status, count(t.id) as n
             from unnest(array['pending', 'active', 'suspended']) as v (status) left join app.tenants t on t.status = v.status
             group by v.status) s
       where app.count_tenants(s.status) <> s.n$q$,
    $q$begin;
lock table app.tenants in share row exclusive mode;
delete from control.tenant_counts;
insert into control.tenant_counts (shard, pending, active, suspended)
select 0, count(*) filter (where status = 'pending'), count(*) filter (where status = 'active'), count(*) filter (where status = 'suspended')
from app.tenants;
commit;$q$),

  ('tenant_without_owner', array['app.tenants', 'app.users'],
    'select count(*) from app.tenants where registration is not null and ($1 is null or id = $1)',
    $q$select t.id as tenant_id, jsonb_build_object('id', t.id) as key, 'was registered by somebody, and has no owner' as detail
       from app.tenants t
       where t.registration is not null and ($1 is null or t.id = $1)
         and not exists (select from app.users u where u.tenant_id = t.id and u.role = 'owner' and u.removed_at is null)$q$,
    $q$-- make one of its members the owner:
update app.users set role = 'owner' where tenant_id = '{id}' and auth_subject = '…';$q$),

  ('credit_balance', array['app.credit_transactions'],
    'select count(*) from app.credit_transactions where $1 is null or tenant_id = $1',
    $q$select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', id) as key,
         format('the balance before was %s, the amount is %s, and balance_after says %s instead of %s',
           balance_before, amount, balance_after, balance_before + amount) as detail
       from (
         -- The ledgers are told good from bad as arrays, in the order of the index: a third of a window's cost. Only in the bad
         -- ones is the row looked for.
         select c.tenant_id, c.id, c.amount, c.balance_after,
           lag(c.balance_after, 1, 0::bigint) over (partition by c.tenant_id, c.user_id order by c.created_at, c.id) as balance_before
         from app.credit_transactions c
         where (c.tenant_id, c.user_id) in (
           select l.tenant_id, l.user_id
           from (select tenant_id, user_id, array_agg(balance_after - amount order by created_at, id) as balances_before,
                   array_agg(balance_after order by created_at, id) as balances_after
                 from app.credit_transactions where $1 is null or tenant_id = $1
                 group by tenant_id, user_id) l
           where l.balances_before[1] <> 0 or l.balances_before[2:] <> l.balances_after[:cardinality(l.balances_after) - 1])) r
       where balance_after <> balance_before + amount$q$,
    $q$-- look at the ledger around it:
select id, type, amount, balance_after, created_at from app.credit_transactions
where (tenant_id, user_id) = (select tenant_id, user_id from app.credit_transactions where tenant_id = '{tenant_id}' and id = '{id}')
order by created_at, id;$q$),

  ('completed_without_media', array['app.generations', 'app.media'],
    $q$select count(*) from app.generations where status = 'completed' and ($1 is null or tenant_id = $1)$q$,
    -- Two indexes tell which have no media; a hash of those is asked for the completed ones.
    $q$with lone as materialized (
         select i.tenant_id, i.id from app.generations i
         where ($1 is null or i.tenant_id = $1)
           and not exists (select from app.media m where m.tenant_id = i.tenant_id and m.generation_id = i.id))
       select g.tenant_id, jsonb_build_object('tenant_id', g.tenant_id, 'id', g.id) as key, 'the generation is completed and has no media' as detail
       from app.generations g
       where ($1 is null or g.tenant_id = $1)
         and case when g.status = 'completed' then (g.tenant_id, g.id) in (select l.tenant_id, l.id from lone l) end$q$,
    $q$update app.generations set status = 'failed', error = 'its media were lost' where tenant_id = '{tenant_id}' and id = '{id}';$q$)
$$;
comment on function audit.data_checks() is
$$Checks of rows against other rows: a count of what is examined, and a query for what fails, with its columns tenant_id, key
and detail. {column} in a remedy stands for the key's value.$$;

create or replace function audit.check_rows(p_check text, p_tenant_id uuid)
returns audit.outcome
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_check record;
  v_found audit.outcome;
  v_table text;
begin
  select * into strict v_check from audit.data_checks() where check_name = p_check;
  v_found."check" := p_check;
  v_found.relation := v_check.tables[1];
  foreach v_table in array v_check.tables loop
    perform audit.require_unfiltered(v_table::regclass);
  end loop;
  perform audit.prefer_merge(v_check.tables[2]::regclass);
  execute v_check.rows_sql into v_found.checked using p_tenant_id;
  execute format('select count(*) from (%s) f', v_check.failing_sql) into v_found.errors using p_tenant_id;
  if v_found.errors > 0 then
    execute format(
      $q$select array(
           select row(null, tenant_id, %L, key, detail,
             (select replace(replace(%L, '{id}', coalesce(key ->> 'id', '')), '{tenant_id}', coalesce(key ->> 'tenant_id', ''))))::audit.observation
           from (%s) f order by tenant_id, key limit 1000)$q$, v_found.relation, v_check.remedy, v_check.failing_sql)
    into v_found.kept using p_tenant_id;
  end if;
  return v_found;
end
$$;
comment on function audit.check_rows(text, uuid) is 'Runs one of audit.data_checks(); all findings are counted under `errors`.';

set local role tms_registrar;
grant execute on function app.count_tenants(text) to tms_auditor;
reset role;
--! EndIncluded audit/data_checks.sql
--! Included audit/checks/rls.sql
create or replace function audit.check_rls_disabled()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when not c.relrowsecurity then 'row-level security is not enabled: every role with a right on it sees every tenant' end,
    format('alter table %s enable row level security;', r.relid)
      || case when r.is_child or r.tenant_column = 'id' then '' else format(E'\nselect app.isolate(%L);', r.relid) end
  from audit.relations() r join pg_class c on c.oid = r.relid
$$;

create or replace function audit.check_rls_not_forced()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when not c.relforcerowsecurity and to_regprocedure('app.distribute(regclass)') is null then format('row-level security is not forced: its owner, %s, and every definer function of that role see every tenant', c.relowner::regrole) end,
    format('alter table %s force row level security;', r.relid)
  from audit.relations() r join pg_class c on c.oid = r.relid
$$;

create or replace function audit.expected_policies()
returns table (relid regclass, policy name, permissive boolean, command "char", role text, qual text, with_check text, remedy text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with style as (
    select to_regprocedure('app.distribute(regclass)') is not null as bare  -- db/distribute.sql was run
  ), template as (
    select r.relid, r.tenant_column, bare,
      format(case when bare then '(%I = app.tenant_id())' else '(%I = ( SELECT app.tenant_id() AS tenant_id))' end, r.tenant_column) as own,
      case when bare then '(current_setting(''app.maintenance''::text, true) = ''on''::text)'
           else '(( SELECT current_setting(''app.maintenance''::text, true) AS current_setting) = ''on''::text)' end as maintenance
    from audit.relations() r cross join style
  )
  select t.relid, p.policy, p.permissive, p.command, p.role, p.qual, p.with_check,
    case when p.policy = 'registrar'
      then format('drop policy if exists registrar on %s;', t.relid)
        || format(E'\ncreate policy registrar on %s for all to tms_registrar using (true) with check (true);', t.relid)
      else format('select app.write_policies(%L, %L);', t.relid, t.tenant_column) end
  from template t
  cross join lateral (values
    ('tenant_only'::name, bare, '*'::"char", 'tms_app', own, own),
    ('tenant_rows', true, '*', 'tms_app', 'true', 'true'),
    ('maintenance', true, '*', 'tms_owner', maintenance, maintenance),
    ('auditor', true, 'r', 'tms_auditor', 'true', null),
    ('registrar', true, '*', 'tms_registrar', 'true', 'true')
  ) as p (policy, permissive, command, role, qual, with_check)
  where (p.policy <> 'tenant_rows' or not bare)
    and (p.policy <> 'registrar' or t.relid::oid in (to_regclass('app.tenants'), to_regclass('app.users')))
$$;

create or replace function audit.check_policy_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, e.relid::text, jsonb_build_object('policy', e.policy),
    case when p.oid is null then format('the policy %s is missing', e.policy) end, e.remedy
  from audit.expected_policies() e
  left join pg_policy p on p.polrelid = e.relid and p.polname = e.policy
$$;

-- As the server spells it, compared with how the server spells the template: nothing is parsed here.
create or replace function audit.check_policy_changed()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, e.relid::text, jsonb_build_object('policy', e.policy),
    nullif(concat_ws('; ',
      case when p.polpermissive <> e.permissive then format('the policy %s is %s', e.policy, case when p.polpermissive then 'permissive, so that any other policy widens it' else 'restrictive' end) end,
      case when p.polcmd <> e.command then format('the policy %s is for the command %s', e.policy, p.polcmd) end,
      case when p.polroles <> array[to_regrole(e.role)::oid] then format('the policy %s is for %s', e.policy,
        (select string_agg(case when r = 0 then 'public' else r::regrole::text end, ', ') from unnest(p.polroles) r)) end,
      case when pg_get_expr(p.polqual, p.polrelid) is distinct from e.qual
        then format('USING of %s is %s instead of %s', e.policy, coalesce(pg_get_expr(p.polqual, p.polrelid), 'missing'), coalesce(e.qual, 'nothing')) end,
      case when pg_get_expr(p.polwithcheck, p.polrelid) is distinct from e.with_check
        then format('WITH CHECK of %s is %s instead of %s', e.policy, coalesce(pg_get_expr(p.polwithcheck, p.polrelid), 'missing'), coalesce(e.with_check, 'nothing')) end
    ), ''), e.remedy
  from audit.expected_policies() e
  join pg_policy p on p.polrelid = e.relid and p.polname = e.policy
$$;

create or replace function audit.check_policy_extra()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- To tms_app a further policy can only narrow: the restrictive one always holds, but on Citus, which has none. To anybody
  -- else it opens or blinds.
  select case when p.polroles = array[to_regrole('tms_app')::oid] and not app.is_distributed() then 'warning' else 'error' end,
    null::uuid, r.relid::text, jsonb_build_object('policy', p.polname),
    case when e.policy is null then format('%s policy %I for %s is not of the template: USING %s',
      case when p.polpermissive then 'the permissive' else 'the restrictive' end, p.polname,
      (select string_agg(case when x = 0 then 'public' else x::regrole::text end, ', ') from unnest(p.polroles) x),
      coalesce(pg_get_expr(p.polqual, p.polrelid), '(none)')) end,
    format('drop policy %I on %s;', p.polname, r.relid)
  from audit.relations() r
  join pg_policy p on p.polrelid = r.relid
  left join audit.expected_policies() e on e.relid = r.relid and e.policy = p.polname
$$;

-- A policy may call app.tenant_id() and what Postgres ships; any other function decides who sees what, row by row.
create or replace function audit.check_policy_function()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, p.polrelid::regclass::text, jsonb_build_object('policy', p.polname),
    case when f.oid is not null and f.oid is distinct from to_regprocedure('app.tenant_id()')
         then format('the policy %I calls %s, which is %s', p.polname, f.oid::regprocedure,
           case f.provolatile when 'i' then 'immutable: its answer is kept in plans, across tenants' when 'v' then 'volatile: it is asked again for each row'
           else 'not part of the template' end)
         when d.refclassid = 'pg_class'::regclass and d.refobjid <> p.polrelid
         then format('the policy %I reads %s, whose own rows then decide', p.polname, d.refobjid::regclass) end,
    format('drop policy %I on %s;', p.polname, p.polrelid::regclass)
  from pg_policy p
  join audit.relations() r on r.relid = p.polrelid
  left join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refobjid >= 16384
    and (d.refclassid = 'pg_proc'::regclass or d.refclassid = 'pg_class'::regclass)
  left join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid
$$;

create or replace function audit.check_tenant_id_function()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, null, jsonb_build_object('function', 'app.tenant_id()'),
    nullif(concat_ws('; ',
      case when f.oid is null then 'the function app.tenant_id() is missing' end,
      case when f.provolatile <> 's' then 'app.tenant_id() is ' || case f.provolatile when 'i' then 'immutable: a cached plan keeps one tenant''s id for the next' else 'volatile: it is asked again for each row' end end,
      case when f.oid is not null and regexp_replace(pg_get_function_sqlbody(f.oid), '\s+', ' ', 'g') is distinct from
          'RETURN CASE WHEN (current_setting(''app.tenant_id''::text, true) ~~ ''________-____-____-____-____________''::text) '
          || 'THEN (current_setting(''app.tenant_id''::text, true))::uuid ELSE NULL::uuid END'
        then 'the body of app.tenant_id() is not the one it came with: ' || coalesce(pg_get_function_sqlbody(f.oid), left(f.prosrc, 200)) end,
      case when f.prosecdef then 'app.tenant_id() is SECURITY DEFINER' end,
      case when f.proconfig is not null then 'app.tenant_id() sets ' || array_to_string(f.proconfig, ', ') end,
      case when f.proleakproof then 'app.tenant_id() is LEAKPROOF' end), ''),
    $q$create or replace function app.tenant_id() returns uuid language sql stable parallel safe
return case
  when pg_catalog.current_setting('app.tenant_id', true) like '________-____-____-____-____________'
  then pg_catalog.current_setting('app.tenant_id', true)::uuid
end;
-- what an earlier definition added:
alter function app.tenant_id() security invoker not leakproof reset all;$q$
  from (select to_regprocedure('app.tenant_id()') as oid) w
  left join pg_proc f on f.oid = w.oid
$$;
--! EndIncluded audit/checks/rls.sql
--! Included audit/checks/tables.sql
create or replace function audit.check_table_rules()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb, f.fault,
    format('-- mend it, then:%sselect app.isolate(%L);', E'\n', r.relid)
  from audit.relations() r
  left join lateral app.isolation_faults(r.relid) f on true
  where r.tenant_column = 'tenant_id' and not r.is_child
$$;

-- The service's own tables and what the checks read of them: most tests are made from the columns there are, so that a
-- column that is gone would take its test along without a word.
create or replace function audit.check_table_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, t.name, case when c.name is null then '{}' else jsonb_build_object('column', c.name) end,
    case when to_regclass(t.name) is null then 'the table is not there: what depends on it was not examined'
         when c.name is not null and not exists (
           select from pg_attribute where attrelid = to_regclass(t.name) and attname = c.name and not attisdropped)
           then format('the column %s is not there: what is asked of it was not examined', c.name) end,
    'restore it from a backup, or run the migrations: npm run migrate'
  from (values
    ('app.tenants', array['slug', 'name', 'status', 'settings', 'registration', 'is_default', 'created_at', 'updated_at']),
    ('app.users', array['tenant_id', 'auth_provider', 'auth_subject', 'role', 'created_at', 'updated_at', 'removed_at']),
    ('app.boards', array['tenant_id', 'owner_id', 'settings', 'created_at', 'updated_at']),
    ('app.board_members', array['tenant_id', 'board_id', 'user_id', 'invited_by', 'role', 'created_at']),
    ('app.generations', array['tenant_id', 'board_id', 'user_id', 'status', 'input', 'created_at', 'completed_at']),
    ('app.media', array['tenant_id', 'generation_id', 'storage_url', 'created_at']),
    ('app.provider_configs', array['tenant_id', 'provider_name', 'config', 'created_at', 'updated_at']),
    ('app.credit_transactions', array['tenant_id', 'user_id', 'generation_id', 'amount', 'balance_after', 'created_at'])
  ) as t (name, columns)
  cross join lateral (select null union all select unnest(t.columns)) c (name)
  where c.name is null or to_regclass(t.name) is not null
$$;

-- The tables that hang on a tenant by their foreign keys, whether or not anybody thought of tenant_id.
create or replace function audit.check_table_without_tenant()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive reached (relid) as (
    select relid::oid from audit.relations()
    union
    select c.conrelid from reached r join pg_constraint c on c.confrelid = r.relid and c.contype = 'f'
  )
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when t.relid is null then
      case when k.relid is not null then 'the table refers to tenants'' rows and has no column tenant_id: its rows belong to nobody'
      else 'the table is among the tenants'' tables and has no column tenant_id' end end,
    format('select app.isolate(%L, p_adopt => true);', c.oid::regclass)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join audit.relations() t on t.relid = c.oid
  left join reached k on k.relid = c.oid
  where c.relkind in ('r', 'p') and c.relpersistence <> 't' and n.nspname not in ('control', 'audit')
    and (n.nspname = 'app' or k.relid is not null)
$$;

create or replace function audit.check_tenant_key()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when k.oid is null then 'no foreign key ties tenant_id to app.tenants with ON DELETE CASCADE: rows of nobody can be written, and outlive their tenant'
         when not k.convalidated then format('the foreign key %I is NOT VALID: nobody looked at the rows before it', k.conname) end,
    case when k.oid is null then format('alter table %s add foreign key (tenant_id) references app.tenants (id) on delete cascade;', r.relid)
         else format('alter table %s validate constraint %I;', r.relid, k.conname) end
  from audit.relations() r
  left join lateral (
    select c.* from pg_constraint c
    where c.conrelid = r.relid and c.contype = 'f' and c.confrelid = to_regclass('app.tenants') and c.confdeltype = 'c'
      and coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true)
      and c.conkey = array(select attnum from pg_attribute where attrelid = r.relid and attname = 'tenant_id')
    order by c.convalidated desc limit 1) k on true
  where r.tenant_column = 'tenant_id' and not r.is_child
$$;

create or replace function audit.check_foreign_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.child::text, jsonb_build_object('columns', to_jsonb(r.child_columns)),
    case when r.constraint_name is null then format('no foreign key (tenant_id, %s) refers to %s: a row may point into another tenant', array_to_string(r.child_columns, ', '), r.parent) end,
    format('alter table %s add foreign key (tenant_id, %s) references %s (tenant_id, %s);', r.child, array_to_string(r.child_columns, ', '), r.parent, array_to_string(r.parent_columns, ', '))
  from audit.tenant_references() r
  union all
  -- Anybody's table: a column that looks like a reference and is bound by nothing.
  select 'warning', null, r.relid::text, jsonb_build_object('columns', jsonb_build_array(a.attname)),
    case when not exists (select from pg_constraint c where c.conrelid = r.relid and c.contype = 'f' and a.attnum = any (c.conkey))
         then format('%I looks like a reference, and no foreign key holds it to its tenant', a.attname) end,
    format('alter table %s add foreign key (tenant_id, %I) references … (tenant_id, id);', r.relid, a.attname)
  from audit.relations() r
  join pg_attribute a on a.attrelid = r.relid and a.attnum > 0 and not a.attisdropped
    and a.atttypid = 'uuid'::regtype and a.attname like '%\_id' and a.attname <> 'tenant_id'
  where not r.is_child and r.tenant_column = 'tenant_id'
    and not exists (select from audit.expected_references() e where to_regclass(e.child) = r.relid and e.child_column = a.attname)
$$;

create or replace function audit.check_constraint_not_valid()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when c.contype = 'f' then 'error' else 'warning' end, null::uuid, r.relid::text, jsonb_build_object('constraint', c.conname),
    case when not coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true) then format('the constraint %I is NOT ENFORCED', c.conname)
         when not c.convalidated then format('the constraint %I is NOT VALID: it was never held against the rows before it', c.conname) end,
    case when not coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true) then format('alter table %s alter constraint %I enforced;', r.relid, c.conname)
         else format('alter table %s validate constraint %I;', r.relid, c.conname) end
  from audit.relations() r join pg_constraint c on c.conrelid = r.relid
  where c.contype in ('f', 'c', 'n')
$$;

-- Foreign keys are triggers. Switched off they keep their names and check nothing.
create or replace function audit.check_trigger_disabled()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when t.tgisinternal then 'error' else 'warning' end, null::uuid, t.tgrelid::regclass::text, jsonb_build_object('trigger', t.tgname),
    case when t.tgenabled in ('D', 'R') then format('the trigger %s is disabled%s', t.tgname,
      coalesce(': the foreign key ' || quote_ident(c.conname) || ' of ' || c.conrelid::regclass || ' is not checked', '')) end,
    format('alter table %s enable trigger all;', t.tgrelid::regclass)
  from audit.relations() r
  join pg_trigger t on t.tgrelid = r.relid
  left join pg_constraint c on c.oid = t.tgconstraint
$$;

create or replace function audit.check_index_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, c.conrelid::regclass::text, jsonb_build_object('constraint', c.conname),
    case when not exists (
      select from pg_index i
      where i.indrelid = c.conrelid and i.indisvalid and i.indpred is null and i.indnkeyatts >= cardinality(c.conkey)
        and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] <@ c.conkey)
      then format('no index leads with the columns of the foreign key %I: deletes and look-ups read other tenants'' rows, and their time tells', c.conname) end,
    format('create index concurrently on %s (%s);', c.conrelid::regclass,
      (select string_agg(quote_ident(a.attname), ', ' order by k.n) from unnest(c.conkey) with ordinality as k (attnum, n)
       join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum))
  from pg_constraint c join audit.relations() r on r.relid = c.conrelid and not r.is_child
  where c.contype = 'f'
$$;

create or replace function audit.check_table_owner()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, o.name, o.key,
    case when o.owner is distinct from to_regrole('tms_owner') then format('%s is owned by %s: an owner can switch row-level security off', o.name, o.owner::regrole) end,
    format('alter %s %s owner to tms_owner;', o.kind, o.name)
  from (
    select c.oid::regclass::text as name, '{}'::jsonb as key, c.relowner as owner, case c.relkind when 'S' then 'sequence' when 'v' then 'view' else 'table' end as kind
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'S') and (n.nspname in ('app', 'control', 'audit', 'api') or c.oid in (select relid from audit.relations()))
    union all
    select n.nspname, jsonb_build_object('schema', n.nspname), n.nspowner, 'schema'
    from pg_namespace n where n.nspname in ('app', 'api', 'control', 'audit')
  ) o
$$;

create or replace function audit.check_view_leaks()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive reading (oid) as (
    select relid::oid from audit.relations()
    union
    select w.ev_class from reading r
    join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = r.oid and d.classid = 'pg_rewrite'::regclass
    join pg_rewrite w on w.oid = d.objid
  )
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when c.relkind = 'm' then 'the materialized view holds tenants'' rows, and no policy applies to it'
         when not exists (select from unnest(c.reloptions) o where o in ('security_invoker=true', 'security_invoker=on', 'security_invoker=1', 'security_invoker=yes'))
           then format('the view reads tenants'' rows with the rights of its owner, %s', c.relowner::regrole) end,
    case when c.relkind = 'm' then format('drop materialized view %s;', c.oid::regclass)
         else format('alter view %s set (security_invoker = true);', c.oid::regclass) end
  from pg_class c join reading r on r.oid = c.oid
  where c.relkind in ('v', 'm')
$$;

create or replace function audit.check_foreign_table()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when c.relkind = 'f' then 'the foreign table holds tenants'' rows, and no policy applies to it' end,
    format('drop foreign table %s;', c.oid::regclass)
  from pg_class c
  where c.relkind in ('f', 'r', 'p') and (c.relnamespace = to_regnamespace('app')
    or c.relkind = 'f' and exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id'))
$$;

create or replace function audit.check_rewrite_rule()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, jsonb_build_object('rule', w.rulename),
    case when w.oid is not null then format('the rule %I rewrites statements on the table with the rights of its owner', w.rulename) end,
    'drop rule ' || quote_ident(w.rulename) || ' on ' || r.relid || ';'
  from audit.relations() r left join pg_rewrite w on w.ev_class = r.relid
$$;

create or replace function audit.check_publication()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, r.relid::text, jsonb_build_object('publication', p.pubname),
    case when p.pubname is not null then format('the publication %I sends every tenant''s rows to its subscribers: replication knows no policy', p.pubname) end,
    E'-- for a replica of the whole service this is right; else:\nalter publication ' || quote_ident(p.pubname) || ' drop table ' || r.relid || ';'
  from audit.relations() r
  left join lateral (
    select distinct p.pubname from pg_publication p
    where p.puballtables
      or exists (select from pg_publication_rel x where x.prpubid = p.oid and x.prrelid = r.relid)
      or exists (select from pg_publication_namespace x join pg_class c on c.relnamespace = x.pnnspid where x.pnpubid = p.oid and c.oid = r.relid)
  ) p on true
$$;

-- Uniqueness that the service relies on. Like the references, known by heart.
create or replace function audit.check_unique_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, w.relation, jsonb_build_object('columns', to_jsonb(w.columns)),
    case when not exists (
      select from pg_index i
      where i.indrelid = to_regclass(w.relation) and i.indisunique and i.indisvalid and i.indexprs is null
        and coalesce(pg_get_expr(i.indpred, i.indrelid), '') = w.predicate
        and array(select a.attname::text from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k (attnum, n)
                  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum order by k.n) = w.columns)
      then format('nothing keeps (%s) unique%s', array_to_string(w.columns, ', '), case when w.predicate = '' then '' else ' where ' || w.predicate end) end,
    format('create unique index on %s (%s)%s;', w.relation, array_to_string(w.columns, ', '), case when w.predicate = '' then '' else ' where ' || w.predicate end)
  from (values
    ('app.tenants', array['id'], ''), ('app.tenants', array['slug'], ''), ('app.tenants', array['is_default'], 'is_default'),
    ('app.users', array['tenant_id', 'auth_provider', 'auth_subject'], ''),
    ('app.provider_configs', array['tenant_id', 'provider_name'], ''),
    ('app.board_members', array['tenant_id', 'board_id', 'user_id'], '')
  ) as w (relation, columns, predicate)
$$;
--! EndIncluded audit/checks/tables.sql
--! Included audit/checks/grants.sql
create or replace function audit.check_table_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with granted as (
    select r.relid, r.is_child, c.relowner, a.grantee, a.privilege_type, a.is_grantable, ''::text as column_name
    from audit.relations() r join pg_class c on c.oid = r.relid
    cross join lateral aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
    union all
    select r.relid, r.is_child, c.relowner, a.grantee, a.privilege_type, a.is_grantable, format('(%I)', t.attname)
    from audit.relations() r join pg_class c on c.oid = r.relid
    join pg_attribute t on t.attrelid = c.oid and t.attacl is not null
    cross join lateral aclexplode(t.attacl) a
  ), named as (
    select g.*, case when grantee = 0 then 'public' else grantee::regrole::text end as who,
      coalesce(w.rights @> array[g.privilege_type], false) and not is_grantable as wanted
    from granted g
    left join lateral (values
      ('tms_app', case when g.is_child then array[]::text[] when g.relid = to_regclass('app.tenants') then array['SELECT']
                       else array['SELECT', 'INSERT', 'UPDATE', 'DELETE'] end),
      ('tms_auditor', array['SELECT']),
      ('tms_registrar', case when g.relid::oid in (to_regclass('app.tenants'), to_regclass('app.users'))
                             then array['SELECT', 'INSERT', 'UPDATE', 'DELETE'] else array[]::text[] end)
    ) as w (role, rights) on to_regrole(w.role) = g.grantee
    where g.grantee <> g.relowner
  )
  select case when who = 'public' or who like 'tms\_%' or is_grantable or privilege_type not in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
              then 'error' else 'warning' end,
    null::uuid, relid::text, jsonb_build_object('role', who, 'privilege', privilege_type),
    case when not wanted then format('%s has %s%s on the table%s%s', who, privilege_type, column_name, case when is_grantable then ' and may pass it on' else '' end,
      case when privilege_type = 'TRUNCATE' then ', which empties every tenant and knows no policy'
           when privilege_type in ('REFERENCES', 'TRIGGER') then ', which knows no policy'
           when is_child then ': queried by its own name a partition does not look at its parent''s policies' else '' end) end,
    format('revoke %s%s on table %s from %s;', privilege_type, column_name, relid, who)
  from named
  union all
  select 'error', null, r.relid::text, jsonb_build_object('role', 'tms_auditor', 'privilege', 'SELECT'),
    case when not has_table_privilege('tms_auditor', r.relid, 'select') then 'tms_auditor may not read the table: it is not examined'
         when not has_schema_privilege('tms_auditor', c.relnamespace, 'usage') then format('tms_auditor may not use the schema %s: the table is not examined', c.relnamespace::regnamespace) end,
    format('grant usage on schema %s to tms_auditor; grant select on table %s to tms_auditor;', c.relnamespace::regnamespace, r.relid)
  from audit.relations() r join pg_class c on c.oid = r.relid
$$;

-- What is not a tenant's table but lies beside them: the service's bookkeeping, the audit's results, views and sequences.
create or replace function audit.check_other_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, c.oid::regclass::text, jsonb_build_object('role', coalesce(a.who, 'nobody'), 'privilege', a.privilege_type),
    case when a.who is not null and not (
        n.nspname = 'control' and a.who = 'tms_registrar' and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
        or n.nspname = 'audit' and a.who = 'tms_auditor' and a.privilege_type = 'SELECT'
        or n.nspname = 'app' and c.relkind = 'v' and a.who in ('tms_app', 'tms_auditor') and a.privilege_type = 'SELECT'
        or n.nspname = 'app' and c.relkind = 'S' and a.who in ('tms_app', 'tms_auditor') and a.privilege_type in ('USAGE', 'SELECT', 'UPDATE'))
      then format('%s has %s on it', a.who, a.privilege_type) end,
    format('revoke %s on %s from %s;', a.privilege_type, c.oid::regclass, a.who)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join lateral (
    select case when x.grantee = 0 then 'public' else x.grantee::regrole::text end as who, x.privilege_type
    from aclexplode(c.relacl) x where x.grantee <> c.relowner
    union all
    select case when x.grantee = 0 then 'public' else x.grantee::regrole::text end, x.privilege_type
    from pg_attribute t cross join lateral aclexplode(t.attacl) x where t.attrelid = c.oid and t.attacl is not null and x.grantee <> c.relowner
  ) a on true
  where n.nspname in ('app', 'api', 'control', 'audit', 'graphile_migrate') and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    and c.oid not in (select relid from audit.relations())
$$;

create or replace function audit.check_schema_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with granted as (
    select format('schema %I', n.nspname) as object, n.nspname as name, a.grantee, a.privilege_type, a.is_grantable
    from pg_namespace n cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
    where n.nspname in ('app', 'api', 'control', 'audit', 'public') and a.grantee <> n.nspowner
    union all
    select format('database %I', d.datname), 'database', a.grantee, a.privilege_type, a.is_grantable
    from pg_database d cross join lateral aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
    where d.datname = current_database() and a.grantee <> d.datdba
  ), named as (
    select *, case when grantee = 0 then 'public' else grantee::regrole::text end as who from granted
  )
  select case when name in ('public', 'database') and who = 'public' and privilege_type = 'CONNECT' then 'warning'
              when who = 'public' or who like 'tms\_%' then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object('object', object, 'role', who, 'privilege', privilege_type),
    case when is_grantable or not (
        name = 'app' and privilege_type = 'USAGE' and who in ('tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'api' and privilege_type = 'USAGE' and who in ('tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'control' and privilege_type = 'USAGE' and who = 'tms_registrar'
        or name = 'audit' and privilege_type = 'USAGE' and who in ('tms_auditor', 'tms_registrar')
        or name = 'public' and privilege_type = 'USAGE'
        or name = 'public' and who not in ('public', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'database' and privilege_type = 'CONNECT' and who <> 'public'
        or name = 'database' and who not like 'tms\_%' and who <> 'public')
      then format('%s has %s on the %s%s', who, privilege_type, object,
        case privilege_type when 'TEMPORARY' then ': temporary tables can stand in for others' when 'CREATE' then ': objects of its own can stand in for others' else '' end) end,
    format('revoke %s on %s from %s;', privilege_type, object, who)
  from named
$$;

create or replace function audit.check_default_privileges()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, null, jsonb_build_object('owner', d.defaclrole::regrole::text, 'role', a.who, 'privilege', a.privilege_type),
    case when a.who in ('public', 'tms_service', 'tms_app', 'tms_registrar') then
      format('%s gets %s on everything that %s makes%s, before anybody isolates it', a.who, a.privilege_type, d.defaclrole::regrole,
        coalesce(' in ' || nullif(d.defaclnamespace, 0)::regnamespace, '')) end,
    format('alter default privileges for role %s%s revoke all on %s from %s;', d.defaclrole::regrole,
      coalesce(' in schema ' || nullif(d.defaclnamespace, 0)::regnamespace, ''),
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'n' then 'schemas' else 'types' end, a.who)
  from pg_default_acl d
  cross join lateral (select x.*, case when x.grantee = 0 then 'public' else x.grantee::regrole::text end as who from aclexplode(d.defaclacl) x) a
  where a.grantee <> d.defaclrole and d.defaclobjtype in ('r', 'S', 'f', 'n')
  union all
  select 'warning', null, null, jsonb_build_object('owner', 'tms_owner', 'role', 'public', 'privilege', 'EXECUTE'),
    case when not exists (
      select from pg_default_acl where defaclrole = to_regrole('tms_owner') and defaclnamespace = 0 and defaclobjtype = 'f')
    then 'everybody may execute every function that tms_owner makes from now on' end,
    'alter default privileges for role tms_owner revoke execute on functions from public;'
$$;

create or replace function audit.check_service_reach()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, c.oid::regclass::text, jsonb_build_object('role', 'tms_service'),
    case when has_table_privilege('tms_service', c.oid, 'select, insert, update, delete, truncate, references, trigger')
           or has_any_column_privilege('tms_service', c.oid, 'select, insert, update, references')
      then 'the service''s login has rights on it: it may execute api functions and nothing else' end,
    format('revoke all on table %s from tms_service, public;', c.oid::regclass)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\_t%'
  union all
  select 'error', null, f.oid::regprocedure::text, jsonb_build_object('role', 'tms_service'),
    case when has_function_privilege('tms_service', f.oid, 'execute') then 'the service''s login may execute it, and it is not of the schema api' end,
    format('revoke execute on function %s from tms_service, public;', f.oid::regprocedure)
  from pg_proc f join pg_namespace n on n.oid = f.pronamespace
  where n.nspname in ('app', 'control', 'audit')
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e')
  union all
  select 'error', null, c.oid::regclass::text, '{}'::jsonb, 'the schema api holds functions and nothing else', format('drop table %s;', c.oid::regclass)
  from pg_class c where c.relnamespace = to_regnamespace('api') and c.relkind in ('r', 'p', 'v', 'm', 'f')
$$;
--! EndIncluded audit/checks/grants.sql
--! Included audit/checks/functions.sql
-- Extensions' functions are theirs; everything else in the database is examined.
create or replace function audit.functions()
returns table (oid oid, name text, schema name, owner name, definer boolean, config text[], body text, leakproof boolean, acl aclitem[], kind "char", own boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select f.oid, f.oid::regprocedure::text, n.nspname, o.rolname, f.prosecdef, coalesce(f.proconfig, '{}'), f.prosrc, f.proleakproof,
    coalesce(f.proacl, acldefault('f', f.proowner)), f.prokind, n.nspname in ('app', 'api', 'control', 'audit')
  from pg_proc f
  join pg_namespace n on n.oid = f.pronamespace
  join pg_roles o on o.oid = f.proowner
  where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast') and n.nspname not like 'pg\_temp\_%'
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e')
$$;

create or replace function audit.check_function_owner()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.owner <> all (case f.schema when 'api' then array['tms_app', 'tms_registrar'] when 'app' then array['tms_owner', 'tms_app', 'tms_registrar']
                              when 'audit' then array['tms_owner', 'tms_auditor', 'tms_app'] else array['tms_owner'] end)
      then format('%s owns the function, so that it runs with rights that no policy was written for', f.owner) end,
    format('alter %s %s owner to %s;', case f.kind when 'p' then 'procedure' else 'function' end, f.name, case when f.schema = 'api' then 'tms_app' else 'tms_owner' end)
  from audit.functions() f
  where f.own
$$;

create or replace function audit.check_function_security()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with expected as (
    select f.*, (f.schema = 'api' or f.owner in ('tms_app', 'tms_registrar', 'tms_auditor') or f.name ~ any (array[
        -- The owner's own definers: each reads or writes what nobody else may, and nothing of a tenant's.
        '^app\.(schema_version|last_audit)\(', '^control\.tg_tenants__(count|record)\(', '^audit\.(has_rows|start_run|record_pass|finish_run)\(']))
        and f.name <> 'api.get_login_faults()' as wanted
    from audit.functions() f where f.own
  )
  select 'error', null::uuid, name, '{}'::jsonb,
    case when definer and not wanted then format('the function runs with all rights of its owner, %s, and is not one of those that must', owner)
         when wanted and not definer then 'the function is not SECURITY DEFINER, and was made to run as its owner' end,
    format('alter %s %s security %s;', case kind when 'p' then 'procedure' else 'function' end, name, case when wanted then 'definer' else 'invoker' end)
  from expected
$$;

create or replace function audit.check_function_bypass()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.definer and (r.rolsuper or r.rolbypassrls) then format('the function runs as %s, to whom no policy applies', f.owner)
         when f.definer and not f.own and exists (
           select from unnest(array['tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app']) t where to_regrole(t) is not null and pg_has_role(r.oid, to_regrole(t), 'usage'))
           then format('the function lies outside the service''s schemas and runs as %s', f.owner) end,
    format('alter function %s security invoker;', f.name)
  from audit.functions() f join pg_roles r on r.rolname = f.owner
  where f.kind <> 'a'
$$;

create or replace function audit.check_function_search_path()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when (f.own or f.definer) and c.path is null and (f.definer or f.body ~ '\S' and f.kind <> 'p')
           then 'the function takes its search_path from the caller, whose objects can stand in for the real ones'
         when f.own and c.path not in ('pg_catalog, pg_temp', '"pg_catalog", "pg_temp"') then format('search_path is %s instead of pg_catalog, pg_temp', c.path)
         when f.definer and c.path !~ ',\s*"?pg_temp"?$' then format('search_path is %s: without pg_temp in the last place, temporary objects are found first', c.path) end,
    format('alter function %s set search_path = pg_catalog, pg_temp;', f.name)
  from audit.functions() f
  join pg_proc p on p.oid = f.oid
  join pg_language l on l.oid = p.prolang
  left join lateral (select substr(x, 13) as path from unnest(f.config) x where x like 'search\_path=%') c on true
  where l.lanname not in ('c', 'internal')
$$;

create or replace function audit.check_function_settings()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when c.setting is not null and not (f.schema = 'audit' and c.setting = 'row_security=on')
      then format('the function sets %s', c.setting) end,
    format('alter function %s reset %s;', f.name, split_part(c.setting, '=', 1))
  from audit.functions() f
  left join lateral (
    select x as setting from unnest(f.config) x
    where split_part(x, '=', 1) in ('role', 'session_authorization', 'row_security', 'session_replication_role') or x like 'app.%') c on true
$$;

-- A setting for the session outlives the request; the next one on the same connection is somebody else's.
create or replace function audit.check_function_body()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when b.code ~* '\mset\s+(session\s+)?app\.tenant_id' or b.code ~* '\mset_config\s*\(\s*''app\.tenant_id''[^;]*,\s*false\s*\)'
           then 'the function sets app.tenant_id for the session, and not for the transaction'
         when b.code ~* '\mset\s+((session|local)\s+)?app\.maintenance' or b.code ~* '\mset_config\s*\(\s*''app\.maintenance'''
           then 'the function sets app.maintenance, which opens every table to the owner'
         when b.statements ~* '\mset\s+((session|local)\s+)?(role|session\s+authorization)\M' or b.code ~* '\mset\s+((session|local)\s+)?(row_security|session_replication_role)\M'
           or b.code ~* '\mset_config\s*\(\s*''(role|session_authorization|row_security|session_replication_role)'''
           then 'the function changes the role, or how policies and triggers apply to it' end,
    format('select prosrc from pg_proc where oid = %L::regprocedure;', f.name)
  from audit.functions() f
  cross join lateral (select regexp_replace(f.body, '--[^\n]*', '', 'g')) c (code)
  cross join lateral (select c.code, regexp_replace(c.code, $q$'[^']*'$q$, '', 'g') as statements) b
  where f.schema <> 'audit'
$$;

create or replace function audit.check_function_public()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.own or a.who = 'tms_service' then 'error' else 'warning' end, null::uuid, f.name, jsonb_build_object('role', a.who),
    case when f.own and a.who = 'public' then 'everybody may execute the function'
         when f.definer and a.who = 'public' then format('everybody may execute the function with the rights of %s', f.owner)
         when f.own and a.is_grantable then format('%s may pass on the right to execute the function', a.who)
         when f.schema = 'api' and a.who not in ('tms_service', 'tms_owner', 'tms_auditor') then format('%s may execute the function, beside the service''s login', a.who) end,
    format('revoke execute on %s %s from %s;', case f.kind when 'p' then 'procedure' else 'function' end, f.name, a.who)
  from audit.functions() f
  left join lateral (
    select case when x.grantee = 0 then 'public' else x.grantee::regrole::text end as who, x.is_grantable
    from aclexplode(f.acl) x where x.grantee <> to_regrole(quote_ident(f.owner))) a on true
$$;

create or replace function audit.check_function_leakproof()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.leakproof then 'the function claims to be LEAKPROOF: it is run on rows before the policy is' end,
    format('alter function %s not leakproof;', f.name)
  from audit.functions() f
  where f.kind in ('f', 'w')
  union all
  select 'error', null, 'uuid_eq(uuid,uuid)', '{}'::jsonb,
    case when not proleakproof then 'the comparison in every policy is not leakproof: conditions of a query may be run before it, on any tenant''s rows' end,
    'alter function pg_catalog.uuid_eq(uuid, uuid) leakproof;'
  from pg_proc where oid = 'pg_catalog.uuid_eq(uuid,uuid)'::regprocedure
$$;
--! EndIncluded audit/checks/functions.sql
--! Included audit/checks/roles.sql
create or replace function audit.check_role_attributes()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, null, jsonb_build_object('role', w.name),
    nullif(concat_ws('; ',
      case when r.oid is null then format('the role %s is missing', w.name) end,
      case when r.rolsuper then format('%s is a superuser: no policy applies to it', w.name) end,
      case when r.rolbypassrls then format('%s has BYPASSRLS: no policy applies to it', w.name) end,
      case when r.rolcreaterole then format('%s may create roles, and give itself others', w.name) end,
      case when r.rolreplication then format('%s may replicate: it reads every row of the cluster', w.name) end,
      case when r.rolcreatedb then format('%s may create databases', w.name) end,
      case when r.rolinherit then format('%s inherits the rights of what it becomes a member of', w.name) end,
      case when r.rolcanlogin and not w.login then format('%s may log in', w.name) end), ''),
    '-- as an administrator:' || E'\n\\i db/roles.sql'
  -- As db/roles.sql has it: the nodes of a Citus cluster reach each other as the role that asks.
  from (select exists (select from pg_settings where name = 'citus.shard_count' and vartype = 'integer') as citus) c
  cross join lateral (values ('tms_owner', true), ('tms_service', true), ('tms_app', c.citus), ('tms_registrar', c.citus), ('tms_auditor', c.citus)) as w (name, login)
  left join pg_roles r on r.rolname = w.name
$$;

create or replace function audit.check_role_membership()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when m.member like 'tms\_%' then 'error' else 'warning' end, null::uuid, null, jsonb_build_object('role', m.granted, 'member', m.member),
    case when m.member = 'tms_owner' and m.granted in ('tms_app', 'tms_registrar', 'tms_auditor')
           then case when m.inherits then format('tms_owner inherits %s, and its policies, without saying so', m.granted) end
         when m.member in ('tms_owner', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
           then format('%s is a member of %s: what that role may, it may', m.member, m.granted)
         when m.granted in ('tms_owner', 'tms_service', 'tms_registrar') then format('%s may act as %s', m.member, m.granted) end,
    format('revoke %I from %I;', m.granted, m.member)
  from (
    select g.rolname as granted, r.rolname as member, coalesce((to_jsonb(a) ->> 'inherit_option')::boolean, r.rolinherit) as inherits,
      coalesce((to_jsonb(a) ->> 'set_option')::boolean, true) as may_set
    from pg_auth_members a join pg_roles g on g.oid = a.roleid join pg_roles r on r.oid = a.member
    where not r.rolsuper or r.rolname like 'tms\_%'
  ) m
  where m.inherits or m.may_set
$$;

create or replace function audit.check_role_settings()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when s.setting like 'search\_path=%' then 'warning' else 'error' end,
    null::uuid, null, jsonb_build_object('role', coalesce(r.rolname, 'all'), 'setting', s.setting),
    case when split_part(s.setting, '=', 1) in ('role', 'row_security', 'session_replication_role') or s.setting like 'app.%'
           then format('every session of %s begins with %s', coalesce(r.rolname, 'every role'), s.setting)
         when r.rolname like 'tms\_%' and s.setting like 'search\_path=%' and s.setting not in ('search_path=pg_catalog, pg_temp', 'search_path="pg_catalog", "pg_temp"')
           then format('%s looks for names in %s', r.rolname, substr(s.setting, 13)) end,
    format('alter %s%s reset %s;', case when r.oid is null then format('database %I', d.datname) else format('role %I', r.rolname) end,
      case when r.oid is not null and d.oid is not null then format(' in database %I', d.datname) else '' end, split_part(s.setting, '=', 1))
  from pg_db_role_setting x
  cross join lateral unnest(x.setconfig) as s (setting)
  left join pg_roles r on r.oid = x.setrole
  left join pg_database d on d.oid = x.setdatabase
  where (x.setdatabase = 0 or d.datname = current_database()) and (x.setrole = 0 or r.rolname like 'tms\_%')
$$;

create or replace function audit.check_bypass_role()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, null, jsonb_build_object('role', r.rolname),
    case when exists (select from audit.relations() t where has_any_column_privilege(r.oid, t.relid, 'select, insert, update'))
      then format('%s has BYPASSRLS and rights on tenants'' tables', r.rolname) end,
    format('alter role %I nobypassrls;', r.rolname)
  from pg_roles r
  where r.rolbypassrls and not r.rolsuper and r.rolname not like 'tms\_%'
$$;

create or replace function audit.check_registrar_reach()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, jsonb_build_object('role', 'tms_registrar'),
    case when r.relid::oid in (to_regclass('app.tenants'), to_regclass('app.users')) then null
         when has_any_column_privilege('tms_registrar', r.relid, 'select, insert, update, references') or has_table_privilege('tms_registrar', r.relid, 'delete, truncate, trigger')
           then 'tms_registrar, which crosses tenants, has rights on it: its reach is app.tenants and app.users'
         when exists (select from pg_policy p where p.polrelid = r.relid and to_regrole('tms_registrar')::oid = any (p.polroles))
           then 'a policy opens the table to tms_registrar, which crosses tenants' end,
    format('revoke all on table %s from tms_registrar;', r.relid)
  from audit.relations() r
$$;
--! EndIncluded audit/checks/roles.sql
--! Included audit/checks/server.sql
-- The first releases of each branch without the holes that were reproduced. 15.20 closes the set of November 2026; the
-- other branches' numbers for that set are not known here, so theirs are those of the set of August 2026.
create or replace function audit.version_fault(p_version_num int, p_embedded boolean, out severity text, out fault text, out remedy text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.major is null or p_embedded then 'warning' else 'error' end,
    case when f.major is null then format('nobody has looked which holes in row-level security Postgres %s has', p_version_num / 10000)
         when p_version_num % 10000 < f.minor then format('Postgres %s.%s has holes in row-level security that %s.%s closes (%s)',
           f.major, p_version_num % 10000, f.major, f.minor, f.cves) end,
    case when f.major is null then 'use Postgres 15 to 18'
         when p_embedded then format('the embedded Postgres is for development; run production on %s.%s or later', f.major, f.minor)
         else format('update the server to Postgres %s.%s or later', f.major, f.minor) end
  from (select) one
  left join (values
    (15, 20, 'CVE-2026-120154, CVE-2026-16237, CVE-2026-116311, CVE-2026-116327'),
    (16, 15, 'CVE-2026-14666'), (17, 11, 'CVE-2026-14666'), (18, 6, 'CVE-2026-14666')
  ) as f (major, minor, cves) on f.major = p_version_num / 10000
$$;

create or replace function audit.check_server_version()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select v.severity, null::uuid, null, jsonb_build_object('server_version', current_setting('server_version')), v.fault, v.remedy
  from audit.version_fault(current_setting('server_version_num')::int, current_setting('cluster_name') = 'tenancy embedded') v
$$;

create or replace function audit.check_server_settings()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select w.severity, null::uuid, null, jsonb_build_object('setting', s.name),
    case when s.reset_val <> w.good and s.source <> 'session' then format('%s is %s: %s', s.name, s.reset_val, w.why) end,
    format('alter system set %s = %s; select pg_reload_conf();', s.name, w.good)
  from (values
    ('session_replication_role', 'origin', 'error', 'foreign keys and triggers are not run'),
    ('row_security', 'on', 'warning', 'whoever is under a policy gets errors instead of rows'),
    ('lo_compat_privileges', 'off', 'error', 'everybody reads every large object'),
    ('log_parameter_max_length_on_error', '0', 'info', 'values of tenants'' rows go into the server''s log')
  ) as w (name, good, severity, why)
  join pg_settings s on s.name = w.name
$$;

-- Clusters older than the fix keep the views they were made with, whatever the binaries say.
create or replace function audit.check_statistics_view()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, 'pg_catalog.' || v.name, '{}'::jsonb,
    case when pg_get_viewdef(('pg_catalog.' || v.name)::regclass) !~ 'pg_has_role' then 'the view shows values of rows that policies hide (CVE-2024-4317)' end,
    'run share/fix-CVE-2024-4317.sql of the server''s release, in every database'
  from (values ('pg_stats_ext'), ('pg_stats_ext_exprs')) as v (name)
$$;

create or replace function audit.check_audit_filtered()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb, audit.filter_of(r.relid),
    format('select app.write_policies(%L, %L); -- and drop what is in the way', r.relid, r.tenant_column)
  from audit.relations() r
$$;
--! EndIncluded audit/checks/server.sql
--! Included audit/proof.sql
-- The proof acts instead of reading: as tms_app, inside a tenant, by the way a request or a DBA gets there.
set local role tms_app;
create or replace function audit.visible_rows(p_table regclass, p_column name, p_tenants uuid[])
returns table (tenant_id uuid, visible bigint, own bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before constant text := coalesce(current_setting('app.tenant_id', true), '');
begin
  -- A null among the tenants stands for no tenant at all.
  foreach tenant_id in array p_tenants loop
    execute format('set local app.tenant_id = %L', coalesce(tenant_id::text, ''));
    execute format('select count(*), count(*) filter (where %I = $1) from %s', p_column, p_table) into visible, own using tenant_id;
    return next;
  end loop;
  execute format('set local app.tenant_id = %L', v_before);
end
$$;
comment on function audit.visible_rows(regclass, name, uuid[]) is
  'As tms_app inside each tenant: the rows it sees of a table, and how many of them are that tenant''s.';
revoke all on function audit.visible_rows(regclass, name, uuid[]) from public;
grant execute on function audit.visible_rows(regclass, name, uuid[]) to tms_auditor;

-- Every attempt ends in an error or in nothing: where a write goes through, its first row raises 22012, so that nothing is
-- kept and no second row is touched. RETURNING names no column, because reading one would bring the SELECT policies to help.
create or replace function audit.try_writes(p_table regclass, p_column name, p_tenant_id uuid, p_other_id uuid)
returns table (attempt text, fault text, decided boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_before constant text := coalesce(current_setting('app.tenant_id', true), '');
  v_nobody constant uuid := gen_random_uuid();
  v_attempt record;
  v_message text;
begin
  for v_attempt in
    select * from (values
      ('insert a row for another tenant', p_tenant_id, 'insert into %1$s (%2$I) values (%3$L) returning 1 / (pg_backend_pid() * 0)', p_other_id),
      ('give its rows to another tenant', p_tenant_id, 'update %1$s set %2$I = %3$L returning 1 / (pg_backend_pid() * 0)', p_other_id),
      ('take the rows of other tenants', v_nobody, 'update %1$s set %2$I = %3$L returning 1 / (pg_backend_pid() * 0)', v_nobody),
      ('delete the rows of other tenants', v_nobody, 'delete from %1$s returning 1 / (pg_backend_pid() * 0)', v_nobody),
      ('insert a row without a tenant', null, 'insert into %1$s (%2$I) values (%3$L) returning 1 / (pg_backend_pid() * 0)', p_other_id),
      ('delete rows without a tenant', null, 'delete from %1$s returning 1 / (pg_backend_pid() * 0)', null)
    ) as a (name, tenant_id, statement, value)
  loop
    attempt := v_attempt.name;
    fault := null;
    decided := true;
    begin
      execute format('set local app.tenant_id = %L', coalesce(v_attempt.tenant_id::text, ''));
      execute format(v_attempt.statement, p_table, p_column, v_attempt.value);
      -- An INSERT that raises nothing was swallowed by a trigger or a rule; an UPDATE or DELETE found no row.
      if v_attempt.statement like 'insert%' then
        fault := 'was accepted';
      end if;
    exception
      when insufficient_privilege then
        -- Refused at the door, or by WITH CHECK. Where no row may be seen, WITH CHECK is already one row too far.
        get stacked diagnostics v_message = message_text;
        if v_attempt.tenant_id = v_nobody and v_message ~ 'row-level security' then
          fault := 'reached a row';
        end if;
      when division_by_zero then
        fault := 'was accepted';
      when lock_not_available or query_canceled then
        raise;
      when integrity_constraint_violation then
        get stacked diagnostics v_message = message_text;
        fault := 'was stopped by a constraint only: ' || v_message;
      when others then
        get stacked diagnostics v_message = message_text;
        fault := 'cannot be decided: ' || v_message;
        decided := false;
    end;
    return next;
  end loop;
  execute format('set local app.tenant_id = %L', v_before);
end
$$;
comment on function audit.try_writes(regclass, name, uuid, uuid) is
  'As tms_app inside p_tenant_id: tries to write into p_other_id and to reach rows from a tenant that does not exist; fault is null where that was refused. Nothing is kept.';
revoke all on function audit.try_writes(regclass, name, uuid, uuid) from public;
grant execute on function audit.try_writes(regclass, name, uuid, uuid) to tms_auditor;
reset role;

create or replace function audit.sample_tenants(p_tenant_id uuid, p_sample int)
returns uuid[]
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select case when p_tenant_id is not null then array[p_tenant_id]
    else array(select id from app.tenants order by is_default desc, random() limit p_sample) end
$$;
comment on function audit.sample_tenants(uuid, int) is 'The tenants that the proof acts in: the given one, or the default one and others at random; p_sample null: all.';

create or replace function audit.prove(p_check text, p_tenant_id uuid, p_sample int)
returns setof audit.outcome
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants uuid[];
  v_table record;
  v_other uuid;
  v_out audit.outcome;
begin
  perform audit.require_unfiltered('app.tenants');
  v_tenants := audit.sample_tenants(p_tenant_id, case when p_check = 'proof_writes' then least(p_sample, 5) else p_sample end);
  for v_table in select relid, tenant_column as col from audit.relations() where not is_child loop
    v_out := row(p_check, v_table.relid, 0, 0, 0, 0, '{}'::audit.observation[]);
    perform audit.require_unfiltered(v_table.relid);
    if p_check = 'proof_rows' then
      execute format(
        $q$with counted as (select %1$I as tenant_id, count(*) as n from %2$s where %1$I = any ($1) group by 1),
             compared as (select v.tenant_id, v.visible, v.own, coalesce(n, 0) as n
                          from audit.visible_rows(%2$L, %1$L, $1) v left join counted using (tenant_id))
           select coalesce(sum(n), 0), count(*) filter (where visible <> n or own <> n), array(
             select row('error', tenant_id, %2$L, jsonb_build_object(%1$L, tenant_id),
               format('inside the tenant tms_app sees %%s rows, %%s of them the tenant''s, and the tenant has %%s', visible, own, n), $2)::audit.observation
             from compared where visible <> n or own <> n limit 1000) from compared$q$, v_table.col, v_table.relid)
      into v_out.checked, v_out.errors, v_out.kept using v_tenants, format('select app.write_policies(%L, %L);', v_table.relid, v_table.col);
    elsif p_check = 'proof_nothing' then
      -- Without a tenant, and in one that nobody ever made.
      select count(*), count(*) filter (where v.visible > 0), array_agg(row('error', null, v_table.relid::text, jsonb_build_object('inside', coalesce(v.tenant_id::text, 'no tenant')),
          format('tms_app sees %s rows %s', v.visible, case when v.tenant_id is null then 'without a tenant' else 'in a tenant that does not exist' end),
          format('select app.write_policies(%L, %L);', v_table.relid, v_table.col))::audit.observation) filter (where v.visible > 0)
      into v_out.checked, v_out.errors, v_out.kept
      from audit.visible_rows(v_table.relid, v_table.col, array[null, gen_random_uuid(), '00000000-0000-0000-0000-000000000000']) v;
    else
      for i in 1 .. greatest(cardinality(v_tenants), 1) loop
        -- With a single tenant the other one is made up: a refusal does not ask whether it exists.
        v_other := coalesce((select id from app.tenants where id <> v_tenants[i] order by random() limit 1), gen_random_uuid());
        select v_out.checked + count(*), v_out.errors + count(*) filter (where w.fault is not null and w.decided),
          v_out.warnings + count(*) filter (where w.fault is not null and not w.decided),
          v_out.kept || coalesce(array_agg(row(case when w.decided then 'error' else 'warning' end, v_tenants[i], v_table.relid::text,
            jsonb_build_object('attempt', w.attempt), format('inside the tenant tms_app tried to %s, which %s', w.attempt, w.fault),
            format('select app.write_policies(%L, %L);', v_table.relid, v_table.col))::audit.observation) filter (where w.fault is not null), '{}')
        into v_out.checked, v_out.errors, v_out.warnings, v_out.kept
        from audit.try_writes(v_table.relid, v_table.col, coalesce(v_tenants[i], gen_random_uuid()), v_other) w;
      end loop;
    end if;
    return next v_out;
  end loop;
end
$$;
comment on function audit.prove(text, uuid, int) is
$$The proof, table by table: proof_rows (inside each tenant exactly its rows), proof_nothing (without a tenant no row),
proof_writes (no write reaches another tenant). Compares counts: run it in a repeatable read transaction while others write.$$;
--! EndIncluded audit/proof.sql
--! Included audit/run.sql
create or replace function audit.passes(p_family text default null, p_gate boolean default false)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select pass from (
    select c."check" as pass, 1 as part, n
    from audit.checks() with ordinality as c ("check", category, severity, family, gate, finds, why, mend, n)
    where c.family = 'schema' and p_family is distinct from 'data' and (c.gate or not p_gate)
    union all
    select 'scan ' || relid, 2, row_number() over (order by relid::text) from audit.relations()
    where not is_child and p_family is distinct from 'schema' and not p_gate
    union all
    select d.check_name, 3, row_number() over () from audit.data_checks() d where p_family is distinct from 'schema' and not p_gate
  ) p
  order by part, n
$$;
comment on function audit.passes(text, boolean) is
  'The units of a run, each in a transaction of its own: a check by its name, or `scan <table>`, one pass over a table for all checks of single rows.';

create or replace function audit.pass_checks(p_pass text)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select p_pass where p_pass not like 'scan %'
  union
  select unnest(array_remove(array[t.check_name, t.check_elsewhere], null))
  from audit.row_tests(to_regclass(substr(p_pass, 6))) t
  where p_pass like 'scan %'
$$;
comment on function audit.pass_checks(text) is 'The checks that a pass is part of.';

-- Everything that reads tenants' rows reads them here, as tms_auditor, whoever called.
set local role tms_auditor;
create or replace function audit.examine(p_pass text, p_tenant_id uuid, p_sample int)
returns setof audit.outcome
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
set work_mem = '128MB'
set random_page_cost = 1.1
set enable_hashjoin = on
set min_parallel_index_scan_size = '512kB'
set jit = off
as $$
declare
  v_out audit.outcome;
  v_severity text;
begin
  if p_pass like 'proof\_%' then
    return query select * from audit.prove(p_pass, p_tenant_id, p_sample);
  elsif p_pass like 'scan %' or exists (select from audit.data_checks() where check_name = p_pass) then
    for v_out in
      select * from audit.scan(substr(p_pass, 6)::regclass, p_tenant_id) where p_pass like 'scan %'
      union all
      select * from audit.check_rows(p_pass, p_tenant_id) where p_pass not like 'scan %'
    loop
      select severity into strict v_severity from audit.checks() c where c."check" = v_out."check";
      v_out.warnings := case v_severity when 'warning' then v_out.errors else 0 end;
      v_out.infos := case v_severity when 'info' then v_out.errors else 0 end;
      v_out.errors := case v_severity when 'error' then v_out.errors else 0 end;
      v_out.kept := array(select row(v_severity, k.tenant_id, k.relation, k."row", k.detail, k.remedy)::audit.observation from unnest(v_out.kept) k);
      return next v_out;
    end loop;
  else
    return query execute format(
      $q$select %L::text, coalesce(r.relid::text, ''), count(*),
           count(*) filter (where o.detail is not null and o.severity = 'error'),
           count(*) filter (where o.detail is not null and o.severity = 'warning'),
           count(*) filter (where o.detail is not null and o.severity = 'info'),
           (array_agg(o order by o.severity, o.relation, o."row"::text) filter (where o.detail is not null))[1:1000]
         from audit.%I() o left join audit.relations() r on r.relid::text = o.relation
         group by 1, 2$q$, p_pass, 'check_' || p_pass);
  end if;
end
$$;
comment on function audit.examine(text, uuid, int) is
  'Runs one pass as tms_auditor and returns its outcomes, by check and relation. Raises what the check raises.';
revoke all on function audit.examine(text, uuid, int) from public;
grant execute on function audit.examine(text, uuid, int) to tms_owner;
reset role;

-- A check that cannot run is a finding. Only a person's own cancellation goes through.
create or replace function audit.attempt(p_pass text, p_tenant_id uuid, p_sample int, out outcomes audit.outcome[], out failure text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_state text;
  v_hint text;
  v_limit constant bigint := (select setting::bigint from pg_settings where name = 'statement_timeout');
begin
  begin
    outcomes := array(select o from audit.examine(p_pass, p_tenant_id, p_sample) o);
  exception when others or query_canceled or assert_failure then
    get stacked diagnostics v_state = returned_sqlstate, failure = message_text, v_hint = pg_exception_hint;
    if v_state = '57014' and (failure ~ 'user request' or v_limit = 0
                              or clock_timestamp() < statement_timestamp() + v_limit * interval '1 millisecond') then
      raise;
    end if;
  end;
  if failure is not null then
    outcomes := array(
      select row(c, case when p_pass like 'scan %' then substr(p_pass, 6) else '' end, 0, 1, 0, 0, array[
        row('error', p_tenant_id, case when p_pass like 'scan %' then substr(p_pass, 6) end, '{}'::jsonb,
          format('the check could not run: %s (SQLSTATE %s)', failure, v_state),
          coalesce(nullif(v_hint, ''), format('-- mend the cause, then:%sselect * from audit.run_check(%L);', E'\n', c)))::audit.observation])::audit.outcome
      from audit.pass_checks(p_pass) c);
    if cardinality(outcomes) = 0 then
      raise exception 'the pass % failed and belongs to no check: %', p_pass, failure;
    end if;
  end if;
end
$$;
comment on function audit.attempt(text, uuid, int) is
  'audit.examine(), with a failure turned into one finding of severity error for each check of the pass; failure is its message, else null.';

set local role tms_auditor;
create or replace function audit.find_tenant(p_slug text)
returns uuid
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id uuid;
begin
  if p_slug is not null then
    perform audit.require_unfiltered('app.tenants');
    select id into v_id from app.tenants where slug = p_slug;
    if v_id is null then
      raise exception using errcode = 'no_data_found', message = format('there is no tenant with the slug %L', p_slug);
    end if;
  end if;
  return v_id;
end
$$;
comment on function audit.find_tenant(text) is 'The id of the tenant with a slug; null for null. Raises P0002 for a slug that nobody has.';
revoke all on function audit.find_tenant(text) from public;
grant execute on function audit.find_tenant(text) to tms_owner;
reset role;

create or replace function audit.start_run(p_tenant text, p_tenant_id uuid, p_only text, p_sample int)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run bigint;
begin
  insert into audit.runs (tenant, tenant_id, family, sample, schema_version, run_by)
  values (p_tenant, p_tenant_id, p_only, p_sample, app.schema_version(), session_user)
  returning id into v_run;
  return v_run;
end
$$;
comment on function audit.start_run(text, uuid, text, int) is 'Opens a run and returns its id.';

-- The one writer of results, and it writes what it has just seen: nobody can hand it a result.
create or replace function audit.record_pass(p_run bigint, p_pass text, out checked bigint, out findings bigint, out failure text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_run audit.runs;
  v_outcomes audit.outcome[];
  v_failure text;
begin
  select * into strict v_run from audit.runs where id = p_run and finished_at is null;
  select a.outcomes, a.failure into v_outcomes, v_failure from audit.attempt(p_pass, v_run.tenant_id, v_run.sample) a;

  insert into audit.found (run_id, check_name, n, severity, tenant_id, relation, "row", detail, remedy)
  select p_run, k.check_name, k.n, k.severity, k.tenant_id, k.relation, coalesce(k."row", '{}'), k.detail, k.remedy
  from (
    select o."check" as check_name, f.severity, f.tenant_id, f.relation, f."row", f.detail, f.remedy,
      coalesce((select max(n) from audit.found where run_id = p_run and check_name = o."check"), 0)
        + row_number() over (partition by o."check" order by f.severity, f.relation, f.n) as n
    from unnest(v_outcomes) o
    cross join lateral unnest(o.kept) with ordinality as f (severity, tenant_id, relation, "row", detail, remedy, n)
  ) k
  where k.n <= 1000;

  insert into audit.results as r (run_id, check_name, relation, checked, errors, warnings, infos, elapsed, failed)
  select p_run, o."check", coalesce(o.relation, ''), max(o.checked), sum(o.errors), sum(o.warnings), sum(o.infos),
    clock_timestamp() - v_started, v_failure is not null
  from unnest(v_outcomes) o
  group by o."check", coalesce(o.relation, '')
  on conflict (run_id, check_name, relation) do update
  set checked = r.checked + excluded.checked, errors = r.errors + excluded.errors, warnings = r.warnings + excluded.warnings,
      infos = r.infos + excluded.infos, elapsed = r.elapsed + excluded.elapsed, failed = r.failed or excluded.failed;

  select case when p_pass like 'scan %' then max(o.checked) else sum(o.checked) end, sum(o.errors + o.warnings + o.infos)
  into checked, findings from unnest(v_outcomes) o;
  checked := coalesce(checked, 0);
  findings := coalesce(findings, 0);
  failure := v_failure;
  update audit.runs set passes = passes + 1 where id = p_run;
end
$$;
comment on function audit.record_pass(bigint, text) is
  'Runs one pass for an open run and stores what it found; returns rows examined, findings, and why it could not run, if so.';

create or replace function audit.finish_run(p_run bigint)
returns audit.runs
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run audit.runs;
begin
  -- A check that met no object of its kind is still one that ran: it stands in the report with nothing examined.
  insert into audit.results (run_id, check_name, relation, checked, errors, warnings, infos, elapsed)
  select p_run, c."check", '', 0, 0, 0, 0, '0'
  from audit.checks() c join audit.runs r on r.id = p_run and c.family = coalesce(r.family, c.family)
  where not exists (select from audit.results x where x.run_id = p_run and x.check_name = c."check");

  update audit.runs set finished_at = clock_timestamp(),
    (checks, rows_checked, errors, warnings, infos, not_run) = (
      select count(distinct check_name), coalesce(sum(checked), 0), coalesce(sum(r.errors), 0), coalesce(sum(r.warnings), 0),
        coalesce(sum(r.infos), 0), count(distinct check_name) filter (where failed)
      from audit.results r where run_id = p_run)
  where id = p_run and finished_at is null
  returning * into strict v_run;
  delete from audit.found where run_id in (select id from audit.runs where finished_at is not null order by id desc offset 100);
  return v_run;
end
$$;
comment on function audit.finish_run(bigint) is 'Closes a run, adds it up, and forgets the findings of all but the last hundred.';

-- Not SECURITY DEFINER and without SET: a procedure with either may not commit. It holds no rights; what it calls does.
create or replace procedure audit.run(
  p_tenant text default null, p_only text default null, p_sample int default 20, inout p_run bigint default null)
language plpgsql
as $$
declare
  v_tenant_id uuid;
  v_pass text;
  v_passes text[];
  v_done int := 0;
  v_result record;
  v_started timestamptz;
begin
  if p_only not in ('data', 'schema') then
    raise exception using errcode = 'invalid_parameter_value', message = pg_catalog.format('p_only is data, schema or null, and not %L', p_only);
  end if;
  if p_sample < 1 then
    raise exception using errcode = 'invalid_parameter_value', message = 'p_sample is the number of tenants that the proof acts in, or null for all';
  end if;
  v_tenant_id := audit.find_tenant(p_tenant);
  p_run := audit.start_run(p_tenant, v_tenant_id, p_only, p_sample);
  v_passes := array(select audit.passes(p_only));

  foreach v_pass in array v_passes loop
    -- One snapshot for each pass, and none from one pass to the next. Nothing may stand between these two: any
    -- expression takes a snapshot.
    commit;
    set transaction isolation level repeatable read;
    -- A statement_timeout ends one pass and is spent; a lock that is never given back would hold all the others.
    if pg_catalog.current_setting('lock_timeout') operator(pg_catalog.=) '0' then
      set local lock_timeout = '30s';
    end if;
    v_started := pg_catalog.clock_timestamp();
    v_done := v_done OPERATOR(pg_catalog.+) 1;
    select * into v_result from audit.record_pass(p_run, v_pass);
    raise notice '%', audit.progress_line(v_done, pg_catalog.cardinality(v_passes), v_pass, v_result.checked, v_result.findings, v_started, v_result.failure);
  end loop;

  commit;
  perform audit.say_scanned(p_run);
  perform audit.finish_run(p_run);
  commit;
end
$$;
comment on procedure audit.run(text, text, int, bigint) is
$$Runs the isolation audit, stores it and returns its id. p_tenant: the slug of one tenant (its rows only). p_only: data or schema. p_sample: in how many tenants
the proof acts; null: all. Commits after every pass, so it cannot be called inside a transaction.
  call audit.run();  table audit.findings;$$;

create or replace function audit.progress_line(p_done int, p_of int, p_pass text, p_checked bigint, p_found bigint, p_started timestamptz, p_failure text)
returns text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select format('audit %s/%s %s: %s rows, %s, %s ms', p_done, p_of, p_pass, p_checked,
    case when p_failure is not null then 'could not run: ' || p_failure when p_found = 1 then '1 finding' else p_found || ' findings' end,
    round(extract(epoch from clock_timestamp() - p_started) * 1000))
$$;

create or replace function audit.say_scanned(p_run bigint)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v record;
begin
  for v in
    select r.check_name, sum(r.checked) as checked, sum(r.errors + r.warnings + r.infos) as found, count(*) as relations, sum(r.elapsed) as elapsed
    from audit.results r
    where r.run_id = p_run and r.check_name in (select c."check" from audit.checks() c where c.family = 'data')
      and r.check_name not in (select check_name from audit.data_checks())
    group by r.check_name order by r.check_name
  loop
    raise notice 'audit check %: % rows in % tables, % findings, % ms shared', v.check_name, v.checked, v.relations, v.found,
      round(extract(epoch from v.elapsed) * 1000);
  end loop;
end
$$;
comment on function audit.say_scanned(bigint) is 'A notice for each check that was answered by the passes over the tables.';

create or replace function audit.run_check(p_check text, p_tenant text default null, p_sample int default 20)
returns table ("check" text, category text, severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenant_id constant uuid := audit.find_tenant(p_tenant);
  v_pass text;
begin
  if not exists (select from audit.checks() c where c."check" = p_check) then
    raise exception using errcode = 'invalid_parameter_value', message = format('there is no check %L: select "check" from audit.checks()', p_check);
  end if;
  for v_pass in select p from audit.passes() p loop
    if p_check in (select audit.pass_checks(v_pass)) then
      return query
        select c."check", c.category, k.severity, k.tenant_id, k.relation, k."row", k.detail, k.remedy
        from audit.attempt(v_pass, v_tenant_id, p_sample) a
        cross join lateral unnest(a.outcomes) o
        cross join lateral unnest(o.kept) k
        join audit.checks() c on c."check" = o."check"
        where o."check" = p_check;
    end if;
  end loop;
end
$$;
comment on function audit.run_check(text, text, int) is
  'The findings of one check, now, without storing anything; works inside a transaction. A check that cannot run is a finding.';

create or replace function audit.run_family(p_only text default null, p_gate boolean default false, p_sample int default 3)
returns table ("check" text, category text, severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select c."check", c.category, k.severity, k.tenant_id, k.relation, k."row", k.detail, k.remedy
    from audit.passes(p_only, p_gate) with ordinality as p (pass, n)
    cross join lateral (select a.outcomes from audit.attempt(p.pass, null, p_sample) a) a
    cross join lateral unnest(a.outcomes) o
    cross join lateral unnest(o.kept) k
    join audit.checks() c on c."check" = o."check"
    order by array_position(array['error', 'warning', 'info'], k.severity), p.n, k.relation, k."row"::text;
end
$$;
comment on function audit.run_family(text, boolean, int) is
  'The findings of all checks, or of a family, or of the gate''s, now, without storing anything: what audit.run() would find. Works inside a transaction.';

-- What stops a pipeline. The first line alone must say which object and what to do: that is what a log shows.
create or replace function audit.require_isolation()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_faults text[];
begin
  select array_agg(format('%s: %s. Mend it with: %s', coalesce(f.relation, f."check"), f.detail, regexp_replace(f.remedy, '\s*\n\s*', ' ', 'g')))
  into v_faults from audit.run_family('schema', true) f where f.severity = 'error';
  if v_faults is not null then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = 'Tenants are not isolated: ' || v_faults[1] || case when cardinality(v_faults) > 1 then format(' (and %s more)', cardinality(v_faults) - 1) else '' end,
      detail = array_to_string(v_faults, E'\n');
  end if;
end
$$;
comment on function audit.require_isolation() is
  'The migration gate: raises 55000 with the object, the fault and the remedy when a schema check finds an error.';
--! EndIncluded audit/run.sql
--! Included audit/views.sql
drop view if exists audit.findings, audit.last_checks, audit.last_run, audit.trend;

create view audit.trend with (security_invoker = true) as
  select id as run_id, started_at, finished_at, extract(epoch from finished_at - started_at)::numeric(12, 3) as seconds,
    case when finished_at is null then 'unfinished' when not_run > 0 then 'incomplete' when errors > 0 then 'errors' else 'clean' end as result,
    tenant, family, checks, rows_checked, errors, warnings, infos, not_run, run_by
  from audit.runs
  order by id desc;
comment on view audit.trend is 'Every run, newest first. incomplete: a check could not run; unfinished: the run was cancelled, or goes on.';

create view audit.last_run with (security_invoker = true) as
  select * from audit.trend where finished_at is not null order by run_id desc limit 1;
comment on view audit.last_run is 'The last finished run.';

create view audit.last_checks with (security_invoker = true) as
  select r.check_name as "check", c.category, case when bool_or(r.failed) then 'error' else c.severity end as severity,
    sum(r.checked)::bigint as checked, sum(r.errors)::bigint as errors, sum(r.warnings)::bigint as warnings, sum(r.infos)::bigint as infos,
    sum(r.elapsed) as elapsed, bool_or(r.failed) as failed
  from audit.last_run l
  join audit.results r on r.run_id = l.run_id
  left join audit.checks() c on c."check" = r.check_name
  group by r.check_name, c.category, c.severity
  order by errors desc, warnings desc, "check";
comment on view audit.last_checks is 'Each check of the last finished run: rows examined beside findings.';

create view audit.findings with (security_invoker = true) as
  select f.check_name as "check", c.category, f.severity, f.tenant_id, f.relation, f."row", f.detail, f.remedy, f.run_id, f.n
  from audit.last_run l
  join audit.found f on f.run_id = l.run_id
  left join audit.checks() c on c."check" = f.check_name
  order by array_position(array['error', 'warning', 'info'], f.severity), f.check_name, f.n;
comment on view audit.findings is 'The open findings: those of the last finished run, worst first, at most a thousand of each check.';

revoke all on audit.trend, audit.last_run, audit.last_checks, audit.findings from public;
grant select on audit.trend, audit.last_run, audit.last_checks, audit.findings to tms_auditor;

create or replace function audit.report(p_run bigint default null)
returns json
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select json_build_object(
    'started_at', app.iso_time(r.started_at), 'finished_at', app.iso_time(r.finished_at), 'tenant', r.tenant,
    'checks', coalesce((
      select json_agg(json_build_object('check', x.check_name, 'category', c.category,
               'severity', case when x.failed then 'error' else c.severity end, 'checked', x.checked, 'findings', x.findings) order by c.n)
      from (select check_name, sum(checked)::bigint as checked, sum(errors + warnings + infos)::bigint as findings, bool_or(failed) as failed
            from audit.results where run_id = r.id group by check_name) x
      join audit.checks() with ordinality as c ("check", category, severity, family, gate, finds, why, mend, n) on c."check" = x.check_name), '[]'),
    'findings', coalesce((
      select json_agg(json_build_object('check', f.check_name, 'category', c.category, 'severity', f.severity, 'tenant_id', f.tenant_id,
               'relation', f.relation, 'row', f."row", 'detail', f.detail, 'remedy', f.remedy)
               order by array_position(array['error', 'warning', 'info'], f.severity), c.n, f.n)
      from audit.found f
      join audit.checks() with ordinality as c ("check", category, severity, family, gate, finds, why, mend, n) on c."check" = f.check_name
      where f.run_id = r.id), '[]'),
    'summary', json_build_object('checks', r.checks, 'errors', r.errors, 'warnings', r.warnings))
  from audit.runs r
  where r.id = coalesce(p_run, (select max(id) from audit.runs where finished_at is not null))
$$;
comment on function audit.report(bigint) is 'A run as JSON, in the shape of npm run audit -- --format json; null: the last finished one.';
--! EndIncluded audit/views.sql
--! Included audit/end.sql
-- Everything in the schema is for tms_auditor, but for what only the procedure's own steps may call.
do $$
declare
  v_function record;
begin
  for v_function in
    select oid::regprocedure as name, prokind from pg_catalog.pg_proc
    where pronamespace = 'audit'::regnamespace and proowner = 'tms_owner'::regrole
  loop
    execute pg_catalog.format('revoke all on %s %s from public', case v_function.prokind when 'p' then 'procedure' else 'function' end, v_function.name);
    execute pg_catalog.format('grant execute on %s %s to tms_auditor', case v_function.prokind when 'p' then 'procedure' else 'function' end, v_function.name);
  end loop;
end
$$;
revoke create on schema audit from tms_auditor;
revoke create, usage on schema audit from tms_app;
--! EndIncluded audit/end.sql

revoke create on schema app, api from tms_app, tms_registrar;
