--! Previous: sha1:9aedbe5f660e1c893c4c0fab555b54c3108c8d04
--! Hash: sha1:6186894b1d03d3baf3fb184dd866c041a56d6212
--! Message: reach of members, standbys, copies

-- What somebody found who attacked the isolation, who ran it for years, and who took it over.
set local citus.enable_ddl_propagation = off;
--! Included audit/schema.sql
-- The isolation audit. Everything here is tms_owner's, but for the functions that must read as somebody else: what reads
-- the tenants' rows is tms_auditor's, and in control; what acts inside a tenant is tms_app's. Both need the right to create
-- while their functions are made; audit/end.sql takes it back.
create schema if not exists audit;
comment on schema audit is 'The tenant-isolation audit: call audit.run(), then read audit.findings';
revoke all on schema audit from public;
grant usage on schema audit to tms_auditor, tms_registrar;
grant create, usage on schema audit to tms_app;
grant create, usage on schema control to tms_auditor;

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
  pending text[],
  started_in xid8 default pg_current_xact_id(),
  checks int not null default 0,
  rows_checked bigint not null default 0,
  errors bigint not null default 0,
  warnings bigint not null default 0,
  infos bigint not null default 0,
  not_run int not null default 0
);
-- Only where there is something to do: it locks out GET /ready until the migration ends.
do $$
begin
  if not exists (select from pg_attribute where attrelid = 'audit.runs'::regclass and attname = 'started_in') then
    alter table audit.runs drop column if exists passes, add column if not exists pending text[], add column started_in xid8 default pg_current_xact_id();
  end if;
end
$$;
comment on table audit.runs is 'One row a run of the audit. finished_at is null while it goes on, and for ever when it was cancelled.';
comment on column audit.runs.tenant is 'The slug of the one tenant whose rows were examined; null: all.';
comment on column audit.runs.pending is 'The passes that are still to come: only these are recorded, and only a run without any is finished.';
comment on column audit.runs.started_in is 'The transaction that opened the run. Its passes are recorded in later ones: its own may look at a database of long ago.';
comment on column audit.runs.family is 'data, schema, or null for both.';
comment on column audit.runs.sample is 'In how many tenants the proof acted; null: in all.';
comment on column audit.runs.schema_version is 'The last applied migration, as its file name.';
comment on column audit.runs.rows_checked is 'Rows, and objects of the catalog, that the checks looked at: one that three checks look at counts three times.';
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
comment on column audit.results.checked is 'Rows of the relation, or objects of the catalog.';
comment on column audit.results.failed is 'Whether the check could not run: one of the errors is that.';
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
comment on table audit.found is 'The first thousand findings of each check, kept for the last hundred runs and while any of their run is open. Key columns only, no payload.';

comment on column audit.found.tenant_id is 'Whose row it is; null where the finding is about the catalog.';
comment on column audit.found."row" is 'The columns of the row''s key, or what names the object; {} where the relation says it all.';

-- What a release does not bring and the owner of the database vouches for. It outlives releases, as audit.manifest() does not.
create table if not exists audit.accepted (
  kind text not null,
  name text not null,
  owner text not null,
  granted text not null,
  body text not null,
  accepted_at timestamptz not null default now(),
  accepted_by name not null default session_user,
  primary key (kind, name)
);
comment on table audit.accepted is 'Functions and triggers of one''s own, event triggers, and functions outside the service''s schemas, as audit.accept() found them: the audit reports what differs from then on.';

revoke all on table audit.runs, audit.results, audit.found, audit.accepted from public;
grant select on table audit.runs, audit.results, audit.found, audit.accepted to tms_auditor;
--! EndIncluded audit/schema.sql
set local role tms_auditor;
drop function if exists audit.examine(text, uuid, int), audit.find_tenant(text), audit.held_rows(regclass, uuid, int);
reset role;
--! Included audit/held_rows.sql
-- What app.shown_rows() is held against: no policy for a tenant hides a row from tms_auditor.
set local role tms_auditor;
create or replace function control.held_rows(p_table regclass, p_tenant_id uuid, p_limit int)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rows bigint;
begin
  perform app.require_own_table(p_table);
  execute format('select count(*) from (select 1 from %s where tenant_id = $1 limit %s) t', p_table, p_limit) into v_rows using p_tenant_id;
  return v_rows;
end
$$;
comment on function control.held_rows(regclass, uuid, int) is
  'How many rows of a tenant a table holds, counted up to p_limit.';
revoke all on function control.held_rows(regclass, uuid, int) from public;
grant execute on function control.held_rows(regclass, uuid, int) to tms_registrar;
reset role;
--! EndIncluded audit/held_rows.sql
--! Included control/step_down.sql
-- What tms_registrar has tms_app do. A member of tms_app owns the functions of app that do it, and could make them the
-- caller's and give them a search_path with functions of its own: these, which no member can name, see to it that the
-- caller is tms_app by then. Not on a distributed database, where what fills and empties a tenant works on the worker, by
-- the connection that made or is to delete the tenant: it is called in FROM, by tms_registrar itself.
grant create, usage on schema control to tms_app;
set local role tms_app;
create or replace function control.create_sample_data(p_tenant_id uuid, p_user_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform 1 from app.create_sample_data(p_tenant_id, p_user_id);
end
$$;
comment on function control.create_sample_data(uuid, uuid) is 'app.create_sample_data(), for tms_registrar.';

create or replace function control.empty_tenant(p_tenant_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform 1 from app.empty_tenant(p_tenant_id);
end
$$;
comment on function control.empty_tenant(uuid) is 'app.empty_tenant(), for tms_registrar.';

create or replace function control.join_default(
  p_tenant_id uuid, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text
)
returns app.users
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return app.join_default(p_tenant_id, p_auth_provider, p_auth_subject, p_email, p_display_name);
end
$$;
comment on function control.join_default(uuid, text, text, text, text) is 'app.join_default(), for tms_registrar.';

create or replace function control.leaking_tables()
returns setof regclass
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from app.leaking_tables();
end
$$;
comment on function control.leaking_tables() is 'app.leaking_tables(), for tms_registrar.';

create or replace function control.shown_rows(p_tenant_id uuid, p_limit int)
returns table (name regclass, rows bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from app.shown_rows(p_tenant_id, p_limit);
end
$$;
comment on function control.shown_rows(uuid, int) is 'app.shown_rows(), for tms_registrar.';

revoke all on function control.create_sample_data(uuid, uuid), control.empty_tenant(uuid), control.join_default(uuid, text, text, text, text),
  control.leaking_tables(), control.shown_rows(uuid, int) from public;
grant execute on function control.create_sample_data(uuid, uuid), control.empty_tenant(uuid), control.join_default(uuid, text, text, text, text),
  control.leaking_tables(), control.shown_rows(uuid, int) to tms_registrar;
reset role;
revoke create, usage on schema control from tms_app;
--! EndIncluded control/step_down.sql
grant create on schema app, api to tms_app, tms_registrar;
--! Included context/isolate.sql
create or replace function app.isolate(p_table regclass, p_adopt boolean default false)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_faults text;
  v_partition regclass;
begin
  if p_adopt then
    perform app.adopt(p_table);
  end if;

  select string_agg(f.fault, '; ') into v_faults from app.table_faults(p_table) f;
  if v_faults is not null then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = format('%s cannot be isolated: %s', p_table, v_faults);
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
Raises 55000 with the rules that the table breaks (app.table_faults lists them).
  select app.isolate('app.invoices');$$;
revoke all on function app.isolate(regclass, boolean) from public;
--! EndIncluded context/isolate.sql
--! Included context/enter_default.sql
set local role tms_registrar;
create or replace function app.enter_default(
  p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, out tenant app.tenants, out member app.users
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  select * into tenant from app.tenants t where t.is_default and t.status = 'active';
  -- Read first: the usual request writes nothing, and works on a read-only replica.
  select * into member
  from app.users u
  where u.tenant_id = tenant.id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
    and u.removed_at is null;
  if not found and tenant.id is not null then
    perform app.set_tenant(tenant.id);
    member := control.join_default(tenant.id, p_auth_provider, p_auth_subject, p_email, p_display_name);
  end if;
end
$$;
comment on function app.enter_default(text, text, text, text) is
  'The default tenant and the caller''s membership of it, made at the first request; nulls when the tenant is not active or the membership was ended.';
revoke all on function app.enter_default(text, text, text, text) from public;
reset role;
--! EndIncluded context/enter_default.sql
--! Included context/isolation_breaches.sql
set local role tms_registrar;
create or replace function app.isolation_breaches()
returns table (object text, fault text, remedy text)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select 'the service''s login', f, 'give the service the login that db/roles.sql makes for it' from api.get_login_faults() f
  union all
  select u.name::text, u.fault, 'npm run audit says how to fix it' from app.unprotected_tables() u
  union all
  select distinct l::text, 'rows are visible outside their tenant', 'npm run audit says how to fix it' from control.leaking_tables() l
  union all
  select format('the role %s', rolname), 'it can bypass row level security', 'run db/roles.sql again'
  from pg_roles
  where rolname in ('tms_service', 'tms_app', 'tms_registrar', 'tms_owner', 'tms_auditor') and (rolsuper or rolbypassrls)
$$;
comment on function app.isolation_breaches() is
$$What lets rows out of their tenant now: faults of the login that asks, of tables, of roles, and what tms_app sees where it may see
nothing. The gate of GET /ready, and advice of GET /api/setup/status. No row when all is well.$$;
revoke all on function app.isolation_breaches() from public;
reset role;
--! EndIncluded context/isolation_breaches.sql
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
  if app.is_distributed() then
    perform 1 from app.empty_tenant(p_tenant.id);
  else
    perform control.empty_tenant(p_tenant.id);
  end if;
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
--! Included context/require_member.sql
create or replace function app.require_member(p_tenant_id uuid, p_user_id uuid)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_role text;
begin
  select u.role into v_role from app.users u
  where u.tenant_id = p_tenant_id and u.id = p_user_id and u.removed_at is null
  for share;
  if not found then
    perform app.refuse(403, 'Access denied', 'User does not belong to tenant', 'not_a_member');
  end if;
  return v_role;
end
$$;
comment on function app.require_member(uuid, uuid) is
  'The role of a member who was let in before, as it is now, and until the transaction ends: locks the member. Raises TM403 for one who was removed meanwhile.';
revoke all on function app.require_member(uuid, uuid) from public;
grant execute on function app.require_member(uuid, uuid) to tms_app;
--! EndIncluded context/require_member.sql
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
  v_caller record := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  v_user app.users;
begin
  perform app.require_member_admin(v_caller.role, p_new_role);
  insert into app.users as u (tenant_id, auth_provider, auth_subject, email, display_name, role)
  values (v_caller.tenant_id, coalesce(p_new_provider, p_auth_provider), p_new_subject, p_new_email, p_new_display_name, p_new_role)
  on conflict on constraint users_tenant_identity_key do update
  set email = coalesce(excluded.email, u.email), display_name = coalesce(excluded.display_name, u.display_name),
      role = excluded.role, removed_at = null, updated_at = greatest(excluded.updated_at, u.updated_at)
  -- Whoever is being removed meanwhile does not come back by this.
  where u.removed_at is not null and u.id <> v_caller.user_id
  returning * into v_user;
  -- Nor adds anybody. Not asked before: a deletion of the tenant locks the tenant first and then its members, and so does this.
  perform app.require_member_admin(app.require_member(v_caller.tenant_id, v_caller.user_id), p_new_role);
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
  v_caller record := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  v_user app.users;
  v_now timestamptz;
begin
  -- Locked in one order: two owners who remove each other cannot leave none, and of two members only one removes the other.
  -- Not FOR UPDATE: every new row that refers to a user would keep it waiting.
  perform from app.users
  where tenant_id = v_caller.tenant_id and removed_at is null and (role = 'owner' or id in (v_caller.user_id, app.parse_uuid(p_user_id)))
  order by id for no key update;
  v_caller.role := app.require_member(v_caller.tenant_id, v_caller.user_id);
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
  -- Not before the membership began, whatever became of the clock since.
  v_now := greatest(now(), v_user.created_at, v_user.updated_at);
  update app.users set removed_at = v_now, updated_at = v_now where tenant_id = v_caller.tenant_id and id = v_user.id;
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
--! Included api/service/get_readiness.sql
set local role tms_registrar;
create or replace function api.get_readiness(p_schema_version text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- It may lag, and let in who is no longer a member; and whoever still asks it after a failover is at the wrong address.
  if pg_is_in_recovery() then
    raise exception using errcode = 'read_only_sql_transaction', message = 'The server is a standby';
  end if;
  return json_build_object(
    'migrations', array(
      select format('the schema is at %s, this release needs %s', coalesce(app.schema_version(), 'nothing committed'), p_schema_version)
      where app.is_behind(p_schema_version)),
    'isolation', array(select format('%s: %s', b.object, b.fault) from app.isolation_breaches() b),
    'audit', app.last_audit(),
    'tenants', json_build_object('pending', app.count_tenants('pending'), 'active', app.count_tenants('active'),
      'suspended', app.count_tenants('suspended')));
end
$$;
comment on function api.get_readiness(text) is
$$What GET /ready and GET /metrics say of the database: {migrations, isolation} are sentences, one a fault, none when all is
well; tenants are the numbers by status, audit is the last one. p_schema_version is the migration this release was built with. Raises 25006 on a standby.$$;
revoke all on function api.get_readiness(text) from public;
grant execute on function api.get_readiness(text) to tms_service;
reset role;
--! EndIncluded api/service/get_readiness.sql
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
    perform app.refuse_slug(p_slug);
  end if;

  if p_sample_data then
    insert into app.users (tenant_id, auth_provider, auth_subject, display_name, role)
    values (v_tenant_id, 'sample', 'sample-user', 'Sample user', 'member')
    returning id into v_user_id;
    perform app.set_tenant(v_tenant_id);
    if app.is_distributed() then
      perform 1 from app.create_sample_data(v_tenant_id, v_user_id);
    else
      perform control.create_sample_data(v_tenant_id, v_user_id);
    end if;
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
  v_tables json;
  v_hidden boolean;
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

  select json_agg(json_build_object(
      'table', s.name::text,
      'row_security', case when c.relforcerowsecurity and c.relrowsecurity then 'forced' when c.relrowsecurity then 'enabled' else 'off' end,
      'held', case when h.rows is not null then least(h.rows, v_limit) end, -- least() passes over null
      'shown', case when not coalesce(v_allowed, false) then 0 when s.rows is not null then least(s.rows, v_limit) end,
      'more', coalesce(h.rows > v_limit, false))),
    v_allowed and bool_or(h.rows > s.rows)
  into v_tables, v_hidden
  from control.shown_rows(v_tenant.id, v_limit + 1) s
  join pg_class c on c.oid = s.name
  cross join lateral (
    select case when has_schema_privilege('tms_auditor', c.relnamespace, 'usage') and has_table_privilege('tms_auditor', c.oid, 'select')
      then control.held_rows(s.name, v_tenant.id, v_limit + 1) end) h (rows);

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
    'tables', coalesce(v_tables, '[]'),
    'notes', array(
      select n.note
      from (values
        (p_operator, 'An operator''s token: the setup endpoints ask for no membership, every other endpoint does'),
        (v_login.rolsuper or v_login.rolbypassrls,
         format('You are logged in as %s, which sees every row whatever app.tenant_id says: begin; set local role tms_app; set local app.tenant_id = ''…'';', v_login.rolname)),
        (p_tenant_slug is not null and v_tenant.is_default and v_user.id is null and p_auth_subject is not null,
         'It is the default tenant: in single-tenant mode a verified caller joins it at the first request, whatever slug is named'),
        (v_hidden, 'A table shows fewer rows than the tenant has: npm run audit says which policy hides them'),
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
  if (p_email_domain = any (p_allowed_domains)) is distinct from true and p_allowed_domains is not null then
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
    if app.is_distributed() then
      perform 1 from app.create_sample_data(v_tenant.id, v_user_id);
    else
      perform control.create_sample_data(v_tenant.id, v_user_id);
    end if;
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
$$Registers a tenant whose owner is the caller. The slug is p_organization_slug, or made from p_slug_base when
that is null. p_registration keeps admin_email, admin_name, use_case, organization_size, metadata with the tenant.
Raises TM403 `Registration disabled`, `Access denied`, `Domain not allowed`, `Tenant limit reached`, in this order, then TM409 `Conflict`.$$;
revoke all on function api.register_tenant(text, text, text, text, text, text, text, text, text, text, jsonb, boolean, boolean, int, text[], text) from public;
grant execute on function api.register_tenant(text, text, text, text, text, text, text, text, text, text, jsonb, boolean, boolean, int, text[], text) to tms_service;
reset role;
--! EndIncluded api/tenants/register_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! Included audit/catalog.sql
-- Every check: what it finds, why that matters, how to fix it. The report, docs/audit.md and the tests are held to it.
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
    'A balance is not the balance before it plus the amount, in the order of the ledger; entries of one created_at may be in any order that adds up.', 'Credit appears or vanishes.', 'Look at the ledger around the row; book a correction.'),
  ('generation_state', 'data_consistency', 'error', 'data', false,
    'A generation is completed without a time, or has a time and is not finished.', 'Bills and retries go by either.', 'Set the status that is true.'),
  ('completed_without_media', 'data_consistency', 'warning', 'data', false,
    'A generation is completed and has no media.', 'It was paid for and shows nothing.', 'Mark it failed, or restore the media.'),
  ('value_unknown', 'data_consistency', 'error', 'data', false,
    'A role or status is not one that the service knows.', 'Code that asks "not a member?" lets unknown roles in.', 'Set a known value, then restore the constraint.'),
  ('times_out_of_order', 'data_consistency', 'error', 'data', false,
    'A row of the service''s own tables was changed, finished or removed before it was made.', 'The order of events, which audits and bills rest on, is wrong.', 'Correct the times, then restore the constraint.'),
  ('time_in_future', 'data_consistency', 'warning', 'data', false,
    'A credit transaction was booked more than an hour from now.', 'A clock is wrong, or somebody wrote the time by hand: the ledger''s order is no longer that of events.', 'Correct created_at.'),
  ('not_an_object', 'data_consistency', 'error', 'data', false,
    'In one of the service''s own tables settings, config, input or registration hold JSON that is not an object.', 'Readers that look for a key find null, and defaults apply unasked.', 'Write an object, then restore the constraint.'),
  ('constraint_broken', 'data_consistency', 'error', 'data', false,
    'A row breaks a CHECK of its table that was added NOT VALID or is not enforced.', 'The rule is believed and does not hold.', 'Correct the row, then validate the constraint.'),

  -- schema: the wall itself
  ('rls_disabled', 'isolation_config', 'error', 'schema', true,
    'A tenants'' table, partition or child without row-level security.', 'Policies, if there are any, are not applied to anybody.', 'Enable it; app.isolate() does.'),
  ('rls_not_forced', 'isolation_config', 'error', 'schema', true,
    'Row-level security that its owner is exempt from.', 'Definer functions of the owner, and migrations, see every tenant.', 'Force it; app.isolate() does.'),
  ('table_inherits', 'isolation_config', 'error', 'schema', true,
    'A tenants'' table is a child of a table without tenant_id.', 'Reading the parent reads the child''s rows, and none of the child''s policies is asked.', 'Take it out of the parent: NO INHERIT.'),
  ('policy_missing', 'isolation_config', 'error', 'schema', true,
    'One of the template''s policies is not there.', 'Without the restrictive one tenants see each other; without the auditor''s this audit is blind.', 'app.write_policies() writes all of them.'),
  ('policy_changed', 'isolation_config', 'error', 'schema', true,
    'A policy differs from the template: its expression, command, role, or being restrictive.', 'One OR, one missing WITH CHECK, one permissive instead of restrictive opens the table.', 'app.write_policies() writes it again.'),
  ('policy_extra', 'isolation_config', 'error', 'schema', true,
    'A policy that the template does not have. To tms_app it is a warning: there it can only narrow.', 'To any other role it opens the table, or blinds the audit or the migrations.', 'Drop it.'),
  ('policy_function', 'isolation_config', 'error', 'schema', true,
    'A policy calls a function other than app.tenant_id(), or reads another table.', 'Immutable functions are folded into plans that the next tenant runs; other tables bring their own holes.', 'Drop the policy, or write it with app.tenant_id().'),
  ('tenant_id_function', 'isolation_config', 'error', 'schema', true,
    'app.tenant_id(), on which every policy rests, is not what it came as.', 'Whoever changes it changes every policy at once.', 'Create it again, as the remedy does.'),
  ('audit_filtered', 'isolation_config', 'error', 'schema', true,
    'A policy hides rows of a table from the audit.', 'What is hidden cannot be found; the data checks then refuse to run.', 'Restore the auditor policy; drop restrictive policies that reach tms_auditor.'),
  -- schema: tables and keys
  ('table_missing', 'isolation_config', 'error', 'schema', true,
    'One of the service''s own tables, or a column of them, is not there, is of another type, has a nondeterministic collation (different strings compare equal), or may be null and should not be.', 'What is not there, or is something else, is not examined.', 'Restore it, or alter the column back.'),
  ('table_rules', 'isolation_config', 'error', 'schema', true,
    'A table, or one of its partitions or children, breaks a rule of app.isolate(): tenant_id nullable, a key that does not begin with it or does not compare it with =, a foreign key without it, to another tenant''s slug or in the way of another''s deletion, or that would change it. A unique key over all tenants is a warning.', 'Keys look past policies: they tell one tenant of another''s values, and let rows point across.', 'Correct the key, then app.isolate().'),
  ('table_without_tenant', 'isolation_config', 'error', 'schema', true,
    'A table among the tenants'' tables, or one that references them by foreign key, has no tenant_id.', 'Checks that look for the column never see it: everybody reads it.', 'Where all rows are the default tenant''s: app.isolate(…, p_adopt => true). Else add and fill tenant_id first.'),
  ('tenant_key', 'isolation_config', 'error', 'schema', true,
    'tenant_id is not tied to app.tenants by a validated foreign key with ON DELETE CASCADE. Also of control.idempotency_keys.', 'Rows outlive their tenant.', 'Add or validate the foreign key.'),
  ('foreign_key_missing', 'isolation_config', 'error', 'schema', true,
    'A reference between tenants'' tables without its composite foreign key. In tables that are not the service''s own it is a warning.', 'Only the key stops a row from pointing into another tenant.', 'Add it.'),
  ('unique_key_missing', 'isolation_config', 'error', 'schema', true,
    'One of the unique keys that the service relies on is not there, or is deferrable.', 'Two rows for one identity, or two tenants for one slug: which one a request meets is chance.', 'Create it.'),
  ('constraint_not_valid', 'isolation_config', 'error', 'schema', true,
    'A constraint that is NOT VALID or NOT ENFORCED. A CHECK is a warning.', 'It reads like a promise and is none.', 'Validate or enforce it.'),
  ('trigger_disabled', 'isolation_config', 'error', 'schema', true,
    'A trigger is disabled: a foreign key''s own, or (a warning) somebody else''s.', 'A load that switched triggers off left the keys unchecked.', 'Enable it (a foreign key''s own: as a superuser), then run the data checks.'),
  ('index_missing', 'isolation_config', 'warning', 'schema', true,
    'No index leads with a foreign key''s columns.', 'Look-ups read other tenants'' rows, and the time they take tells of them; deleting a tenant takes hours.', 'Create the index.'),
  ('table_owner', 'isolation_config', 'error', 'schema', true,
    'A table, view, sequence or schema of the service is not tms_owner''s.', 'Its owner can switch the policies off.', 'Give it to tms_owner.'),
  ('view_leaks', 'isolation_config', 'error', 'schema', true,
    'A view over tenants'' rows, the bookkeeping or the audit''s results that runs as its owner, or a materialized view of them.', 'Policies are asked for the owner and not for the reader; a materialized view has none.', 'security_invoker = true; drop the materialized view.'),
  ('foreign_table', 'isolation_config', 'error', 'schema', true,
    'A foreign table among the tenants'' tables.', 'No policy applies to it.', 'Keep it in another schema, behind a function.'),
  ('rewrite_rule', 'isolation_config', 'error', 'schema', true,
    'A rewrite rule on a tenants'' table, or one elsewhere that reaches tenants'' rows.', 'What it adds runs with the rights of the table''s owner.', 'Drop it.'),
  ('publication', 'isolation_config', 'warning', 'schema', true,
    'A publication sends tenants'' rows.', 'Subscribers get every tenant''s.', 'Drop the table from it, unless the subscriber is a replica of the whole.'),
  -- schema: rights
  ('table_grants', 'isolation_config', 'error', 'schema', true,
    'A right on a tenants'' table beyond the template, or the auditor''s own missing.', 'TRUNCATE, REFERENCES and TRIGGER know no policy; a right of PUBLIC is everybody''s.', 'Revoke it.'),
  ('other_grants', 'isolation_config', 'error', 'schema', true,
    'Rights on the service''s bookkeeping, the audit''s results, views that run as their owner, or sequences.', 'Whoever writes the results of the audit decides what it finds.', 'Revoke them.'),
  ('schema_grants', 'isolation_config', 'error', 'schema', true,
    'CREATE, TEMP or USAGE on a schema or the database beyond what the roles need; CREATE for everybody on any schema.', 'Whoever can create can put an object in another''s place.', 'Revoke it.'),
  ('default_privileges', 'isolation_config', 'error', 'schema', true,
    'Default privileges that give tables or functions away as they are made: to everybody or a role of the service, or by one of the five to anybody else; in a schema of somebody else''s, or where policies still narrow, a warning.', 'A table is open from the moment it is made until somebody isolates it.', 'Revoke them.'),
  ('service_reach', 'isolation_config', 'error', 'schema', true,
    'The service''s login has a right on a table that it can get at, or on a function outside api; or api holds something else.', 'A login that can only call api functions cannot set a tenant and read it.', 'Revoke it.'),
  ('registrar_reach', 'isolation_config', 'error', 'schema', true,
    'tms_registrar reaches a tenants'' table beyond app.tenants and app.users.', 'It crosses tenants by design; its functions must have nothing to carry.', 'Revoke it.'),
  ('app_reach', 'isolation_config', 'error', 'schema', true,
    'tms_app or tms_registrar has a right on a table, view or foreign table that is no tenants'' table; a warning where requests only read it, or only write.',
    'What lies outside has no policy: whatever a request writes there, or somebody copies there, is every tenant''s.',
    'Revoke it; or give the table a tenant_id and call app.isolate().'),
  ('system_grants', 'isolation_config', 'error', 'schema', true,
    'A right of PUBLIC or of one of the five roles on a table, function, schema or parameter that Postgres ships, on a function of an extension, or on a foreign server, beyond those they come with.',
    'Statistics hold rows of all tenants, files hold everything, and SET on session_replication_role switches keys and triggers off.', 'Revoke it.'),
  ('role_owns', 'isolation_config', 'error', 'schema', true,
    'tms_service owns anything, or tms_app, tms_registrar or tms_auditor something else than functions.', 'An owner grants, changes and drops.', 'Give it to tms_owner.'),
  -- schema: functions
  ('function_changed', 'isolation_config', 'error', 'schema', false,
    'A function of the service, or a trigger on its tables, or an event trigger (a warning), is not the one that the release made; is gone; may be executed by others; or runs with the rights of a role of the service and is of no release.',
    'The gate that asks for the membership is a function: whoever changes it opens every tenant, and no policy changes.',
    'Restore it. Of your own, and of event triggers that a provider brought: vouch for it, select audit.accept(…); or run it as its caller.'),
  ('function_owner', 'isolation_config', 'error', 'schema', true,
    'A function of the service is owned by a role that no policy was written for; or a tenants'' table makes or tests its rows with a function or domain of somebody else''s.', 'A definer function has its owner''s rights, a default those of whoever writes: who owns the function can have it do anything as them.', 'Give it back.'),
  ('function_security', 'isolation_config', 'error', 'schema', true,
    'A function is SECURITY DEFINER and should not be, or the other way round.', 'As tms_owner''s definer it may do what only migrations should.', 'Change it back.'),
  ('function_bypass', 'isolation_config', 'error', 'schema', true,
    'A SECURITY DEFINER function of a superuser or of a role with BYPASSRLS, a warning where none of the service''s roles may execute it; or one outside the service''s schemas that runs as a tms_ role.', 'Calling it is a way around every policy.',
    'Make it SECURITY INVOKER, or give it to a role under the policies. Of a provider''s own: select audit.accept(…).'),
  ('trigger_rights', 'isolation_config', 'warning', 'schema', true,
    'A trigger on a tenants'' table reads or writes tables, and its function is not SECURITY DEFINER.', 'Fired by a foreign key''s action it runs as the table''s owner: before the row it reaches every tenant''s rows, after it (on Postgres 18) none.', 'Make its function a definer of tms_app, as docs/extending.md shows.'),
  ('function_search_path', 'isolation_config', 'error', 'schema', true,
    'A function without a fixed search_path, or with pg_temp not in the last place; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'A temporary table of the same name takes the place of the real one.', 'Set it.'),
  ('function_settings', 'isolation_config', 'error', 'schema', true,
    'A function comes with a setting for the role, the tenant, or how policies apply; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'It then works in a tenant of its own choosing.', 'Reset it.'),
  ('function_body', 'isolation_config', 'error', 'schema', true,
    'A function sets the tenant for the whole session, opens the tables to their owner, or changes the role; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'On a pooled connection the next request is another tenant''s.', 'Use app.set_tenant().'),
  ('function_public', 'isolation_config', 'error', 'schema', true,
    'PUBLIC, or another role than planned, may execute a function; or requests may execute one with the rights of somebody else (a warning), or one written in C.', 'Functions are executable by everybody until that is revoked.', 'Revoke it.'),
  ('function_leakproof', 'isolation_config', 'error', 'schema', true,
    'A function claims to be LEAKPROOF (an extension''s, or one elsewhere that none of the service''s roles may execute: a warning); or the comparison of tenant ids no longer is.', 'The planner runs leakproof conditions before policies.', 'Take the mark away.'),
  -- schema: roles and server
  ('role_attributes', 'isolation_config', 'error', 'schema', true,
    'One of the five roles has an attribute that it must not have.', 'No policy applies to a superuser or BYPASSRLS.', 'Run db/roles.sql.'),
  ('role_membership', 'isolation_config', 'error', 'schema', true,
    'One of the five roles is a member of another role; or somebody may become one of them, or acts as tms_app and may create functions (a warning). Who may act as tms_auditor or tms_app by a login of its own, and who administers the five, is an info.',
    'Policies and rights come along with membership, and pg_policy does not show it.', 'Revoke it, but for DBAs, for jobs that act as tms_app, and for whoever runs db/roles.sql.'),
  ('role_settings', 'isolation_config', 'error', 'schema', true,
    'ALTER ROLE or ALTER DATABASE … SET gives sessions a tenant, app.maintenance, another role or another search_path; or tms_service has lost the settings of db/roles.sql.', 'Without a tenant of its own a request would be in that one.', 'Reset it.'),
  ('bypass_role', 'isolation_config', 'warning', 'schema', true,
    'A role with BYPASSRLS has rights on tenants'' tables; or one is a member of pg_read_all_data, or of another role of Postgres''s with rights on everything.',
    'The one sees every tenant once it may connect. The other sees no row of theirs, and yet the statistics of their rows, and the service''s bookkeeping: there is no policy.',
    'Take the attribute, or the membership, away. A provider''s own role cannot be changed: ask the provider who logs in with it.'),
  ('server_version', 'isolation_config', 'error', 'schema', false,
    'A Postgres with known holes in row-level security; a warning for the embedded one and for releases nobody looked at.', 'The wall is the server''s own.', 'Update it.'),
  ('server_settings', 'isolation_config', 'error', 'schema', false,
    'Server settings that switch triggers, policies or the protection of large objects off, put every session into a tenant, or log tenants'' values.', 'They work on every database and role.', 'Reset them.'),
  ('statistics_view', 'isolation_config', 'warning', 'schema', false,
    'A statistics view from before CVE-2024-4317.', 'It shows the most common values of hidden rows.', 'Run the script of the release notes.'),
  ('shard_differs', 'isolation_config', 'error', 'schema', false,
    'On Citus: a shard, or a copy of app.tenants, does not have the policies, rights or keys of its table; or a node has another app.tenant_id(), or roles there that get past policies.',
    'Rows are in the shards, and each has policies, rights and keys of its own.', 'Write the policies again on the coordinator; then look at the node.'),
  -- schema: the proof
  ('proof_rows', 'isolation_config', 'error', 'schema', false,
    'Inside a tenant tms_app does not see exactly the rows that the auditor counts for it; where a policy of somebody''s own shows it fewer, a warning.', 'The other checks read the catalog; this one tries it.', 'Restore the policies.'),
  ('proof_nothing', 'isolation_config', 'error', 'schema', false,
    'Without a tenant, or in one that does not exist, tms_app sees a row.', 'A request that forgot its tenant must find nothing.', 'Restore the policies.'),
  ('proof_writes', 'isolation_config', 'error', 'schema', false,
    'Inside a tenant tms_app can write a row into another, or reach one.', 'Reading back is not needed to do harm.', 'Restore the policies.')
$$;
comment on function audit.checks() is
$$Every check of the audit: category, worst severity, family (data or schema), whether the migration gate runs it (gate), what it finds, why that matters,
how to fix it.  select * from audit.checks();$$;
--! EndIncluded audit/catalog.sql
--! Included audit/manifest.sql
-- Written by UPDATE_DOCS=1 npm test -- test/audit/manifest.test.ts, from what the migrations make; a test holds it to that.
create or replace function audit.manifest()
returns table (kind text, name text, owner text, granted text, body text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('function', 'api.add_member(text,text,text,text,text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '979fb66744f0def1344e5bf53c68145e'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'f3bfd8c25f9a6245e3ef838978073cd0'),
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', 'e8df1124ab21dbeb42d812c389cdb2e6'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'ebccd746458670f4c70458c9bf0600b5'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', '2cd859e5f66c3a0803491dc4d9cbf692'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', '3f362aa87d042216078e5918f722233c'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'e214449a40a9d6bb5fddc587127c42f6'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a2dabea3f1b69467272845bd714af71'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', '5e35d1ba8adbdfe21ced71929cbde129'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '2d014f472627080349fe363cec47ab14'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', 'f65556ea86242d3b80f4b6bf6872cf10'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', 'f2a7f8344bf343031795bd5adcf44dad'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '0e233badfd0ee1ca010b42dca81cab70'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '3b331c5f22ce84451db4d40c954cda90'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', 'ebe84e9e98bfc2c432b47f456ba67b90'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '93833be632b8db3b9501ee6584e9e9ac'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7fb84d44efb0ad29a3010156ec1c5076'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', '7fd7b7deda326d54e6a4a7b1216ce4dd'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '815f9a903342d7d59cf4283b5812805f'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6f7b849f51bac751aa6f08e886b85416'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '0e7833b87c1fc79bd9e3ae5d8fa0385d'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'a915796a579fa9f1ac63c2e737746713'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '5dcc8a91279ab6c76561b86cdd412955'),
    ('function', 'api.take_rate_limit(text,text,integer)', 'tms_registrar', 'tms_service', '41d8c0145b5790e51437e96768bc9fe9'),
    ('function', 'api.update_tenant(text,text,text,text,text,text,text,text,text,jsonb,text[])', 'tms_registrar', 'tms_service', '850cc3c75b223cc7271c2bca834b6709'),
    ('function', 'app.adopt(regclass)', 'tms_owner', '', '3002070c38653d038a0b0d259e137ea9'),
    ('function', 'app.await_writers(uuid,boolean)', 'tms_registrar', '', '316ea0f7df30955e5eada3a31284089b'),
    ('function', 'app.board_json(app.boards)', 'tms_owner', 'tms_app', 'a5af015eac1919e04566b27d2038b5f2'),
    ('function', 'app.count_tenants(text)', 'tms_registrar', 'tms_auditor', '469edab0911b6b7799ab8aecfb63b42c'),
    ('function', 'app.count_tenants_like(text,text)', 'tms_registrar', '', 'd5fd689fd694ae35e0b4513652271182'),
    ('function', 'app.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', '8297e332eda8e3937d95b839446598d2'),
    ('function', 'app.cursor_of(timestamp with time zone,uuid)', 'tms_owner', 'tms_app tms_registrar', '860fabd228104008346a85a66c10fdc1'),
    ('function', 'app.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '67ed87e44a0e6241901815fe9c9a643f'),
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', 'e53d9fd4554d7ce74d399f874e5a53bc'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '94c2e1d85c0b2c4e5e78665041d7d215'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', '4424ecd58849f08969922210e9f3d134'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '8eb737e517796d6ce22928eb56414403'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '919d46d05c3100ad0844ff3c5537542e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', 'fa5beac5cdc23ce0ff992e90bc186f26'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '1d02cdf5e8e2cd790f4c6aac7f0ba5e6'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', '20c9d9083827f4bf4d44a2e33ce3ae29'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '9476734f3d3b943216a0a8d1859aeec4'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', 'c9e07b153cfc2f4142a9adcc0979d9c4'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor tms_registrar', 'da40bfed1c55f43ccbe19e35462c037e'),
    ('function', 'app.lock_tenant(text)', 'tms_registrar', '', '0b1ae05cd5d8020b9c15e41a7f1ade32'),
    ('function', 'app.member_json(app.users)', 'tms_owner', 'tms_app', 'a26aaca041cce263b087e34bf13bfab2'),
    ('function', 'app.move_tenant(text,text[],text,text)', 'tms_registrar', '', 'ee5850e71f4f5c4d77064d7bafb5fa14'),
    ('function', 'app.parse_uuid(text)', 'tms_owner', 'tms_app tms_registrar', '16cbb9025fe9d8da60ca41bdd12a10b6'),
    ('function', 'app.read_cursor(text)', 'tms_owner', 'tms_app tms_registrar', '7a450cd2eff59edf3dc1d99ec8f01a3e'),
    ('function', 'app.refuse(integer,text,text,text,jsonb)', 'tms_owner', 'tms_app tms_registrar', 'ed53708c0d267cc1eda3001a2aa9e4fd'),
    ('function', 'app.refuse_slug(text)', 'tms_owner', 'tms_registrar', '0494b21e36b9be8782d818579eacf24b'),
    ('function', 'app.remove_tenant(app.tenants)', 'tms_registrar', '', '0e07ca947d8eb6df20f0633e482b86d9'),
    ('function', 'app.replay(text,text,text,jsonb)', 'tms_registrar', '', '1de402158f59334ded63d0ca48e00947'),
    ('function', 'app.require_member(uuid,uuid)', 'tms_owner', 'tms_app', 'c6d4124107c68742c702ce61fe216009'),
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', 'd8ca10ef652aadb1df2c118d18e1f244'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', 'cb53aa9b3e4769955e3bfc93a31352aa'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '372ed04befe2137666ccc0d3cd708e48'),
    ('function', 'app.require_status(app.tenants,text)', 'tms_owner', 'tms_registrar', 'b7e177058b7adfc35ee4d44f1917d91e'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '81db2cc5b5ba419c5ace31eb05c7159e'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '9fd716fca6d98ef85a81a4d0f9f5c190'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'f22879e1d2334df904803ce8936ae756'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor tms_registrar', 'a000e4be13b244f721f88ab1a1f9a338'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', 'e080d56edb568acf85249eb64e33746b'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '2c49d7a68e652e708efd90d22075a36f'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'a77714c0f71463977127d50ee1073861'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '609ab7da46f1b9e59e8d76437af5b647'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', 'dbdf21ae5ac14da27a0893200c2ab5c6'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'cc98c7821e042d24cbb5df51028fe1dc'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '9009ec5a3426d7a6a55cc5adbcb445e4'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '04923da4b065b8fb8df72f733e6bd263'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', 'b0943da454408ee453970ecca0cd0e5d'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', 'e3980905d4256cabdad3abd6e55fe23f'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', 'a249b403caa828a7f8514fe26f25dfcc'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', 'b87fb2efc01ff14d296f9b42ad27530a'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', 'b3b1072c39a1bc8eda28287b67415ae5'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', '5db5fbc2e100d38bda73fb0479a4cbe9'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '75abbcaa7a512900ed1224ea7855c899'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'b69a47bc259722755a25a72b59c68264'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', 'e9b659b89c4863884c727f9fd5095cff'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '2a8fb09dea4c65f573e2c4e99812cf3f'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', '9b0f16aa3b79b73992c1518e44e47333'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ff1e1403e1243d93e52d729bd6858584'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', '679bc73c25c0829b781dbc3e5d7cad69'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', 'f6d806d9b36e9ff9a0370eddb7e1f0c3'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', 'f515890d9b403fab1adb9295d51c230e'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'd1faf6862168f7d8f4834c8068586e61'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', 'f23167578bc699e38b4c7647c9d90d51'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', '82522ab5a2b7ed69ca775e6fa6a4db88'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', '8c0b88682bc41535117ca19f80752ff4'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', 'f9b1161bed0f117592e3df80920ad04c'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '3881befdd1b6dca5b7f2ee428ced9b47'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '7969bfbe47b980b1bb2968bb1aa7ac00'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', '9c7a2cc8fd48451d9a20748d5e6c16a1'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '33887f08c45a5330ab690e5fac1c76ed'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', '664dced47f493b0780b02fa31f61e2ad'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', 'c20c3d2f8b19ef51beaf706f65653baf'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', '158c11306d3dc787d8155ca8a9473948'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'ea7948ade84356dca011bc420f852827'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', '126843cf66887b607d19f185d32d0092'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '2c4eb1ee6f5d89ddda0752e65ac92253'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '0ba207f4146feb218cc8b13711ee9f1a'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', '586141ef95b2604d1424812c54901e66'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', '9983c113f9f71aa890160a709e6bdb8b'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '8de6b9ed9fed0737d3a2f4e7cc9f416c'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', 'f8e982a43ad850d5520400c66a64764e'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', 'be3f439878e18252ab4495eab95f1f42'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', '1d76c10004db995bda801b5122acb054'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', 'd99ff818e85d5d623a9751e3d1881098'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', '7c665ec66c0ad40c4216d71cc8cb5dcc'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', 'ec23304e9ac1e98d19276809e9512742'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', 'f6435e1b49c5b576684367cbcd776de8'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', '9697643d7dca35a5d38bcf0dc4bd6a3d'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '9eb4212f301e31c2e0b7645cc04fef87'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '75b193c74ca1da785ae3a0d8b4d3e5f5'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_owner', 'tms_auditor', '723c6c39873af3a5503b46a5b3497cd0'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', '810802f6e382d99beb56fb3330870c7a'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '133ed8d368bc49c455825b40bca52864'),
    ('function', 'audit.find_tenant(text)', 'tms_owner', 'tms_auditor', 'f7af4ca5e9972e7e92aaf3bdbc4f1cc2'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', '614ee1a3ea045e4a82b439d88c694185'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', 'cf335f6a24889d8e8640bebace34c5e2'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '18c231f237d7ac31123d9d25e872fe73'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'b751fe270e7fb38e81eba1675dd0a168'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '7fefe1ec6439cf3a90eb24280d336a7d'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '35b53ad40f417b116b653e0d71005930'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', '3690d152fc02db79c130879c024c11bc'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', 'f5ceb15c41e7a83888de4d7b86011615'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'd108b6b303d8f7d9593126ec54ce1bb9'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'ef4db47402316040965c1400be4cc6b2'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', 'a0267c0ab16a886791f0d204d5b42f27'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '5f24f08f442b792491759fdb213b9e29'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '893cd8ca00a04f52fc227cc5cda60b79'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '1ce02f8819524f9c89ec8d6591bb77d2'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', '596a6fe8029526ac6b998bae15a0a2a8'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', '4c1d0cd8fc879cec004039519bde6973'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'd4f5e06dee60c858690543f7df24581c'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', '59fd73d7055b067d05eccf8f0f502408'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '0ad9c042a63b35d83bd30743bc3698e3'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', '6b02023e2942fc31f4fa347a9a1eee61'),
    ('function', 'audit.scan(regclass,uuid)', 'tms_owner', 'tms_auditor', '4cb50244e920556cecc7139f8c077f94'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '714ae3acb57dbdc53fb0a71fd8427aa1'),
    ('function', 'audit.short_hash(text)', 'tms_owner', 'tms_auditor', '6f23cfe71952fec1f8acb0400a595545'),
    ('function', 'audit.slices(regclass,name,uuid)', 'tms_owner', 'tms_auditor', '4b3ce6a95861c87d59d8f5ad643270b3'),
    ('function', 'audit.start_run(text,text,integer)', 'tms_owner', 'tms_auditor', '23e14457719a6c8e00785fb32adc22e4'),
    ('function', 'audit.tenant_references()', 'tms_owner', 'tms_auditor', '7e63f48453607ddccc4fe6791d2fe0f8'),
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', 'b866ff207db7c6688365b4c03d6fbe75'),
    ('function', 'audit.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_auditor', '7c83834d1d3aca090f2f3039e78a99a4'),
    ('function', 'audit.version_fault(integer,boolean)', 'tms_owner', 'tms_auditor', '06d07c9578250233fc2390a7b0188d14'),
    ('function', 'audit.visible_rows(regclass,name,uuid[])', 'tms_app', 'tms_auditor', '4c624280d5b02e03a6ccbb7a19cbb73f'),
    ('function', 'control.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', 'f51e10df58d79ca3a0d0795dfe58aa56'),
    ('function', 'control.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '64ba8d9e056505dbf964689f858940de'),
    ('function', 'control.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', '05f6202feaee348266ab72ad98ed0312'),
    ('function', 'control.find_tenant(text)', 'tms_auditor', 'tms_owner', '092ecd4817dc31d218f82c2a5fb7fb1b'),
    ('function', 'control.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'control.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '379f66e5be803b087e2d33e846308ed7'),
    ('function', 'control.leaking_tables()', 'tms_app', 'tms_registrar', 'a64065acd87739f1fa6faf8563022cdf'),
    ('function', 'control.shown_rows(uuid,integer)', 'tms_app', 'tms_registrar', '940fe838dabb731f042c6f4ee27bec1c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', 'f6a59bfcaa8cabee05c6dd96e2f9e6df'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c5bcc8f27a34855b08f6954793bb871a'),
    ('trigger', '_500_count_delete on app.tenants', '', '', 'a2967120993725a9552d831442a27623'),
    ('trigger', '_500_count_insert on app.tenants', '', '', 'b5b94c7cad75fc5c93e1758037716a02'),
    ('trigger', '_500_count_truncate on app.tenants', '', '', 'f60577f14ae18519078b884a6581387c'),
    ('trigger', '_500_count_update on app.tenants', '', '', '1f0c76f4e9cd0d421124ed827e09822d'),
    ('trigger', '_600_record_delete on app.tenants', '', '', 'f8677253e59ebd79f53a5217611b79af'),
    ('trigger', '_600_record_insert on app.tenants', '', '', 'a8f533c4b3f31f2fb3d931c0e4e7eb67'),
    ('trigger', '_600_record_update on app.tenants', '', '', 'e5a8a4a9b2e4345335208b4ce112da88')
$$;
comment on function audit.manifest() is
  'The functions of this release, who owns and may execute them, and the triggers on its tables, each with a hash of what it does.';
--! EndIncluded audit/manifest.sql
--! Included audit/functions.sql
create or replace function audit.our_roles()
returns text[]
language sql
immutable
return array['tms_owner', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor'];
comment on function audit.our_roles() is 'The five roles of the service.';

create or replace function audit.role_name(p_role oid)
returns text
language sql
stable
return case when p_role = 0 then 'public' else p_role::regrole::text end;
comment on function audit.role_name(oid) is 'A role as a statement writes it; public for 0, which stands for everybody where Postgres keeps rights.';

create or replace function audit.of_extensions(p_catalog regclass)
returns setof oid
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select objid from pg_depend where classid = p_catalog and (deptype = 'e' or classid = 'pg_proc'::regclass and deptype = 'i')
$$;
comment on function audit.of_extensions(regclass) is
  'What extensions brought of one kind, by its catalog: pg_proc, pg_class, pg_type …; and the functions that a range type brought, which are Postgres''s own.';

-- A migration, where most remedies are pasted, runs as tms_owner, who may become these roles and has no rights of theirs before.
create or replace function audit.by_owner(p_owner name, p_statement text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_owner in ('tms_app', 'tms_registrar', 'tms_auditor') then format('set role %I; %s reset role;', p_owner, p_statement) else p_statement end
$$;
comment on function audit.by_owner(name, text) is 'A remedy that only the owner of an object may execute, as tms_owner can paste it.';

create or replace function audit.by_acceptance(p_function text, p_owner name, p_change text)
returns text
language sql
immutable
return format('select audit.accept(%1$L); -- once you have read it; or, as %3$I: alter routine %1$s %2$s;', p_function, p_change, p_owner);
comment on function audit.by_acceptance(text, name, text) is 'The remedy for a function that the service''s roles have no way to: it may be a provider''s, and is to be read and vouched for.';

-- md5() does not run on a server in FIPS mode.
create or replace function audit.short_hash(p_text text)
returns text
language sql
immutable
return left(encode(sha256(convert_to(p_text, 'UTF8')), 'hex'), 32);
comment on function audit.short_hash(text) is 'The first 128 bits of its SHA-256, in hexadecimal.';

create or replace function audit.definition_hash(p_function oid)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- Lines are kept where they are: a comment ends with its own.
  select audit.short_hash(concat_ws('|', l.lanname, f.prokind, f.provolatile, f.proisstrict, f.prosecdef, f.proparallel, pg_get_function_arguments(f.oid), pg_get_function_result(f.oid),
    (select string_agg(replace(c, '"', ''), ', ' order by c) from unnest(f.proconfig) c),
    coalesce(regexp_replace(pg_get_function_sqlbody(f.oid), '\s+', ' ', 'g'), replace(f.prosrc, E'\r\n', E'\n')), f.probin))
  from pg_proc f join pg_language l on l.oid = f.prolang where f.oid = p_function
$$;
comment on function audit.definition_hash(oid) is 'What a function does, as a hash: language, kind, volatility, strictness, whose rights, parallel safety, arguments, result, settings, body, library.';

-- Extensions' functions are theirs, and those below 16384 Postgres's; everything else in the database is examined.
create or replace function audit.functions()
returns table (oid oid, name text, schema name, owner name, definer boolean, config text[], body text, leakproof boolean, acl aclitem[], granted text, kind "char", own boolean,
  reached boolean, vouched boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with ours as materialized (
    select oid from pg_roles where rolname = any (audit.our_roles())
  ), fired as materialized (
    -- Neither a trigger nor an aggregate asks who may execute the function that it calls.
    select t.tgfoid from pg_trigger t
    where not t.tgisinternal and exists (
      select from ours r
      where has_table_privilege(r.oid, t.tgrelid, 'insert, update, delete, truncate') or has_any_column_privilege(r.oid, t.tgrelid, 'insert, update'))
    union all
    select d.refobjid from pg_depend d join pg_proc a on a.oid = d.objid and a.prokind = 'a'
    where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384
      and exists (select from ours r where has_schema_privilege(r.oid, a.pronamespace, 'usage') and has_function_privilege(r.oid, a.oid, 'execute'))
  )
  select f.oid, w.name, n.nspname, o.rolname, f.prosecdef, coalesce(f.proconfig, '{}'), coalesce(pg_get_function_sqlbody(f.oid), f.prosrc), f.proleakproof,
    w.acl, w.granted, f.prokind, w.own, r.reached,
    not r.reached and exists (
      select from audit.accepted a
      where a.kind = 'function' and a.name = w.name and a.owner = o.rolname and a.granted = w.granted and a.body = audit.definition_hash(f.oid))
  from pg_proc f
  join pg_namespace n on n.oid = f.pronamespace
  join pg_roles o on o.oid = f.proowner
  cross join lateral (
    select f.oid::regprocedure::text as name, coalesce(f.proacl, acldefault('f', f.proowner)) as acl,
      coalesce((select string_agg(g.who, ' ' order by g.who)
        from aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
        cross join lateral (select audit.role_name(a.grantee)) g (who)
        where a.grantee <> f.proowner), '') as granted,
      n.nspname in ('app', 'api', 'control', 'audit') as own) w
  cross join lateral (
    select w.own or f.oid in (select tgfoid from fired)
      or exists (select from ours r where has_schema_privilege(r.oid, n.oid, 'usage') and has_function_privilege(r.oid, f.oid, 'execute')) as reached) r
  where f.oid >= 16384 and n.nspname not like 'pg\_temp\_%'
    and f.oid not in (select audit.of_extensions('pg_proc'))
$$;
comment on function audit.functions() is
$$The functions that the audit examines: all but those of Postgres and of extensions. granted: who may execute it beside its owner. own: in one of
the service's schemas. reached: own, or one of the five roles may execute it or has it executed by a trigger or an aggregate. vouched: not
reached, and as audit.accept() found it.$$;

create or replace function audit.by_moving(p_relation oid)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce((
    select format(' -- or, where that is refused: alter extension %I set schema …, one that the service''s roles may not use', e.extname)
    from pg_depend d join pg_extension e on e.oid = d.refobjid
    where d.classid = 'pg_class'::regclass and d.objid = p_relation and d.objsubid = 0 and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'), '')
$$;
comment on function audit.by_moving(oid) is 'The second half of a remedy for a table or view of an extension, whose owner may be the provider''s; empty for any other.';
--! EndIncluded audit/functions.sql
--! Included audit/count_suspects.sql
-- The tenants in slices of about as many each, as conditions on a row %: workers take one after the other, and each slice
-- is a merge of the same stretch of two indexes. A row without a tenant is in none of them, so it has one of its own.
create or replace function audit.slices(p_table regclass, p_column name, p_tenant_id uuid)
returns text[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants bigint;
  v_bounds uuid[];
  v_nullable constant boolean := not audit.is_never_null(p_table, p_column);
begin
  if p_tenant_id is not null then
    return array[format('%%.%I = %L', p_column, p_tenant_id)];
  elsif (select reltuples from pg_class where oid = p_table) < 200000 then
    return array['true'];
  end if;
  select count(*) into v_tenants from app.tenants;
  v_bounds := array(
    select id from generate_series(1, 15) n cross join lateral (select id from app.tenants order by id offset v_tenants * n / 16 limit 1) t order by id);
  return array(
    select coalesce(nullif(concat_ws(' and ', format('%%.%I >= ', p_column) || quote_literal(v_bounds[n]), format('%%.%I < ', p_column) || quote_literal(v_bounds[n + 1])), ''), 'true')
    from generate_series(0, cardinality(v_bounds)) n)
    || case when v_nullable then array[format('%%.%I is null', p_column)] end;
end
$$;
comment on function audit.slices(regclass, name, uuid) is 'The slices of a table: conditions on a row, written %.column. One where it is small, or of one tenant.';

-- A hash table that outgrows the processor's cache costs several times the merge of two indexes, which needs no memory
-- either; the planner's costs do not know that. Several slices are the workers' shares: within one there is nothing to
-- share out, or each worker would read the whole inner index. Undone when control.examine() returns.
create or replace function audit.plan_merges(p_table regclass, p_column name, p_slices int)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select set_config('enable_hashjoin', case when merge then 'off' else 'on' end, true),
    set_config('parallel_setup_cost', case when p_slices > 1 then '0' else '1000' end, true),
    set_config('parallel_tuple_cost', case when p_slices > 1 then '0' else '0.1' end, true),
    set_config('min_parallel_index_scan_size', case when p_slices > 1 then '1TB' else '512kB' end, true),
    set_config('min_parallel_table_scan_size', case when p_slices > 1 then '1TB' else '8MB' end, true)
  from (
    select p_slices > 1 and exists (
      select from pg_index i
      join pg_attribute t on t.attrelid = p_table and t.attnum = i.indkey[0] and t.attname = 'tenant_id'
      join pg_attribute c on c.attrelid = p_table and c.attnum = i.indkey[1] and c.attname = p_column
      where i.indrelid = p_table and i.indisvalid and i.indpred is null) as merge) m
$$;
comment on function audit.plan_merges(regclass, name, int) is 'Makes the planner merge two indexes, slice by slice; with one slice, plan as it would. Until the transaction ends.';

create or replace function audit.count_suspects(p_question text, p_slices text[], p_table regclass, p_column name)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer bigint[];
begin
  perform audit.plan_merges(p_table, p_column, cardinality(p_slices));
  execute 'select array[coalesce(sum(a), 0), coalesce(sum(b), 0), sum(c), sum(d)] from ('
    || (select string_agg(regexp_replace(p_question, '\{slice (\w+)}', replace(s, '%', '\1'), 'g'), ' union all ') from unnest(p_slices) s)
    || ') as answers (a, b, c, d)'
  into v_answer;
  perform audit.plan_merges(p_table, null, 1);
  return v_answer;
end
$$;
comment on function audit.count_suspects(text, text[], regclass, name) is 'Puts a question of audit.row_tests() to every slice and adds up its four numbers.';
--! EndIncluded audit/count_suspects.sql
--! Included audit/passes.sql
create or replace function audit.passes(p_family text default null, p_gate boolean default false)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
as $$
  select pass from (
    select c."check" as pass, 1 as part, n
    from audit.checks() with ordinality as c ("check", category, severity, family, gate, finds, why, mend, n)
    where c.family = 'schema' and p_family is distinct from 'data' and (c.gate or not p_gate)
    union all
    select 'scan ' || relid, 2, row_number() over (order by relid::text) from audit.relations()
    where not is_child and p_family is distinct from 'schema' and not p_gate
    union all
    select d.check_name, 3, row_number() over () from audit.data_checks() d
    -- Where the table is gone whose scan would answer, the check runs by itself, and says why it cannot.
    where (d.answered_by is null or not exists (select from audit.relations() r where r.relid = to_regclass(d.answered_by) and not r.is_child))
      and p_family is distinct from 'schema' and not p_gate
  ) p
  order by part, n
$$;
comment on function audit.passes(text, boolean) is
  'The units of a run, each in a transaction of its own: a check by its name, or `scan <table>`, one pass over a table for all checks of single rows.';

create or replace function audit.scanned(p_pass text)
returns setof regclass
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select relid from audit.relations(array(
    select oid::regclass from pg_class where oid >= 16384 and relkind in ('r', 'p') and 'scan ' || oid::regclass = p_pass))
$$;
comment on function audit.scanned(text) is 'The table that a pass scans; none where the pass is no scan, or its table gone.';

create or replace function audit.pass_checks(p_pass text)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
as $$
  select p_pass where p_pass not like 'scan %'
  union
  select unnest(array_remove(array[t.check_name, t.check_elsewhere], null))
  from audit.scanned(p_pass) r cross join lateral audit.row_tests(r) t
  union
  select d.check_name from audit.data_checks() d where p_pass = 'scan ' || d.answered_by
$$;
comment on function audit.pass_checks(text) is 'The checks that a pass is part of.';

-- Everything that reads tenants' rows reads them here, as tms_auditor, whoever called. In control, where no member of
-- tms_auditor can name it: members own what their role owns, and could make it STRICT, or the caller's, and give it a search_path.
set local role tms_auditor;
create or replace function control.examine(p_pass text, p_tenant_id uuid, p_sample int)
returns setof audit.outcome
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
set quote_all_identifiers = off
set standard_conforming_strings = on
set work_mem = '128MB'
set random_page_cost = 1.1
set enable_hashjoin = on
set parallel_setup_cost = 1000
set parallel_tuple_cost = 0.1
set min_parallel_index_scan_size = '512kB'
set min_parallel_table_scan_size = '8MB'
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
      -- Not by a cast of the name: that fails in a schema that tms_auditor may not use, where the scan says what is missing.
      select s.* from audit.scanned(p_pass) r cross join lateral audit.scan(r, p_tenant_id) s
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
    if not found then
      raise exception using errcode = 'undefined_table', message = format('%s: the table is gone', p_pass);
    end if;
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
comment on function control.examine(text, uuid, int) is
  'Runs one pass as tms_auditor and returns its outcomes, by check and relation. Raises what the check raises.';
revoke all on function control.examine(text, uuid, int) from public;
grant execute on function control.examine(text, uuid, int) to tms_owner;
reset role;

create or replace function audit.examine(p_pass text, p_tenant_id uuid, p_sample int)
returns setof audit.outcome
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from control.examine(p_pass, p_tenant_id, p_sample);
end
$$;
comment on function audit.examine(text, uuid, int) is 'control.examine(), for who may run the audit.';

-- A check that cannot run is a finding. Only a person's own cancellation goes through.
create or replace function audit.attempt(p_pass text, p_tenant_id uuid, p_sample int, out outcomes audit.outcome[], out failure text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
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
      from (
        select c from audit.pass_checks(p_pass) c
        union
        -- The table is gone since the run began, or has another name by now: nobody looked at it.
        select 'tenant_missing' where not exists (select from audit.pass_checks(p_pass))) c);
  end if;
end
$$;
comment on function audit.attempt(text, uuid, int) is
  'audit.examine(), with a failure turned into one finding of severity error for each check of the pass; failure is its message, else null.';
--! EndIncluded audit/passes.sql
--! Included audit/run.sql
set local role tms_auditor;
create or replace function control.find_tenant(p_slug text)
returns uuid
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id uuid;
begin
  perform audit.require_unfiltered('app.tenants');
  select id into v_id from app.tenants where slug = p_slug;
  if v_id is null then
    raise exception using errcode = 'no_data_found', message = format('there is no tenant with the slug %L', p_slug);
  end if;
  return v_id;
end
$$;
comment on function control.find_tenant(text) is 'The id of the tenant with a slug. Raises P0002 for a slug that nobody has.';
revoke all on function control.find_tenant(text) from public;
grant execute on function control.find_tenant(text) to tms_owner;
reset role;

create or replace function audit.find_tenant(p_slug text)
returns uuid
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_slug is not null then
    return control.find_tenant(p_slug);
  end if;
  return null;
end
$$;
comment on function audit.find_tenant(text) is 'control.find_tenant(), for who may run the audit; null for null.';

create or replace function audit.start_run(p_tenant text, p_only text, p_sample int)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run bigint;
begin
  insert into audit.runs (tenant, tenant_id, family, sample, schema_version, run_by, pending)
  values (p_tenant, audit.find_tenant(p_tenant), p_only, p_sample, app.schema_version(), session_user, array(select audit.passes(p_only)))
  returning id into v_run;
  return v_run;
end
$$;
comment on function audit.start_run(text, text, int) is 'Opens a run with all its passes to come, and returns its id. Raises P0002 for a slug that nobody has.';

-- The one writer of results, and it writes what it has just seen: nobody can hand it a result.
create or replace function audit.record_pass(p_run bigint, p_pass text, out checked bigint, out findings bigint, out failure text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_run audit.runs;
  v_outcomes audit.outcome[];
  v_failure text;
begin
  update audit.runs set pending = array_remove(pending, p_pass)
  where id = p_run and finished_at is null and p_pass = any (pending) and started_in <> pg_current_xact_id()
  returning * into v_run;
  if not found then
    raise exception using errcode = 'object_not_in_prerequisite_state', message = format('run %s does not wait for the pass %L', p_run, p_pass);
  end if;
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
  where k.n <= 1000 or v_failure is not null;

  insert into audit.results as r (run_id, check_name, relation, checked, errors, warnings, infos, elapsed, failed)
  select p_run, o."check", coalesce(o.relation, ''), max(o.checked), sum(o.errors), sum(o.warnings), sum(o.infos),
    clock_timestamp() - v_started, v_failure is not null
  from unnest(v_outcomes) o
  group by o."check", coalesce(o.relation, '')
  on conflict (run_id, check_name, relation) do update
  set checked = r.checked + excluded.checked, errors = r.errors + excluded.errors, warnings = r.warnings + excluded.warnings,
      infos = r.infos + excluded.infos, elapsed = r.elapsed + excluded.elapsed, failed = r.failed or excluded.failed;

  select case when p_pass like 'scan %' then max(o.checked) filter (where o.relation = substr(p_pass, 6)) else sum(o.checked) end, sum(o.errors + o.warnings + o.infos)
  into checked, findings from unnest(v_outcomes) o;
  checked := coalesce(checked, 0);
  findings := coalesce(findings, 0);
  failure := v_failure;
end
$$;
comment on function audit.record_pass(bigint, text) is
  'Runs one pass that an open run waits for and stores what it found; returns rows examined, findings, and why it could not run, if so. Raises 55000 for any other, and in the transaction that opened the run.';

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
  if not exists (select from audit.runs where id = p_run and finished_at is null and pending = '{}') then
    raise exception using errcode = 'object_not_in_prerequisite_state', message = format('run %s is not an open one with all its passes done', p_run);
  end if;
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
  delete from audit.found
  where run_id in (select id from audit.runs where finished_at is not null order by id desc offset 100)
    and run_id <> all (array(select distinct run_id from audit.findings));
  return v_run;
end
$$;
comment on function audit.finish_run(bigint) is 'Closes a run whose passes are all done, adds it up, and forgets the findings of all but the last hundred runs and of those with a finding that is still open.';

-- Not SECURITY DEFINER and without SET: a procedure with either may not commit. It holds no rights; what it calls does.
create or replace procedure audit.run(
  p_tenant text default null, p_only text default null, p_sample int default 20, inout p_run bigint default null)
language plpgsql
as $$
declare
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
  p_run := audit.start_run(p_tenant, p_only, p_sample);
  v_passes := (select r.pending from audit.runs r where r.id operator(pg_catalog.=) p_run);

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
comment on function audit.progress_line(int, int, text, bigint, bigint, timestamptz, text) is 'The notice as a pass ends: how many of how many, its name, rows, findings, milliseconds.';

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
      and r.check_name not in (select check_name from audit.data_checks() where answered_by is null)
    group by r.check_name order by r.check_name
  loop
    raise notice 'audit check %: % rows in % tables, % findings, % ms shared', v.check_name, v.checked, v.relations, v.found,
      round(extract(epoch from v.elapsed) * 1000);
  end loop;
end
$$;
comment on function audit.say_scanned(bigint) is 'A notice for each check that was answered by the passes over the tables.';
--! EndIncluded audit/run.sql
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
  with server (version) as (
    select current_setting('server_version_num')::int
  ), member as (
    select g.rolname as granted, r.rolname as member, r.oid as memberid, r.rolsuper, r.rolname = any (audit.our_roles()) as of_ours,
      a.admin_option as may_grant, w.inherits, w.may_set,
      -- What 16 and newer write down of who made a role, in the name of the server's first superuser.
      a.grantor = 10 and a.admin_option and not w.inherits and not w.may_set as is_record,
      case when s.version >= 160000 then ' granted by ' || a.grantor::regrole else '' end as by_grantor
    from server s cross join pg_auth_members a join pg_roles g on g.oid = a.roleid join pg_roles r on r.oid = a.member
    cross join lateral (
      select coalesce((to_jsonb(a) ->> 'inherit_option')::boolean, r.rolinherit) as inherits, coalesce((to_jsonb(a) ->> 'set_option')::boolean, true) as may_set) w
  ), planned (granted, member) as (
    values ('tms_app'::name, 'tms_owner'::name), ('tms_registrar', 'tms_owner'), ('tms_auditor', 'tms_owner')
  ), acting as (
    -- Who may act as these, directly or through others. Who may act as tms_owner is a finding already.
    select t.rolname as granted, r.rolname as member, r.rolcanlogin and not exists (
        select from member m where m.granted = r.rolname and (m.inherits or m.may_set) and not m.rolsuper
          -- Who administers a role may join it anyhow.
          and not exists (select from member a where a.granted = m.granted and a.member = m.member and a.may_grant)) as alone,
      -- A member owns what its role owns: it may give a function of tms_app's, which others call, a search_path with its own functions.
      t.rolname = 'tms_app' and exists (
        select from pg_namespace n where n.nspname not like 'pg\_%' and has_schema_privilege(r.oid, n.oid, 'create')) as armed
    from pg_roles r join pg_roles t on t.rolname in ('tms_app', 'tms_auditor')
    cross join lateral (select case when (select version from server) >= 160000 then 'set' else 'member' end) k (kind)
    where not r.rolsuper and r.rolname <> all (audit.our_roles()) and pg_has_role(r.oid, t.oid, 'usage, ' || k.kind)
      and not pg_has_role(r.oid, to_regrole('tms_owner'), 'usage, ' || k.kind)
  )
  select case when m.of_ours then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object('role', m.granted, 'member', m.member),
    case when p.granted is not null
           then case when m.may_grant then format('tms_owner may give %s to others', m.granted)
                     when m.inherits then format('tms_owner inherits %s, and its policies, without saying so', m.granted) end
         when m.of_ours
           then format(case when m.inherits or m.may_set then '%s is a member of %s: what that role may, it may' else '%s may make itself a member of %s' end, m.member, m.granted)
         when not m.inherits and not m.may_set then null
         when m.granted in ('tms_owner', 'tms_service', 'tms_registrar') then format('%s may act as %s', m.member, m.granted) end,
    case when p.granted is not null and s.version >= 160000
           then format('revoke admin option for %1$I from %2$I%3$s; grant %1$I to %2$I with inherit false, set true%3$s;', m.granted, m.member, m.by_grantor)
         when p.granted is not null then format('revoke admin option for %I from %I; alter role %2$I noinherit;', m.granted, m.member)
         else format('revoke %I from %I%s;', m.granted, m.member, m.by_grantor) end
  from server s cross join member m left join planned p using (granted, member)
  where m.of_ours or not m.rolsuper
  union all
  select case when a.alone and not a.armed then 'info' else 'warning' end, null, null, jsonb_build_object('role', a.granted, 'member', a.member),
    format('%s %s, as a member of %s%s%s', a.member, case a.granted when 'tms_app' then 'may work in whichever tenant it names' else 'reads every tenant' end,
      v.roles, case when a.alone then '' else ', and so does whoever joins it' end,
      case when a.armed then ', and may create functions, which it could have run in the requests of others' else '' end),
    case when a.alone and a.armed then '-- for a job: let it create nothing in this database. Else: '
         when a.alone then format('-- nothing, for a %s. Else: ', case a.granted when 'tms_app' then 'job' else 'DBA' end) else '' end || v.revoked
  from acting a
  cross join lateral (
    select string_agg(distinct m.granted::text, ', ') as roles, string_agg(format('revoke %I from %I%s;', m.granted, m.member, m.by_grantor), ' ') as revoked
    from member m where m.member = a.member and (m.inherits or m.may_set) and (m.granted = a.granted or m.granted in (select b.member from acting b where b.granted = a.granted))) v
  union all
  -- Before 16 CREATEROLE was over every role but superusers; since then over those that one has ADMIN of.
  select 'info', null, null, jsonb_build_object('administrator', r.rolname),
    case when r.rolcreaterole and s.version < 160000 then format('%s may create roles: before Postgres 16 that is to give itself, and others, each of the five', r.rolname)
         when a.roles is not null then format('%s administers %s: it can make itself, and others, a member', r.rolname, a.roles) end,
    case when r.rolcreaterole and s.version < 160000 then format('-- nothing, for the administrator who runs db/roles.sql. Else: alter role %I nocreaterole;', r.rolname)
         when a.recorded then '-- nothing: so Postgres 16 and newer record who made a role, and somebody has to administer it'
         else a.revoked end
  from server s cross join pg_roles r
  cross join lateral (
    select string_agg(distinct m.granted::text, ', ') as roles, bool_and(m.is_record) as recorded,
      string_agg(format('revoke admin option for %I from %I%s;', m.granted, m.member, m.by_grantor), ' ') filter (where not m.is_record) as revoked
    from member m where m.memberid = r.oid and m.may_grant and m.granted = any (audit.our_roles())) a
  where not r.rolsuper and r.rolname <> all (audit.our_roles())
  union all
  select 'warning', null, null, jsonb_build_object('role', p.granted, 'member', p.member),
    case when not exists (select from member m where m.granted = p.granted and m.member = p.member and m.may_set)
      then format('%s may not act as %s: the next migration fails', p.member, p.granted) end,
    '-- as an administrator:' || E'\n\\i db/roles.sql'
  from planned p
$$;

create or replace function audit.check_role_settings()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when s.setting like 'search\_path=%' or r.rolname not like 'tms\_%' then 'warning' else 'error' end,
    null::uuid, null, jsonb_build_object('role', coalesce(r.rolname, 'all'), 'setting', s.setting),
    case when lower(split_part(s.setting, '=', 1)) in ('role', 'row_security', 'session_replication_role', 'app.tenant_id', 'app.maintenance', 'app.actor', 'app.event')
           then format('every session of %s begins with %s', coalesce(r.rolname, 'every role'), s.setting)
         when (r.oid is null or r.rolname like 'tms\_%') and s.setting like 'search\_path=%' and s.setting not in ('search_path=pg_catalog, pg_temp', 'search_path="pg_catalog", "pg_temp"')
           then format('%s looks for names in %s', coalesce(r.rolname, 'every role'), substr(s.setting, 13)) end,
    format('alter %s%s reset %I;', case when r.oid is not null then format('role %I', r.rolname) when d.oid is null then 'role all' else format('database %I', d.datname) end,
      case when r.oid is not null and d.oid is not null then format(' in database %I', d.datname) else '' end, split_part(s.setting, '=', 1))
  from pg_db_role_setting x
  cross join lateral unnest(x.setconfig) as s (setting)
  left join pg_roles r on r.oid = x.setrole
  left join pg_database d on d.oid = x.setdatabase
  where (x.setdatabase = 0 or d.datname = current_database()) and (x.setrole = 0 or r.rolname like 'tms\_%' or s.setting ilike any (array['app.%', 'session\_replication\_role=%']))
  union all
  select 'warning', null, null, jsonb_build_object('role', 'tms_service', 'setting', w.name),
    case when w.value is distinct from (
      select replace(substr(s.setting, length(w.name) + 2), '"', '')
      from pg_db_role_setting x cross join lateral unnest(x.setconfig) as s (setting)
      where x.setrole = to_regrole('tms_service') and x.setdatabase in (0, (select oid from pg_database where datname = current_database()))
        and split_part(s.setting, '=', 1) = w.name
      order by x.setdatabase desc limit 1)
      then format('tms_service has lost what db/roles.sql gives its sessions: %s, which is %s', w.name, w.why) end,
    '-- as an administrator:' || E'\n\\i db/roles.sql'
  from (values
    ('search_path', 'pg_catalog, pg_temp', 'where they look for names'),
    ('default_transaction_isolation', 'read committed', 'what they see after they waited for a lock')
  ) as w (name, value, why)
$$;

create or replace function audit.check_bypass_role()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, null, jsonb_build_object('role', r.rolname),
    case when exists (select from audit.relations() t where has_any_column_privilege(r.oid, t.relid, 'select, insert, update'))
      then format('%s has BYPASSRLS and rights on tenants'' tables: it reads every tenant once it may connect', r.rolname) end,
    format('alter role %I nobypassrls; -- as an administrator. A provider''s own role is the provider''s, and cannot be changed', r.rolname)
  from pg_roles r
  where r.rolbypassrls and not r.rolsuper and r.rolname <> all (audit.our_roles())
  union all
  -- Of Postgres's own roles, those whose rights on everything include what no policy narrows.
  select 'warning', null, null, jsonb_build_object('role', g.rolname, 'member', r.rolname),
    case when w.inherits or w.may_set then format('%s %s, as a member of %s', r.rolname, p.may, g.rolname) end,
    format('revoke %I from %I%s; -- as an administrator; and grant it what it needs, tms_auditor if that is every tenant', g.rolname, r.rolname,
      case when current_setting('server_version_num')::int >= 160000 then ' granted by ' || m.grantor::regrole else '' end)
  from (values
    ('pg_read_all_data', 'reads pg_statistic, with values of all tenants'' rows, and who the tenants are in control and audit'),
    ('pg_write_all_data', 'writes the service''s bookkeeping and the results of the audit'),
    ('pg_maintain', 'locks everybody out of any table'),
    ('pg_read_server_files', 'reads the files that hold all rows'),
    ('pg_write_server_files', 'writes the files of the server'),
    ('pg_execute_server_program', 'does what the server''s account may')
  ) as p (role, may)
  join pg_roles g on g.rolname = p.role
  join pg_auth_members m on m.roleid = g.oid
  join pg_roles r on r.oid = m.member
  cross join lateral (
    select coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, r.rolinherit) as inherits, coalesce((to_jsonb(m) ->> 'set_option')::boolean, true) as may_set) w
  -- Of the five role_membership tells.
  where not r.rolsuper and r.oid >= 16384 and r.rolname <> all (audit.our_roles())
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
      || case when r.tenant_column = 'id' then '' else format(E'\nselect app.isolate(%L);', coalesce(pg_partition_root(r.relid), p.inhparent, r.relid)::regclass) end
  from audit.relations() r join pg_class c on c.oid = r.relid
  left join lateral (select inhparent from pg_inherits where inhrelid = r.relid order by inhseqno limit 1) p on r.is_child
$$;

create or replace function audit.check_rls_not_forced()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when not c.relforcerowsecurity and not app.is_distributed() then format('row-level security is not forced: its owner, %s, and every definer function of that role see every tenant', c.relowner::regrole) end,
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
    select app.is_distributed() as bare
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
comment on function audit.expected_policies() is 'The policies that each of the tenants'' tables must have, as pg_policy shows them, and the statement that restores each.';

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
        (select string_agg(audit.role_name(r), ', ') from unnest(p.polroles) r)) end,
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
      (select string_agg(audit.role_name(x), ', ') from unnest(p.polroles) x),
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
    coalesce(e.remedy, format('drop policy %I on %s;', p.polname, p.polrelid::regclass))
  from pg_policy p
  join audit.relations() r on r.relid = p.polrelid
  left join audit.expected_policies() e on e.relid = r.relid and e.policy = p.polname
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
          'RETURN (CASE WHEN (current_setting(''app.tenant_id''::text, true) ~~ ''________-____-____-____-____________''::text) '
          || 'THEN current_setting(''app.tenant_id''::text, true) ELSE NULL::text END)::uuid'
        then 'the body of app.tenant_id() is not the one it came with: ' || coalesce(pg_get_function_sqlbody(f.oid), left(f.prosrc, 200)) end,
      -- A cast of somebody's making reads the same.
      (select 'app.tenant_id() calls ' || string_agg(d.refobjid::regprocedure::text, ', ')
       from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384),
      case when f.prosecdef then 'app.tenant_id() is SECURITY DEFINER' end,
      case when f.proconfig is not null then 'app.tenant_id() sets ' || array_to_string(f.proconfig, ', ') end,
      case when f.proleakproof then 'app.tenant_id() is LEAKPROOF' end), ''),
    $q$create or replace function app.tenant_id() returns uuid language sql stable parallel safe
return (case
  when pg_catalog.current_setting('app.tenant_id', true) like '________-____-____-____-____________'
  then pg_catalog.current_setting('app.tenant_id', true)
end)::uuid;
-- what an earlier definition added:
alter function app.tenant_id() security invoker not leakproof reset all;$q$
  from (select to_regprocedure('app.tenant_id()') as oid) w
  left join pg_proc f on f.oid = w.oid
$$;

-- Whoever reads the parent reads the children, under the parent's policies and rights alone.
create or replace function audit.check_table_inherits()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, case when i.inhparent is null then '{}' else jsonb_build_object('parent', i.inhparent::regclass::text) end,
    case when i.inhparent is not null and p.relid is null
      then format('the table is a child of %s, which is no tenants'' table: whoever reads that one reads every tenant''s rows', i.inhparent::regclass) end,
    format('alter table %s no inherit %s;', r.relid, i.inhparent::regclass)
  from audit.relations() r
  left join pg_inherits i on i.inhrelid = r.relid
  left join audit.relations() p on p.relid = i.inhparent
$$;
--! EndIncluded audit/checks/rls.sql
--! Included audit/checks/grants.sql
create or replace function audit.check_table_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with granted as (
    select r.relid, r.is_child, c.relowner, a.grantor, a.grantee, a.privilege_type, a.is_grantable, ''::text as column_name
    from audit.relations() r join pg_class c on c.oid = r.relid
    cross join lateral aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
    union all
    select r.relid, r.is_child, c.relowner, a.grantor, a.grantee, a.privilege_type, a.is_grantable, format('(%I)', t.attname)
    from audit.relations() r join pg_class c on c.oid = r.relid
    join pg_attribute t on t.attrelid = c.oid and t.attacl is not null
    cross join lateral aclexplode(t.attacl) a
  ), named as (
    select g.*, audit.role_name(grantee) as who,
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
    -- Only who gave a right takes it back, and first what came of it.
    format(case when grantor = relowner then 'revoke %1$s%2$s on table %3$s from %4$s%5$s;' else 'set role %6$s; revoke %1$s%2$s on table %3$s from %4$s%5$s; reset role;' end,
      privilege_type, column_name, relid, who, case when is_grantable then ' cascade' else '' end, grantor::regrole)
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
        or n.nspname = 'app' and c.relkind = 'v' and v.invoker
          and (a.who = 'tms_app' and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE') or a.who = 'tms_auditor' and a.privilege_type = 'SELECT')
        or n.nspname = 'app' and c.relkind = 'S' and a.who in ('tms_app', 'tms_auditor') and a.privilege_type in ('USAGE', 'SELECT'))
      then format('%s has %s on it%s', a.who, a.privilege_type, case when c.relkind = 'v' and not v.invoker then format(', and reads with the rights of %s', c.relowner::regrole)
                                                                     when c.relkind = 'S' and a.privilege_type = 'UPDATE' then ', and can set it to where nobody gets a number any more' else '' end) end,
    format('revoke %s on %s from %s;', a.privilege_type, c.oid::regclass, a.who)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select exists (select from pg_options_to_table(c.reloptions) where case when option_name = 'security_invoker' then option_value::boolean end) as invoker) v
  left join lateral (
    select audit.role_name(x.grantee) as who, x.privilege_type
    from aclexplode(c.relacl) x where x.grantee <> c.relowner
    union all
    select audit.role_name(x.grantee), x.privilege_type
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
    union all
    -- Elsewhere it is nobody's business who uses a schema, but that the service's roles make nothing there.
    select format('schema %I', n.nspname), 'elsewhere', a.grantee, a.privilege_type, a.is_grantable
    from pg_namespace n cross join lateral aclexplode(n.nspacl) a
    where n.nspname not in ('app', 'api', 'control', 'audit', 'public', 'pg_catalog', 'information_schema') and n.nspname not like 'pg\_t%'
      and a.privilege_type = 'CREATE' and a.grantee = any (array[0, to_regrole('tms_service'), to_regrole('tms_app'), to_regrole('tms_registrar'), to_regrole('tms_auditor')]::oid[])
  ), named as (
    select *, audit.role_name(grantee) as who from granted
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
    -- A copy of a database has the rights of a new one: there the service comes in as everybody does.
    case when name = 'database' and who = 'public' and privilege_type = 'CONNECT' then format('grant connect on %s to tms_service, tms_auditor; ', object) else '' end
      || format('revoke %s on %s from %s;', privilege_type, object, who)
  from named
$$;

create or replace function audit.check_default_privileges()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- As the checks of what is made have it: to a role of somebody else's, what policies narrow is a warning.
  select case when w.outsider and d.defaclobjtype = 'r' and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE') and not a.is_grantable then 'warning'
              when w.ours or d.defaclnamespace in (0, to_regnamespace('app'), to_regnamespace('api'), to_regnamespace('control'), to_regnamespace('audit'), to_regnamespace('public'))
                then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object('owner', d.defaclrole::regrole::text, 'role', a.who, 'privilege', a.privilege_type),
    case when a.who in ('public', 'tms_service', 'tms_app', 'tms_registrar') or w.ours and w.outsider
           or a.who = 'tms_auditor' and a.privilege_type not in ('SELECT', 'USAGE', 'EXECUTE') then
      format('%s gets %s on everything that %s makes%s, before anybody isolates it', a.who, a.privilege_type, d.defaclrole::regrole,
        coalesce(' in ' || nullif(d.defaclnamespace, 0)::regnamespace, '')) end,
    audit.by_owner(pg_get_userbyid(d.defaclrole), format('alter default privileges for role %s%s revoke all on %s from %s;', d.defaclrole::regrole,
      coalesce(' in schema ' || nullif(d.defaclnamespace, 0)::regnamespace, ''),
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'n' then 'schemas' else 'types' end, a.who))
  from pg_default_acl d
  cross join lateral (select x.*, audit.role_name(x.grantee) as who from aclexplode(d.defaclacl) x) a
  cross join lateral (
    select d.defaclrole::regrole::text = any (audit.our_roles()) as ours,
      a.who <> all (array_append(audit.our_roles(), 'public')) as outsider) w
  where a.grantee <> d.defaclrole and d.defaclobjtype in ('r', 'S', 'f', 'n')
    -- What everybody has anyway stands in the same list; other checks look at what is made.
    and not (d.defaclnamespace = 0 and d.defaclrole <> to_regrole('tms_owner') and exists (
      select from aclexplode(acldefault(case d.defaclobjtype when 'S' then 's' else d.defaclobjtype end, d.defaclrole)) x
      where x.grantee = a.grantee and x.privilege_type = a.privilege_type))
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
  -- What an extension shows to everybody (pg_stat_statements, citus_tables) is its own, and may be there before a migration.
  select case when c.oid in (select audit.of_extensions('pg_class'))
              then 'warning' else 'error' end, null::uuid, c.oid::regclass::text, jsonb_build_object('role', 'tms_service'),
    -- Elsewhere a right is one where the schema may be used.
    case when (n.nspname in ('app', 'api', 'control', 'audit') or has_schema_privilege('tms_service', n.oid, 'usage'))
           and (has_table_privilege('tms_service', c.oid, 'select, insert, update, delete, truncate, references, trigger')
             or has_any_column_privilege('tms_service', c.oid, 'select, insert, update, references'))
      then 'the service''s login has rights on it: it may execute api functions and nothing else' end,
    format('revoke all on table %s from tms_service, public;', c.oid::regclass) || case when c.oid in (select audit.of_extensions('pg_class')) then audit.by_moving(c.oid) else '' end
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.oid >= 16384 and n.nspname <> 'pg_catalog' and n.nspname not like 'pg\_t%'
  union all
  select 'error', null, f.oid::regprocedure::text, jsonb_build_object('role', 'tms_service'),
    case when has_function_privilege('tms_service', f.oid, 'execute') then 'the service''s login may execute it, and it is not of the schema api' end,
    audit.by_owner(pg_get_userbyid(f.proowner), format('revoke execute on routine %s from tms_service, public;', f.oid::regprocedure))
  from pg_proc f join pg_namespace n on n.oid = f.pronamespace
  where n.nspname in ('app', 'control', 'audit')
    and f.oid not in (select audit.of_extensions('pg_proc'))
  union all
  select 'error', null, c.oid::regclass::text, '{}'::jsonb, 'the schema api holds functions and nothing else',
    format('drop %s %s;', case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end, c.oid::regclass)
  from pg_class c where c.relnamespace = to_regnamespace('api') and c.relkind in ('r', 'p', 'v', 'm', 'f')
$$;

-- Of tms_app and tms_registrar, through PUBLIC too. What lies in the service's own schemas other checks look at.
create or replace function audit.check_app_reach()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when c.relkind in ('r', 'p') and not (w.reads and w.writes) and r.name = 'tms_app' or c.oid in (select audit.of_extensions('pg_class')) then 'warning' else 'error' end,
    null::uuid, c.oid::regclass::text, jsonb_build_object('role', r.name),
    case when not w.reads and not w.writes then null
         when (select option_value::boolean from pg_options_to_table(c.reloptions) where option_name = 'security_invoker') then null  -- its reader's rights decide
         when c.relkind in ('v', 'm', 'f')
           then format('%s reads it with the rights of %s, past every policy', r.name, c.relowner::regrole)
         when r.name = 'tms_registrar' then 'tms_registrar, which crosses tenants, has rights on it: its reach is app.tenants, app.users and control'
         when w.reads and w.writes then 'what one tenant writes into it every other may read: it has no column tenant_id and no policy'
         when w.writes then 'requests of all tenants write into it: whoever reads it has to know whose is what'
         else 'every tenant reads all of it: right for what all share, such as a list of countries' end,
    format('revoke all on table %s from %s, public;', c.oid::regclass, r.name) || case when c.oid in (select audit.of_extensions('pg_class')) then audit.by_moving(c.oid) else '' end
  from (values ('tms_app'), ('tms_registrar')) as r (name)
  cross join pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select n.nspname not in ('app', 'api', 'control', 'audit') and has_schema_privilege(r.name, n.oid, 'usage') as there
  ) s
  cross join lateral (
    select s.there and has_any_column_privilege(r.name, c.oid, 'select') as reads,
      s.there and (has_any_column_privilege(r.name, c.oid, 'insert, update, references') or has_table_privilege(r.name, c.oid, 'delete, truncate, trigger')) as writes
  ) w
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.oid >= 16384 and n.nspname <> 'pg_catalog' and n.nspname not like 'pg\_t%'
    and c.relpersistence <> 't' and c.oid not in (select relid from audit.relations())
$$;

-- What Postgres and its extensions ship, as they shipped it (pg_init_privs): a right more, and the wall is walked around. A foreign
-- server is reached as whoever its owner has made of everybody.
create or replace function audit.check_system_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with shipped (classid, objid, kind, name, acl, owner, since) as (
    select 'pg_class'::regclass::oid, c.oid, 'table', c.oid::regclass::text, c.relacl, c.relowner, 'r'::"char"
    from pg_class c where c.relnamespace = 'pg_catalog'::regnamespace and c.relacl is not null
    union all
    select 'pg_proc'::regclass, f.oid, 'function', f.oid::regprocedure::text, f.proacl, f.proowner, 'f'
    from pg_proc f
    where f.proacl is not null and (f.pronamespace = 'pg_catalog'::regnamespace
      or f.oid in (select audit.of_extensions('pg_proc')))
    union all
    select 'pg_foreign_server'::regclass, s.oid, 'foreign server', quote_ident(s.srvname), s.srvacl, s.srvowner, 'S'
    from pg_foreign_server s where s.srvacl is not null
    union all
    select 'pg_foreign_data_wrapper'::regclass, w.oid, 'foreign data wrapper', quote_ident(w.fdwname), w.fdwacl, w.fdwowner, 'F'
    from pg_foreign_data_wrapper w where w.fdwacl is not null
    union all
    select 'pg_namespace'::regclass, n.oid, 'schema', n.oid::regnamespace::text, n.nspacl, n.nspowner, 'n'
    from pg_namespace n where n.nspname = 'pg_catalog' and n.nspacl is not null
  ), given as (
    select s.kind, s.name, a.grantee, a.privilege_type, ''::text as col
    from shipped s
    left join pg_init_privs i on i.classoid = s.classid and i.objoid = s.objid and i.objsubid = 0
    cross join lateral aclexplode(s.acl) a
    where not exists (
      select from aclexplode(coalesce(i.initprivs, acldefault(s.since, s.owner))) x where x.grantee = a.grantee and x.privilege_type = a.privilege_type)
    union all
    select 'table', t.attrelid::regclass::text, a.grantee, a.privilege_type, format(' (%I)', t.attname)
    from pg_attribute t
    join pg_class c on c.oid = t.attrelid and c.relnamespace = 'pg_catalog'::regnamespace
    left join pg_init_privs i on i.classoid = 'pg_class'::regclass and i.objoid = t.attrelid and i.objsubid = t.attnum
    cross join lateral aclexplode(t.attacl) a
    where not exists (select from aclexplode(i.initprivs) x where x.grantee = a.grantee and x.privilege_type = a.privilege_type)
    union all
    select 'parameter', p.parname, a.grantee, a.privilege_type, '' from pg_parameter_acl p cross join lateral aclexplode(p.paracl) a
  )
  select 'error', null::uuid, case when kind = 'table' then name end, jsonb_build_object('object', name, 'role', w.who, 'privilege', privilege_type),
    format('%s has %s%s on the %s %s, which Postgres and its extensions do not grant by default', w.who, privilege_type, col, kind, name),
    format('revoke %s%s on %s %s from %s; -- as a superuser', privilege_type, col, kind, name, w.who)
  from given
  cross join lateral (select audit.role_name(grantee)) as w (who)
  where w.who = any (array_append(audit.our_roles(), 'public'))
$$;

-- An owner gives rights to whom it likes, changes and drops. The roles that work for requests own the functions that run as them.
create or replace function audit.check_role_owns()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, null, jsonb_build_object('role', r.name, 'object', d.object),
    case when d.object is not null then format('%s owns the %s', r.name, d.object) end,
    case when d.blob is not null then format('select lo_unlink(%s); -- as %s, once you have read it: select lo_get(%1$s);', d.blob, r.name)
         else format('alter %s owner to tms_owner; -- as a superuser, or as a member of %s and tms_owner', d.named, r.name) end
  from (values ('tms_service'), ('tms_app'), ('tms_registrar'), ('tms_auditor')) as r (name)
  left join lateral (
    select case when s.classid = 'pg_database'::regclass then 'database' else pg_describe_object(s.classid, s.objid, s.objsubid) end as object,
      (select i.type || ' ' || i.identity from pg_identify_object(s.classid, s.objid, s.objsubid) i) as named,
      case when s.classid = 'pg_largeobject'::regclass then s.objid end as blob
    from pg_shdepend s
    where s.refclassid = 'pg_authid'::regclass and s.refobjid = to_regrole(r.name) and s.deptype = 'o'
      and (select oid from pg_database where datname = current_database()) in (s.dbid, case when s.classid = 'pg_database'::regclass then s.objid end)
      and not (s.classid = 'pg_proc'::regclass and r.name <> 'tms_service')
  ) d on true
$$;
--! EndIncluded audit/checks/grants.sql
--! Included audit/checks/functions.sql
create or replace function audit.check_function_owner()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.owner <> all (case f.schema when 'api' then array['tms_app', 'tms_registrar'] when 'app' then array['tms_owner', 'tms_app', 'tms_registrar']
                              when 'audit' then array['tms_owner', 'tms_app'] else array['tms_owner', 'tms_app', 'tms_auditor'] end)
      then format('%s owns the function, so that it runs with rights that no policy was written for', f.owner) end,
    format(case when o.owner <> 'tms_owner' and f.owner = 'tms_owner'
             then 'grant create on schema %1$s to %3$s; alter routine %2$s owner to %3$s; revoke create on schema %1$s from %3$s;'
             else 'alter routine %2$s owner to %3$s;' end, f.schema, f.name, o.owner)
  from audit.functions() f
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name
  cross join lateral (select coalesce(m.owner, case when f.schema = 'api' then 'tms_app' else 'tms_owner' end)) o (owner)
  where f.own
  union all
  -- What a row is made and tested with runs as whoever writes it; in a policy as who reads it, in statistics as the table's owner.
  select 'error', null, r.relid::text, case when c.name is null then '{}' else jsonb_build_object('uses', c.name) end,
    case when not (o.rolname in ('tms_owner', 'tms_app', 'tms_registrar', 'tms_auditor') or o.rolsuper or pg_has_role(o.oid, to_regrole('tms_owner'), 'member'))
      then format('what is written to the table is made or tested by %s, which belongs to %s: it runs with the rights of whoever writes', c.name, o.rolname) end,
    format('alter %s %s owner to tms_owner; -- and read what it does', c.kind, c.name)
  from audit.relations() r
  left join lateral (
    with recursive used (classid, objid) as (
      select x.* from (
        select 'pg_class'::regclass::oid, r.relid::oid -- the types of columns, the key of partitions
        union all
        select 'pg_attrdef'::regclass, oid from pg_attrdef where adrelid = r.relid
        union all
        select 'pg_constraint'::regclass, oid from pg_constraint where conrelid = r.relid
        union all
        select 'pg_trigger'::regclass, oid from pg_trigger where tgrelid = r.relid
        union all
        select 'pg_class'::regclass, indexrelid from pg_index where indrelid = r.relid
        union all
        select 'pg_policy'::regclass, oid from pg_policy where polrelid = r.relid
        union all
        select 'pg_statistic_ext'::regclass, oid from pg_statistic_ext where stxrelid = r.relid
      ) x
      union
      -- And what these use: an operator's function, a domain's tests, what a domain, an array or a composite type is of.
      select n.* from used u cross join lateral (
        select d.refclassid, d.refobjid from pg_depend d
        where d.classid = u.classid and d.objid = u.objid and d.refobjid >= 16384
          and d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass)
        union all
        select 'pg_constraint'::regclass, oid from pg_constraint where u.classid = 'pg_type'::regclass and contypid = u.objid
        union all
        select 'pg_class'::regclass, typrelid from pg_type where u.classid = 'pg_type'::regclass and oid = u.objid and typrelid <> 0
      ) n
    )
    select 'routine' as kind, f.oid::regprocedure::text as name, f.proowner as owner
    from used u join pg_proc f on f.oid = u.objid
    where u.classid = 'pg_proc'::regclass and f.oid not in (select audit.of_extensions('pg_proc'))
    union all
    select 'domain', t.oid::regtype::text, t.typowner
    from used u join pg_type t on t.oid = u.objid and t.typtype = 'd'
    where u.classid = 'pg_type'::regclass and t.oid not in (select audit.of_extensions('pg_type'))
  ) c on true
  left join pg_roles o on o.oid = c.owner
$$;

create or replace function audit.check_function_security()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with expected as (
    -- Somebody's own helper of such a role may be either; of a definer function_changed asks that it be in the list.
    select f.*, case when m.name is null and f.schema <> 'api' and f.owner in ('tms_app', 'tms_registrar', 'tms_auditor') then null else (f.schema = 'api' or coalesce(m.owner, f.owner) in ('tms_app', 'tms_registrar', 'tms_auditor') or f.name ~ any (array[
        -- The owner's own definers: each reads or writes what nobody else may, and nothing of a tenant's.
        '^app\.(schema_version|last_audit)\(', '^control\.tg_tenants__(count|record)\(', '^audit\.(has_rows|start_run|record_pass|finish_run|examine|find_tenant)\(']))
        and f.name <> 'api.get_login_faults()' end as wanted
    from audit.functions() f left join audit.manifest() m on m.kind = 'function' and m.name = f.name
    where f.own
  )
  select 'error', null::uuid, name, '{}'::jsonb,
    case when definer and not wanted then format('the function runs with all rights of its owner, %s, and is not one of those that must', owner)
         when wanted and not definer then 'the function is not SECURITY DEFINER, and was made to run as its owner' end,
    audit.by_owner(owner, format('alter routine %s security %s;', name, case when wanted then 'definer' else 'invoker' end))
  from expected
$$;

-- Elsewhere, what the service's roles have no way to is a provider's own: worth reading once, and no reason to stop a migration.
create or replace function audit.check_function_bypass()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached or h.holds then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when f.definer and not f.own and h.holds then format('the function lies outside the service''s schemas and runs as %s', f.owner)
         when f.definer and (r.rolsuper or r.rolbypassrls) and not f.vouched then format('the function runs as %s, to whom no policy applies%s', f.owner,
           case when not f.reached then format('; none of the service''s roles may execute it, but %s', coalesce(nullif(replace(f.granted, ' ', ', '), ''), 'its owner only')) end) end,
    -- Of the service's own functions it is the role that is wrong.
    case when f.own and f.owner in ('tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app') then '-- as an administrator:' || E'\n\\i db/roles.sql'
         when m.owner is not null then format('alter routine %s owner to %s;', f.name, m.owner)
         when not f.reached and not h.holds then audit.by_acceptance(f.name, f.owner, 'security invoker')
         else audit.by_owner(f.owner, format('alter routine %s security invoker;', f.name)) || coalesce(
           (select format(' -- or: revoke execute on routine %s from %s;', f.name, string_agg(w, ', ' order by w)) from unnest(string_to_array(f.granted, ' ')) w
            where not f.own and w = any (array_append(audit.our_roles(), 'public')) having count(*) > 0), '') end
  from audit.functions() f join pg_roles r on r.rolname = f.owner
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name
  cross join lateral (
    select not r.rolsuper and exists (
      select from pg_roles t where t.rolname in ('tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app') and pg_has_role(r.oid, t.oid, 'usage')) as holds) h
  where f.kind <> 'a'
$$;

-- A key's own action runs as the owner of the table, and as no policy applied: a trigger that it fires runs likewise, before the
-- row on every release, after it on Postgres 18 and newer. Every tenants' table is reached so, from app.tenants.
create or replace function audit.check_trigger_rights()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, r.relid::text, jsonb_build_object('trigger', t.tgname),
    case when not p.prosecdef and b.code ~* '\m(select|insert|update|delete|merge|truncate|perform|execute|call)\M'
      then format('where a foreign key''s action fires the trigger, %s runs as %s %s', p.oid::regprocedure, c.relowner::regrole,
        case when t.tgtype & 2 = 2 then 'and past every policy: it reaches the rows of all tenants' else 'and, inside a tenant, sees no row: what it writes fails or changes nothing' end) end,
    format(E'-- as docs/extending.md tells; and name tenant_id in each of its statements:\n'
      '%1$sgrant create on schema app to tms_app; alter function %2$s owner to tms_app; revoke create on schema app from tms_app;\n'
      'set role tms_app; alter function %2$s security definer set search_path = pg_catalog, pg_temp; revoke all on function %2$s from public; reset role;\n'
      'select audit.accept(%3$L);',
      case when p.pronamespace not in ('app'::regnamespace, to_regnamespace('api')) then format(E'alter function %s set schema app;\n', p.oid::regprocedure) end,
      f.name, f.name)
  from audit.relations() r
  join pg_class c on c.oid = r.relid
  join pg_trigger t on t.tgrelid = r.relid and not t.tgisinternal and t.tgparentid = 0
  join pg_proc p on p.oid = t.tgfoid
  cross join lateral (
    select case when l.lanname in ('plpgsql', 'sql') then regexp_replace(regexp_replace(regexp_replace(p.prosrc, '--[^\n]*', ' ', 'g'), '/\*.*?\*/', ' ', 'g'), '''[^'']*''', '', 'g') else 'execute' end
    from pg_language l where l.oid = p.prolang) b (code)
  cross join lateral (
    select case when p.pronamespace = to_regnamespace('api') then 'api.' else 'app.' end || quote_ident(p.proname) || '()') f (name)
  where r.relid <> 'app.tenants'::regclass and p.oid >= 16384 and p.oid not in (select audit.of_extensions('pg_proc'))
$$;

create or replace function audit.check_function_search_path()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when f.vouched then null
         when (f.own or f.definer) and c.path is null and (f.definer or p.prosqlbody is null and f.kind <> 'p'
           -- Inlined without one: each name in them has its schema, and function_changed looks at their bodies.
           and f.name not in ('app.board_json(app.boards)', 'app.tenant_json(app.tenants)', 'app.member_json(app.users)'))
           then 'the function takes its search_path from the caller, whose objects can stand in for the real ones'
         when f.own and c.path not in ('pg_catalog, pg_temp', '"pg_catalog", "pg_temp"') then format('search_path is %s instead of pg_catalog, pg_temp', c.path)
         when f.definer and c.path !~ ',\s*"?pg_temp"?$' then format('search_path is %s: without pg_temp in the last place, temporary objects are found first', c.path) end,
    case when f.reached then audit.by_owner(f.owner, format('alter routine %s set search_path = pg_catalog, pg_temp;', f.name))
         else audit.by_acceptance(f.name, f.owner, 'set search_path = pg_catalog, pg_temp') end
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
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when c.setting is not null and not f.vouched and not (f.schema in ('audit', 'control') and c.setting = 'row_security=on')
      then format('the function sets %s', c.setting) end,
    case when f.reached then audit.by_owner(f.owner, format('alter routine %s reset %s;', f.name, split_part(c.setting, '=', 1)))
         else audit.by_acceptance(f.name, f.owner, 'reset ' || split_part(c.setting, '=', 1)) end
  from audit.functions() f
  left join lateral (
    select x as setting from unnest(f.config) x
    where lower(split_part(x, '=', 1)) in ('role', 'session_authorization', 'row_security', 'session_replication_role', 'app.tenant_id', 'app.maintenance', 'app.actor')) c on true
$$;

-- A setting for the session outlives the request; the next one on the same connection is somebody else's. What the release
-- itself brought (audit.manifest) was read then, and is not read again here. SET stands at the beginning of a statement, which may be
-- the text of an EXECUTE; an UPDATE's does not.
create or replace function audit.check_function_body()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when m.name is not null or f.vouched then null
         when b.sets ~* '<set>\s+(session\s+)?"?app\.tenant_id"?\s*(=|to\M)'
           or exists (select from regexp_split_to_table(b.code, 'set_config\s*\(', 'i') with ordinality as c (call, n)
                      where c.n > 1 and split_part(c.call, ';', 1) ~* 'app\.tenant_id'
                        and split_part(c.call, ';', 1) !~* ',\s*(is_local\s*(=>|:=)\s*)?(true|''(t|true|on|yes|y|1)'')\s*\)')
           then 'the function sets app.tenant_id for the session, and not for the transaction'
         when b.sets ~* '<set>\s+((session|local)\s+)?"?app\.maintenance' or b.code ~* 'set_config\s*\([^;]*app\.maintenance' then 'the function sets app.maintenance, which opens every table to the owner'
         when b.code ~* '\mupdate\s+(pg_catalog\.)?pg_settings\M'
           or b.sets ~* '<set>\s+((session|local)\s+)?"?(role|session\s+authorization|row_security|session_replication_role)\M'
           or b.code ~* 'set_config\s*\([^;]*(''|\$)(role|session_authorization|row_security|session_replication_role)(''|\$)'
           then 'the function changes the role, or how policies and triggers apply to it' end,
    format(case when f.reached then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; inside a tenant: perform app.set_tenant(…)'
                else 'select pg_get_functiondef(%1$L::regprocedure); -- read it, then: select audit.accept(%1$L);' end, f.name)
  from audit.functions() f
  -- Not in one expression: with an alternative in it, it would take all between the first and the last comment.
  cross join lateral (select regexp_replace(regexp_replace(f.body, '--[^\n]*', ' ', 'g'), '/\*.*?\*/', ' ', 'g')) c (code)
  cross join lateral (
    select c.code, regexp_replace(c.code, '(''|\$)\s*set\M', '<set>', 'gi')
      || regexp_replace(regexp_replace(c.code, '''[^'']*''', '', 'g'), '(^|;|\mbegin|\mthen|\melse|\mloop)\s*set\M', '<set>', 'gi')) b (code, sets)
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name and m.body = audit.definition_hash(f.oid)
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
         when f.definer and a.who = 'public' and f.reached then format('everybody may execute the function with the rights of %s', f.owner)
         when f.definer and not f.own and a.who in ('tms_service', 'tms_app', 'tms_registrar')
           then format('%s may execute the function with the rights of %s: what one tenant leaves there another may find', a.who, f.owner)
         when f.own and a.is_grantable then format('%s may pass on the right to execute the function', a.who)
         when f.schema = 'api' and a.who not in ('tms_service', 'tms_owner', 'tms_auditor') then format('%s may execute the function, beside the service''s login', a.who) end,
    audit.by_owner(f.owner, format('revoke execute on routine %s from %s;', f.name, a.who))
  from audit.functions() f
  left join lateral (
    select audit.role_name(x.grantee) as who, x.is_grantable
    from aclexplode(f.acl) x where x.grantee <> to_regrole(quote_ident(f.owner))) a on true
  union all
  -- Under a name of its own a function of the server is under none of the server's rights.
  select 'error', null, f.name, jsonb_build_object('role', w.role),
    case when has_schema_privilege(w.role, f.schema, 'usage') and has_function_privilege(w.role, f.oid, 'execute')
      then format('%s may execute the function, which is written in %s: it does what the server''s account may', w.role, l.lanname) end,
    audit.by_owner(f.owner, format('revoke execute on routine %s from %s, public;', f.name, w.role))
  from audit.functions() f
  join pg_proc p on p.oid = f.oid
  join pg_language l on l.oid = p.prolang and not l.lanpltrusted
  cross join (values ('tms_service'), ('tms_app'), ('tms_registrar'), ('tms_auditor')) as w (role)
  where to_regrole(w.role) is not null
  union all
  select 'info', null, oid::regprocedure::text, jsonb_build_object('role', 'tms_service'),
    case when has_function_privilege(to_regrole('tms_service'), oid, 'execute')
      then 'the service may write large objects, which belong to no tenant and know no policy' end,
    format('revoke execute on function %s from public; -- by a superuser; db/large_objects.sql does it for all of them', oid::regprocedure)
  from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace and proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put', 'lowrite')
$$;

create or replace function audit.check_function_leakproof()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when f.leakproof and not f.vouched then 'the function claims to be LEAKPROOF: it is run on rows before the policy is' end,
    case when f.reached then format('alter function %s not leakproof;', f.name) else audit.by_acceptance(f.name, f.owner, 'not leakproof') end
  from audit.functions() f
  where f.kind in ('f', 'w')
  union all
  select 'warning', null, f.oid::regprocedure::text, '{}'::jsonb,
    'the function of an extension claims to be LEAKPROOF: it is run on rows before the policy is',
    format('alter function %s not leakproof; -- unless the extension made it so', f.oid::regprocedure)
  from pg_proc f
  where f.proleakproof and f.oid >= 16384 and f.oid in (select audit.of_extensions('pg_proc'))
  union all
  select 'error', null, 'uuid_eq(uuid,uuid)', '{}'::jsonb,
    case when not proleakproof then 'the comparison in every policy is not leakproof: conditions of a query may be run before it, on any tenant''s rows' end,
    'alter function pg_catalog.uuid_eq(uuid, uuid) leakproof;'
  from pg_proc where oid = 'pg_catalog.uuid_eq(uuid,uuid)'::regprocedure
$$;
--! EndIncluded audit/checks/functions.sql
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
-- One sentence for \df+ and the documentation.
do $$
declare
  v_check record;
begin
  for v_check in select "check", finds from audit.checks() where to_regprocedure('audit.check_' || "check" || '()') is not null loop
    execute pg_catalog.format('comment on function audit.check_%s() is %L', v_check."check", v_check.finds);
  end loop;
end
$$;
revoke create, usage on schema control from tms_auditor;
revoke create, usage on schema audit from tms_app;
--! EndIncluded audit/end.sql
set local citus.enable_ddl_propagation = on;
