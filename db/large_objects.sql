-- Large objects belong to no tenant and have no policies, and every login may create them. This revokes their functions from public.
-- A superuser runs it in the service's own database. Needless on the embedded Postgres, and where `npm run migrate` has created the
-- database, or found it empty, with a superuser's ROOT_DATABASE_URL:
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
