-- Write the next migration here. Around includes of functions:
-- grant create on schema app, api to tms_app, tms_registrar;
-- set local citus.enable_ddl_propagation = off;
-- set local citus.enable_ddl_propagation = on;
-- revoke create on schema app, api from tms_app, tms_registrar;
grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
--! include context/last_audit.sql
--! include context/isolation_advice.sql
grant create on schema audit to tms_auditor;
grant create, usage on schema audit to tms_app;
--! include audit/views.sql
--! include audit/run.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
revoke create on schema app, api from tms_app, tms_registrar;
