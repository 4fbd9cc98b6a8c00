create or replace view audit.tenant_column as
select case when not w.nullable or w.reached is null then 'warning' else 'error' end as severity, t.relation, t.attname::text as object,
  concat(case when w.nullable then 'may be null: such a row is nobody''s, and no deletion of a tenant reaches it'
    else 'no index begins with it: each request reads the rows of every tenant' end, '; ' || w.reached || ' may reach it') as detail,
  case when w.nullable then format('alter table %s alter column %I set not null;', t.relation, t.attname)
    else format('create index %son %s (%I);', case t.relkind when 'r' then 'concurrently ' end, t.relation, t.attname) end as remedy
from audit.tables t
cross join lateral (select not t.attnotnull as nullable, audit.reached_by(t.relid) as reached) w
where t.relkind in ('r', 'p') and t.steps = 0 and t.relrowsecurity and not t.relispartition
  and (w.nullable or not exists (
    select from pg_index i where i.indrelid = t.relid and i.indkey[0] = t.attnum and i.indpred is null and i.indisvalid));
comment on view audit.tenant_column is
$$error: The column that says whose a row is may be null; a warning where no request role has a privilege on the table. warning: No index
begins with it.
Why: A row without a tenant stays when its tenant is deleted, and a policy that compares with null may show it to anybody. Without an
index each request reads every tenant's rows, and the time it takes tells of them.
Fix: SET NOT NULL, once the rows without a tenant have one; create the index.$$;
