set local role tms_registrar;
create or replace function api.list_events(
  p_caller app.caller, p_limit int, p_after text, p_order text, p_type text, p_tenant_id text,
  out body json, out next_cursor text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
begin
  perform app.require_operator(p_caller);
  select p.body, p.next_cursor into body, next_cursor
  from app.event_page(p_tenant_id::uuid, p_limit, p_after, p_order, p_type, false) p;
end
$$;
comment on function api.list_events(app.caller, int, text, text, text, text) is
$$Events of all tenants, or of the tenant p_tenant_id: see app.event_page(). Raises TM403, TM422.$$;
reset role;
