set local role tms_registrar;
create or replace function api.patch_current_tenant(
  p_caller app.caller, p_name text, p_settings jsonb, p_writable text[], p_if_match text[], p_has_schema boolean, p_validated jsonb,
  out body json, out etag text, out status text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
  v_tenant app.tenants;
  v_settings jsonb;
begin
  perform app.require_member_admin(v_caller.role, 'member');
  perform app.require_writable(p_settings, p_writable);
  select * into v_tenant from app.tenants t where t.id = v_caller.tenant_id and t.status = 'active' for no key update;
  -- Under the lock of the tenant, which a deletion takes first too: a caller who has lost the role, or the tenant, changes nothing.
  perform app.require_member_admin(app.require_member(v_tenant.id, v_caller.user_id), 'member');
  perform app.require_version(app.tenant_json(v_tenant), p_if_match);
  v_settings := case when p_settings is null then v_tenant.settings else app.patched_settings(v_tenant.settings, p_settings) end;
  if p_has_schema and v_settings <> v_tenant.settings and p_validated is distinct from v_settings then
    body := v_settings;
    status := 'unvalidated';
    return;
  end if;
  select * into body, etag from app.own_answer(app.change_tenant(v_tenant, p_name, null::text, v_settings), v_caller.member);
end
$$;
comment on function api.patch_current_tenant(app.caller, text, jsonb, text[], text[], boolean, jsonb) is
$$What an owner or admin changes in the tenant of the request: its name, and by a merge patch (RFC 7396) the keys p_writable of its settings.
Returns {tenant, membership} and their ETag; p_has_schema and p_validated: see api.patch_tenant. Raises TM403, TM412, TM422.$$;
reset role;
