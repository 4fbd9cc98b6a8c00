-- tms_registrar calls this, and it runs as tms_app. A member of tms_app owns the functions of app, and could redefine one to run
-- as its caller: then tms_registrar's rights would be theirs. No member can name this wrapper, so the caller is tms_app by then.
set local role tms_app;
create or replace function control.join_default(
  p_tenant_id uuid, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text
)
returns app.users
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return app.join_default(p_tenant_id, p_auth_provider, p_auth_subject, p_email, p_display_name);
end
$$;
comment on function control.join_default(uuid, text, text, text, text) is 'app.join_default(), for tms_registrar.';
revoke all on function control.join_default(uuid, text, text, text, text) from public;
grant execute on function control.join_default(uuid, text, text, text, text) to tms_registrar;
reset role;
