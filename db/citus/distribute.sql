-- Makes a migrated database that of a Citus cluster: app.tenants on every node, every tenant table in shards by
-- tenant_id, a tenant's rows side by side. Run by a superuser on the coordinator, in the service's database, when the
-- extension is created and the workers are added, and again after each migration; a second run changes only what is
-- missing. docs/guides/scale.md says what comes before it, what it was run on, and what differs afterwards.
--   psql -v ON_ERROR_STOP=1 -f db/distribute.sql -d <database>
begin;

do $$
begin
  if not exists (select from pg_extension where extname = 'citus') then
    raise exception using errcode = 'object_not_in_prerequisite_state', message = 'create extension citus, here and on every worker, comes first';
  end if;
  if not exists (select from pg_dist_node where groupid = 0) or not exists (select from pg_dist_node where groupid <> 0 and shouldhaveshards) then
    raise exception using errcode = 'object_not_in_prerequisite_state', message = 'citus_set_coordinator_host() and citus_add_node() come first';
  end if;
end
$$;

-- 1. Whoever works on a shard logs in to its worker: also the owners of functions. Who may do so from where is
--    pg_hba.conf's to say, with what password pg_dist_authinfo's.
alter role tms_app login;
alter role tms_registrar login;
alter role tms_auditor login;

-- 2. Settings of every session on the coordinator.
do $$
declare
  v_setting record;
begin
  for v_setting in
    select * from (values
      -- SET LOCAL app.tenant_id goes to the workers with the transaction. Without this every policy there sees no tenant.
      ('citus.propagate_set_commands', 'local'),
      -- Of every node's sessions: times go to the workers as text, and boards are written as JSON there.
      ('datestyle', 'ISO'),
      -- Off where the extension came before the first migration (docs/guides/scale.md).
      ('citus.enable_ddl_propagation', 'on'),
      -- app.tenants is written in transactions that have read shards, which takes one connection a node.
      ('citus.multi_shard_modify_mode', 'sequential'),
      -- Without this, app.tenants drags every table that refers to it into the metadata, where none can be distributed.
      ('citus.enable_local_reference_table_foreign_keys', 'off'),
      -- A request works as tms_registrar, then as tms_app; tms_owner and a spare one.
      ('citus.max_cached_conns_per_worker', '4')
    ) as wanted (name, value)
  loop
    perform set_config(v_setting.name, v_setting.value, true);
    execute format('alter database %I set %s = %L', current_database(), v_setting.name, v_setting.value);
  end loop;
end
$$;

-- 3. What cannot be there. A trigger on a table of every node would run on each of them: those of app.tenants wait until it
--    is one (5). A foreign key of a table of the coordinator would look at the coordinator's empty copy
--    (app.remove_tenant deletes those rows itself).
create temporary table waiting_triggers on commit drop as
  select tgname as name, regexp_replace(pg_get_triggerdef(oid), '^CREATE ', 'CREATE OR REPLACE ') as definition
  from pg_trigger where tgrelid = 'app.tenants'::regclass and not tgisinternal;

-- What a later migration has put on app.tenants is on no other node, and Citus would look for it there.
set local citus.enable_ddl_propagation = off;
do $$
declare
  v_name name;
begin
  for v_name in select name from waiting_triggers loop
    execute format('drop trigger %I on app.tenants', v_name);
  end loop;
  for v_name in select conname from pg_constraint where conrelid = 'control.idempotency_keys'::regclass and contype = 'f' loop
    execute format('alter table control.idempotency_keys drop constraint %I', v_name);
  end loop;
end
$$;
set local citus.enable_ddl_propagation = on;

-- 4. One function distributes a table, and app.isolate() calls it: a later migration needs no line more. Its existence
--    is what app.is_distributed() asks for, and with it app.write_policies() writes policies without subqueries, which
--    Citus refuses, and takes FORCE off. A shard that is moved while it is written to is copied by logical replication,
--    which FORCE stops for good: the move never ends. FORCE holds the owner's own statements to the policies; the
--    service never works as the owner.
create or replace function app.distribute(p_table regclass)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from pg_dist_partition where logicalrelid = p_table) then
    -- Beside what is there already, and so a tenant's rows of every table on one worker.
    perform create_distributed_table(p_table, 'tenant_id',
      colocate_with => coalesce((select logicalrelid::text from pg_dist_partition where partmethod = 'h' limit 1), 'default'));
  end if;
end
$$;
comment on function app.distribute(regclass) is
  'Distributes a tenant table by tenant_id, beside the others; does nothing when it is distributed. app.isolate() calls it.';
revoke all on function app.distribute(regclass) from public;
alter function app.distribute(regclass) owner to tms_owner;

-- 5. Parents first: what refers to a table that is not distributed yet cannot be.
do $$
declare
  v_table regclass;
  v_copy text;
  v_trigger record;
begin
  perform app.write_policies('app.tenants', 'id');
  for v_table in select conrelid from pg_constraint where contype = 'f' and confrelid = 'app.tenants'::regclass and conparentid = 0 loop
    perform app.write_policies(v_table, 'tenant_id');
  end loop;

  if not exists (select from pg_dist_partition where logicalrelid = 'app.tenants'::regclass) then
    perform create_reference_table('app.tenants');
  end if;
  select shard_name(logicalrelid, shardid) into strict v_copy from pg_dist_shard where logicalrelid = 'app.tenants'::regclass;
  for v_table in
    with recursive tables as (
      select conrelid as relid from pg_constraint where contype = 'f' and confrelid = 'app.tenants'::regclass and conparentid = 0
    ), levels (relid, level) as (
      select relid, 0 from tables
      union
      select c.conrelid, l.level + 1
      from levels l join pg_constraint c on c.confrelid = l.relid and c.contype = 'f' and c.conrelid <> c.confrelid
      where c.conrelid in (select relid from tables) and l.level < (select count(*) from tables)
    )
    select relid from levels group by relid order by max(level), relid
  loop
    perform app.isolate(v_table);
  end loop;
  -- Counts and events are written by the coordinator's own copy of app.tenants alone, which every write reaches, in the
  -- session that asked.
  for v_trigger in select name, definition from waiting_triggers loop
    execute replace(v_trigger.definition, ' ON app.tenants ', format(' ON %s ', v_copy));
  end loop;
  -- The rows are in the shards now; what stays on the coordinator, the tables that refer to app.tenants included, is a copy
  -- that nobody sees.
  perform truncate_local_data_after_distributing_table('app.tenants');
end
$$;

-- 6. Functions that the workers run. Those in SQL may be part of a statement that is sent there. Three are sent there whole:
--    their work, as tms_app or with that node's locks, belongs into the transaction in which tms_registrar has written, or deletes, the tenant.
do $$
declare
  v_function regprocedure;
  v_grant record;
begin
  for v_function in
    select p.oid from pg_proc p join pg_language l on l.oid = p.prolang
    where p.pronamespace = 'app'::regnamespace
      and (l.lanname = 'sql' and not p.prosecdef
        or p.oid in ('app.set_tenant(uuid)'::regprocedure, 'app.create_sample_data(uuid, uuid)'::regprocedure, 'app.empty_tenant(uuid)'::regprocedure,
          'app.await_writers(uuid, boolean)'::regprocedure))
    -- What a body that is a text calls must be there before it.
    order by p.proname <> 'tenant_tables', p.oid
  loop
    -- As it stands here: one that a migration has replaced is still the old one on the workers.
    execute pg_get_functiondef(v_function);
    if v_function in ('app.create_sample_data(uuid, uuid)'::regprocedure, 'app.empty_tenant(uuid)'::regprocedure, 'app.await_writers(uuid, boolean)'::regprocedure) then
      perform create_distributed_function(v_function, 'p_tenant_id', colocate_with => 'app.users', force_delegation => true);
    else
      perform create_distributed_function(v_function);
    end if;
    -- A REVOKE does not travel with the function, only one that is made afterwards.
    execute format('revoke all on function %s from public', v_function);
    for v_grant in
      select grantee::regrole as role from pg_proc, aclexplode(proacl) where oid = v_function and grantee not in (0, proowner)
    loop
      execute format('grant execute on function %s to %s', v_function, v_grant.role);
    end loop;
  end loop;
end
$$;

-- Views of the extension that everybody may read; the service's login may execute api functions and nothing else.
do $$
declare
  v_view regclass;
begin
  for v_view in select to_regclass(name) from unnest(array['public.citus_tables', 'public.citus_schemas']) as name loop
    if v_view is not null then
      execute format('revoke all on table %s from public', v_view);
    end if;
  end loop;
end
$$;

-- 7. What all this must have led to.
do $$
declare
  v_fault text;
begin
  for v_fault in
    select format('%s is not distributed', conrelid::regclass)
    from pg_constraint
    where contype = 'f' and confrelid = 'app.tenants'::regclass and conparentid = 0
      and not exists (select from pg_dist_partition where logicalrelid = conrelid and partmethod = 'h')
    union all
    select format('%s is not beside the other tenant tables', logicalrelid)
    from pg_dist_partition
    where partmethod = 'h' and colocationid <> (select colocationid from pg_dist_partition where logicalrelid = 'app.users'::regclass)
    union all
    select format('the trigger %s is missing on the coordinator''s copy of app.tenants', name)
    from unnest(array['_500_count_insert', '_500_count_update', '_500_count_delete', '_500_count_truncate',
                      '_600_record_insert', '_600_record_update', '_600_record_delete']) name
    where not exists (
      select from pg_trigger g join pg_dist_shard s on s.logicalrelid = 'app.tenants'::regclass
      where g.tgname = name and g.tgrelid = shard_name(s.logicalrelid, s.shardid)::regclass)
    union all
    select format('%s: %s', u.name, u.fault) from app.unprotected_tables() u
  loop
    raise exception using errcode = 'object_not_in_prerequisite_state', message = v_fault;
  end loop;
end
$$;

commit;

-- 8. And on the workers, which were told what the first part of this file wrote. Any policy for tms_app beside the one on
--    the tenant would open every tenant's rows to every other.
do $$
declare
  v_answer record;
begin
  for v_answer in
    select nodename || ':' || nodeport as node, success, result
    from run_command_on_workers($command$
      select coalesce(string_agg(distinct format('%s on %s', polname, polrelid::regclass), ', '), 'none')
      from pg_policy
      where polroles && array['tms_app'::regrole::oid, 0] and polpermissive and polname <> 'tenant_only'$command$)
    join pg_dist_node using (nodename, nodeport)
  loop
    if not v_answer.success or v_answer.result <> 'none' then
      raise exception using errcode = 'object_not_in_prerequisite_state', message = format('%s: %s', v_answer.node, v_answer.result);
    end if;
  end loop;
end
$$;
