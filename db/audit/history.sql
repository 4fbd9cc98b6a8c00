-- For psql and pg_cron: a run whose results stay, in this service's own database. A client sends none of this: what is stored cannot
-- vouch for itself, and a member of tms_auditor stores what its own session says it found.
create or replace function audit.open_run(p_tenant text, p_only text, p_sample int)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_maintenance constant text := coalesce(current_setting('app.maintenance', true), '');
  v_tenant uuid;
  v_run bigint;
begin
  set local app.maintenance = on; -- tms_owner sees the tenants
  select t.id into v_tenant from app.tenants t where t.slug = p_tenant or t.id::text = p_tenant;
  perform set_config('app.maintenance', v_maintenance, true);
  if p_only not in ('data', 'schema') then
    raise exception using errcode = 'invalid_parameter_value', message = format('p_only is data, schema or null, and not %L', p_only);
  elsif p_tenant is not null and v_tenant is null then
    raise exception using errcode = 'no_data_found', message = format('there is no tenant %L', p_tenant);
  end if;
  insert into audit.runs (tenant, tenant_id, family, sample, schema_version, run_by)
  values (p_tenant, v_tenant, p_only, p_sample, app.schema_version(), session_user)
  returning id into v_run;
  return v_run;
end
$$;
comment on function audit.open_run(text, text, int) is
$$Opens a run in audit.runs. It is finished once its results are stored. Raises P0002 for a tenant that
nobody has, 22023 for another p_only.$$;

create or replace function audit.close_run(p_run bigint, p_checks jsonb, p_findings jsonb)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_family text;
begin
  select family into v_family
  from audit.runs where id = p_run and finished_at is null and run_by = session_user for update;
  if not found then
    raise exception using errcode = 'object_not_in_prerequisite_state', message = format('run %s is not open', p_run);
  end if;
  insert into audit.found (run_id, check_name, n, severity, tenant_id, relation, "row", detail, remedy)
  select p_run, f."check", row_number() over (partition by f."check" order by array_position('{error,warning,info}', f.severity), f.n),
    f.severity, app.parse_uuid(f.tenant_id), f.relation, f."row", f.detail, f.remedy
  from jsonb_to_recordset(p_findings) f (
    n bigint, "check" text, severity text, tenant_id text, relation text, "row" jsonb, detail text, remedy text);
  -- A line for each check, and one for each relation of which it found something.
  insert into audit.results (run_id, check_name, relation, checked, errors, warnings, infos, failed)
  with by_relation as (
    select check_name, relation, count(*) filter (where severity = 'error') as errors,
      count(*) filter (where severity = 'warning') as warnings, count(*) filter (where severity = 'info') as infos
    from audit.found where run_id = p_run and relation <> '' group by 1, 2
  )
  select p_run, r.check_name, r.relation, 0, r.errors, r.warnings, r.infos, false from by_relation r
  union all
  select p_run, c."check", '', c.checked, c.errors - coalesce(sum(r.errors), 0), c.warnings - coalesce(sum(r.warnings), 0),
    c.infos - coalesce(sum(r.infos), 0), c.failed
  from jsonb_to_recordset(p_checks) c ("check" text, checked bigint, errors bigint, warnings bigint, infos bigint, failed boolean)
  left join by_relation r on r.check_name = c."check"
  group by c."check", c.checked, c.errors, c.warnings, c.infos, c.failed;
  if exists (select from audit.results where run_id = p_run and least(checked, errors, warnings, infos) < 0)
    or exists (select from audit.found where run_id = p_run and n > 1000)
    or exists (
      select from (select check_name as "check" from audit.found where run_id = p_run
        union select check_name from audit.results where run_id = p_run) r
      full join (select "check" from audit.checks where family = coalesce(v_family, family)) k using ("check")
      -- Only a client compares with the release.
      where k."check" is null or r."check" is null and k."check" <> 'not_as_released')
  then
    raise exception using errcode = 'invalid_parameter_value', message = format('run %s: these are not the results of its checks', p_run);
  end if;
  update audit.runs
  set finished_at = clock_timestamp(), (checks, rows_checked, errors, warnings, infos, not_run) = (
    select count(*) filter (where relation = ''), sum(checked), sum(r.errors), sum(r.warnings), sum(r.infos), count(*) filter (where failed)
    from audit.results r where run_id = p_run)
  where id = p_run;
  delete from audit.found
  where run_id in (select id from audit.runs where finished_at is not null and run_by = session_user order by id desc offset 100)
    and run_id <> all (array(select distinct f.run_id from audit.findings f));
end
$$;
comment on function audit.close_run(bigint, jsonb, jsonb) is
$$Stores what a run found, and finishes it: p_checks and p_findings are the rows of run_checks and run_findings. They are values, since a
view in pg_temp would be executed with the owner's rights. The findings of each login's last hundred runs are kept, and those of a run of
which one is open. Raises 55000 for a run that this login has not open, 22023 for results that are not those of its checks.$$;

-- Not a definer, and without SET: a procedure with either may not commit. What stands here is looked for along the caller's path, so
-- everything is named with its schema, and there is no operator.
create or replace procedure audit.run(
  p_tenant text default null, p_only text default null, p_sample int default 20, inout p_run bigint default null)
language plpgsql
as $$
declare
  v_steps text[];
  v_step text;
  v_verdict record;
begin
  p_run := audit.open_run(p_tenant, p_only, coalesce(p_sample, 2147483647));
  select pg_catalog.array_agg(s.step order by s.n) into v_steps
  from audit.start_run(p_only, p_tenant, false, coalesce(p_sample, 2147483647)) s;
  foreach v_step in array v_steps loop
    -- One snapshot for each step, and none from one to the next. Nothing may stand between these two: any expression takes a snapshot.
    commit;
    set transaction isolation level repeatable read;
    perform audit.run_step(v_step);
  end loop;
  commit;
  perform audit.close_run(p_run,
    (select pg_catalog.jsonb_agg(c) from pg_temp.run_checks c), (select pg_catalog.jsonb_agg(f) from pg_temp.run_findings f));
  select * into v_verdict from audit.verdict();
  raise notice '%: %. See: table audit.findings;', v_verdict.verdict, v_verdict.counts;
  commit;
end
$$;
comment on procedure audit.run(text, text, int, bigint) is
$$Runs the isolation audit, stores it, and returns its id. p_tenant: the slug of one tenant (its rows only). p_only: data or schema.
p_sample: as how many principals of each table the proof acts; null: all. Commits after every step, so it cannot be called inside a
transaction. It tries no write.
  call audit.run();  table audit.findings;$$;

create or replace view audit.trend as
select id as run_id, started_at, finished_at, extract(epoch from finished_at - started_at)::numeric(12, 3) as seconds,
  case when finished_at is null then 'unfinished' when not_run > 0 then 'incomplete' when errors > 0 then 'errors' else 'clean' end
    as result,
  tenant, family, checks, rows_checked, errors, warnings, infos, not_run, run_by
from audit.runs
order by id desc;
comment on view audit.trend is
  'Every run, newest first. incomplete: a check could not run; unfinished: the run was cancelled, or goes on.';

create or replace view audit.last_run as
select * from audit.trend where finished_at is not null order by run_id desc limit 1;
comment on view audit.last_run is 'The last finished run.';

create or replace view audit.last_checks as
select r.check_name as "check", c.category, case when bool_or(r.failed) then 'error' else c.severity end as severity,
  sum(r.checked)::bigint as checked, sum(r.errors)::bigint as errors, sum(r.warnings)::bigint as warnings, sum(r.infos)::bigint as infos,
  bool_or(r.failed) as failed
from audit.last_run l
join audit.results r on r.run_id = l.run_id
left join audit.checks c on c."check" = r.check_name
group by r.check_name, c.category, c.severity
order by errors desc, warnings desc, "check";
comment on view audit.last_checks is 'Each check of the last finished run: rows or relations examined beside findings.';

create or replace view audit.findings as
with asked as materialized (
  select r.check_name, t.tenant_id, max(t.id) as run_id
  from audit.results r join audit.runs t on t.id = r.run_id and t.finished_at is not null
  where r.relation = '' and not r.failed
  group by r.check_name, t.tenant_id
), known as (
  select f.*, t.tenant_id as run_tenant_id, c.category, c.family
  from audit.found f
  join audit.runs t on t.id = f.run_id and t.finished_at is not null
  join audit.checks c on c."check" = f.check_name
)
select "check", category, severity, tenant_id, relation, "row", detail, remedy, run_id, n
from (
  select distinct on (k.check_name, k.tenant_id, k.relation, k."row") k.check_name as "check", k.category, k.severity, k.tenant_id,
    k.relation, k."row", k.detail, k.remedy, k.run_id, k.n
  from known k
  where not exists (
    select from asked a
    where a.check_name = k.check_name and a.run_id > k.run_id
      and (k.family = 'schema' or a.tenant_id is null or a.tenant_id in (k.tenant_id, k.run_tenant_id)))
  order by k.check_name, k.tenant_id, k.relation, k."row", k.run_id desc
) open
order by array_position('{error,warning,info}', severity), "check", run_id desc, n;
comment on view audit.findings is
$$The open findings, worst first; at most a thousand of each check and run. A finding is closed by a later run in which its check could run:
of the catalog by any, of rows by one of all tenants or of its tenant.$$;
comment on column audit.findings."check" is 'The name in audit.checks: its comment says what it finds, why it matters, how to mend it.';
comment on column audit.findings.category is
  'cross_tenant_access, orphaned_record, board_membership, data_consistency or isolation_config.';
comment on column audit.findings.severity is 'error, warning or info.';
comment on column audit.findings.tenant_id is 'The tenant whose row it is; null for a finding about the catalog.';
comment on column audit.findings.relation is 'The table, view or other object; null for a finding about none.';
comment on column audit.findings."row" is 'The key columns of the row, or what names the object.';
comment on column audit.findings.detail is 'What is wrong, in one sentence.';
comment on column audit.findings.remedy is 'What to do: SQL that can be pasted, or a comment.';
comment on column audit.findings.run_id is 'The latest run in audit.runs that found it.';
comment on column audit.findings.n is 'The number of the finding within its run and check.';

create or replace view audit.events as
select * from app.read_events();
comment on view audit.events is
$$What happened to tenants, their members, invitations and keys, when and by whom, the newest first. actor_subject is the caller over HTTP;
it is null for a change in SQL, whose login the row names.$$;

create or replace function audit.require_isolation()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_faults text[];
begin
  set local app.maintenance = on; -- tms_owner sees every row, until the end of the transaction
  -- A superuser that asks has run the migration as one.
  perform audit.run_step(s.step) from (select step from audit.start_run('schema', p_as_superuser => true) order by n) s;
  select array_agg(format('%s: %s. Fix it with: %s', coalesce(f.relation, f."row" ->> 'object', f."check"), f.detail,
    regexp_replace(regexp_replace(f.remedy, '--\s*([^\n]*)', '/* \1 */', 'g'), E'\\s*\n\\s*', ' ', 'g')) order by f.n)
  into v_faults
  from pg_temp.run_findings f
  -- The server is not the migration's to mend.
  where f.severity = 'error' and f."check" not in ('server_version', 'server_settings');
  if v_faults is not null then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = 'Tenants are not isolated: ' || v_faults[1]
        || case when cardinality(v_faults) > 1 then format(' (and %s more)', cardinality(v_faults) - 1) else '' end,
      detail = array_to_string(v_faults, E'\n');
  end if;
end
$$;
comment on function audit.require_isolation() is
$$The gate: raises 55000 with the object, the fault and the remedy, if a check of the catalog or the proof's reading half finds an error.
The client that installs a release compares its manifest, too.$$;

create or replace function audit.vouch(p_object text, p_reason text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_function constant regprocedure := to_regprocedure(p_object);
  v_index constant regclass := (select indexrelid from pg_index where indexrelid = to_regclass(p_object));
begin
  if coalesce(v_function, v_index::oid) is null then
    raise exception using errcode = 'undefined_object', message = format('%s is neither a function nor an index', p_object),
      hint = 'A function is named with the types of its parameters: shop.total(uuid, int).';
  elsif trim(p_reason) is distinct from p_reason or p_reason = '' then
    raise exception using errcode = 'invalid_parameter_value', message = 'the reason is missing';
  end if;
  insert into audit.vouched (kind, object, hash, reason)
  values (case when v_function is null then 'unique key' else 'function' end, coalesce(v_function::text, v_index::text),
    case when v_function is null then audit.hash_of('pg_index', v_index) else audit.hash_of('pg_proc', v_function) end, p_reason)
  on conflict (kind, object) do update set hash = excluded.hash, reason = excluded.reason;
end
$$;
comment on function audit.vouch(text, text) is
$$For tms_owner: vouches for a function that requests reach, or for a unique key over all tenants, as it is now. The gate believes it; the
command's audit believes the repository's file only, and tells what stands here. Raises 42704, 22023.
  select audit.vouch('shop.total(uuid)', 'reads its own tenant only, reviewed');$$;
