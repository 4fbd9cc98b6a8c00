create or replace view audit.content_value_unknown as
select 'error' as severity, g.tenant_id::text as tenant_id, 'app.generations' as relation, k.key as row,
  format('status %s is not one that the service knows', coalesce(quote_literal(g.status), 'null')) as detail,
  format('-- a known value, then restore the constraint: update app.generations set status = … '
    'where tenant_id = %L and id = %L', g.tenant_id, g.id) as remedy
from app.generations g
cross join lateral jsonb_build_object('tenant_id', g.tenant_id, 'id', g.id) k (key)
where g.status is null or g.status not in ('pending', 'processing', 'completed', 'failed', 'cancelled');
comment on view audit.content_value_unknown is
$$error: A generation's status is not one that the service knows.
Why: Code that asks "not completed?" works on it for ever.
Fix: Set a known value, then restore the constraint.$$;
