set local role tms_app;
create or replace function api.create_invitation(
  p_caller app.caller, p_role text, p_invited_email text, p_expires_in int, p_token_hash text,
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
  v_most constant int := 1000;
  v_invitation app.invitations;
begin
  perform app.require_member_admin(v_caller.role, p_role);
  -- Each new invitation deletes the expired ones, so no job is needed.
  delete from app.invitations i where i.tenant_id = v_caller.tenant_id and i.expires_at <= now();
  -- One after the other in a tenant, as in api.create_key().
  perform pg_advisory_xact_lock(uuid_hash_extended(v_caller.tenant_id, 2));
  if (select count(*) from app.invitations i where i.tenant_id = v_caller.tenant_id) >= v_most then
    perform app.refuse(409, 'Conflict', format('The tenant has %s open invitations; revoke one first', v_most), 'invitation_limit');
  end if;
  insert into app.invitations (tenant_id, token_hash, role, email, invited_by, expires_at)
  values (v_caller.tenant_id, decode(p_token_hash, 'hex'), p_role, p_invited_email, v_caller.user_id,
          now() + p_expires_in * interval '1 second')
  returning * into v_invitation;
  -- Last, as in app.add_member().
  perform app.require_member_admin(app.require_member(v_caller.tenant_id, v_caller.user_id), p_role);
  perform app.record_event('invitation.created', v_caller.tenant_id, v_invitation.id);
  body := app.invitation_json(v_invitation);
  tenant_id := v_caller.tenant_id;
end
$$;
comment on function api.create_invitation(app.caller, text, text, int, text) is
$$Invites a person who is not a member yet. p_token_hash: SHA-256 of the secret in hex; the token is the tenant's id, _ and the secret.
p_invited_email: only a token with this address can accept. p_expires_in: seconds. Owners invite for every role, admins for all but owner.
At most 1000 invitations of a tenant are open. Raises TM403, TM409 `Conflict`.$$;
reset role;
