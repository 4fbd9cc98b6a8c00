-- tms_registrar calls this, and it runs as tms_app. A member of tms_app owns the functions of app, and could redefine one to run
-- as its caller: then tms_registrar's rights would be theirs. No member can name this wrapper, so the caller is tms_app by then.
set local role tms_app;
create or replace function control.empty_tenant(p_tenant_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform 1 from app.empty_tenant(p_tenant_id);
end
$$;
comment on function control.empty_tenant(uuid) is 'app.empty_tenant(), for tms_registrar.';
revoke all on function control.empty_tenant(uuid) from public;
grant execute on function control.empty_tenant(uuid) to tms_registrar;
reset role;
