grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
--! include context/is_distributed.sql
--! include context/count_tenants.sql
--! include context/unprotected_tables.sql
--! include context/table_faults.sql
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/as_tms_app.sql
--! include audit/passes.sql
--! include audit/row_tests.sql
--! include audit/count_suspects.sql
--! include audit/run.sql
--! include audit/code.sql
--! include audit/checks/bodies.sql
--! include audit/checks/grants.sql
--! include audit/checks/keys.sql
--! include audit/checks/tables.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
revoke create on schema app, api from tms_app, tms_registrar;
