set local role tms_app;
create or replace function api.list_tenant_invitations(
  p_caller app.caller, p_tenant_id text, p_limit int, p_cursor text,
  out body json, out next_cursor text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_tenant_id constant uuid := app.enter_as_operator(p_caller, p_tenant_id, p_writes => false);
begin
  select * into body, next_cursor from app.invitation_page(v_tenant_id, 'operator', p_limit, p_cursor);
end
$$;
comment on function api.list_tenant_invitations(app.caller, text, int, text) is
$$api.list_invitations() of any tenant, for operators. Raises TM403, TM404 `Tenant not found`, TM422.$$;
reset role;
