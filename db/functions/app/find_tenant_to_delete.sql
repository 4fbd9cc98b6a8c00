set local role tms_registrar;
create or replace function app.find_tenant_to_delete(p_caller app.caller, p_tenant_id text, p_if_match text[])
returns app.tenants
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant constant app.tenants := app.find_tenant(p_tenant_id);
begin
  if v_tenant.is_default and p_caller.slug is null then
    perform app.refuse(400, 'Default tenant', 'The default tenant cannot be deleted in single-tenant mode', 'default_tenant_delete');
  end if;
  perform app.require_match(v_tenant, p_if_match);
  return v_tenant;
end
$$;
comment on function app.find_tenant_to_delete(app.caller, text, text[]) is
$$The tenant with this id, if it may be deleted. A null slug of the caller means single-tenant mode. p_if_match: see app.require_match(). Raises
TM404, TM412, and TM400 for the default tenant in single-tenant mode.$$;
revoke all on function app.find_tenant_to_delete(app.caller, text, text[]) from public;
reset role;
