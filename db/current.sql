--! Message: next

-- Functions belong to the role they act as; creating them takes a right that no role keeps.
grant create on schema app, api to tms_app, tms_registrar;

-- (service functions: new or changed includes go below)
--! include context/cursor.sql
--! include context/tenant_page.sql
--! include api/members/list_members.sql
--! include api/boards/list_boards.sql

-- (audit: includes go below)

revoke create on schema app, api from tms_app, tms_registrar;
