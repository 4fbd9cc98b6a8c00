-- What somebody found who attacked the isolation, who ran it for years, and who took it over.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/isolate.sql
--! include context/require_member.sql
--! include api/members/add_member.sql
--! include api/members/remove_member.sql
--! include api/service/get_readiness.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/manifest.sql
--! include audit/functions.sql
--! include audit/checks/roles.sql
--! include audit/checks/rls.sql
--! include audit/checks/grants.sql
--! include audit/checks/functions.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
