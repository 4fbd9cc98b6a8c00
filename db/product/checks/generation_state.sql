create or replace view audit.generation_state as
select 'error' as severity, tenant_id::text as tenant_id, 'app.generations' as relation,
  k.key as row,
  format('the status is %s and completed_at is %s', status, coalesce(completed_at::text, 'null')) as detail,
  format('select * from app.generations where tenant_id = %L and id = %L;', tenant_id, id) as remedy
from app.generations g
cross join lateral jsonb_build_object('tenant_id', g.tenant_id, 'id', g.id) k (key)
-- As the index generations_contradictory has it, which has just these rows.
where case when completed_at is null then status = 'completed' else status in ('pending', 'processing') end;
comment on view audit.generation_state is
$$error: A generation is completed without a time, or has a time and is not finished.
Why: Bills and retries go by either.
Fix: Set the status that is true.$$;
