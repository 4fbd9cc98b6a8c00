set local role tms_registrar;
create or replace function api.patch_tenant(
  p_caller app.caller, p_tenant_id text, p_name text, p_slug text, p_settings jsonb, p_if_match text[], p_has_schema boolean, p_validated jsonb,
  out body json, out etag text, out status text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_tenant app.tenants;
  v_settings jsonb;
begin
  perform app.require_operator(p_caller);
  v_tenant := app.find_tenant_to_change(p_tenant_id, p_if_match);
  v_settings := case when p_settings is null then v_tenant.settings else app.patched_settings(v_tenant.settings, p_settings) end;
  if p_has_schema and v_settings <> v_tenant.settings and p_validated is distinct from v_settings then
    body := v_settings;
    status := 'unvalidated';
    return;
  end if;
  select * into body, etag from app.tenant_answer(app.change_tenant(v_tenant, p_name, p_slug, v_settings));
end
$$;
comment on function api.patch_tenant(app.caller, text, text, text, jsonb, text[], boolean, jsonb) is
$$Merges p_settings into the settings of a tenant (RFC 7396), under its row's lock, and replaces name and slug where they are given. What
changes nothing keeps updated_at. With p_has_schema no other settings are written until p_validated is the result: status is then unvalidated, and
body the settings to validate. Raises TM403, TM404, TM409 `Conflict`, TM412, TM422.$$;
reset role;
