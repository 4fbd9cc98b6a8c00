create or replace view audit.time_in_future as
select 'warning' as severity, tenant_id::text as tenant_id, 'app.credit_transactions' as relation,
  k.key as row, format('created_at is %s', created_at) as detail,
  format('select * from app.credit_transactions where tenant_id = %L and id = %L;', tenant_id, id) as remedy
from app.credit_transactions c
cross join lateral jsonb_build_object('tenant_id', c.tenant_id, 'id', c.id) k (key)
where created_at > now() + interval '1 hour';
comment on view audit.time_in_future is
$$warning: A credit transaction was booked more than an hour from now.
Why: A clock is wrong, or the time was written by hand: the ledger's order is no longer that of events.
Fix: Correct created_at.$$;
