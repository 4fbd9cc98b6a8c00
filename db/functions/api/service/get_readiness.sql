set local role tms_registrar;
create or replace function api.get_readiness(p_release int)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A standby lags behind, so it may still admit a removed member. After a failover a service that still reaches the old server must not
  -- count as ready.
  if current_setting('transaction_read_only')::boolean then
    raise exception using errcode = 'read_only_sql_transaction', message =
      'it takes no writes: ' || case when pg_is_in_recovery() then 'it is a standby' else 'default_transaction_read_only is on' end;
  end if;
  return json_build_object(
    'migrations', array(
      select format('the database is at %s, this build needs release %s', coalesce('release ' || app.release(), 'no release'), p_release)
      where app.is_behind(p_release)),
    'isolation', array(select format('%s: %s', b.object, b.fault) from app.isolation_breaches() b),
    'clock', extract(epoch from clock_timestamp()),
    'audit', app.last_audit(),
    'events_wait_seconds', app.events_wait(),
    'tenants', json_build_object(
      'pending', app.count_tenants('pending'),
      'active', app.count_tenants('active'),
      'suspended', app.count_tenants('suspended'),
      'deleted', app.count_tenants('deleted')));
end
$$;
comment on function api.get_readiness(int) is
$$The state of the database for GET /ready and GET /metrics. migrations and isolation: one sentence for each fault. clock: Unix time. audit: the
last complete audit. events_wait_seconds: see app.events_wait(). tenants: their number by status. p_release is the number of the build. Raises
25006 on a standby and where
transactions are read only.$$;
reset role;
