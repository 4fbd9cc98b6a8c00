create or replace function app.put_member(
  p_tenant_id uuid, p_caller_id uuid,
  p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_role text,
  p_removed_before timestamptz default 'infinity'
)
returns app.users
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_user app.users;
begin
  if p_auth_provider = 'key' then
    perform app.refuse(422, 'Validation failed', 'auth_provider must be the issuer of a person''s tokens', 'key_as_member',
      '{"errors": [{"field": "auth_provider", "message": "must be the issuer of a person''s tokens"}]}');
  end if;
  insert into app.users (tenant_id, auth_provider, auth_subject, email, display_name, role)
  values (p_tenant_id, p_auth_provider, p_auth_subject, p_email, p_display_name, p_role)
  on conflict on constraint users_tenant_identity_key do nothing
  returning * into v_user;
  if v_user.id is null then
    -- Locks users by id, as app.lock_member() does. Otherwise two calls on the same two users could deadlock.
    perform from app.users
    where tenant_id = p_tenant_id
      and (id = p_caller_id or (auth_provider = p_auth_provider and auth_subject = p_auth_subject))
    order by id for no key update;
    update app.users u
    set email = coalesce(p_email, u.email), display_name = coalesce(p_display_name, u.display_name),
        role = p_role, removed_at = null, updated_at = greatest(now(), u.updated_at)
    -- A caller who is being removed cannot make themselves a member again.
    where u.tenant_id = p_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
      and u.removed_at < p_removed_before and u.id is distinct from p_caller_id
    returning * into v_user;
  end if;
  return v_user;
end
$$;
comment on function app.put_member(uuid, uuid, text, text, text, text, text, timestamptz) is
$$Makes an identity a member of the tenant; one removed before p_removed_before becomes a member again. Null for everybody else.
p_caller_id: the member who adds; null for operators and for people who join. Raises TM422 for an API key.$$;
revoke all on function app.put_member(uuid, uuid, text, text, text, text, text, timestamptz) from public;
grant execute on function app.put_member(uuid, uuid, text, text, text, text, text, timestamptz) to tms_app;
