-- Run after migrations, by .gmrc and (through src/migrate.ts) by npm run migrate: fails when a schema check of the audit
-- finds an error. The schema of the first migration may be older than the audit.
do $$
begin
  if to_regprocedure('audit.require_isolation()') is not null then
    perform audit.require_isolation();
  end if;
end
$$;
