set local role tms_app;
create or replace function api.change_tenant_member(p_caller app.caller, p_tenant_id text, p_user_id text, p_role text)
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
  return app.change_member(v_tenant_id, null::uuid, 'operator', p_user_id, p_role);
end
$$;
comment on function api.change_tenant_member(app.caller, text, text, text) is
$$api.change_member() in any tenant, for operators. Raises TM403, TM404, TM409 for the last owner.$$;
reset role;
