create or replace view audit.key_crosses_tenants as
with pair as (
  select c.relid, c.relation, c.relnamespace, c.attname, m.relid as parent_id, m.relation as parent, m.attname as parent_tenant, k.*,
    exists (select from generate_subscripts(k.columns, 1) i where k.columns[i] = c.attname and k.parents[i] = m.attname) as carries,
    c.attname = any (k.columns) and (k.confupdtype in ('n', 'd')
      or k.confdeltype in ('n', 'd') and coalesce(c.attnum = any (k.confdelsetcols), true)) as unsets
  from audit.foreign_keys k
  join audit.tenant_columns c on c.relid = k.conrelid and c.relkind in ('r', 'p')
  join audit.tenant_columns m on m.relid = k.confrelid
  cross join audit.profile p
  where k.confrelid is distinct from p.tenants
), crossing as (
  select *, audit.reached_by(relid) as reached, count(*) filter (where not carries) over schema as n,
    count(*) over schema > 3 and bool_and(not carries) over schema as is_general
  from pair window schema as (partition by relnamespace)
)
select case when reached is null then 'warning' else 'error' end as severity, relation, conname::text as object,
  case when carries or unsets then format('its action would take the row''s tenant away, as a row of %s goes or changes', parent)
    else format('may refer to a row of another tenant in %s: the key does not pair %s with %s', parent, attname, parent_tenant) end
    || coalesce('; ' || reached || ' may reach it', '') as detail,
  audit.key_with_tenant(oid, attname, parent_tenant) as remedy
from crossing x where (not carries or unsets) and not is_general
  and (unsets or not exists ( -- no row gets past another key of these columns that pairs the tenant
    select from pair b where b.relid = x.relid and b.parent_id = x.parent_id and b.carries and b.required and x.columns <@ b.columns))
union all
select case when count(reached) = 0 then 'warning' else 'error' end, null, relnamespace::regnamespace::text,
  format('no foreign key of the schema carries the tenant: %s may lead to another tenant (%s of %s …)', n, min(conname), min(relation)),
  '-- give each parent a unique key over tenant and id, and each foreign key the tenant on both sides. Until then the data check '
    'parent_in_other_tenant watches the rows'
from crossing where is_general group by relnamespace, n;
comment on view audit.key_crosses_tenants is
$$error: A foreign key between tenants' tables that does not carry the tenant on both sides, or whose action takes the tenant away; a
warning where no request role has a privilege on the table.
Why: Foreign keys are checked past the policies: a row may refer to, learn of, and by CASCADE delete, another tenant's row.
Fix: A composite key (tenant, id) on both sides.$$;
