set local role tms_registrar;
create or replace function api.list_tenant_events(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_limit int, p_after text, p_order text, p_type text,
  out body json, out next_cursor text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
begin
  perform app.require_member_admin(v_caller.role, 'member');
  select p.body, p.next_cursor into body, next_cursor
  from app.event_page(v_caller.tenant_id, p_limit, p_after, p_order, p_type, true) p;
end
$$;
comment on function api.list_tenant_events(text, text, text, text, text, text, int, text, text, text) is
$$Events of the caller's tenant, for its owners and admins: see app.event_page(). Raises TM403, TM422.$$;
revoke all on function api.list_tenant_events(text, text, text, text, text, text, int, text, text, text) from public;
grant execute on function api.list_tenant_events(text, text, text, text, text, text, int, text, text, text) to tms_service;
reset role;
