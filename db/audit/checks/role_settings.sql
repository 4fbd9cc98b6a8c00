create or replace view audit.role_settings as
with given as (
  select coalesce(quote_ident(r.rolname), 'all') as role, r.oid, d.datname, s.setting, split_part(s.setting, '=', 1) as name,
    x.setrole = 0 or r.oid in (select oid from audit.request_roles)
      or exists (select from audit.request_roles q where pg_has_role(r.oid, q.oid, 'member')) as requests
  from pg_db_role_setting x
  cross join lateral unnest(x.setconfig) s (setting)
  left join pg_roles r on r.oid = x.setrole
  left join pg_database d on d.oid = x.setdatabase
  where x.setdatabase = 0 or d.datname = current_database()
), asked as (
  select concat(p.principals, string_agg(concat(pg_get_expr(y.polqual, y.polrelid), pg_get_expr(y.polwithcheck, y.polrelid)), '')) as text
  from audit.profile p left join pg_policy y on true group by p.principals
)
select case when g.requests then 'error' else 'warning' end as severity, null as relation, g.role as object,
  concat('every session of ', g.role, ' in ' || g.datname, ' begins with ', g.setting, ': one that sets nothing works with that') as detail,
  format('alter %s%s reset %I;', case when g.oid is not null then 'role ' || g.role when g.datname is null then 'role all'
    else format('database %I', g.datname) end, case when g.oid is not null then ' in database ' || quote_ident(g.datname) end,
    g.name) as remedy
from given g
cross join asked a
where split_part(g.setting, '=', 2) not in ('', '""')
  and (strpos(lower(a.text), lower(g.name)) > 0 and g.name like '%.%'
    or lower(g.setting) ~ '^(role=|row_security=(off|false|no|0)|session_replication_role=(replica|local)|lo_compat_privileges=(on|true))');
comment on view audit.role_settings is
$$error: ALTER ROLE or ALTER DATABASE … SET gives sessions of requests a tenant, whatever else policies or the profile's principals ask
for, another role, or no policies and keys; a warning for other roles.
Why: A session that forgets to say its tenant works in that one.
Fix: Reset it.$$;
