create or replace function app.invitation_json(p_invitation app.invitations)
returns json
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select json_build_object(
    'invitation_id', p_invitation.id, 'role', p_invitation.role, 'email', p_invitation.email, 'invited_by', p_invitation.invited_by,
    'created_at', app.iso_time(p_invitation.created_at), 'expires_at', app.iso_time(p_invitation.expires_at))
$$;
comment on function app.invitation_json(app.invitations) is 'An invitation as every response shows it, without its token.';
revoke all on function app.invitation_json(app.invitations) from public;
grant execute on function app.invitation_json(app.invitations) to tms_app;
