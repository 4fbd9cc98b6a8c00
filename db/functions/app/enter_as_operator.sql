-- For functions of tms_app: what operators do in a tenant runs under row-level security, by the same code as for the tenant's own people.
set local role tms_registrar;
create or replace function app.enter_as_operator(p_caller app.caller, p_tenant_id text, p_writes boolean)
returns uuid
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_wanted constant text := 'active';
  v_tenant app.tenants;
begin
  perform app.require_operator(p_caller);
  -- Before the look-up: from here on a deletion waits, so the tenant found is still there afterwards.
  perform app.set_tenant(app.parse_uuid(p_tenant_id));
  v_tenant := app.find_tenant(p_tenant_id);
  if p_writes and v_tenant.status = 'deleted' then
    perform app.refuse(409, 'Conflict', format('The tenant is %s, not %s', v_tenant.status, v_wanted), 'wrong_status');
  end if;
  return v_tenant.id;
end
$$;
comment on function app.enter_as_operator(app.caller, text, boolean) is
$$Puts the transaction of an operator into the tenant with this id, whatever its status, and returns the id. Raises TM403 for all other
callers, TM404 `Tenant not found`, TM409 if p_writes and the tenant waits for its final deletion, TM503 while it is being deleted.$$;
revoke all on function app.enter_as_operator(app.caller, text, boolean) from public;
grant execute on function app.enter_as_operator(app.caller, text, boolean) to tms_app;
reset role;
