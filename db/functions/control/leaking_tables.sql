-- For tms_registrar; runs as tms_app. A member of tms_app can redefine the functions of app that tms_app owns. If tms_registrar called
-- them directly, a redefined one could run with its rights. No member can use the schema control, so this wrapper is safe.
set local role tms_app;
create or replace function control.leaking_tables()
returns setof regclass
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select * from app.leaking_tables()
$$;
comment on function control.leaking_tables() is 'app.leaking_tables(), for tms_registrar.';
revoke all on function control.leaking_tables() from public;
grant execute on function control.leaking_tables() to tms_registrar;
reset role;
