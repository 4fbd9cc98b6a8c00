create or replace function app.remove_member(p_tenant_id uuid, p_caller_id uuid, p_caller_role text, p_user_id text)
returns json
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_locked record;
  v_user app.users;
  v_now timestamptz;
begin
  perform app.end_memberships(p_tenant_id, app.parse_uuid(p_user_id), p_only_lock => true);
  v_locked := app.lock_member(p_tenant_id, p_caller_id, p_caller_role, p_user_id);
  v_user := v_locked.member;
  if v_user.id is distinct from p_caller_id then
    perform app.require_member_admin(v_locked.caller_role, v_user.role);
  end if;
  if v_locked.is_last_owner then
    perform app.refuse(409, 'Conflict', 'The last owner of a tenant cannot be removed', 'last_owner');
  end if;
  -- The clock may have been set back; removed_at must not precede the last change.
  v_now := greatest(now(), v_user.updated_at);
  update app.users set removed_at = v_now, updated_at = v_now where tenant_id = p_tenant_id and id = v_user.id;
  perform app.end_memberships(p_tenant_id, v_user.id);
  perform app.record_event(case when v_user.id = p_caller_id then 'member.left' else 'member.removed' end, p_tenant_id, v_user.id,
    p_role_before => v_user.role);
  return json_build_object('message', 'Member removed', 'user_id', v_user.id);
end
$$;
comment on function app.remove_member(uuid, uuid, text, text) is
  'api.remove_member() for a caller in the tenant: a member, or an operator (p_caller_role is operator, p_caller_id null).';
revoke all on function app.remove_member(uuid, uuid, text, text) from public;
grant execute on function app.remove_member(uuid, uuid, text, text) to tms_app;
