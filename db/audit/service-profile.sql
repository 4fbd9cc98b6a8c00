-- This service's own profile. Its checks, exceptions by table, and who sees all, are whoever's builds on it: a release leaves them alone.
insert into audit.profile (
  tenants, tenant_key, tenant_columns, bookkeeping, request_roles, sees_all, trusted_owners, isolate, extra_checks, principals)
values ('app.tenants', 'id', '{tenant_id}',
  '{control,audit}',
  '{tms_app,tms_service}', '{tms_auditor,tms_registrar}', '{tms_owner,tms_app,tms_registrar,tms_auditor}',
  'select app.isolate(%L);', '{}',
$$select t.name, e.enter, t.tenants
from (
  select slug, id, array[id::text] from app.tenants
  union all
  select 'a tenant that does not exist', gen_random_uuid(), '{}') t (name, id, tenants)
-- A proof is good in one transaction: whoever acts signs it there, and before it becomes tms_app, who may not.
cross join lateral (select case when app.has_context_secret()
  then array[format('select pg_catalog.set_config(''app.tenant_id'', app.sign_tenant(%L), true)', t.id), 'set local role tms_app']
  else array['set local role tms_app', format('set local app.tenant_id = %L', t.id)] end) e (enter)
union all
select 'nobody', array['set local role tms_app'], '{}'$$)
on conflict (one) do update set
  tenants = excluded.tenants, tenant_key = excluded.tenant_key, tenant_columns = excluded.tenant_columns,
  bookkeeping = excluded.bookkeeping, request_roles = excluded.request_roles, trusted_owners = excluded.trusted_owners,
  isolate = excluded.isolate, principals = excluded.principals;
