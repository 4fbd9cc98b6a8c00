-- A slug is changed while others write to the tenant; a tenant that does not exist is looked for between those that do.
--! include tables/slug.sql
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/lock_tenant.sql
--! include context/insert_tenant.sql
--! include api/service/ensure_default_tenant.sql
--! include api/setup/create_tenant.sql
--! include api/setup/explain_access.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/data_checks.sql
--! include audit/checks/keys.sql
--! include audit/checks/roles.sql
--! include audit/scan.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
