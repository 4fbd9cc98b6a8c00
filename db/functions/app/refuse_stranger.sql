create or replace function app.refuse_stranger()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform app.refuse(403, 'Access denied', 'User does not belong to tenant', 'not_a_member');
end
$$;
comment on function app.refuse_stranger() is 'Raises the one TM403 for every tenant that the caller is not let into.';
revoke all on function app.refuse_stranger() from public;
grant execute on function app.refuse_stranger() to tms_app, tms_registrar;
