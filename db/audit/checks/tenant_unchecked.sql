create or replace view audit.tenant_unchecked as
select case when k.oid is not null and exists (select from audit.reach e where e.relid = c.relid and e.writes) then 'error'
    else 'warning' end as severity, c.relation, coalesce(k.conname, c.attname)::text as object,
  case when k.oid is null then format('no foreign key says that %s is one of %s', c.attname, m.relation)
    else format('sets %s to null or to a default as its row of %s goes or changes', c.attname, m.relation) end as detail,
  case when k.oid is null
    then format('alter table %s add foreign key (%I) references %s (%I); -- with on delete cascade where the rows go with their tenant',
      c.relation, c.attname, m.relation, p.tenant_key)
    else format(E'-- was: %s\nalter table %s add constraint %I foreign key (%I) references %s (%I)%s, drop constraint %I;',
      pg_get_constraintdef(k.oid), c.relation, left(k.conname, 54) || '_tenant', c.attname, m.relation, p.tenant_key,
      case k.confdeltype when 'c' then ' on delete cascade' end, k.conname) end as remedy
from audit.profile p
join audit.relations m on m.relid = p.tenants
join audit.tenant_columns c on c.relid <> p.tenants
left join audit.foreign_keys k on k.conrelid = c.relid and k.confrelid = p.tenants and k.columns = array[c.attname]
where c.relkind in ('r', 'p') and c.relrowsecurity and (k.oid is null or k.confdeltype in ('n', 'd') or k.confupdtype in ('n', 'd'))
  -- A partition has its parent's key, and a key to a parent that must have a tenant says the same.
  and not (k.oid is null and c.relispartition)
  and not (k.oid is null and exists (
    select from audit.foreign_keys w where w.conrelid = c.relid and w.required and c.attname = any (w.columns)));
comment on view audit.tenant_unchecked is
$$error: The foreign key to the tenants' table takes the tenant away from a row that requests write. warning: There is no such key.
Why: Rows of a tenant that is gone stay, and come back with its id.
Fix: Add the key; after the data check tenant_missing has nothing more to say.$$;
