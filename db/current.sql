set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include api/members/add_member.sql
--! include api/service/take_rate_limit.sql
--! include api/setup/list_tenants.sql
--! include api/tenants/register_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
