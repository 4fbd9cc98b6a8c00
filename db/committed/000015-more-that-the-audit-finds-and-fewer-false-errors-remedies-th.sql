--! Previous: sha1:5706b4a2569bc7a4e2a281b86a1ae34ab76d1fbd
--! Hash: sha1:14d902b0964a190890480e80c4790572aadb085e
--! Message: more that the audit finds and fewer false errors, remedies that leave roles their rights, exact cursors

-- What real use showed since the migration before.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
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
    -- As a text: a product with an interval is of floating point, and misses microseconds of other centuries.
    at := timestamptz 'epoch' + (v_part[1] || ' us')::interval;
    id := v_part[2]::uuid;
  exception when data_exception then
    null;
  end;
  if app.cursor_of(at, id) is distinct from p_cursor then
    perform app.refuse(422, 'Validation failed', 'The cursor was not made by this service', 'bad_cursor',
      '{"errors": [{"field": "cursor", "message": "was not made by this service"}]}');
  end if;
end
$$;
comment on function app.read_cursor(text) is 'The sort key in a cursor, the one before every row for a null cursor; raises TM422 for anything that app.cursor_of did not make.';
revoke all on function app.read_cursor(text) from public;
grant execute on function app.read_cursor(text) to tms_app, tms_registrar;
--! EndIncluded context/cursor.sql
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
  -- First what a deletion of the tenant takes first.
  perform from app.board_members where tenant_id = v_caller.tenant_id and user_id = app.parse_uuid(p_user_id) for update;
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
  v_now := greatest(now(), v_user.updated_at);
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
$$Suspends a tenant: nobody gets in until it is resumed. Returns the tenant. p_if_match as of api.update_tenant. Raises TM403, TM404, TM412,
TM409 when it is not active, and for the default tenant in single-tenant mode.$$;
revoke all on function api.suspend_tenant(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.suspend_tenant(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/suspend_tenant.sql
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
  v_allowed := coalesce(v_tenant.status = 'active', false) and (v_joins or (v_user.id is not null and v_user.removed_at is null));

  select json_agg(json_build_object(
      'table', s.name::text,
      'row_security', case when c.relforcerowsecurity and c.relrowsecurity then 'forced' when c.relrowsecurity then 'enabled' else 'off' end,
      'held', case when h.rows is not null then least(h.rows, v_limit) end, -- least() passes over null
      'shown', case when not v_allowed then 0 when s.rows is not null then least(s.rows, v_limit) end,
      'more', coalesce(h.rows > v_limit, false))),
    v_allowed and bool_or(h.rows > s.rows)
  into v_tables, v_hidden
  from control.shown_rows(v_tenant.id, v_limit + 1) s
  join pg_class c on c.oid = s.name
  cross join lateral (
    select case when has_schema_privilege('tms_auditor', c.relnamespace, 'usage') and has_table_privilege('tms_auditor', c.oid, 'select')
      then control.held_rows(s.name, v_tenant.id, v_limit + 1) end) h (rows);

  return json_build_object(
    'allowed', v_allowed,
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
  select format('alter %s owner to tms_owner;', p_object) || case
    when p_owner = any (case p_object when 'schema api' then array['tms_service', 'tms_app', 'tms_registrar', 'tms_auditor']
        when 'schema app' then array['tms_app', 'tms_registrar', 'tms_auditor'] when 'schema audit' then array['tms_registrar', 'tms_auditor']
        when 'schema control' then array['tms_registrar'] end)
      then format(' grant usage on %s to %I;', p_object, p_owner)
    when p_owner in ('tms_app', 'tms_auditor') then coalesce((
      select format(' select app.isolate(%L);', r.relid) from audit.relations() r
      where 'table ' || r.relid = p_object and r.tenant_column = 'tenant_id' and not r.is_child), '')
    else '' end
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
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', '3720b1d293e78cbccbd3c446bf54b9e3'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'ebccd746458670f4c70458c9bf0600b5'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', 'f7645e02bd526119efa67830291e5925'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', 'aec334f5b312fce0465bf7f9c7df7585'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'c07b53b6e0e36351d3d9ad7164dcb78e'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a2dabea3f1b69467272845bd714af71'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', '5e35d1ba8adbdfe21ced71929cbde129'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '2d014f472627080349fe363cec47ab14'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', 'f65556ea86242d3b80f4b6bf6872cf10'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', 'f2a7f8344bf343031795bd5adcf44dad'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '644645cadd2d707d7257ffd9374cecad'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '3b331c5f22ce84451db4d40c954cda90'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '232fea41870a7ebcd555b769c0c8bf42'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '9c48b26b968b3a7851606bad8cf23e49'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7fb84d44efb0ad29a3010156ec1c5076'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', '7fd7b7deda326d54e6a4a7b1216ce4dd'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '815f9a903342d7d59cf4283b5812805f'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6f7b849f51bac751aa6f08e886b85416'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a93c5af2867a8cb0b3d40083d3b966e'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'a915796a579fa9f1ac63c2e737746713'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '5dcc8a91279ab6c76561b86cdd412955'),
    ('function', 'api.take_rate_limit(text,text,integer)', 'tms_registrar', 'tms_service', '2467ee3d8d766a3b78ff67b0d43b9e74'),
    ('function', 'api.update_tenant(text,text,text,text,text,text,text,text,text,jsonb,text[])', 'tms_registrar', 'tms_service', '48b1b9e33de7b08da7b21deaa0a637b8'),
    ('function', 'app.adopt(regclass)', 'tms_owner', '', '765cd727e7ebd9237aaaef89a422b824'),
    ('function', 'app.await_writers(uuid,boolean)', 'tms_registrar', '', '316ea0f7df30955e5eada3a31284089b'),
    ('function', 'app.board_json(app.boards)', 'tms_owner', 'tms_app', 'b2ff17214266ed6c2d039748d90c97f3'),
    ('function', 'app.count_tenants(text)', 'tms_registrar', 'tms_auditor', '469edab0911b6b7799ab8aecfb63b42c'),
    ('function', 'app.count_tenants_like(text,text)', 'tms_registrar', '', 'd5fd689fd694ae35e0b4513652271182'),
    ('function', 'app.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', '8297e332eda8e3937d95b839446598d2'),
    ('function', 'app.cursor_of(timestamp with time zone,uuid)', 'tms_owner', 'tms_app tms_registrar', '860fabd228104008346a85a66c10fdc1'),
    ('function', 'app.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '67ed87e44a0e6241901815fe9c9a643f'),
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', 'e53d9fd4554d7ce74d399f874e5a53bc'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '3bf828d30b17036231b66576e4484145'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', '4424ecd58849f08969922210e9f3d134'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '8eb737e517796d6ce22928eb56414403'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '919d46d05c3100ad0844ff3c5537542e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', 'fa5beac5cdc23ce0ff992e90bc186f26'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '1d02cdf5e8e2cd790f4c6aac7f0ba5e6'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', 'a48b7c4393c1f8c554017aa17f6f002d'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '9476734f3d3b943216a0a8d1859aeec4'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', 'b7ac6dd1fcff487126c149995f4b5e60'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor tms_registrar', 'da40bfed1c55f43ccbe19e35462c037e'),
    ('function', 'app.lock_tenant(text)', 'tms_registrar', '', '0b1ae05cd5d8020b9c15e41a7f1ade32'),
    ('function', 'app.member_json(app.users)', 'tms_owner', 'tms_app', 'a26aaca041cce263b087e34bf13bfab2'),
    ('function', 'app.move_tenant(text,text[],text,text)', 'tms_registrar', '', 'ee5850e71f4f5c4d77064d7bafb5fa14'),
    ('function', 'app.parse_uuid(text)', 'tms_owner', 'tms_app tms_registrar', '16cbb9025fe9d8da60ca41bdd12a10b6'),
    ('function', 'app.read_cursor(text)', 'tms_owner', 'tms_app tms_registrar', '784e132c450f7f990b3891e42f4db431'),
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
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor tms_registrar', '66704d878ad84c6f8985f81fd7c28633'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', 'e080d56edb568acf85249eb64e33746b'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '575d522375a1ff1ca17600e75e0e0e46'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'a77714c0f71463977127d50ee1073861'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '609ab7da46f1b9e59e8d76437af5b647'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '16bf88379de7de608f081636ff88db64'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'cc98c7821e042d24cbb5df51028fe1dc'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_giving_back(text,name)', 'tms_owner', 'tms_auditor', '5b05ec0fc2bd25cde48a406835e8ac70'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '1c05b8ac43add9b39123ae59a0526038'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '04923da4b065b8fb8df72f733e6bd263'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', 'f6a1962925c49cd55de0af372a980648'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', 'e3980905d4256cabdad3abd6e55fe23f'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', '800f340d9c10bbd2c669bc034e0a5e5c'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', 'c7cd7efe479271b584317fbdce6102bf'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', '5db5fbc2e100d38bda73fb0479a4cbe9'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '92531a37b54d0216b6a3b4fa467c2e7d'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'd77af029401976b475f7199ef15487bc'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', 'f807d178c9685d930898f3fca24a79ad'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '89df780e1f9634bf86227bba353f6084'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', '9b0f16aa3b79b73992c1518e44e47333'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ce251b1eb7abf63c86ec57f92b3072ce'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', '9b3b6f9f9c7f60263142713d6bafa269'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', '9b928789a57eb8ac38baab9bb52d66a8'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', '786d4bc57069ce564603a173e5250048'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'd1faf6862168f7d8f4834c8068586e61'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', 'f23167578bc699e38b4c7647c9d90d51'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', 'c3a1c6932de7679be0813684c8d8b9fe'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', '8c0b88682bc41535117ca19f80752ff4'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', 'f9b1161bed0f117592e3df80920ad04c'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '7a735c080d897eb7f706e80d08b05d3a'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '76f522701b48a9610786180fd9adb50a'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', '9c7a2cc8fd48451d9a20748d5e6c16a1'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '33887f08c45a5330ab690e5fac1c76ed'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', '664dced47f493b0780b02fa31f61e2ad'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', 'c20c3d2f8b19ef51beaf706f65653baf'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', '158c11306d3dc787d8155ca8a9473948'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'ea7948ade84356dca011bc420f852827'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', '0c47cce38869f5d865bd02ff603aa9a7'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '2c4eb1ee6f5d89ddda0752e65ac92253'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '0ba207f4146feb218cc8b13711ee9f1a'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', 'd13d37376b3026061141500c441c1bcc'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'ae255cd593fdf4a510213d0e6426da51'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '24f765fb5b622b73ade562b60f935db9'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', 'e3a03e3bc42dd30f0aa6f65a3cf4f8cb'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', 'be3f439878e18252ab4495eab95f1f42'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', 'bab30b90b68842e7a8fbb0262dd6d093'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', 'd99ff818e85d5d623a9751e3d1881098'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', 'fe3a08ec5b56f0bcbcc16665d2c2962c'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', '6125399627eda6768cdd0afc068115d9'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '15274dd848763e8dd5f36f2dafc7dd6f'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', 'a212671ba5daaa7ce0ffb118ac7efe0c'),
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
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', 'fda1a2edc4f2b4cfdd811652e24d622a'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', '4880ffbe4193b53d2dd3858b0a994364'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '1f949c4b253075977eca6e03c27dd8a2'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'a7ea746ec51ec75d5477d08197fbe8c5'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '0d8d1f65be045d42ac17782b75a8bb76'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '124b4d1b8d43aeccc901f4f7ce69c808'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', '3690d152fc02db79c130879c024c11bc'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '366f7720e9a287ddeea783eb1b65058b'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'd108b6b303d8f7d9593126ec54ce1bb9'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'f5b9abedd1567d6164420c673cbc1ae8'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '1adf85437cf05b0b339ea931d4dca3e3'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '5f24f08f442b792491759fdb213b9e29'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '893cd8ca00a04f52fc227cc5cda60b79'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '1ce02f8819524f9c89ec8d6591bb77d2'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', '30c1a249dd53e65bd29409041f1ffe20'),
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
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', '4d2663d8c476447048220fe1694bdf0c'),
    ('function', 'audit.try_writes(regclass,name,uuid,uuid)', 'tms_owner', 'tms_auditor', '615b758e986a60510125fd10cea4206c'),
    ('function', 'audit.version_fault(integer,boolean)', 'tms_owner', 'tms_auditor', '06d07c9578250233fc2390a7b0188d14'),
    ('function', 'audit.visible_rows(regclass,name,uuid[])', 'tms_owner', 'tms_auditor', 'f56e328b033e956fdab9d1f8baad34ba'),
    ('function', 'control.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', 'f51e10df58d79ca3a0d0795dfe58aa56'),
    ('function', 'control.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '64ba8d9e056505dbf964689f858940de'),
    ('function', 'control.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', '93c381d01a96c194de8c5ac1d25b0325'),
    ('function', 'control.find_tenant(text)', 'tms_auditor', 'tms_owner', '092ecd4817dc31d218f82c2a5fb7fb1b'),
    ('function', 'control.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'control.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '379f66e5be803b087e2d33e846308ed7'),
    ('function', 'control.leaking_tables()', 'tms_app', 'tms_registrar', 'a64065acd87739f1fa6faf8563022cdf'),
    ('function', 'control.shown_rows(uuid,integer)', 'tms_app', 'tms_registrar', '940fe838dabb731f042c6f4ee27bec1c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', '9737cde625d18b6cd691d3909049c634'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c5bcc8f27a34855b08f6954793bb871a'),
    ('function', 'control.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_owner', 'ce4af7fb2724cf10b0a16ca75e28c820'),
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
    'tms_app or tms_registrar has a right on a table, view or foreign table that is no tenants'' table; a warning where requests only read it, or only write.',
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
           (array_agg(o order by o.severity, o.relation, o."row"::text) filter (where o.detail is not null))[1:1000]
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
  -- Followed for all tables at once: for one at a time the planner would expect as many rows, and clear a table of their size, for each.
  select 'error', null, r.relid::text, case when c.name is null then '{}' else jsonb_build_object('uses', c.name) end,
    case when not (o.rolname in ('tms_owner', 'tms_app', 'tms_registrar', 'tms_auditor') or o.rolsuper or pg_has_role(o.oid, to_regrole('tms_owner'), 'member'))
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
        select 'pg_class'::regclass, typrelid from pg_type where u.classid = 'pg_type'::regclass and oid = u.objid and typrelid <> 0
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
      -- No key's action inserts, and few update.
      and (t.tgtype & 8 = 8 or t.tgtype & 16 = 16 and exists (
        select from pg_constraint k where k.conrelid = r.relid and k.contype = 'f' and (k.confdeltype in ('n', 'd') or k.confupdtype in ('c', 'n', 'd'))))
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
-- itself brought (audit.manifest) was read then, and is not read again here. SET stands at the beginning of a statement, which may be
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
           or b.sets ~* '<set>\s+((session|local)\s+)?"?(role|session\s+authorization|row_security|session_replication_role)\M'
           or b.code ~* 'set_config\s*\([^;]*(''|\$)(role|session_authorization|row_security|session_replication_role)(''|\$)'
           then 'the function changes the role, or how policies and triggers apply to it' end,
    format(case when f.reached then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; inside a tenant: perform app.set_tenant(…)'
                else 'select pg_get_functiondef(%1$L::regprocedure); -- read it, then: select audit.accept(%1$L);' end, f.name)
  from audit.functions() f
  -- Not in one expression: with an alternative in it, it would take all between the first and the last comment.
  cross join lateral (select regexp_replace(regexp_replace(f.body, '--[^\n]*', ' ', 'g'), '/\*.*?\*/', ' ', 'g')) c (code)
  cross join lateral (
    select c.code, regexp_replace(c.code, '(?<!(\|\||\mraise(\s+\w+)?)\s*)(''|\$)\s*set\M', '<set>', 'gi')
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

-- What is not a tenant's table but lies beside them: the service's bookkeeping, the audit's results, views and sequences. Elsewhere
-- numbers are somebody's own, but that no request may set them.
create or replace function audit.check_other_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- To a role of somebody else's a view with its reader's rights is as its tables are, where policies narrow: a warning.
  select case when (c.relkind = 'v' and v.invoker or c.relkind = 'S' and a.privilege_type <> 'UPDATE') and n.nspname = 'app'
                and a.who <> all (array_append(audit.our_roles(), 'public')) then 'warning' else 'error' end,
    null::uuid, c.oid::regclass::text, jsonb_build_object('role', coalesce(a.who, 'nobody'), 'privilege', a.privilege_type),
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
    select exists (select from pg_options_to_table(c.reloptions) where case when option_name = 'security_invoker' then option_value::boolean end) as invoker,
      n.nspname in ('app', 'api', 'control', 'audit', 'graphile_migrate') as own) v
  left join lateral (
    select audit.role_name(x.grantee) as who, x.privilege_type
    from aclexplode(c.relacl) x where x.grantee <> c.relowner
    union all
    select audit.role_name(x.grantee), x.privilege_type
    from pg_attribute t cross join lateral aclexplode(t.attacl) x where t.attrelid = c.oid and t.attacl is not null and x.grantee <> c.relowner
  ) a on v.own or a.privilege_type = 'UPDATE' and a.who = any (array_append(audit.our_roles(), 'public'))
    and (has_schema_privilege('tms_app', n.oid, 'usage') or has_schema_privilege('tms_service', n.oid, 'usage'))
  where case when v.own then c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and c.oid not in (select relid from audit.relations())
        else c.relkind = 'S' and c.oid >= 16384 and n.nspname not like 'pg\_t%' and c.oid not in (select audit.of_extensions('pg_class')) end
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
  select case when w.outsider and not a.is_grantable and (d.defaclobjtype = 'r' and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
                or d.defaclobjtype = 'S' and a.privilege_type <> 'UPDATE') then 'warning'
              when w.ours or d.defaclnamespace in (0, to_regnamespace('app'), to_regnamespace('api'), to_regnamespace('control'), to_regnamespace('audit'), to_regnamespace('public'))
                then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object('owner', d.defaclrole::regrole::text, 'role', a.who, 'privilege', a.privilege_type),
    case when a.who in ('public', 'tms_service', 'tms_app', 'tms_registrar') or w.ours and w.outsider
           or a.who = 'tms_auditor' and a.privilege_type not in ('SELECT', 'USAGE', 'EXECUTE') then
      format('%s gets %s on everything that %s makes%s, before anybody isolates it', a.who, a.privilege_type, d.defaclrole::regrole,
        coalesce(' in ' || nullif(d.defaclnamespace, 0)::regnamespace, '')) end,
    audit.by_owner(pg_get_userbyid(d.defaclrole), format('alter default privileges for role %s%s revoke all on %s from %s;', d.defaclrole::regrole,
      coalesce(' in schema ' || nullif(d.defaclnamespace, 0)::regnamespace, ''),
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'n' then 'schemas' else 'large objects' end, a.who))
  from pg_default_acl d
  cross join lateral (select x.*, audit.role_name(x.grantee) as who from aclexplode(d.defaclacl) x) a
  cross join lateral (
    select d.defaclrole::regrole::text = any (audit.our_roles()) as ours,
      a.who <> all (array_append(audit.our_roles(), 'public')) as outsider) w
  where a.grantee <> d.defaclrole and d.defaclobjtype in ('r', 'S', 'f', 'n', 'L')
    -- Whoever writes rows may draw their numbers, as other_grants has it.
    and not (d.defaclobjtype = 'S' and a.who = 'tms_app' and a.privilege_type in ('USAGE', 'SELECT') and not a.is_grantable
      and d.defaclnamespace not in (0, to_regnamespace('control'), to_regnamespace('audit'), to_regnamespace('api')))
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
  select case when w.ours then 'error' else 'warning' end, null::uuid, case when kind = 'table' then name end, jsonb_build_object('object', name, 'role', w.who, 'privilege', privilege_type),
    format('%s has %s%s on the %s %s, which Postgres and its extensions do not grant by default', w.who, privilege_type, col, kind, name),
    format('revoke %s%s on %s %s from %s; -- as a superuser', privilege_type, col, kind, name, w.who)
  from given
  cross join lateral (select audit.role_name(grantee), audit.role_name(grantee) = any (array_append(audit.our_roles(), 'public'))) as w (who, ours)
  -- Statistics hold tenants' values, whoever reads them.
  where w.ours or kind = 'table' and name in ('pg_statistic', 'pg_statistic_ext_data')
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
         when d.server is not null then format('drop user mapping for %I server %I; -- as a superuser', r.name, d.server)
         else audit.by_giving_back(d.named, r.name) || format(' -- as a superuser, or as a member of %s and tms_owner', r.name) end
  from (values ('tms_service'), ('tms_app'), ('tms_registrar'), ('tms_auditor')) as r (name)
  left join lateral (
    select case when s.classid = 'pg_database'::regclass then 'database' else pg_describe_object(s.classid, s.objid, s.objsubid) end as object,
      (select regexp_replace(i.type, '^statistics object$', 'statistics') || ' ' || i.identity from pg_identify_object(s.classid, s.objid, s.objsubid) i) as named,
      case when s.classid = 'pg_largeobject'::regclass then s.objid end as blob,
      (select m.srvname from pg_user_mappings m where s.classid = 'pg_user_mapping'::regclass and m.umid = s.objid) as server
    from pg_shdepend s
    where s.refclassid = 'pg_authid'::regclass and s.refobjid = to_regrole(r.name) and s.deptype = 'o'
      and (select oid from pg_database where datname = current_database()) in (s.dbid, case when s.classid = 'pg_database'::regclass then s.objid end)
      and not (s.classid = 'pg_proc'::regclass and r.name <> 'tms_service')
      and s.classid <> 'pg_default_acl'::regclass -- what is made is not owned by this; check_default_privileges() looks at it
  ) d on true
$$;
--! EndIncluded audit/checks/grants.sql
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
    join pg_attribute a on a.attrelid = r.relid and a.attnum > 0 and not a.attisdropped and a.attname <> 'tenant_id'
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
        and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] <@ c.conkey)
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
    select w.relation, w.columns, n.relname as name, c.conname, c.contype = left(w.kind, 1)::"char" as same_kind, 0 = all (i.indoption) as ascending
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
      when exists (select from fitting f where f.relation = w.relation and f.columns = w.columns and f.same_kind)
        then (select format('alter table %s rename constraint %I to %I;', w.relation, min(f.conname), w.name) from fitting f
              where f.relation = w.relation and f.columns = w.columns and f.same_kind)
      when not app.is_distributed() and exists (select from fitting f where f.relation = w.relation and f.columns = w.columns and f.name = w.name and f.ascending)
        then format('alter table %s add constraint %I %s using index %I;', w.relation, w.name, w.kind, w.name)
      else coalesce((select format('drop index %s; ', i.indexrelid::regclass) from pg_index i join pg_class n on n.oid = i.indexrelid
                     where i.indrelid = w.relid and n.relname = w.name), '')
        || format('alter table %s add constraint %I %s (%s);', w.relation, w.name, w.kind, array_to_string(w.columns, ', ')) end
  from wanted w
$$;
--! EndIncluded audit/checks/keys.sql
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
    select c.conrelid from reached r join pg_constraint c on c.confrelid = r.relid and c.contype = 'f'
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
    where f.conrelid = c.oid and f.contype = 'f' and f.confrelid = to_regclass('app.tenants') and a.attnotnull
    having count(distinct a.attname) = 1) o on true
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
--! Included audit/checks/changes.sql
-- What a release made, compared with what is there: the functions by what they are and who may call them, and the triggers on
-- the service's own tables. Somebody's hand, or a migration that forgot the list, is told from the release either way.
create or replace function audit.installed()
returns table (kind text, name text, owner text, granted text, body text, definer boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'function', f.name, f.owner::text, f.granted, case when f.name <> 'audit.manifest()' then audit.definition_hash(f.oid) else '' end, f.definer
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
    and (w.name ~ '^(control|audit)\.' or w.name in (select o.name from audit.own_tables() o))
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
  from (
    select kind, name, owner, granted, body from audit.installed()
    union all
    select 'function', name, owner, granted, audit.definition_hash(oid) from audit.functions() where not own) i
  where i.name = p_name and i.name not in (select m.name from audit.manifest() m)
  on conflict (kind, name) do update
  set owner = excluded.owner, granted = excluded.granted, body = excluded.body, accepted_at = now(), accepted_by = session_user;
  if not found then
    raise exception using errcode = 'undefined_function', message = format('%s is not a function or trigger of your own', p_name),
      hint = 'select name from audit.installed() where name not in (select name from audit.manifest()) union select name from audit.functions() where not own;';
  end if;
end
$$;
comment on function audit.accept(text) is
$$Vouches for a function or trigger of one's own, as it is now: app.my_function(uuid), my_trigger on app.boards; for an event trigger; or for a
function outside the service's schemas, whoever owns it. As tms_owner. What differs from it later is function_changed; outside, it is found again by
the checks that found it before, which never stop finding what one of the five roles may execute. delete from audit.accepted takes it back. Raises
42883 where there is none.$$;

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
         -- Only a superuser makes one: on a managed server that is the provider.
         when m.name is null and f.kind = 'event trigger' then format('select audit.accept(%1$L); -- once you have read its function; or, as its owner: drop event trigger %1$s;', f.name)
         when m.name is null and f.kind <> 'function' then format('drop %s %s; -- or, once you have read it: select audit.accept(%L);', f.kind, f.name, f.name)
         -- There nothing else may be but a definer.
         when m.name is null and f.name like 'api.%' then format('select audit.accept(%1$L); -- once you have read it; or, as %2$I: drop routine %1$s;', f.name, f.owner)
         when m.name is null then audit.by_owner(f.owner, format('alter routine %s security invoker;', f.name)) || format(' -- or, once you have read it: select audit.accept(%L);', f.name)
         else audit.by_owner(f.owner, format('revoke execute on routine %s from %s;', f.name, x.more)) end
  from (
    select *, false as accepted from audit.manifest()
    union all
    -- What a release brings by now under the same name is the release's. Functions elsewhere are audit.functions()'s to compare.
    select kind, name, owner, granted, body, true from audit.accepted a
    where (a.kind <> 'function' or a.name ~ '^(app|api|control|audit)\.') and not exists (select from audit.manifest() x where x.kind = a.kind and x.name = a.name)) m
  full join audit.installed() f on f.kind = m.kind and f.name = m.name
  cross join lateral (
    select string_agg(w.who, ', ') as more, bool_or(w.who = 'public' or w.who like 'tms\_%') as public
    -- A name in quotes may have blanks in it.
    from (select (regexp_matches(f.granted, '"(?:[^"]|"")+"|[^ ]+', 'g'))[1]) w (who)
    where m.name is not null and w.who <> all (string_to_array(m.granted, ' '))) x
$$;
--! EndIncluded audit/checks/changes.sql
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
