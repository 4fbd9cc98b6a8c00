-- What a tenant's ETag is made of: the number of members, which follows it, changes without the tenant.
create or replace function app.tenant_stem(p_tenant app.tenants)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select left(app.tenant_json(p_tenant), -1) || ',"registration":' || coalesce(app.compact_json(p_tenant.registration), 'null')
$$;
comment on function app.tenant_stem(app.tenants) is
  'The JSON text of one tenant for operators, up to members_count: app.tenant_json() and what the newcomer wrote.';
revoke all on function app.tenant_stem(app.tenants) from public;
grant execute on function app.tenant_stem(app.tenants) to tms_registrar;
