--! Previous: sha1:373ae076b677bcae720a1b58b496ada55a123711
--! Hash: sha1:b6f8fe8def8319d09553fca9c8d4829926d7b495
--! Message: what an attack on the audit showed: functions by heart, rights outside the tenants' tables, runs that cannot be made up

set local citus.enable_ddl_propagation = off;
-- What requests of releases before the third migration could still be in.
drop function if exists app.enter_tenant_before_000003(text, text, text, text, text);
drop function if exists app.enter_default_tenant(text, text, text, text);
drop function if exists app.join_tenant(uuid, text, text, text, text);
drop function if exists app.joined_at(uuid, uuid);
--! Included context/table_faults.sql
-- Foreign key checks and unique indexes look past row level security, so the keys themselves must carry the tenant.
-- `inherited` is what the parent of a partition or child has as well: there it is mended.
create or replace function app.table_faults(p_table regclass)
returns table (fault text, inherited boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with tenant_column as (
    select attnum, atttypid, attnotnull from pg_attribute
    where attrelid = p_table and attname = 'tenant_id' and not attisdropped
  ), parent as (
    select p.oid, a.attnotnull
    from pg_inherits h join pg_class p on p.oid = h.inhparent
    left join pg_attribute a on a.attrelid = p.oid and a.attname = 'tenant_id' and not a.attisdropped
    where h.inhrelid = p_table
  )
  select 'it is not a table', false from pg_class where oid = p_table and relkind not in ('r', 'p')
  union all
  select 'it has no column tenant_id', exists (select from parent) where not exists (select from tenant_column)
  union all
  select 'tenant_id is not of type uuid', exists (select from parent) from tenant_column where atttypid <> 'uuid'::regtype
  union all
  select 'tenant_id may be null', exists (select from parent where not parent.attnotnull) from tenant_column where not attnotnull
  union all
  select 'it has no primary key', exists (select from parent) where not exists (select from pg_index where indrelid = p_table and indisprimary)
  union all
  select format('the unique index %s does not begin with tenant_id, so one tenant could learn another''s values', indexrelid::regclass),
    exists (select from pg_inherits where inhrelid = indexrelid)
  from pg_index
  where indrelid = p_table and (indisunique or indisexclusion) and indkey[0] is distinct from (select attnum from tenant_column)
  union all
  -- `with <>` shuts out just the rows of all other tenants.
  select format('the constraint %I does not compare tenant_id with =, so one tenant could learn another''s values', conname), conparentid <> 0
  from pg_constraint
  where conrelid = p_table and contype in ('p', 'u', 'x') and conkey[1] = (select attnum from tenant_column)
    and conexclop[1] is distinct from '=(uuid,uuid)'::regoperator and conexclop is not null
  union all
  select format('the foreign key %I does not pair tenant_id with tenant_id, so a row could point into another tenant', conname), conparentid <> 0
  from pg_constraint c
  where conrelid = p_table and contype = 'f' and confrelid <> 'app.tenants'::regclass
    and exists (select from pg_attribute where attrelid = confrelid and attname = 'tenant_id' and not attisdropped)
    and not exists (
      select from unnest(conkey, confkey) as pair (child, parent)
      join pg_attribute a on a.attrelid = confrelid and a.attnum = pair.parent and a.attname = 'tenant_id'
      where pair.child = (select attnum from tenant_column))
  union all
  -- What a key does to a row it does as the table's owner, past every policy. Only ON DELETE can be told to which columns.
  select format('the foreign key %I would set tenant_id to %s', conname, case when 'n' in (confdeltype, confupdtype) then 'null' else 'its default, which is another tenant' end),
    conparentid <> 0
  from pg_constraint
  where conrelid = p_table and contype = 'f' and (select attnum from tenant_column) = any (conkey)
    and (confupdtype in ('n', 'd')
      or confdeltype in ('n', 'd') and (confdelsetcols is null or (select attnum from tenant_column) = any (confdelsetcols)))
  union all
  -- Another tenant's id is nobody's guess; its slug is.
  select format(case when confkey <> array[t.id] then 'the foreign key %I refers to tenants by more than their id, so one tenant could learn of others'
                     else 'the foreign key %I names another tenant without ON DELETE CASCADE or SET NULL, so one tenant could keep another from being deleted' end, conname),
    conparentid <> 0
  from pg_constraint
  cross join (select attnum from pg_attribute where attrelid = 'app.tenants'::regclass and attname = 'id') as t (id)
  where conrelid = p_table and contype = 'f' and confrelid = 'app.tenants'::regclass
    and (confkey <> array[t.id] or conkey <> array[(select attnum from tenant_column)] and confdeltype not in ('c', 'n'))
$$;

comment on function app.table_faults(regclass) is
  'What keeps a table from being isolated, one sentence a fault, and whether its parent has that fault too; no row when nothing does.';
revoke all on function app.table_faults(regclass) from public;
grant execute on function app.table_faults(regclass) to tms_auditor;
--! EndIncluded context/table_faults.sql
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

  select f.fault into v_fault from app.table_faults(p_table) f limit 1;
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
Raises 55000 with the first rule that the table breaks (app.table_faults lists them all).
  select app.isolate('app.invoices');$$;
revoke all on function app.isolate(regclass, boolean) from public;
--! EndIncluded context/isolate.sql
grant create on schema app, api to tms_app, tms_registrar;
--! Included context/require_own_table.sql
create or replace function app.require_own_table(p_table regclass)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_owner regrole;
  v_kind "char";
begin
  select relowner, relkind into v_owner, v_kind from pg_class where oid = p_table;
  if v_kind not in ('r', 'p') then
    raise exception using errcode = 'wrong_object_type', message = format('%s is not a table', p_table);
  elsif v_owner <> 'tms_owner'::regrole then
    raise exception using errcode = 'insufficient_privilege',
      message = format('%s is owned by %s: what it calls when it is read would run with the rights of %s', p_table, v_owner, current_user),
      hint = format('alter table %s owner to tms_owner;', p_table);
  end if;
end
$$;
comment on function app.require_own_table(regclass) is
$$Raises 42809 or 42501 unless the relation is a table of tms_owner's. Whoever owns a relation chooses what reading it calls: policies, constraints,
a view's functions. A function that reads what its caller names, with rights that the caller has not, asks here first.$$;
revoke all on function app.require_own_table(regclass) from public;
grant execute on function app.require_own_table(regclass) to tms_app, tms_auditor;
--! EndIncluded context/require_own_table.sql
--! Included context/enter_tenant.sql
-- Unknown, pending, suspended and not a member are one refusal, byte for byte: nobody can probe which tenants exist.
set local role tms_registrar;
create or replace function app.enter_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text,
  out tenant_id uuid, out user_id uuid, out role text, out tenant app.tenants, out member app.users
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default record;
  v_tenant_id uuid;
  v_set text;
begin
  if p_tenant_slug is null then
    v_default := app.enter_default(p_auth_provider, p_auth_subject, p_email, p_display_name);
    tenant := v_default.tenant;
    member := v_default.member;
  else
    -- Two look-ups, as quick as a join and sent to one shard where there are shards. An unknown slug looks as well, for
    -- nobody's members: the time it takes tells nothing either.
    select * into tenant from app.tenants t where t.slug = p_tenant_slug and t.status = 'active';
    v_tenant_id := coalesce(tenant.id, gen_random_uuid());
    select * into member
    from app.users u
    where u.tenant_id = v_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
      and u.removed_at is null;
  end if;
  tenant_id := member.tenant_id;
  user_id := member.id;
  role := member.role;
  if tenant_id is null then
    perform app.refuse(403, 'Access denied', 'User does not belong to tenant', 'not_a_member');
  end if;
  -- app.set_tenant(), without the call: every request passes here.
  execute format('set local app.tenant_id = %L', tenant_id);
  -- What a DBA sees in pg_stat_activity and in the server's log, for as long as the transaction lasts.
  -- An assignment is evaluated without a query.
  v_set := set_config('application_name', left('tms ' || coalesce(p_tenant_slug, '(default)'), 63), true);
end
$$;
comment on function app.enter_tenant(text, text, text, text, text) is
$$Puts the transaction into the tenant that a caller named, if the caller is a member of it and it is active.
p_tenant_slug null is single-tenant mode: the default tenant, which a verified caller joins at the first request.
Returns tenant, user and role, and the two rows that were looked up; raises TM403 `Access denied`.$$;
revoke all on function app.enter_tenant(text, text, text, text, text) from public;
grant execute on function app.enter_tenant(text, text, text, text, text) to tms_app;
reset role;
--! EndIncluded context/enter_tenant.sql
--! Included context/is_behind.sql
create or replace function app.is_behind(p_schema_version text)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select p_schema_version is not null and coalesce(v collate "C" < p_schema_version, true) from app.schema_version() as v
$$;
comment on function app.is_behind(text) is
$$Whether the schema lacks migrations that a release needs (p_schema_version: the last one it was built with; their names sort). A newer schema is not
behind: the release before works on it while the next one starts.$$;
revoke all on function app.is_behind(text) from public;
grant execute on function app.is_behind(text) to tms_registrar;
--! EndIncluded context/is_behind.sql
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
    -- Whoever owns a table chooses what reading it calls.
    where c.relnamespace = 'app'::regnamespace and c.relowner = 'tms_owner'::regrole and c.relkind in ('r', 'p') and not c.relispartition
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
well; tenants are the numbers by status, audit is the last one. p_schema_version is the migration this release was built with.$$;
revoke all on function api.get_readiness(text) from public;
grant execute on function api.get_readiness(text) to tms_service;
reset role;
--! EndIncluded api/service/get_readiness.sql
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
      'held', least(h.rows, v_limit),
      'shown', case when v_allowed then least(s.rows, v_limit) else 0 end,
      'more', h.rows > v_limit)),
    v_allowed and bool_or(h.rows > s.rows)
  into v_tables, v_hidden
  from app.shown_rows(v_tenant.id, v_limit + 1) s
  join pg_class c on c.oid = s.name
  cross join lateral audit.held_rows(s.name, v_tenant.id, v_limit + 1) h (rows);

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
revoke create on schema app, api from tms_app, tms_registrar;
-- An audit that goes on meanwhile ends with an error: nobody knows what it had still to ask.
drop function if exists audit.start_run(text, uuid, text, int);
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
alter table audit.runs drop column if exists passes, add column if not exists pending text[], add column if not exists started_in xid8 default pg_current_xact_id();
comment on table audit.runs is 'One row a run of the audit. finished_at is null while it goes on, and for ever when it was cancelled.';
comment on column audit.runs.tenant is 'The slug of the one tenant whose rows were examined; null: all.';
comment on column audit.runs.pending is 'The passes that are still to come: only these are recorded, and only a run without any is finished.';
comment on column audit.runs.started_in is 'The transaction that opened the run. Its passes are recorded in later ones: its own may look at a database of long ago.';
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
comment on table audit.found is 'The first thousand findings of each check, kept for the last hundred runs and while any of their run is open. Key columns only, no payload.';

revoke all on table audit.runs, audit.results, audit.found from public;
grant select on table audit.runs, audit.results, audit.found to tms_auditor;
--! EndIncluded audit/schema.sql
--! Included audit/relations.sql
create or replace function audit.relations(p_only regclass[])
returns table (relid regclass, tenant_column name, is_child boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with found as (
    select c.oid, a.attname
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
      and a.attname = case when c.oid = to_regclass('app.tenants') then 'id' else 'tenant_id' end
    where c.relkind in ('r', 'p') and c.relpersistence <> 't'
      and n.nspname not in ('pg_catalog', 'information_schema', 'control', 'audit', 'graphile_migrate')
      and (p_only is null or c.oid = any (p_only) or c.oid in (select inhparent from pg_inherits where inhrelid = any (p_only)))
  )
  -- A parent that is no tenants' table makes nobody a child: nothing looks at it in the child's place.
  select f.oid::regclass, f.attname, exists (select from pg_inherits i join found p on p.oid = i.inhparent where i.inhrelid = f.oid)
  from found f
  where p_only is null or f.oid = any (p_only)
  order by f.oid::regclass::text
$$;
comment on function audit.relations(regclass[]) is 'Those of the tables that audit.relations() would name, and all for null: each scan asks for its own, however many there are.';

create or replace function audit.relations()
returns table (relid regclass, tenant_column name, is_child boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select * from audit.relations(null)
$$;
comment on function audit.relations() is
$$The tables that must keep tenants apart: app.tenants, and every table with a column tenant_id wherever it is, with their
partitions and children (is_child). The schemas control, audit and graphile_migrate hold no tenant's data.$$;

-- The keys of the service's own tables, by heart: a dropped constraint is no longer in the catalog to be missed.
drop function if exists audit.expected_references(); -- its columns may change between releases
create or replace function audit.expected_references()
returns table (child text, child_column name, parent text, constraint_name name, cascades boolean)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('app.boards', 'owner_id'::name, 'app.users', 'boards_owner'::name, false),
    ('app.board_members', 'board_id', 'app.boards', 'board_members_board', true),
    ('app.board_members', 'user_id', 'app.users', 'board_members_user', true),
    ('app.board_members', 'invited_by', 'app.users', 'board_members_inviter', false),
    ('app.generations', 'board_id', 'app.boards', 'generations_board', true),
    ('app.generations', 'user_id', 'app.users', 'generations_user', false),
    ('app.media', 'generation_id', 'app.generations', 'media_generation', true),
    ('app.credit_transactions', 'user_id', 'app.users', 'credit_transactions_user', false),
    ('app.credit_transactions', 'generation_id', 'app.generations', 'credit_transactions_generation', false)
$$;

create or replace function audit.tenant_references(p_child regclass)
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
    join audit.relations(case when p_child is not null then array[p_child] end) cr on cr.relid = c.conrelid and not cr.is_child
    join audit.relations(case when p_child is not null then array(select confrelid::regclass from pg_constraint where conrelid = p_child and contype = 'f') end) pr
      on pr.relid = c.confrelid
    where c.contype = 'f' and c.conparentid = 0 and c.confrelid is distinct from to_regclass('app.tenants')
      and not (ca.attname = 'tenant_id' and pa.attname = 'tenant_id')
    group by c.oid
  )
  select child, parent, child_columns, parent_columns, conname from declared
  union all
  select to_regclass(e.child), to_regclass(e.parent), array[e.child_column], array['id'::name], null
  from audit.expected_references() e
  where to_regclass(e.child) is not null and to_regclass(e.parent) is not null and (p_child is null or to_regclass(e.child) = p_child)
    and not exists (select from declared d where d.child = to_regclass(e.child) and d.child_columns = array[e.child_column]
      and d.parent = to_regclass(e.parent) and d.parent_columns = array['id'::name])
  order by 1, 3
$$;
comment on function audit.tenant_references(regclass) is 'The references of one table; of all for null.';

create or replace function audit.tenant_references()
returns table (child regclass, parent regclass, child_columns name[], parent_columns name[], constraint_name name)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select * from audit.tenant_references(null)
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
begin
  perform app.require_own_table(p_table);
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
  perform app.require_own_table(p_table);
  -- Not as a SET clause of the function: only a superuser may write one for a setting that no module has declared.
  set local app.maintenance = 'on';
  execute format('select exists (select 1 from %s where $1 is null or %I = $1)', p_table, p_column) into v_any using p_tenant_id;
  execute format('set local app.maintenance = %L', v_before);
  return v_any;
end
$$;
comment on function audit.has_rows(regclass, name, uuid) is
  'Whether the owner of the tables sees a row where the auditor saw none: nothing examined where rows exist is not a pass.';
--! EndIncluded audit/require_unfiltered.sql
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
    'One of the service''s own tables, or a column of them, is not there, is of another type, takes different spellings for the same, or may be null and should not be.', 'What is not there, or is something else, is not examined.', 'Restore it, or alter the column back.'),
  ('table_rules', 'isolation_config', 'error', 'schema', true,
    'A table, or one of its partitions or children, breaks a rule of app.isolate(): tenant_id nullable, a key that does not begin with it or does not compare it with =, a foreign key without it, to another tenant''s slug or in the way of another''s deletion, or that would change it. A unique key over all tenants is a warning.', 'Keys look past policies: they tell one tenant of another''s values, and let rows point across.', 'Mend the key, then app.isolate().'),
  ('table_without_tenant', 'isolation_config', 'error', 'schema', true,
    'A table among the tenants'' tables, or hanging on one by a foreign key, has no tenant_id.', 'Checks that look for the column never see it: everybody reads it.', 'Where all rows are the default tenant''s: app.isolate(…, p_adopt => true). Else add and fill tenant_id first.'),
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
    'Default privileges that give tables or functions away as they are made; in a schema of somebody else''s a warning.', 'A table is open from the moment it is made until somebody isolates it.', 'Revoke them.'),
  ('service_reach', 'isolation_config', 'error', 'schema', true,
    'The service''s login has a right on a table, or on a function outside api; or api holds something else.', 'A login that can only call api functions cannot set a tenant and read it.', 'Revoke it.'),
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
    'Restore it. Of your own: run it as its caller, or put it into the release''s list (CONTRIBUTING.md).'),
  ('function_owner', 'isolation_config', 'error', 'schema', true,
    'A function of the service is owned by a role that no policy was written for; or a tenants'' table makes or tests its rows with a function or domain of somebody else''s.', 'A definer function has its owner''s rights, a default those of whoever writes: who owns the function can have it do anything as them.', 'Give it back.'),
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
    'PUBLIC, or another role than planned, may execute a function; or requests may execute one with the rights of somebody else (a warning), or one written in C.', 'Functions are executable by everybody until that is revoked.', 'Revoke it.'),
  ('function_leakproof', 'isolation_config', 'error', 'schema', true,
    'A function claims to be LEAKPROOF (an extension''s: a warning); or the comparison of tenant ids no longer is.', 'The planner runs leakproof conditions before policies.', 'Take the mark away.'),
  -- schema: roles and server
  ('role_attributes', 'isolation_config', 'error', 'schema', true,
    'One of the five roles has an attribute that it must not have.', 'No policy applies to a superuser or BYPASSRLS.', 'Run db/roles.sql.'),
  ('role_membership', 'isolation_config', 'error', 'schema', true,
    'One of the five roles is a member of another role, or somebody may become one that crosses tenants (a warning).', 'Policies and rights come along with membership, and pg_policy does not show it.', 'Revoke it.'),
  ('role_settings', 'isolation_config', 'error', 'schema', true,
    'Sessions begin with a tenant, with open tables, another role or another search_path; or the service''s have lost theirs.', 'Without a tenant of its own a request would be in that one.', 'Reset it.'),
  ('bypass_role', 'isolation_config', 'warning', 'schema', true,
    'A role with BYPASSRLS has rights on tenants'' tables.', 'It sees every tenant.', 'Take the attribute away.'),
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
    'Inside a tenant tms_app does not see exactly the rows that the auditor counts for it; where a policy of somebody''s own shows it fewer, a warning.', 'Everything above is reading the plans of the wall; this is leaning on it.', 'Restore the policies.'),
  ('proof_nothing', 'isolation_config', 'error', 'schema', false,
    'Without a tenant, or in one that does not exist, tms_app sees a row.', 'A request that forgot its tenant must find nothing.', 'Restore the policies.'),
  ('proof_writes', 'isolation_config', 'error', 'schema', false,
    'Inside a tenant tms_app can write a row into another, or reach one.', 'Reading back is not needed to do harm.', 'Restore the policies.')
$$;
comment on function audit.checks() is
$$Every check of the audit: category, worst severity, family (data or schema), whether the migration gate runs it (gate), what it finds, why that matters,
how it is mended.  select * from audit.checks();$$;
--! EndIncluded audit/catalog.sql
--! Included audit/made.sql
-- Written by UPDATE_DOCS=1 npm test -- test/audit/made.test.ts, from what the migrations make; a test holds it to that.
create or replace function audit.made()
returns table (kind text, name text, owner text, granted text, body text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('function', 'api.add_member(text,text,text,text,text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '029c3ea70dadf2d42b26a1d5c3d27d03'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', 'ad694ec1143fe2f038c641678cac9148'),
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', '82e5dccf28ebd3e2d6767df374563be7'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', 'd06a05afd0e2d942af5126d6979bb0ee'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', '149147b0ff70de5a318787853f283aa9'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', '9c48339904f97760cb69638095b7b417'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'ecdd9da6e54b363be214542e32b1e48b'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '6fc6e7be71e833ded7840dc37e7f19f8'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', 'd1e24fa4933cd9953e22fd17caf70869'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', 'f71da16b168f3c6e60523f8d0bbdc240'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', '14f5acdec3a874f17437ef73f57977ef'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', '24112aa098795c16a53bdc1c65cd49e5'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'af150511802969701c62fedf9f5da689'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '98c5df3a6fda59ee7ad61494eac1eabf'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '13f76bdd06a8bfa057bcd63341622abe'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', 'c4b0cfd6a98cbbf70a3d16c7e8c6135c'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '966288cd364a42169bc70cf5646df3fa'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', '07a14b2d55c529973390c2a1d8e86fa4'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '4e939d68080211fb352a36069ab0eb4d'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '72ce0c64cf36796d60062bee1157b628'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '4b9ff240767c8415e79ee477955040ae'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '18a5fe69c04e566c8410dda1526a8d4d'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7759f41bddc51f3b12057963657c06b0'),
    ('function', 'api.take_rate_limit(text,text,integer)', 'tms_registrar', 'tms_service', '517b3d12ae378222d6fad1cf952a9777'),
    ('function', 'api.update_tenant(text,text,text,text,text,text,text,text,text,jsonb,text[])', 'tms_registrar', 'tms_service', 'b210fffb85021db130edc6502058cea5'),
    ('function', 'app.adopt(regclass)', 'tms_owner', '', 'e3b4896936ca11337fd5fea2c26a8737'),
    ('function', 'app.board_json(app.boards)', 'tms_owner', 'tms_app', '06f129f58dcfaa1aaeb23c3438ebe263'),
    ('function', 'app.count_tenants(text)', 'tms_registrar', 'tms_auditor', '357a20fae585e708339af065bc39cbd7'),
    ('function', 'app.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', '4a8d85bfaa0877e559f8011f3f6851e2'),
    ('function', 'app.cursor_of(timestamp with time zone,uuid)', 'tms_owner', 'tms_app tms_registrar', '9e48054f959d291df4b2a4d726c92e9b'),
    ('function', 'app.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '560f751f42bbc872ceb9637822535fa3'),
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', 'ec188058b91db2bad01f6e2fba7ec316'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '519ddafb3f50b6518198a0aea5fb9941'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', '4c20463db62d33b1ef1d81784d0d1e22'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '4a4f98354509173269bc342a83f6de44'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '08d7b22af103d96256a142c71f90fa91'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '4a76d727c79dbdf52509fa762532aad0'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', 'e083a2f51717e03b5eb3c5a21a1451a2'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', '960df2b3871edcdb9230d540eefda6b0'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', '5daa7d7b54116e75dab40a97f888e3b8'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', 'c71f0f06f978291a35cf112c8fcbe71f'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '5d37f79cbe899513fdf210f863794790'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '3a483ad72055188861cedd3a5b80f073'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '47667de9e393e77d5bdf393b65ef3bab'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'f74539ccb6633c9c9c9b2a613ca0cd5e'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor tms_registrar', '9e78e5414f7a640cb31dbe17708ecde4'),
    ('function', 'app.member_json(app.users)', 'tms_owner', 'tms_app', '56cef18b27493e2438550feae4404f05'),
    ('function', 'app.move_tenant(text,text,text)', 'tms_registrar', '', 'c023d091e77c67326e242416fc41484c'),
    ('function', 'app.parse_uuid(text)', 'tms_owner', 'tms_app tms_registrar', '2c851761d5b45d3efab52e03cfc1883f'),
    ('function', 'app.read_cursor(text)', 'tms_owner', 'tms_app tms_registrar', 'dac95441a80ddb9ecde85f88ef849d36'),
    ('function', 'app.refuse(integer,text,text,text,jsonb)', 'tms_owner', 'tms_app tms_registrar', '004bf12ba89663a2d6a54c9e12c59292'),
    ('function', 'app.remove_tenant(app.tenants)', 'tms_registrar', '', 'a0cad613d11a8979ba58dd19d81c7bef'),
    ('function', 'app.replay(text,text,text,jsonb)', 'tms_registrar', '', '84e6bdc41b75d2cd619f36263e094708'),
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', '78e794b692b26ba3552c50e73289543b'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', '4c313e673e8ae6d72cf173421402705b'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '7e1727c5c286c579faffe65fe6303d1d'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '301e00539628e172830936995995974b'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '929e7af46fa4c5146946406aaada890a'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', '08ccaf0d3aee0968a1232d6a226ff688'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor tms_registrar', '09d775319249cf6a09cb1e48a91eab00'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', '51c978f6346ec4ffd0bc15d6b835c204'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '33918091f8aa4cfbd0bac08ae0128ecf'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '5916f314f8edbaac8a980d54d98887cd'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '3cedc38edb1e53a18338e4add0341020'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', 'b5cfd991ea829cceaebe7c66e1d42f4d'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '2933b6379e791e0887f89d6436618829'),
    ('function', 'audit.ask(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '4ae83ca5b5fde65830954987353c8b8c'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'c0eeb2d644c113a1feb8269f0e45b2c9'),
    ('function', 'audit.body_of(oid)', 'tms_owner', 'tms_auditor', '93b4dcee5d39bd87db0899d2ddfcaa58'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '70b6236cc734f829023e027b3652f3f0'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', '0a2aff345e104179405d6721836712ef'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', 'a3ef2eea89e72c22f2d1eb97dfbf4526'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', '8878c3e9b797abae28ffa7a28eb57235'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '7bb9411666d7f4670d04bbb4a74297da'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', 'b163d66ee1cc2d1fa6d979711af0b137'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', '9f529f5ad7d4001f0434b3da4d821c6f'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', 'f7a3d4f4995851adb2aeb4e3922dd9c4'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', '04d5053f564e917403d667b35937ad6f'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '811195dfcb6b4b1bb40643f58ffada74'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', '0586ccb1441c3536093a715573f3039a'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', 'a7b2c83582c5b8f409b631af033d3c0a'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '5cac97c57665e69d67799b2ca9a8d31b'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', '170bc35c8d40adb0b879a360998e074b'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', '5a99c723363c141fc9d24c2163890fc0'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', '708c0775e6a12d18a404c1cab118a93b'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', '3ca3bf4e1037781496cf133439346fa9'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', '75ceb745679843a0587adc89791cd80c'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', 'a6ae88242d97276788236b96fb32a08a'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'f97ef30893e11ffb6dff2a3af5bf0cb4'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', '4dfaafe9476daf9c33e4614afcdcfb52'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '52f4c5e18dd4d5d947254713dad151a2'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', '90ac502ce8f3b4f3a0039aab612124ef'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '325c51108f05b268f114c95254e721b7'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', '34ea7e3241042dc9e57cc444e76b676c'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', 'd77a688066226df90ca06a5002fb8260'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '78c32b3abfcc2be7b1f8b7a0180e8e0f'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '24493c9141bb8d572fbad25bf4792128'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '46825f6abe9a37fff4330848a5e27f13'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '035f438e30241d8e89b8641aceeee7d6'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', 'a712935563725f989e911607e20de8e0'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', 'a050737fa5a01c5a5ba02f6ccd87521d'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', '15b5d7dc200dcb6fa4af418cf9a52821'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', 'f440f37633c13ab5fc92f52541e688b6'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', 'a9857aa48666a7779d1a8fd8463d0f1f'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', '725eae105ba3d3c1dbf57f2e6301c987'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '20625c9893f12b302e9028e2003bf2c0'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'be969c9209899d97489eb54895b898b6'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', 'b159246ea82fffc38874c60532d83160'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '0a5fa80b1eb5d139eca89113bcb860e6'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '825dadac29a3429ea84fbf0231241222'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', '037f390e5e2f5932f8ff632daf620664'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'd6dbc7ae1862ae59cbac51f6effddca5'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '43bc68e997908b5ceb4dfcc4706a813f'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', 'ff7055271c62af8c0336e81b4588f2d2'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', '9932abb1864cfe67336be164d01e54f6'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', '8c4b0759c023ae9923d6dd33744540fc'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', 'c49256773704ee8d437669a62a1d1ff8'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', 'ba5960b3823063f9fd182c3dc48cdd05'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '00ed0e6a605c1143294848cc1c76fec0'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', 'a322f38d9505a7f57ab644800b28d641'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', 'e322435590d459b35f375f00dbc7ff91'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '5172c79350f2f0fc03958f49355c09f4'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', 'cb63ae3af8fdb97df7858fecefdaac6f'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', 'e899dfc4d817bd89c1884a7e6322951d'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', 'bfe924184c9057347f4ce07c99a3f7b6'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'c26b4c4ae1e9310e8a10e24dccd3f033'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '89259dd5ed4c2ab6fbf01a82d97c7736'),
    ('function', 'audit.find_tenant(text)', 'tms_auditor', 'tms_owner', 'cbbf21f30a8a66ee125ff33ca637f474'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', '3a01f0002bb92f36b0e1febb21413d68'),
    ('function', 'audit.found_made()', 'tms_owner', 'tms_auditor', '9ba613a00c81c758363bd61d653d60a9'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', 'ae6c97e3469768d78ef680539a475318'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', '4efc766d2e030c1691478fa55fc1c38a'),
    ('function', 'audit.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '8e9efbf85189d022fdf9da84766f17c4'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'b5aeea06c195a5420ba7170e57744d23'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', 'de4e46f9facf0ecc14a4366082a28f3f'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '21e49b971efa8e1ea736d4e908f45a6d'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', 'd77cac5d58defa53551c073777ea0304'),
    ('function', 'audit.made()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', 'ecb8a65b5780ccba262a5d9de760a4e8'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '42d54506e82fe12ab2dda1acec7e6968'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'e5af542b059f57f456d553f84ace5ebf'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', 'e2e5c6d429dffb9d50cd96883768d001'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', 'c00df6e6821d4e56449c205e94ec7d55'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'c065355db0626f565126cc90d19e5d54'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '7bb856f0070b01b8933e2a05c81e5a1a'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '50a2020e60aefc57297bec6822665ed3'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', 'd46dc6c3f73ca6177a662f03e2b302d8'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '943583d12c8a1f5026ff8b0894a85707'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '2c8dc0432bacb6294355249b392a97ad'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '2e0e33e6d9ead7b69bf06f146c108153'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', '7a288f7555526d6ec9bff8281af552ca'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', 'a95289bfd2769c1dc6b59df5750e56b6'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'f0fc91b73ddae0669b4b4afafd8c6a5d'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', 'd46b2df7697c52a9c4835423f3aa4243'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '54f568e61ea2b763d34293988e57bf4a'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', 'f8e4dd2e0a8a560907889270c5681fc0'),
    ('function', 'audit.scan(regclass,uuid)', 'tms_owner', 'tms_auditor', '8de246b9527436ea5602081882f252fa'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '64a398016537ff94d1f9971bad1f0553'),
    ('function', 'audit.slices(regclass,name,uuid)', 'tms_owner', 'tms_auditor', '1cb4b58feb03b2ac441b77dc1be1bef0'),
    ('function', 'audit.start_run(text,text,integer)', 'tms_owner', 'tms_auditor', '1168f07283919e1abecc68fd3129df95'),
    ('function', 'audit.tenant_references()', 'tms_owner', 'tms_auditor', 'fa9604d6318554ef858582108cb5f8c7'),
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', '93cd51579f36713be76ccbadb83116a1'),
    ('function', 'audit.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_auditor', 'ea545609fe4e66ef03d76644e45183de'),
    ('function', 'audit.version_fault(integer,boolean)', 'tms_owner', 'tms_auditor', '82737199db3f9066873544bab9755296'),
    ('function', 'audit.visible_rows(regclass,name,uuid[])', 'tms_app', 'tms_auditor', '9e683d369404bf6c9d075d418045f91c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', '8a38041e3f1473dc47abe91da3320ca6'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c8b3671e07e63ecac7b3740657a821dd'),
    ('trigger', '_500_count_delete on app.tenants', '', '', 'a7c151e4d304485c9364027dd4582f3b'),
    ('trigger', '_500_count_insert on app.tenants', '', '', 'b5163e0a4055737708714666951fb210'),
    ('trigger', '_500_count_truncate on app.tenants', '', '', '650a700579098be240f867ce7eaecf1a'),
    ('trigger', '_500_count_update on app.tenants', '', '', '0ad5e36e2c4829fc786368ff34481805'),
    ('trigger', '_600_record_delete on app.tenants', '', '', '9d76d2770a5878cbad5b0834e7757089'),
    ('trigger', '_600_record_insert on app.tenants', '', '', '128161b4c9cfd9e2693417daa270758c'),
    ('trigger', '_600_record_update on app.tenants', '', '', '06d458a4c6c6f571b9d160330eef2499')
$$;
comment on function audit.made() is
  'The functions of this release, who owns and may execute them, and the triggers on its tables, each with a hash of what it does.';
--! EndIncluded audit/made.sql
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
        or n.nspname = 'app' and c.relkind = 'v' and a.who in ('tms_app', 'tms_auditor') and a.privilege_type = 'SELECT' and v.invoker
        or n.nspname = 'app' and c.relkind = 'S' and a.who in ('tms_app', 'tms_auditor') and a.privilege_type in ('USAGE', 'SELECT'))
      then format('%s has %s on it%s', a.who, a.privilege_type, case when c.relkind = 'v' then format(', and reads with the rights of %s', c.relowner::regrole)
                                                                     when c.relkind = 'S' and a.privilege_type = 'UPDATE' then ', and can set it to where nobody gets a number any more' else '' end) end,
    format('revoke %s on %s from %s;', a.privilege_type, c.oid::regclass, a.who)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select exists (select from pg_options_to_table(c.reloptions) where case when option_name = 'security_invoker' then option_value::boolean end) as invoker) v
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
    union all
    -- Elsewhere it is nobody's business who uses a schema, but that the service's roles make nothing there.
    select format('schema %I', n.nspname), 'elsewhere', a.grantee, a.privilege_type, a.is_grantable
    from pg_namespace n cross join lateral aclexplode(n.nspacl) a
    where n.nspname not in ('app', 'api', 'control', 'audit', 'public', 'pg_catalog', 'information_schema') and n.nspname not like 'pg\_t%'
      and a.privilege_type = 'CREATE' and a.grantee = any (array[0, to_regrole('tms_service'), to_regrole('tms_app'), to_regrole('tms_registrar'), to_regrole('tms_auditor')]::oid[])
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
  select case when d.defaclnamespace in (0, to_regnamespace('app'), to_regnamespace('api'), to_regnamespace('control'), to_regnamespace('audit'), to_regnamespace('public'))
                   or d.defaclrole = to_regrole('tms_owner') then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object('owner', d.defaclrole::regrole::text, 'role', a.who, 'privilege', a.privilege_type),
    case when a.who in ('public', 'tms_service', 'tms_app', 'tms_registrar') then
      format('%s gets %s on everything that %s makes%s, before anybody isolates it', a.who, a.privilege_type, d.defaclrole::regrole,
        coalesce(' in ' || nullif(d.defaclnamespace, 0)::regnamespace, '')) end,
    format('alter default privileges for role %s%s revoke all on %s from %s;', d.defaclrole::regrole,
      coalesce(' in schema ' || nullif(d.defaclnamespace, 0)::regnamespace, ''),
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'n' then 'schemas' else 'types' end, a.who)
  from pg_default_acl d
  cross join lateral (select x.*, case when x.grantee = 0 then 'public' else x.grantee::regrole::text end as who from aclexplode(d.defaclacl) x) a
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
  select case when exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
              then 'warning' else 'error' end, null::uuid, c.oid::regclass::text, jsonb_build_object('role', 'tms_service'),
    case when has_table_privilege('tms_service', c.oid, 'select, insert, update, delete, truncate, references, trigger')
           or has_any_column_privilege('tms_service', c.oid, 'select, insert, update, references')
      then 'the service''s login has rights on it: it may execute api functions and nothing else' end,
    format('revoke all on table %s from tms_service, public;', c.oid::regclass)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.oid >= 16384 and n.nspname <> 'pg_catalog' and n.nspname not like 'pg\_t%'
  union all
  select 'error', null, f.oid::regprocedure::text, jsonb_build_object('role', 'tms_service'),
    case when has_function_privilege('tms_service', f.oid, 'execute') then 'the service''s login may execute it, and it is not of the schema api' end,
    format('revoke execute on routine %s from tms_service, public;', f.oid::regprocedure)
  from pg_proc f join pg_namespace n on n.oid = f.pronamespace
  where n.nspname in ('app', 'control', 'audit')
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e')
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
  select case when c.relkind in ('r', 'p') and not (w.reads and w.writes) and r.name = 'tms_app' or e.objid is not null then 'warning' else 'error' end,
    null::uuid, c.oid::regclass::text, jsonb_build_object('role', r.name),
    case when not w.reads and not w.writes then null
         when (select option_value::boolean from pg_options_to_table(c.reloptions) where option_name = 'security_invoker') then null  -- its reader's rights decide
         when c.relkind in ('v', 'm', 'f')
           then format('%s reads it with the rights of %s, past every policy', r.name, c.relowner::regrole)
         when r.name = 'tms_registrar' then 'tms_registrar, which crosses tenants, has rights on it: its reach is app.tenants, app.users and control'
         when w.reads and w.writes then 'what one tenant writes into it every other may read: it has no column tenant_id and no policy'
         when w.writes then 'requests of all tenants write into it: whoever reads it has to know whose is what'
         else 'every tenant reads all of it: right for what all share, such as a list of countries' end,
    format('revoke all on table %s from %s, public;', c.oid::regclass, r.name)
  from (values ('tms_app'), ('tms_registrar')) as r (name)
  cross join pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join pg_depend e on e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e'
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
      or exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e'))
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
    format('%s has %s%s on the %s %s, which nobody like it comes with', w.who, privilege_type, col, kind, name),
    format('revoke %s%s on %s %s from %s; -- as a superuser', privilege_type, col, kind, name, w.who)
  from given
  cross join lateral (select case when grantee = 0 then 'public' else grantee::regrole::text end) as w (who)
  where w.who in ('public', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor', 'tms_owner')
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
    format('alter %s owner to tms_owner; -- as a superuser', d.named)
  from (values ('tms_service'), ('tms_app'), ('tms_registrar'), ('tms_auditor')) as r (name)
  left join lateral (
    select case when s.classid = 'pg_database'::regclass then 'database' else pg_describe_object(s.classid, s.objid, s.objsubid) end as object,
      (select i.type || ' ' || i.identity from pg_identify_object(s.classid, s.objid, s.objsubid) i) as named
    from pg_shdepend s
    where s.refclassid = 'pg_authid'::regclass and s.refobjid = to_regrole(r.name) and s.deptype = 'o'
      and (select oid from pg_database where datname = current_database()) in (s.dbid, case when s.classid = 'pg_database'::regclass then s.objid end)
      and not (s.classid = 'pg_proc'::regclass and r.name <> 'tms_service')
  ) d on true
$$;
--! EndIncluded audit/checks/grants.sql
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
  with member as (
    select g.rolname as granted, r.rolname as member, a.admin_option as may_grant, a.grantor::regrole::text as grantor,
      coalesce((to_jsonb(a) ->> 'inherit_option')::boolean, r.rolinherit) as inherits, coalesce((to_jsonb(a) ->> 'set_option')::boolean, true) as may_set
    from pg_auth_members a join pg_roles g on g.oid = a.roleid join pg_roles r on r.oid = a.member
  ), planned (granted, member) as (
    values ('tms_app'::name, 'tms_owner'::name), ('tms_registrar', 'tms_owner'), ('tms_auditor', 'tms_owner')
  )
  select case when m.member like 'tms\_%' then 'error' when m.inherits or m.may_set then 'warning' else 'info' end,
    null::uuid, null, jsonb_build_object('role', m.granted, 'member', m.member),
    case when p.granted is not null
           then case when m.may_grant then format('tms_owner may give %s to others', m.granted)
                     when m.inherits then format('tms_owner inherits %s, and its policies, without saying so', m.granted) end
         when m.member in ('tms_owner', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
           then format(case when m.inherits or m.may_set then '%s is a member of %s: what that role may, it may' else '%s may make itself a member of %s' end, m.member, m.granted)
         when m.granted in ('tms_owner', 'tms_service', 'tms_registrar')
           then format(case when m.inherits or m.may_set then '%s may act as %s' else '%s may make itself a member of %s, as whoever made the role can' end, m.member, m.granted) end,
    case when p.granted is not null and current_setting('server_version_num')::int >= 160000
           then format('revoke admin option for %1$I from %2$I granted by %3$s; grant %1$I to %2$I with inherit false, set true granted by %3$s;', m.granted, m.member, m.grantor)
         when p.granted is not null then format('revoke admin option for %I from %I; alter role %2$I noinherit;', m.granted, m.member)
         when current_setting('server_version_num')::int >= 160000 then format('revoke %I from %I granted by %s;', m.granted, m.member, m.grantor)
         else format('revoke %I from %I;', m.granted, m.member) end
  from member m left join planned p using (granted, member)
  where m.member like 'tms\_%' or not (select rolsuper from pg_roles where rolname = m.member)
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
  where (x.setdatabase = 0 or d.datname = current_database()) and (x.setrole = 0 or r.rolname like 'tms\_%' or s.setting ilike 'app.%')
  union all
  select 'warning', null, null, jsonb_build_object('role', 'tms_service', 'setting', 'search_path'),
    case when not exists (
      select from pg_db_role_setting x where x.setrole = to_regrole('tms_service') and x.setdatabase = 0 and 'search_path=pg_catalog, pg_temp' = any (
        array(select replace(s, '"', '') from unnest(x.setconfig) s)))
      then 'tms_service has lost what db/roles.sql gives its sessions: where they look for names, and their time-outs' end,
    '-- as an administrator:' || E'\n\\i db/roles.sql'
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

create or replace function audit.check_server_settings()
returns setof audit.observation
language sql
volatile
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
  union all
  select 'error', null, null, jsonb_build_object('setting', w.name),
    case when coalesce(audit.default_of(w.name), '') <> '' then format('sessions begin with %s = %s: %s', w.name, audit.default_of(w.name), w.why) end,
    format('alter system reset %s; select pg_reload_conf(); -- or where else it is set: postgresql.conf, the database, the role', w.name)
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
--! Included audit/checks/functions.sql
-- Extensions' functions are theirs, and those below 16384 Postgres's; everything else in the database is examined.
create or replace function audit.functions()
returns table (oid oid, name text, schema name, owner name, definer boolean, config text[], body text, leakproof boolean, acl aclitem[], kind "char", own boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select f.oid, f.oid::regprocedure::text, n.nspname, o.rolname, f.prosecdef, coalesce(f.proconfig, '{}'), coalesce(pg_get_function_sqlbody(f.oid), f.prosrc), f.proleakproof,
    coalesce(f.proacl, acldefault('f', f.proowner)), f.prokind, n.nspname in ('app', 'api', 'control', 'audit')
  from pg_proc f
  join pg_namespace n on n.oid = f.pronamespace
  join pg_roles o on o.oid = f.proowner
  where f.oid >= 16384 and n.nspname not like 'pg\_temp\_%'
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e')
$$;

-- What a release made, compared with what is there: the functions by what they are and who may call them, and the triggers on
-- the service's own tables. Somebody's hand, or a migration that forgot the list, is told from the release either way.
create or replace function audit.body_of(p_function oid)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- Lines are kept where they are: a comment ends with its own.
  select md5(concat_ws('|', l.lanname, f.prokind, f.provolatile, f.proisstrict, f.prosecdef, f.proparallel, pg_get_function_arguments(f.oid), pg_get_function_result(f.oid),
    (select string_agg(replace(c, '"', ''), ', ' order by c) from unnest(f.proconfig) c),
    coalesce(regexp_replace(pg_get_function_sqlbody(f.oid), '\s+', ' ', 'g'), replace(f.prosrc, E'\r\n', E'\n'))))
  from pg_proc f join pg_language l on l.oid = f.prolang where f.oid = p_function
$$;
comment on function audit.body_of(oid) is 'What a function does, as a hash: language, kind, volatility, strictness, whose rights, parallel safety, arguments, result, settings, body.';

create or replace function audit.found_made()
returns table (kind text, name text, owner text, granted text, body text, definer boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'function', f.name, f.owner::text,
    coalesce((select string_agg(w.who, ' ' order by w.who)
      from aclexplode(f.acl) a cross join lateral (select case when a.grantee = 0 then 'public' else a.grantee::regrole::text end) w (who)
      where a.grantee <> to_regrole(quote_ident(f.owner))), ''),
    case when f.name <> 'audit.made()' then audit.body_of(f.oid) else '' end, f.definer
  from audit.functions() f
  where f.own
  union all
  -- On Citus those of app.tenants are on the coordinator's own copy (db/distribute.sql), which it shows to nobody in pg_class.
  select 'trigger', format('%I on %s', t.tgname, w.name), '', '', md5(replace(pg_get_triggerdef(t.oid), format(' ON %s ', t.tgrelid::regclass), format(' ON %s ', w.name))), false
  from pg_trigger t
  cross join lateral (
    select case when app.is_distributed() then regexp_replace(t.tgrelid::regclass::text, '^app\.tenants_\d+$', 'app.tenants') else t.tgrelid::regclass::text end) w (name)
  where not t.tgisinternal and t.tgparentid = 0
    and (w.name like 'control.%' or w.name in ('app.tenants', 'app.users', 'app.boards', 'app.board_members', 'app.generations',
      'app.media', 'app.provider_configs', 'app.credit_transactions'))
  union all
  select 'event trigger', quote_ident(e.evtname), '', '', md5(e.evtevent || e.evtfoid::regprocedure), false
  from pg_event_trigger e
  where not exists (select from pg_depend d where d.classid = 'pg_event_trigger'::regclass and d.objid = e.oid and d.deptype = 'e')
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
    format('alter routine %s owner to %s;', f.name, coalesce(m.owner, case when f.schema = 'api' then 'tms_app' else 'tms_owner' end))
  from audit.functions() f
  left join audit.made() m on m.kind = 'function' and m.name = f.name
  where f.own
  union all
  -- What a row is made and tested with runs as whoever writes it.
  select 'error', null, r.relid::text, case when c.name is null then '{}' else jsonb_build_object('uses', c.name) end,
    case when not (o.rolname in ('tms_owner', 'tms_app', 'tms_registrar', 'tms_auditor') or o.rolsuper or pg_has_role(o.oid, to_regrole('tms_owner'), 'member'))
      then format('what is written to the table is made or tested by %s, which belongs to %s: it runs with the rights of whoever writes', c.name, o.rolname) end,
    format('alter %s %s owner to tms_owner; -- and read what it does', c.kind, c.name)
  from audit.relations() r
  left join lateral (
    select 'routine' as kind, f.oid::regprocedure::text as name, f.proowner as owner
    from (
      select 'pg_attrdef'::regclass::oid as classid, oid as objid from pg_attrdef where adrelid = r.relid
      union all
      select 'pg_constraint'::regclass, k.oid from pg_constraint k where k.conrelid = r.relid
        or k.contypid in (select t.oid from pg_attribute a join pg_type t on t.oid = a.atttypid and t.typtype = 'd' where a.attrelid = r.relid)
      union all
      select 'pg_trigger'::regclass, oid from pg_trigger where tgrelid = r.relid
      union all
      select 'pg_class'::regclass, indexrelid from pg_index where indrelid = r.relid
    ) x
    join pg_depend d on d.classid = x.classid and d.objid = x.objid and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384
    join pg_proc f on f.oid = d.refobjid
    where not exists (select from pg_depend e where e.classid = 'pg_proc'::regclass and e.objid = f.oid and e.deptype = 'e')
    union
    select 'domain', t.oid::regtype::text, t.typowner
    from pg_attribute a join pg_type t on t.oid = a.atttypid and t.typtype = 'd'
    where a.attrelid = r.relid and a.attnum > 0 and not a.attisdropped and t.oid >= 16384
      and not exists (select from pg_depend e where e.classid = 'pg_type'::regclass and e.objid = t.oid and e.deptype = 'e')
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
    select f.*, (f.schema = 'api' or coalesce(m.owner, f.owner) in ('tms_app', 'tms_registrar', 'tms_auditor') or f.name ~ any (array[
        -- The owner's own definers: each reads or writes what nobody else may, and nothing of a tenant's.
        '^app\.(schema_version|last_audit)\(', '^control\.tg_tenants__(count|record)\(', '^audit\.(has_rows|start_run|record_pass|finish_run)\(']))
        and f.name <> 'api.get_login_faults()' as wanted
    from audit.functions() f left join audit.made() m on m.kind = 'function' and m.name = f.name
    where f.own
  )
  select 'error', null::uuid, name, '{}'::jsonb,
    case when definer and not wanted then format('the function runs with all rights of its owner, %s, and is not one of those that must', owner)
         when wanted and not definer then 'the function is not SECURITY DEFINER, and was made to run as its owner' end,
    format('alter routine %s security %s;', name, case when wanted then 'definer' else 'invoker' end)
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
    -- Of the service's own functions it is the role that is wrong.
    case when f.own and f.owner in ('tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app') then '-- as an administrator:' || E'\n\\i db/roles.sql'
         when m.owner is not null then format('alter routine %s owner to %s;', f.name, m.owner)
         else format('alter routine %s security invoker;', f.name) end
  from audit.functions() f join pg_roles r on r.rolname = f.owner
  left join audit.made() m on m.kind = 'function' and m.name = f.name
  where f.kind <> 'a'
$$;

create or replace function audit.check_function_search_path()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when (f.own or f.definer) and c.path is null and (f.definer or p.prosqlbody is null and f.kind <> 'p')
           then 'the function takes its search_path from the caller, whose objects can stand in for the real ones'
         when f.own and c.path not in ('pg_catalog, pg_temp', '"pg_catalog", "pg_temp"') then format('search_path is %s instead of pg_catalog, pg_temp', c.path)
         when f.definer and c.path !~ ',\s*"?pg_temp"?$' then format('search_path is %s: without pg_temp in the last place, temporary objects are found first', c.path) end,
    format('alter routine %s set search_path = pg_catalog, pg_temp;', f.name)
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
    format('alter routine %s reset %s;', f.name, split_part(c.setting, '=', 1))
  from audit.functions() f
  left join lateral (
    select x as setting from unnest(f.config) x
    where lower(split_part(x, '=', 1)) in ('role', 'session_authorization', 'row_security', 'session_replication_role', 'app.tenant_id', 'app.maintenance', 'app.actor')) c on true
$$;

-- A setting for the session outlives the request; the next one on the same connection is somebody else's. What the release
-- itself brought (audit.made) is known by heart and read by nobody here. SET stands at the beginning of a statement, which may be
-- the text of an EXECUTE; an UPDATE's does not.
create or replace function audit.check_function_body()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when m.name is not null then null
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
    format('select pg_get_functiondef(%L::regprocedure); -- look at it; inside a tenant: perform app.set_tenant(…)', f.name)
  from audit.functions() f
  -- Not in one expression: with an alternative in it, it would take all between the first and the last comment.
  cross join lateral (select regexp_replace(regexp_replace(f.body, '--[^\n]*', ' ', 'g'), '/\*.*?\*/', ' ', 'g')) c (code)
  cross join lateral (
    select c.code, regexp_replace(c.code, '(''|\$)\s*set\M', '<set>', 'gi')
      || regexp_replace(regexp_replace(c.code, '''[^'']*''', '', 'g'), '(^|;|\mbegin|\mthen|\melse|\mloop)\s*set\M', '<set>', 'gi')) b (code, sets)
  left join audit.made() m on m.kind = 'function' and m.name = f.name and m.body = audit.body_of(f.oid)
  where f.schema <> 'audit'
$$;

create or replace function audit.check_function_changed()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when m.name is null and f.kind <> 'function' then 'warning'
              when m.name is null or f.name is null or f.body <> m.body or f.owner <> m.owner or x.public then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object(coalesce(m.kind, f.kind), coalesce(m.name, f.name)),
    nullif(concat_ws('; ',
      case when f.name is null then format('the %s %s is not there', m.kind, m.name)
           when m.name is null and f.kind <> 'function' then format('the %s %s is not of this release: it does what it likes inside %s', f.kind, f.name,
             case f.kind when 'trigger' then 'every request' else 'sessions of all roles' end)
           when m.name is null and f.definer then format('the function is not of this release, and runs with the rights of %s', f.owner)
           when f.body <> m.body then format('the %s is not what the release made', f.kind)
           when f.owner <> m.owner then format('the function belongs to %s instead of %s', f.owner, m.owner) end,
      case when x.more <> '' then format('%s may execute it, and should not', x.more) end), ''),
    case when f.name is null or f.body <> m.body or f.owner <> m.owner then 'restore it from db/committed of this release, or from a backup'
         when m.name is null and f.kind <> 'function' then format('drop %s %s;', f.kind, f.name)
         when m.name is null then format('alter routine %s security invoker; -- or have it in the release''s list: CONTRIBUTING.md', f.name)
         else format('revoke execute on routine %s from %s;', f.name, x.more) end
  from audit.made() m
  full join audit.found_made() f on f.kind = m.kind and f.name = m.name
  cross join lateral (
    select string_agg(w.who, ', ') as more, bool_or(w.who = 'public' or w.who like 'tms\_%') as public
    from unnest(string_to_array(nullif(f.granted, ''), ' ')) w (who)
    where m.name is not null and w.who <> all (string_to_array(m.granted, ' '))) x
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
         when f.definer and not f.own and a.who in ('tms_service', 'tms_app', 'tms_registrar')
           then format('%s may execute the function with the rights of %s: what one tenant leaves there another may find', a.who, f.owner)
         when f.own and a.is_grantable then format('%s may pass on the right to execute the function', a.who)
         when f.schema = 'api' and a.who not in ('tms_service', 'tms_owner', 'tms_auditor') then format('%s may execute the function, beside the service''s login', a.who) end,
    format('revoke execute on routine %s from %s;', f.name, a.who)
  from audit.functions() f
  left join lateral (
    select case when x.grantee = 0 then 'public' else x.grantee::regrole::text end as who, x.is_grantable
    from aclexplode(f.acl) x where x.grantee <> to_regrole(quote_ident(f.owner))) a on true
  union all
  -- Under a name of its own a function of the server is under none of the server's rights.
  select 'error', null, f.name, jsonb_build_object('role', w.role),
    case when has_schema_privilege(w.role, f.schema, 'usage') and has_function_privilege(w.role, f.oid, 'execute')
      then format('%s may execute the function, which is written in %s: it does what the server''s account may', w.role, l.lanname) end,
    format('revoke execute on routine %s from %s, public;', f.name, w.role)
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
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.leakproof then 'the function claims to be LEAKPROOF: it is run on rows before the policy is' end,
    format('alter function %s not leakproof;', f.name)
  from audit.functions() f
  where f.kind in ('f', 'w')
  union all
  select 'warning', null, f.oid::regprocedure::text, '{}'::jsonb,
    'the function of an extension claims to be LEAKPROOF: it is run on rows before the policy is',
    format('alter function %s not leakproof; -- unless the extension made it so', f.oid::regprocedure)
  from pg_proc f
  where f.proleakproof and f.oid >= 16384
    and exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e')
  union all
  select 'error', null, 'uuid_eq(uuid,uuid)', '{}'::jsonb,
    case when not proleakproof then 'the comparison in every policy is not leakproof: conditions of a query may be run before it, on any tenant''s rows' end,
    'alter function pg_catalog.uuid_eq(uuid, uuid) leakproof;'
  from pg_proc where oid = 'pg_catalog.uuid_eq(uuid,uuid)'::regprocedure
$$;
--! EndIncluded audit/checks/functions.sql
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

-- Everything that reads tenants' rows reads them here, as tms_auditor, whoever called.
set local role tms_auditor;
create or replace function audit.examine(p_pass text, p_tenant_id uuid, p_sample int)
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
--! Included audit/held_rows.sql
-- What app.shown_rows() is held against: no policy for a tenant hides a row from tms_auditor.
set local role tms_auditor;
create or replace function audit.held_rows(p_table regclass, p_tenant_id uuid, p_limit int)
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
comment on function audit.held_rows(regclass, uuid, int) is
  'How many rows of a tenant a table holds, counted up to p_limit.';
revoke all on function audit.held_rows(regclass, uuid, int) from public;
grant execute on function audit.held_rows(regclass, uuid, int) to tms_registrar;
reset role;
--! EndIncluded audit/held_rows.sql
--! Included audit/row_tests.sql
-- What is asked of each row of a table: a predicate over the row `c` and the rows it refers to: `t` is the row's tenant,
-- `r1`, `r2` … the referred rows, null where there is none. `question` asks the same of a slice of the tenants at once, in the
-- cheapest way there is, and of all tests of one reference: it counts, merging two indexes where it can. Only where it counts
-- a suspect is the predicate asked, row by row. Its four numbers: rows of the table (0: it did not count them), suspects, and
-- for the data check that the same reading answers rows and suspects, or null. {slice x} stands for the condition on the row x.
-- Its columns may change between releases, which `create or replace` refuses.
drop function if exists audit.row_tests(regclass);
create or replace function audit.row_tests(p_table regclass)
returns table (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text, child_column name, parent regclass)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with col as (
    -- What such names mean in somebody's own table nobody knows.
    select attname as name, atttypid as type,
      p_table = any (array(select to_regclass(t) from unnest(array['app.tenants', 'app.users', 'app.boards', 'app.board_members', 'app.generations',
        'app.media', 'app.provider_configs', 'app.credit_transactions']) t)) as is_own
    from pg_attribute where attrelid = p_table and attnum > 0 and not attisdropped
  ), ref as (
    select r.*, 'r' || row_number() over (order by r.child_columns, r.constraint_name, r.parent::text) as alias,
      (select string_agg(format('c.%I', x), ', ') from unnest(r.child_columns) x) as child_list,
      (select string_agg(format('c.%I is not null', x), ' and ') from unnest(r.child_columns) x) as given,
      -- From Postgres 18 on the last column of a key may be a period, which several rows of the parent cover together.
      exists (select from pg_constraint k where k.conrelid = p_table and k.conname = r.constraint_name and k.contype = 'f'
              and (to_jsonb(k) ->> 'conperiod')::boolean) as is_temporal
    from audit.tenant_references(p_table) r
  ), own as (
    -- The tests of the service's own tables. {column} is the row that a column refers to; the question about `asked_with`, or
    -- about that column, asks this as well. An index finds the rows of an `indexed` one (tables/audited.sql).
    select o.check_name, o.predicate, o.indexed, o.detail, coalesce(o.asked_with, substring(o.predicate from '\{(\w+)}')::name) as asked_with
    from (values
      ('app.board_members', 'removed_member_on_board', '{user_id}.removed_at is not null', false, null::name,
        $q$'the user ' || c.user_id || ' has left the tenant and is still on the board ' || c.board_id$q$),
      ('app.board_members', 'board_owner_as_member', '{board_id}.owner_id = c.user_id', false, null,
        $q$'the user ' || c.user_id || ' owns the board and is also listed as ' || c.role$q$),
      ('app.board_members', 'board_role_unknown', $q$c.role is null or c.role not in ('viewer', 'editor', 'admin')$q$, false, null,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not viewer, editor or admin'$q$),
      ('app.users', 'value_unknown', $q$c.role is null or c.role not in ('owner', 'admin', 'member')$q$, false, null,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not owner, admin or member'$q$),
      ('app.generations', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'processing', 'completed', 'failed', 'cancelled')$q$, false, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not one of pending, processing, completed, failed, cancelled'$q$),
      ('app.generations', 'generation_state', $q$case when c.completed_at is null then c.status = 'completed' else c.status in ('pending', 'processing') end$q$,
        true, null, -- it holds just these rows
        $q$'the status is ' || c.status || ' and completed_at is ' || coalesce(c.completed_at::text, 'null')$q$),
      ('app.media', 'storage_of_other_tenant',
        -- The search is a subselect of its own because of Citus, which takes it in no other place of a correlated EXISTS.
        $q$position(c.tenant_id::text in c.storage_url) = 0 and position(c.tenant_id::text in lower(c.storage_url)) = 0 and exists (
          select from (select (regexp_matches(lower(c.storage_url), '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'g'))[1]::uuid as id) m
          join app.tenants o on o.id = m.id)$q$,
        true, null, -- almost every address holds its own tenant's id; it holds the others
        $q$'the address names the tenant ' || (
          select string_agg(distinct o.id::text, ' and ')
          from (select (regexp_matches(lower(c.storage_url), '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'g'))[1]::uuid as id) m
          join app.tenants o on o.id = m.id)$q$),
      ('app.credit_transactions', 'time_in_future', $q$c.created_at > now() + interval '1 hour'$q$, false, 'user_id', $q$'created_at is ' || c.created_at$q$),
      ('app.tenants', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'active', 'suspended')$q$, false, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not pending, active or suspended'$q$),
      ('app.tenants', 'tenant_malformed', $q$c.slug is null or c.slug !~ '^[a-z0-9-]{1,255}$' or c.name is null or c.name !~ '\S' or char_length(c.name) > 255$q$, false, null,
        $q$case when c.slug ~ '^[a-z0-9-]{1,255}$' then 'the name is blank or longer than 255 characters'
           else 'nobody can name the slug ' || coalesce(quote_literal(left(c.slug, 300)), 'null') end$q$)
    ) as o (relation, check_name, predicate, indexed, asked_with, detail)
    where to_regclass(o.relation) = p_table
  ), ref_sql as (
    select ref.*,
      case when is_temporal then format('left join lateral (select c.tenant_id from %s) %s on true', covering, alias)
      else format('left join %s %s on %s.%I = c.tenant_id and (%s) = (%s)',
        -- Postgres lets a foreign key point at a unique key only. Where that is gone, duplicates must not multiply rows.
        case when audit.is_unique(parent, array['tenant_id'::name] || parent_columns)
          then parent::text
          else format('(select distinct on (tenant_id, %s) * from %s)', parent_names, parent) end,
        alias, alias, 'tenant_id', parent_list, child_list) end as joins, parent_list, covering
    from ref
    cross join lateral (select string_agg(format('%s.%I', alias, x), ', ') as parent_list, string_agg(quote_ident(x), ', ') as parent_names from unnest(parent_columns) x) l
    cross join lateral (
      select format('%1$s p where p.tenant_id = c.tenant_id%2$s having range_agg(p.%3$I) @> c.%4$I', ref.parent,
        string_agg(format(' and p.%I = c.%I', k.parent, k.child), '' order by k.n) filter (where k.n < cardinality(child_columns)),
        parent_columns[cardinality(parent_columns)], child_columns[cardinality(child_columns)]) as covering
      from unnest(parent_columns, child_columns) with ordinality as k (parent, child, n)) t
  ), whole as (
    select ref_sql.*, b.question as built_in,
      (select string_agg(replace(o.predicate, '{' || child_columns[1] || '}', alias), ') or (') from own o
       where o.asked_with = child_columns[1] and cardinality(child_columns) = 1) as also,
      -- Every row has a parent to look for, and finds one at most: then the same reading counts the rows.
      audit.is_never_null(p_table, 'tenant_id') and (select bool_and(audit.is_never_null(p_table, x)) from unnest(child_columns) x)
        and audit.is_unique(ref_sql.parent, array['tenant_id'::name] || parent_columns) and not is_temporal as countable
    from ref_sql
    left join (values
      -- Both ways at once: media without their generation, and completed generations without media. Those with several media
      -- would be counted as often.
      ('app.media', 'generation_id'::name, 'app.generations',
        $q$select count(c.tenant_id), count(*) - count(r.id), 0::bigint, count(*) filter (where c.tenant_id is null and r.unfinished is null)
           from (select c.tenant_id, c.generation_id from app.media c where {slice c}) c
           full join (
             select g.tenant_id, g.id, u.id as unfinished
             from app.generations g
             left join app.generations u on u.tenant_id = g.tenant_id and u.id = g.id and u.status <> 'completed' and {slice u}
             where {slice g}) r
           on r.tenant_id = c.tenant_id and r.id = c.generation_id
           union all
           select 0::bigint, 0::bigint, count(*), 0::bigint from app.generations n where {slice n}$q$), -- of other types the workers would not share it
      -- A ledger is told good from bad as two arrays, in the order of the index: half of a window's cost. {also} is asked of its last row.
      -- A balance before that no bigint could hold is null: no row's balance_after equals it.
      ('app.credit_transactions', 'user_id', 'app.users',
        $q$select sum(c.rows), sum(c.rows) filter (where r.id is null or ({also})), sum(c.rows),
             count(*) filter (where c.before[1] is distinct from 0 or c.before[2:] <> c.after[:c.rows - 1])
           from (
             select c.tenant_id, c.user_id, count(*)::int as rows, max(c.created_at) as created_at,
               array_agg(case when case when c.amount < 0 then c.balance_after <= 9223372036854775807 + c.amount
                                        else c.balance_after >= c.amount - 9223372036854775807 end
                              then c.balance_after - c.amount end order by c.created_at, c.id) as before,
               array_agg(c.balance_after order by c.created_at, c.id) as after
             from app.credit_transactions c
             where {slice c}
             group by c.tenant_id, c.user_id) c
           left join app.users r on r.tenant_id = c.tenant_id and r.id = c.user_id and {slice r}$q$)
    ) as b (child, child_column, parent, question)
    on to_regclass(b.child) = ref_sql.child and to_regclass(b.parent) = ref_sql.parent and child_columns = array[b.child_column]
      and parent_columns = array['id'::name]
  ), questions as (
    select whole.*, case
      when is_temporal then format('select 0, count(*), null::bigint, null::bigint from %s c where %s and not exists (select from %s) and {slice c}',
        p_table, given, covering)
      when countable and built_in is not null then replace(built_in, '{also}', coalesce(also, 'false'))
      -- One question of a table counts its rows.
      when countable and not bool_or(countable and built_in is not null) over ()
        and 1 = row_number() over (partition by countable order by also is not null, child_columns, constraint_name, parent::text)
      then format('select count(*), %6$s, null::bigint, null::bigint from %1$s c
          left join %2$s %3$s on %3$s.tenant_id = c.tenant_id and (%4$s) = (%5$s) and {slice %3$s}
          where %7$s and {slice c}', -- which all are; Citus refuses the join of a table whose rows no policy shows without it
        p_table, parent, alias, parent_list, child_list,
        case when also is null then format('count(*) - count(%s.tenant_id)', alias)
             else format('count(*) filter (where %s.tenant_id is null or (%s))', alias, also) end, given)
      else format('select 0, count(*), null::bigint, null::bigint from %1$s c
          where %2$s and not exists (select from %3$s %4$s where %4$s.tenant_id = c.tenant_id and (%5$s) = (%6$s)%7$s and {slice %4$s}) and {slice c}',
        p_table, given, parent, alias, parent_list, child_list, ' and ((' || also || ')) is not true')
      end as question
    from whole
  ), own_sql as (
    select o.check_name, r.joins, coalesce(r.question, case when o.indexed then
        format('select 0, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, o.predicate) end) as question,
      case when r.alias is null then o.predicate else replace(o.predicate, '{' || r.child_columns[1] || '}', r.alias) end as predicate, o.detail
    from own o
    left join questions r on r.child_columns = array[o.asked_with]
  )
  select * from (
  select 'tenant_missing', null::text, 'left join app.tenants t on t.id = c.tenant_id', 't.id is null', null::text,
    $q$case when c.tenant_id is null then 'the row has no tenant' else 'there is no tenant ' || c.tenant_id end$q$,
    null::text, null::name, null::regclass
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
    question, case when cardinality(child_columns) = 1 then child_columns[1] end, questions.parent
  from questions
  left join (values
    ('app.boards', 'owner_id', 'board_owner_outside_tenant'), ('app.board_members', 'user_id', 'board_member_outside_tenant'),
    ('app.board_members', 'board_id', 'membership_without_board'), ('app.board_members', 'invited_by', 'board_inviter_outside_tenant')
  ) as b (relation, column_name, name) on to_regclass(b.relation) = child and child_columns = array[b.column_name::name]
  union all
  select check_name, null, joins, predicate, null, detail, question, null, null from own_sql
  union all
  select 'times_out_of_order', null, null, format('c.%I < c.created_at', name), null,
    format($q$%L || c.%I || ' is before created_at ' || c.created_at$q$, name || ' ', name), null, null, null
  from col
  where is_own and name in ('updated_at', 'started_at', 'completed_at', 'finished_at', 'removed_at', 'deleted_at') and type = 'timestamptz'::regtype
    and exists (select from col where name = 'created_at' and type = 'timestamptz'::regtype)
  union all
  select 'not_an_object', null, null, format($q$jsonb_typeof(c.%I) <> 'object'$q$, name), null,
    format($q$%L || jsonb_typeof(c.%I)$q$, name || ' holds a JSON ', name), null, null, null
  from col where is_own and name in ('settings', 'config', 'input', 'registration') and type = 'jsonb'::regtype
  union all
  -- A validated CHECK cannot have been broken; one that was added NOT VALID says nothing about the rows before it.
  select 'constraint_broken', null, null, format('not (%s)', case when 0 = any (conkey) -- it is about the whole row, which is c here
      then replace(pg_get_expr(conbin, conrelid), (select quote_ident(relname) from pg_class where oid = conrelid) || '.*', 'c.*')
      else pg_get_expr(conbin, conrelid) end), null,
    format($q$%L$q$, format('the row breaks the constraint %I', conname)), null, null, null
  from pg_constraint where conrelid = p_table and contype = 'c' and not (convalidated and coalesce((to_jsonb(pg_constraint) ->> 'conenforced')::boolean, true))
  ) as tests (check_name, check_elsewhere, joins, predicate, elsewhere, detail, question, child_column, parent)
  order by question, check_name
$$;
comment on function audit.row_tests(regclass) is
$$The tests of a table: `predicate` is true of a row that fails; for references `elsewhere` then tells whether the missing row
lives in another tenant (check_elsewhere) or nowhere (check_name). `detail` is an SQL expression.$$;
--! EndIncluded audit/row_tests.sql
--! Included audit/data_checks.sql
-- The data checks that are about more than one row of a table. $1 is the tenant, or null for all. Some are answered by the scan
-- of a table, which reads the same rows. Some a valid unique key rules out: Postgres never skips it, triggers off or not.
-- Its columns may change between releases, which `create or replace` refuses.
drop function if exists audit.data_checks();
create or replace function audit.data_checks()
returns table (check_name text, tables text[], answered_by text, unique_key name[], rows_sql text, failing_sql text, remedy text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
  ('identity_twice_in_tenant', array['app.users'], null, array['tenant_id', 'auth_provider', 'auth_subject']::name[],
    'select count(*) from app.users where $1 is null or tenant_id = $1',
    $q$select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', max(id::text)) as key,
         format('%s rows stand for one identity: the users %s', count(*), string_agg(id::text, ', ' order by created_at, id)) as detail
       from app.users where $1 is null or tenant_id = $1
       group by tenant_id, auth_provider, auth_subject having count(*) > 1$q$,
    $q$-- point everything to one of the users, then delete the other and restore the constraint:
alter table app.users add constraint users_tenant_identity_key unique (tenant_id, auth_provider, auth_subject);$q$),

  ('provider_twice_in_tenant', array['app.provider_configs'], null, array['tenant_id', 'provider_name'],
    'select count(*) from app.provider_configs where $1 is null or tenant_id = $1',
    $q$select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', max(id::text)) as key,
         format('%s configurations are for one provider: %s', count(*), string_agg(id::text, ', ' order by created_at, id)) as detail
       from app.provider_configs where $1 is null or tenant_id = $1
       group by tenant_id, provider_name having count(*) > 1$q$,
    $q$-- delete all but one, then restore the constraint:
alter table app.provider_configs add constraint provider_configs_name_key unique (tenant_id, provider_name);$q$),

  ('slug_twice', array['app.tenants'], null, null,
    'select count(*) from app.tenants',
    $q$select max(id::text)::uuid as tenant_id, jsonb_build_object('id', max(id::text)) as key,
         format('%s tenants have the slug %L: %s', count(*), lower(slug), string_agg(id::text, ', ' order by created_at, id)) as detail
       from app.tenants group by lower(slug) having count(*) > 1 and ($1 is null or bool_or(id = $1))$q$,
    $q$-- give one of the tenants another slug, then restore the constraint:
alter table app.tenants add constraint tenants_slug_key unique (slug);$q$),

  ('default_tenant_twice', array['app.tenants'], null, null,
    'select count(*) from app.tenants',
    $q$select id as tenant_id, jsonb_build_object('id', id) as key, 'is_default is true here and in an older tenant too' as detail
       from (select id, row_number() over (order by created_at, id) as n from app.tenants where is_default) d where n > 1$q$,
    $q$update app.tenants set is_default = false where id = '{id}';
create unique index tenants_one_default on app.tenants (is_default) where is_default;$q$),

  ('tenant_count_wrong', array['app.tenants'], null, null,
    'select count(*) from app.tenants',
    $q$select null::uuid as tenant_id, jsonb_build_object('status', s.status) as key,
         format('control.tenant_counts says %s tenants are %s, app.tenants holds %s', app.count_tenants(s.status), s.status, s.n) as detail
       from (select v.status, count(t.id) as n
             from unnest(array['pending', 'active', 'suspended']) as v (status) left join app.tenants t on t.status = v.status
             group by v.status) s
       where app.count_tenants(s.status) <> s.n$q$,
    $q$begin;
set local app.maintenance = 'on';
lock table app.tenants in share row exclusive mode;
delete from control.tenant_counts;
insert into control.tenant_counts (shard, pending, active, suspended)
select 0, count(*) filter (where status = 'pending'), count(*) filter (where status = 'active'), count(*) filter (where status = 'suspended')
from app.tenants;
commit;$q$),

  ('tenant_without_owner', array['app.tenants', 'app.users'], null, null,
    'select count(*) from app.tenants where registration is not null and ($1 is null or id = $1)',
    $q$select t.id as tenant_id, jsonb_build_object('id', t.id) as key, 'was registered by somebody, and has no owner' as detail
       from app.tenants t
       left join app.users u on u.tenant_id = t.id and u.role = 'owner' and u.removed_at is null
       where t.registration is not null and ($1 is null or t.id = $1) and u.tenant_id is null$q$,
    $q$-- make one of its members the owner:
update app.users set role = 'owner' where tenant_id = '{id}' and auth_subject = '…';$q$),

  ('credit_balance', array['app.credit_transactions'], 'app.credit_transactions', null,
    'select count(*) from app.credit_transactions where $1 is null or tenant_id = $1',
    -- Entries of one created_at may be in any order that adds up: which id is the lower is chance. Their balances, before and
    -- after, cancel each other out but for the first and the last. Asked of the ledgers alone that are not right as they stand.
    $q$with suspects as materialized (
         select distinct tenant_id, user_id
         from (
           select c.tenant_id, c.user_id, c.amount, c.balance_after,
             lag(c.balance_after::numeric, 1, 0::numeric) over (partition by c.tenant_id, c.user_id order by c.created_at, c.id) as balance_before
           from app.credit_transactions c where $1 is null or c.tenant_id = $1) r
         where balance_after is distinct from balance_before + amount
       ), moments as materialized (
         select m.*, lag(before) over ledger as before_it, lag(after) over ledger as after_it
         from (
           select c.tenant_id, c.user_id, c.created_at, sum(c.amount) as amount, max(c.id::text) as id,
             array_agg(c.balance_after - c.amount::numeric) as before, array_agg(c.balance_after::numeric) as after
           from app.credit_transactions c
           where (c.tenant_id, c.user_id) in (select tenant_id, user_id from suspects)
           group by c.tenant_id, c.user_id, c.created_at) m
         window ledger as (partition by tenant_id, user_id order by created_at)
       )
       select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', id) as key,
         case when cardinality(after) = 1
           then format('the balance before was %s, the amount is %s, and balance_after says %s instead of %s',
             closing[1], amount, after[1], closing[1] + amount)
           else format('the balance before was %s, and in no order do the %s entries of %s add up', closing[1], cardinality(after), created_at) end as detail
       from moments m
       cross join lateral (
         select coalesce(array_agg(v) filter (where n < 0), m.before) as opening, -sum(n) filter (where n < 0) as openings
         from (select v, sum(n) as n from (select unnest(m.before) as v, -1 as n union all select unnest(m.after), 1) e group by v) d) o
       cross join lateral (
         select coalesce(array_agg(v) filter (where n > 0), m.after_it, array[0::numeric]) as closing
         from (select v, sum(n) as n from (select unnest(m.before_it) as v, -1 as n union all select unnest(m.after_it), 1) e group by v) d) c
       where (cardinality(after) > 1 or before is distinct from coalesce(after_it, array[0::numeric])) -- most are right as they stand
         and (openings > 1 or not opening && closing)$q$,
    $q$-- look at the ledger around it:
select id, type, amount, balance_after, created_at from app.credit_transactions
where (tenant_id, user_id) = (select tenant_id, user_id from app.credit_transactions where tenant_id = '{tenant_id}' and id = '{id}')
order by created_at, id;$q$),

  ('completed_without_media', array['app.generations', 'app.media'], 'app.media', null,
    'select count(*) from app.generations where $1 is null or tenant_id = $1',
    $q$select g.tenant_id, jsonb_build_object('tenant_id', g.tenant_id, 'id', g.id) as key, 'the generation is completed and has no media' as detail
       from app.generations g
       where g.status = 'completed' and ($1 is null or g.tenant_id = $1)
         and not exists (select from app.media m where m.tenant_id = g.tenant_id and m.generation_id = g.id)$q$,
    $q$update app.generations set status = 'failed', error = 'its media were lost' where tenant_id = '{tenant_id}' and id = '{id}';$q$)
$$;
comment on function audit.data_checks() is
$$Checks of rows against other rows: a count of what is examined, and a query for what fails, with its columns tenant_id, key
and detail. answered_by: the table whose scan says whether there is anything to look for. {column} in a remedy stands for the key's value.$$;

create or replace function audit.check_rows(p_check text, p_tenant_id uuid, p_answer bigint[] default null)
returns audit.outcome
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_check record;
  v_found audit.outcome;
  v_table text;
  v_rows jsonb;
begin
  select * into strict v_check from audit.data_checks() where check_name = p_check;
  v_found."check" := p_check;
  v_found.relation := v_check.tables[1];
  foreach v_table in array v_check.tables loop
    perform audit.require_unfiltered(v_table::regclass);
  end loop;
  if p_answer is not null then
    v_found.checked := p_answer[1];
    v_found.errors := p_answer[2];
  end if;
  if v_found.checked is null then
    execute v_check.rows_sql into v_found.checked using p_tenant_id;
  end if;
  if p_answer is null then
    v_found.errors := 0;
    if not audit.is_unique(v_found.relation::regclass, v_check.unique_key) then
      execute format('select count(*) from (%s) f', v_check.failing_sql) into v_found.errors using p_tenant_id;
    end if;
  end if;
  if v_found.errors > 0 then
    execute format(
      $q$with f as materialized (%s)
         select count(*), (select jsonb_agg(k) from (select tenant_id, key, detail from f order by tenant_id, key limit 1000) k) from f$q$,
      v_check.failing_sql)
    into v_found.errors, v_rows using p_tenant_id;
    -- Not in the statement itself: Citus sends one about a single tenant to its worker, where the audit has no types.
    v_found.kept := array(
      select row(null, k.tenant_id, v_found.relation, k.key, k.detail,
        replace(replace(v_check.remedy, '{id}', coalesce(k.key ->> 'id', '')), '{tenant_id}', coalesce(k.key ->> 'tenant_id', '')))::audit.observation
      from jsonb_to_recordset(v_rows) k (tenant_id uuid, key jsonb, detail text));
  end if;
  return v_found;
end
$$;
comment on function audit.check_rows(text, uuid, bigint[]) is
$$Runs one of audit.data_checks(); all findings are counted under `errors`. p_answer: what the scan of a table has already counted for it, {rows or null, suspects}.$$;

set local role tms_registrar;
grant execute on function app.count_tenants(text) to tms_auditor;
reset role;
--! EndIncluded audit/data_checks.sql
--! Included audit/scan.sql
-- The tenants that a table names: with many rows a tenant they are read off an index, one step a tenant.
create or replace function audit.count_lost_tenants(p_table regclass)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count bigint;
begin
  if (select reltuples from pg_class where oid = p_table) < 100 * (select greatest(reltuples, 1) from pg_class where oid = 'app.tenants'::regclass)
    or not exists (
      select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indrelid = p_table and i.indisvalid and i.indpred is null and a.attname = 'tenant_id' and audit.is_never_null(p_table, 'tenant_id'))
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
comment on function audit.count_lost_tenants(regclass) is 'How many tenants, or rows, of a table name a tenant that does not exist: 0 or more than 0 is all that is promised.';

-- One question for each reference, and one for all tests of single rows that no constraint proves; of a clean table nothing
-- else is asked. The rows are counted where they are read anyway.
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
  v_slices text[];
  v_rows bigint;
  v_suspects bigint := 0;
  v_answer bigint[];
  v_answers jsonb := '{}';
  v_also bigint[];
  v_lost_in regclass;
  v_keys name[];
  v_row text;
  v_key text;
  v_tests jsonb;
  v_test record;
  v_check text;
  v_suspected boolean;
  v_found audit.outcome;
  v_kept jsonb;
begin
  select tenant_column into strict v_column from audit.relations(array[p_table]);
  for v_joined in
    select p_table union select r.parent from audit.tenant_references(p_table) r
    union select 'app.tenants'::regclass
  loop
    perform audit.require_unfiltered(v_joined);
  end loop;
  v_slices := audit.slices(p_table, v_column, p_tenant_id);
  select jsonb_agg(t) into v_tests from audit.row_tests(p_table) t; -- once: writing them takes milliseconds
  for v_test in
    select distinct on (question) t ->> 'question' as question, t ->> 'child_column' as child_column
    from jsonb_array_elements(v_tests) t where t ->> 'question' is not null
    order by question, child_column
  loop
    v_answer := audit.ask(v_test.question, v_slices, p_table, v_test.child_column);
    v_answers := v_answers || jsonb_build_object(v_test.question, v_answer[2]);
    v_rows := greatest(v_rows, nullif(v_answer[1], 0));
    if v_answer[4] is not null then
      v_also := v_answer[3:4];
    end if;
  end loop;
  select array_agg(t ->> 'predicate') into v_asked
  from jsonb_array_elements(v_tests) t
  where t ->> 'question' is null and t ->> 'check_name' <> 'tenant_missing' and not audit.is_proved(p_table, t ->> 'predicate');
  if v_rows is null or v_asked is not null then
    execute format('select count(*), count(*) filter (where %s) from %s c where $1 is null or c.%I = $1',
      coalesce('(' || array_to_string(v_asked, ') or (') || ')', 'false'), p_table, v_column)
    into v_rows, v_suspects using p_tenant_id;
  end if;
  if v_rows = 0 and audit.has_rows(p_table, v_column, p_tenant_id) then
    raise exception using errcode = 'data_exception',
      message = format('%s shows the auditor no row, and it has rows', p_table);
  end if;
  -- Rows that all have their parent are in their parents' tenants: then the question is put to the fewer rows.
  select t.parent into v_lost_in
  from jsonb_to_recordset(v_tests) t (question text, child_column name, parent regclass)
  join pg_class c on c.oid = t.parent
  where t.child_column is not null and v_answers ->> t.question = '0' and c.reltuples between 0 and v_rows
    and audit.is_never_null(p_table, 'tenant_id') and audit.is_never_null(p_table, t.child_column)
  order by c.reltuples limit 1;
  v_lost_in := coalesce(v_lost_in, p_table);

  select array_agg(a.attname order by k.n) into v_keys
  from pg_index i cross join unnest(i.indkey) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where i.indrelid = p_table and i.indisprimary;
  v_keys := coalesce(v_keys, array['ctid'::name]);
  select string_agg(format('%L, c.%I', k, k), ', '),
         'concat_ws('' and '', ' || string_agg(format('format(%L, c.%I)', replace(quote_ident(k), '%', '%%') || ' = %L', k), ', ') || ')'
  into v_row, v_key from unnest(v_keys) k;
  if v_keys = array['ctid'::name] then -- of one partition, or one child, only
    v_key := $q$format('tableoid = %L::regclass and ctid = %L', c.tableoid::regclass, c.ctid)$q$;
  end if;

  for v_test in
    select * from jsonb_to_recordset(v_tests)
      t (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text)
  loop
    if v_test.question is not null then
      v_suspected := v_answers ->> v_test.question is distinct from '0';
    elsif v_test.check_name = 'tenant_missing' then
      v_suspected := p_tenant_id is null and audit.count_lost_tenants(v_lost_in) > 0;
    else
      v_suspected := v_suspects > 0 and v_test.predicate = any (v_asked);
    end if;
    for v_found."check" in select unnest(array_remove(array[v_test.check_name, nullif(v_test.check_elsewhere, v_test.check_name)], null)) loop
      v_found.relation := p_table;
      v_found.checked := v_rows;
      v_found.errors := 0;
      v_found.kept := null;
      if v_suspected then
        -- In two steps, and without the audit's types, because of Citus: it asks whether a row exists elsewhere only of rows
        -- that it has in hand, and sends a statement about a single tenant to a worker, which knows no such type.
        execute format(
          $q$with suspects as materialized (
               select %11$s c.* from %10$s c %5$s where (%7$s) %9$s
             ), s as materialized (
               select %1$s as tenant_id, jsonb_build_object(%2$s) as key, %3$s as detail, %4$s as place
               from suspects c cross join lateral (select %6$s as elsewhere) s
               where true %8$s)
             select count(*), (select jsonb_agg(k) from (select tenant_id, key, detail, place from s order by key limit 1000) k)
             from s$q$,
          format('c.%I', v_column), v_row, v_test.detail, v_key, coalesce(v_test.joins, ''), coalesce(v_test.elsewhere, 'null::boolean'), v_test.predicate,
          case when v_test.check_elsewhere is null or v_test.check_elsewhere = v_test.check_name then ''
               when v_found."check" = v_test.check_elsewhere then 'and s.elsewhere' else 'and not s.elsewhere' end,
          case when p_tenant_id is null then '' else format('and c.%I = $1', v_column) end,
          p_table::text, case when v_keys = array['ctid'::name] then 'c.tableoid, c.ctid,' end)
        into v_found.errors, v_kept using p_tenant_id;
        v_found.kept := array(
          select row(null, k.tenant_id, p_table::text, k.key, k.detail,
            format(E'-- look at it, then correct or delete it:\nselect * from %s where %s;', p_table, k.place))::audit.observation
          from jsonb_to_recordset(v_kept) k (tenant_id uuid, key jsonb, detail text, place text));
      end if;
      return next v_found;
    end loop;
  end loop;
  for v_check in select d.check_name from audit.data_checks() d where to_regclass(d.answered_by) = p_table loop
    return next audit.check_rows(v_check, p_tenant_id, v_also);
  end loop;
end
$$;
comment on function audit.scan(regclass, uuid) is
$$Runs every row test of a table, over all its rows or those of one tenant: one outcome a test, all findings counted under
`errors` (the caller knows the severity). Raises 42501 when the auditor would not see every row, 22000 when it sees none and there are some.$$;
--! EndIncluded audit/scan.sql
--! Included audit/checks/tables.sql
create or replace function audit.check_table_rules()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb, f.fault,
    -- A partition that is isolated by itself is open to tms_app under its own name.
    format('-- mend it, then:%sselect app.isolate(%L);', E'\n', coalesce(pg_partition_root(r.relid), p.inhparent, r.relid)::regclass)
  from audit.relations() r
  left join lateral (select inhparent from pg_inherits where inhrelid = r.relid order by inhseqno limit 1) p on true
  left join lateral app.table_faults(r.relid) f on not f.inherited
  where r.tenant_column = 'tenant_id'
  union all
  -- Of the tenants themselves every key is over all of them.
  select 'warning', null, 'app.tenants', jsonb_build_object('index', i.indexrelid::regclass::text),
    case when i.indkey[0] <> all (array(select attnum from pg_attribute where attrelid = i.indrelid and attname in ('id', 'slug', 'is_default')))
      then format('the unique index %s is over all tenants: who may change one learns what others have', i.indexrelid::regclass) end,
    format('drop index %s;', i.indexrelid::regclass)
  from pg_index i where i.indrelid = to_regclass('app.tenants') and (i.indisunique or i.indisexclusion)
$$;

-- The service's own tables and their columns: most tests are made from the columns there are, and of the types they have, so
-- that a column that is gone, or another than it was, would take its test along without a word. `null`: it may be, or (of
-- tenant_id) another check asks.
create or replace function audit.check_table_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, t.name, case when c.name is null then '{}' else jsonb_build_object('column', c.name) end,
    case when to_regclass(t.name) is null then 'the table is not there: what depends on it was not examined'
         when c.name is null then null
         when a.attname is null then format('the column %s is not there: what is asked of it was not examined', c.name)
         when a.atttypid <> c.type then format('the column %s is of type %s and not %s: what is asked of it was not examined', c.name, a.atttypid::regtype, c.type)
         when not l.collisdeterministic then format('the column %s takes different spellings for the same: one identity, or slug, passes for another', c.name)
         when not a.attnotnull and not c.nullable then format('the column %s may be null: nothing asks for a row where it is', c.name) end,
    case when a.attname is null then 'restore it from a backup, or run the migrations: npm run migrate'
         when not l.collisdeterministic then format('alter table %s alter column %I type %s collate pg_catalog."default";', t.name, c.name, c.type)
         when a.atttypid = c.type then format('alter table %s alter column %I set not null;', t.name, c.name)
         else case when c.type = 'timestamptz'::regtype then E'-- first: set timezone to the one that its values are of\n' else '' end
           || format('alter table %s alter column %I type %s using %I::%s;', t.name, c.name, c.type, c.name, c.type) end
  from (values
    ('app.tenants', 'id uuid, name text, slug text, settings jsonb, status text, is_default boolean, registration jsonb null, created_at timestamptz, updated_at timestamptz'),
    ('app.users', 'tenant_id uuid null, id uuid, auth_provider text, auth_subject text, role text, created_at timestamptz, updated_at timestamptz, removed_at timestamptz null'),
    ('app.boards', 'tenant_id uuid null, id uuid, owner_id uuid, title text, settings jsonb, created_at timestamptz, updated_at timestamptz'),
    ('app.board_members', 'tenant_id uuid null, board_id uuid, user_id uuid, role text, invited_by uuid null, created_at timestamptz'),
    ('app.generations', 'tenant_id uuid null, id uuid, board_id uuid, user_id uuid, artifact_type text, status text, input jsonb, created_at timestamptz, completed_at timestamptz null'),
    ('app.media', 'tenant_id uuid null, id uuid, generation_id uuid, storage_url text, created_at timestamptz'),
    ('app.provider_configs', 'tenant_id uuid null, id uuid, provider_name text, config jsonb, is_enabled boolean, created_at timestamptz, updated_at timestamptz'),
    ('app.credit_transactions', 'tenant_id uuid null, id uuid, user_id uuid, generation_id uuid null, type text, amount bigint, balance_after bigint, created_at timestamptz')
  ) as t (name, columns)
  cross join lateral (
    select null as name, null::regtype as type, true as nullable
    union all
    select split_part(d, ' ', 1), split_part(d, ' ', 2)::regtype, d like '% null' from string_to_table(t.columns, ', ') d) c
  left join pg_attribute a on a.attrelid = to_regclass(t.name) and a.attname = c.name and not a.attisdropped
  left join pg_collation l on l.oid = a.attcollation
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
    format(E'-- this gives every row to the default tenant; where rows are of several tenants, add tenant_id and fill it first:\n'
      'select app.isolate(%L, p_adopt => true);', c.oid::regclass)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join audit.relations() t on t.relid = c.oid
  left join reached k on k.relid = c.oid
  where c.relkind in ('r', 'p') and c.relpersistence <> 't' and n.nspname not in ('control', 'audit')
    and (n.nspname = 'app' or k.relid is not null)
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
    select oid from pg_class where relnamespace in (to_regnamespace('control'), to_regnamespace('audit')) and relkind in ('r', 'p')
    union
    select w.ev_class from reading r
    join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = r.oid and d.classid = 'pg_rewrite'::regclass
    join pg_rewrite w on w.oid = d.objid
  )
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when c.relkind = 'm' then 'the materialized view holds tenants'' rows, and no policy applies to it'
         when not exists (select from pg_options_to_table(c.reloptions) where case when option_name = 'security_invoker' then option_value::boolean end)
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
  union all
  -- And one on anything else that gets there.
  select distinct 'error', null::uuid, w.ev_class::regclass::text, jsonb_build_object('rule', w.rulename),
    format('the rule %I reaches %s with the rights of the owner, %s', w.rulename, d.refobjid::regclass, o.relowner::regrole),
    'drop rule ' || quote_ident(w.rulename) || ' on ' || w.ev_class::regclass || ';'
  from pg_rewrite w
  join pg_class o on o.oid = w.ev_class
  join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
  join pg_class c on c.oid = d.refobjid
  where w.rulename <> '_RETURN' and w.ev_class not in (select relid from audit.relations())
    and (c.oid in (select relid from audit.relations()) or c.relnamespace in (to_regnamespace('control'), to_regnamespace('audit')))
$$;

create or replace function audit.check_publication()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, r.relid::text, jsonb_build_object('publication', p.pubname),
    case when p.pubname is not null then format('the publication %I sends every tenant''s rows to its subscribers: replication knows no policy', p.pubname) end,
    E'-- for a replica of the whole service this is right; else:\n' || p.mend
  from audit.relations() r
  left join lateral (
    select p.pubname, format('drop publication %I; -- and make one that lists what may leave', p.pubname) as mend from pg_publication p where p.puballtables
    union all
    select p.pubname, format('alter publication %I drop table %s;', p.pubname, r.relid)
    from pg_publication p join pg_publication_rel x on x.prpubid = p.oid and x.prrelid = r.relid
    union all
    select p.pubname, format('alter publication %I drop tables in schema %I;', p.pubname, n.nspname)
    from pg_publication p join pg_publication_namespace x on x.pnpubid = p.oid
    join pg_class c on c.relnamespace = x.pnnspid and c.oid = r.relid join pg_namespace n on n.oid = c.relnamespace
  ) p on true
$$;
--! EndIncluded audit/checks/tables.sql
--! Included audit/checks/keys.sql
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
  from (
    select relid from audit.relations() where tenant_column = 'tenant_id' and not is_child
    union all
    -- Bookkeeping that must go with its tenant; on Citus it has no key (db/distribute.sql). Found in the catalog, since
    -- to_regclass() asks for a right on the schema.
    select oid from pg_class where relnamespace = to_regnamespace('control') and relname = 'idempotency_keys' and not app.is_distributed()
  ) r
  left join lateral (
    select c.* from pg_constraint c
    where c.conrelid = r.relid and c.contype = 'f' and c.confrelid = to_regclass('app.tenants') and c.confdeltype = 'c'
      and coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true)
      and c.conkey = array(select attnum from pg_attribute where attrelid = r.relid and attname = 'tenant_id')
    order by c.convalidated desc limit 1) k on true
$$;

create or replace function audit.check_foreign_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when r.constraint_name is null then 'error' else 'warning' end, null::uuid, r.child::text, jsonb_build_object('columns', to_jsonb(r.child_columns)),
    case when r.constraint_name is null then format('no foreign key (tenant_id, %s) refers to %s: a row may point into another tenant', array_to_string(r.child_columns, ', '), r.parent)
         when e.cascades and c.confdeltype <> 'c' then format('the foreign key %I has lost its ON DELETE CASCADE: what should go with a row keeps it from being deleted', r.constraint_name) end,
    format('alter table %s %sadd constraint %I foreign key (tenant_id, %s) references %s (tenant_id, %s)%s;', r.child,
      -- The name may be another constraint's. Citus takes one action at a time.
      (select string_agg(format('drop constraint if exists %I', n) || case when app.is_distributed() then format('; alter table %s ', r.child) else ', ' end, '')
       from (select r.constraint_name union select e.constraint_name) x (n) where n is not null),
      coalesce(e.constraint_name, r.constraint_name), array_to_string(r.child_columns, ', '), r.parent, array_to_string(r.parent_columns, ', '),
      case when e.cascades then ' on delete cascade' end)
  from audit.tenant_references() r
  left join audit.expected_references() e on to_regclass(e.child) = r.child and array[e.child_column] = r.child_columns
  left join pg_constraint c on c.conrelid = r.child and c.conname = r.constraint_name
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
    case when coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true) then format('alter table %s validate constraint %I;', r.relid, c.conname)
         when c.contype = 'f' then format('alter table %s alter constraint %I enforced;', t.name, c.conname)
         -- Postgres 18 cannot alter that of a CHECK.
         else format('alter table %s drop constraint %I, add constraint %I %s;', t.name, c.conname, c.conname,
           regexp_replace(pg_get_constraintdef(c.oid), ' NOT ENFORCED$', '')) end
  from audit.relations() r join pg_constraint c on c.conrelid = r.relid
  -- What is inherited is changed where it comes from.
  cross join lateral (
    select case when c.coninhcount = 0 then r.relid else coalesce(pg_partition_root(r.relid),
      (select inhparent from pg_inherits where inhrelid = r.relid order by inhseqno limit 1), r.relid)::regclass end as name) t
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
    case when t.tgisinternal then format(E'-- as a superuser, for these are system triggers:\nalter table %s enable trigger all;', t.tgrelid::regclass)
         else format('alter table %s enable trigger %I;', t.tgrelid::regclass, t.tgname) end
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
    format('create index %son %s (%s);', case when p.relkind = 'p' then '' else 'concurrently ' end, c.conrelid::regclass,
      (select string_agg(quote_ident(a.attname), ', ' order by k.n) from unnest(c.conkey) with ordinality as k (attnum, n)
       join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum))
  from pg_constraint c join audit.relations() r on r.relid = c.conrelid and not r.is_child
  join pg_class p on p.oid = c.conrelid
  where c.contype = 'f'
$$;

-- Uniqueness that the service relies on. Like the references, known by heart: an INSERT names some of these constraints, so
-- an index that does the same is not enough; nor is a constraint that may wait, which no ON CONFLICT takes.
create or replace function audit.check_unique_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with wanted as (
    select w.*, to_regclass(w.relation) as relid, case when w.name like '%\_pkey' then 'primary key' else 'unique' end as kind
    from (values
      ('app.tenants', 'tenants_pkey', array['id'], ''), ('app.tenants', 'tenants_slug_key', array['slug'], ''),
      ('app.tenants', null, array['is_default'], 'is_default'),
      ('app.users', 'users_pkey', array['tenant_id', 'id'], ''),
      ('app.users', 'users_tenant_identity_key', array['tenant_id', 'auth_provider', 'auth_subject'], ''),
      ('app.boards', 'boards_pkey', array['tenant_id', 'id'], ''),
      ('app.board_members', 'board_members_pkey', array['tenant_id', 'board_id', 'user_id'], ''),
      ('app.generations', 'generations_pkey', array['tenant_id', 'id'], ''), ('app.media', 'media_pkey', array['tenant_id', 'id'], ''),
      ('app.provider_configs', 'provider_configs_pkey', array['tenant_id', 'id'], ''),
      ('app.provider_configs', 'provider_configs_name_key', array['tenant_id', 'provider_name'], ''),
      ('app.credit_transactions', 'credit_transactions_pkey', array['tenant_id', 'id'], '')
    ) as w (relation, name, columns, predicate)
  ), fitting as (
    select w.relation, w.columns, n.relname as name, c.conname, 0 = all (i.indoption) as ascending
    from wanted w
    join pg_index i on i.indrelid = w.relid and i.indisunique and i.indisvalid and i.indimmediate and i.indexprs is null
    join pg_class n on n.oid = i.indexrelid
    left join pg_constraint c on c.conindid = i.indexrelid and c.conrelid = i.indrelid and c.contype in ('p', 'u')
    where coalesce(pg_get_expr(i.indpred, i.indrelid), '') = w.predicate
      and array(select a.attname::text from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k (attnum, n)
                join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum order by k.n) = w.columns
  )
  select 'error', null::uuid, w.relation, jsonb_build_object('columns', to_jsonb(w.columns)),
    case when not exists (select from fitting f where f.relation = w.relation and f.columns = w.columns and (w.name is null or f.conname = w.name))
      then format('%s keeps (%s) unique%s', coalesce('no constraint ' || w.name, 'nothing'), array_to_string(w.columns, ', '),
        case when w.predicate = '' then '' else ' where ' || w.predicate end) end,
    case
      when w.name is null then format('create unique index on %s (%s) where %s;', w.relation, array_to_string(w.columns, ', '), w.predicate)
      -- The name may be taken: by another constraint, by an index that is none, or by one that only wants to become one.
      when exists (select from pg_constraint where conrelid = w.relid and conname = w.name)
        then format('alter table %s drop constraint %I%sadd constraint %I %s (%s);', w.relation, w.name,
          case when app.is_distributed() then format('; alter table %s ', w.relation) else ', ' end, w.name, w.kind, array_to_string(w.columns, ', '))
      when not app.is_distributed() and exists (select from fitting f where f.relation = w.relation and f.columns = w.columns and f.name = w.name and f.ascending)
        then format('alter table %s add constraint %I %s using index %I;', w.relation, w.name, w.kind, w.name)
      else coalesce((select format('drop index %s; ', i.indexrelid::regclass) from pg_index i join pg_class n on n.oid = i.indexrelid
                     where i.indrelid = w.relid and n.relname = w.name), '')
        || format('alter table %s add constraint %I %s (%s);', w.relation, w.name, w.kind, array_to_string(w.columns, ', ')) end
  from wanted w
$$;
--! EndIncluded audit/checks/keys.sql
-- Under a new name, since it returns more.
drop function if exists app.isolation_faults(regclass);
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
  perform app.require_own_table(p_table);
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

-- A row is tried that is one of the tenant's own but for the tenant: so it meets its policy, and no default, domain, trigger
-- or missing partition before. Where the tenant has no row, only its tenant_id is given; what stops that before the policy is
-- asked decides nothing. Citus plans no such INSERT.
-- Every attempt ends in an error or in nothing: where a write goes through, its first row raises 22012, so that nothing is
-- kept and no second row is touched. RETURNING names no column, because reading one would bring the SELECT policies to help.
-- Citus plans no such RETURNING: there the rows are counted afterwards, and what they were is rolled back.
create or replace function audit.try_writes(p_table regclass, p_column name, p_tenant_id uuid, p_other_id uuid)
returns table (attempt text, fault text, decided boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
set enable_seqscan = off  -- a tenant's first row is looked for, not stumbled on
as $$
declare
  v_before constant text := coalesce(current_setting('app.tenant_id', true), '');
  v_nobody constant uuid := gen_random_uuid();
  v_distributed constant boolean := to_regprocedure('app.distribute(regclass)') is not null;  -- db/distribute.sql was run
  -- There no row changes its tenant, whoever asks, and no UPDATE of it would say what the policies let through.
  v_taken constant name := coalesce((
    select a.attname from pg_attribute a
    where v_distributed and a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and a.attname <> p_column
      and a.attgenerated = '' and a.attidentity = ''
    order by a.attnotnull, a.attnum limit 1), p_column);
  -- A number that tms_app may not draw stops the row before the policy does, with the same error.
  v_numbered constant boolean := exists (
    select from pg_attrdef a
    join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = a.oid and d.refclassid = 'pg_class'::regclass
    join pg_class s on s.oid = d.refobjid
    where a.adrelid = p_table and case when s.relkind = 'S' then not has_sequence_privilege(s.oid, 'usage') end
      and has_any_column_privilege(p_table, 'insert'));
  v_insert text := 'insert into %1$s (%2$I) values (%3$L)';
  v_row jsonb;
  v_attempt record;
  v_rows bigint;
  v_message text;
  v_constraint text;
  v_missing text;
  v_type text;
begin
  perform app.require_own_table(p_table);
  if not v_distributed then
    execute format('set local app.tenant_id = %L', p_tenant_id);
    begin
      execute format('select to_jsonb(r.*) from %s r limit 1', p_table) into v_row;
    exception when insufficient_privilege then
      null; -- then it is tried without
    end;
  end if;
  if v_row is not null then
    select format('insert into %%1$s (%s) overriding system value select %s from jsonb_populate_record(null::%%1$s, %L) r',
      concat_ws(', ', '%2$I', string_agg(replace(quote_ident(a.attname), '%', '%%'), ', ' order by a.attnum)),
      concat_ws(', ', '%3$L::uuid', string_agg(replace(format('r.%I', a.attname), '%', '%%'), ', ' order by a.attnum)),
      replace(v_row::text, '%', '%%'))
    into v_insert
    from pg_attribute a
    where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attname <> p_column
      and has_column_privilege(p_table, a.attnum, 'insert');
  end if;
  for v_attempt in
    select * from (values
      ('insert a row for another tenant', p_tenant_id, v_insert, p_other_id),
      ('give its rows to another tenant', p_tenant_id, 'update %1$s set %2$I = %3$L', p_other_id),
      ('take the rows of other tenants', v_nobody, 'update %1$s set %4$I = %3$L', case when v_taken = p_column then v_nobody end),
      ('delete the rows of other tenants', v_nobody, 'delete from %1$s', v_nobody),
      ('insert a row without a tenant', null, v_insert, p_other_id),
      ('delete rows without a tenant', null, 'delete from %1$s', null)
    ) as a (name, tenant_id, statement, value)
  loop
    attempt := v_attempt.name;
    fault := null;
    decided := true;
    begin
      execute format('set local app.tenant_id = %L', coalesce(v_attempt.tenant_id::text, ''));
      execute format(v_attempt.statement, p_table, p_column, v_attempt.value, v_taken)
        || case when v_distributed then '' else ' returning 1 / (pg_backend_pid() * 0)' end;
      get diagnostics v_rows = row_count;
      if v_rows > 0 then
        raise division_by_zero;
      end if;
      -- An INSERT that raises nothing was swallowed by a trigger or a rule; an UPDATE or DELETE found no row.
      if v_attempt.statement like 'insert%' then
        fault := 'cannot be decided: a trigger or a rule took the row';
        decided := false;
      end if;
    exception
      when insufficient_privilege then
        -- Refused at the door, or by WITH CHECK. Where no row may be seen, WITH CHECK is already one row too far.
        get stacked diagnostics v_message = message_text;
        if v_attempt.tenant_id = v_nobody and v_message ~ 'row-level security' then
          fault := 'reached a row';
        elsif v_attempt.statement like 'insert%' and v_row is null and v_numbered then
          fault := 'cannot be decided: ' || v_message;
          decided := false;
        end if;
      when division_by_zero then
        fault := 'was accepted';
      when lock_not_available or query_canceled then
        raise;
      when integrity_constraint_violation then
        get stacked diagnostics v_message = message_text, v_constraint = constraint_name, v_missing = column_name, v_type = pg_datatype_name;
        -- The table's own constraints come after its policies; domains, the way to a partition and triggers before.
        -- Of what a worker says Citus brings the message and not the names.
        decided := case when v_distributed then v_message ~ '^(null value in column|new row for relation|duplicate key value|insert or update on table) '
          else v_type = '' and (v_missing <> '' or exists (
            select from pg_constraint k
            where k.conname = v_constraint and (k.conrelid = p_table or k.conrelid in (select relid from pg_partition_tree(p_table)))
            union all
            select from pg_class i join pg_index x on x.indexrelid = i.oid
            where i.relname = v_constraint and (x.indrelid = p_table or x.indrelid in (select relid from pg_partition_tree(p_table))))) end;
        fault := case when decided then 'was stopped by a constraint only: ' else 'cannot be decided: ' end || v_message;
      when others then
        get stacked diagnostics v_message = message_text;
        -- Citus gives no row to another tenant: also a refusal.
        if not (v_distributed and sqlstate = '0A000' and v_message ~ 'partition value') then
          fault := 'cannot be decided: ' || v_message;
          decided := false;
        end if;
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
  v_counted uuid[];
  v_counts bigint[];
  v_other uuid;
  v_owner regrole;
  v_narrowed name;
  v_out audit.outcome;
begin
  perform audit.require_unfiltered('app.tenants');
  -- There an UPDATE of every shard waits for any other: runs at the same time would end each other's by time-outs.
  if p_check = 'proof_writes' and app.is_distributed() then
    perform pg_advisory_xact_lock(hashtext('audit.proof_writes'));
  end if;
  v_tenants := audit.sample_tenants(p_tenant_id, case when p_check = 'proof_writes' then least(p_sample, 5) else p_sample end);
  for v_table in select relid, tenant_column as col from audit.relations() where not is_child loop
    v_out := row(p_check, v_table.relid, 0, 0, 0, 0, '{}'::audit.observation[]);
    -- Its owner chose what reading it calls, so it is not read; that must not keep the others from being proved.
    select c.relowner into v_owner from pg_class c where c.oid = v_table.relid;
    if v_owner <> 'tms_owner'::regrole then
      v_out.errors := 1;
      v_out.kept := array[row('error', null, v_table.relid, '{}'::jsonb,
        format('nothing is proved of %s: it is owned by %s, and the audit reads no table that somebody else owns', v_table.relid, v_owner),
        format('alter table %1$s owner to tms_owner; select app.isolate(%1$L);', v_table.relid))::audit.observation];
      return next v_out;
      continue;
    end if;
    perform audit.require_unfiltered(v_table.relid);
    -- Tighter than the template is no breach, and no proof either.
    if not (has_table_privilege('tms_app', v_table.relid, 'select')
            and has_schema_privilege('tms_app', (select relnamespace from pg_class where oid = v_table.relid), 'usage')) then
      v_out.infos := 1;
      v_out.kept := array[row('info', null, v_table.relid, '{}'::jsonb, 'tms_app may not read the table: no request is shown a row of it', '-- where requests work with it: app.isolate() grants what they need')::audit.observation];
      return next v_out;
      continue;
    end if;
    if p_check = 'proof_rows' then
      -- Counted by itself: of a single tenant Citus would send the comparison to its worker, too, where there is no audit.
      execute format(
        $q$select coalesce(sum(n), 0), array_agg(tenant_id), array_agg(n)
           from (select %1$I as tenant_id, count(*) as n from %2$s where %1$I = any ($1) group by 1) c$q$, v_table.col, v_table.relid)
      into v_out.checked, v_counted, v_counts using v_tenants;
      -- Where somebody's own policy narrows it, a tenant sees less than it has, and nothing of others: policy_extra names it.
      v_narrowed := (
        select min(x.polname) from pg_policy x
        where x.polrelid = v_table.relid and not x.polpermissive and x.polroles = array['tms_app'::regrole::oid] and x.polname <> 'tenant_only');
      select count(*) filter (where not n.arrowed), count(*) filter (where n.arrowed),
        (array_agg(row(case when n.arrowed then 'warning' else 'error' end, v.tenant_id, v_table.relid::text, jsonb_build_object(v_table.col, v.tenant_id),
          format('inside the tenant tms_app sees %s rows, %s of them the tenant''s, and the tenant has %s', v.visible, v.own, coalesce(c.n, 0)),
          case when n.arrowed then format('-- unless it is meant to:%sdrop policy %I on %s;', E'\n', v_narrowed, v_table.relid)
               else format('select app.write_policies(%L, %L);', v_table.relid, v_table.col) end)::audit.observation))[1:1000]
      into v_out.errors, v_out.warnings, v_out.kept
      from audit.visible_rows(v_table.relid, v_table.col, v_tenants) v
      left join unnest(v_counted, v_counts) c (tenant_id, n) using (tenant_id)
      cross join lateral (select v_narrowed is not null and v.visible = v.own and v.own < coalesce(c.n, 0)) n (arrowed)
      where v.visible <> coalesce(c.n, 0) or v.own <> coalesce(c.n, 0);
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
            case when w.decided then format('select app.write_policies(%L, %L);', v_table.relid, v_table.col)
                 else '-- what stops it comes before the policy is asked: look why, and try it by hand with a row that gets past' end
            )::audit.observation) filter (where w.fault is not null), '{}')
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
--! Included audit/findings.sql
create or replace function audit.run_check(p_check text, p_tenant text default null, p_sample int default 20)
returns table ("check" text, category text, severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
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
--! EndIncluded audit/findings.sql
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

-- What a later run did not ask about, or could not, is open still. When each check was last asked is found once for each table
-- and tenant, and each finding looked up there: their number times that of the runs is too much.
create view audit.findings with (security_invoker = true) as
  with asked as materialized (
    select run.check_name, run.about, coalesce(run.tenant_id::text, case grouping(run.tenant_id) when 1 then 'any' else 'all' end) as tenants,
      max(run.started_at) as last
    from (
      select f.check_name, f.about, r.tenant_id, r.started_at
      from (
        -- What is said of a tenants' table is taken back by a run that read that table.
        select k.check_name, k.about, c.family = 'schema' or k.about not in (select relid::text from audit.relations()) as by_any
        from (select distinct check_name, coalesce(relation, '') as about from audit.found) k
        join audit.checks() c on c."check" = k.check_name
      ) f
      join audit.results x on x.check_name = f.check_name
      join audit.runs r on r.id = x.run_id and r.finished_at is not null
      where x.run_id > (select min(run_id) from audit.found)
      group by f.check_name, f.about, r.id
      having bool_or(f.by_any or x.relation = f.about) and not bool_or(x.failed and x.relation in ('', f.about))
    ) run
    group by grouping sets ((run.check_name, run.about, run.tenant_id), (run.check_name, run.about))
  )
  select "check", category, severity, tenant_id, relation, "row", detail, remedy, run_id, n
  from (
    select distinct on (f.check_name, f.tenant_id, f.relation, f."row", f.detail)
      f.check_name as "check", f.category, f.severity, f.tenant_id, f.relation, f."row", f.detail, f.remedy, f.run_id, f.n
    from (
      select x.*, coalesce(x.relation, '') as about, c.category, c.family, r.finished_at, r.tenant_id as run_tenant_id
      from audit.found x
      join audit.runs r on r.id = x.run_id and r.finished_at is not null
      join audit.checks() c on c."check" = x.check_name
    ) f
    -- One lookup each: an OR of them would be tried pair by pair.
    where not exists (select from asked a where (a.check_name, a.about, a.tenants) = (f.check_name, f.about, 'all') and a.last >= f.finished_at)
      and not exists (select from asked a where (a.check_name, a.about, a.tenants) = (f.check_name, f.about, f.tenant_id::text) and a.last >= f.finished_at)
      and not exists (select from asked a where (a.check_name, a.about, a.tenants) = (f.check_name, f.about, f.run_tenant_id::text) and a.last >= f.finished_at)
      and not exists (
        select from asked a
        where (a.check_name, a.about, a.tenants) = (f.check_name, f.about, 'any') and f.tenant_id is null and f.family = 'schema' and a.last >= f.finished_at)
    order by f.check_name, f.tenant_id, f.relation, f."row", f.detail, f.run_id desc
  ) found
  order by array_position(array['error', 'warning', 'info'], severity), "check", run_id desc, n;
comment on view audit.findings is
$$The open findings, worst first; at most a thousand of each check and run. A finding is closed by a later run of all tenants, of its tenant, or
of the tenant whose run found it (of schema checks: by any), in which its check could run.$$;

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
set local citus.enable_ddl_propagation = on;
