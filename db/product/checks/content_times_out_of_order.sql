create or replace view audit.content_times_out_of_order as
with v (relation, tenant_id, id, name, at, created_at) as materialized (
  select 'app.boards', tenant_id, id, 'updated_at', updated_at, created_at from app.boards where updated_at < created_at
  union all
  select 'app.generations', tenant_id, id, 'completed_at', completed_at, created_at from app.generations where completed_at < created_at
  union all
  select 'app.provider_configs', tenant_id, id, 'updated_at', updated_at, created_at from app.provider_configs where updated_at < created_at
)
select 'error' as severity, v.tenant_id::text as tenant_id, v.relation, k.key as row,
  format('%s %s is before created_at %s', v.name, v.at, v.created_at) as detail,
  format('select * from %s where tenant_id = %L and id = %L;', v.relation, v.tenant_id, v.id) as remedy
from v
cross join lateral jsonb_build_object('tenant_id', v.tenant_id, 'id', v.id) k (key);
comment on view audit.content_times_out_of_order is
$$error: A board, generation or provider configuration was changed or finished before it was made.
Why: The order of events, which bills rest on, is wrong.
Fix: Correct the times, then restore the constraint.$$;
