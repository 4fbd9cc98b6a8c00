create or replace view audit.not_an_object as
select 'error' as severity, v.tenant_id::text as tenant_id, v.relation,
  k.key as row,
  format('%s holds a JSON %s', v.name, v.type) as detail,
  format('select * from %s where %s;', v.relation, audit.condition_of(k.key)) as remedy
from (
  select 'app.tenants', id, 'settings', jsonb_typeof(settings) from app.tenants where jsonb_typeof(settings) <> 'object'
  union all
  select 'app.tenants', id, 'registration', jsonb_typeof(registration) from app.tenants where jsonb_typeof(registration) <> 'object'
) v (relation, tenant_id, name, type)
cross join lateral jsonb_build_object('id', v.tenant_id) k (key);
comment on view audit.not_an_object is
$$error: A tenant's settings or registration hold JSON that is not an object.
Why: Readers that look for a key find null, and defaults apply unasked.
Fix: Write an object, then restore the constraint.$$;
