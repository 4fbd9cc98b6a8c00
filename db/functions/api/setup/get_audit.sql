set local role tms_registrar;
create or replace function api.get_audit(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_limit int, p_cursor text,
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
  select p.body, p.next_cursor into body, next_cursor from control.audit_page(p_limit, p_cursor) p;
end
$$;
comment on function api.get_audit(text, text, text, text, text, text, int, text) is
$$What the audit has found: see control.audit_page(). Raises TM403, TM422.$$;
revoke all on function api.get_audit(text, text, text, text, text, text, int, text) from public;
grant execute on function api.get_audit(text, text, text, text, text, text, int, text) to tms_service;
reset role;
