--! Message: next

-- Functions belong to the role they act as; creating them takes a right that no role keeps.
grant create on schema app, api to tms_app, tms_registrar;

-- (service functions: new or changed includes go below)
-- Before Postgres 16 an owner that inherits nothing has the rights of pg_database_owner only after it says so.
set local role pg_database_owner;
revoke all on schema public from public;
reset role;
--! include control/tenant_events.sql
--! include context/set_actor.sql
--! include context/require_operator.sql
--! include api/tenants/register_tenant.sql
--! include context/leaking_tables.sql
--! include context/unprotected_tables.sql
--! include context/last_audit.sql
--! include api/service/get_readiness.sql
grant usage on schema api to tms_auditor;
--! include context/shown_rows.sql
--! include api/setup/explain_access.sql
--! include api/setup/explain_for_operator.sql


-- (audit: includes go below)
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/relations.sql
--! include audit/require_unfiltered.sql
--! include audit/row_tests.sql
--! include audit/scan.sql
--! include audit/data_checks.sql
--! include audit/checks/rls.sql
--! include audit/checks/tables.sql
--! include audit/checks/grants.sql
--! include audit/checks/functions.sql
--! include audit/checks/roles.sql
--! include audit/checks/server.sql
--! include audit/proof.sql
--! include audit/run.sql
--! include audit/views.sql
--! include audit/end.sql

revoke create on schema app, api from tms_app, tms_registrar;
