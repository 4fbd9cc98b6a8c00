set local citus.enable_ddl_propagation = off;
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
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
