-- Write the next migration here. Around includes of functions:
-- grant create on schema app, api to tms_app, tms_registrar;
-- revoke create on schema app, api from tms_app, tms_registrar;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/tenant_id.sql
--! include context/joined_at.sql
--! include context/count_tenants.sql
--! include api/tenants/list_my_tenants.sql
grant create, usage on schema audit to tms_app;
--! include audit/proof.sql
revoke create, usage on schema audit from tms_app;
--! include audit/checks/grants.sql
--! include audit/checks/rls.sql
revoke create on schema app, api from tms_app, tms_registrar;
