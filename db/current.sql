--! Message: next

-- Functions belong to the role they act as; creating them takes a right that no role keeps.
grant create on schema app, api to tms_app, tms_registrar;
--! include api/setup/update_tenant.sql

-- (audit)
--! include audit/schema.sql
--! include audit/row_tests.sql
--! include audit/scan.sql
--! include audit/data_checks.sql
--! include audit/run.sql
--! include audit/end.sql

revoke create on schema app, api from tms_app, tms_registrar;
