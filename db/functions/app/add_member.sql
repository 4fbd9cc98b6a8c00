create or replace function app.add_member(
  p_tenant_id uuid, p_caller_id uuid, p_caller_role text,
  p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_role text
)
returns json
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_user app.users;
begin
  perform app.require_member_admin(p_caller_role, p_role);
  v_user := app.put_member(p_tenant_id, p_caller_id, p_auth_provider, p_auth_subject, p_email, p_display_name, p_role);
  -- Checks again that the caller is still a member. This comes last because a deletion locks the tenant before its users, and
  -- the INSERT above has locked the tenant.
  perform app.require_member_admin(app.role_now(p_tenant_id, p_caller_id, p_caller_role), p_role);
  if v_user.id is null then
    perform app.refuse(409, 'Conflict', 'This identity is already a member of the tenant', 'users_tenant_identity_key');
  end if;
  perform app.record_event('member.added', p_tenant_id, v_user.id, p_role => v_user.role);
  return app.member_json(v_user);
end
$$;
comment on function app.add_member(uuid, uuid, text, text, text, text, text, text) is
$$api.add_member() for a caller in the tenant: a member, or an operator (p_caller_role is operator, p_caller_id null).$$;
revoke all on function app.add_member(uuid, uuid, text, text, text, text, text, text) from public;
grant execute on function app.add_member(uuid, uuid, text, text, text, text, text, text) to tms_app;
