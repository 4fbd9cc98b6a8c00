-- For tms_registrar; runs as tms_app inside the tenant that the key names, so row-level security bounds the search to that tenant.
set local role tms_app;
create or replace function control.enter_key(p_key text)
returns app.users
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant_id constant uuid := left(p_key, 36)::uuid;
  v_found record;
  v_member app.users;
begin
  -- Where a proof is required, the caller has signed the tenant.
  if not app.requires_proof() then
    execute format('set local app.tenant_id = %L', v_tenant_id);
  end if;
  select u.*, k.last_used_at into v_found
  from app.api_keys k
  join app.users u on u.tenant_id = k.tenant_id and u.id = k.user_id
  where k.tenant_id = v_tenant_id and k.secret_hash = decode(substr(p_key, 38), 'hex') and k.revoked_at is null
    and (k.expires_at > now()) is not false and u.tenant_id = v_tenant_id and u.removed_at is null;
  if not found then
    perform app.refuse(401, 'Unauthorized', 'The API key is not valid', 'key_invalid');
  end if;
  -- A write a minute, and none on a read-only server. Requests with the same key do not wait for each other here.
  if (v_found.last_used_at > now() - interval '1 minute') is not true and current_setting('transaction_read_only') = 'off' then
    perform from app.api_keys
    where tenant_id = v_tenant_id and user_id = v_found.id and (last_used_at > now() - interval '1 minute') is not true
    for no key update skip locked;
    if found then
      update app.api_keys set last_used_at = now() where tenant_id = v_tenant_id and user_id = v_found.id;
    end if;
  end if;
  v_member := v_found; -- without the last column
  return v_member;
end
$$;
comment on function control.enter_key(text) is
$$Puts the transaction into the tenant of an API key, and returns the user that the key is. p_key: the tenant's id, a colon, and the
SHA-256 of the secret in hexadecimal. Raises TM401 unless the key is known, neither expired nor revoked. Checks no status.$$;
revoke all on function control.enter_key(text) from public;
grant execute on function control.enter_key(text) to tms_registrar;
reset role;
