create or replace view audit.foreign_table as
select case when w.reached is null then 'warning' else 'error' end as severity, t.relation, s.srvname::text as object,
  concat('holds rows of tenants on the server ', s.srvname, ': no policy applies to it', '; ' || w.reached || ' may reach it') as detail,
  case when w.reached is null then '-- keep it closed: a function that asks for the tenant may read it'
    else format('revoke all on table %s from %s;', t.relation, w.revoked) end as remedy
from audit.tables t
join pg_foreign_table f on f.ftrelid = t.relid
join pg_foreign_server s on s.oid = f.ftserver
cross join lateral (
  select string_agg(e.rolname, ', ' order by e.rolname) as reached,
    concat_ws(', ', string_agg(quote_ident(e.rolname), ', ' order by e.rolname),
      case when exists (
        select from pg_class c cross join lateral aclexplode(c.relacl) a where c.oid = t.relid and a.grantee = 0)
        then 'public' end) as revoked
  from audit.reach e where e.relid = t.relid and (e.reads or e.writes)) w;
comment on view audit.foreign_table is
$$error: A foreign table with rows of tenants that requests may reach; a warning where they may not.
Why: Policies do not apply to a foreign table: whoever has a privilege on it has every tenant's rows.
Fix: Revoke the privilege; let a function read it that asks for the tenant.$$;
