set local role tms_app;
create or replace function api.revoke_key(p_caller app.caller, p_key_id text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
  v_key_id constant uuid := app.parse_uuid(p_key_id);
  v_key app.api_keys;
  v_user app.users;
  v_now timestamptz;
begin
  perform app.refuse_key(p_caller);
  perform app.require_member_admin(v_caller.role, 'member');
  -- The key before its user: a request with the key locks them in this order.
  update app.api_keys k set revoked_at = now()
  where k.tenant_id = v_caller.tenant_id and k.id = v_key_id and k.revoked_at is null
  returning k.* into v_key;
  if v_key.id is null then
    perform app.refuse(404, 'API key not found', format('API key with ID %s not found', p_key_id), 'key_not_found');
  end if;
  perform app.end_memberships(v_caller.tenant_id, v_key.user_id, p_only_lock => true);
  -- Another member's transaction may hold either user, so both are locked by id, as in api.remove_member().
  perform from app.users u
  where u.tenant_id = v_caller.tenant_id and u.id in (v_caller.user_id, v_key.user_id)
  order by u.id for no key update;
  perform app.require_member_admin(app.require_member(v_caller.tenant_id, v_caller.user_id), 'member');
  select * into v_user from app.users u where u.tenant_id = v_caller.tenant_id and u.id = v_key.user_id;
  -- The clock may have been set back; removed_at must not precede the last change.
  v_now := greatest(now(), v_user.updated_at);
  update app.users u set removed_at = v_now, updated_at = v_now where u.tenant_id = v_caller.tenant_id and u.id = v_user.id;
  perform app.end_memberships(v_caller.tenant_id, v_key.user_id);
  perform app.record_event('key.revoked', v_caller.tenant_id, v_key.id);
  return json_build_object('message', 'API key revoked', 'key_id', v_key.id);
end
$$;
comment on function api.revoke_key(app.caller, text) is
$$Ends an API key at once, for owners and admins; the rows that it made stay. Raises TM403, TM404 `API key not found`.$$;
reset role;
