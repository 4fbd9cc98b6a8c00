create or replace function app.refuse_invitation()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.refuse(403, 'Access denied', 'The invitation cannot be used', 'invitation_refused');
end
$$;
comment on function app.refuse_invitation() is
  'Raises the one TM403 for every invitation that cannot be used, so that nobody can probe which ones exist.';
revoke all on function app.refuse_invitation() from public;
grant execute on function app.refuse_invitation() to tms_app;
