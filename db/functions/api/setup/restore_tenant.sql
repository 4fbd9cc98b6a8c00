set local role tms_registrar;
create or replace function api.restore_tenant(
  p_caller app.caller, p_tenant_id text, p_if_match text[] default null,
  out body json, out etag text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
begin
  perform app.require_operator(p_caller);
  select * into body, etag from app.move_tenant(p_tenant_id, p_if_match, 'deleted', null::text);
end
$$;
comment on function api.restore_tenant(app.caller, text, text[]) is
$$Restores a deleted tenant with the status that it had. Returns the tenant and its ETag. p_if_match: see api.update_tenant. Raises TM403, TM404,
TM412, and TM409 if the tenant is not deleted.$$;
reset role;
