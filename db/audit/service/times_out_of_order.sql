create or replace view audit.times_out_of_order as
select 'error' as severity, v.tenant_id::text as tenant_id, v.relation,
  k.key as row,
  format('%s %s is before created_at %s', v.name, v.at, v.created_at) as detail,
  format('select * from %s where %s;', v.relation, audit.condition_of(k.key)) as remedy
from (
  select 'app.tenants', id, id, 'updated_at', updated_at, created_at from app.tenants where updated_at < created_at
  union all
  select 'app.users', tenant_id, id, 'updated_at', updated_at, created_at from app.users where updated_at < created_at
  union all
  select 'app.users', tenant_id, id, 'removed_at', removed_at, created_at from app.users where removed_at < created_at
) v (relation, tenant_id, id, name, at, created_at)
cross join lateral jsonb_strip_nulls(jsonb_build_object('tenant_id', nullif(v.tenant_id, v.id), 'id', v.id)) k (key);
comment on view audit.times_out_of_order is
$$error: A tenant or member was changed or removed before it was made.
Why: The order of events, which audits rest on, is wrong.
Fix: Correct the times, then restore the constraint.$$;
