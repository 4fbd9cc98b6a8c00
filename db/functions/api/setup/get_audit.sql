set local role tms_registrar;
create or replace function api.get_audit(p_caller app.caller, p_limit int, p_cursor text, out body json, out next_cursor text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
begin
  perform app.require_operator(p_caller);
  select p.body, p.next_cursor into body, next_cursor from control.audit_page(p_limit, p_cursor) p;
end
$$;
comment on function api.get_audit(app.caller, int, text) is
$$What the audit has found: see control.audit_page(). Raises TM403, TM422.$$;
reset role;
