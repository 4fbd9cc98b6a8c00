-- Write the next migration here. Around includes of functions:
-- grant create on schema app, api to tms_app, tms_registrar;
-- set local citus.enable_ddl_propagation = off;
-- set local citus.enable_ddl_propagation = on;
-- revoke create on schema app, api from tms_app, tms_registrar;
grant create on schema app, api to tms_app, tms_registrar;
--! include tables/audited.sql
set local citus.enable_ddl_propagation = off;
--! include context/tenant_id.sql
--! include context/joined_at.sql
--! include context/enter_tenant.sql
--! include context/count_tenants.sql
--! include api/tenants/list_my_tenants.sql
--! include api/boards/list_boards.sql
--! include api/tenants/get_current_tenant.sql
grant create on schema audit to tms_auditor;
grant create, usage on schema audit to tms_app;
--! include audit/row_tests.sql
--! include audit/data_checks.sql
--! include audit/proved.sql
--! include audit/ask.sql
--! include audit/scan.sql
--! include audit/require_unfiltered.sql
--! include audit/proof.sql
--! include audit/checks/grants.sql
--! include audit/checks/rls.sql
--! include audit/run.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
revoke create on schema app, api from tms_app, tms_registrar;
