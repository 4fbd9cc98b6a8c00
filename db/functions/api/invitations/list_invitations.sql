set local role tms_app;
create or replace function api.list_invitations(p_caller app.caller, p_limit int, p_cursor text, out body json, out next_cursor text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
begin
  select * into body, next_cursor from app.invitation_page(v_caller.tenant_id, v_caller.role, p_limit, p_cursor);
end
$$;
comment on function api.list_invitations(app.caller, int, text) is
$$The open invitations of the tenant, newest first: {invitations}. next_cursor is null on the last page. For owners and admins. Raises
TM403, TM422.$$;
reset role;
