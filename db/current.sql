--! include tables/audited.sql
set local citus.enable_ddl_propagation = off;
--! include audit/schema.sql
--! include audit/findings.sql
--! include audit/passes.sql
--! include audit/views.sql
--! include audit/row_tests.sql
--! include audit/data_checks.sql
--! include audit/count_suspects.sql
--! include audit/scan.sql
--! include audit/run.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
