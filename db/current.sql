-- What somebody found who attacked the isolation, who ran it for years, and who took it over.
set local citus.enable_ddl_propagation = off;
--! include audit/schema.sql
set local role tms_auditor;
drop function if exists audit.examine(text, uuid, int), audit.find_tenant(text), audit.held_rows(regclass, uuid, int);
reset role;
--! include audit/held_rows.sql
--! include control/step_down.sql
grant create on schema app, api to tms_app, tms_registrar;
--! include context/isolate.sql
--! include context/enter_default.sql
--! include context/isolation_breaches.sql
--! include context/remove_tenant.sql
--! include context/require_member.sql
--! include api/members/add_member.sql
--! include api/members/remove_member.sql
--! include api/service/get_readiness.sql
--! include api/setup/create_tenant.sql
--! include api/setup/explain_access.sql
--! include api/tenants/register_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/catalog.sql
--! include audit/manifest.sql
--! include audit/functions.sql
--! include audit/count_suspects.sql
--! include audit/passes.sql
--! include audit/run.sql
--! include audit/checks/roles.sql
--! include audit/checks/rls.sql
--! include audit/checks/grants.sql
--! include audit/checks/functions.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
