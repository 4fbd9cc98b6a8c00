set local role tms_app;
create or replace function api.revoke_tenant_invitation(p_caller app.caller, p_tenant_id text, p_invitation_id text)
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
  return app.revoke_invitation(v_tenant_id, null::uuid, 'operator', p_invitation_id);
end
$$;
comment on function api.revoke_tenant_invitation(app.caller, text, text) is
$$api.revoke_invitation() in any tenant, for operators. Raises TM403, TM404 `Tenant not found` and `Invitation not found`, TM409 `Conflict`.$$;
reset role;
