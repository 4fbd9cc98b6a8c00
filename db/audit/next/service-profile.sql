-- This service's own profile.
insert into audit.profile (
  tenants, tenant_key, tenant_columns, bookkeeping, request_roles, sees_all, trusted_owners, isolate, extra_checks, principals)
values ('app.tenants', 'id', '{tenant_id}',
  '{control,audit}',
  '{tms_app,tms_service}', '{tms_auditor,tms_registrar}', '{tms_owner,tms_app,tms_registrar,tms_auditor}',
  'select app.isolate(%L);', '{}',
$$select t.slug, array['set local role tms_app',
    format('set local app.tenant_id = %L', case when app.has_context_secret() then app.sign_tenant(t.id) else t.id::text end)],
  array[t.id::text]
from app.tenants t
union all
select 'nobody', array['set local role tms_app'], '{}'
union all
select 'a tenant that does not exist', array['set local role tms_app',
    format('set local app.tenant_id = %L', case when app.has_context_secret() then app.sign_tenant(n.id) else n.id::text end)], '{}'
from (select gen_random_uuid() as id) n$$);
