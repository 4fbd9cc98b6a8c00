-- A tenant that does not exist is looked for between those that do, and a deletion's lock asks nothing that was asked before it.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/lock_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/scan.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
