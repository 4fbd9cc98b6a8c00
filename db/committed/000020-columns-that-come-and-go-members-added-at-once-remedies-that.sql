--! Previous: sha1:4255508eb1e7121e46a4c5eb26b93fe0961e3e26
--! Hash: sha1:de5e8e5f790f4d72351bc77f593e16fb8358b708
--! Message: columns that come and go, members added at once, remedies that bring back every right, keys of many tables

set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
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
  v_needed text;
begin
  if not exists (select from pg_attribute where attrelid = p_table and attname = 'tenant_id' and not attisdropped) then
    if v_default is null then
      raise exception using errcode = 'object_not_in_prerequisite_state',
        message = format('%s cannot be adopted: there is no default tenant (or app.maintenance is off)', p_table),
        hint = $q$as tms_registrar: select api.ensure_default_tenant('default', 'Default Tenant');$q$;
    end if;
    -- A constant default fills the old rows without rewriting the table; it must not outlive the fill.
    execute format('alter table %s add column tenant_id uuid not null default %L', p_table, v_default);
    execute format('alter table %s alter column tenant_id drop default', p_table);
  end if;

  select c.conname, string_agg(quote_ident(a.attname), ', ' order by k.n) filter (where a.attname <> 'tenant_id'),
    (select string_agg(format('alter table %s drop constraint %I; -- %s', f.conrelid::regclass, f.conname, pg_get_constraintdef(f.oid)), E'\n' order by f.oid)
     from pg_constraint f where f.conindid = c.conindid and f.contype = 'f' and f.conparentid = 0)
  into v_key, v_columns, v_needed
  from pg_constraint c
  cross join unnest(c.conkey) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum
  where c.conrelid = p_table and c.contype = 'p'
    and not exists (
      select from pg_attribute t
      where t.attrelid = c.conrelid and t.attname = 'tenant_id' and t.attnum = c.conkey[1])
  group by c.oid;
  if v_needed is not null then
    raise exception using errcode = 'dependent_objects_still_exist',
      message = format('%s cannot be adopted: foreign keys need its primary key as it is', p_table),
      hint = E'Drop them, adopt the tables on both sides, and add them again with tenant_id in both lists:\n' || v_needed;
  elsif v_key is not null then
    execute format('alter table %s drop constraint %I, add constraint %I primary key (tenant_id, %s)', p_table, v_key, v_key, v_columns);
  end if;
end
$$;

comment on function app.adopt(regclass) is
  'Gives a single-tenant table a tenant_id, filled with the default tenant, and puts it first in the primary key. One that is there stays as it is. Raises 55000 without a default tenant to fill it with, 2BP01 while other tables'' foreign keys need the old primary key.';
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
  v_faults text;
  v_table regclass;
  v_partition regclass;
begin
  if p_adopt then
    perform app.adopt(p_table);
  end if;

  select string_agg(f.fault, '; ') into v_faults from app.table_faults(p_table) f;
  if v_faults is not null then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = format('%s cannot be isolated: %s', p_table, v_faults),
      hint = case when exists (select from pg_attribute where attrelid = p_table and attname = 'tenant_id' and not attisdropped)
        then format('before it, in the same transaction: select remedy from audit.run_check(''table_rules'') where relation = %L;', p_table)
        else format('where all rows are the default tenant''s: select app.isolate(%L, true); else add and fill tenant_id first', p_table) end;
  end if;

  -- Partitions have their table's keys, children by INHERITS have not.
  for v_table in
    with recursive tree as (
      select p_table::oid as relid
      union
      select i.inhrelid from tree t join pg_inherits i on i.inhparent = t.relid
    )
    select c.oid::regclass from tree t join pg_class c on c.oid = t.relid
    where (c.oid = p_table or not c.relispartition) and not exists (
      select from pg_constraint
      where conrelid = c.oid and confrelid = 'app.tenants'::regclass and contype = 'f' and confdeltype = 'c'
        and conkey = array(select attnum from pg_attribute where attrelid = c.oid and attname = 'tenant_id'))
  loop
    execute format('alter table %s add foreign key (tenant_id) references app.tenants (id) on delete cascade', v_table);
  end loop;

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
adds the foreign key to app.tenants. Safe to run again. With p_adopt a missing tenant_id is added and filled
with the default tenant, as of a single-tenant past, and put in front of the primary key; one that is there is only put there.
Raises 55000 with the rules that the table breaks (app.table_faults lists them).
  select app.isolate('app.invoices');$$;
revoke all on function app.isolate(regclass, boolean) from public;
--! EndIncluded context/isolate.sql
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
    -- One without the column is no tenants' table: nothing looks at it in the child's place.
    select a.attnotnull
    from pg_inherits h join pg_attribute a on a.attrelid = h.inhparent and a.attname = 'tenant_id' and not a.attisdropped
    where h.inhrelid = p_table
  )
  select 'it is not a table', false from pg_class where oid = p_table and relkind not in ('r', 'p')
  union all
  select 'it has no column tenant_id', false where not exists (select from tenant_column)
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
  where conrelid = p_table and conkey[1] = (select attnum from tenant_column) and conexclop[1] <> '=(uuid,uuid)'::regoperator
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
  v_provider constant text := coalesce(p_new_provider, p_auth_provider);
  v_user app.users;
begin
  perform app.require_member_admin(v_caller.role, p_new_role);
  insert into app.users (tenant_id, auth_provider, auth_subject, email, display_name, role)
  values (v_caller.tenant_id, v_provider, p_new_subject, p_new_email, p_new_display_name, p_new_role)
  on conflict on constraint users_tenant_identity_key do nothing
  returning * into v_user;
  if v_user.id is null then
    -- In the order of api.remove_member(): two who add each other, or remove who adds them, would wait for each other.
    perform from app.users
    where tenant_id = v_caller.tenant_id
      and (id = v_caller.user_id or (auth_provider = v_provider and auth_subject = p_new_subject))
    order by id for no key update;
    update app.users u
    set email = coalesce(p_new_email, u.email), display_name = coalesce(p_new_display_name, u.display_name),
        role = p_new_role, removed_at = null, updated_at = greatest(now(), u.updated_at)
    -- Whoever is being removed meanwhile does not come back by this.
    where u.tenant_id = v_caller.tenant_id and u.auth_provider = v_provider and u.auth_subject = p_new_subject
      and u.removed_at is not null and u.id <> v_caller.user_id
    returning * into v_user;
  end if;
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
  set (hits, reset_at) = (
    select case when ended then 1 else least(r.hits, 2147483646) + 1 end,
           -- Never later than a window from now: where the clock was set back, it would keep out who waited as long as told.
           case when ended then excluded.reset_at else least(r.reset_at, excluded.reset_at) end
    -- Once: it ends between two looks at the clock, too.
    from (select r.reset_at <= clock_timestamp()) w (ended))
  returning hits, ceil(extract(epoch from reset_at))::bigint
$$;
comment on function api.take_rate_limit(text, text, int) is
  'Counts one request of an identity in a bucket''s fixed window: hits in this window with this one, and when it ends (Unix seconds, rounded up).';
revoke all on function api.take_rate_limit(text, text, int) from public;
grant execute on function api.take_rate_limit(text, text, int) to tms_service;
reset role;
--! EndIncluded api/service/take_rate_limit.sql
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
  -- Locks it, as every look does: a column that is added between the plan below and app.tenant_page()'s own look would not fit the plan.
  perform from app.tenants where false;
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
  v_tenant := app.insert_tenant(p_organization_name, p_organization_slug, p_slug_base, status, p_registration);
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
--! Included audit/schema.sql
-- The isolation audit. Everything here is tms_owner's. What must run as somebody else is in control, where no member of a
-- role can name what the role owns: what reads the tenants' rows is tms_auditor's, what acts inside a tenant tms_app's. Both
-- need the right to create while their functions are made; audit/end.sql takes it back.
create schema if not exists audit;
comment on schema audit is 'The tenant-isolation audit: call audit.run(), then read audit.findings';
revoke all on schema audit from public;
grant usage on schema audit to tms_auditor, tms_registrar;
grant create, usage on schema control to tms_app, tms_auditor;

-- What a check says of one object it looked at. detail is null where the object is in order, so that examined and found
-- are counted from the same rows.
do $$
begin
  if to_regtype('audit.observation') is null then
    create type audit.observation as (severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text);
    -- One check on one relation: rows examined, findings by severity, and the thousand worst findings themselves.
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
comment on table audit.found is 'The thousand worst findings of each check, kept for the last hundred runs and while any of their run is open. Key columns only, no payload.';

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
--! Included audit/catalog.sql
create or replace function audit.severity_rank(p_severity text)
returns int
language sql
immutable
return array_position(array['error', 'warning', 'info'], p_severity);
comment on function audit.severity_rank(text) is 'The severities in order: 1 is the worst.';

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
    'A policy hides rows of a table from the audit, or the audit''s results from their readers.', 'What is hidden cannot be found; the data checks then refuse to run.', 'Restore the auditor policy; drop restrictive policies that reach tms_auditor.'),
  -- schema: tables and keys
  ('table_missing', 'isolation_config', 'error', 'schema', true,
    'One of the service''s own tables, or a column of them, is not there, is of another type, has a nondeterministic collation (different strings compare equal), or may be null and should not be.', 'What is not there, or is something else, is not examined.', 'Restore it, or alter the column back.'),
  ('table_rules', 'isolation_config', 'error', 'schema', true,
    'A table, or one of its partitions or children, breaks a rule of app.isolate(): tenant_id nullable, a key that does not begin with it or does not compare it with =, a foreign key without it, to another tenant''s slug or in the way of another''s deletion, or that would change it. A unique key over all tenants, or a tenant''s id as the default of tenant_id, is a warning.', 'Keys look past policies: they tell one tenant of another''s values, and let rows point across.', 'Correct the key, then app.isolate().'),
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
    'A publication sends tenants'' rows, or a subscription writes them.', 'A subscriber gets every tenant''s; what it is sent is written past policies and keys.',
    'Drop the table from it, unless the subscriber is a replica of the whole.'),
  -- schema: rights
  ('table_grants', 'isolation_config', 'error', 'schema', true,
    'A right on a tenants'' table beyond the template, or the auditor''s own missing.', 'TRUNCATE, REFERENCES and TRIGGER know no policy; a right of PUBLIC is everybody''s.', 'Revoke it.'),
  ('other_grants', 'isolation_config', 'error', 'schema', true,
    'Rights on the service''s bookkeeping, the audit''s results, views that run as their owner, or sequences.', 'Whoever writes the results of the audit decides what it finds.', 'Revoke them.'),
  ('schema_grants', 'isolation_config', 'error', 'schema', true,
    'CREATE, TEMP or USAGE on a schema or the database beyond what the roles need; CREATE for everybody on any schema.', 'Whoever can create can put an object in another''s place.', 'Revoke it.'),
  ('default_privileges', 'isolation_config', 'error', 'schema', true,
    'Default privileges that give tables, functions or large objects away as they are made: to everybody or a role of the service, or by one of the five to anybody else; in a schema of somebody else''s, or where policies still narrow, a warning.', 'A table is open from the moment it is made until somebody isolates it.', 'Revoke them.'),
  ('service_reach', 'isolation_config', 'error', 'schema', true,
    'The service''s login has a right on a table that it can get at, or on a function outside api; or api holds something else.', 'A login that can only call api functions cannot set a tenant and read it.', 'Revoke it.'),
  ('registrar_reach', 'isolation_config', 'error', 'schema', true,
    'tms_registrar reaches a tenants'' table beyond app.tenants and app.users.', 'It crosses tenants by design; its functions must have nothing to carry.', 'Revoke it.'),
  ('app_reach', 'isolation_config', 'error', 'schema', true,
    'tms_app or tms_registrar has a right on a table, view or foreign table that is no tenants'' table, or tms_app on a large object; a warning where requests only read it, or only write.',
    'What lies outside has no policy: whatever a request writes there, or somebody copies there, is every tenant''s.',
    'Revoke it; or give the table a tenant_id and call app.isolate().'),
  ('system_grants', 'isolation_config', 'error', 'schema', true,
    'A right of PUBLIC or of one of the five roles on a table, function, schema or parameter that Postgres ships, on a function of an extension, or on a foreign server, beyond those they come with; of anybody else on the statistics a warning.',
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
    'A trigger on a tenants'' table that a foreign key''s action can fire reads or writes tables, and its function is not SECURITY DEFINER.', 'Fired so, it runs as the table''s owner: before the row it reaches every tenant''s rows, after it (on Postgres 18) none.', 'Make its function a definer of tms_app, as docs/extending.md shows.'),
  ('function_search_path', 'isolation_config', 'error', 'schema', true,
    'A function without a fixed search_path, or with pg_temp not in the last place; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'A temporary table of the same name takes the place of the real one.', 'Set it.'),
  ('function_settings', 'isolation_config', 'error', 'schema', true,
    'A function comes with a setting for the role, the tenant, or how policies apply; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'It then works in a tenant of its own choosing.', 'Reset it.'),
  ('function_body', 'isolation_config', 'error', 'schema', true,
    'A function sets the tenant for the whole session, opens the tables to their owner, or changes the role; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'On a pooled connection the next request is another tenant''s.', 'Use app.set_tenant().'),
  ('function_public', 'isolation_config', 'error', 'schema', true,
    'PUBLIC, or another role than planned, may execute a function; or requests may execute one with the rights of somebody else (a warning), or one written in C.', 'Functions are executable by everybody until that is revoked.', 'Revoke it.'),
  ('function_leakproof', 'isolation_config', 'error', 'schema', true,
    'A function claims to be LEAKPROOF (an extension''s, Postgres''s own that somebody marked, or one elsewhere that none of the service''s roles may execute: a warning); or the comparison of tenant ids no longer is.', 'The planner runs leakproof conditions before policies.', 'Take the mark away.'),
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
--! Included audit/proved.sql
-- What the catalog proves of every row, so that no row need be read.
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

-- The rows of children by INHERITS are read with their parent's and bound by none of its keys. Partitions are.
create or replace function audit.is_inherited(p_table regclass)
returns boolean
language sql
stable
return exists (
  select from pg_inherits h join pg_class p on p.oid = h.inhparent where p.oid = p_table and p.relkind = 'r');
comment on function audit.is_inherited(regclass) is 'Whether a table has children by INHERITS.';

-- From Postgres 18 on attnotnull is true of a NOT NULL that is not yet validated, too.
create or replace function audit.is_never_null(p_table regclass, p_column name)
returns boolean
language sql
stable
return exists (
  select from pg_attribute a
  where a.attrelid = p_table and a.attname = p_column and a.attnotnull and not audit.is_inherited(p_table) and not exists (
    select from pg_constraint k where k.conrelid = p_table and k.contype = 'n' and k.conkey = array[a.attnum] and not k.convalidated));
comment on function audit.is_never_null(regclass, name) is 'Whether Postgres itself holds that a column has no null.';

-- A valid unique key over these columns, or fewer of them, is enforced whatever triggers do.
create or replace function audit.is_unique(p_table regclass, p_columns name[])
returns boolean
language sql
stable
return exists (
  select from pg_index i
  where i.indrelid = p_table and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null
    and (select array_agg(a.attname) from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) k join pg_attribute a on a.attrelid = p_table and a.attnum = k)
        <@ p_columns
    and not exists (select from unnest(p_columns) c where not audit.is_never_null(p_table, c)));
comment on function audit.is_unique(regclass, name[]) is 'Whether Postgres itself holds that no two rows of a table share these columns.';
--! EndIncluded audit/proved.sql
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
    when bool_or(pg_get_expr(p.polqual, p.polrelid) = 'true') then null
    else format('%s does not see all of it: no policy lets it read every row', current_user) end
  from pg_policy p
  where p.polrelid = p_table and p.polcmd in ('r', '*') and p.polqual is not null -- one that only checks what is written hides nothing
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
    $q$-- give one of the tenants another slug, then restore the index:
create unique index tenants_slug_key on app.tenants (slug) where slug is not null;$q$),

  ('default_tenant_twice', array['app.tenants'], null, null,
    'select count(*) from app.tenants',
    $q$select id as tenant_id, jsonb_build_object('id', id) as key, 'is_default is true here and in an older tenant too' as detail
       from (select id, row_number() over (order by created_at, id) as n from app.tenants where is_default) d where n > 1 and ($1 is null or id = $1)$q$,
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
  select case when p_owner in ('tms_app', 'tms_registrar', 'tms_auditor') then format(
    -- What they own there they may not name.
    case when p_owner <> 'tms_registrar' and p_statement like '% control.%'
      then 'grant usage on schema control to %1$I; set role %1$I; %2$s reset role; revoke usage on schema control from %1$I;'
      else 'set role %1$I; %2$s reset role;' end, p_owner, p_statement) else p_statement end
$$;
comment on function audit.by_owner(name, text) is 'A remedy that only the owner of an object may execute, as tms_owner can paste it.';

-- Who is given a thing keeps no right on it but an owner's, which goes along to the next owner.
create or replace function audit.by_giving_back(p_object text, p_owner name)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select format('alter %s owner to tms_owner;', p_object) || coalesce(
    (select format(' grant %s on %s to %I;', t.rights, regexp_replace(p_object, '^view ', 'table '), p_owner)
     from (values
       ('tms_service', 'usage', 'schema api'),
       ('tms_app', 'usage', 'schema (api|app)'),
       ('tms_app', 'select', 'table app\.tenants'),
       ('tms_registrar', 'usage', 'schema (api|app|audit|control)'),
       ('tms_registrar', 'select, insert, update, delete', 'table (app\.(tenants|users)|control\.(idempotency_keys|rate_limits))'),
       ('tms_registrar', 'select, insert, update', 'table control\.tenant_counts'),
       ('tms_registrar', 'select, insert', 'table control\.deployment'),
       ('tms_auditor', 'usage', 'schema (api|app|audit)'),
       ('tms_auditor', 'select', 'table app\.tenants|(table|view) audit\..*')) as t (role, rights, objects)
     where t.role = p_owner and p_object ~ format('^(%s)$', t.objects)),
    (select format(' select app.isolate(%L);', r.relid) from audit.relations() r
     where p_owner in ('tms_app', 'tms_auditor') and 'table ' || r.relid = p_object and r.tenant_column = 'tenant_id' and not r.is_child), '')
$$;
comment on function audit.by_giving_back(text, name) is 'A remedy that makes tms_owner the owner, and gives the one that it was the rights of the template again.';

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
      where has_table_privilege(r.oid, t.tgrelid, 'delete, truncate') or has_any_column_privilege(r.oid, t.tgrelid, 'insert, update'))
    union all
    select d.refobjid from pg_depend d join pg_proc a on a.oid = d.objid and a.prokind = 'a'
    where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384
      and exists (select from ours r where has_schema_privilege(r.oid, a.pronamespace, 'usage') and has_function_privilege(r.oid, a.oid, 'execute'))
  )
  select f.oid, w.name, n.nspname, o.rolname, f.prosecdef, f.proconfig, coalesce(pg_get_function_sqlbody(f.oid), f.prosrc), f.proleakproof,
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
    -- One that somebody packed into an extension keeps the rights of its owner; what Postgres ships belongs to a superuser.
    and (f.oid not in (select audit.of_extensions('pg_proc')) or f.prosecdef and o.rolname = any (audit.our_roles()))
$$;
comment on function audit.functions() is
$$The functions that the audit examines: all but those of Postgres and of extensions, of these only what runs as one of the five roles. granted: who may execute it beside its owner. own: in one of
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
    order by audit.severity_rank(k.severity), p.n, k.relation, k."row"::text;
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
    select 'scan ' || r.relid, 2, row_number() over (order by r.relid::text) from audit.relations() r
    -- A partition or a child is read with its table, and by itself for what its table does not have.
    where (not r.is_child or exists (
        select from pg_constraint k
        where k.conrelid = r.relid and (
          k.contype = 'f' and k.conparentid = 0 and k.confrelid is distinct from to_regclass('app.tenants')
          or k.contype = 'c' and k.coninhcount = 0 and not (k.convalidated and coalesce((to_jsonb(k) ->> 'conenforced')::boolean, true)))))
      and p_family is distinct from 'schema' and not p_gate
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
           (array_agg(o order by audit.severity_rank(o.severity), o.relation, o."row"::text) filter (where o.detail is not null))[1:1000]
         from audit.%I() o left join audit.relations() r on r.relid::text = o.relation
         where o.relation ~ '^\d' is not true -- a number stands for what was dropped since the snapshot was taken
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
  v_limit bigint;
begin
  begin
    outcomes := array(select o from audit.examine(p_pass, p_tenant_id, p_sample) o);
  exception when others or query_canceled or assert_failure then
    get stacked diagnostics v_state = returned_sqlstate, failure = message_text, v_hint = pg_exception_hint;
    v_limit := (select setting::bigint from pg_settings where name = 'statement_timeout');
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
          -- Ours are SQL; Postgres's are sentences.
          case when v_hint like '%;' then v_hint
               else format(E'%s-- mend the cause, then:\nselect * from audit.run_check(%L);', regexp_replace(v_hint, '(.+)', E'-- \\1', 'g') || case when v_hint <> '' then E'\n' end, c) end)::audit.observation])::audit.outcome
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
  where id = p_run and p_pass = any (pending) and started_in <> pg_current_xact_id()
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
        + row_number() over (partition by o."check" order by audit.severity_rank(f.severity), f.relation, f.n) as n
    from unnest(v_outcomes) o
    cross join lateral unnest(o.kept) with ordinality as f (severity, tenant_id, relation, "row", detail, remedy, n)
  ) k
  where k.n <= 1000 or v_failure is not null;

  insert into audit.results (run_id, check_name, relation, checked, errors, warnings, infos, elapsed, failed)
  select p_run, o."check", coalesce(o.relation, ''), max(o.checked), sum(o.errors), sum(o.warnings), sum(o.infos),
    clock_timestamp() - v_started, v_failure is not null
  from unnest(v_outcomes) o
  group by o."check", coalesce(o.relation, '');

  -- Somebody's trigger on these tables may take the rows, and a run without them would be clean.
  if exists (
    select from unnest(v_outcomes) o
    where not exists (select from audit.results r where r.run_id = p_run and r.check_name = o."check" and r.relation = coalesce(o.relation, ''))
      or cardinality(o.kept) > 0 and not exists (select from audit.found f where f.run_id = p_run and f.check_name = o."check"))
  then
    raise exception using errcode = 'object_not_in_prerequisite_state', message = format('what the pass %L found was not stored', p_pass),
      hint = 'Look for triggers of somebody''s own: select * from audit.run_check(''function_changed'');';
  end if;

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

  -- What was found of a table by a test that it has no more, as the constraint was validated or dropped, is asked by reading it.
  insert into audit.results (run_id, check_name, relation, checked, errors, warnings, infos, elapsed)
  with of_rows as (
    select c."check" from audit.checks() c where c.family = 'data' and c."check" not in (select check_name from audit.data_checks())
  ), of_partitions as (
    select r.relid::text as name, coalesce(pg_partition_root(r.relid), (select inhparent from pg_inherits where inhrelid = r.relid order by inhseqno limit 1))::regclass::text as whole
    from audit.relations() r where r.is_child
  )
  select p_run, f.check_name, f.relation, 0, 0, 0, 0, interval '0'
  from (select distinct check_name, relation from audit.found) f left join of_partitions p on p.name = f.relation
  -- A check that a scan answers stands there under its own table, and where that scan failed under the scan's.
  where (f.check_name in (select "check" from of_rows) or (f.check_name, f.relation) in (select check_name, answered_by from audit.data_checks())) and (
    select bool_and(not x.failed) from audit.results x
    where x.run_id = p_run and x.relation in (f.relation, p.whole) and x.check_name in (select "check" from of_rows))
  on conflict do nothing;

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
--! Included audit/views.sql
create or replace view audit.trend with (security_invoker = true) as
  select id as run_id, started_at, finished_at, extract(epoch from finished_at - started_at)::numeric(12, 3) as seconds,
    case when finished_at is null then 'unfinished' when not_run > 0 then 'incomplete' when errors > 0 then 'errors' else 'clean' end as result,
    tenant, family, checks, rows_checked, errors, warnings, infos, not_run, run_by
  from audit.runs
  order by id desc;
comment on view audit.trend is 'Every run, newest first. incomplete: a check could not run; unfinished: the run was cancelled, or goes on.';

create or replace view audit.last_run with (security_invoker = true) as
  select * from audit.trend where finished_at is not null order by run_id desc limit 1;
comment on view audit.last_run is 'The last finished run.';

create or replace view audit.last_checks with (security_invoker = true) as
  select r.check_name as "check", c.category, case when bool_or(r.failed) then 'error' else c.severity end as severity,
    sum(r.checked)::bigint as checked, sum(r.errors)::bigint as errors, sum(r.warnings)::bigint as warnings, sum(r.infos)::bigint as infos,
    -- A schema check is one pass over all; each of its rows has the time of it.
    case c.family when 'schema' then max(r.elapsed) else sum(r.elapsed) end as elapsed, bool_or(r.failed) as failed
  from audit.last_run l
  join audit.results r on r.run_id = l.run_id
  left join audit.checks() c on c."check" = r.check_name
  group by r.check_name, c.category, c.severity, c.family
  order by errors desc, warnings desc, "check";
comment on view audit.last_checks is 'Each check of the last finished run: rows examined beside findings.';

-- What a later run did not ask about, or could not, is open still. When each check was last asked is found once for each table
-- and tenant, and each finding looked up there: their number times that of the runs is too much.
create or replace view audit.findings with (security_invoker = true) as
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
  order by audit.severity_rank(severity), "check", run_id desc, n;
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
               order by audit.severity_rank(f.severity), c.n, f.n)
      from audit.found f
      join audit.checks() with ordinality as c ("check", category, severity, family, gate, finds, why, mend, n) on c."check" = f.check_name
      where f.run_id = r.id), '[]'),
    'summary', json_build_object('checks', r.checks, 'errors', r.errors, 'warnings', r.warnings))
  from audit.runs r
  where r.id = coalesce(p_run, (select max(id) from audit.runs where finished_at is not null))
$$;
comment on function audit.report(bigint) is 'A run as JSON, in the shape of npm run audit -- --format json; null: the last finished one.';
--! EndIncluded audit/views.sql
--! Included audit/proof.sql
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
  v_spare uuid;
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
  -- Where there is a single tenant the other one is made up: a refusal does not ask whether it exists.
  v_spare := coalesce((select id from app.tenants where id is distinct from v_tenants[1] limit 1), gen_random_uuid());
  -- Not those that were dropped since the snapshot was taken.
  for v_table in select relid, tenant_column as col from audit.relations() where not is_child and relid::text !~ '^\d' loop
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
      from audit.visible_rows(v_table.relid, v_table.col, array[null, gen_random_uuid()] || array(
        -- Tools make rows with it, and so it may be somebody's.
        select n from (values (uuid '00000000-0000-0000-0000-000000000000')) v (n) where not exists (select from app.tenants where id = n))) v;
    else
      for i in 1 .. greatest(cardinality(v_tenants), 1) loop
        v_other := coalesce(case when cardinality(v_tenants) > 1 then v_tenants[i % cardinality(v_tenants) + 1] end, v_spare);
        select v_out.checked + count(*), v_out.errors + count(*) filter (where w.fault is not null and w.decided),
          v_out.warnings + count(*) filter (where w.fault is not null and not w.decided),
          v_out.kept || coalesce(array_agg(row(case when w.decided then 'error' else 'warning' end, v_tenants[i], v_table.relid::text,
            jsonb_build_object('attempt', w.attempt), format('inside the tenant tms_app tried to %s, which %s', w.attempt, w.fault),
            case when w.decided then format('select app.write_policies(%L, %L);', v_table.relid, v_table.col)
                 when w.fault ~ 'permission denied for sequence'
                   then format('grant usage on all sequences in schema %s to tms_app;', (select relnamespace::regnamespace from pg_class where oid = v_table.relid))
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
--! Included audit/checks/functions.sql
-- What is used is followed through a hash table, which is made as large as memory allows: with the audit's own, clearing it takes most of the time.
create or replace function audit.check_function_owner()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
set work_mem = '4MB'
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.owner <> all (case f.schema when 'api' then array['tms_app', 'tms_registrar'] when 'app' then array['tms_owner', 'tms_app', 'tms_registrar']
                              when 'audit' then array['tms_owner'] else array['tms_owner', 'tms_app', 'tms_auditor'] end)
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
  -- Followed for all tables at once: for one at a time the planner would expect as many rows, and clear a table of their size, for each.
  select 'error', null, r.relid::text, case when c.name is null then '{}' else jsonb_build_object('uses', c.name) end,
    case when not (o.rolname in ('tms_app', 'tms_registrar', 'tms_auditor') or pg_has_role(o.oid, to_regrole('tms_owner'), 'member'))
      then format('what is written to the table is made or tested by %s, which belongs to %s: it runs with the rights of whoever writes', c.name, o.rolname) end,
    format('alter %s %s owner to tms_owner; -- and read what it does', c.kind, c.name)
  from audit.relations() r
  left join (
    with recursive used (relid, classid, objid) as (
      select t.relid, x.* from audit.relations() t cross join lateral (
        select 'pg_class'::regclass::oid, t.relid::oid -- the types of columns, the key of partitions
        union all
        select 'pg_attrdef'::regclass, oid from pg_attrdef where adrelid = t.relid
        union all
        select 'pg_constraint'::regclass, oid from pg_constraint where conrelid = t.relid
        union all
        select 'pg_trigger'::regclass, oid from pg_trigger where tgrelid = t.relid
        union all
        select 'pg_class'::regclass, indexrelid from pg_index where indrelid = t.relid
        union all
        select 'pg_policy'::regclass, oid from pg_policy where polrelid = t.relid
        union all
        select 'pg_statistic_ext'::regclass, oid from pg_statistic_ext where stxrelid = t.relid
      ) x
      union
      -- And what these use: an operator's function, a domain's tests, what a domain, an array or a composite type is of.
      select u.relid, n.* from used u cross join lateral (
        select d.refclassid, d.refobjid from pg_depend d
        where d.classid = u.classid and d.objid = u.objid and d.refobjid >= 16384
          and d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass)
        union all
        select 'pg_constraint'::regclass, oid from pg_constraint where u.classid = 'pg_type'::regclass and contypid = u.objid
        union all
        select 'pg_class'::regclass, typrelid from pg_type where u.classid = 'pg_type'::regclass and oid = u.objid
      ) n
    )
    select u.relid, 'routine' as kind, f.oid::regprocedure::text as name, f.proowner as owner
    from used u join pg_proc f on f.oid = u.objid
    where u.classid = 'pg_proc'::regclass and f.oid not in (select audit.of_extensions('pg_proc'))
    union all
    select u.relid, 'domain', t.oid::regtype::text, t.typowner
    from used u join pg_type t on t.oid = u.objid and t.typtype = 'd'
    where u.classid = 'pg_type'::regclass and t.oid not in (select audit.of_extensions('pg_type'))
  ) c on c.relid = r.relid
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
        '^app\.(schema_version|last_audit)\(', '^control\.tg_tenants__(count|record)\(', '^audit\.(has_rows|start_run|record_pass|finish_run|examine|find_tenant|try_writes|visible_rows)\(']))
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
           case when not f.reached then format('; none of the service''s roles may execute it, but %s', case when 'public' = any (string_to_array(f.granted, ' ')) then format('whoever may use the schema %I', f.schema)
             else coalesce(nullif(replace(f.granted, ' ', ', '), ''), 'its owner only') end) end) end,
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
      -- No key's action inserts, and few update.
      and (t.tgtype & 8 = 8 or t.tgtype & 16 = 16 and exists (
        select from pg_constraint k where k.conrelid = r.relid and (k.confdeltype in ('n', 'd') or k.confupdtype in ('c', 'n', 'd'))))
      then format('where a foreign key''s action fires the trigger, %s runs as %s %s', p.oid::regprocedure, c.relowner::regrole,
        case when t.tgtype & 2 = 2 then 'and past every policy: it reaches the rows of all tenants' else 'and, inside a tenant, sees no row: what it writes fails or changes nothing' end) end,
    format(E'-- as docs/extending.md tells; in each of its statements name tenant_id, and the schema of each table and function:\n'
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
    select case when l.lanname = 'plpgsql' then regexp_replace(regexp_replace(regexp_replace(p.prosrc, '--[^\n]*', ' ', 'g'), '/\*.*?\*/', ' ', 'g'), '''[^'']*''', '', 'g') else 'execute' end
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
    case when f.reached then audit.by_owner(f.owner, format('alter routine %s %s;', f.name, n.path)) else audit.by_acceptance(f.name, f.owner, n.path) end
  from audit.functions() f
  join pg_proc p on p.oid = f.oid
  join pg_language l on l.oid = p.prolang
  left join lateral (select substr(x, 13) as path from unnest(f.config) x where x like 'search\_path=%') c on true
  -- Elsewhere it may count on its schema, or on those that it names.
  cross join lateral (
    select format('set search_path = %s, pg_temp', case when f.own then 'pg_catalog'
      else coalesce(regexp_replace(nullif(c.path, '""'), '"?pg_temp"?, *', '', 'g'), 'pg_catalog, ' || quote_ident(f.schema)) end)) n (path)
  where l.lanname not in ('c', 'internal')
$$;

create or replace function audit.check_function_settings()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when c.setting is not null and not f.vouched and not (f.schema = 'control' and c.setting = 'row_security=on')
      then format('the function sets %s', c.setting) end,
    case when f.reached and lower(split_part(c.setting, '=', 1)) in ('role', 'row_security')
           then audit.by_owner(f.owner, format('alter routine %s reset %s;', f.name, split_part(c.setting, '=', 1)))
         when f.reached then format('alter routine %s reset %s; -- as a superuser, who alone may set it', f.name, split_part(c.setting, '=', 1))
         else audit.by_acceptance(f.name, f.owner, 'reset ' || split_part(c.setting, '=', 1)) end
  from audit.functions() f
  left join lateral (
    select x as setting from unnest(f.config) x
    where lower(split_part(x, '=', 1)) in ('role', 'session_authorization', 'row_security', 'session_replication_role', 'app.tenant_id', 'app.maintenance', 'app.actor')) c on true
$$;

-- A setting for the session outlives the request; the next one on the same connection is somebody else's. What the release
-- itself brought (audit.manifest) was read then, and is not read again here. SET or RESET stands at the beginning of a statement, which may be
-- the text of an EXECUTE, but not of a message, nor of what is joined to other text; an UPDATE's does not.
create or replace function audit.check_function_body()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when m.name is not null or f.vouched then null
         when b.sets ~* '<set>\s+(session\s+)?"?app"?\."?tenant_id"?\s*(=|to\M)'
           or exists (select from regexp_split_to_table(b.code, 'set_config\s*\(', 'i') with ordinality as c (call, n)
                      where c.n > 1 and split_part(c.call, ';', 1) ~* 'app\.tenant_id'
                        and split_part(c.call, ';', 1) !~* ',\s*(is_local\s*(=>|:=)\s*)?(true|''(t|true|on|yes|y|1)'')\s*\)')
           then 'the function sets app.tenant_id for the session, and not for the transaction'
         when b.sets ~* '<set>\s+((session|local)\s+)?"?app"?\."?maintenance' or b.code ~* 'set_config\s*\([^;]*app\.maintenance' then 'the function sets app.maintenance, which opens every table to the owner'
         when b.code ~* '\mupdate\s+(pg_catalog\.)?pg_settings\M'
           or b.sets ~* '<(re)?set>\s+((session|local)\s+)?"?(role|session(\s+|_)authorization|row_security|session_replication_role)\M'
           or b.code ~* 'set_config\s*\([^;]*(''|\$)(role|session_authorization|row_security|session_replication_role)(''|\$)'
           then 'the function changes the role, or how policies and triggers apply to it' end,
    format(case when f.reached then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; inside a tenant: perform app.set_tenant(…)'
                else 'select pg_get_functiondef(%1$L::regprocedure); -- read it, then: select audit.accept(%1$L);' end, f.name)
  from audit.functions() f
  -- Not in one expression: with an alternative in it, it would take all between the first and the last comment.
  cross join lateral (select regexp_replace(regexp_replace(f.body, '--[^\n]*', ' ', 'g'), '/\*.*?\*/', ' ', 'g')) c (code)
  cross join lateral (
    select c.code, regexp_replace(c.code, '(?<!(\|\||\mraise(\s+\w+)?)\s*)(''|\$)\s*(re)?set\M', '<\2set>', 'gi')
      || regexp_replace(regexp_replace(c.code, '''[^'']*''', '', 'g'), '(^|;|\mbegin|\mthen|\melse|\mloop)\s*(re)?set\M', '<\2set>', 'gi')) b (code, sets)
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name and m.body = audit.definition_hash(f.oid)
  where f.schema <> 'audit' -- remedies there name what is looked for
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
  -- An aggregate is what its functions are, and by itself always internal.
  cross join lateral (
    select l.lanname
    from (select f.oid where f.kind <> 'a'
          union all
          select refobjid from pg_depend where f.kind = 'a' and classid = 'pg_proc'::regclass and objid = f.oid and refclassid = 'pg_proc'::regclass
            and refobjid not in (select audit.of_extensions('pg_proc'))) x
    join pg_proc p on p.oid = x.oid
    join pg_language l on l.oid = p.prolang and not l.lanpltrusted
    limit 1) l
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
  -- Those of Postgres that are so were made in one transaction, before there were others.
  select 'warning', null, f.oid::regprocedure::text, '{}'::jsonb, 'Postgres did not make the function LEAKPROOF, and somebody did: it is run on rows before the policy is',
    format('alter function %s not leakproof; -- as a superuser', f.oid::regprocedure)
  from pg_proc f
  where f.proleakproof and f.oid < 16384 and f.proname <> 'uuid_eq' and f.xmin <> (select xmin from pg_proc where oid = 'pg_catalog.uuid_lt(uuid,uuid)'::regprocedure)
  union all
  select 'error', null, 'uuid_eq(uuid,uuid)', '{}'::jsonb,
    case when not proleakproof then 'the comparison in every policy is not leakproof: conditions of a query may be run before it, on any tenant''s rows' end,
    'alter function pg_catalog.uuid_eq(uuid, uuid) leakproof;'
  from pg_proc where oid = 'pg_catalog.uuid_eq(uuid,uuid)'::regprocedure
$$;
--! EndIncluded audit/checks/functions.sql
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
    -- By the name that app.isolate() gives it: where that is another remedy, pasted before, there is still one key.
    case when k.oid is null then format('alter table %1$s drop constraint if exists %2$I%3$sadd constraint %2$I foreign key (tenant_id) references app.tenants (id) on delete cascade;',
           r.relid, left(c.relname, 48) || '_tenant_id_fkey', case when app.is_distributed() then format('; alter table %s ', r.relid) else ', ' end)
         else format('alter table %s validate constraint %I;', r.relid, k.conname) end
  from (
    -- A child by INHERITS has none of its parent's keys.
    select relid from audit.relations() r join pg_class c on c.oid = r.relid where tenant_column = 'tenant_id' and not (is_child and c.relispartition)
    union all
    -- Bookkeeping that must go with its tenant; on Citus it has no key (db/distribute.sql). Found in the catalog, since
    -- to_regclass() asks for a right on the schema.
    select oid from pg_class where relnamespace = to_regnamespace('control') and relname = 'idempotency_keys' and not app.is_distributed()
  ) r
  join pg_class c on c.oid = r.relid
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
  -- Each table's name is made once: in a subquery it would be for every column.
  with named as materialized (
    select r.relid, c.relnamespace, lower(replace(c.relname, '_', '')) as name, a.attname as key, t.typcategory
    from audit.relations() r
    join pg_class c on c.oid = r.relid
    join pg_index i on i.indrelid = r.relid and i.indisprimary and i.indnkeyatts = 2
    join pg_attribute a on a.attrelid = r.relid and a.attnum = i.indkey[1]
    join pg_type t on t.oid = a.atttypid
    where not r.is_child and r.tenant_column = 'tenant_id'
  ), unbound as (
    select r.relid, c.relnamespace, a.attname, a.attnum, a.atttypid, t.typcategory, lower(replace(regexp_replace(a.attname, '(_id|Id|ID)$', ''), '_', '')) as stem
    from audit.relations() r
    join pg_class c on c.oid = r.relid
    join pg_attribute a on a.attrelid = r.relid and a.attname <> 'tenant_id'
      and (a.attname ~ '(_id|[a-z0-9](Id|ID))$' or c.relname like '\_%' and a.attname in ('A', 'B')) -- as Prisma names those of many-to-many
    join pg_type t on t.oid = a.atttypid
    where not r.is_child and r.tenant_column = 'tenant_id'
      and not exists (select from audit.expected_references() e where to_regclass(e.child) = r.relid and e.child_column = a.attname)
  ), meant as (
    select distinct on (a.relid, a.attnum) a.relid as child, a.attnum, k.relid, k.key
    from unbound a
    cross join lateral unnest(array[a.stem, a.stem || 's', a.stem || 'es', regexp_replace(a.stem, 'y$', 'ies')]) n (name)
    join named k on k.name = n.name and k.typcategory = a.typcategory
    order by a.relid, a.attnum, k.relnamespace <> a.relnamespace, k.relid::text
  )
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
  -- Anybody's table: a column that looks like a reference and is bound by nothing. Of a uuid its name's end says so; a number or a text
  -- belongs to another system as often, unless the rest of its name is that of a table with such a key.
  select 'warning', null, a.relid::text, jsonb_build_object('columns', jsonb_build_array(a.attname)),
    case when not exists (select from pg_constraint c where c.conrelid = a.relid and c.contype = 'f' and a.attnum = any (c.conkey))
         then format('%I looks like a reference%s, and no foreign key holds it to its tenant', a.attname, ' to ' || p.relid) end,
    format('alter table %s add foreign key (tenant_id, %I) references %s;', a.relid, a.attname, case when p.relid is null then '… (tenant_id, id)' else format('%s (tenant_id, %I)', p.relid, p.key) end)
  from unbound a
  left join meant p on p.child = a.relid and p.attnum = a.attnum
  where (a.atttypid = 'uuid'::regtype or a.attname in ('A', 'B') or p.relid is not null)
    and (p.relid = a.relid and p.key = a.attname) is not true -- its own key
    -- Beside commentable_id stands commentable_type, which says the table: no key can hold that.
    and not (p.relid is null and exists (
      select from pg_attribute t where t.attrelid = a.relid and not t.attisdropped and lower(replace(t.attname, '_', '')) = a.stem || 'type'))
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
      where i.indrelid = c.conrelid and i.indisvalid and i.indnkeyatts >= cardinality(c.conkey)
        -- Of rows that refer to nothing nobody asks.
        and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) in (
          select format('(%I IS NOT NULL)', a.attname) from pg_attribute a where a.attrelid = c.conrelid and a.attnum = any (c.conkey)))
        and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey)
      then format('no index leads with the columns of the foreign key %I: deletes and look-ups read other tenants'' rows, and their time tells', c.conname) end,
    format('create index %son %s (%s);', case when p.relkind = 'p' then '' else 'concurrently ' end, c.conrelid::regclass,
      (select string_agg(quote_ident(a.attname), ', ' order by k.n) from unnest(c.conkey) with ordinality as k (attnum, n)
       join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum))
  from pg_constraint c join audit.relations() r on r.relid = c.conrelid and not r.is_child
  join pg_class p on p.oid = c.conrelid
  -- Of what all tenants share no request deletes anything.
  where c.contype = 'f' and c.confrelid in (select t.relid from audit.relations() t)
$$;

-- Uniqueness that the service relies on. Like the references, known by heart: an INSERT names some of these constraints, so
-- an index that does the same is not enough; nor is a constraint that may wait, which no ON CONFLICT takes. Where an index is
-- wanted, one of all rows will do.
create or replace function audit.check_unique_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with keys as (
    select k.*, to_regclass(k.relation) as relid, array_to_string(k.columns, ', ') as list, case when k.name like '%\_pkey' then 'primary key' else 'unique' end as kind
    from (values
      ('app.tenants', 'tenants_pkey', array['id']),
      ('app.users', 'users_pkey', array['tenant_id', 'id']),
      ('app.users', 'users_tenant_identity_key', array['tenant_id', 'auth_provider', 'auth_subject']),
      ('app.boards', 'boards_pkey', array['tenant_id', 'id']),
      ('app.board_members', 'board_members_pkey', array['tenant_id', 'board_id', 'user_id']),
      ('app.generations', 'generations_pkey', array['tenant_id', 'id']), ('app.media', 'media_pkey', array['tenant_id', 'id']),
      ('app.provider_configs', 'provider_configs_pkey', array['tenant_id', 'id']),
      ('app.provider_configs', 'provider_configs_name_key', array['tenant_id', 'provider_name']),
      ('app.credit_transactions', 'credit_transactions_pkey', array['tenant_id', 'id'])
    ) as k (relation, name, columns)
  ), unique_indexes as (
    select i.indrelid as relid, n.relname as name, pg_get_expr(i.indpred, i.indrelid) as predicate, 0 = all (i.indoption) as ascending, c.conname, c.contype,
      array(select a.attname::text from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k (attnum, n)
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum order by k.n) as columns
    from pg_index i
    join pg_class n on n.oid = i.indexrelid
    left join pg_constraint c on c.conrelid = i.indrelid and c.conindid = i.indexrelid and c.contype in ('p', 'u') -- of the table: there is an index of these
    where i.indrelid in (select relid from keys) and i.indisunique and i.indisvalid and i.indimmediate and i.indexprs is null
  )
  select 'error', null::uuid, k.relation, jsonb_build_object('columns', to_jsonb(k.columns)),
    case when not exists (select from unique_indexes u where u.relid = k.relid and u.columns = k.columns and u.conname = k.name)
      then format('no constraint %s keeps (%s) unique', k.name, k.list) end,
    -- The name may be taken: by another constraint, by an index that is none, or by one that only wants to become one.
    case
      when c.oid is not null
        then format('alter table %s drop constraint %I%sadd constraint %I %s (%s);', k.relation, k.name,
          case when app.is_distributed() then format('; alter table %s ', k.relation) else ', ' end, k.name, k.kind, k.list)
      when o.name is not null then format('alter table %s rename constraint %I to %I;', k.relation, o.name, k.name)
      when not app.is_distributed() and exists (
        select from unique_indexes u where u.relid = k.relid and u.columns = k.columns and u.name = k.name and u.predicate is null and u.ascending)
        then format('alter table %s add constraint %I %s using index %I;', k.relation, k.name, k.kind, k.name)
      else coalesce('drop index ' || i.indexrelid::regclass || '; ', '') || format('alter table %s add constraint %I %s (%s);', k.relation, k.name, k.kind, k.list) end
  from keys k
  left join pg_constraint c on c.conrelid = k.relid and c.conname = k.name
  left join (pg_index i join pg_class n on n.oid = i.indexrelid) on i.indrelid = k.relid and n.relname = k.name
  -- One of its kind that has another name.
  cross join lateral (
    select min(u.conname) from unique_indexes u where u.relid = k.relid and u.columns = k.columns and u.contype = left(k.kind, 1)::"char") o (name)
  union all
  -- Indexes: one whose name a conflict is told by, and one of any name.
  select 'error', null, x.relation, jsonb_build_object('columns', jsonb_build_array(x.column_name)),
    case when not exists (
      select from unique_indexes u
      where u.relid = to_regclass(x.relation) and u.columns = array[x.column_name]
        and case when x.name is null then u.predicate = x.predicate else u.name = x.name and coalesce(u.predicate, x.predicate) = x.predicate end)
      then format('%s keeps (%s) unique where %s', coalesce('no index ' || x.name, 'nothing'), x.column_name, x.predicate) end,
    coalesce('alter table ' || x.relation || ' drop constraint ' || c.conname || '; ', 'drop index ' || i.indexrelid::regclass || '; ', '')
      || format('create unique index %son %s (%s) where %s;', x.name || ' ', x.relation, x.column_name, x.predicate)
  from (values
    ('app.tenants', 'tenants_slug_key', 'slug', '(slug IS NOT NULL)'), ('app.tenants', null, 'is_default', 'is_default')
  ) as x (relation, name, column_name, predicate)
  left join pg_constraint c on c.conrelid = to_regclass(x.relation) and c.conname = x.name
  left join (pg_index i join pg_class n on n.oid = i.indexrelid) on i.indrelid = to_regclass(x.relation) and n.relname = x.name
$$;
--! EndIncluded audit/checks/keys.sql
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
    format('drop policy if exists %I on %s;', p.polname, r.relid)
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
    coalesce(e.remedy, format('drop policy if exists %I on %s;', p.polname, p.polrelid::regclass))
  from pg_policy p
  join audit.relations() r on r.relid = p.polrelid
  left join audit.expected_policies() e on e.relid = r.relid and e.policy = p.polname
  left join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refobjid >= 16384
    and (d.refclassid = 'pg_proc'::regclass or d.refclassid = 'pg_class'::regclass)
  left join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid
  union all
  -- Nothing depends on Postgres's own functions.
  select 'error', null, p.polrelid::regclass::text, jsonb_build_object('policy', p.polname),
    case when concat(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) ~ '\mset_config\('
      then format('the policy %I calls set_config: reading the table changes the tenant, or the role, for what comes after', p.polname) end,
    coalesce(e.remedy, format('drop policy if exists %I on %s;', p.polname, p.polrelid::regclass))
  from pg_policy p
  join audit.relations() r on r.relid = p.polrelid
  left join audit.expected_policies() e on e.relid = r.relid and e.policy = p.polname
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
--! Included audit/checks/tables.sql
create or replace function audit.check_table_rules()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb, f.fault,
    -- A partition that is isolated by itself is open to tms_app under its own name.
    format(E'%s\nselect app.isolate(%L);', case when f.fault = 'tenant_id may be null' then format('alter table %s alter column tenant_id set not null;', r.relid)
             when f.fault = 'it has no primary key' then format('alter table %s add primary key (tenant_id, …); -- with what tells the rows of one tenant apart', r.relid)
             else coalesce(k.mend, '-- mend it, then:') end,
      coalesce(pg_partition_root(r.relid), p.inhparent, r.relid)::regclass)
  from audit.relations() r
  left join lateral (select inhparent from pg_inherits where inhrelid = r.relid order by inhseqno limit 1) p on r.is_child
  left join lateral app.table_faults(r.relid) f on not f.inherited
  left join lateral (
    -- The same key with tenant_id in front of it, and nowhere else; what refers to it, and is in order itself, comes off meanwhile.
    select concat(b.off, case when c.oid is null then format('drop index %s; %s;', i.indexrelid::regclass, d.led)
                              else format('alter table %s drop constraint %I, add constraint %2$I %s;', r.relid, c.conname, d.led) end, b.again,
      case when c.contype = 'x' then ' -- needs the extension btree_gist' end) as mend
    from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x')
    cross join lateral (
      -- One that was dropped since the snapshot was taken has no definition. ONLY is how Postgres writes that of a partitioned table: made so, it would be of no partition.
      select case when i.indexrelid::regclass::text !~ '^\d'
        then regexp_replace(regexp_replace(coalesce(pg_get_constraintdef(c.oid), replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')), ', tenant_id\M( WITH =)?', ''),
          '\(', case when c.contype = 'x' then '(tenant_id WITH =, ' else '(tenant_id, ' end) end as led) d
    cross join lateral (
      select string_agg(format('alter table %s drop constraint %I; ', f.conrelid::regclass, f.conname), '' order by f.oid) as off,
        string_agg(format(' alter table %s add constraint %I %s;', f.conrelid::regclass, f.conname, pg_get_constraintdef(f.oid)), '' order by f.oid) as again
      from pg_constraint f
      where f.conindid = i.indexrelid and f.contype = 'f' and f.conparentid = 0 and exists (
        select from unnest(f.conkey, f.confkey) as k (child, parent)
        join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.child and a.attname = 'tenant_id'
        join pg_attribute p on p.attrelid = f.confrelid and p.attnum = k.parent and p.attname = 'tenant_id')) b
    where i.indrelid = r.relid and (i.indisunique or i.indisexclusion) and strpos(f.fault, format('the unique index %s does not begin', i.indexrelid::regclass)) = 1
    union all
    -- The same foreign key with tenant_id on both sides; its parent's key may have to be mended first, which it would forbid.
    select format(E'alter table %1$s drop constraint %2$I; -- then give %3$s a key (tenant_id, %5$s), if it has none, and:\nalter table %1$s add constraint %2$I foreign key (tenant_id, %4$s) references %3$s (tenant_id, %5$s)%6$s%7$s%8$s;',
      r.relid, c.conname, c.confrelid::regclass, o.child, o.parent,
      case c.confdeltype when 'c' then ' on delete cascade' when 'r' then ' on delete restrict' when 'n' then format(' on delete set null (%s)', o.emptied)
        when 'd' then format(' on delete set default (%s)', o.emptied) end,
      case c.confupdtype when 'c' then ' on update cascade' when 'r' then ' on update restrict' end,
      case when c.condeferred then ' deferrable initially deferred' when c.condeferrable then ' deferrable' end)
    from pg_constraint c
    cross join lateral (
      select string_agg(quote_ident(a.attname), ', ' order by u.n) as child, string_agg(quote_ident(b.attname), ', ' order by u.n) as parent,
        string_agg(quote_ident(a.attname), ', ' order by u.n) filter (where c.confdelsetcols is null or u.child = any (c.confdelsetcols)) as emptied
      from unnest(c.conkey, c.confkey) with ordinality as u (child, parent, n)
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = u.child
      join pg_attribute b on b.attrelid = c.confrelid and b.attnum = u.parent
      where 'tenant_id' not in (a.attname, b.attname)) o
    where c.conrelid = r.relid and c.contype = 'f' and strpos(f.fault, format('the foreign key %I does not pair', c.conname)) = 1 and o.child is not null) k on true
  where r.tenant_column = 'tenant_id'
  union all
  select 'warning', null, r.relid::text, case when d.oid is null then '{}' else jsonb_build_object('column', 'tenant_id') end,
    case when pg_get_expr(d.adbin, d.adrelid) ~* '[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}'
      then 'tenant_id has a tenant''s id as its default: what a migration or a job writes without a tenant becomes that one''s' end,
    format('alter table %s alter column tenant_id drop default;', r.relid)
  from audit.relations() r
  left join pg_attribute a on a.attrelid = r.relid and a.attname = 'tenant_id' and a.attgenerated = ''
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
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
         when not l.collisdeterministic then format('the column %s has a nondeterministic collation, so that different strings compare equal: one identity, or slug, passes for another', c.name)
         when not c.nullable and not (a.attnotnull and not u.nvalidated) then format('the column %s may be null: nothing asks for a row where it is', c.name) end,
    case when a.attname is null then 'restore it from a backup, or run the migrations: npm run migrate'
         when not l.collisdeterministic then format('alter table %s alter column %I type %s collate pg_catalog."default";', t.name, c.name, c.type)
         when a.atttypid = c.type then format('alter table %s alter column %I set not null;', t.name, c.name)
         else case when c.type = 'timestamptz'::regtype then E'-- first: set timezone to the one that its values are of\n' else '' end
           || format('alter table %s alter column %I type %s using %I::%s;', t.name, c.name, c.type, c.name, c.type) end
  from audit.own_tables() t
  cross join lateral (
    select null as name, null::regtype as type, true as nullable
    union all
    select split_part(d, ' ', 1), split_part(d, ' ', 2)::regtype, d like '% null' from string_to_table(t.columns, ', ') d) c
  left join pg_attribute a on a.attrelid = to_regclass(t.name) and a.attname = c.name and not a.attisdropped
  left join pg_collation l on l.oid = a.attcollation
  -- From Postgres 18 on attnotnull is true of a NOT NULL that is not yet validated, too.
  cross join lateral (
    select exists (select from pg_constraint k where k.conrelid = a.attrelid and k.contype = 'n' and k.conkey = array[a.attnum] and not k.convalidated)) u (nvalidated)
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
    select c.conrelid from reached r join pg_constraint c on c.confrelid = r.relid
  )
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when t.relid is null then
      case when o.name is not null then format('the tenant of its rows is in %I: what asks for tenant_id, every check too, does not find it', o.name)
      when k.relid is not null then 'the table refers to tenants'' rows and has no column tenant_id: its rows belong to nobody'
      else 'the table is among the tenants'' tables and has no column tenant_id' end end,
    case when o.name is not null then format(E'alter table %1$s rename column %2$I to tenant_id;\nselect app.isolate(%1$L);', c.oid::regclass, o.name)
    else format(E'-- this gives every row to the default tenant; where rows are of several tenants, add tenant_id and fill it first:\n'
      'select app.isolate(%L, p_adopt => true);%s', c.oid::regclass, case when k.relid is null then
        format(E'\n-- what all tenants share, such as a list of countries, belongs in a schema of its own instead: alter table %s set schema …;', c.oid::regclass) end) end
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join audit.relations() t on t.relid = c.oid
  left join reached k on k.relid = c.oid
  left join lateral (
    -- One column that is never null says whose each row is, under another name.
    select min(a.attname) as name
    from pg_constraint f join pg_attribute a on a.attrelid = f.conrelid and f.conkey = array[a.attnum]
    join pg_attribute i on i.attrelid = f.confrelid and f.confkey = array[i.attnum] and i.attname = 'id'
    where f.conrelid = c.oid and f.confrelid = to_regclass('app.tenants') and a.attnotnull
    having count(distinct a.attname) = 1) o on true
  where c.relkind in ('r', 'p') and n.nspname not in ('control', 'audit')
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
    audit.by_giving_back(o.kind || ' ' || o.name, pg_get_userbyid(o.owner))
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
  where c.relkind in ('v', 'm') and c.relpersistence <> 't' -- that of a session nobody else reads
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
  union all
  select 'warning', null, r.relid::text, jsonb_build_object('subscription', s.subname),
    format('the subscription %I writes another server''s rows into the table: replication asks no policy, no foreign key and no trigger', s.subname),
    format(E'-- for a copy of the whole service this is right; else, as its owner:\ndrop subscription %I;', s.subname)
  from audit.relations() r join pg_subscription_rel x on x.srrelid = r.relid join pg_subscription s on s.oid = x.srsubid
$$;
--! EndIncluded audit/checks/tables.sql
--! Included audit/manifest.sql
-- Written by UPDATE_DOCS=1 npm test -- test/audit/manifest.test.ts, from what the migrations make; a test holds it to that.
create or replace function audit.manifest()
returns table (kind text, name text, owner text, granted text, body text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('function', 'api.add_member(text,text,text,text,text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '2f97023490ea72b34cf4ef4103d6e746'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'f3bfd8c25f9a6245e3ef838978073cd0'),
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', '2e32d6041832e3e8150a7c8cdeacddc0'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6eb37335359d2e7cf4270d311cf695dc'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', '8c20a270f8f8be8ef8b57704ce3a4f4c'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', '44861a70b56289848c0987b2d5988fb3'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'c07b53b6e0e36351d3d9ad7164dcb78e'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a2dabea3f1b69467272845bd714af71'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', '42564d4a18c5f86fd8b79c9c8b932210'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '2d014f472627080349fe363cec47ab14'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', 'f65556ea86242d3b80f4b6bf6872cf10'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', 'f2a7f8344bf343031795bd5adcf44dad'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '644645cadd2d707d7257ffd9374cecad'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '3b331c5f22ce84451db4d40c954cda90'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '232fea41870a7ebcd555b769c0c8bf42'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '9c48b26b968b3a7851606bad8cf23e49'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7fb84d44efb0ad29a3010156ec1c5076'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', 'a2ed4035f6915b33773df85b2ea6e076'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '8f12ec3b17764ab3d66783ff940eb38c'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6f7b849f51bac751aa6f08e886b85416'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a93c5af2867a8cb0b3d40083d3b966e'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'a915796a579fa9f1ac63c2e737746713'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '5dcc8a91279ab6c76561b86cdd412955'),
    ('function', 'api.take_rate_limit(text,text,integer)', 'tms_registrar', 'tms_service', 'cd69c8629b32585c78beaaaff0eee2b2'),
    ('function', 'api.update_tenant(text,text,text,text,text,text,text,text,text,jsonb,text[])', 'tms_registrar', 'tms_service', '48b1b9e33de7b08da7b21deaa0a637b8'),
    ('function', 'app.adopt(regclass)', 'tms_owner', '', '01b1a7f3124085f7bdc4b4365a4bd31e'),
    ('function', 'app.await_writers(uuid,boolean)', 'tms_registrar', '', '316ea0f7df30955e5eada3a31284089b'),
    ('function', 'app.board_json(app.boards)', 'tms_owner', 'tms_app', 'b2ff17214266ed6c2d039748d90c97f3'),
    ('function', 'app.count_tenants(text)', 'tms_registrar', 'tms_auditor', '469edab0911b6b7799ab8aecfb63b42c'),
    ('function', 'app.count_tenants_like(text,text)', 'tms_registrar', '', 'd5fd689fd694ae35e0b4513652271182'),
    ('function', 'app.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', '8297e332eda8e3937d95b839446598d2'),
    ('function', 'app.cursor_of(timestamp with time zone,uuid)', 'tms_owner', 'tms_app tms_registrar', '860fabd228104008346a85a66c10fdc1'),
    ('function', 'app.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '67ed87e44a0e6241901815fe9c9a643f'),
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', 'e53d9fd4554d7ce74d399f874e5a53bc'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '3bf828d30b17036231b66576e4484145'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', '33ec4070fb2a308b0c63b7f837402aaf'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '8eb737e517796d6ce22928eb56414403'),
    ('function', 'app.fence_tenant(uuid)', 'tms_registrar', '', '3c0c05974051ce6ae813a5bca59726a4'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '919d46d05c3100ad0844ff3c5537542e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', '7aa14f5731ecf3087f267e36070cd316'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '6549153521fb5ffc0a229706918f8cc3'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', '88fb0304b9e7be4eeb21138a5e14abe4'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '9476734f3d3b943216a0a8d1859aeec4'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', 'b7ac6dd1fcff487126c149995f4b5e60'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor tms_registrar', 'da40bfed1c55f43ccbe19e35462c037e'),
    ('function', 'app.lock_tenant(text)', 'tms_registrar', '', 'fdb2f07636e0ce359939859f86727e76'),
    ('function', 'app.member_json(app.users)', 'tms_owner', 'tms_app', 'a26aaca041cce263b087e34bf13bfab2'),
    ('function', 'app.move_tenant(text,text[],text,text)', 'tms_registrar', '', 'ee5850e71f4f5c4d77064d7bafb5fa14'),
    ('function', 'app.parse_uuid(text)', 'tms_owner', 'tms_app tms_registrar', '16cbb9025fe9d8da60ca41bdd12a10b6'),
    ('function', 'app.read_cursor(text)', 'tms_owner', 'tms_app tms_registrar', '784e132c450f7f990b3891e42f4db431'),
    ('function', 'app.refuse(integer,text,text,text,jsonb)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'ed53708c0d267cc1eda3001a2aa9e4fd'),
    ('function', 'app.refuse_slug(text)', 'tms_owner', 'tms_registrar', '0494b21e36b9be8782d818579eacf24b'),
    ('function', 'app.remove_tenant(app.tenants)', 'tms_registrar', '', '0e07ca947d8eb6df20f0633e482b86d9'),
    ('function', 'app.replay(text,text,text,jsonb)', 'tms_registrar', '', '1de402158f59334ded63d0ca48e00947'),
    ('function', 'app.require_match(app.tenants,text[])', 'tms_owner', 'tms_registrar', '36acea6d1f3a1c428113f3500284ff79'),
    ('function', 'app.require_member(uuid,uuid)', 'tms_owner', 'tms_app', 'c6d4124107c68742c702ce61fe216009'),
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', 'd8ca10ef652aadb1df2c118d18e1f244'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', 'cb53aa9b3e4769955e3bfc93a31352aa'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '372ed04befe2137666ccc0d3cd708e48'),
    ('function', 'app.require_status(app.tenants,text)', 'tms_owner', 'tms_registrar', 'b7e177058b7adfc35ee4d44f1917d91e'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '81db2cc5b5ba419c5ace31eb05c7159e'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '9fd716fca6d98ef85a81a4d0f9f5c190'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', '5bd687a778e41bab3fe0cc75b0c20b2b'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor tms_registrar', '66704d878ad84c6f8985f81fd7c28633'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', 'f232c83feedde5096a7363d3cf056b4c'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '575d522375a1ff1ca17600e75e0e0e46'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'a77714c0f71463977127d50ee1073861'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '609ab7da46f1b9e59e8d76437af5b647'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '16bf88379de7de608f081636ff88db64'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', '94edfa4de3cb6daf230248be0a1d4d76'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_giving_back(text,name)', 'tms_owner', 'tms_auditor', '539c547f771286c1bf9b89bb697510e7'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '1c05b8ac43add9b39123ae59a0526038'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '19b9514fcccafb85922f5ca875adb774'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', 'f6a1962925c49cd55de0af372a980648'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', 'e3980905d4256cabdad3abd6e55fe23f'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', 'a43be986891f9c8659dfd5a752a79f61'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', '2249bda66bc776ff094465994ed1732a'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', 'e949b671166d98d1e6bcf1332754b0be'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '1a29b16f45d47e4da2b38dfedef56ac4'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'd77af029401976b475f7199ef15487bc'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', '554da8a659dcc0a75da91af92a27149e'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '89df780e1f9634bf86227bba353f6084'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', 'dca178e23aee4cf029eac64678b0017e'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ce251b1eb7abf63c86ec57f92b3072ce'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', 'b47ac2d648d1ae22490277dac35c49e8'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', 'b544bf59f5d2009acc58b99acaca86c4'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', 'dbf04985d622cc40230bb7ec9f76bb8c'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'c284abb96916f7827935560688102e71'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', '3ed161d51f66125a3998b82f1ec1cd8b'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', 'c3a1c6932de7679be0813684c8d8b9fe'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', '8c0b88682bc41535117ca19f80752ff4'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', 'f9b1161bed0f117592e3df80920ad04c'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '8d6b21f6f2a560c935f8df194a419fd9'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '76f522701b48a9610786180fd9adb50a'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', 'f2b5b972511c185b1732aae9526c9c91'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '33887f08c45a5330ab690e5fac1c76ed'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', 'ae19b77b3ad4a870c518ec7de561e536'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', '53cabf313d770095a052541b2e7b8be6'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', '158c11306d3dc787d8155ca8a9473948'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'ea7948ade84356dca011bc420f852827'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', '0c47cce38869f5d865bd02ff603aa9a7'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '2c4eb1ee6f5d89ddda0752e65ac92253'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '0ba207f4146feb218cc8b13711ee9f1a'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', 'd13d37376b3026061141500c441c1bcc'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'ae255cd593fdf4a510213d0e6426da51'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '207c5a281913eb7ba42516fa07dc7ccf'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', '947e5892b33ea04ea7eb66a5c95b9c9d'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', 'be3f439878e18252ab4495eab95f1f42'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', 'bab30b90b68842e7a8fbb0262dd6d093'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', 'd99ff818e85d5d623a9751e3d1881098'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', '63b7d44067da783d848196c7cd8ce054'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', 'd43abea332e859e4b3d714e33c9341e0'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '15274dd848763e8dd5f36f2dafc7dd6f'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', 'dcb019bbd67aaf03257e01eccdcebfaa'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '48b396076d73de4b2c083a0baae79bb0'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '285d810f5dd35fb5c0609e9c3220435e'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_owner', 'tms_auditor', '723c6c39873af3a5503b46a5b3497cd0'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', '810802f6e382d99beb56fb3330870c7a'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '733692876d5e6582a29c2d0d563f1f6e'),
    ('function', 'audit.find_tenant(text)', 'tms_owner', 'tms_auditor', 'f7af4ca5e9972e7e92aaf3bdbc4f1cc2'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', 'fda1a2edc4f2b4cfdd811652e24d622a'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', 'f548d847bde40d85a06c20de765cc3fb'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '1f949c4b253075977eca6e03c27dd8a2'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'a7ea746ec51ec75d5477d08197fbe8c5'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '0d8d1f65be045d42ac17782b75a8bb76'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '92bfe836b03b4d95b5748060a3c337d6'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', '3690d152fc02db79c130879c024c11bc'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '366f7720e9a287ddeea783eb1b65058b'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'd108b6b303d8f7d9593126ec54ce1bb9'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', '36cc3bc6d186055f72c4cebfe2ecbe29'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '61d259898bce3cab0c44cd51b704cfd6'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '5f24f08f442b792491759fdb213b9e29'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '1525d5551cc25ba8f8b0d8031afa99a6'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '1ce02f8819524f9c89ec8d6591bb77d2'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', '6b9d15c3aca07d708260c60336577112'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', '4c1d0cd8fc879cec004039519bde6973'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'd4f5e06dee60c858690543f7df24581c'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', '1cb2d1dc963d4b0d84f1e768ef2b61ae'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '0ad9c042a63b35d83bd30743bc3698e3'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', '6b02023e2942fc31f4fa347a9a1eee61'),
    ('function', 'audit.scan(regclass,uuid)', 'tms_owner', 'tms_auditor', '7a2fcbde9f29efb9b018037c5d15cac7'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '714ae3acb57dbdc53fb0a71fd8427aa1'),
    ('function', 'audit.severity_rank(text)', 'tms_owner', 'tms_auditor', '1fa26f34a59db5d581099b2a3365ab06'),
    ('function', 'audit.short_hash(text)', 'tms_owner', 'tms_auditor', '6f23cfe71952fec1f8acb0400a595545'),
    ('function', 'audit.slices(regclass,name,uuid)', 'tms_owner', 'tms_auditor', '4b3ce6a95861c87d59d8f5ad643270b3'),
    ('function', 'audit.start_run(text,text,integer)', 'tms_owner', 'tms_auditor', '23e14457719a6c8e00785fb32adc22e4'),
    ('function', 'audit.tenant_references()', 'tms_owner', 'tms_auditor', '7e63f48453607ddccc4fe6791d2fe0f8'),
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', '4d2663d8c476447048220fe1694bdf0c'),
    ('function', 'audit.try_writes(regclass,name,uuid,uuid)', 'tms_owner', 'tms_auditor', '615b758e986a60510125fd10cea4206c'),
    ('function', 'audit.version_fault(integer,boolean)', 'tms_owner', 'tms_auditor', '06d07c9578250233fc2390a7b0188d14'),
    ('function', 'audit.visible_rows(regclass,name,uuid[])', 'tms_owner', 'tms_auditor', 'f56e328b033e956fdab9d1f8baad34ba'),
    ('function', 'control.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', 'f51e10df58d79ca3a0d0795dfe58aa56'),
    ('function', 'control.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '64ba8d9e056505dbf964689f858940de'),
    ('function', 'control.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', '51b19e3e922c05db62e7100805aeab0a'),
    ('function', 'control.find_tenant(text)', 'tms_auditor', 'tms_owner', '092ecd4817dc31d218f82c2a5fb7fb1b'),
    ('function', 'control.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'control.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '379f66e5be803b087e2d33e846308ed7'),
    ('function', 'control.leaking_tables()', 'tms_app', 'tms_registrar', 'a64065acd87739f1fa6faf8563022cdf'),
    ('function', 'control.shown_rows(uuid,integer)', 'tms_app', 'tms_registrar', '940fe838dabb731f042c6f4ee27bec1c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', '9737cde625d18b6cd691d3909049c634'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c5bcc8f27a34855b08f6954793bb871a'),
    ('function', 'control.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_owner', '3a4fbc2f566b1f44585c853bfd22e820'),
    ('function', 'control.visible_rows(regclass,name,uuid[])', 'tms_app', 'tms_owner', '4c624280d5b02e03a6ccbb7a19cbb73f'),
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
revoke create, usage on schema control from tms_app, tms_auditor;
--! EndIncluded audit/end.sql
set local citus.enable_ddl_propagation = on;
