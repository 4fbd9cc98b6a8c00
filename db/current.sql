set local citus.enable_ddl_propagation = off;
--! include context/isolate.sql
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/relations.sql
--! include audit/functions.sql
--! include audit/findings.sql
--! include audit/passes.sql
--! include audit/views.sql
--! include audit/code.sql
--! include audit/checks/bodies.sql
--! include audit/checks/changes.sql
--! include audit/checks/functions.sql
--! include audit/checks/keys.sql
--! include audit/checks/rls.sql
--! include audit/checks/server.sql
--! include audit/checks/tables.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
