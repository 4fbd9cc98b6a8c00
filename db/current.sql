set local citus.enable_ddl_propagation = off;
--! include audit/schema.sql
--! include audit/count_suspects.sql
--! include audit/scan.sql
--! include audit/checks/functions.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
