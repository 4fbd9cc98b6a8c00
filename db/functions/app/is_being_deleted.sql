-- Every login may take any advisory lock. Only tms_registrar may lock this table (app.fence_tenant()), so a session that holds both is
-- a deletion. While it waits for the tenant's lock, it counts as well.
set local role tms_registrar;
create or replace function app.is_being_deleted(p_tenant_id uuid)
returns boolean
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from pg_locks l join pg_locks f on f.pid = l.pid
    where l.locktype = 'advisory' and l.objsubid = 1 and l.mode = 'ExclusiveLock'
      and l.database = (select oid from pg_database where datname = current_database())
      and (l.classid::bigint << 32 | l.objid::bigint) = uuid_hash_extended(p_tenant_id, 0)
      and f.locktype = 'relation' and f.database = l.database and f.relation = to_regclass('control.deployment')
      and f.mode = 'RowExclusiveLock' and f.granted)
$$;
comment on function app.is_being_deleted(uuid) is
$$Whether a deletion holds the tenant's lock, or waits for it. False where another session took that lock, as every login can.$$;
revoke all on function app.is_being_deleted(uuid) from public;
grant execute on function app.is_being_deleted(uuid) to tms_app, tms_auditor, tms_owner;
reset role;
