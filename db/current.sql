--! Message: next

-- Functions belong to the role they act as; creating them takes a right that no role keeps.
grant create on schema app, api to tms_app, tms_registrar;

-- (service functions: new or changed includes go below)
--! include context/is_distributed.sql
--! include context/write_policies.sql
--! include context/isolate.sql
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
--! include context/isolation_advice.sql
--! include context/count_tenants.sql
--! include context/join_tenant.sql
--! include context/enter_default_tenant.sql
--! include context/enter_tenant.sql
--! include context/create_sample_data.sql
--! include context/move_tenant.sql
--! include context/remove_tenant.sql
--! include api/boards/list_boards.sql
--! include api/members/list_members.sql
--! include api/tenants/get_current_tenant.sql
--! include api/setup/create_tenant.sql
--! include api/setup/update_tenant.sql
--! include context/last_audit.sql
--! include api/service/get_readiness.sql
grant usage on schema api to tms_auditor;
--! include context/shown_rows.sql
--! include api/setup/explain_access.sql
--! include api/setup/explain_for_operator.sql


-- (audit: includes go below)
drop index if exists app.credit_transactions_ledger;
create index credit_transactions_ledger on app.credit_transactions (tenant_id, user_id, created_at, id) include (amount, balance_after);
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
