create or replace view audit.bridge_open as
with bridges as (
  select t.relid, t.relation, p.polname, p.polroles, replace(substr(p.polname, 14), '_', '-') as until,
    to_char(current_date, 'YYYY-MM-DD') as today,
    0 = any (p.polroles) or exists (select from audit.request_roles q where q.oid = any (p.polroles)) as requests
  from audit.tables t
  join pg_policy p on p.polrelid = t.relid and p.polname ~ '^bridge_until_'
  -- A partition has its parent's.
  where not exists (
    select from pg_policy r where r.polrelid = pg_partition_root(t.relid) and r.polrelid <> t.relid and r.polname = p.polname)
)
select case when b.requests or b.until !~ '^\d{4}-\d\d-\d\d$' or b.until < b.today then 'error' else 'warning' end as severity,
  b.relation, b.polname::text as object,
  concat(audit.names_of_roles(b.polroles), ' reaches every tenant''s rows past the tenant policies, ', case when b.until < b.today then
    'and should have stopped on ' else 'until ' end, b.until, case when b.requests then '; and requests act as it' end) as detail,
  '-- once its application enters tenants instead: '
    || coalesce(format(p.isolate, b.relation), format('drop policy %I on %s;', b.polname, b.relation)) as remedy
from bridges b
cross join audit.profile p;
comment on view audit.bridge_open is
$$warning: A login of an old application goes on reaching every tenant's rows of a table, by app.isolate('…', bridge => '…',
until => '…'). An error after that day, or where requests act as the login.
Why: While it is open, one statement of the old application without a WHERE reaches every tenant.
Fix: Move the application to app.enter_tenant(), then isolate the table again without the bridge; or agree on a later day.$$;
