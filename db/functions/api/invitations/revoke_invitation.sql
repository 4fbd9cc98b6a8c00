set local role tms_app;
create or replace function api.revoke_invitation(p_caller app.caller, p_invitation_id text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
  v_invitation app.invitations;
begin
  perform app.require_member_admin(v_caller.role, 'member');
  delete from app.invitations i
  where i.tenant_id = v_caller.tenant_id and i.id = app.parse_uuid(p_invitation_id) and i.expires_at > now()
  returning * into v_invitation;
  if v_invitation.id is null then
    perform app.refuse(404, 'Invitation not found', format('Invitation with ID %s not found', p_invitation_id), 'invitation_not_found');
  end if;
  perform app.require_member_admin(app.require_member(v_caller.tenant_id, v_caller.user_id), v_invitation.role);
  perform app.record_event('invitation.revoked', v_caller.tenant_id, v_invitation.id);
  return json_build_object('message', 'Invitation revoked', 'invitation_id', v_invitation.id);
end
$$;
comment on function api.revoke_invitation(app.caller, text) is
$$Ends an invitation; its token is refused from now on. Owners revoke every invitation, admins all but those of owners. Raises TM403,
TM404 `Invitation not found`.$$;
reset role;
