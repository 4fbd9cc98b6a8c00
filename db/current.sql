-- Those with p_if_match take their place, also for builds from before the eighth migration, which do not name it.
set local citus.enable_ddl_propagation = off;
set local role tms_registrar;
drop function if exists
  api.delete_tenant(text, text, text, text, text, text, text),
  api.approve_tenant(text, text, text, text, text, text, text),
  api.reject_tenant(text, text, text, text, text, text, text),
  api.suspend_tenant(text, text, text, text, text, text, text),
  api.resume_tenant(text, text, text, text, text, text, text),
  app.move_tenant(text, text, text);
reset role;
grant create on schema app, api to tms_app, tms_registrar;
--! include columns.sql
--! include control/tenant_counts.sql
--! include context/find_tenant.sql
--! include context/lock_tenant.sql
--! include context/move_tenant.sql
--! include api/members/remove_member.sql
--! include api/service/ensure_default_tenant.sql
--! include api/setup/delete_tenant.sql
--! include api/setup/approve_tenant.sql
--! include api/setup/reject_tenant.sql
--! include api/setup/suspend_tenant.sql
--! include api/setup/resume_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/relations.sql
--! include audit/catalog.sql
--! include audit/proved.sql
--! include audit/manifest.sql
-- With more columns. An audit that goes on meanwhile ends with an error.
drop function if exists audit.functions();
--! include audit/functions.sql
--! include audit/checks/functions.sql
--! include audit/checks/changes.sql
--! include audit/checks/grants.sql
--! include audit/checks/roles.sql
--! include audit/checks/rls.sql
--! include audit/checks/server.sql
--! include audit/count_suspects.sql
--! include audit/run.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
