-- The five roles, and what a right's owner is called, written once in the audit.
set local citus.enable_ddl_propagation = off;
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/manifest.sql
--! include audit/functions.sql
--! include audit/checks/roles.sql
--! include audit/checks/rls.sql
--! include audit/checks/grants.sql
--! include audit/checks/functions.sql
--! include audit/checks/roles.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
