set local role tms_app;
create or replace function api.add_tenant_member(
  p_caller app.caller, p_tenant_id text,
  p_new_provider text, p_new_subject text, p_new_email text, p_new_display_name text, p_new_role text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_tenant_id constant uuid := app.enter_as_operator(p_caller, p_tenant_id, p_writes => true);
begin
  return app.add_member(v_tenant_id, null::uuid, 'operator',
    coalesce(p_new_provider, p_caller.provider), p_new_subject, p_new_email, p_new_display_name, p_new_role);
end
$$;
comment on function api.add_tenant_member(app.caller, text, text, text, text, text, text) is
$$api.add_member() in any tenant, for operators. Raises TM403, TM404 `Tenant not found`, TM409 `Conflict`, TM422 for an API key.$$;
reset role;
