set local role tms_registrar;
create or replace function api.get_release()
returns int
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select app.release()
$$;
comment on function api.get_release() is 'The number of the installed release; null before the first one.';
reset role;
