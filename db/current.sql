set local citus.enable_ddl_propagation = off;
-- What compares triggers takes their functions in everywhere from now on: what was accepted and is as it was stays accepted.
do $$ begin
  perform set_config('app.accepted_triggers', (
    select coalesce(json_agg(name), '[]')::text from audit.accepted a join audit.installed() i using (kind, name, body) where kind = 'trigger'), true);
end $$;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/tenant_tables.sql
--! include context/shown_rows.sql
--! include context/leaking_tables.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/relations.sql
--! include audit/functions.sql
--! include audit/row_tests.sql
--! include audit/data_checks.sql
--! include audit/scan.sql
--! include audit/run.sql
--! include audit/checks/bodies.sql
--! include audit/checks/changes.sql
--! include audit/checks/functions.sql
--! include audit/checks/grants.sql
--! include audit/checks/keys.sql
--! include audit/checks/roles.sql
--! include audit/manifest.sql
--! include audit/end.sql
update audit.accepted a set body = i.body from audit.installed() i
where i.kind = a.kind and i.name = a.name and a.kind = 'trigger' and a.name in (
  select json_array_elements_text(current_setting('app.accepted_triggers')::json));
set local citus.enable_ddl_propagation = on;
