create or replace function audit.passes(p_family text default null, p_gate boolean default false)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
as $$
  with recursive ancestors as (
    select conrelid as child, confrelid as parent from pg_constraint where contype = 'f' and conparentid = 0 and conrelid <> confrelid
    union
    select a.child, k.confrelid from ancestors a join pg_constraint k on k.conrelid = a.parent and k.contype = 'f' and k.conparentid = 0
  )
  select pass from (
    select c."check" as pass, 1 as part, n
    from audit.checks() with ordinality as c ("check", category, severity, family, gate, finds, why, mend, n)
    where c.family = 'schema' and p_family is distinct from 'data' and (c.gate or not p_gate)
    union all
    -- Parents before their children, which then need not ask again whether there are such tenants.
    select 'scan ' || r.relid, 2, row_number() over (order by coalesce(a.count, 0), r.relid::text)
    from audit.relations() r left join (select child, count(*) from ancestors group by child) a on a.child = r.relid
    -- A partition or a child is read with its table, and by itself for what its table does not have.
    where (not r.is_child or exists (
        select from pg_constraint k
        where k.conrelid = r.relid and (
          k.contype = 'f' and k.conparentid = 0
            and (k.confrelid, k.conkey) is distinct from (to_regclass('app.tenants'), array(select attnum from pg_attribute where attrelid = r.relid and attname = 'tenant_id'))
          or k.contype = 'c' and k.coninhcount = 0 and not k.convalidated)))
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
  select d.check_name from audit.data_checks() d
  where p_pass = 'scan ' || d.answered_by
    and not exists (select from audit.scanned(p_pass) s cross join lateral audit.relations(array[s]) r where r.is_child)
$$;
comment on function audit.pass_checks(text) is 'The checks that a pass is part of.';

-- Everything that reads tenants' rows reads them here, as tms_auditor, whoever called. In control, where no member of
-- tms_auditor can name it: members own what their role owns, and could make it STRICT, or the caller's, and give it a search_path.
set local role tms_auditor;
create or replace function control.examine(p_pass text, p_tenant_id uuid, p_sample int, p_settled text[] default '{}')
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
      select s.* from audit.scanned(p_pass) r cross join lateral audit.scan(r, p_tenant_id, p_settled) s
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
           (array_agg(o order by audit.severity_rank(o.severity), o.relation, o."row"::text, o.detail collate "C") filter (where o.detail is not null))[1:1000]
         from audit.%I() o left join audit.relations() r on r.relid::text = o.relation
         where o.relation ~ '^\d' is not true -- a number stands for what was dropped since the snapshot was taken
         group by 1, 2 order by 1, 2$q$, p_pass, 'check_' || p_pass);
  end if;
end
$$;
comment on function control.examine(text, uuid, int, text[]) is
$$Runs one pass as tms_auditor and returns its outcomes, by check and relation. p_settled: the tables of which the same run has found that every row's
tenant exists. Raises what the check raises.$$;
revoke all on function control.examine(text, uuid, int, text[]) from public;
grant execute on function control.examine(text, uuid, int, text[]) to tms_owner;
reset role;

create or replace function audit.examine(p_pass text, p_tenant_id uuid, p_sample int, p_settled text[] default '{}')
returns setof audit.outcome
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from control.examine(p_pass, p_tenant_id, p_sample, p_settled);
end
$$;
comment on function audit.examine(text, uuid, int, text[]) is 'control.examine(), for who may run the audit.';

-- A check that cannot run is a finding. Only a person's own cancellation goes through.
create or replace function audit.attempt(
  p_pass text, p_tenant_id uuid, p_sample int, p_settled text[] default '{}', out outcomes audit.outcome[], out failure text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_deadline timestamptz;
  v_state text;
  v_hint text;
begin
  begin
    outcomes := array(select o from audit.examine(p_pass, p_tenant_id, p_sample, p_settled) o);
  exception when others or query_canceled or assert_failure then
    get stacked diagnostics v_state = returned_sqlstate, failure = message_text, v_hint = pg_exception_hint;
    -- Not by the message, which is of the server's language. A time-out comes once, and a round trip early where the statement was
    -- sent ahead of its execution.
    v_deadline := (select statement_timestamp() + nullif(setting::bigint, 0) * interval '1 millisecond' from pg_settings where name = 'statement_timeout');
    if v_state = '57014' and (v_deadline between v_began and clock_timestamp() + interval '1 second') is not true then
      raise;
    end if;
  end;
  if failure is not null then
    -- It was dropped by whom the pass waited for; what Postgres says of that names a number, or a syntax error beside one.
    if p_pass like 'scan %' and not exists (select from audit.scanned(p_pass)) then
      failure := format('%s: the table is gone', p_pass);
    end if;
    outcomes := array(
      select row(c, case when p_pass like 'scan %' then substr(p_pass, 6) else '' end, 0, 1, 0, 0, array[
        row('error', p_tenant_id, case when p_pass like 'scan %' then substr(p_pass, 6) end, '{}'::jsonb,
          format('the check could not run: %s (SQLSTATE %s)', failure, v_state),
          -- Ours are SQL; Postgres's are sentences.
          case when v_hint like '%;' then v_hint
               when v_state = '42501' and not has_schema_privilege(to_regrole('tms_auditor'), to_regnamespace('audit'), 'usage')
                 then '-- its rights are gone, as by a restore with --no-acl, or before db/roles.sql: restore the database again, as docs/operations.md tells'
               else format(E'%s-- mend the cause, then:\nselect * from audit.run_check(%L);', regexp_replace(v_hint, '(.+)', E'-- \\1', 'g') || case when v_hint <> '' then E'\n' end, c) end)::audit.observation])::audit.outcome
      from (
        select c from audit.pass_checks(p_pass) c
        union
        -- The table is gone since the run began, or has another name by now: nobody looked at it.
        select 'tenant_missing' where not exists (select from audit.pass_checks(p_pass))) c);
  end if;
end
$$;
comment on function audit.attempt(text, uuid, int, text[]) is
  'audit.examine(), with a failure turned into one finding of severity error for each check of the pass; failure is its message, else null.';
