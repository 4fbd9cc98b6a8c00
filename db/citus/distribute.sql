-- Distributes a migrated database on a Citus cluster: app.tenants on every node, every tenant table in shards by tenant_id, all shards
-- of a tenant on one worker. A superuser runs it on the coordinator, in the service's database, once the extension is created and the
-- workers are added, and again after each `npm run migrate`. A second run changes only what is missing. docs/guides/scale.md describes the
-- steps before it, the versions it was run on, and what differs afterwards.
--   psql -v ON_ERROR_STOP=1 -f db/citus/distribute.sql -d <database>
begin;

do $$
begin
  if not exists (select from pg_extension where extname = 'citus') then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = 'The extension citus is missing: create it here and on every worker first';
  end if;
  if not exists (select from pg_dist_node where groupid = 0)
    or not exists (select from pg_dist_node where groupid <> 0 and shouldhaveshards)
  then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = 'The cluster has no coordinator or no worker: call citus_set_coordinator_host() and citus_add_node() first';
  end if;
end
$$;

-- The workers keep the functions of the release before until this file has run. Those that the coordinator dropped, or dropped and created
-- with another result, Citus does not know any more, so they are dropped there first.
do $$
declare
  v_dropped text;
begin
  select string_agg(distinct f.name, ', ') into v_dropped
  from run_command_on_workers($command$
      select coalesce(json_agg(oid::regprocedure), '[]') from pg_proc where pronamespace = to_regnamespace('app')$command$) w
  cross join json_array_elements_text(w.result::json) f (name)
  where f.name like 'app.%'
    and not exists (select from pg_dist_object where classid = 'pg_proc'::regclass and objid = to_regprocedure(f.name));
  if v_dropped is not null then
    perform run_command_on_workers('set citus.enable_ddl_propagation = off; drop function if exists ' || v_dropped);
  end if;
end
$$;

-- 1. Citus connects to workers as the current role, which may be the owner of a function. pg_hba.conf restricts these connections;
--    pg_dist_authinfo holds their passwords.
alter role tms_app login;
alter role tms_registrar login;
alter role tms_auditor login;

-- 2. Settings of the database.
do $$
declare
  v_setting record;
begin
  for v_setting in
    select * from (values
      -- Sends SET LOCAL app.tenant_id to the workers. Without it every policy there sees no tenant.
      ('citus.propagate_set_commands', 'local'),
      -- Times go to the workers as text, and workers write boards as JSON.
      ('datestyle', 'ISO'),
      -- It is off where the extension was created before the first migration (docs/guides/scale.md).
      ('citus.enable_ddl_propagation', 'on'),
      -- Transactions that have read shards write to app.tenants, which Citus allows over one connection a node only.
      ('citus.multi_shard_modify_mode', 'sequential'),
      -- If it were on, create_reference_table() would add the tables that refer to app.tenants to Citus's metadata, and none of them
      -- could be distributed.
      ('citus.enable_local_reference_table_foreign_keys', 'off'),
      -- One each for tms_registrar, tms_app and tms_owner, and a spare one.
      ('citus.max_cached_conns_per_worker', '4')
    ) as wanted (name, value)
  loop
    perform set_config(v_setting.name, v_setting.value, true);
    execute format('alter database %I set %s = %L', current_database(), v_setting.name, v_setting.value);
  end loop;
end
$$;

-- 3. Objects that Citus does not allow. A trigger on a reference table would run on every node: those of app.tenants are dropped here
--    and created again in 5. A foreign key from a table of the coordinator would check the coordinator's empty copy: the one of
--    control.idempotency_keys is dropped, and app.remove_tenant() deletes the rows instead.
create temporary table waiting_triggers on commit drop as
  select tgname as name, regexp_replace(pg_get_triggerdef(oid), '^CREATE ', 'CREATE OR REPLACE ') as definition
  from pg_trigger where tgrelid = 'app.tenants'::regclass and not tgisinternal;

-- Triggers that a later release created on app.tenants exist on no other node, and Citus would look for them there.
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

-- 4. app.isolate() calls this function, so a later migration distributes its tables by itself. Where it exists, app.is_distributed() is
--    true and app.write_policies() writes policies without subqueries, which Citus refuses, and switches FORCE off. Citus moves a shard
--    in use by logical replication; with FORCE such a move never ends. FORCE applies policies to the owner, and the service never works
--    as the owner.
create or replace function app.distribute(p_table regclass)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from pg_dist_partition where logicalrelid = p_table) then
    -- Co-located with the other tables: a tenant's rows of all tables are on one worker.
    perform create_distributed_table(p_table, 'tenant_id',
      colocate_with => coalesce((select logicalrelid::text from pg_dist_partition where partmethod = 'h' limit 1), 'default'));
  end if;
end
$$;
comment on function app.distribute(regclass) is
  'Distributes a tenant table by tenant_id, beside the others; does nothing when it is distributed. app.isolate() calls it.';
revoke all on function app.distribute(regclass) from public;
alter function app.distribute(regclass) owner to tms_owner;

-- 5. Parents first: Citus refuses to distribute a table that refers to one which is not distributed. Requests wait for this part, so it
--    leaves out the tables that are distributed.
do $$
declare
  v_table regclass;
  v_copy text;
  v_trigger record;
begin
  if not exists (select from pg_dist_partition where logicalrelid = 'app.tenants'::regclass) then
    perform app.write_policies('app.tenants', 'id');
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
    select relid from levels
    where relid not in (select logicalrelid from pg_dist_partition)
    group by relid order by max(level), relid
  loop
    -- Citus distributes the partitions with their table, so their policies may have no subquery either.
    perform app.write_policies(relid, 'tenant_id') from pg_partition_tree(v_table);
    perform app.isolate(v_table, bridge => (
        select pg_get_userbyid(polroles[1])::text from pg_policy where polrelid = v_table and polname ~ '^bridge_until_'), until => (
        select to_date(polname, '"bridge_until_"YYYY_MM_DD') from pg_policy where polrelid = v_table and polname ~ '^bridge_until_'));
  end loop;
  -- Only the coordinator's own copy of app.tenants has triggers. Every write reaches that copy, in the client's session, so each tenant
  -- is counted once.
  for v_trigger in select name, definition from waiting_triggers loop
    execute replace(v_trigger.definition, ' ON app.tenants ', format(' ON %s ', v_copy));
  end loop;
  -- The rows are in the shards now. This removes the local rows, also those of the tables that refer to app.tenants.
  if exists (select from pg_dist_partition where pg_relation_size(logicalrelid) > 0) then
    perform truncate_local_data_after_distributing_table('app.tenants');
  end if;
end
$$;

-- 6. Functions that workers run. Those in SQL may be part of a statement that Citus sends to a worker. Citus delegates three others to
--    the tenant's worker, inside the transaction in which tms_registrar creates or deletes the tenant: they work as tms_app, or lock
--    rows there. What those call runs there too; whatever their text names counts as called.
do $$
declare
  v_delegated constant regprocedure[] := array_remove(array[
    to_regprocedure('app.create_sample_data(uuid, uuid)'), -- a product's
    'app.empty_tenant(uuid)'::regprocedure,
    'app.await_writers(uuid, boolean)'::regprocedure
  ], null);
  v_function regprocedure;
  v_grant record;
begin
  for v_function in
    with recursive called (oid) as (
      select f::oid from unnest(v_delegated || 'app.set_tenant(uuid)'::regprocedure) f
      union
      select p.oid from called c join pg_proc p
        on p.pronamespace = 'app'::regnamespace and pg_get_functiondef(c.oid) ~ format('\mapp\.%s\(', p.proname)
    )
    select p.oid from pg_proc p join pg_language l on l.oid = p.prolang
    where p.pronamespace = 'app'::regnamespace
      and (l.lanname = 'sql' and not p.prosecdef or p.oid in (select oid from called))
    -- app.tenant_tables() is called by others, so it comes first.
    order by p.proname <> 'tenant_tables', p.oid
  loop
    -- Executed again so that Citus creates it on the workers, or replaces an older version there.
    execute pg_get_functiondef(v_function);
    if v_function = any (v_delegated) then
      perform create_distributed_function(v_function, 'p_tenant_id', colocate_with => 'app.users', force_delegation => true);
    end if;
    -- Citus does not copy an earlier REVOKE to the workers, but sends a new one.
    execute format('revoke all on function %s from public', v_function);
    for v_grant in
      select grantee::regrole as role from pg_proc, aclexplode(proacl) where oid = v_function and grantee not in (0, proowner)
    loop
      execute format('grant execute on function %s to %s', v_function, v_grant.role);
    end loop;
  end loop;
end
$$;

-- The extension lets every role read these views; the service's login may execute functions of api and nothing else.
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

-- 7. Checks the result.
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

-- 8. Checks the workers, which see the changes above only after the commit. A second permissive policy for tms_app would show every
--    tenant's rows to all others.
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

-- 9. Calls each function that requests call, as requests do, and rolls each call back: Citus refuses some statements only when they run.
--    The calls need a tenant that is committed. It waits for its purge, so nobody enters it and no list shows it, and each call changes
--    its status for itself. The next run removes what an interrupted one has left.
\set tenant '''0c175c17-5c17-4c17-8c17-5c175c175c17'''
begin;
delete from app.tenants where id = :tenant;
insert into app.tenants (id, name, slug, status, status_before, deleted_at, purge_at)
values (:tenant, 'Trial of distribute.sql', 'trial-of-distribute-sql', 'deleted', 'active', now(), now());
insert into app.users (tenant_id, id, auth_provider, auth_subject, role)
values (:tenant, '0c175c17-5c17-4c17-8c17-000000000001', 'distribute.sql', 'owner', 'owner'),
       (:tenant, '0c175c17-5c17-4c17-8c17-000000000002', 'distribute.sql', 'member', 'member'),
       (:tenant, '0c175c17-5c17-4c17-8c17-000000000003', 'key', '0c175c17-5c17-4c17-8c17-000000000004', 'admin');
insert into app.api_keys (tenant_id, id, user_id, name, secret_hash, created_by)
values (:tenant, '0c175c17-5c17-4c17-8c17-000000000004', '0c175c17-5c17-4c17-8c17-000000000003', 'trial', decode(repeat('c1', 32), 'hex'),
        '0c175c17-5c17-4c17-8c17-000000000001');
insert into app.invitations (tenant_id, id, token_hash, invited_by)
values (:tenant, '0c175c17-5c17-4c17-8c17-000000000005', decode(repeat('c1', 32), 'hex'), '0c175c17-5c17-4c17-8c17-000000000001');
-- No reader learns of the trial.
delete from control.tenant_events where tenant_id = :tenant;
commit;

set citus.propagate_set_commands = 'local'; -- this session began before 2.
do $$
declare
  v_tenant constant uuid := '0c175c17-5c17-4c17-8c17-5c175c175c17';
  -- By the names of parameters; every other one is null.
  v_values constant jsonb := '{
    "p_user_id": "0c175c17-5c17-4c17-8c17-000000000002",
    "p_key_id": "0c175c17-5c17-4c17-8c17-000000000004", "p_invitation_id": "0c175c17-5c17-4c17-8c17-000000000005",
    "p_new_subject": "another", "p_new_role": "member", "p_role": "admin", "p_name": "Trial", "p_settings": {},
    "p_sample_data": true,
    "p_slug": "another-trial-of-distribute-sql", "p_slug_base": "another-trial-of-distribute-sql", "p_organization_name": "Trial",
    "p_requires_approval": false, "p_may_be_default": false, "p_registration": {}, "p_idempotency_key": "trial-of-distribute-sql",
    "p_expires_in": 1, "p_limit": 10, "p_order": "-created_at", "p_grace_days": 0, "p_release": 0, "p_bucket": "trial",
    "p_identity": "trial", "p_window_seconds": 60}'::jsonb
    || jsonb_build_object('p_tenant_id', v_tenant, 'p_invited_tenant', v_tenant, 'p_key', v_tenant || ':' || repeat('c1', 32),
      'p_secret_hash', repeat('c2', 32));
  v_function record;
  v_attempt record;
  v_state text;
  v_message text;
  v_faults text := '';
begin
  for v_function in
    select p.oid::regprocedure::text as name, format('select * from api.%I(%s)', p.proname, (
        select string_agg(case a.name
            when 'p_caller' then 'p_caller => row(''trial-of-distribute-sql'', ''distribute.sql'', $1, null, null, null)'
            when 'p_token_hash' then 'p_token_hash => $2'
            else format('%I => %L::%s', a.name, v_values ->> a.name, a.type::regtype) end, ', ' order by a.n)
        from unnest(p.proargnames, p.proargmodes, coalesce(p.proallargtypes, p.proargtypes::oid[]))
          with ordinality as a (name, mode, type, n)
        where coalesce(a.mode, 'i') = 'i')) as call
    from pg_proc p
    where p.pronamespace = 'api'::regnamespace and has_function_privilege('tms_service', p.oid, 'execute')
    order by 1
  loop
    -- The first attempt that is not refused is enough. The newcomer has the token of the invitation.
    for v_attempt in
      select status, subject, hash
      from unnest(array['active', 'pending', 'suspended', 'deleted']) status,
        (values ('owner', repeat('c3', 32)), ('newcomer', repeat('c1', 32))) s (subject, hash)
    loop
      v_state := null;
      begin
        set role tms_registrar;
        update app.tenants
        set status = v_attempt.status, deleted_at = case v_attempt.status when 'deleted' then deleted_at end,
            purge_at = case v_attempt.status when 'deleted' then purge_at end,
            status_before = case v_attempt.status when 'deleted' then status_before end
        where id = v_tenant;
        set role tms_service;
        execute v_function.call using v_attempt.subject, v_attempt.hash;
      exception when others then
        get stacked diagnostics v_state = returned_sqlstate, v_message = message_text;
      end;
      rollback;
      exit when v_state is null or v_state !~ '^TM';
    end loop;
    if v_state ~ '^TM' then
      raise warning '% was not tried to its end: %', v_function.name, v_message;
    elsif v_state is not null then
      v_faults := concat(v_faults, E'\n', v_function.name, ': ', v_message);
    end if;
  end loop;
  perform set_config('trial.faults', v_faults, false);
  commit;
end
$$;

begin;
delete from app.tenants where id = :tenant;
delete from control.tenant_events where tenant_id = :tenant;
commit;

do $$
begin
  if current_setting('trial.faults') <> '' then
    raise exception using errcode = 'feature_not_supported', message = 'Requests fail on this cluster:' || current_setting('trial.faults');
  end if;
end
$$;
