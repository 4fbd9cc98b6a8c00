-- Of tms_registrar, which signs the tenant of the invitation: no function that tms_app may call enters a tenant for an invitation alone.
set local role tms_registrar;
create or replace function api.accept_invitation(p_caller app.caller, p_invited_tenant text, p_token_hash text, p_verified_email text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_hash constant bytea := decode(p_token_hash, 'hex');
  -- A token without an id takes the same path, with an id made from its hash.
  v_tenant_id constant uuid := coalesce(app.parse_uuid(p_invited_tenant), encode(substr(v_hash, 1, 16), 'hex')::uuid);
  v_setting text := v_tenant_id::text;
begin
  -- Not app.set_tenant() yet: it would tell which tenant is being deleted.
  if app.requires_proof() then
    v_setting := app.sign_proved_tenant('{caller,operator}',
      app.proved_values(p_caller), v_tenant_id);
  end if;
  execute format('set local app.tenant_id = %L', v_setting);
  return control.accept_invitation(p_caller, v_tenant_id, v_hash, p_verified_email,
    p_default_only => p_caller.slug is null);
end
$$;
comment on function api.accept_invitation(app.caller, text, text, text) is
$$Makes the caller a member of the tenant of an invitation, with its role: {tenant, membership}. The invitation is used up.
p_invited_tenant and p_token_hash: the tenant's id in the token, and SHA-256 of its secret in hex. p_verified_email: the address of the
caller's token, unless the token says that it is not verified. In single-tenant mode only the default tenant can be joined.
Raises the same TM403 whenever the invitation cannot be used, TM409 if the caller is a member: the invitation then stays open.$$;
reset role;
