create or replace function app.is_behind(p_release int)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select p_release is not null and coalesce(app.release() < p_release, true)
$$;
comment on function app.is_behind(int) is
$$Whether the installed release is older than p_release, the number of a build. A newer release is not behind: the old build keeps
working while the new one is rolled out.$$;
revoke all on function app.is_behind(int) from public;
grant execute on function app.is_behind(int) to tms_registrar;
