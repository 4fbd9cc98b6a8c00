create or replace function app.change_member(
  p_tenant_id uuid, p_caller_id uuid, p_caller_role text, p_user_id text, p_role text
)
returns json
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_locked record := app.lock_member(p_tenant_id, p_caller_id, p_caller_role, p_user_id);
  v_user app.users := v_locked.member;
begin
  perform app.require_member_admin(v_locked.caller_role, v_user.role);
  perform app.require_member_admin(v_locked.caller_role, p_role);
  if v_user.role <> p_role then
    if v_locked.is_last_owner then
      perform app.refuse(409, 'Conflict', 'The last owner of a tenant cannot be given another role', 'last_owner_role');
    end if;
    update app.users set role = p_role, updated_at = greatest(now(), updated_at)
    where tenant_id = p_tenant_id and id = v_user.id
    returning * into v_user;
    perform app.record_event('member.role_changed', p_tenant_id, v_user.id, array['role'],
      p_role => v_user.role, p_role_before => (v_locked.member).role);
  end if;
  return app.member_json(v_user);
end
$$;
comment on function app.change_member(uuid, uuid, text, text, text) is
  'api.change_member() for a caller in the tenant: a member, or an operator (p_caller_role is operator, p_caller_id null).';
revoke all on function app.change_member(uuid, uuid, text, text, text) from public;
grant execute on function app.change_member(uuid, uuid, text, text, text) to tms_app;
