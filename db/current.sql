-- What real use showed since the migration before.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/cursor.sql
--! include api/members/remove_member.sql
--! include api/setup/suspend_tenant.sql
--! include api/setup/explain_access.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/functions.sql
--! include audit/manifest.sql
--! include audit/catalog.sql
--! include audit/passes.sql
--! include audit/run.sql
--! include audit/checks/functions.sql
--! include audit/checks/grants.sql
--! include audit/checks/keys.sql
--! include audit/checks/tables.sql
--! include audit/checks/changes.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
