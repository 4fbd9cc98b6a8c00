-- What real use showed since the migration before.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/join_default.sql
--! include context/enter_lobby.sql
--! include context/write_policies.sql
--! include context/adopt.sql
--! include context/isolate.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/functions.sql
--! include audit/manifest.sql
--! include audit/catalog.sql
--! include audit/proved.sql
--! include audit/checks/functions.sql
--! include audit/checks/grants.sql
--! include audit/checks/keys.sql
--! include audit/checks/roles.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
