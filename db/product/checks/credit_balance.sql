create or replace view audit.credit_balance as
with suspect as (
  select distinct tenant_id, user_id
  from (
    select tenant_id, user_id, balance_after is distinct from amount
      + lag(balance_after::numeric, 1, 0::numeric) over (partition by tenant_id, user_id order by created_at, id) as is_wrong
    from app.credit_transactions) r
  where is_wrong
), entry as (
  -- Entries of one moment may be in any order that adds up. held: the balance before the first of them.
  select c.*, c.balance_after - c.amount::numeric as before, coalesce(sum(c.amount) over earlier, 0) as held
  from suspect join app.credit_transactions c using (tenant_id, user_id)
  window earlier as (partition by c.tenant_id, c.user_id order by c.created_at groups between unbounded preceding and 1 preceding)
)
select distinct on (e.tenant_id, e.user_id) 'error' as severity, e.tenant_id::text as tenant_id, 'app.credit_transactions' as relation,
  jsonb_build_object('tenant_id', e.tenant_id, 'id', e.id) as row,
  format('the balance before was %s, the amount is %s, and balance_after says %s', e.held, e.amount, e.balance_after) as detail,
  format('select * from app.credit_transactions where tenant_id = %L and user_id = %L order by created_at, id;',
    e.tenant_id, e.user_id) as remedy
from entry e
cross join lateral (
  -- Each balance that an entry goes on from was held before, or is left by another entry, as often.
  select count(*) filter (where o.balance_after - o.amount::numeric = e.before)
      > count(*) filter (where o.balance_after = e.before) + case when e.held = e.before then 1 else 0 end
    or bool_or(o.balance_after - o.amount::numeric = e.held) is not true as is_wrong
  from app.credit_transactions o
  where o.tenant_id = e.tenant_id and o.user_id = e.user_id and o.created_at = e.created_at) m
where m.is_wrong or e.before is null
order by e.tenant_id, e.user_id, e.created_at, e.id;
comment on view audit.credit_balance is
$$error: A balance is not the balance before it plus the amount, in the order of the ledger; the first such entry of each ledger.
Why: Credit appears or vanishes.
Fix: Look at the ledger around the row; book a correction.$$;
