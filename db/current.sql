set local citus.enable_ddl_propagation = off;
--! include audit/schema.sql
--! include audit/row_tests.sql
--! include audit/passes.sql
--! include audit/checks/tables.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
