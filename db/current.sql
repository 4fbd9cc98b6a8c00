set local citus.enable_ddl_propagation = off;
-- What requests of releases before the third migration could still be in.
drop function if exists app.enter_tenant_before_000003(text, text, text, text, text);
drop function if exists app.enter_default_tenant(text, text, text, text);
drop function if exists app.join_tenant(uuid, text, text, text, text);
drop function if exists app.joined_at(uuid, uuid);
--! include context/isolation_faults.sql
grant create on schema app, api to tms_app, tms_registrar;
--! include context/require_own_table.sql
--! include context/enter_tenant.sql
--! include context/is_behind.sql
--! include context/shown_rows.sql
--! include api/service/get_readiness.sql
--! include api/setup/get_setup_status.sql
--! include api/setup/explain_access.sql
--! include api/tenants/register_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
-- An audit that goes on meanwhile ends with an error: nobody knows what it had still to ask.
drop function if exists audit.start_run(text, uuid, text, int);
--! include audit/schema.sql
--! include audit/relations.sql
--! include audit/require_unfiltered.sql
--! include audit/catalog.sql
--! include audit/made.sql
--! include audit/checks/rls.sql
--! include audit/checks/grants.sql
--! include audit/checks/roles.sql
--! include audit/checks/server.sql
--! include audit/checks/functions.sql
--! include audit/passes.sql
--! include audit/held_rows.sql
--! include audit/row_tests.sql
--! include audit/data_checks.sql
--! include audit/checks/tables.sql
--! include audit/proof.sql
--! include audit/run.sql
--! include audit/findings.sql
--! include audit/views.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
