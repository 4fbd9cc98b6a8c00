-- tms_registrar calls this, and it runs as tms_app. A member of tms_app owns the functions of app, and could redefine one to run
-- as its caller: then tms_registrar's rights would be theirs. No member can name this wrapper, so the caller is tms_app by then.
set local role tms_app;
create or replace function control.create_sample_data(p_tenant_id uuid, p_user_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform 1 from app.create_sample_data(p_tenant_id, p_user_id);
end
$$;
comment on function control.create_sample_data(uuid, uuid) is 'app.create_sample_data(), for tms_registrar.';
revoke all on function control.create_sample_data(uuid, uuid) from public;
grant execute on function control.create_sample_data(uuid, uuid) to tms_registrar;
reset role;
