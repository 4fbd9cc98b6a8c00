set local role tms_registrar;
create or replace function app.schedule_deletion(p_tenant app.tenants, p_days int)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants := p_tenant;
  -- As in app.move_tenant().
  v_now constant timestamptz := greatest(clock_timestamp(), p_tenant.updated_at + interval '1 microsecond');
  v_purge_at constant timestamptz := v_now + make_interval(hours => 24 * p_days);
begin
  -- Of two parallel deletions the second finds the tenant deleted: it changes nothing, and gets the answer of the first.
  if p_tenant.status <> 'deleted' then
    update app.tenants
    set status = 'deleted', status_before = status, deleted_at = v_now, purge_at = v_purge_at, updated_at = v_now
    where id = p_tenant.id
    returning * into v_tenant;
  end if;
  return json_build_object(
    'message', format('Tenant ''%s'' (%s) deleted successfully', v_tenant.name, v_tenant.slug),
    'tenant_id', v_tenant.id,
    'warning', format('All related data is kept until %s, and can be brought back until then: POST /api/setup/tenant/%s/restore. '
      'After that it will be permanently deleted', app.iso_time(v_tenant.purge_at), v_tenant.id));
end
$$;
comment on function app.schedule_deletion(app.tenants, int) is
$$Gives a tenant the status deleted for p_days days, in which it can be restored. Returns the body of the response. Its caller holds the
lock of app.lock_tenant().$$;
revoke all on function app.schedule_deletion(app.tenants, int) from public;
reset role;
