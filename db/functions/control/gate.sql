create or replace function control.gate()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  -- While the migrations of a new database run, there is no audit yet. The gate of the installer checks the result.
  if to_regprocedure('audit.require_isolation()') is not null then
    perform audit.require_isolation();
  end if;
end
$$;
comment on function control.gate() is
$$The last statement of a migration: raises 55000 if a schema check of the installed release finds an error, so that the migration rolls
back. Does nothing before the first release is installed.$$;
revoke all on function control.gate() from public;
