-- tms_registrar calls this, and it runs as tms_app. A member of tms_app owns the functions of app, and could redefine one to run
-- as its caller: then tms_registrar's rights would be theirs. No member can name this wrapper, so the caller is tms_app by then.
set local role tms_app;
create or replace function control.leaking_tables()
returns setof regclass
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from app.leaking_tables();
end
$$;
comment on function control.leaking_tables() is 'app.leaking_tables(), for tms_registrar.';
revoke all on function control.leaking_tables() from public;
grant execute on function control.leaking_tables() to tms_registrar;
reset role;
