set local role tms_app;
create or replace function api.revoke_invitation(p_caller app.caller, p_invitation_id text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
begin
  return app.revoke_invitation(v_caller.tenant_id, v_caller.user_id, v_caller.role, p_invitation_id);
end
$$;
comment on function api.revoke_invitation(app.caller, text) is
$$Ends an invitation; its token is refused from now on. Owners revoke every invitation, admins all but those of owners. Raises TM403,
TM404 `Invitation not found`.$$;
reset role;
