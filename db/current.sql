set local citus.enable_ddl_propagation = off;
--! include context/table_faults.sql
--! include audit/count_suspects.sql
--! include audit/checks/tables.sql
--! include audit/manifest.sql
set local citus.enable_ddl_propagation = on;
