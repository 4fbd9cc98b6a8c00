-- What the second reading of the migration before left for this one, and lists that do not walk the rows of one moment.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! include context/board_json.sql
--! include context/tenant_page.sql
--! include api/boards/list_boards.sql
--! include api/members/list_members.sql
--! include api/members/remove_member.sql
--! include api/service/ensure_default_tenant.sql
--! include api/service/take_rate_limit.sql
--! include api/setup/explain_for_operator.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! include audit/schema.sql
--! include audit/manifest.sql
--! include audit/catalog.sql
--! include audit/relations.sql
--! include audit/checks/tables.sql
--! include audit/checks/grants.sql
--! include audit/checks/keys.sql
--! include audit/checks/functions.sql
--! include audit/as_tms_app.sql
--! include audit/proof.sql
--! include audit/views.sql
--! include audit/end.sql
set local citus.enable_ddl_propagation = on;
