set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/unprotected_tables.sql
--! include context/isolation_breaches.sql
--! include context/table_faults.sql
--! include context/write_policies.sql
--! include context/isolate.sql
--! include context/create_sample_data.sql
--! include context/shown_rows.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/functions.sql
--! include audit/row_tests.sql
--! include audit/scan.sql
--! include audit/passes.sql
--! include audit/checks/bodies.sql
--! include audit/checks/grants.sql
--! include audit/checks/tables.sql
--! include audit/catalog.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
