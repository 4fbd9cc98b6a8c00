set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/join_default.sql
--! include context/leaking_tables.sql
--! include context/require_member_admin.sql
--! include context/shown_rows.sql
--! include context/unprotected_tables.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/catalog.sql
--! include audit/relations.sql
--! include audit/functions.sql
--! include audit/row_tests.sql
--! include audit/scan.sql
--! include audit/as_tms_app.sql
--! include audit/proof.sql
--! include audit/passes.sql
--! include audit/checks/functions.sql
--! include audit/checks/reach.sql
--! include audit/checks/rls.sql
--! include audit/checks/tables.sql
--! include audit/manifest.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
