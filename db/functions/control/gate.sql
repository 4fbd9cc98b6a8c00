create or replace function control.gate()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A new database has no audit yet while its migrations run. The installer's own gate then looks at all of them together.
  if to_regprocedure('audit.require_isolation()') is not null then
    perform audit.require_isolation();
  end if;
end
$$;
comment on function control.gate() is
$$The last statement of a migration: raises 55000 when a schema check of the installed release finds an error, so that the
migration rolls back. Does nothing before the first release is installed.$$;
revoke all on function control.gate() from public;
