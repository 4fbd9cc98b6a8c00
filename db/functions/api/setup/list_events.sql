set local role tms_registrar;
create or replace function api.list_events(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_limit int, p_after text, p_order text, p_type text, p_tenant_id text,
  out body json, out next_cursor text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  select p.body, p.next_cursor into body, next_cursor
  from app.event_page(p_tenant_id::uuid, p_limit, p_after, p_order, p_type, false) p;
end
$$;
comment on function api.list_events(text, text, text, text, text, text, int, text, text, text, text) is
$$Events of all tenants, or of the tenant p_tenant_id: see app.event_page(). Raises TM403, TM422.$$;
revoke all on function api.list_events(text, text, text, text, text, text, int, text, text, text, text) from public;
grant execute on function api.list_events(text, text, text, text, text, text, int, text, text, text, text) to tms_service;
reset role;
