-- Whoever is in a tenant and whoever deletes it no longer meet in deadlocks.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/refuse.sql
--! include context/set_tenant.sql
--! include context/enter_tenant.sql
--! include context/fence_tenant.sql
--! include context/lock_tenant.sql
--! include context/require_match.sql
--! include context/find_tenant_to_change.sql
--! include api/setup/delete_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
