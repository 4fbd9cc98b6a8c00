set local role tms_registrar;
create or replace function api.list_tenant_events(
  p_caller app.caller, p_limit int, p_after text, p_order text, p_type text,
  out body json, out next_cursor text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
begin
  perform app.require_member_admin(v_caller.role, 'member');
  select p.body, p.next_cursor into body, next_cursor
  from app.event_page(v_caller.tenant_id, p_limit, p_after, p_order, p_type, true) p;
end
$$;
comment on function api.list_tenant_events(app.caller, int, text, text, text) is
$$Events of the caller's tenant, for its owners and admins: see app.event_page(). Raises TM403, TM422.$$;
reset role;
