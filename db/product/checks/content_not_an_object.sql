create or replace view audit.content_not_an_object as
with v (relation, tenant_id, id, name, type) as materialized (
  select 'app.boards', tenant_id, id, 'settings', jsonb_typeof(settings) from app.boards where jsonb_typeof(settings) <> 'object'
  union all
  select 'app.generations', tenant_id, id, 'input', jsonb_typeof(input) from app.generations where jsonb_typeof(input) <> 'object'
  union all
  select 'app.provider_configs', tenant_id, id, 'config', jsonb_typeof(config)
  from app.provider_configs where jsonb_typeof(config) <> 'object'
)
select 'error' as severity, v.tenant_id::text as tenant_id, v.relation, k.key as row,
  format('%s holds a JSON %s', v.name, v.type) as detail,
  format('select * from %s where tenant_id = %L and id = %L;', v.relation, v.tenant_id, v.id) as remedy
from v
cross join lateral jsonb_build_object('tenant_id', v.tenant_id, 'id', v.id) k (key);
comment on view audit.content_not_an_object is
$$error: A board's settings, a generation's input or a provider's config hold JSON that is not an object.
Why: Readers that look for a key find null, and defaults apply unasked.
Fix: Write an object, then restore the constraint.$$;
