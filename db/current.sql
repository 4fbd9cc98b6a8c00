set local citus.enable_ddl_propagation = off;
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/relations.sql
--! include audit/passes.sql
--! include audit/checks/keys.sql
--! include audit/checks/tables.sql
--! include audit/checks/grants.sql
--! include audit/checks/reach.sql
--! include audit/checks/functions.sql
--! include audit/checks/changes.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
