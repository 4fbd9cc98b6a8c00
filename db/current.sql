--! Message: next

-- Functions belong to the role they act as; creating them takes a right that no role keeps.
grant create on schema app, api to tms_app, tms_registrar;

-- (service functions: new or changed includes go below)
--! include context/leaking_tables.sql
--! include context/unprotected_tables.sql
--! include api/service/get_readiness.sql
grant usage on schema api to tms_auditor;
--! include context/shown_rows.sql
--! include api/setup/explain_access.sql
--! include api/setup/explain_for_operator.sql
--! include context/cursor.sql
--! include context/tenant_page.sql
--! include api/members/list_members.sql
--! include context/enter_tenant.sql
--! include context/board_json.sql
--! include api/boards/list_boards.sql
--! include api/tenants/get_current_tenant.sql

--! include context/isolate.sql
--! include context/replay.sql
--! include api/service/get_login_faults.sql
--! include api/setup/update_tenant.sql

-- (audit: includes go below)

revoke create on schema app, api from tms_app, tms_registrar;
