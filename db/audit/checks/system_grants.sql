create or replace view audit.system_grants as
with object (classid, objid, kind, name, acl, owner) as (
  select 'pg_class'::regclass, c.oid, 'table', format('%s', c.oid::regclass), c.relacl, c.relowner
  from pg_class c
  where c.relacl is not null and (c.oid < 16384 or c.relnamespace::regnamespace::text in ('pg_toast', 'information_schema'))
  union all
  select 'pg_attribute'::regclass, attrelid, 'table', format('%s', attrelid::regclass), attacl, 0 from pg_attribute where attrelid < 16384
  union all
  select 'pg_proc'::regclass, f.oid, 'function', format('%s', f.oid::regprocedure), f.proacl, f.proowner
  from pg_proc f where f.proacl is not null and (f.oid < 16384
    or exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e'))
  union all
  select 'pg_namespace'::regclass, n.oid, 'schema', quote_ident(n.nspname), n.nspacl, n.nspowner
  from pg_namespace n where n.nspname in ('pg_catalog', 'pg_toast', 'information_schema')
  union all
  select 'pg_parameter_acl'::regclass, oid, 'parameter', parname, paracl, 10 from pg_parameter_acl
  union all
  select 'pg_foreign_server'::regclass, oid, 'foreign server', quote_ident(srvname), srvacl, srvowner from pg_foreign_server
)
select 'error' as severity, null as relation, o.name as object,
  format('%s has %s on the %s %s, beyond what it came with', r.name, string_agg(distinct x.privilege_type, ', '), o.kind, o.name) as detail,
  format('revoke %s on %s %s from %s;', string_agg(distinct x.privilege_type, ', '), o.kind, o.name, r.name) as remedy
from object o
cross join lateral aclexplode(o.acl) x
cross join lateral audit.names_of_roles(array[x.grantee]) r (name)
left join pg_init_privs i on i.classoid = o.classid and i.objoid = o.objid and i.objsubid = 0
where x.grantee <> o.owner and (x.grantee = 0 or x.grantee in (select oid from audit.request_roles))
  and not exists (select from aclexplode(coalesce(i.initprivs, case o.kind when 'function' then acldefault('f', o.owner) end)) w
    where w.grantee in (0, x.grantee) and w.privilege_type = x.privilege_type) -- what everybody may, one role may, too
  and not (o.name ~ '^information_schema\M' and o.objid < 16384 and x.grantee = 0) -- the standard makes it public
group by o.kind, o.name, x.grantee, r.name;
comment on view audit.system_grants is
$$error: A request role, or everybody, has more privileges on an object of Postgres, an extension or a foreign server than it came with.
Why: Statistics and TOAST tables hold values of all tenants' rows; SET on session_replication_role switches keys off.
Fix: Revoke them.$$;
