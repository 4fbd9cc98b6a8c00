set local role tms_registrar;
create or replace function api.purge_tenant(p_caller app.caller, p_tenant_id text, p_if_match text[], p_reason text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_tenant app.tenants;
begin
  perform app.require_operator(p_caller);
  perform set_config('app.reason', coalesce(p_reason, ''), true);
  -- As in api.delete_tenant: first without the lock. Under it again, since the tenant may have been restored meanwhile.
  perform app.require_status(app.find_tenant_to_delete(p_caller, p_tenant_id, p_if_match), 'deleted');
  perform app.lock_tenant(p_tenant_id);
  v_tenant := app.find_tenant_to_change(p_tenant_id, p_if_match);
  perform app.require_status(v_tenant, 'deleted');
  return app.remove_tenant(v_tenant);
end
$$;
comment on function api.purge_tenant(app.caller, text, text[], text) is
$$Deletes a deleted tenant and all its rows, in one transaction, before its restore window has passed. p_reason stands in the event.
p_if_match: see api.update_tenant. Raises TM403, TM404, TM412, TM409 if the tenant is not deleted, and TM400 `Default tenant` for the default
tenant in single-tenant mode.$$;
reset role;
