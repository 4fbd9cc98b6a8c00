create or replace view audit.grants_beyond as
with granted as (
  select t.relation, a.grantee, a.privilege_type
  from audit.tables t
  join pg_class c on c.oid = t.relid
  cross join lateral (
    select x.grantee, x.privilege_type from aclexplode(c.relacl) x
    union
    select x.grantee, x.privilege_type from pg_attribute y cross join lateral aclexplode(y.attacl) x where y.attrelid = t.relid) a
  where t.relkind in ('r', 'p') and a.privilege_type in ('TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN') and a.grantee <> t.relowner
    and (a.grantee = 0 or a.grantee in (select oid from audit.request_roles))
)
select 'error' as severity, case when count(distinct relation) = 1 then min(relation) end as relation,
  audit.names_of_roles(array[grantee]) as object,
  format('%s may %s %s: no policy is asked', case grantee when 0 then 'everybody' else audit.names_of_roles(array[grantee]) end,
    string_agg(distinct privilege_type, ', '), case when count(distinct relation) = 1 then min(relation)
      else format('%s tables of tenants (%s …)', count(distinct relation), min(relation)) end) as detail,
  format('revoke %s on table %s from %s;', string_agg(distinct privilege_type, ', '), string_agg(distinct relation, ', '),
    audit.names_of_roles(array[grantee])) as remedy
from granted
group by grantee;
comment on view audit.grants_beyond is
$$error: TRUNCATE, REFERENCES, TRIGGER or MAINTAIN on tables of tenants, for a request role or for everybody.
Why: Row-level security does not govern them: TRUNCATE empties every tenant, a foreign key tells what others have, a trigger runs for
others.
Fix: Revoke them, and the default privilege that gave them.$$;
