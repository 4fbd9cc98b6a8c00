set local role tms_app;
create or replace function api.accept_invitation(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_invited_tenant text, p_token_hash text, p_verified_email text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_hash constant bytea := decode(p_token_hash, 'hex');
  -- A token without an id takes the same path, with an id made from its hash.
  v_tenant_id constant uuid := coalesce(app.parse_uuid(p_invited_tenant), encode(substr(v_hash, 1, 16), 'hex')::uuid);
  v_tenant app.tenants;
  v_invitation app.invitations;
  v_inviter_role text;
  v_user app.users;
begin
  -- Not app.set_tenant() yet: it would tell which tenant is being deleted.
  perform app.enter_invited(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, v_tenant_id, v_hash);
  select * into v_tenant from app.tenants t
  where t.id = v_tenant_id and t.status = 'active' and (p_tenant_slug is not null or t.is_default);
  -- Each look-up happens in every case and reads one row, so that the time tells no more than the answer. The first hash from here on:
  -- for an equal one the planner may take any index that begins with the tenant, and read all of its invitations.
  select * into v_invitation
  from app.invitations i
  where i.tenant_id = v_tenant_id and i.token_hash >= v_hash
  order by i.token_hash
  limit 1;
  select u.role into v_inviter_role
  from app.users u
  where u.tenant_id = v_tenant_id and u.id = coalesce(v_invitation.invited_by, v_tenant_id) and u.removed_at is null;
  if (v_tenant.id = v_tenant_id and v_invitation.token_hash = v_hash and v_invitation.expires_at > now()
      and coalesce(v_invitation.email = p_verified_email, v_invitation.email is null)
      and app.manages(v_inviter_role, v_invitation.role) and p_auth_provider <> 'key') is not true then
    perform app.refuse_invitation();
  end if;
  perform app.set_tenant(v_tenant_id);
  -- A deletion may have ended since the look at the tenant.
  if not exists (select from app.tenants t where t.id = v_tenant_id and t.status = 'active') then
    perform app.refuse_invitation();
  end if;
  perform app.set_actor(p_auth_provider, p_auth_subject);
  -- Of parallel calls one deletes the row; the others wait for it, and find nothing.
  delete from app.invitations i where i.tenant_id = v_tenant_id and i.id = v_invitation.id;
  if not found then
    perform app.refuse_invitation();
  end if;
  v_user := app.put_member(v_tenant_id, null, p_auth_provider, p_auth_subject, p_email, p_display_name, v_invitation.role,
    p_removed_before => v_invitation.created_at);
  if v_user.id is null then
    if not exists (
      select from app.users u
      where u.tenant_id = v_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
        and u.removed_at is null)
    then
      perform app.refuse_invitation();
    end if;
    perform app.refuse(409, 'Conflict', 'This identity is already a member of the tenant', 'users_tenant_identity_key');
  end if;
  perform app.record_event('invitation.accepted', v_tenant_id, v_invitation.id);
  perform app.record_event('member.joined', v_tenant_id, v_user.id);
  return json_build_object('tenant', app.tenant_json(v_tenant), 'membership', app.member_json(v_user));
end
$$;
comment on function api.accept_invitation(text, text, text, text, text, text, text, text, text) is
$$Makes the caller a member of the tenant of an invitation, with its role: {tenant, membership}. The invitation is used up.
p_invited_tenant and p_token_hash: the tenant's id in the token, and SHA-256 of its secret in hex. p_verified_email: the address of the
caller's token, unless the token says that it is not verified. In single-tenant mode only the default tenant can be joined.
Raises the same TM403 whenever the invitation cannot be used, TM409 if the caller is a member: the invitation then stays open.$$;
revoke all on function api.accept_invitation(text, text, text, text, text, text, text, text, text) from public;
grant execute on function api.accept_invitation(text, text, text, text, text, text, text, text, text) to tms_service;
reset role;
