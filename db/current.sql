--! include tables/columns.sql
-- What builds before the eighth migration call: those of If-Match took their place.
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
--! include audit/schema.sql
--! include audit/relations.sql
--! include audit/proved.sql
--! include audit/manifest.sql
--! include audit/functions.sql
--! include audit/checks/functions.sql
--! include audit/checks/rls.sql
--! include audit/checks/server.sql
--! include audit/count_suspects.sql
--! include audit/run.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
