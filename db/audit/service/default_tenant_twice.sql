create or replace view audit.default_tenant_twice as
select 'error' as severity, t.id::text as tenant_id, 'app.tenants' as relation, jsonb_build_object('id', t.id) as row,
  format('is_default is true here and in an older tenant, %s', o.slug) as detail,
  format(E'update app.tenants set is_default = false where id = %L; -- then restore the index:\n'
    '-- create unique index tenants_one_default on app.tenants (is_default) where is_default', t.id) as remedy
from app.tenants t
cross join lateral (select slug, id from app.tenants where is_default order by created_at, id limit 1) o
where t.is_default and t.id <> o.id;
comment on view audit.default_tenant_twice is
$$error: More than one tenant is the default one.
Why: In single-tenant mode requests would land in either.
Fix: Clear the flag of all but one, then restore the unique index.$$;
