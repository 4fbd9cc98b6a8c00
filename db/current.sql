-- What settings of a server, a database or a login must not change, and deletions that wait where the writers are.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/unprotected_tables.sql
--! include context/refuse_slug.sql
--! include context/require_status.sql
--! include context/await_writers.sql
--! include context/lock_tenant.sql
--! include context/insert_tenant.sql
--! include context/move_tenant.sql
--! include api/service/get_login_faults.sql
--! include api/service/ensure_default_tenant.sql
--! include api/setup/create_tenant.sql
--! include api/setup/list_tenants.sql
--! include api/setup/update_tenant.sql
--! include api/setup/delete_tenant.sql
--! include api/setup/reject_tenant.sql
--! include api/setup/suspend_tenant.sql
--! include api/setup/get_setup_status.sql
--! include api/setup/explain_access.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/manifest.sql
--! include audit/findings.sql
--! include audit/checks/roles.sql
--! include audit/checks/server.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
