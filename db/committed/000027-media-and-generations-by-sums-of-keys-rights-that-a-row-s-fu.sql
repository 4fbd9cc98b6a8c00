--! Previous: sha1:fee72f66e7b9609635e11556c5f5880e781d2b82
--! Hash: sha1:c6d42759161f765f90b63e0f3d9383db78808e16
--! Message: Media and generations by sums of keys, rights that a row's functions lack, who names its tenant otherwise is not the default's

set local citus.enable_ddl_propagation = off;
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
  v_organization name;
begin
  if not exists (select from pg_attribute where attrelid = p_table and attname = 'tenant_id' and not attisdropped) then
    -- One column that is never null says whose each row is, under another name.
    select min(a.attname) into v_organization
    from pg_constraint f join pg_attribute a on a.attrelid = f.conrelid and f.conkey = array[a.attnum]
    where f.conrelid = p_table and f.contype = 'f' and f.confrelid = 'app.tenants'::regclass and a.attnotnull
    having count(distinct a.attname) = 1;
    if v_organization is not null then
      raise exception using errcode = 'object_not_in_prerequisite_state',
        message = format('%s cannot be adopted: the tenant of its rows is in %I', p_table, v_organization),
        hint = format('alter table %s rename column %I to tenant_id;', p_table, v_organization);
    end if;
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
  'Gives a single-tenant table a tenant_id, filled with the default tenant, and puts it first in the primary key. One that is there stays as it is. Raises 55000 without a default tenant to fill it with, or where another column names the tenant, 2BP01 while other tables'' foreign keys need the old primary key.';
revoke all on function app.adopt(regclass) from public;
--! EndIncluded context/adopt.sql
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
--! Included audit/as_tms_app.sql
-- The proof acts instead of reading: as tms_app, inside a tenant, by the way a request or a DBA gets there.
set local role tms_app;
create or replace function control.visible_rows(p_table regclass, p_column name, p_tenants uuid[])
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
comment on function control.visible_rows(regclass, name, uuid[]) is
  'As tms_app inside each tenant: the rows it sees of a table, and how many of them are that tenant''s.';
revoke all on function control.visible_rows(regclass, name, uuid[]) from public;
grant execute on function control.visible_rows(regclass, name, uuid[]) to tms_owner;

-- A row is tried that is one of the tenant's own but for the tenant: so it meets its policy, and no default, domain, trigger
-- or missing partition before. Where the tenant has no row, only its tenant_id is given; what stops that before the policy is
-- asked decides nothing. Citus plans no such INSERT.
-- Every attempt ends in an error or in nothing: where a write goes through, its first row raises an error with v_mark in it, which
-- no trigger or default of the table can raise, so that nothing is kept and no second row is touched. RETURNING names no column,
-- because reading one would bring the SELECT policies to help.
-- Citus plans no such RETURNING: there the rows are counted afterwards, and what they were is rolled back.
create or replace function control.try_writes(p_table regclass, p_column name, p_tenant_id uuid, p_other_id uuid)
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
  v_mark constant text := 'mark ' || gen_random_uuid();
  v_distributed constant boolean := to_regprocedure('app.distribute(regclass)') is not null;  -- app.is_distributed() is not for tms_app
  -- There no row changes its tenant, whoever asks, and no UPDATE of it would say what the policies let through.
  v_taken constant name := coalesce((
    select a.attname from pg_attribute a
    where v_distributed and a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and a.attname <> p_column
      and a.attgenerated = '' and a.attidentity = ''
    order by a.attnotnull, a.attnum limit 1), p_column);
  -- A number that tms_app may not draw stops the row before the policy does, with the same error.
  v_numbers constant regclass := (
    select s.oid from pg_attrdef a
    join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = a.oid and d.refclassid = 'pg_class'::regclass
    join pg_class s on s.oid = d.refobjid
    where a.adrelid = p_table and case when s.relkind = 'S' then not has_sequence_privilege(s.oid, 'usage') end
      and has_any_column_privilege(p_table, 'insert')
    limit 1);
  -- Nor one that a function stops which it may not execute: a row is made, tested and indexed with the rights of who writes it.
  v_function constant regprocedure := (
    select d.refobjid from pg_depend d
    where d.refclassid = 'pg_proc'::regclass and not has_function_privilege(d.refobjid, 'execute') and has_any_column_privilege(p_table, 'insert')
      and (d.classid = 'pg_attrdef'::regclass and d.objid in (select oid from pg_attrdef where adrelid = p_table)
        or d.classid = 'pg_constraint'::regclass and d.objid in (select oid from pg_constraint where conrelid = p_table and contype = 'c')
        or d.classid = 'pg_class'::regclass and d.objid in (select indexrelid from pg_index where indrelid = p_table))
    order by d.refobjid limit 1);
  v_insert text := 'insert into %1$s (%2$I) values (%3$L)';
  v_row jsonb;
  v_attempt record;
  v_rows bigint;
  v_message text;
  v_schema text;
  v_table text;
  v_constraint text;
  v_missing text;
  v_type text;
begin
  perform app.require_own_table(p_table);
  if not v_distributed then
    execute format('set local app.tenant_id = %L', p_tenant_id);
    begin
      execute format('select to_jsonb(r.*) from %s r limit 1', p_table) into v_row;
    exception when insufficient_privilege or data_exception then
      null; -- then it is tried without; jsonb does not take what a column of json may hold
    end;
  end if;
  if v_row is not null then
    select format('insert into %%1$s (%s) overriding system value select %s from jsonb_populate_record(null::%%1$s, %L) r',
      concat_ws(', ', '%2$I', string_agg(replace(quote_ident(a.attname), '%', '%%'), ', ' order by a.attnum)),
      concat_ws(', ', '%3$L::uuid', string_agg(replace(format('r.%I', a.attname), '%', '%%'), ', ' order by a.attnum)),
      replace(v_row::text, '%', '%%'))
    into v_insert
    from pg_attribute a
    where a.attrelid = p_table and a.attnum > 0 and a.attgenerated = '' and a.attname <> p_column
      and has_column_privilege(p_table, a.attnum, 'insert'); -- null of one that was dropped
  end if;
  for v_attempt in
    select * from (values
      ('insert a row for another tenant', p_tenant_id, v_insert, p_other_id),
      ('give its rows to another tenant', p_tenant_id, 'update %1$s set %2$I = %3$L', p_other_id),
      -- WITH CHECK would already be one row too far.
      ('take the rows of other tenants', v_nobody, case when v_distributed then 'update %1$s set %4$I = %3$L'
        else format('update %%1$s set %%2$I = (%L || pg_backend_pid())::uuid', v_mark) end, null),
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
        || case when v_distributed then '' else format(' returning (%L || pg_backend_pid())::int', v_mark) end;
      get diagnostics v_rows = row_count;
      if v_rows > 0 then
        raise exception '%', v_mark;
      end if;
      -- An INSERT that raises nothing was swallowed by a trigger or a rule; an UPDATE or DELETE found no row.
      if v_attempt.statement like 'insert%' then
        fault := 'cannot be decided: a trigger or a rule took the row';
        decided := false;
      end if;
    exception
      when insufficient_privilege then
        -- Refused at the door, or by WITH CHECK.
        get stacked diagnostics v_message = message_text;
        if v_distributed and v_attempt.tenant_id = v_nobody and v_message ~ 'row-level security' then
          fault := 'reached a row';
        elsif v_attempt.statement like 'insert%' and v_row is null and v_numbers is not null then
          fault := format('cannot be decided: tms_app may not use the sequence %s', v_numbers);
          decided := false;
        elsif v_attempt.statement not like 'delete%' and v_function is not null then
          fault := format('cannot be decided: tms_app may not execute the function %s', v_function);
          decided := false;
        end if;
      when lock_not_available then
        raise;
      when integrity_constraint_violation then
        get stacked diagnostics v_message = message_text, v_schema = schema_name, v_table = table_name,
          v_constraint = constraint_name, v_missing = column_name, v_type = pg_datatype_name;
        -- The table's own constraints come after its policies; domains, the way to a partition and triggers before.
        -- Of what a worker says Citus brings the message and not the names.
        decided := case when v_distributed then v_message ~ '^(null value in column|new row for relation|duplicate key value|insert or update on table) '
          else v_type = '' and concat(v_constraint, v_missing) <> '' and exists (
            select from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = v_schema and c.relname = v_table and (c.oid = p_table or c.oid in (select relid from pg_partition_tree(p_table)))) end;
        fault := case when decided then 'was stopped by a constraint only: ' else 'cannot be decided: ' end || v_message;
      when others then
        get stacked diagnostics v_message = message_text;
        if strpos(v_message, v_mark) > 0 then
          fault := case when v_attempt.tenant_id = v_nobody and v_attempt.statement like 'update%' then 'reached a row' else 'was accepted' end;
          -- Unless a trigger put it back into its own tenant. Asked apart, as a column that is read brings the SELECT policies to help.
          if v_attempt.tenant_id = p_tenant_id and not v_distributed
            and exists (select from pg_trigger where tgrelid = p_table and not tgisinternal and tgtype & 3 = 3) then
            begin
              execute format('with w as (%s returning %I as id) select count(*) from w where id is distinct from %L',
                format(v_attempt.statement, p_table, p_column, v_attempt.value, v_taken), p_column, p_tenant_id) into v_rows;
              if v_rows = 0 then
                fault := null;
              end if;
              raise exception '%', v_mark;
            exception
              when lock_not_available then
                raise;
              when others then
                null;
            end;
          end if;
        -- Citus gives no row to another tenant: also a refusal.
        elsif not (v_distributed and sqlstate = '0A000' and v_message ~ 'partition value') then
          fault := 'cannot be decided: ' || v_message;
          decided := false;
        end if;
    end;
    return next;
  end loop;
  execute format('set local app.tenant_id = %L', v_before);
end
$$;
comment on function control.try_writes(regclass, name, uuid, uuid) is
  'As tms_app inside p_tenant_id: tries to write into p_other_id and to reach rows from a tenant that does not exist; fault is null where that was refused. Nothing is kept.';
revoke all on function control.try_writes(regclass, name, uuid, uuid) from public;
grant execute on function control.try_writes(regclass, name, uuid, uuid) to tms_owner;
reset role;

create or replace function audit.visible_rows(p_table regclass, p_column name, p_tenants uuid[])
returns table (tenant_id uuid, visible bigint, own bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from control.visible_rows(p_table, p_column, p_tenants);
end
$$;
comment on function audit.visible_rows(regclass, name, uuid[]) is 'control.visible_rows(), for who may run the audit.';

create or replace function audit.try_writes(p_table regclass, p_column name, p_tenant_id uuid, p_other_id uuid)
returns table (attempt text, fault text, decided boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from control.try_writes(p_table, p_column, p_tenant_id, p_other_id);
end
$$;
comment on function audit.try_writes(regclass, name, uuid, uuid) is 'control.try_writes(), for who may run the audit.';
--! EndIncluded audit/as_tms_app.sql
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
                 when w.fault ~ 'may not use the sequence'
                   then format('grant usage on all sequences in schema %s to tms_app;', (select relnamespace::regnamespace from pg_class where oid = v_table.relid))
                 when w.fault ~ 'may not execute the function'
                   then format('grant execute on function %s to tms_app;', substring(w.fault from 'the function (.*)$'))
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
         when e.cascades and c.confdeltype <> 'c' then format('the foreign key %I has lost its ON DELETE CASCADE: what should go with a row keeps it from being deleted', r.constraint_name)
         when not e.cascades and c.confdeltype = 'c' then format('the foreign key %I has an ON DELETE CASCADE: what should keep a row from being deleted goes with it', r.constraint_name) end,
    format('alter table %s %sadd constraint %I foreign key (tenant_id, %s) references %s (tenant_id, %s)%s;', r.child,
      -- The name may be another constraint's. Citus takes one action at a time.
      (select string_agg(format('drop constraint if exists %I', n) || case when app.is_distributed() then format('; alter table %s ', r.child) else ', ' end, '')
       from (select r.constraint_name union select e.constraint_name) x (n) where n is not null),
      coalesce(e.constraint_name, r.constraint_name), array_to_string(r.child_columns, ', '), r.parent, array_to_string(r.parent_columns, ', '),
      case when e.cascades then ' on delete cascade' end)
  from audit.tenant_references() r
  left join audit.expected_references() e on to_regclass(e.child) = r.child and to_regclass(e.parent) = r.parent and array[e.child_column] = r.child_columns
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
  -- A key to a partitioned table has a copy for each of its partitions.
  where c.contype = 'f' and c.conparentid = 0 and c.confrelid in (select t.relid from audit.relations() t)
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
--! Included audit/media_of_each.sql
-- As a rule a completed generation has one medium. Then both tables hold the same keys, and sums of the keys' hashes say so by one reading of each table
-- in its own order, which costs a third of merging two indexes. Whether that is worth trying, statistics tell; whether it is so, every row.
-- In the order of an index the visibility map is read back and forth.
create or replace function audit.media_of_each()
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set enable_indexonlyscan = off
as $$
declare
  v_seed constant bigint := uuid_hash_extended(gen_random_uuid(), 0); -- drawn anew, so that rows that no sum tells apart today are told apart tomorrow
  v_answer bigint[];
begin
  if (
    select m.reltuples >= 200000 and abs(g.reltuples - u.reltuples - m.reltuples) <= m.reltuples / 20
    from pg_class m, pg_class g, pg_class u
    where m.oid = to_regclass('app.media') and g.oid = to_regclass('app.generations') and u.oid = to_regclass('app.generations_unfinished'))
  then
    -- By a text: plpgsql asks for no more than the row that a statement of its own can take, and then without workers.
    execute $q$
      select array[m.rows, 0, g.rows, 0]
      from (
        select count(*) as rows, sum(uuid_hash_extended(generation_id, uuid_hash_extended(tenant_id, $1))) as keys from app.media) m
      join (
        select count(*) as rows, sum(uuid_hash_extended(id, uuid_hash_extended(tenant_id, $1))) filter (where status = 'completed') as keys
        from app.generations) g
      on g.keys = m.keys$q$
    into v_answer using v_seed;
  end if;
  return v_answer;
end
$$;
comment on function audit.media_of_each() is
$$The four numbers of a question of audit.row_tests() where each completed generation has one medium, and no other has any; null where that is not so, is
unlikely by the tables' statistics, or the tables are small. Compares sums of 64-bit hashes, with a seed of the call: sums of other keys are equal by a chance of 2^-64.$$;
--! EndIncluded audit/media_of_each.sql
--! Included audit/row_tests.sql
-- Of an extension's type = is another operator, or, found by its name, another type's; and of two collations the parent's counts.
create or replace function audit.comparisons(p_key oid)
returns table (child name, parent name, compared_with text, compared text, is_plain boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select c.attname, p.attname, w.value, format('.%I %s %s', p.attname, case when w.is_ours then '=' else format('operator(%I.%s)', n.nspname, o.oprname) end, w.value), w.is_ours
  from pg_constraint k
  cross join unnest(k.conkey, k.confkey, k.conpfeqop) as e (child, parent, operator)
  join pg_attribute c on c.attrelid = k.conrelid and c.attnum = e.child
  join pg_attribute p on p.attrelid = k.confrelid and p.attnum = e.parent
  join pg_operator o on o.oid = e.operator
  join pg_namespace n on n.oid = o.oprnamespace
  cross join lateral (
    select n.nspname = 'pg_catalog' as is_ours, concat(format('c.%I', c.attname), case when c.attcollation <> p.attcollation then ' collate ' || p.attcollation::regcollation end) as value) w
  where k.oid = p_key
$$;
comment on function audit.comparisons(oid) is
  'How a foreign key compares each of its columns, as SQL: `compared` stands behind the name of a row of the parent, and `compared_with` is its right side; c is the row of the child. is_plain: with Postgres''s own =.';

-- What is asked of each row of a table: a predicate over the row `c` and the rows it refers to: `t` is the row's tenant,
-- `r1`, `r2` … the referred rows, null where there is none. `question` asks the same of a slice of the tenants at once, in the
-- cheapest way there is, and of all tests of one reference: it counts, merging two indexes where it can. Only where it counts
-- a suspect is the predicate asked, row by row. Its four numbers: rows of the table (0: it did not count them), suspects, and
-- for the data check that the same reading answers rows and suspects, or null. {slice x} stands for the condition on the row x.
-- Its columns may change between releases, which `create or replace` refuses.
drop function if exists audit.row_tests(regclass);
create or replace function audit.row_tests(p_table regclass)
returns table (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text, shortcut text, child_column name, parent regclass)
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
    -- Two keys of the same columns are one reference, and MATCH FULL asks more; of two parents of a column the service's own tests mean the expected one.
    select distinct on (r.child_columns, r.parent, r.parent_columns)
      r.*, k.oid as key, e.child_column as expected, case when p_table = to_regclass('app.tenants') then 'id' else 'tenant_id' end as tenant_column,
      'r' || row_number() over (order by r.child_columns, r.constraint_name, r.parent::text) as alias,
      -- With MATCH FULL a key is null as a whole or not at all, and tenant_id is not.
      (select case when k.confmatchtype is distinct from 'f' then string_agg(given, ' and ')
                   when cardinality(k.conkey) > cardinality(r.child_columns) then 'true' else format('(%s)', string_agg(given, ' or ')) end
       from unnest(r.child_columns) x cross join format('c.%I is not null', x) given) as given,
      coalesce(k.confmatchtype = 'f', false) as is_full,
      -- From Postgres 18 on the last column of a key may be a period, which several rows of the parent cover together.
      coalesce((to_jsonb(k) ->> 'conperiod')::boolean, false) as is_temporal
    from audit.tenant_references(p_table) r
    left join pg_constraint k on k.conrelid = p_table and k.conname = r.constraint_name and k.contype = 'f'
    left join audit.expected_references() e on to_regclass(e.child) = r.child and to_regclass(e.parent) = r.parent
      and r.child_columns = array[e.child_column] and r.parent_columns = array['id'::name]
    order by r.child_columns, r.parent, r.parent_columns, is_full desc, r.constraint_name
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
        $q$position(c.tenant_id::text in c.storage_url) = 0 and position(c.tenant_id::text in lower(c.storage_url)) = 0
        and position(replace(c.tenant_id::text, '-', '') in lower(c.storage_url)) = 0 and exists (
          select from (select (regexp_matches(lower(c.storage_url), '(?:%2f)?([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})', 'g'))[1]::uuid as id) m
          join app.tenants o on o.id = m.id)$q$,
        true, null, -- almost every address holds its own tenant's id; it holds the others
        $q$'the address names the tenant ' || (
          select string_agg(distinct o.id::text, ' and ')
          from (select (regexp_matches(lower(c.storage_url), '(?:%2f)?([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})', 'g'))[1]::uuid as id) m
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
      case when is_temporal then format('left join lateral (select c.%I as tenant_id from %s) %s on true', ref.tenant_column, covering, alias)
      else format('left join %s %s on %s.tenant_id = c.%I and %s',
        -- Postgres lets a foreign key point at a unique key only. Where that is gone, duplicates must not multiply rows.
        case when audit.is_unique(parent, array['tenant_id'::name] || parent_columns)
          then parent::text
          else format('(select distinct on (tenant_id, %s) * from %s)', parent_names, parent) end,
        alias, alias, ref.tenant_column, matched) end as joins, parent_names, matched, covering, is_plain, child_list
    from ref
    cross join lateral (
      select string_agg(quote_ident(w.parent), ', ' order by w.n) as parent_names, bool_and(coalesce(k.is_plain, true)) as is_plain,
        string_agg(coalesce(k.compared_with, format('c.%I', w.child)), ', ' order by w.n) as child_list,
        string_agg(alias || t.compared, ' and ' order by w.n) as matched,
        format('%1$s p where p.tenant_id = c.%5$I%2$s having range_agg(p.%3$I) @> c.%4$I', ref.parent,
          string_agg(' and p' || t.compared, '' order by w.n) filter (where w.n < cardinality(child_columns)),
          parent_columns[cardinality(parent_columns)], child_columns[cardinality(child_columns)], ref.tenant_column) as covering
      from unnest(parent_columns, child_columns) with ordinality as w (parent, child, n)
      left join audit.comparisons(ref.key) k on k.parent = w.parent and k.child = w.child
      cross join lateral coalesce(k.compared, format('.%I = c.%I', w.parent, w.child)) t (compared)) t
  ), whole as (
    select ref_sql.*, b.question as built_in, b.shortcut,
      (select string_agg(replace(o.predicate, '{' || expected || '}', alias), ') or (') from own o where o.asked_with = expected) as also,
      -- Every row has a parent to look for, and finds one at most: then the same reading counts the rows.
      tenant_column = 'tenant_id' and audit.is_never_null(p_table, 'tenant_id') and (select bool_and(audit.is_never_null(p_table, x)) from unnest(child_columns) x)
        and audit.is_unique(ref_sql.parent, array['tenant_id'::name] || parent_columns) and not is_temporal as countable
    from ref_sql
    left join (values
      -- Both ways at once: media without their generation, and completed generations without media. Those with several media
      -- would be counted as often.
      ('app.media', 'generation_id'::name,
        $q$select count(c.tenant_id), count(*) - count(r.id), 0::bigint, count(*) filter (where c.tenant_id is null and r.unfinished is null)
           from (select c.tenant_id, c.generation_id from app.media c where {slice c}) c
           full join (
             select g.tenant_id, g.id, u.id as unfinished
             from app.generations g
             left join app.generations u on u.tenant_id = g.tenant_id and u.id = g.id and u.status <> 'completed' and {slice u}
             where {slice g}) r
           on r.tenant_id = c.tenant_id and r.id = c.generation_id
           union all
           select 0::bigint, 0::bigint, count(*), 0::bigint from app.generations n where {slice n}$q$, -- of other types the workers would not share it
        'audit.media_of_each()'),
      -- A ledger is told good from bad as two arrays, in the order of the index: half of a window's cost. {also} is asked of its last row.
      -- A balance before that no bigint could hold is null: no row's balance_after equals it.
      ('app.credit_transactions', 'user_id',
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
           left join app.users r on r.tenant_id = c.tenant_id and r.id = c.user_id and {slice r}$q$, null)
    ) as b (child, child_column, question, shortcut) on to_regclass(b.child) = ref_sql.child and b.child_column = expected
  ), questions as (
    select whole.*, case
      when is_temporal then format('select 0, count(*), null::bigint, null::bigint from %s c where %s and not exists (select from %s) and {slice c}',
        p_table, given, covering)
      when countable and built_in is not null then replace(built_in, '{also}', coalesce(also, 'false'))
      -- One question of a table counts its rows.
      when countable and not bool_or(countable and built_in is not null) over ()
        and 1 = row_number() over (partition by countable order by also is not null, child_columns, constraint_name, parent::text)
      then format('select count(*), %5$s, null::bigint, null::bigint from %1$s c
          left join %2$s %3$s on %3$s.tenant_id = c.tenant_id and %4$s and {slice %3$s}
          where %6$s and {slice c}', -- which all are; Citus refuses the join of a table whose rows no policy shows without it
        p_table, parent, alias, matched,
        case when also is null then format('count(*) - count(%s.tenant_id)', alias)
             else format('count(*) filter (where %s.tenant_id is null or (%s))', alias, also) end, given)
      else format('select 0, count(*), null::bigint, null::bigint from %1$s c
          where %2$s and not exists (select from %3$s %4$s where %4$s.tenant_id = c.%5$I and %6$s%7$s%8$s) and {slice c}',
        p_table, given, parent, alias, tenant_column, matched, ' and ((' || also || ')) is not true',
        -- The slices of app.tenants are of its id.
        case when tenant_column = 'tenant_id' then format(' and {slice %s}', alias) end)
      end as question
    from whole
  ), own_sql as (
    select o.check_name, r.joins, coalesce(r.question, case when o.indexed then
        format('select 0, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, o.predicate) end) as question,
      case when r.alias is null then o.predicate else replace(o.predicate, '{' || r.expected || '}', r.alias) end as predicate, o.detail
    from own o
    left join questions r on r.expected = o.asked_with
  )
  select * from (
  select 'tenant_missing', null::text, 'left join app.tenants t on t.id = c.tenant_id', 't.id is null', null::text,
    $q$case when c.tenant_id is null then 'the row has no tenant' else 'there is no tenant ' || c.tenant_id end$q$,
    null::text, null::text, null::name, null::regclass
  where p_table is distinct from to_regclass('app.tenants') and not exists (select from audit.relations(array[p_table]) where is_child)
  union all
  select
    coalesce(b.name, 'parent_missing'),
    coalesce(b.name, case when parent = to_regclass('app.users') then 'user_of_other_tenant' else 'parent_of_other_tenant' end),
    joins, format('%s and %s.tenant_id is null', given, alias),
    -- Asked of suspects only: does the row exist, elsewhere? Citus takes no correlated subquery here.
    case when is_plain then format('coalesce((%s) in (select %s from %s), false)', child_list, parent_names, parent) -- null beside a null of the parent's
         else format('exists (select from %s %s where %s)', parent, alias, matched) end,
    format($q$concat_ws(', ', %s)$q$,
      (select string_agg(format(case when is_full then $f$%L || coalesce(c.%I::text, 'null')$f$ else $f$%L || c.%I$f$ end, x || ' ', x), ', ') from unnest(child_columns) x))
      || format($q$ || case when s.elsewhere then %L else %L end$q$,
        format(' is in %s, but in another tenant', parent), format(' is not in %s', parent)),
    question, case when countable then shortcut end, case when cardinality(child_columns) = 1 then child_columns[1] end, questions.parent
  from questions
  left join (values
    ('app.boards', 'owner_id', 'board_owner_outside_tenant'), ('app.board_members', 'user_id', 'board_member_outside_tenant'),
    ('app.board_members', 'board_id', 'membership_without_board'), ('app.board_members', 'invited_by', 'board_inviter_outside_tenant')
  ) as b (relation, column_name, name) on to_regclass(b.relation) = child and b.column_name = expected
  union all
  -- Another tenant that a row names, or what it repeats of its own.
  select distinct 'parent_missing', null, null, p.predicate, null, p.detail, format('select 0, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, p.predicate),
    null, null::name, null::regclass
  from pg_constraint k
  cross join lateral (
    select format('%s and not exists (select from app.tenants r where %s)', string_agg(format('c.%I is not null', w.child), ' and ' order by w.child),
        string_agg('r' || w.compared, ' and ' order by w.child)) as predicate,
      format($q$concat_ws(', ', %s) || ' is not in app.tenants'$q$, string_agg(format('%L || c.%I', w.child || ' ', w.child), ', ' order by w.child)) as detail,
      array_agg(w.child || ' ' || w.parent) as pairs
    from audit.comparisons(k.oid) w) p
  where k.conrelid = p_table and k.contype = 'f' and k.conparentid = 0 and k.confrelid = to_regclass('app.tenants') and p.pairs <> array['tenant_id id']
  union all
  select check_name, null, joins, predicate, null, detail, question, null, null, null from own_sql
  union all
  select 'times_out_of_order', null, null, format('c.%I < c.created_at', name), null,
    format($q$%L || c.%I || ' is before created_at ' || c.created_at$q$, name || ' ', name), null, null, null, null
  from col
  where is_own and name in ('updated_at', 'completed_at', 'removed_at') and type = 'timestamptz'::regtype
    and exists (select from col where name = 'created_at' and type = 'timestamptz'::regtype)
  union all
  select 'not_an_object', null, null, format($q$jsonb_typeof(c.%I) <> 'object'$q$, name), null,
    format($q$%L || jsonb_typeof(c.%I)$q$, name || ' holds a JSON ', name), null, null, null, null
  from col where is_own and name in ('settings', 'config', 'input', 'registration') and type = 'jsonb'::regtype
  union all
  -- A validated CHECK cannot have been broken; one that was added NOT VALID says nothing about the rows before it.
  select 'constraint_broken', null, null, format('not (%s)%s', case when 0 = any (conkey) -- it is about the whole row, which is c here
      then replace(pg_get_expr(conbin, conrelid), (select quote_ident(relname) from pg_class where oid = conrelid) || '.*', 'c.*')
      else pg_get_expr(conbin, conrelid) end, case when connoinherit then format(' and c.tableoid = %L::regclass', p_table) end), null,
    format($q$%L$q$, format('the row breaks the constraint %I', conname)), null, null, null, null
  from pg_constraint where conrelid = p_table and contype = 'c' and coninhcount = 0 and not convalidated
  ) as tests (check_name, check_elsewhere, joins, predicate, elsewhere, detail, question, shortcut, child_column, parent)
  order by question, check_name
$$;
comment on function audit.row_tests(regclass) is
$$The tests of a table: `predicate` is true of a row that fails; for references `elsewhere` then tells whether the missing row
lives in another tenant (check_elsewhere) or nowhere (check_name). `detail` is an SQL expression.$$;
--! EndIncluded audit/row_tests.sql
--! Included audit/scan.sql
-- Rows of a tenant that does not exist lie, in an index of tenants, between two that do: one look for each of these gaps.
create or replace function audit.count_lost_tenants(p_table regclass)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count bigint;
begin
  if (select reltuples from pg_class where oid = p_table) < 20 * (select greatest(reltuples, 1) from pg_class where oid = 'app.tenants'::regclass)
    or not exists (
      select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam and m.amname = 'btree'
      where i.indrelid = p_table and i.indisvalid and i.indpred is null and a.attname = 'tenant_id' and audit.is_never_null(p_table, 'tenant_id'))
  then
    execute format('select count(*) from %s c where not exists (select from app.tenants t where t.id = c.tenant_id)', p_table) into v_count;
  else
    execute format(
      'select count(*)
       from (select id as below, lead(id) over (order by id) as above from app.tenants) t
       cross join lateral (select from %1$s c where c.tenant_id > t.below and c.tenant_id < t.above order by c.tenant_id limit 1) c', p_table)
    into v_count;
    -- Below the first and above the last; of no tenants at all, any row.
    execute format(
      'select $1 + count(*)
       from (select (select id from app.tenants order by id limit 1) as first, (select id from app.tenants order by id desc limit 1) as last) t
       join (
         (select tenant_id from %1$s order by tenant_id limit 1) union all (select tenant_id from %1$s order by tenant_id desc limit 1)) c
       on c.tenant_id < t.first or c.tenant_id > t.last or t.first is null', p_table)
    into v_count using v_count;
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
  v_unfound text[];
  v_found audit.outcome;
  v_kept jsonb;
begin
  select tenant_column into strict v_column from audit.relations(array[p_table]);
  select jsonb_agg(t) into v_tests from audit.row_tests(p_table) t; -- once: writing them takes milliseconds
  for v_joined in
    select p_table union select 'app.tenants'::regclass
    union select t.parent from jsonb_to_recordset(v_tests) t (parent regclass) where t.parent is not null
  loop
    perform audit.require_unfiltered(v_joined);
  end loop;
  v_slices := audit.slices(p_table, v_column, p_tenant_id);
  for v_test in
    select distinct on (question) t ->> 'question' as question, t ->> 'shortcut' as shortcut, t ->> 'child_column' as child_column, t ->> 'parent' as parent
    from jsonb_array_elements(v_tests) t where t ->> 'question' is not null
    order by question, child_column, parent
  loop
    v_answer := null;
    if p_tenant_id is null and v_test.shortcut is not null then
      execute 'select ' || v_test.shortcut into v_answer;
    end if;
    v_answer := coalesce(v_answer, audit.count_suspects(v_test.question,
      -- What an index holds is no work to share. And where the tables' rows have to be read, they are read once, unless a ledger would have to be sorted.
      case when p_tenant_id is null and (v_test.parent is null or audit.is_unvacuumed(p_table, v_test.parent) and v_test.question not like '%array_agg(%')
        then array['true'] else v_slices end,
      p_table, v_test.child_column));
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
    and audit.is_never_null(p_table, t.child_column)
  order by c.reltuples limit 1;
  v_lost_in := coalesce(v_lost_in, p_table);

  select array_agg(a.attname order by k.n) into v_keys
  from pg_index i cross join unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where i.indrelid = p_table and i.indisprimary;
  v_keys := coalesce(v_keys, array['ctid'::name]);
  select string_agg(format('%L, c.%I', k, k), ', '),
         'concat_ws('' and '', ' || string_agg(format('format(%L, c.%I)', replace(quote_ident(k), '%', '%%') || ' = %L', k), ', ') || ')'
  into v_row, v_key from unnest(v_keys) k;
  if v_keys = array['ctid'::name] then -- of one partition, or one child, only
    v_key := $q$format('tableoid = %L::regclass and ctid = %L', c.tableoid::regclass, c.ctid)$q$;
  end if;

  v_unfound := array(select key from jsonb_each_text(v_answers) where value <> '0');
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
        if v_found.errors > 0 then
          v_unfound := array_remove(v_unfound, v_test.question);
        end if;
      end if;
      return next v_found;
    end loop;
  end loop;
  if v_unfound <> '{}' then
    raise exception using errcode = 'data_exception', message = format('rows of %s look wrong, and no test tells which', p_table);
  end if;
  for v_check in select d.check_name from audit.data_checks() d where to_regclass(d.answered_by) = p_table loop
    return next audit.check_rows(v_check, p_tenant_id, v_also);
  end loop;
end
$$;
comment on function audit.scan(regclass, uuid) is
$$Runs every row test of a table, over all its rows or those of one tenant: one outcome a test, all findings counted under
`errors` (the caller knows the severity). Raises 42501 when the auditor would not see every row, 22000 when it sees none and there are some, or counts suspects of which
no test is true.$$;
--! EndIncluded audit/scan.sql
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
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '861b38cfc3d0f9673f58277b6b3c12fd'),
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
    ('function', 'app.adopt(regclass)', 'tms_owner', '', '76f6894c8e3321fd19eca1dd06bca886'),
    ('function', 'app.await_writers(uuid,boolean)', 'tms_registrar', '', '316ea0f7df30955e5eada3a31284089b'),
    ('function', 'app.board_json(app.boards)', 'tms_owner', 'tms_app', 'b2ff17214266ed6c2d039748d90c97f3'),
    ('function', 'app.count_tenants(text)', 'tms_registrar', 'tms_auditor', '469edab0911b6b7799ab8aecfb63b42c'),
    ('function', 'app.count_tenants_like(text,text)', 'tms_registrar', '', 'd5fd689fd694ae35e0b4513652271182'),
    ('function', 'app.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', '8297e332eda8e3937d95b839446598d2'),
    ('function', 'app.cursor_of(timestamp with time zone,uuid)', 'tms_owner', 'tms_app tms_registrar', '860fabd228104008346a85a66c10fdc1'),
    ('function', 'app.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '67ed87e44a0e6241901815fe9c9a643f'),
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', 'e53d9fd4554d7ce74d399f874e5a53bc'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '3bf828d30b17036231b66576e4484145'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', 'bea83e40326931df9373368591bf28db'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '8eb737e517796d6ce22928eb56414403'),
    ('function', 'app.fence_tenant(uuid)', 'tms_registrar', '', '3c0c05974051ce6ae813a5bca59726a4'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '919d46d05c3100ad0844ff3c5537542e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', '7aa14f5731ecf3087f267e36070cd316'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '6549153521fb5ffc0a229706918f8cc3'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', 'c03b627b849e7bb7db0ffcb4fa3ef7bf'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '6a9ddfb86e9954d108e466f819fe09b1'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', '', 'b7ac6dd1fcff487126c149995f4b5e60'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor', '7f4b699eca6aef74799825a5e5d49de8'),
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
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', 'b28f892d33bfcb25492fef7ff3003841'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', 'cb53aa9b3e4769955e3bfc93a31352aa'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '372ed04befe2137666ccc0d3cd708e48'),
    ('function', 'app.require_status(app.tenants,text)', 'tms_owner', 'tms_registrar', 'b7e177058b7adfc35ee4d44f1917d91e'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '81db2cc5b5ba419c5ace31eb05c7159e'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '7c1008a409b4af52f96e95baaa20f77f'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', '5bd687a778e41bab3fe0cc75b0c20b2b'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor', 'a68c33344e0604f89c0d58c27c1d6740'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', 'f232c83feedde5096a7363d3cf056b4c'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '575d522375a1ff1ca17600e75e0e0e46'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '50a59e972960913f3b64685f6766e58e'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '8447f0500a6676562aefa282c426f9f8'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '16bf88379de7de608f081636ff88db64'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', '225e92a0a838bbb116cdbe066705a70e'),
    ('function', 'audit.bound(regclass)', 'tms_owner', 'tms_auditor', 'a4b71f5fd1ee6821f4da908c16936de3'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_giving_back(text,name)', 'tms_owner', 'tms_auditor', 'a17921e6df3e50e565d7c9402178ab65'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '1c05b8ac43add9b39123ae59a0526038'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '3dfde5a5398a858ba124ca9c01172da5'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', 'f6a1962925c49cd55de0af372a980648'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', '6c045381d725d926e931d71b047e9f1d'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', '1f7f4d253c174f7323bfc423cbe55110'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', 'a9183356d15b1d3478bb5a29d759899b'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', 'd6611ba53656c4849548953731b1395e'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '4f5676fc829d00fe20dfd02be9783115'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'd77af029401976b475f7199ef15487bc'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', '310efb22cf0c443834e9676127d8e257'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '31e13f19ef2a9cce97644e0d27b16666'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', 'dca178e23aee4cf029eac64678b0017e'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ce251b1eb7abf63c86ec57f92b3072ce'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', 'b47ac2d648d1ae22490277dac35c49e8'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', '5d747c591597af00044d31d666a94696'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', 'dbf04985d622cc40230bb7ec9f76bb8c'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'c284abb96916f7827935560688102e71'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', 'e1c19f4331a9df790d8945ec7faed8c9'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', '566a00097081d7764931cdb37af7dd97'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', 'dd5a90c6dae30ef82d55a76783ff3454'),
    ('function', 'audit.check_rights_missing()', 'tms_owner', 'tms_auditor', '1c8db2341db2d7618db6e12cff03dc04'),
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
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', 'a787fc3c2e2d684ab2cf4edf7fde08d4'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'ea7948ade84356dca011bc420f852827'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', 'd5e268ce37a69da9d1c054e2a0671072'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '17cc5d1c45ebea43fb3409ec48ddb3d5'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '0ba207f4146feb218cc8b13711ee9f1a'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', 'd13d37376b3026061141500c441c1bcc'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'cc9f419bf6de76dfa0e9ea8ff8d420e5'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '861fb53abed480788e8819ce1841cc9c'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', '947e5892b33ea04ea7eb66a5c95b9c9d'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', 'be3f439878e18252ab4495eab95f1f42'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', 'bab30b90b68842e7a8fbb0262dd6d093'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', 'd99ff818e85d5d623a9751e3d1881098'),
    ('function', 'audit.check_trigger_notifies()', 'tms_owner', 'tms_auditor', 'f148f3f8c95acf7e6e6ed5df4e24a432'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', '693ac2a093dc4ead5345d93d13722777'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', 'd43abea332e859e4b3d714e33c9341e0'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '7871c909258d9ace0e43124e55abd457'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', '9db0dc4a0682b9c10c60a98fc5959e1b'),
    ('function', 'audit.code_of(text,boolean)', 'tms_owner', 'tms_auditor', 'c653f72cd36fc8f310c493455acf9b2d'),
    ('function', 'audit.comparisons(oid)', 'tms_owner', 'tms_auditor', '879a8daee1e3314dcb35b18e0650d0a2'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '48b396076d73de4b2c083a0baae79bb0'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '7b29736eb3fcacc231676c46c78e6666'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.enters_named_tenant(oid,text)', 'tms_owner', 'tms_auditor', 'a4a30b017b4124027a64a75666a4b977'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_owner', 'tms_auditor', '723c6c39873af3a5503b46a5b3497cd0'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', '810802f6e382d99beb56fb3330870c7a'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '733692876d5e6582a29c2d0d563f1f6e'),
    ('function', 'audit.find_tenant(text)', 'tms_owner', 'tms_auditor', 'f7af4ca5e9972e7e92aaf3bdbc4f1cc2'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', 'fda1a2edc4f2b4cfdd811652e24d622a'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', 'ce58dec2520f96fba7ecbe5c3ba1f16e'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '1fae3c4e0b8e031c9bc3445a5ed7b45e'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'a7ea746ec51ec75d5477d08197fbe8c5'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '0d8d1f65be045d42ac17782b75a8bb76'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '92bfe836b03b4d95b5748060a3c337d6'),
    ('function', 'audit.is_unvacuumed(regclass[])', 'tms_owner', 'tms_auditor', '410ca929421fd92318bf64e60a9f56ed'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.media_of_each()', 'tms_owner', 'tms_auditor', 'afc46091a8aaf2ff45b3654c61516264'),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', '3690d152fc02db79c130879c024c11bc'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '96dbcc22ca1b79f0f3287b8a1c2f9d2e'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'd108b6b303d8f7d9593126ec54ce1bb9'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'ff9945005533363e08416442d94bdc41'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '61d259898bce3cab0c44cd51b704cfd6'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '78e3e595b58833e604bf651ce9597df6'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '1525d5551cc25ba8f8b0d8031afa99a6'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '1ce02f8819524f9c89ec8d6591bb77d2'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', '0035c5828f02bb78cfc57e1e17009203'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', 'f30ad84e75d3d727a46ca711468351fa'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'd4f5e06dee60c858690543f7df24581c'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', '1cb2d1dc963d4b0d84f1e768ef2b61ae'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '0ad9c042a63b35d83bd30743bc3698e3'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', '6b02023e2942fc31f4fa347a9a1eee61'),
    ('function', 'audit.scan(regclass,uuid)', 'tms_owner', 'tms_auditor', '505010d45ab3bf6ff0d9ecb3b9af8b89'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '714ae3acb57dbdc53fb0a71fd8427aa1'),
    ('function', 'audit.severity_rank(text)', 'tms_owner', 'tms_auditor', '1fa26f34a59db5d581099b2a3365ab06'),
    ('function', 'audit.short_hash(text)', 'tms_owner', 'tms_auditor', '6f23cfe71952fec1f8acb0400a595545'),
    ('function', 'audit.slices(regclass,name,uuid)', 'tms_owner', 'tms_auditor', '4b3ce6a95861c87d59d8f5ad643270b3'),
    ('function', 'audit.start_run(text,text,integer)', 'tms_owner', 'tms_auditor', '23e14457719a6c8e00785fb32adc22e4'),
    ('function', 'audit.template_rights()', 'tms_owner', 'tms_auditor', '895240ac6dccd5a5070dad49e0c10c8b'),
    ('function', 'audit.tenant_references()', 'tms_owner', 'tms_auditor', '7e63f48453607ddccc4fe6791d2fe0f8'),
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', '662987541e379f8f9fb0dd0cc9345954'),
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
    ('function', 'control.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_owner', 'd11814e19b30abc8aad80cd6bc3b2fa0'),
    ('function', 'control.visible_rows(regclass,name,uuid[])', 'tms_app', 'tms_owner', '4c624280d5b02e03a6ccbb7a19cbb73f'),
    ('trigger', '_500_count_delete on app.tenants', '', '', 'dae737c3cddf08b70a4e63626f9fd7ad'),
    ('trigger', '_500_count_insert on app.tenants', '', '', '3d1350530d7d1487c4b6c3df953b505a'),
    ('trigger', '_500_count_truncate on app.tenants', '', '', '464acf41f80ba54008e74b1b9cfa2b17'),
    ('trigger', '_500_count_update on app.tenants', '', '', '2fabaee9bcae28855c95ce5e7c5c3677'),
    ('trigger', '_600_record_delete on app.tenants', '', '', 'dd4ca5ebe052335dac1b828f3c9f33e1'),
    ('trigger', '_600_record_insert on app.tenants', '', '', 'df1991c7cc1a8c76af7ad26d2962b8cb'),
    ('trigger', '_600_record_update on app.tenants', '', '', '676657851e292162756ebbb434641cb3')
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
