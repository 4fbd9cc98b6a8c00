-- The loop over the checks. Which there are is a query; what a run found is in temporary tables of the session.
create view audit.checks as
with forms (family, category, columns) as (
  values ('schema', 'isolation_config', '{severity,relation,object,detail,remedy}'::text[]),
    ('data', 'data_consistency', '{severity,tenant_id,relation,row,detail,remedy}')
), schemas as (
  select relnamespace as oid from pg_class where oid = 'audit.profile'::regclass
  union
  select n.oid from pg_namespace n join audit.profile p on n.nspname = any (p.extra_checks)
), found as (
  select c.oid, c.relname::text as "check", f.family, f.category, obj_description(c.oid, 'pg_class') as comment,
    format('%I.%I', n.nspname, c.relname) as source
  from schemas s
  join pg_namespace n on n.oid = s.oid
  join pg_class c on c.relnamespace = n.oid and c.relkind = 'v'
  join forms f on f.columns = (
    select array_agg(a.attname::text order by a.attnum) from pg_attribute a where a.attrelid = c.oid and a.attnum > 0)
  union all
  select p.oid, p.proname, f.family, f.category, obj_description(p.oid, 'pg_proc'), format('%I.%I()', n.nspname, p.proname)
  from schemas s
  join pg_namespace n on n.oid = s.oid
  join pg_proc p on p.pronamespace = n.oid and p.pronargs = 0 and p.proretset
  join forms f on f.columns = p.proargnames
)
select "check", family, coalesce(substring(comment from 'Category: (\w+)'), category) as category,
  coalesce(substring(comment from '^(error|warning|info)\M'), 'error') as severity, comment, source, oid
from found
union all
select d."check", 'data', d.category, 'error', d.finds, null, null from audit.data_checks d
union all
select p.name, 'schema', 'isolation_config', p.severity, p.finds, null, null
from (values
  ('not_isolated', 'error', 'relations that show a principal rows of another tenant, or let it write them'),
  ('sees_less', 'error', 'tables that do not show a principal all rows of its tenants'),
  ('not_proved', 'info', 'relations of which nothing was proved, and why; an error where the proof acted as no principal that has rows'))
    p (name, severity, finds);
comment on view audit.checks is
$$All checks, with their comments: select "check", comment from audit.checks. A view or a function without parameters is one if it has the
columns severity, relation, object, detail, remedy (of the catalog) or severity, tenant_id, relation, "row", detail, remedy (of rows).$$;

create function audit.start_run(
  p_only text default null, p_tenant text default null, p_writes boolean default false, p_sample int default 5,
  p_as_superuser boolean default false)
returns table (n bigint, step text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set client_min_messages = warning
as $$
#variable_conflict use_column
declare
  v_twice constant text := (select min(x."check") from (select c."check" from audit.checks c group by 1 having count(*) > 1) x);
  -- What is meant as one, and would never run.
  v_odd constant text := (
    select min(format('%I.%I', n.nspname, c.relname))
    from audit.profile p join pg_namespace n on n.nspname = any (p.extra_checks)
    join pg_class c on c.relnamespace = n.oid and c.relkind = 'v'
    where c.oid not in (select k.oid from audit.checks k where k.oid is not null)
      and (select count(*) from pg_attribute a where a.attrelid = c.oid and a.attname in ('severity', 'remedy')) = 2);
  v_tenants text[];
  v_failure text;
begin
  if p_only not in ('data', 'schema') then
    raise exception using errcode = 'invalid_parameter_value', message = format('p_only is data, schema or null, and not %L', p_only);
  elsif v_twice is not null then
    raise exception using errcode = 'duplicate_object', message = format('two checks are named %s', v_twice);
  elsif v_odd is not null then
    raise exception using errcode = 'invalid_table_definition', message = format('%s has not the columns of a check', v_odd),
      hint = 'They are severity, relation, object, detail, remedy; or severity, tenant_id, relation, "row", detail, remedy.';
  elsif not exists (select from audit.profile) then
    raise exception using errcode = 'no_data_found', message = 'there is no profile of this database',
      hint = 'Propose one, read it, and store it: select audit.load_profile(audit.propose());';
  end if;
  drop table if exists pg_temp.run, pg_temp.run_steps, pg_temp.run_checks, pg_temp.run_findings, pg_temp.run_rows,
    pg_temp.run_statements;
  create temp table run_steps (
    n bigint generated always as identity, step text primary key, kind text, "check" text, source oid, failure text, done boolean);
  create temp table run_checks ("check" text primary key, checked bigint, errors bigint, warnings bigint, infos bigint, failed boolean);
  create temp table run_findings (
    n bigint generated always as identity, "check" text, severity text not null check (severity in ('error', 'warning', 'info')),
    tenant_id text, relation text, "row" jsonb, detail text, remedy text);
  create temp table run_rows (relid oid primary key, rows bigint);
  create temp table run_statements as select * from audit.data_statements where p_only is distinct from 'schema';

  if p_tenant is not null then
    execute format('select p.tenants from (%s) p (principal, enter, tenants) '
      'where p.tenants <> ''{}'' and (p.principal = $1 or p.tenants = array[$1]) limit 1', (select principals from audit.profile))
    into v_tenants using p_tenant;
    if v_tenants is null then
      raise exception using errcode = 'no_data_found', message = format('there is no tenant %L', p_tenant),
        hint = 'A tenant is called as the profile''s principals call it, or by its key.';
    end if;
  end if;
  create temp table run as
    select clock_timestamp() as started_at, p_tenant as tenant, v_tenants as tenants, p_writes as writes, p_sample as sample;
  if p_only is distinct from 'data' then
    -- A superuser is refused here. Anything else that keeps the proof from running is the failure of its step.
    begin
      perform audit.prepare_proof(p_as_superuser, v_tenants);
    exception when others then
      if current_setting('is_superuser') = 'on' and not p_as_superuser then
        raise;
      end if;
      v_failure := sqlerrm;
    end;
  end if;

  insert into pg_temp.run_steps (step, kind, "check", source, failure)
  select s.step, s.kind, s."check", s.source, s.failure
  from (
    select 1, 'schema', c."check", 'check', c."check", c.oid, null from audit.checks c where c.family = 'schema' and c.oid is not null
    union all
    select 2, 'schema', 'proof of ' || t.relation, 'proof', 'not_proved', t.relid, null from audit.tables t where v_failure is null
    union all
    select 3, 'schema', 'proof', 'proof ends', 'not_proved', null, v_failure
    union all
    select distinct 4, 'data', 'rows of ' || d.relation, 'rows', 'parent_missing', d.relid, null from pg_temp.run_statements d
    union all
    select 5, 'data', c."check", 'check', c."check", c.oid, null from audit.checks c where c.family = 'data' and c.oid is not null
  ) s (place, family, step, kind, "check", source, failure)
  where p_only is null or s.family = p_only
  order by s.place, s.step;
  insert into pg_temp.run_checks
  select c."check", 0, 0, 0, 0, false from audit.checks c where p_only is null or c.family = p_only;
  return query select s.n, s.step from pg_temp.run_steps s order by s.n;
end
$$;
comment on function audit.start_run(text, text, boolean, int, boolean) is
$$Opens a run in this session and returns its steps, for audit.run_step(). p_only: data or schema. p_tenant: rows of this tenant only.
p_writes: the proof tries writes. p_sample: principals with rows for each table that the proof acts as. p_as_superuser: proves as one.$$;

create function audit.rows_of(p_relation oid)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rows bigint := (select r.rows from pg_temp.run_rows r where r.relid = p_relation);
begin
  if v_rows is null then
    execute format('select count(*) from %s', (select format('%I.%I', n.nspname, c.relname)
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = p_relation)) into v_rows;
    insert into pg_temp.run_rows values (p_relation, v_rows);
  end if;
  return v_rows;
end
$$;
comment on function audit.rows_of(oid) is 'The number of rows of a table, counted once a run.';

create function audit.read_by(p_check oid)
returns setof oid
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select s.source
  from audit.sources s
  join audit.relations r on r.relid = s.source and r.relkind in ('r', 'p')
  where s.relid = p_check
$$;
comment on function audit.read_by(oid) is 'The tables of the audited database that a check reads rows of.';

create function audit.note(p_findings text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format($f$
    with found ("check", severity, tenant_id, relation, "row", detail, remedy) as materialized (
      %s
    ), ranked as (
      select f.*, row_number() over (partition by f."check" order by array_position('{error,warning,info}', f.severity)) as n
      from found f
    ), kept as (
      insert into pg_temp.run_findings ("check", severity, tenant_id, relation, "row", detail, remedy)
      select r."check", r.severity, r.tenant_id, r.relation, coalesce(r."row", '{}'), r.detail, r.remedy
      from ranked r
      join pg_temp.run_checks c on c."check" = r."check"
      -- A report of more is read by nobody; the counts go on.
      where r.n + c.errors + c.warnings + c.infos <= 1000
      order by r."check", r.n
    )
    update pg_temp.run_checks c
    set errors = c.errors + f.errors, warnings = c.warnings + f.warnings, infos = c.infos + f.infos
    from (
      select "check", count(*) filter (where severity = 'error') as errors, count(*) filter (where severity = 'warning') as warnings,
        count(*) filter (where severity = 'info') as infos
      from found group by "check") f
    where c."check" = f."check"$f$, p_findings);
end
$$;
comment on function audit.note(text) is
$$Counts the findings of a query (check, severity, tenant_id, relation, row, detail, remedy), and keeps the first thousand of each check, the
worst of a step first.$$;

create function audit.find(p_kind text, p_source oid)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set constraint_exclusion = on -- a check asks nothing of a table whose valid constraint says the same
as $$
declare
  v_run record;
  v_check record;
begin
  select * into strict v_run from pg_temp.run;
  if p_kind = 'check' then
    select * into strict v_check from audit.checks c where c.oid = p_source;
    if v_check.family = 'schema' then
      perform audit.note(format($f$
        select %L, severity, null, relation, case when object is not null then jsonb_build_object('object', object) end, detail, remedy
        from %s$f$, v_check."check", v_check.source));
      update pg_temp.run_checks c set checked = (select count(*) from audit.relations) where c."check" = v_check."check";
    else
      perform audit.require_unfiltered(r) from audit.read_by(p_source) r;
      perform audit.note(format($f$
        select %1$L, severity, tenant_id, relation, "row", detail, remedy
        from %2$s
        where %3$L::text[] is null or tenant_id = any (%3$L)$f$, v_check."check", v_check.source, v_run.tenants));
      update pg_temp.run_checks c set checked = (select coalesce(sum(audit.rows_of(r)), 0) from audit.read_by(p_source) r)
      where c."check" = v_check."check";
    end if;
  elsif p_kind = 'proof' then
    perform audit.prove_table(p_source, v_run.sample, v_run.writes);
    update pg_temp.run_checks c set checked = c.checked + 1 where c."check" = 'not_proved';
  elsif p_kind = 'proof ends' then
    -- One fault, one finding: the proof does not repeat that nobody asks a policy. Beside any other error it speaks, since that one may be
    -- accepted.
    perform audit.note($f$
      select f."check", f.severity, f.tenant_id, f.relation, f."row", f.detail, f.remedy
      from audit.proof_findings() f
      where not exists (
        select from pg_temp.run_findings x
        where x.relation = f.relation and x.severity = 'error'
          and x."check" in ('rls_disabled', 'owner_bypasses', 'view_as_owner', 'foreign_table', 'table_inherits'))$f$);
    update pg_temp.run_checks c set checked = (
      select count(distinct p.relid) from pg_temp.proof_claims p where p.claim = 'a principal has rows in it' and p.result = 'proved')
    where c."check" in ('not_isolated', 'sees_less');
  else
    perform audit.note(format($f$
      select f."check", f.severity, f.tenant_id, f.relation, f."row", f.detail, f.remedy
      from pg_temp.run_statements s
      cross join lateral audit.find_rows((s.relid, s.relation, s.checks, s.object, s.parent, s.statement, s.listing, s.unless)) f
      where s.relid = %1$L and (%2$L::text[] is null or f.tenant_id = any (%2$L))$f$, p_source, v_run.tenants));
    update pg_temp.run_checks c set checked = c.checked + audit.rows_of(p_source)
    where c."check" in (select unnest(d.checks) from pg_temp.run_statements d where d.relid = p_source);
  end if;
end
$$;
comment on function audit.find(text, oid) is 'Does one step of a run: a check, the proof of a table, the rows of a table.';

create function audit.run_step(
  p_step text, out checked bigint, out errors bigint, out warnings bigint, out infos bigint, out failure text, out seconds numeric)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_step record;
  v_before record;
  v_started constant timestamptz := clock_timestamp();
begin
  select * into v_step from pg_temp.run_steps s where s.step = p_step and s.done is null;
  if not found then
    raise exception using errcode = 'object_not_in_prerequisite_state', message = format('the run does not wait for the step %L', p_step);
  end if;
  select sum(c.checked) as checked, sum(c.errors) as errors, sum(c.warnings) as warnings, sum(c.infos) as infos
  into v_before from pg_temp.run_checks c;
  begin
    if v_step.failure is not null then
      raise exception '%', v_step.failure;
    end if;
    perform audit.find(v_step.kind, v_step.source);
  exception when others then
    failure := sqlerrm;
    perform audit.note(format(
      'select %L, ''error'', null, %L, null::jsonb, %L, ''-- mend what keeps it from running: what it did not see is not clean''',
      v_step."check", case when v_step.kind in ('proof', 'rows') then substring(p_step from ' of (.*)') end,
      format('the check could not run (%s): %s', p_step, failure)));
    update pg_temp.run_checks c set failed = true where c."check" = v_step."check";
  end;
  update pg_temp.run_steps s set done = true where s.step = p_step;
  select sum(c.checked) - v_before.checked, sum(c.errors) - v_before.errors, sum(c.warnings) - v_before.warnings,
    sum(c.infos) - v_before.infos
  into checked, errors, warnings, infos from pg_temp.run_checks c;
  seconds := round(extract(epoch from clock_timestamp() - v_started), 2);
end
$$;
comment on function audit.run_step(text) is
  'Does one step of the open run, and tells what it examined and found. One that cannot run is an error, and stops no other.';

create function audit.verdict(
  out verdict text, out checks bigint, out errors bigint, out warnings bigint, out infos bigint, out not_run bigint, out counts text,
  out next text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_left constant bigint := (select count(*) from pg_temp.run_steps s where s.done is null);
begin
  select count(*), sum(c.errors), sum(c.warnings), sum(c.infos), count(*) filter (where c.failed)
  into checks, errors, warnings, infos, not_run from pg_temp.run_checks c;
  verdict := case when v_left = 0 and errors = 0 then 'PASSED' else 'FAILED' end;
  counts := concat(
    format('%s checks, %s errors, %s warnings, %s infos, %s could not run', checks, errors, warnings, infos, not_run),
    (select case when c.checked = 0 then ', nothing was proved' else format(', %s relations were proved', c.checked) end
      from pg_temp.run_checks c where c."check" = 'not_isolated'));
  next := case
    when v_left > 0 then format('%s steps were not run', v_left)
    when errors + warnings + infos > 0 then 'select severity, "check", relation, detail, remedy from run_findings order by n;'
    else 'select * from run_checks;' end;
end
$$;
comment on function audit.verdict() is 'PASSED or FAILED, the counts of the open run and in words, and where to look.';

create function audit.report()
returns jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_checks jsonb;
  v_findings jsonb;
begin
  select jsonb_agg(jsonb_build_object('check', c."check", 'category', k.category, 'severity', k.severity, 'checked', c.checked,
    'findings', c.errors + c.warnings + c.infos) order by k.family desc, c."check")
  into v_checks
  from pg_temp.run_checks c join audit.checks k on k."check" = c."check";
  select coalesce(jsonb_agg(jsonb_build_object('check', f."check", 'category', k.category, 'severity', f.severity, 'tenant_id', f.tenant_id,
    'relation', f.relation, 'row', f."row", 'detail', f.detail, 'remedy', f.remedy)
    order by array_position('{error,warning,info}', f.severity), f.n), '[]')
  into v_findings
  from pg_temp.run_findings f join audit.checks k on k."check" = f."check";
  return (
    select jsonb_build_object(
      'started_at', to_char(r.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'finished_at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'tenant', r.tenant, 'checks', v_checks, 'findings', v_findings,
      'summary', jsonb_build_object('checks', v.checks, 'errors', v.errors, 'warnings', v.warnings))
    from pg_temp.run r, audit.verdict() v);
end
$$;
comment on function audit.report() is 'The open run as the report that interfaces promise.';

create function audit.run(
  p_only text default null, p_tenant text default null, p_writes boolean default false, p_sample int default 5,
  p_as_superuser boolean default false)
returns table (severity text, "check" text, relation text, tenant_id text, "row" jsonb, detail text, remedy text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_step text;
begin
  for v_step in select s.step from audit.start_run(p_only, p_tenant, p_writes, p_sample, p_as_superuser) s order by s.n loop
    perform audit.run_step(v_step);
  end loop;
  return query
    select f.severity, f."check", f.relation, f.tenant_id, f."row", f.detail, f.remedy
    from pg_temp.run_findings f
    order by array_position('{error,warning,info}', f.severity), f.n;
  return query
    select v.verdict, null::text, null::text, null::text, null::jsonb, v.counts, v.next
    from audit.verdict() v;
end
$$;
comment on function audit.run(text, text, boolean, int, boolean) is
$$All checks, the proof and the checks of rows: a line for each finding, worst first, and PASSED or FAILED at the end.
  begin isolation level repeatable read; select * from audit.run(); rollback;$$;
