set local citus.enable_ddl_propagation = off;
--! include context/adopt.sql
--! include audit/schema.sql
--! include audit/as_tms_app.sql
--! include audit/proof.sql
--! include audit/checks/keys.sql
--! include audit/media_of_each.sql
--! include audit/row_tests.sql
--! include audit/scan.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
