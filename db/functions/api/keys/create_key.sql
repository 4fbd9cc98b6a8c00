set local role tms_app;
create or replace function api.create_key(
  p_caller app.caller, p_name text, p_role text, p_expires_at timestamptz, p_secret_hash text,
  out body json, out tenant_id uuid
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
  v_most constant int := 100;
  v_id constant uuid := gen_random_uuid();
  v_user_id uuid;
  v_key app.api_keys;
begin
  perform app.refuse_key(p_caller);
  perform app.require_member_admin(v_caller.role, p_role);
  if p_expires_at <= now() then
    perform app.refuse(422, 'Validation failed', 'expires_at must be in the future', 'expires_in_the_past',
      '{"errors": [{"field": "expires_at", "message": "must be in the future"}]}');
  end if;
  -- Creations in one tenant wait for each other; otherwise parallel ones would all count before the first one inserts.
  perform pg_advisory_xact_lock(uuid_hash_extended(v_caller.tenant_id, 1));
  if (select count(*) from app.api_keys k where k.tenant_id = v_caller.tenant_id and k.revoked_at is null) >= v_most then
    perform app.refuse(409, 'Conflict', format('The tenant has %s API keys; revoke one first', v_most), 'key_limit');
  end if;
  insert into app.users as u (tenant_id, auth_provider, auth_subject, display_name, role)
  values (v_caller.tenant_id, 'key', v_id::text, p_name, p_role)
  returning u.id into v_user_id;
  insert into app.api_keys as k (tenant_id, id, user_id, name, secret_hash, created_by, expires_at)
  values (v_caller.tenant_id, v_id, v_user_id, p_name, decode(p_secret_hash, 'hex'), v_caller.user_id, p_expires_at)
  returning k.* into v_key;
  -- Last, as in api.add_member(): the maker may have been removed or demoted meanwhile.
  perform app.require_member_admin(app.require_member(v_caller.tenant_id, v_caller.user_id), p_role);
  perform app.record_event('key.created', v_caller.tenant_id, v_key.id, p_role => p_role);
  body := app.key_json(v_key, p_role);
  tenant_id := v_caller.tenant_id;
end
$$;
comment on function api.create_key(app.caller, text, text, timestamptz, text) is
$$Makes an API key with a role of admin or member, for owners and admins. p_secret_hash: the SHA-256 of its secret, in hexadecimal. At
most 100 keys of a tenant are not revoked. Returns the key and the tenant's id. Raises TM403, TM409 `Conflict`, TM422.$$;
reset role;
