create or replace function app.create_invitation(
  p_tenant_id uuid, p_caller_id uuid, p_caller_role text, p_role text, p_invited_email text, p_expires_in int, p_token_hash text
)
returns json
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_most constant int := 1000;
  v_invitation app.invitations;
begin
  perform app.require_member_admin(p_caller_role, p_role);
  -- Each new invitation deletes the expired ones, so no job is needed.
  delete from app.invitations i where i.tenant_id = p_tenant_id and i.expires_at <= now();
  -- One after the other in a tenant, as in api.create_key.
  perform pg_advisory_xact_lock(uuid_hash_extended(p_tenant_id, 2));
  if (select count(*) from app.invitations i where i.tenant_id = p_tenant_id) >= v_most then
    perform app.refuse(409, 'Conflict', format('The tenant has %s open invitations; revoke one first', v_most), 'invitation_limit');
  end if;
  insert into app.invitations (tenant_id, token_hash, role, email, invited_by, expires_at)
  values (p_tenant_id, decode(p_token_hash, 'hex'), p_role, p_invited_email, p_caller_id, now() + p_expires_in * interval '1 second')
  returning * into v_invitation;
  -- Last, as in app.add_member().
  perform app.require_member_admin(app.role_now(p_tenant_id, p_caller_id, p_caller_role), p_role);
  perform app.record_event('invitation.created', p_tenant_id, v_invitation.id, p_role => p_role);
  return app.invitation_json(v_invitation);
end
$$;
comment on function app.create_invitation(uuid, uuid, text, text, text, int, text) is
$$api.create_invitation() for a caller in the tenant: a member, or an operator (p_caller_role is operator, p_caller_id null).$$;
revoke all on function app.create_invitation(uuid, uuid, text, text, text, int, text) from public;
grant execute on function app.create_invitation(uuid, uuid, text, text, text, int, text) to tms_app;
