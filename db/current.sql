set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/adopt.sql
--! include context/isolate.sql
--! include context/table_faults.sql
--! include api/members/add_member.sql
--! include api/service/take_rate_limit.sql
--! include api/setup/list_tenants.sql
--! include api/tenants/register_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/proved.sql
--! include audit/require_unfiltered.sql
--! include audit/data_checks.sql
--! include audit/functions.sql
--! include audit/findings.sql
--! include audit/passes.sql
--! include audit/run.sql
--! include audit/views.sql
--! include audit/proof.sql
--! include audit/checks/functions.sql
--! include audit/checks/keys.sql
--! include audit/checks/rls.sql
--! include audit/checks/tables.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
