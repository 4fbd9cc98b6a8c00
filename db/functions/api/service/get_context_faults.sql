set local role tms_registrar;
create or replace function api.get_context_faults(p_proof text)
returns setof text
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select * from app.context_faults(p_proof)
$$;
comment on function api.get_context_faults(text) is 'app.context_faults(), for the service before it starts.';
reset role;
