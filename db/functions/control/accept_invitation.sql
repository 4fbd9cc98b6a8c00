-- For tms_registrar, inside the tenant of the invitation; runs as tms_app, which alone reads invitations, under row-level security.
set local role tms_app;
create or replace function control.accept_invitation(
  p_caller app.caller,
  p_tenant_id uuid, p_token_hash bytea, p_verified_email text, p_default_only boolean
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants;
  v_invitation app.invitations;
  v_inviter_role text;
  v_user app.users;
begin
  select * into v_tenant from app.tenants t
  where t.id = p_tenant_id and t.status = 'active' and (not p_default_only or t.is_default);
  -- Each look-up happens in every case and reads one row, so that the time tells no more than the answer. The first hash from here on:
  -- for an equal one the planner may take any index that begins with the tenant, and read all of its invitations.
  select * into v_invitation
  from app.invitations i
  where i.tenant_id = p_tenant_id and i.token_hash >= p_token_hash
  order by i.token_hash
  limit 1;
  select u.role into v_inviter_role
  from app.users u
  where u.tenant_id = p_tenant_id and u.id = coalesce(v_invitation.invited_by, p_tenant_id) and u.removed_at is null;
  if (v_tenant.id = p_tenant_id and v_invitation.token_hash = p_token_hash and v_invitation.expires_at > now()
      and coalesce(v_invitation.email = p_verified_email, v_invitation.email is null)
      and app.manages(case when v_invitation.invited_by is null then 'operator' else v_inviter_role end, v_invitation.role) and p_caller.provider <> 'key') is not true then
    perform app.refuse_invitation();
  end if;
  perform app.set_tenant(p_tenant_id);
  -- A deletion may have ended since the look at the tenant.
  if not exists (select from app.tenants t where t.id = p_tenant_id and t.status = 'active') then
    perform app.refuse_invitation();
  end if;
  perform app.set_actor(p_caller);
  -- Of parallel calls one deletes the row; the others wait for it, and find nothing.
  delete from app.invitations i where i.tenant_id = p_tenant_id and i.id = v_invitation.id;
  if not found then
    perform app.refuse_invitation();
  end if;
  v_user := app.put_member(p_tenant_id, null::uuid, p_caller.provider, p_caller.subject, p_caller.email, p_caller.name, v_invitation.role,
    p_removed_before => v_invitation.created_at);
  if v_user.id is null then
    if not exists (
      select from app.users u
      where u.tenant_id = p_tenant_id and u.auth_provider = p_caller.provider and u.auth_subject = p_caller.subject
        and u.removed_at is null)
    then
      perform app.refuse_invitation();
    end if;
    perform app.refuse(409, 'Conflict', 'This identity is already a member of the tenant', 'users_tenant_identity_key');
  end if;
  perform app.record_event('invitation.accepted', p_tenant_id, v_invitation.id);
  perform app.record_event('member.joined', p_tenant_id, v_user.id, p_role => v_user.role);
  return (app.own_answer(v_tenant, v_user)).body;
end
$$;
comment on function control.accept_invitation(app.caller, uuid, bytea, text, boolean) is
$$api.accept_invitation(), in a transaction that is in the tenant of the invitation. p_default_only: in single-tenant mode. Raises TM403 and
TM409.$$;
revoke all on function control.accept_invitation(app.caller, uuid, bytea, text, boolean) from public;
grant execute on function control.accept_invitation(app.caller, uuid, bytea, text, boolean) to tms_registrar;
reset role;
