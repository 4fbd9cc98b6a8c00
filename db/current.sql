-- Write the next migration here. Around includes of functions:
-- grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
--! include audit/schema.sql
--! include audit/relations.sql
--! include audit/made.sql
--! include audit/checks/functions.sql
--! include audit/checks/changes.sql
--! include audit/checks/grants.sql
--! include audit/checks/tables.sql
--! include audit/row_tests.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
-- revoke create on schema app, api from tms_app, tms_registrar;
