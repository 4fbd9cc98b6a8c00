create or replace view audit.role_bypasses as
with become as (
  select r.oid, string_agg(q.rolname, ', ' order by q.rolname) as names
  from pg_roles r
  join pg_roles q on q.oid <> r.oid and not q.rolsuper and pg_has_role(q.oid, r.oid, 'member')
  cross join audit.profile p
  where q.rolname = any (p.request_roles)
  group by r.oid
), found as (
  select r.*, r.rolname = any (p.request_roles) as requests, b.names,
    concat_ws(', ', case when r.rolsuper then 'is a superuser' end, case when r.rolbypassrls then 'has BYPASSRLS' end,
      case when r.rolreplication then 'may replicate' end, case when r.rolname = any (p.sees_all) then 'may see every tenant' end,
      case when exists (select from audit.tables t where t.relowner = r.oid) then 'owns tables of tenants' end,
      case when r.rolname ~ '^pg_(read|write|execute)_' then 'may read or write what has no policy' end) as powers
  from pg_roles r
  cross join audit.profile p
  left join become b on b.oid = r.oid
)
select case when f.requests or f.names is not null then 'error' else 'warning' end as severity, null as relation, f.rolname::text as object,
  concat(f.powers, case when f.requests then ', and requests act as it' end, '; ' || f.names || ' may become it') as detail,
  case when f.names is not null then format('revoke %I from %s;', f.rolname, f.names)
    else format('alter role %I nosuperuser nobypassrls noreplication;', f.rolname) end as remedy
from found f
cross join audit.profile p
where f.powers <> '' and (f.names is not null or f.requests and (f.rolsuper or f.rolbypassrls or f.rolreplication)
  or f.rolbypassrls and not f.rolsuper and not f.rolname = any (p.sees_all)
    and exists (select from audit.tables t where has_any_column_privilege(f.oid, t.relid, 'select')));
comment on view audit.role_bypasses is
$$error: A request role is a superuser, has BYPASSRLS or REPLICATION, or may become such a role, an owner of tenants' tables, one that may
see every tenant, or one of Postgres's that reads and writes what has no policy. warning: Another role with BYPASSRLS and a privilege on
tenants' tables.
Why: No policy applies to it; membership brings it along, and no policy shows that.
Fix: Take the attribute or the membership away.$$;
