--! Message: initial

-- The database is closed but for the roles that are named here; roles come from db/roles.sql.
revoke all on database :DATABASE_NAME from public;
grant connect on database :DATABASE_NAME to tms_service, tms_auditor;
revoke all on schema public from public;

create schema app;
create schema api;
create schema control;
comment on schema app is 'The tenants'' tables, each under row level security keyed on app.tenant_id';
comment on schema api is 'The SQL functions that HTTP calls, one an operation; nothing else';
comment on schema control is 'The service''s own bookkeeping: no tenant data';
grant usage on schema app to tms_app, tms_registrar, tms_auditor;
grant usage on schema api to tms_service, tms_app, tms_registrar;
grant usage on schema control to tms_registrar;
alter default privileges revoke execute on functions from public;

-- Functions belong to the role they act as; creating them takes a right that no role keeps.
grant create on schema app, api to tms_app, tms_registrar;

create extension if not exists pg_trgm with schema control;
set local search_path = control, public, pg_catalog;

--! include context/tenant_id.sql
--! include context/set_tenant.sql
--! include context/iso_time.sql
--! include context/parse_uuid.sql
--! include context/refuse.sql
--! include context/cursor.sql
--! include context/write_policies.sql

--! include tables/tenants.sql
--! include context/isolation_faults.sql
--! include context/adopt.sql
--! include context/isolate.sql
--! include tables/users.sql
--! include tables/boards.sql
--! include tables/generations.sql
--! include tables/provider_configs.sql
--! include tables/credit_transactions.sql
--! include control/deployment.sql
--! include control/tenant_counts.sql
--! include control/idempotency_keys.sql
--! include control/rate_limits.sql

--! include context/schema_version.sql
--! include context/tenant_json.sql
--! include context/member_json.sql
--! include context/etag.sql
--! include context/enter_default_tenant.sql
--! include context/enter_tenant.sql
--! include context/enter_lobby.sql
--! include context/require_operator.sql
--! include context/require_member_admin.sql
--! include context/find_tenant.sql
--! include context/move_tenant.sql
--! include context/remove_tenant.sql
--! include context/count_tenants.sql
--! include context/tenant_page.sql
--! include context/create_sample_data.sql
--! include context/insert_tenant.sql
--! include context/replay.sql
--! include context/isolation_advice.sql

--! include api/service/ensure_default_tenant.sql
--! include api/service/get_login_faults.sql
--! include api/service/get_schema_version.sql
--! include api/service/take_rate_limit.sql
--! include api/setup/get_setup_status.sql
--! include api/setup/create_tenant.sql
--! include api/setup/list_tenants.sql
--! include api/setup/get_tenant.sql
--! include api/setup/update_tenant.sql
--! include api/setup/delete_tenant.sql
--! include api/setup/approve_tenant.sql
--! include api/setup/reject_tenant.sql
--! include api/setup/suspend_tenant.sql
--! include api/setup/resume_tenant.sql
--! include api/tenants/get_registration_status.sql
--! include api/tenants/register_tenant.sql
--! include api/tenants/get_current_tenant.sql
--! include api/tenants/list_my_tenants.sql
--! include api/members/list_members.sql
--! include api/members/add_member.sql
--! include api/members/remove_member.sql
--! include api/boards/list_boards.sql

revoke create on schema app, api from tms_app, tms_registrar;
