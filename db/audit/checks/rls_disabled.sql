create or replace view audit.rls_disabled as
with plain as (
  select t.*, audit.reached_by(t.relid) as reached, coalesce(format(p.isolate, m.relation), case
      when exists (select from pg_policy y where y.polrelid = t.relid)
        then format('alter table %s enable row level security, force row level security;', t.relation)
      else format(E'-- 1. a policy that names the tenant, as other tables have it\n-- 2. alter table %s enable row level security, '
        'force row level security;', t.relation) end) as remedy
  from audit.tables t
  cross join audit.profile p
  join audit.relations m on m.relid = coalesce(pg_partition_root(t.relid), t.relid)
  where t.relkind in ('r', 'p') and not t.relrowsecurity
), adopted as (
  select exists (select from audit.tables where relkind in ('r', 'p') and relrowsecurity) as any
)
select case when reached is null then 'warning' else 'error' end as severity, relation, null as object,
  concat(case when steps > 0 then 'belongs to tenants through its parent, and ' end, 'is not isolated: row-level security is off, and ',
    coalesce(reached || ' may reach it', 'no request role has a privilege on it yet')) as detail, remedy
from plain
cross join adopted
where adopted.any
union all
select case when count(reached) = 0 then 'warning' else 'error' end, null, null,
  format('nothing is isolated here: none of the %s tables with tenants'' rows has row-level security (%s …)', count(*), min(relation)),
  '-- a reviewable migration, rehearsed and rolled back: tenancy adopt --plan'
from plain
cross join adopted
where not adopted.any
having count(*) > 0;
comment on view audit.rls_disabled is
$$error: A table, partition or child with tenants' rows and without row-level security; a warning where no request role has a privilege on
it.
Why: Policies do nothing until it is enabled: every role with a privilege on the table sees every tenant's rows. A query that names a
partition asks the partition's own policies, not its parent's.
Fix: Enable and force it, with policies that name the tenant; or revoke the privileges.$$;
