set local citus.enable_ddl_propagation = off;
-- What requests of releases before the third migration could still be in.
drop function if exists app.enter_tenant_before_000003(text, text, text, text, text);
drop function if exists app.enter_default_tenant(text, text, text, text);
drop function if exists app.join_tenant(uuid, text, text, text, text);
drop function if exists app.joined_at(uuid, uuid);
grant create on schema app, api to tms_app, tms_registrar;
--! include context/enter_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
grant create on schema audit to tms_auditor;
grant create, usage on schema audit to tms_app;
--! include audit/findings.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
