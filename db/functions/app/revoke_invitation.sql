create or replace function app.revoke_invitation(p_tenant_id uuid, p_caller_id uuid, p_caller_role text, p_invitation_id text)
returns json
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_invitation app.invitations;
begin
  perform app.require_member_admin(p_caller_role, 'member');
  delete from app.invitations i
  where i.tenant_id = p_tenant_id and i.id = app.parse_uuid(p_invitation_id) and i.expires_at > now()
  returning * into v_invitation;
  if v_invitation.id is null then
    perform app.refuse(404, 'Invitation not found', format('Invitation with ID %s not found', p_invitation_id), 'invitation_not_found');
  end if;
  perform app.require_member_admin(app.role_now(p_tenant_id, p_caller_id, p_caller_role), v_invitation.role);
  perform app.record_event('invitation.revoked', p_tenant_id, v_invitation.id);
  return json_build_object('message', 'Invitation revoked', 'invitation_id', v_invitation.id);
end
$$;
comment on function app.revoke_invitation(uuid, uuid, text, text) is
$$api.revoke_invitation() for a caller in the tenant: a member, or an operator (p_caller_role is operator, p_caller_id null).$$;
revoke all on function app.revoke_invitation(uuid, uuid, text, text) from public;
grant execute on function app.revoke_invitation(uuid, uuid, text, text) to tms_app;
