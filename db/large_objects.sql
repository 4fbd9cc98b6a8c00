-- Large objects belong to no tenant and know no policy, and every login may make them. Run by a superuser in the service's
-- own database; the embedded Postgres and databases that `npm run migrate` makes, or finds empty, have had it:
--   psql -v ON_ERROR_STOP=1 -f db/large_objects.sql -d <database>
do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select oid from pg_catalog.pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and proname ~ '^(lo_|loread$|lowrite$)'
  loop
    execute pg_catalog.format('revoke execute on function %s from public', v_function);
  end loop;
end
$$;
