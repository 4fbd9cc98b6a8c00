-- What a run found: the verdict, the report, and all of it at once.
create or replace function audit.verdict(
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

create or replace function audit.report()
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

create or replace function audit.run_once(
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
comment on function audit.run_once(text, text, boolean, int, boolean) is
$$All checks, the proof and the checks of rows: a line for each finding, worst first, and PASSED or FAILED at the end.
  begin isolation level repeatable read; select * from audit.run_once(); rollback;$$;
