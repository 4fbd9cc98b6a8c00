
set local citus.enable_ddl_propagation = off;
--! include context/table_faults.sql
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/as_tms_app.sql
--! include audit/proof.sql
--! include audit/relations.sql
--! include audit/functions.sql
--! include audit/row_tests.sql
--! include audit/code.sql
--! include audit/checks/bodies.sql
--! include audit/checks/changes.sql
--! include audit/checks/functions.sql
--! include audit/checks/grants.sql
--! include audit/checks/keys.sql
--! include audit/checks/reach.sql
--! include audit/checks/rls.sql
--! include audit/checks/tables.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
