-- For tms_registrar; runs as tms_app. A member of tms_app can redefine the functions of app that tms_app owns. If tms_registrar called
-- them directly, a redefined one could run with its rights. No member can use the schema control, so this wrapper is safe.
set local role tms_app;
create or replace function control.shown_rows(p_tenant_id uuid, p_limit int)
returns table (name regclass, rows bigint)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select * from app.shown_rows(p_tenant_id, p_limit)
$$;
comment on function control.shown_rows(uuid, int) is 'app.shown_rows(), for tms_registrar.';
revoke all on function control.shown_rows(uuid, int) from public;
grant execute on function control.shown_rows(uuid, int) to tms_registrar;
reset role;
