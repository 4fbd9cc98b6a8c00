grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
--! include context/tenant_columns.sql
--! include context/adopt.sql
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/functions.sql
--! include audit/code.sql
--! include audit/checks/bodies.sql
--! include audit/checks/grants.sql
--! include audit/table_remedies.sql
--! include audit/checks/keys.sql
--! include audit/checks/reach.sql
--! include audit/checks/rls.sql
--! include audit/checks/roles.sql
--! include audit/checks/tables.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
revoke create on schema app, api from tms_app, tms_registrar;
