create or replace view audit.default_privileges as
with given as (
  select d.*, a.grantee, string_agg(distinct a.privilege_type, ', ' order by a.privilege_type) as privileges,
    case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' else 'large objects' end as kind,
    bool_or(a.privilege_type in ('TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN')) as past_policies
  from pg_default_acl d
  cross join lateral aclexplode(d.defaclacl) a
  where d.defaclobjtype in ('r', 'S', 'f', 'L') and a.grantee <> d.defaclrole
    -- Every function is for everybody by default, and drawing numbers tells little.
    and not (d.defaclobjtype = 'f' and a.grantee = 0) and not (d.defaclobjtype = 'S' and a.privilege_type <> 'UPDATE')
    and (a.grantee = 0 or a.grantee in (select oid from audit.request_roles)
      or d.defaclrole in (select relowner from audit.tables) and d.defaclobjtype = 'r' and not a.grantee in (
        select r.oid from pg_roles r join audit.profile p on r.rolname = any (p.sees_all || p.trusted_owners)
        where a.privilege_type = 'SELECT' or r.rolname = any (p.trusted_owners) and not r.rolname = any (p.sees_all)))
  group by d.oid, d.defaclrole, d.defaclnamespace, d.defaclobjtype, d.defaclacl, a.grantee
)
select case when g.past_policies or g.grantee = 0 or g.grantee in (select oid from audit.request_roles) then 'error' else 'warning' end
    as severity,
  null as relation, g.defaclrole::regrole::text as object,
  format('%s on the %s that %s makes%s goes to %s at once', g.privileges, g.kind, g.defaclrole::regrole,
    ' in ' || nullif(g.defaclnamespace, 0)::regnamespace, audit.names_of_roles(array[g.grantee])) as detail,
  format('alter default privileges for role %s%s revoke %s on %s from %s;', g.defaclrole::regrole,
    ' in schema ' || nullif(g.defaclnamespace, 0)::regnamespace, g.privileges, g.kind, audit.names_of_roles(array[g.grantee])) as remedy
from given g;
comment on view audit.default_privileges is
$$error: Default privileges that give tables, functions, large objects or the setting of sequences to request roles or to everybody as
they are made, or TRUNCATE and the like to anybody. warning: Tables of the tenants' tables' owner that go to another role.
Why: A table is open from the moment it is made until somebody isolates it.
Fix: Revoke them, and grant what each table needs.$$;
