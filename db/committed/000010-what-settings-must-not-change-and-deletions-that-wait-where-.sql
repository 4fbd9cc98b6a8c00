--! Previous: sha1:3780dd777cc4dc74887ccf8c8651fe3d268e1a00
--! Hash: sha1:9aedbe5f660e1c893c4c0fab555b54c3108c8d04
--! Message: what settings must not change, and deletions that wait where the writers are

-- What settings of a server, a database or a login must not change, and deletions that wait where the writers are.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! Included context/unprotected_tables.sql
create or replace function app.unprotected_tables()
returns table (name regclass, fault text)
language sql
stable
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
set standard_conforming_strings = on
as $$
  with tenant_table as (
    select c.oid, c.relrowsecurity and (c.relforcerowsecurity or app.is_distributed()) as forced,
           (select polname from pg_policy p
            where p.polrelid = c.oid and p.polpermissive = app.is_distributed() and p.polcmd = '*'
              and (to_regrole('tms_app') = any (p.polroles) or p.polroles = '{0}')
              and pg_get_expr(p.polqual, p.polrelid) ~ '^\((tenant_id|id) = (\( SELECT )?app\.tenant_id\(\)'
              and pg_get_expr(p.polwithcheck, p.polrelid) = pg_get_expr(p.polqual, p.polrelid)
            limit 1) as tenant_policy
    from app.tenant_tables() t join pg_class c on c.oid = t.relid
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
--! Included context/refuse_slug.sql
create or replace function app.refuse_slug(p_slug text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.refuse(409, 'Conflict', format('A tenant with slug ''%s'' already exists', p_slug), 'tenants_slug_key');
end
$$;
comment on function app.refuse_slug(text) is 'Raises TM409 `Conflict`: the slug is used.';
revoke all on function app.refuse_slug(text) from public;
grant execute on function app.refuse_slug(text) to tms_registrar;
--! EndIncluded context/refuse_slug.sql
--! Included context/require_status.sql
create or replace function app.require_status(p_tenant app.tenants, p_status text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tenant.status <> p_status then
    perform app.refuse(409, 'Conflict', format('The tenant is %s, not %s', p_tenant.status, p_status), 'wrong_status');
  end if;
end
$$;
comment on function app.require_status(app.tenants, text) is 'Raises TM409 `Conflict` unless the tenant is in this status.';
revoke all on function app.require_status(app.tenants, text) from public;
grant execute on function app.require_status(app.tenants, text) to tms_registrar;
--! EndIncluded context/require_status.sql
--! Included context/await_writers.sql
-- Foreign keys lock the tenant's row for who writes to it, where the rows are. Distributed, that is the tenant's worker and its own
-- copy of app.tenants: this is sent there. A plain FOR UPDATE waits for everybody who writes, and those who come later pass by:
-- lock_timeout, which is for each of these waits, would never end it.
set local role tms_registrar;
create or replace function app.await_writers(p_tenant_id uuid, p_lock boolean)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_limit constant interval := current_setting('lock_timeout');
  v_until constant timestamptz := clock_timestamp() + v_limit;
  v_tenants text := 'app.tenants';
  v_row text;
  v_found boolean;
begin
  if app.is_distributed() then
    select shard_name(logicalrelid, shardid) into strict v_tenants from pg_dist_shard where logicalrelid = 'app.tenants'::regclass;
  end if;
  v_row := 'select true from ' || v_tenants || ' where id = $1';
  loop
    begin
      execute v_row || ' for update' || case when v_limit > interval '0' then ' skip locked' else '' end into v_found using p_tenant_id;
      if not p_lock then
        raise exception using errcode = 'TM000';
      end if;
    exception when sqlstate 'TM000' then
      null; -- Nothing is locked any more.
    end;
    exit when v_found;
    execute v_row into v_found using p_tenant_id;
    exit when v_found is null;
    if clock_timestamp() > v_until then
      raise exception using errcode = 'lock_not_available', message = format('others write to the tenant %s', p_tenant_id);
    end if;
    perform pg_sleep(0.02);
  end loop;
end
$$;
comment on function app.await_writers(uuid, boolean) is
$$Waits until nobody writes to a tenant; p_lock: and locks it, if there is one. Raises 55P03 when others have not stopped for
lock_timeout (0: waits as long as it takes). Meanwhile it holds nothing, so that the tenant can be suspended.$$;
revoke all on function app.await_writers(uuid, boolean) from public;
reset role;
--! EndIncluded context/await_writers.sql
--! Included context/lock_tenant.sql
set local role tms_registrar;
create or replace function app.lock_tenant(p_tenant_id text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant uuid := app.parse_uuid(p_tenant_id);
begin
  -- Of no tenant there is no worker: Citus 13.2 crashes when it looks for it.
  if v_id is null then
    return;
  end if;
  if app.is_distributed() then
    -- The login's own setting does not reach the workers.
    execute format('set local lock_timeout = %L', current_setting('lock_timeout'));
    -- The lock of app.tenants keeps everybody from changing any tenant, so the long wait comes first. The worker's row comes after it,
    -- as in every change of a tenant: else two of them would wait for each other.
    perform 1 from app.await_writers(v_id, false);
    perform from app.tenants where id = v_id for update;
  end if;
  -- In FROM, where a distributed database sends it to the tenant's worker.
  perform 1 from app.await_writers(v_id, true);
end
$$;
comment on function app.lock_tenant(text) is
  'Locks a tenant that will be deleted, if there is one; raises 55P03 when others have not stopped writing to it for lock_timeout (0: waits as long as it takes).';
revoke all on function app.lock_tenant(text) from public;
reset role;
--! EndIncluded context/lock_tenant.sql
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
      perform app.refuse_slug(p_slug);
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
--! Included context/move_tenant.sql
set local role tms_registrar;
create or replace function app.move_tenant(p_tenant_id text, p_if_match text[], p_from text, p_to text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants := app.find_tenant_to_change(p_tenant_id, p_if_match);
  -- An ETag never comes back, whatever became of the clock.
  v_now constant timestamptz := greatest(clock_timestamp(), v_tenant.updated_at + interval '1 microsecond');
begin
  perform app.require_status(v_tenant, p_from);
  update app.tenants set status = p_to, updated_at = v_now
  where id = v_tenant.id
  returning * into v_tenant;
  return app.tenant_json(v_tenant);
end
$$;
comment on function app.move_tenant(text, text[], text, text) is
  'Moves a tenant from one status to the next and returns it; raises TM404, TM412, or TM409 when it is not in p_from.';
revoke all on function app.move_tenant(text, text[], text, text) from public;
reset role;
--! EndIncluded context/move_tenant.sql
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
  union all
  select format('its sessions begin with %s = %s, which must be %s', name, current_setting(name), wanted)
  from (values ('default_transaction_isolation', 'read committed'), ('row_security', 'on'), ('session_replication_role', 'origin')) as w (name, wanted)
  where current_setting(name) <> wanted
$$;
comment on function api.get_login_faults() is
  'Why the current login must not be the service''s: one reason a row, none for a login that can only execute api functions, with the settings that they need.';
revoke all on function api.get_login_faults() from public;
grant execute on function api.get_login_faults() to tms_service;
reset role;
--! EndIncluded api/service/get_login_faults.sql
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
    insert into app.tenants (slug, name, is_default) values (p_slug, p_name, true) on conflict on constraint tenants_slug_key do nothing;
    if not found then
      perform app.refuse_slug(p_slug);
    end if;
  end if;
end
$$;
comment on function api.ensure_default_tenant(text, text) is
  'Makes the default tenant, once in the life of a database: a later start, also with another slug, changes nothing.';
revoke all on function api.ensure_default_tenant(text, text) from public;
grant execute on function api.ensure_default_tenant(text, text) to tms_service;
reset role;
--! EndIncluded api/service/ensure_default_tenant.sql
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
  v_after record;
  -- The client's text is a text, not a pattern. E'', since the words of a body are read anew in each session, by its settings.
  v_pattern constant text := '%' || regexp_replace(p_search, E'([%_\\\\])', E'\\\\\\1', 'g') || '%';
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  v_after := app.read_cursor(p_cursor);
  -- One statement and functions that are stable, so that the page and the total are of one moment. One row more than the page tells whether there is a next one.
  select json_build_object(
           'tenants', coalesce(json_agg(app.tenant_json(p.t) order by p.n) filter (where p.n <= p_limit), '[]'),
           'total_count', case when p_search is null then app.count_tenants(p_status) else app.count_tenants_like(p_status, v_pattern) end),
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
  v_tenant := app.find_tenant_to_change(p_tenant_id, p_if_match);

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
      perform app.refuse_slug(p_slug);
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
  p_tenant_id text, p_if_match text[] default null
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
  perform app.lock_tenant(p_tenant_id);
  v_tenant := app.find_tenant_to_change(p_tenant_id, p_if_match);
  if v_tenant.is_default and p_tenant_slug is null then
    perform app.refuse(400, 'Default tenant', 'The default tenant cannot be deleted in single-tenant mode', 'default_tenant_delete');
  end if;
  return app.remove_tenant(v_tenant);
end
$$;
comment on function api.delete_tenant(text, text, text, text, text, text, text, text[]) is
$$Deletes a tenant and by cascade every row of it, in one transaction. p_if_match as of api.update_tenant. Raises TM403, TM404, TM412, TM400 `Default tenant`.$$;
revoke all on function api.delete_tenant(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.delete_tenant(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/delete_tenant.sql
--! Included api/setup/reject_tenant.sql
set local role tms_registrar;
create or replace function api.reject_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text, p_if_match text[] default null
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
  v_tenant := app.find_tenant_to_change(p_tenant_id, p_if_match);
  perform app.require_status(v_tenant, 'pending');
  return app.remove_tenant(v_tenant);
end
$$;
comment on function api.reject_tenant(text, text, text, text, text, text, text, text[]) is
$$Rejects a registration: deletes a pending tenant. p_if_match as of api.update_tenant. Raises TM403, TM404, TM412, TM409 when it is not pending.$$;
revoke all on function api.reject_tenant(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.reject_tenant(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/reject_tenant.sql
--! Included api/setup/suspend_tenant.sql
set local role tms_registrar;
create or replace function api.suspend_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text, p_if_match text[] default null
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
    perform app.refuse(409, 'Conflict', 'The default tenant cannot be suspended in single-tenant mode', 'default_tenant_suspend');
  end if;
  return app.move_tenant(p_tenant_id, p_if_match, 'active', 'suspended');
end
$$;
comment on function api.suspend_tenant(text, text, text, text, text, text, text, text[]) is
$$Suspends a tenant: nobody gets in until it is resumed. Returns the tenant. p_if_match as of api.update_tenant. Raises TM403, TM404, TM412, TM409 when it is not active.$$;
revoke all on function api.suspend_tenant(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.suspend_tenant(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/suspend_tenant.sql
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
  v_behind constant boolean := app.is_behind(p_schema_version);
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
      select 'The database schema is behind this release: run npm run migrate' where v_behind
      union all
      select 'There is no default tenant: create it with POST /api/setup/tenant and the default slug'
      where v_default.id is null and p_tenant_slug is null
      union all
      select format('%s tenant(s) wait for approval: GET /api/setup/tenants?status=pending lists them', pending)
      from app.count_tenants('pending') as pending where pending > 0
      union all
      select * from app.isolation_advice()
      union all
      select * from unnest(p_advice)
    )
  );
end
$$;
comment on function api.get_setup_status(text, text, text, text, text, text, text, text[]) is
$$The setup status. p_schema_version is the migration this release was built with; p_advice are sentences the
service found in its own configuration. Reads only. Raises TM403.$$;
revoke all on function api.get_setup_status(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.get_setup_status(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/get_setup_status.sql
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
  from app.shown_rows(v_tenant.id, v_limit + 1) s
  join pg_class c on c.oid = s.name
  cross join lateral (
    select case when has_schema_privilege('tms_auditor', c.relnamespace, 'usage') and has_table_privilege('tms_auditor', c.oid, 'select')
      then audit.held_rows(s.name, v_tenant.id, v_limit + 1) end) h (rows);

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
revoke create on schema app, api from tms_app, tms_registrar;
--! Included audit/schema.sql
-- The isolation audit. Everything here is tms_owner's, but for the functions that must read as somebody else: what reads
-- the tenants' rows is tms_auditor's, what acts inside a tenant is tms_app's. Both need the right to create here while
-- their functions are made; audit/end.sql takes it back.
create schema if not exists audit;
comment on schema audit is 'The tenant-isolation audit: call audit.run(), then read audit.findings';
revoke all on schema audit from public;
grant usage on schema audit to tms_auditor, tms_registrar;
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
--! Included audit/manifest.sql
-- Written by UPDATE_DOCS=1 npm test -- test/audit/manifest.test.ts, from what the migrations make; a test holds it to that.
create or replace function audit.manifest()
returns table (kind text, name text, owner text, granted text, body text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('function', 'api.add_member(text,text,text,text,text,text,text,text,text,text,text)', 'tms_app', 'tms_service', 'b5558696cde87c93b4a6b9ed43585104'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'f3bfd8c25f9a6245e3ef838978073cd0'),
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', 'b1b9463000c3705764e70166b7d503d7'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'ebccd746458670f4c70458c9bf0600b5'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', '2cd859e5f66c3a0803491dc4d9cbf692'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', '1913f0129efbdddd8be4493673503f8c'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'e214449a40a9d6bb5fddc587127c42f6'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a2dabea3f1b69467272845bd714af71'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', '5e35d1ba8adbdfe21ced71929cbde129'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '65c1da0070fa201dcd567fa60238314e'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', 'f65556ea86242d3b80f4b6bf6872cf10'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', 'f2a7f8344bf343031795bd5adcf44dad'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '0e233badfd0ee1ca010b42dca81cab70'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '3b331c5f22ce84451db4d40c954cda90'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', 'ebe84e9e98bfc2c432b47f456ba67b90'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '93833be632b8db3b9501ee6584e9e9ac'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7fb84d44efb0ad29a3010156ec1c5076'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', '7fd7b7deda326d54e6a4a7b1216ce4dd'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '156b3bd207b55707b0cd4efa64fc4863'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6f7b849f51bac751aa6f08e886b85416'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '02fa3e85e7ff3e3045a3518a9061fb6f'),
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
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', '2a4eeb25244a1e3fc2608b02ef0e11a6'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '94c2e1d85c0b2c4e5e78665041d7d215'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', '4424ecd58849f08969922210e9f3d134'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '8eb737e517796d6ce22928eb56414403'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '919d46d05c3100ad0844ff3c5537542e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', 'fa5beac5cdc23ce0ff992e90bc186f26'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '1d02cdf5e8e2cd790f4c6aac7f0ba5e6'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', '7bfc1f4e5358d8e39186bd573d244858'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', 'a74b9943a40815d1dc63fb230228546b'),
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
    ('function', 'app.remove_tenant(app.tenants)', 'tms_registrar', '', '473c8bfaf448a768742b86fbef5911f0'),
    ('function', 'app.replay(text,text,text,jsonb)', 'tms_registrar', '', '1de402158f59334ded63d0ca48e00947'),
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
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', 'd784c0fba85b27bcd0ff2c8cf36711cb'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', 'b20b42d6393034c220caa683b2eb485e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', 'b87fb2efc01ff14d296f9b42ad27530a'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', 'b3b1072c39a1bc8eda28287b67415ae5'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', '39efa2d86abffbcc1f26170bf5fdd17f'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '75abbcaa7a512900ed1224ea7855c899'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'b69a47bc259722755a25a72b59c68264'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', 'de85dfffceaf97b911c9d1b7f3e974ca'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '20ab69cc3a5f2092b0e7e4fe3e658152'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', '9b0f16aa3b79b73992c1518e44e47333'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', '0bd99b71ec8156b9502739e04dfa4c48'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', '51b28a732b17f08a84024c0d7b21f06f'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', 'f6d806d9b36e9ff9a0370eddb7e1f0c3'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', 'e956fcb2ba1ac1efa0d7074cc2b86319'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', 'b432f22e3cc41bafb4c08f4c7a5e6659'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', '378066a8ccf74371278dc3e26dd621d4'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', 'f23167578bc699e38b4c7647c9d90d51'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', '82522ab5a2b7ed69ca775e6fa6a4db88'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', '8c0b88682bc41535117ca19f80752ff4'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', 'f6905aa1e49878e022426a72a306d64c'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '20ac1836d2ed4b6a08e1bd88213cf8f0'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '7969bfbe47b980b1bb2968bb1aa7ac00'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', '9c7a2cc8fd48451d9a20748d5e6c16a1'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '33887f08c45a5330ab690e5fac1c76ed'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', 'bea7b97de249c1e346a6839f9966f771'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', 'c20c3d2f8b19ef51beaf706f65653baf'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', '158c11306d3dc787d8155ca8a9473948'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'ea7948ade84356dca011bc420f852827'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', '3aab02fc72769b8cccd905badb246c2c'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', 'e0e16f9f27b03d1271ad98d23f8be05a'),
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
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', '143bec41aaffc8622c5c143654c27f0d'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '9eb4212f301e31c2e0b7645cc04fef87'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '75b193c74ca1da785ae3a0d8b4d3e5f5'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', '05f6202feaee348266ab72ad98ed0312'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', '810802f6e382d99beb56fb3330870c7a'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '133ed8d368bc49c455825b40bca52864'),
    ('function', 'audit.find_tenant(text)', 'tms_auditor', 'tms_owner', '12f9525e37d5db423ff907b40bfee3a5'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', '614ee1a3ea045e4a82b439d88c694185'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', '72c2068b3b58e043aaff0ba333be0c88'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '18c231f237d7ac31123d9d25e872fe73'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'b751fe270e7fb38e81eba1675dd0a168'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '7fefe1ec6439cf3a90eb24280d336a7d'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '35b53ad40f417b116b653e0d71005930'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
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
--! Included audit/findings.sql
create or replace function audit.run_check(p_check text, p_tenant text default null, p_sample int default 20)
returns table ("check" text, category text, severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_tenant_id constant uuid := audit.find_tenant(p_tenant);
  v_family constant text := (select c.family from audit.checks() c where c."check" = p_check);
  v_pass text;
begin
  if v_family is null then
    raise exception using errcode = 'invalid_parameter_value', message = format('there is no check %L: select "check" from audit.checks()', p_check);
  end if;
  for v_pass in
    select p from audit.passes(v_family) p
    where case v_family when 'schema' then p = p_check else p_check in (select audit.pass_checks(p)) end
  loop
    return query
      select c."check", c.category, k.severity, k.tenant_id, k.relation, k."row", k.detail, k.remedy
      from audit.attempt(v_pass, v_tenant_id, p_sample) a
      cross join lateral unnest(a.outcomes) o
      cross join lateral unnest(o.kept) k
      join audit.checks() c on c."check" = o."check"
      where o."check" = p_check;
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
  select array_agg(format('%s: %s. Fix it with: %s', coalesce(f.relation, f."check"), f.detail, regexp_replace(f.remedy, E'\\s*\n\\s*', ' ', 'g')))
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
--! EndIncluded audit/findings.sql
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
  ), ours (name) as (
    values ('tms_owner'::name), ('tms_service'), ('tms_app'), ('tms_registrar'), ('tms_auditor')
  ), member as (
    select g.rolname as granted, r.rolname as member, r.oid as memberid, r.rolsuper, r.rolname in (select name from ours) as of_ours,
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
          and not exists (select from member a where a.granted = m.granted and a.member = m.member and a.may_grant)) as alone
    from pg_roles r join pg_roles t on t.rolname in ('tms_app', 'tms_auditor')
    cross join lateral (select case when (select version from server) >= 160000 then 'set' else 'member' end) k (kind)
    where not r.rolsuper and r.rolname not in (select name from ours) and pg_has_role(r.oid, t.oid, 'usage, ' || k.kind)
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
  select case when a.alone then 'info' else 'warning' end, null, null, jsonb_build_object('role', a.granted, 'member', a.member),
    format('%s %s, as a member of %s%s', a.member, case a.granted when 'tms_app' then 'may work in whichever tenant it names' else 'reads every tenant' end,
      v.roles, case when a.alone then '' else ', and so does whoever joins it' end),
    case when a.alone then format('-- nothing, for a %s. Else: ', case a.granted when 'tms_app' then 'job' else 'DBA' end) else '' end || v.revoked
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
    from member m where m.memberid = r.oid and m.may_grant and m.granted in (select name from ours)) a
  where not r.rolsuper and r.rolname not in (select name from ours)
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
  where r.rolbypassrls and not r.rolsuper and r.rolname not in ('tms_owner', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
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
comment on function audit.version_fault(int, boolean) is 'Whether a release of Postgres (as server_version_num) has known holes in row-level security; fault is null where it has none.';

create or replace function audit.check_server_version()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select v.severity, null::uuid, null, jsonb_build_object('server_version', current_setting('server_version')), v.fault, v.remedy
  from audit.version_fault(current_setting('server_version_num')::int, current_setting('cluster_name') = 'tenancy embedded') v
$$;

-- What a session of this login begins with. A setting that no module declares is in no view of the catalog.
create or replace function audit.default_of(p_setting text)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before constant text := coalesce(current_setting(p_setting, true), '');
  v_default text;
begin
  execute format('set local %s to default', p_setting);
  v_default := current_setting(p_setting, true);
  execute format('set local %s = %L', p_setting, v_before);
  return v_default;
end
$$;
comment on function audit.default_of(text) is 'What a setting would be in a new session of this login in this database.';

create or replace function audit.check_server_settings()
returns setof audit.observation
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select w.severity, null::uuid, null, jsonb_build_object('setting', s.name),
    case when s.reset_val <> w.good then format('%s is %s: %s', s.name, s.reset_val, w.why) end,
    format('alter system set %s = %s; select pg_reload_conf(); -- or in the provider''s parameter group', s.name, w.good)
  from (values
    ('session_replication_role', 'origin', 'error', 'foreign keys and triggers are not run'),
    ('row_security', 'on', 'warning', 'whoever is under a policy gets errors instead of rows'),
    ('lo_compat_privileges', 'off', 'error', 'everybody reads every large object'),
    ('log_parameter_max_length_on_error', '0', 'info', 'values of tenants'' rows go into the server''s log')
  ) as w (name, good, severity, why)
  join pg_settings s on s.name = w.name
  union all
  select 'info', null, null, jsonb_build_object('setting', s.name),
    case when s.reset_val <> '0' then (
      select format('statements are logged (%s) with the values that they carry, of tenants'' rows too', string_agg(format('%s is %s', l.name, l.reset_val), ', ' order by l.name))
      from pg_settings l
      where l.name = 'log_statement' and l.reset_val in ('mod', 'all') or l.name like 'log_min_duration_%' and l.reset_val <> '-1'
        or l.name = 'log_transaction_sample_rate' and l.reset_val <> '0'
      having count(*) > 0) end,
    format('alter system set %s = 0; select pg_reload_conf(); -- or in the provider''s parameter group', s.name)
  from pg_settings s where s.name = 'log_parameter_max_length'
  union all
  select 'error', null, null, jsonb_build_object('setting', w.name),
    case when coalesce(audit.default_of(w.name), '') <> '' then format('sessions begin with %s = %s: %s', w.name, audit.default_of(w.name), w.why) end,
    format('alter system reset %s; select pg_reload_conf(); -- or where else it is set: postgresql.conf, the provider''s parameter group, the database, the role', w.name)
  from (values
    ('app.tenant_id', 'who is in no tenant is in that one'),
    ('app.maintenance', 'the owner sees every tenant')
  ) as w (name, why)
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
    'run share/fix-CVE-2024-4317.sql of the server''s release, in every database; on a managed server the provider does'
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
revoke create on schema audit from tms_auditor;
revoke create, usage on schema audit from tms_app;
--! EndIncluded audit/end.sql
set local citus.enable_ddl_propagation = on;
