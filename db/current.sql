set local citus.enable_ddl_propagation = off;
--! include audit/catalog.sql
--! include audit/functions.sql
--! include audit/checks/grants.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
