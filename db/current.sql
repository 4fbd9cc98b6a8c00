-- Write the next migration here. Around includes of functions:
-- grant create on schema app, api to tms_app, tms_registrar;
-- set local citus.enable_ddl_propagation = off;
-- set local citus.enable_ddl_propagation = on;
-- revoke create on schema app, api from tms_app, tms_registrar;
grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
--! include context/join_tenant.sql
--! include context/enter_default_tenant.sql
--! include context/enter_tenant.sql
--! include api/tenants/get_current_tenant.sql
--! include api/tenants/list_my_tenants.sql
drop function if exists app.joined_at(uuid, uuid);
grant create on schema audit to tms_auditor;
grant create, usage on schema audit to tms_app;
--! include audit/row_tests.sql
--! include audit/data_checks.sql
--! include audit/scan.sql
--! include audit/proof.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
revoke create on schema app, api from tms_app, tms_registrar;
