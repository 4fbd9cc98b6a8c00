-- tms_registrar calls this, and it runs as tms_app. A member of tms_app owns the functions of app, and could redefine one to run
-- as its caller: then tms_registrar's rights would be theirs. No member can name this wrapper, so the caller is tms_app by then.
set local role tms_app;
create or replace function control.shown_rows(p_tenant_id uuid, p_limit int)
returns table (name regclass, rows bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from app.shown_rows(p_tenant_id, p_limit);
end
$$;
comment on function control.shown_rows(uuid, int) is 'app.shown_rows(), for tms_registrar.';
revoke all on function control.shown_rows(uuid, int) from public;
grant execute on function control.shown_rows(uuid, int) to tms_registrar;
reset role;
