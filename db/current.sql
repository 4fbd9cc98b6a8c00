-- Write the next migration here. Around includes of functions:
-- grant create on schema app, api to tms_app, tms_registrar;
-- set local citus.enable_ddl_propagation = off;
-- set local citus.enable_ddl_propagation = on;
-- revoke create on schema app, api from tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include control/tenant_counts.sql
--! include context/shown_rows.sql
--! include api/service/take_rate_limit.sql
--! include api/setup/create_tenant.sql
--! include api/setup/update_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
-- Last, since nobody joins or leaves a tenant from here to the end.
--! include tables/members.sql
