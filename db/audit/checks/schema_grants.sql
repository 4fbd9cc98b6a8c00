create or replace view audit.schema_grants as
with creator as (
  select a.grantee, quote_ident(n.nspname) as name, 'schema' as kind, n.nspowner as owner,
    has_schema_privilege(q.oid, n.oid, 'usage') as usable,
    n.nspname in ('pg_catalog', 'public') or exists (select from audit.tables t where t.relnamespace = n.oid) as matters
  from pg_namespace n
  cross join lateral (select grantee from aclexplode(n.nspacl) where privilege_type = 'CREATE' union select n.nspowner) a
  join audit.request_roles q on a.grantee in (0, q.oid)
  where n.nspname !~ '^pg_(temp|toast)'
  union all
  select a.grantee, quote_ident(d.datname), 'database', d.datdba, true, true
  from pg_database d
  cross join lateral (select grantee from aclexplode(d.datacl) where privilege_type = 'CREATE' union select d.datdba) a
  join audit.request_roles q on a.grantee in (0, q.oid)
  where d.datname = current_database()
)
select case when bool_or(usable) then 'error' else 'warning' end as severity, null as relation, kind || ' ' || name as object,
  format('%s may create objects in the %s %s%s', audit.names_of_roles(array[grantee]), kind, name,
    case when grantee = owner then ', which is its own' when bool_or(matters) then ', among those that others use' end) as detail,
  case when grantee = owner then format('-- give it to a role that no request acts as: alter %s %s owner to …', kind, name)
    else format('revoke create on %s %s from %s;', kind, name, audit.names_of_roles(array[grantee])) end as remedy
from creator
group by kind, name, grantee, owner;
comment on view audit.schema_grants is
$$error: A request role, or everybody, may create objects in a schema or schemas in the database; a warning where requests may not use the
schema.
Why: Whoever can create puts an object in front of the one that is meant, or functions and triggers where others execute them.
Fix: Revoke CREATE.$$;
