-- For tms_registrar; runs as tms_app. A member of tms_app can redefine the functions of app that tms_app owns. If tms_registrar called
-- them directly, a redefined one could run with its rights. No member can use the schema control, so this wrapper is safe.
set local role tms_app;
create or replace function control.join_default(p_tenant_id uuid, p_caller app.caller)
returns app.users
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select app.join_default(p_tenant_id, p_caller)
$$;
comment on function control.join_default(uuid, app.caller) is 'app.join_default(), for tms_registrar.';
revoke all on function control.join_default(uuid, app.caller) from public;
grant execute on function control.join_default(uuid, app.caller) to tms_registrar;
reset role;
