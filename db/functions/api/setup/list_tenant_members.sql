set local role tms_app;
create or replace function api.list_tenant_members(
  p_caller app.caller, p_tenant_id text, p_limit int, p_cursor text, p_q text default null,
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
  select * into body, next_cursor from app.member_page(v_tenant_id, p_limit, p_cursor, p_q);
end
$$;
comment on function api.list_tenant_members(app.caller, text, int, text, text) is
$$api.list_members() of any tenant, for operators. Raises TM403, TM404 `Tenant not found`, TM422.$$;
reset role;
