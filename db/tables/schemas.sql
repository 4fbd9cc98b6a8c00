-- The database is closed to everybody but the roles named here; db/roles.sql creates the roles.
revoke all on database :DATABASE_NAME from public;
grant connect on database :DATABASE_NAME to tms_service, tms_auditor;
grant temporary on database :DATABASE_NAME to tms_auditor; -- the audit works in temporary tables
-- Before Postgres 16 an owner that inherits nothing has the rights of pg_database_owner only after this SET.
set local role pg_database_owner;
revoke all on schema public from public;
reset role;

create schema app;
create schema api;
create schema control;
create schema audit;
comment on schema app is 'The tables of the tenants, each under row-level security keyed on app.tenant_id';
comment on schema api is 'The SQL functions that HTTP calls, one for each operation; nothing else';
comment on schema control is 'The service''s own bookkeeping: no tenant data';
comment on schema audit is 'The tenant-isolation audit: call audit.run(), then read audit.findings';
revoke all on schema audit from public;
grant usage on schema app to tms_app, tms_registrar, tms_auditor;
grant usage on schema api to tms_service, tms_app, tms_registrar, tms_auditor;
grant usage on schema control to tms_registrar;
grant usage on schema audit to tms_auditor, tms_registrar;
alter default privileges revoke execute on functions from public;

-- Where the database has the extension already, it may be in public.
create extension if not exists pg_trgm with schema control;
set local search_path = control, public, pg_catalog;
