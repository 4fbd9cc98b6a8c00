--! Previous: sha1:b6f8fe8def8319d09553fca9c8d4829926d7b495
--! Hash: sha1:cef1ba832768c6da0b3df3261c0291ed712097a2
--! Message: what adopters add, and what a deletion or a list must not do: own tables anywhere, own functions vouched for, If-Match

-- Write the next migration here. Around includes of functions:
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! Included context/tenant_tables.sql
create or replace function app.tenant_tables()
returns table (relid regclass, is_partition boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select c.oid::regclass, c.relispartition
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p') and c.relpersistence <> 't'
    and (n.nspname = 'app'
      -- Elsewhere what requests can reach; what they cannot is the audit's to judge.
      or n.nspname not in ('pg_catalog', 'information_schema', 'control', 'audit', 'graphile_migrate')
        and has_schema_privilege('tms_app', n.oid, 'usage')
        and (has_table_privilege('tms_app', c.oid, 'delete') or has_any_column_privilege('tms_app', c.oid, 'select, insert, update')))
    and (c.oid = to_regclass('app.tenants')
      or exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped))
$$;
comment on function app.tenant_tables() is
  'app.tenants and every table with a column tenant_id: those of the schema app, and those elsewhere that tms_app has a right on.';
revoke all on function app.tenant_tables() from public;
grant execute on function app.tenant_tables() to tms_app, tms_registrar, tms_auditor;
--! EndIncluded context/tenant_tables.sql
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
      select t.relid from app.tenant_tables() t join pg_class c on c.oid = t.relid
      where has_table_privilege(t.relid, 'select')
        -- Whoever owns a table chooses what reading it calls.
        and (c.relnamespace = 'app'::regnamespace or c.relowner = 'tms_owner'::regrole)
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
    select t.relid from app.tenant_tables() t join pg_class c on c.oid = t.relid
    -- Whoever owns a table chooses what reading it calls.
    where c.relowner = 'tms_owner'::regrole and not t.is_partition and t.relid <> 'app.tenants'::regclass
    order by c.relnamespace <> 'app'::regnamespace, c.relname
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
      select distinct conrelid as relid from pg_constraint
      where contype = 'f' and confrelid = 'app.tenants'::regclass and conparentid = 0
    ), edges as (
      select distinct confrelid as parent, conrelid as child from pg_constraint
      where contype = 'f' and conrelid <> confrelid
        and conrelid in (select relid from tables) and confrelid in (select relid from tables)
    ), below (relid, child) as (
      select parent, child from edges
      union
      select b.relid, e.child from below b join edges e on e.parent = b.child
    ), ordered as (
      -- Tables that refer to each other in a circle, and what they refer to, are left to the cascade: it asks when all are gone.
      select relid from tables t
      where not exists (select from below b where b.relid = t.relid
        and exists (select from below c where c.relid = b.child and c.child = b.child))
    ), levels (relid, level) as (
      select relid, 0 from ordered
      union
      select e.child, l.level + 1 from levels l join edges e on e.parent = l.relid
    )
    select relid from levels group by relid order by max(level) desc, relid
  loop
    if has_table_privilege(v_table, 'delete') and has_schema_privilege((select relnamespace from pg_class where oid = v_table), 'usage') then
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
  select distinct l::text, 'rows are visible outside their tenant', 'npm run audit says how to fix it' from app.leaking_tables() l
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
--! Included context/isolation_advice.sql
set local role tms_registrar;
create or replace function app.isolation_advice()
returns setof text
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select format('Isolation is broken: %s: %s: %s', b.object, b.fault, b.remedy) from app.isolation_breaches() b
  union all
  -- Not the tenants', so no breach: a table that a migration put beside theirs without one.
  select format('The table %s has no forced row-level security: npm run audit says how to fix it', c.oid::regclass)
  from pg_class c
  where c.relkind in ('r', 'p') and c.relnamespace = 'app'::regnamespace and not (c.relrowsecurity and (c.relforcerowsecurity or app.is_distributed()))
    and c.oid not in (select name from app.unprotected_tables())
  union all
  select case
      when a.last is null then 'Isolation was never audited as a whole: run npm run audit'
      when (a.last ->> 'errors')::bigint > 0 or (a.last ->> 'not_run')::bigint > 0
        then format('The last audit (%s) found %s error(s), and %s check(s) could not run: npm run audit names them',
          a.last ->> 'finished_at', a.last ->> 'errors', a.last ->> 'not_run')
      else format('The last audit is %s days old: run npm run audit', (a.last ->> 'age_seconds')::bigint / 86400) end
  from app.last_audit() as a (last)
  where a.last is null or (a.last ->> 'errors')::bigint > 0 or (a.last ->> 'not_run')::bigint > 0 or (a.last ->> 'age_seconds')::bigint >= 8 * 86400
$$;
comment on function app.isolation_advice() is
$$What GET /api/setup/status says of isolation: one sentence for each breach, for each other table without row-level security, and for
a last audit that found errors, is more than a week old, or never was. None when all is well.$$;
revoke all on function app.isolation_advice() from public;
reset role;
--! EndIncluded context/isolation_advice.sql
--! Included context/board_json.sql
-- JSON by concat(): it looks up how a type is written once a query, where json_agg() does so for every column of every
-- row: two thirds of the time for a list. Its body is a text, since Postgres 15 adds no column with a default to a table whose
-- row a standard body reads; and without a search_path, which would keep it from being inlined: each name has its schema. Only where DateStyle is ISO, which the caller's SET clause sees to.
create or replace function app.board_json(p_board app.boards)
returns text
language sql
stable
as $$
select pg_catalog.concat(
  '{"board_id":"', p_board.id, '","title":', pg_catalog.to_json(p_board.title),
  ',"description":', coalesce(pg_catalog.to_json(p_board.description), 'null'), ',"owner_id":"', p_board.owner_id,
  '","created_at":"', pg_catalog.replace((p_board.created_at at time zone 'UTC')::pg_catalog.text, ' ', 'T'),
  'Z","updated_at":"', pg_catalog.replace((p_board.updated_at at time zone 'UTC')::pg_catalog.text, ' ', 'T'), 'Z"}')
$$;
comment on function app.board_json(app.boards) is 'A board as every answer shows it, as JSON text. Needs DateStyle ISO.';
revoke all on function app.board_json(app.boards) from public;
grant execute on function app.board_json(app.boards) to tms_app;
--! EndIncluded context/board_json.sql
--! Included context/tenant_json.sql
-- A text, and without a search_path: as app.board_json() is.
create or replace function app.tenant_json(p_tenant app.tenants)
returns json
language sql
stable
as $$
select pg_catalog.json_build_object(
  'tenant_id', p_tenant.id, 'name', p_tenant.name, 'slug', p_tenant.slug, 'status', p_tenant.status,
  'settings', p_tenant.settings,
  'created_at', app.iso_time(p_tenant.created_at), 'updated_at', app.iso_time(p_tenant.updated_at))
$$;
comment on function app.tenant_json(app.tenants) is 'A tenant as every answer shows it.';
revoke all on function app.tenant_json(app.tenants) from public;
grant execute on function app.tenant_json(app.tenants) to tms_app, tms_registrar;
--! EndIncluded context/tenant_json.sql
--! Included context/member_json.sql
-- A text, and without a search_path: as app.board_json() is.
create or replace function app.member_json(p_user app.users)
returns json
language sql
stable
as $$
select pg_catalog.json_build_object(
  'user_id', p_user.id, 'role', p_user.role, 'auth_provider', p_user.auth_provider, 'auth_subject', p_user.auth_subject,
  'email', p_user.email, 'display_name', p_user.display_name, 'joined_at', app.iso_time(p_user.created_at))
$$;
comment on function app.member_json(app.users) is 'A member of a tenant as every answer shows it.';
revoke all on function app.member_json(app.users) from public;
grant execute on function app.member_json(app.users) to tms_app;
--! EndIncluded context/member_json.sql
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
  v_caller record := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  v_after record := app.read_cursor(p_cursor);
begin
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
  v_caller record := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  v_user app.users;
begin
  perform app.require_member_admin(v_caller.role, p_new_role);
  insert into app.users as u (tenant_id, auth_provider, auth_subject, email, display_name, role)
  values (v_caller.tenant_id, coalesce(p_new_provider, p_auth_provider), p_new_subject, p_new_email, p_new_display_name, p_new_role)
  on conflict on constraint users_tenant_identity_key do update
  set email = coalesce(excluded.email, u.email), display_name = coalesce(excluded.display_name, u.display_name),
      role = excluded.role, removed_at = null, updated_at = greatest(excluded.updated_at, u.updated_at)
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
  v_caller record := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  v_user app.users;
  v_now timestamptz;
begin
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
-- Beside those without p_if_match, which the release before calls: a later migration drops them.
--! Included context/find_tenant_to_change.sql
set local role tms_registrar;
create or replace function app.find_tenant_to_change(p_tenant_id text, p_if_match text[])
returns app.tenants
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant constant app.tenants := app.find_tenant(p_tenant_id, true);
begin
  if p_if_match is not null and not (app.etag(app.tenant_json(v_tenant)) = any (p_if_match) or '*' = any (p_if_match)) then
    perform app.refuse(412, 'Precondition failed', 'The tenant has changed since it was read', 'stale_etag');
  end if;
  return v_tenant;
end
$$;
comment on function app.find_tenant_to_change(text, text[]) is
$$The tenant with this id, locked until the transaction ends. p_if_match: ETags of which one must be the tenant's, or *; null
asks nothing. Raises TM404, TM412 `Precondition failed`.$$;
revoke all on function app.find_tenant_to_change(text, text[]) from public;
reset role;
--! EndIncluded context/find_tenant_to_change.sql
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
comment on function app.move_tenant(text, text[], text, text) is
  'Moves a tenant from one status to the next and returns it; raises TM404, TM412, or TM409 when it is not in p_from.';
revoke all on function app.move_tenant(text, text[], text, text) from public;
reset role;
--! EndIncluded context/move_tenant.sql
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
  p_tenant_id text, p_if_match text[]
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
  if v_tenant.is_default and p_tenant_slug is null then
    perform app.refuse(400, 'Default tenant', 'The default tenant cannot be deleted in single-tenant mode', 'default_tenant');
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
--! Included api/setup/approve_tenant.sql
set local role tms_registrar;
create or replace function api.approve_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text, p_if_match text[]
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  return app.move_tenant(p_tenant_id, p_if_match, 'pending', 'active');
end
$$;
comment on function api.approve_tenant(text, text, text, text, text, text, text, text[]) is
$$Approves a registration: pending to active. Returns the tenant. p_if_match as of api.update_tenant. Raises TM403, TM404, TM412, TM409 when it is not pending.$$;
revoke all on function api.approve_tenant(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.approve_tenant(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/approve_tenant.sql
--! Included api/setup/reject_tenant.sql
set local role tms_registrar;
create or replace function api.reject_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text, p_if_match text[]
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
  if v_tenant.status <> 'pending' then
    perform app.refuse(409, 'Conflict', format('The tenant is %s, not pending', v_tenant.status), 'wrong_status');
  end if;
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
  p_tenant_id text, p_if_match text[]
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
  return app.move_tenant(p_tenant_id, p_if_match, 'active', 'suspended');
end
$$;
comment on function api.suspend_tenant(text, text, text, text, text, text, text, text[]) is
$$Suspends a tenant: nobody gets in until it is resumed. Returns the tenant. p_if_match as of api.update_tenant. Raises TM403, TM404, TM412, TM409 when it is not active.$$;
revoke all on function api.suspend_tenant(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.suspend_tenant(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/suspend_tenant.sql
--! Included api/setup/resume_tenant.sql
set local role tms_registrar;
create or replace function api.resume_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text, p_if_match text[]
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  return app.move_tenant(p_tenant_id, p_if_match, 'suspended', 'active');
end
$$;
comment on function api.resume_tenant(text, text, text, text, text, text, text, text[]) is
$$Resumes a suspended tenant. Returns the tenant. p_if_match as of api.update_tenant. Raises TM403, TM404, TM412, TM409 when it is not suspended.$$;
revoke all on function api.resume_tenant(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.resume_tenant(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/resume_tenant.sql
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
$$The setup status. p_schema_version is the migration this release was built with; p_advice are sentences the
service found in its own configuration. Reads only. Raises TM403.$$;
revoke all on function api.get_setup_status(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.get_setup_status(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/get_setup_status.sql
--! Included context/count_tenants_like.sql
set local role tms_registrar;
create or replace function app.count_tenants_like(p_status text, p_pattern text)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select count(*) from app.tenants where (name ilike p_pattern or slug ilike p_pattern) and (p_status is null or status = p_status));
end
$$;
comment on function app.count_tenants_like(text, text) is 'How many tenants have a name or slug like a pattern and, unless it is null, a status.';
revoke all on function app.count_tenants_like(text, text) from public;
reset role;
--! EndIncluded context/count_tenants_like.sql
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
  -- The client's text is a text, not a pattern.
  v_pattern constant text := '%' || regexp_replace(p_search, '([%_\\])', '\\\1', 'g') || '%';
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
$$The registration status, from the configuration of the service. Raises TM403.$$;
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
$$Registers a tenant whose owner is the caller. The slug is p_organization_slug, or made from p_slug_base when
that is null. p_registration keeps admin_email, admin_name, use_case, organization_size, metadata with the tenant.
Raises TM403 `Registration disabled`, `Access denied`, `Domain not allowed`, `Tenant limit reached`, in this order, then TM409 `Conflict`.$$;
revoke all on function api.register_tenant(text, text, text, text, text, text, text, text, text, text, jsonb, boolean, boolean, int, text[], text) from public;
grant execute on function api.register_tenant(text, text, text, text, text, text, text, text, text, text, jsonb, boolean, boolean, int, text[], text) to tms_service;
reset role;
--! EndIncluded api/tenants/register_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
-- Under other names from here on. An audit that goes on meanwhile ends with an error.
drop function if exists audit.made();
drop function if exists audit.found_made();
drop function if exists audit.body_of(oid);
drop function if exists audit.ask(text, text[], regclass, name);
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
comment on table audit.accepted is 'Functions and triggers of one''s own, as audit.accept() found them: the audit reports what differs from then on.';

revoke all on table audit.runs, audit.results, audit.found, audit.accepted from public;
grant select on table audit.runs, audit.results, audit.found, audit.accepted to tms_auditor;
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

create or replace function audit.own_tables()
returns table (name text, columns text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('app.tenants', 'id uuid, name text, slug text, settings jsonb, status text, is_default boolean, registration jsonb null, created_at timestamptz, updated_at timestamptz'),
    ('app.users', 'tenant_id uuid null, id uuid, auth_provider text, auth_subject text, role text, created_at timestamptz, updated_at timestamptz, removed_at timestamptz null'),
    ('app.boards', 'tenant_id uuid null, id uuid, owner_id uuid, title text, settings jsonb, created_at timestamptz, updated_at timestamptz'),
    ('app.board_members', 'tenant_id uuid null, board_id uuid, user_id uuid, role text, invited_by uuid null, created_at timestamptz'),
    ('app.generations', 'tenant_id uuid null, id uuid, board_id uuid, user_id uuid, artifact_type text, status text, input jsonb, created_at timestamptz, completed_at timestamptz null'),
    ('app.media', 'tenant_id uuid null, id uuid, generation_id uuid, storage_url text, created_at timestamptz'),
    ('app.provider_configs', 'tenant_id uuid null, id uuid, provider_name text, config jsonb, is_enabled boolean, created_at timestamptz, updated_at timestamptz'),
    ('app.credit_transactions', 'tenant_id uuid null, id uuid, user_id uuid, generation_id uuid null, type text, amount bigint, balance_after bigint, created_at timestamptz')
$$;

comment on function audit.own_tables() is 'The service''s own tables: name, and the columns that the audit relies on with their types, null where they may be null.';

-- The keys of the service's own tables: a dropped constraint is no longer in the catalog to be missed.
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
    'Restore it. Of your own: run it as its caller, or vouch for it: select audit.accept(…).'),
  ('function_owner', 'isolation_config', 'error', 'schema', true,
    'A function of the service is owned by a role that no policy was written for; or a tenants'' table makes or tests its rows with a function or domain of somebody else''s.', 'A definer function has its owner''s rights, a default those of whoever writes: who owns the function can have it do anything as them.', 'Give it back.'),
  ('function_security', 'isolation_config', 'error', 'schema', true,
    'A function is SECURITY DEFINER and should not be, or the other way round.', 'As tms_owner''s definer it may do what only migrations should.', 'Change it back.'),
  ('function_bypass', 'isolation_config', 'error', 'schema', true,
    'A SECURITY DEFINER function of a superuser or of a role with BYPASSRLS; or one outside the service''s schemas that runs as a tms_ role.', 'Calling it is a way around every policy.', 'Make it SECURITY INVOKER, or give it to a role under the policies.'),
  ('trigger_rights', 'isolation_config', 'warning', 'schema', true,
    'A trigger on a tenants'' table reads or writes tables, and its function is not SECURITY DEFINER.', 'Fired by a foreign key''s action it runs as the table''s owner: before the row it reaches every tenant''s rows, after it (on Postgres 18) none.', 'Make its function a definer of tms_app, as docs/extending.md shows.'),
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
    'ALTER ROLE or ALTER DATABASE … SET gives sessions a tenant, app.maintenance, another role or another search_path; or tms_service has lost the settings of db/roles.sql.', 'Without a tenant of its own a request would be in that one.', 'Reset it.'),
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
    ('function', 'api.add_member(text,text,text,text,text,text,text,text,text,text,text)', 'tms_app', 'tms_service', 'b5558696cde87c93b4a6b9ed43585104'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '5a81bf506eabaa87490e3b663e4fdaf8'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'b279a8616635fa6a13708081556e566f'),
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', 'af30396a90532b83160babac00ec67a1'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', 'b9ac1f09407cdc3e32e5930d55db35a1'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '9417b7ed1baefc55744ca12622a46741'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', '7b32753fa239c530ab2ba9c2119d23f6'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', '22c8fe6ddee68143f457fe279ce24605'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'e214449a40a9d6bb5fddc587127c42f6'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a2dabea3f1b69467272845bd714af71'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', 'e9f8f0d78050068aad7692ec4cc1a850'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '65c1da0070fa201dcd567fa60238314e'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', 'f65556ea86242d3b80f4b6bf6872cf10'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', 'f2a7f8344bf343031795bd5adcf44dad'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '68dfac0a6c393e5325d538c5f2677465'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '3b331c5f22ce84451db4d40c954cda90'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', 'ebe84e9e98bfc2c432b47f456ba67b90'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '93833be632b8db3b9501ee6584e9e9ac'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7fb84d44efb0ad29a3010156ec1c5076'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', '950d04d00f152333db055cd9daf6ad71'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '156b3bd207b55707b0cd4efa64fc4863'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', 'ec16ddeff64181b0a42e4ab73e12dc8f'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'ecfd0124c55ed00867213e22c912ce12'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', 'd754155b0a70f29617296e3426ee4b33'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', 'cb326e2d0435296b00955ad277ed958e'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'b3ec00081e5fa5acee31f5a0c1e74dd3'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', 'c40e8b3cff6dcd752bd73e3c157a8ea1'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '80b57c872a426f8ab0113a223cec7764'),
    ('function', 'api.take_rate_limit(text,text,integer)', 'tms_registrar', 'tms_service', '41d8c0145b5790e51437e96768bc9fe9'),
    ('function', 'api.update_tenant(text,text,text,text,text,text,text,text,text,jsonb,text[])', 'tms_registrar', 'tms_service', '4d8950f0eb9ed255cbd55a50bdde9edd'),
    ('function', 'app.adopt(regclass)', 'tms_owner', '', '3002070c38653d038a0b0d259e137ea9'),
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
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '5d751e7e1a5179a05398c58a6efec29e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', 'fa5beac5cdc23ce0ff992e90bc186f26'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '735413e9852668f357df195a09e37f22'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', '7bfc1f4e5358d8e39186bd573d244858'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', 'a74b9943a40815d1dc63fb230228546b'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', 'c9e07b153cfc2f4142a9adcc0979d9c4'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor tms_registrar', 'da40bfed1c55f43ccbe19e35462c037e'),
    ('function', 'app.member_json(app.users)', 'tms_owner', 'tms_app', 'a26aaca041cce263b087e34bf13bfab2'),
    ('function', 'app.move_tenant(text,text,text)', 'tms_registrar', '', '62adac9244b6c4b5a7443d321c25219b'),
    ('function', 'app.move_tenant(text,text[],text,text)', 'tms_registrar', '', 'b50a69e19e5227e537f291deae3f9a8f'),
    ('function', 'app.parse_uuid(text)', 'tms_owner', 'tms_app tms_registrar', '16cbb9025fe9d8da60ca41bdd12a10b6'),
    ('function', 'app.read_cursor(text)', 'tms_owner', 'tms_app tms_registrar', '7a450cd2eff59edf3dc1d99ec8f01a3e'),
    ('function', 'app.refuse(integer,text,text,text,jsonb)', 'tms_owner', 'tms_app tms_registrar', 'ed53708c0d267cc1eda3001a2aa9e4fd'),
    ('function', 'app.remove_tenant(app.tenants)', 'tms_registrar', '', '473c8bfaf448a768742b86fbef5911f0'),
    ('function', 'app.replay(text,text,text,jsonb)', 'tms_registrar', '', '1de402158f59334ded63d0ca48e00947'),
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', 'd8ca10ef652aadb1df2c118d18e1f244'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', 'cb53aa9b3e4769955e3bfc93a31352aa'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '372ed04befe2137666ccc0d3cd708e48'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '81db2cc5b5ba419c5ace31eb05c7159e'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '9fd716fca6d98ef85a81a4d0f9f5c190'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'f22879e1d2334df904803ce8936ae756'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor tms_registrar', 'a000e4be13b244f721f88ab1a1f9a338'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', 'e080d56edb568acf85249eb64e33746b'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '2c49d7a68e652e708efd90d22075a36f'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'a77714c0f71463977127d50ee1073861'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', 'ed49e685371aaf59def57cd3d3f7bcd8'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', 'dbdf21ae5ac14da27a0893200c2ab5c6'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', '2551d7cf995721157b03f44f76e60fa3'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'cc98c7821e042d24cbb5df51028fe1dc'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '9009ec5a3426d7a6a55cc5adbcb445e4'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', 'd32c1eb3d9867377a6257b5070f713b1'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', 'b0943da454408ee453970ecca0cd0e5d'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', 'b1986e8a6f69923eb6279e972d4184b7'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '836a9aa7c587324400d5cfa45134893d'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', 'b87fb2efc01ff14d296f9b42ad27530a'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', '3b1c8cc53d6604e5de7cdd75a5d4a5fa'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', '537c2ccdfa67ff3e26dd6ddcea2eb952'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', 'f36e34802df9c075dc62fc994bb9c70a'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'b3bf613ee34a22c478ed76aa78a01fe0'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', 'de85dfffceaf97b911c9d1b7f3e974ca'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '661291ebe36883f9807c08a510b1ca83'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', 'e9f2f1f5637c2041b4b8bda57f9bc799'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', '0bd99b71ec8156b9502739e04dfa4c48'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', '69f5670a84ffd18966ddb24871696efa'),
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
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '9bb7bf7d08d97bc9c424b121d017974d'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '323e6d09461c7e44ff2919223d5df48c'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', 'e91d68e36c593fa775ccbb64bbe645b4'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '33887f08c45a5330ab690e5fac1c76ed'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', 'bea7b97de249c1e346a6839f9966f771'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', '6df6395c8ba29cd1815353945ecd03f3'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', '54f9b3a1fcc6feb4a734c06abc246b05'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', '4e14b93b74aeffd3bbf4c6d881b49116'),
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
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', 'd8e7755f6bc16f029ba3f170b27792e1'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '9eb4212f301e31c2e0b7645cc04fef87'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '75b193c74ca1da785ae3a0d8b4d3e5f5'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '251e98369314171d9a7e9a6ea5efb6a3'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', '05f6202feaee348266ab72ad98ed0312'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', '810802f6e382d99beb56fb3330870c7a'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '133ed8d368bc49c455825b40bca52864'),
    ('function', 'audit.find_tenant(text)', 'tms_auditor', 'tms_owner', '12f9525e37d5db423ff907b40bfee3a5'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', '614ee1a3ea045e4a82b439d88c694185'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', '4f0543af71d6bc06b162b1540f907bba'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', 'a4bfa10a1931ca801e6a50a8a620471d'),
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
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '0414e0d59a93221badddc34b5c44e047'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', '596a6fe8029526ac6b998bae15a0a2a8'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', '4c1d0cd8fc879cec004039519bde6973'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', '5b5d77637226c4a122fccadf30523800'),
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
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', 'b3cd8956ecf2a5c41d7eae20e5f4382d'),
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
--! Included audit/checks/functions.sql
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
    and f.oid not in (select audit.of_extensions('pg_proc'))
$$;

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
    coalesce(regexp_replace(pg_get_function_sqlbody(f.oid), '\s+', ' ', 'g'), replace(f.prosrc, E'\r\n', E'\n'))))
  from pg_proc f join pg_language l on l.oid = f.prolang where f.oid = p_function
$$;
comment on function audit.definition_hash(oid) is 'What a function does, as a hash: language, kind, volatility, strictness, whose rights, parallel safety, arguments, result, settings, body.';

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
    format(case when o.owner <> 'tms_owner' and f.owner = 'tms_owner'
             then 'grant create on schema %1$s to %3$s; alter routine %2$s owner to %3$s; revoke create on schema %1$s from %3$s;'
             else 'alter routine %2$s owner to %3$s;' end, f.schema, f.name, o.owner)
  from audit.functions() f
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name
  cross join lateral (select coalesce(m.owner, case when f.schema = 'api' then 'tms_app' else 'tms_owner' end)) o (owner)
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
    where f.oid not in (select audit.of_extensions('pg_proc'))
    union
    select 'domain', t.oid::regtype::text, t.typowner
    from pg_attribute a join pg_type t on t.oid = a.atttypid and t.typtype = 'd'
    where a.attrelid = r.relid and a.attnum > 0 and not a.attisdropped and t.oid >= 16384
      and t.oid not in (select audit.of_extensions('pg_type'))
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
        '^app\.(schema_version|last_audit)\(', '^control\.tg_tenants__(count|record)\(', '^audit\.(has_rows|start_run|record_pass|finish_run)\(']))
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
         else audit.by_owner(f.owner, format('alter routine %s security invoker;', f.name)) end
  from audit.functions() f join pg_roles r on r.rolname = f.owner
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name
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
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when (f.own or f.definer) and c.path is null and (f.definer or p.prosqlbody is null and f.kind <> 'p'
           -- Inlined without one: each name in them has its schema, and function_changed looks at their bodies.
           and f.name not in ('app.board_json(app.boards)', 'app.tenant_json(app.tenants)', 'app.member_json(app.users)'))
           then 'the function takes its search_path from the caller, whose objects can stand in for the real ones'
         when f.own and c.path not in ('pg_catalog, pg_temp', '"pg_catalog", "pg_temp"') then format('search_path is %s instead of pg_catalog, pg_temp', c.path)
         when f.definer and c.path !~ ',\s*"?pg_temp"?$' then format('search_path is %s: without pg_temp in the last place, temporary objects are found first', c.path) end,
    audit.by_owner(f.owner, format('alter routine %s set search_path = pg_catalog, pg_temp;', f.name))
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
    audit.by_owner(f.owner, format('alter routine %s reset %s;', f.name, split_part(c.setting, '=', 1)))
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
         when f.definer and a.who = 'public' then format('everybody may execute the function with the rights of %s', f.owner)
         when f.definer and not f.own and a.who in ('tms_service', 'tms_app', 'tms_registrar')
           then format('%s may execute the function with the rights of %s: what one tenant leaves there another may find', a.who, f.owner)
         when f.own and a.is_grantable then format('%s may pass on the right to execute the function', a.who)
         when f.schema = 'api' and a.who not in ('tms_service', 'tms_owner', 'tms_auditor') then format('%s may execute the function, beside the service''s login', a.who) end,
    audit.by_owner(f.owner, format('revoke execute on routine %s from %s;', f.name, a.who))
  from audit.functions() f
  left join lateral (
    select case when x.grantee = 0 then 'public' else x.grantee::regrole::text end as who, x.is_grantable
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
  where f.proleakproof and f.oid >= 16384 and f.oid in (select audit.of_extensions('pg_proc'))
  union all
  select 'error', null, 'uuid_eq(uuid,uuid)', '{}'::jsonb,
    case when not proleakproof then 'the comparison in every policy is not leakproof: conditions of a query may be run before it, on any tenant''s rows' end,
    'alter function pg_catalog.uuid_eq(uuid, uuid) leakproof;'
  from pg_proc where oid = 'pg_catalog.uuid_eq(uuid,uuid)'::regprocedure
$$;
--! EndIncluded audit/checks/functions.sql
--! Included audit/checks/changes.sql
-- What a release made, compared with what is there: the functions by what they are and who may call them, and the triggers on
-- the service's own tables. Somebody's hand, or a migration that forgot the list, is told from the release either way.
create or replace function audit.installed()
returns table (kind text, name text, owner text, granted text, body text, definer boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'function', f.name, f.owner::text,
    coalesce((select string_agg(w.who, ' ' order by w.who)
      from aclexplode(f.acl) a cross join lateral (select case when a.grantee = 0 then 'public' else a.grantee::regrole::text end) w (who)
      where a.grantee <> to_regrole(quote_ident(f.owner))), ''),
    case when f.name <> 'audit.manifest()' then audit.definition_hash(f.oid) else '' end, f.definer
  from audit.functions() f
  where f.own
  union all
  -- On Citus those of app.tenants are on the coordinator's own copy (db/distribute.sql), which it shows to nobody in pg_class.
  select 'trigger', format('%I on %s', t.tgname, w.name), '', '', audit.short_hash(replace(pg_get_triggerdef(t.oid), format(' ON %s ', t.tgrelid::regclass), format(' ON %s ', w.name))
    -- The service's own are compared by themselves.
    || case when p.pronamespace not in (select to_regnamespace(s) from unnest(array['app', 'api', 'control', 'audit']) s) then audit.definition_hash(p.oid) else '' end), false
  from pg_trigger t
  join pg_proc p on p.oid = t.tgfoid
  cross join lateral (
    select case when app.is_distributed() then regexp_replace(t.tgrelid::regclass::text, '^app\.tenants_\d+$', 'app.tenants') else t.tgrelid::regclass::text end) w (name)
  where not t.tgisinternal and t.tgparentid = 0
    and (w.name like 'control.%' or w.name in (select o.name from audit.own_tables() o))
  union all
  select 'event trigger', quote_ident(e.evtname), '', '', audit.short_hash(concat_ws('|', e.evtevent, e.evttags::text, e.evtfoid::regprocedure, audit.definition_hash(e.evtfoid))), false
  from pg_event_trigger e
  where e.oid not in (select audit.of_extensions('pg_event_trigger'))
$$;

comment on function audit.installed() is
$$The functions of the service's schemas, the triggers on its tables and the event triggers, as they are: owner, who may execute
(granted) and a hash of the definition (body). The same columns as audit.manifest(), which says what the release brought.$$;

create or replace function audit.accept(p_name text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into audit.accepted as a (kind, name, owner, granted, body)
  select i.kind, i.name, i.owner, i.granted, i.body
  from audit.installed() i
  where i.name = p_name and i.name not in (select m.name from audit.manifest() m)
  on conflict (kind, name) do update
  set owner = excluded.owner, granted = excluded.granted, body = excluded.body, accepted_at = now(), accepted_by = session_user;
  if not found then
    raise exception using errcode = 'undefined_function', message = format('%s is not a function or trigger of your own', p_name),
      hint = 'select name from audit.installed() where name not in (select name from audit.manifest());';
  end if;
end
$$;
comment on function audit.accept(text) is
$$Vouches for a function or trigger of one's own, as it is now: app.my_function(uuid), my_trigger on app.boards. As tms_owner.
What differs from it later is function_changed. delete from audit.accepted takes it back. Raises 42883 where there is none.$$;

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
    case when m.accepted then format(case when f.name is null then 'delete from audit.accepted where name = %L;' else 'select audit.accept(%L); -- once you have read it' end, m.name)
         when f.name is null or f.body <> m.body or f.owner <> m.owner then 'restore it from db/committed of this release, or from a backup'
         when m.name is null and f.kind <> 'function' then format('drop %s %s; -- or, once you have read it: select audit.accept(%L);', f.kind, f.name, f.name)
         when m.name is null then audit.by_owner(f.owner, format('alter routine %s security invoker;', f.name)) || format(' -- or, once you have read it: select audit.accept(%L);', f.name)
         else audit.by_owner(f.owner, format('revoke execute on routine %s from %s;', f.name, x.more)) end
  from (
    select *, false as accepted from audit.manifest()
    union all
    -- What a release brings by now under the same name is the release's.
    select kind, name, owner, granted, body, true from audit.accepted a
    where not exists (select from audit.manifest() x where x.kind = a.kind and x.name = a.name)) m
  full join audit.installed() f on f.kind = m.kind and f.name = m.name
  cross join lateral (
    select string_agg(w.who, ', ') as more, bool_or(w.who = 'public' or w.who like 'tms\_%') as public
    from unnest(string_to_array(nullif(f.granted, ''), ' ')) w (who)
    where m.name is not null and w.who <> all (string_to_array(m.granted, ' '))) x
$$;
--! EndIncluded audit/checks/changes.sql
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
  select case when c.oid in (select audit.of_extensions('pg_class'))
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
    format('revoke all on table %s from %s, public;', c.oid::regclass, r.name)
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
         when not l.collisdeterministic then format('the column %s has a nondeterministic collation, so that different strings compare equal: one identity, or slug, passes for another', c.name)
         when not a.attnotnull and not c.nullable then format('the column %s may be null: nothing asks for a row where it is', c.name) end,
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
      'select app.isolate(%L, p_adopt => true);%s', c.oid::regclass, case when k.relid is null then
        format(E'\n-- what all tenants share, such as a list of countries, belongs in a schema of its own instead: alter table %s set schema …;', c.oid::regclass) end)
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
      p_table in (select to_regclass(t.name) from audit.own_tables() t) as is_own
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

-- A hash table that outgrows the processor's cache costs several times the merge of two indexes, which needs no memory
-- either; the planner's costs do not know that. Several slices are the workers' shares: within one there is nothing to
-- share out, or each worker would read the whole inner index. Undone when audit.examine() returns.
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
    v_answer := audit.count_suspects(v_test.question, v_slices, p_table, v_test.child_column);
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
  v_distributed constant boolean := to_regprocedure('app.distribute(regclass)') is not null;  -- app.is_distributed() is not for tms_app
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
        -- Unless a trigger put it back into its own tenant. Asked apart, as a column that is read brings the SELECT policies to help.
        if v_attempt.tenant_id = p_tenant_id and not v_distributed
          and exists (select from pg_trigger where tgrelid = p_table and not tgisinternal and tgtype & 3 = 3) then
          begin
            execute format('with w as (%s returning %I as id) select count(*) from w where id is distinct from %L',
              format(v_attempt.statement, p_table, p_column, v_attempt.value, v_taken), p_column, p_tenant_id) into v_rows;
            if v_rows = 0 then
              fault := null;
            end if;
            raise division_by_zero;
          exception
            when lock_not_available then
              raise;
            when others then
              null;
          end;
        end if;
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
        v_other := coalesce(case when cardinality(v_tenants) > 1 then v_tenants[i % cardinality(v_tenants) + 1] end, v_spare);
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
  select array_agg(format('%s: %s. Fix it with: %s', coalesce(f.relation, f."check"), f.detail, regexp_replace(f.remedy, '\s*\n\s*', ' ', 'g')))
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
