--! Previous: sha1:7b9ce7e217a28cb691abb57dcad916f916a65d83
--! Hash: sha1:694dece5d090b60e881af73f8b703fc062b6bb80
--! Message: findings stay open until asked again, advice on isolation

-- Write the next migration here. Around includes of functions:
-- grant create on schema app, api to tms_app, tms_registrar;
-- set local citus.enable_ddl_propagation = off;
-- set local citus.enable_ddl_propagation = on;
-- revoke create on schema app, api from tms_app, tms_registrar;
grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
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
  '","created_at":"', replace((p_board.created_at at time zone 'UTC')::text, ' ', 'T'),
  'Z","updated_at":"', replace((p_board.updated_at at time zone 'UTC')::text, ' ', 'T'), 'Z"}'
);
comment on function app.board_json(app.boards) is 'A board as every answer shows it, as JSON text. Needs DateStyle ISO.';
revoke all on function app.board_json(app.boards) from public;
grant execute on function app.board_json(app.boards) to tms_app;
--! EndIncluded context/board_json.sql
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
    where finished_at is not null and tenant is null and family is null
    order by id desc limit 1);
end
$$;
comment on function app.last_audit() is 'The last audit that ended of all tenants, data and schema: {finished_at, age_seconds, errors, warnings, not_run}; null when there was none.';
revoke all on function app.last_audit() from public;
grant execute on function app.last_audit() to tms_registrar;
--! EndIncluded context/last_audit.sql
--! Included context/isolation_advice.sql
set local role tms_registrar;
create or replace function app.isolation_advice()
returns setof text
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select format('The table %s has no forced row-level security: npm run audit says how to mend it', c.oid::regclass)
  from pg_class c
  where c.relkind in ('r', 'p') and c.relnamespace = 'app'::regnamespace and not (c.relrowsecurity and (c.relforcerowsecurity or app.is_distributed()))
  union all
  select format('The table %s: %s: npm run audit says how to mend it', u.name, u.fault)
  from app.unprotected_tables() u join pg_class c on c.oid = u.name
  where c.relrowsecurity and (c.relforcerowsecurity or app.is_distributed())
  union all
  select distinct format('The table %s shows rows outside their tenant: npm run audit tells why', l) from app.leaking_tables() l
  union all
  select format('The role %s can bypass row level security: run db/roles.sql again', rolname)
  from pg_roles
  where rolname in ('tms_service', 'tms_app', 'tms_registrar', 'tms_owner', 'tms_auditor') and (rolsuper or rolbypassrls)
  union all
  select format('The service''s login is not safe: %s', f) from api.get_login_faults() f
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
$$What GET /api/setup/status says of isolation: one sentence for each fault of tables, roles, the login and the proof, and for
a last audit that found errors, is more than a week old, or never was. None when all is well.$$;
revoke all on function app.isolation_advice() from public;
reset role;
--! EndIncluded context/isolation_advice.sql
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
comment on table audit.found is 'The first thousand findings of each check, kept for the last hundred runs and while any of their run is open. Key columns only, no payload.';

revoke all on table audit.runs, audit.results, audit.found from public;
grant select on table audit.runs, audit.results, audit.found to tms_auditor;
--! EndIncluded audit/schema.sql
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
  select 'error', null, 'uuid_eq(uuid,uuid)', '{}'::jsonb,
    case when not proleakproof then 'the comparison in every policy is not leakproof: conditions of a query may be run before it, on any tenant''s rows' end,
    'alter function pg_catalog.uuid_eq(uuid, uuid) leakproof;'
  from pg_proc where oid = 'pg_catalog.uuid_eq(uuid,uuid)'::regprocedure
$$;
--! EndIncluded audit/checks/functions.sql
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

-- What a later run did not ask about, or could not, is open still. Decided once for each run, check, tenant and table, and not
-- for each finding.
create view audit.findings with (security_invoker = true) as
  with open as materialized (
    select g.*, c.category
    from (select distinct run_id, check_name, tenant_id, relation from audit.found) g
    join audit.runs r on r.id = g.run_id and r.finished_at is not null
    join audit.checks() c on c."check" = g.check_name
    where not exists (
      select from audit.runs later
      where later.started_at >= r.finished_at and later.finished_at is not null
        and (later.tenant_id is null or later.tenant_id = g.tenant_id or later.tenant_id = r.tenant_id or g.tenant_id is null and c.family = 'schema')
        and exists (select from audit.results x where x.run_id = later.id and x.check_name = g.check_name)
        and not exists (
          select from audit.results x
          where x.run_id = later.id and x.check_name = g.check_name and x.relation in ('', coalesce(g.relation, '')) and x.failed))
  )
  select "check", category, severity, tenant_id, relation, "row", detail, remedy, run_id, n
  from (
    select distinct on (f.check_name, f.tenant_id, f.relation, f."row", f.detail)
      f.check_name as "check", o.category, f.severity, f.tenant_id, f.relation, f."row", f.detail, f.remedy, f.run_id, f.n
    from open o
    join audit.found f on f.run_id = o.run_id and f.check_name = o.check_name
      and f.tenant_id is not distinct from o.tenant_id and f.relation is not distinct from o.relation
    order by f.check_name, f.tenant_id, f.relation, f."row", f.detail, f.run_id desc) found
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
  delete from audit.found
  where run_id in (select id from audit.runs where finished_at is not null order by id desc offset 100)
    and run_id <> all (array(select distinct run_id from audit.findings));
  return v_run;
end
$$;
comment on function audit.finish_run(bigint) is 'Closes a run, adds it up, and forgets the findings of all but the last hundred runs and of those with a finding that is still open.';

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
revoke create on schema app, api from tms_app, tms_registrar;
