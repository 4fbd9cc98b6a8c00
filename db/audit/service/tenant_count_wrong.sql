create or replace view audit.tenant_count_wrong as
select 'error' as severity, null::text as tenant_id, 'app.tenants' as relation, jsonb_build_object('status', status) as row,
  format('control.tenant_counts says that %s tenants are %s, app.tenants holds %s', k.n, status, c.n) as detail,
  $r$begin;
set local app.maintenance = on;
lock table app.tenants in share row exclusive mode;
delete from control.tenant_counts;
insert into control.tenant_counts (shard, pending, active, suspended, deleted)
select 0, count(*) filter (where status = 'pending'), count(*) filter (where status = 'active'),
  count(*) filter (where status = 'suspended'), count(*) filter (where status = 'deleted')
from app.tenants;
commit;$r$ as remedy
from unnest(array['pending', 'active', 'suspended', 'deleted']) status
cross join lateral (select count(*) as n from app.tenants t where t.status = status.status) c
cross join lateral (select app.count_tenants(status.status) as n) k
where c.n <> k.n;
comment on view audit.tenant_count_wrong is
$$error: The running totals of tenants differ from the tenants there are.
Why: app.tenants was written past its triggers.
Fix: Count again, as the remedy does.$$;
