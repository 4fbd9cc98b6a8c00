set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include api/service/get_login_faults.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/functions.sql
--! include audit/require_unfiltered.sql
--! include audit/run.sql
--! include audit/passes.sql
--! include audit/as_tms_app.sql
--! include audit/proof.sql
--! include audit/checks/changes.sql
--! include audit/checks/functions.sql
--! include audit/checks/keys.sql
--! include audit/checks/reach.sql
--! include audit/checks/rls.sql
--! include audit/checks/roles.sql
--! include audit/checks/server.sql
--! include audit/checks/tables.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
