create view audit.tenant_count_wrong as
with counted as (
  select s.status, count(*) filter (where t.status = s.status) as n
  from unnest(array['pending', 'active', 'suspended', 'deleted']) s (status) left join app.tenants t on true
  group by s.status
), kept as (
  select k.status, sum(k.n) as n
  from control.tenant_counts c
  cross join lateral (values ('pending', c.pending), ('active', c.active), ('suspended', c.suspended), ('deleted', c.deleted)) k (status, n)
  group by k.status
)
select 'error' as severity, null::text as tenant_id, 'app.tenants' as relation, jsonb_build_object('status', status) as row,
  format('control.tenant_counts says that %s tenants are %s, app.tenants holds %s', coalesce(k.n, 0), status, c.n) as detail,
  $r$begin;
set local app.maintenance = on;
lock table app.tenants in share row exclusive mode;
delete from control.tenant_counts;
insert into control.tenant_counts (shard, pending, active, suspended, deleted)
select 0, count(*) filter (where status = 'pending'), count(*) filter (where status = 'active'),
  count(*) filter (where status = 'suspended'), count(*) filter (where status = 'deleted')
from app.tenants;
commit;$r$ as remedy
from counted c
left join kept k using (status)
where c.n <> coalesce(k.n, 0);
comment on view audit.tenant_count_wrong is
$$error: The running totals of tenants differ from the tenants there are.
Why: app.tenants was written past its triggers.
Fix: Count again, as the remedy does.$$;
