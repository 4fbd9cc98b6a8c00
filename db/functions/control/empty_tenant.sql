-- For tms_registrar; runs as tms_app. A member of tms_app can redefine the functions of app that tms_app owns. If tms_registrar called
-- them directly, a redefined one could run with its rights. No member can use the schema control, so this wrapper is safe.
set local role tms_app;
create or replace function control.empty_tenant(p_tenant_id uuid)
returns void
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select app.empty_tenant(p_tenant_id)
$$;
comment on function control.empty_tenant(uuid) is 'app.empty_tenant(), for tms_registrar.';
revoke all on function control.empty_tenant(uuid) from public;
grant execute on function control.empty_tenant(uuid) to tms_registrar;
reset role;
