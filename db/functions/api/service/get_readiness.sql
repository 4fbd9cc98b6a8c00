set local role tms_registrar;
create or replace function api.get_readiness(p_release int)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A standby may lag, and let in who is no longer a member; and whoever still asks it after a failover is at the wrong address.
  if current_setting('transaction_read_only')::boolean then
    raise exception using errcode = 'read_only_sql_transaction', message =
      'it takes no writes: ' || case when pg_is_in_recovery() then 'it is a standby' else 'default_transaction_read_only is on' end;
  end if;
  return json_build_object(
    'migrations', array(
      select format('the database is at %s, this build needs release %s', coalesce('release ' || app.release(), 'no release'), p_release)
      where app.is_behind(p_release)),
    'isolation', array(select format('%s: %s', b.object, b.fault) from app.isolation_breaches() b),
    'audit', app.last_audit(),
    'tenants', json_build_object('pending', app.count_tenants('pending'), 'active', app.count_tenants('active'),
      'suspended', app.count_tenants('suspended')));
end
$$;
comment on function api.get_readiness(int) is
$$What GET /ready and GET /metrics say of the database: {migrations, isolation} are sentences, one a fault, none when all is
well; tenants are the numbers by status, audit is the last one. p_release is the number of the build. Raises 25006 on a standby, and where sessions begin read only.$$;
revoke all on function api.get_readiness(int) from public;
grant execute on function api.get_readiness(int) to tms_service;
reset role;
