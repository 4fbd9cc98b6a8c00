-- Who reads a tenant's rows, its own people and others.
create or replace function audit.who_reads(p_tenant text default null)
returns table (role name, login boolean, reads text, path text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
begin
  return query execute format($q$
    with held as (
      select relid, relation, relkind, relowner, relrowsecurity, relforcerowsecurity, audit.is_invoker(reloptions) as invoker
      from audit.tables
    ), strong as (
      -- Before these no policy stands.
      select r.oid, case when r.rolsuper then 'superuser' else 'BYPASSRLS, and a privilege' end as why
      from pg_roles r where r.rolsuper or r.rolbypassrls
      union all
      select h.relowner, case when bool_and(h.relforcerowsecurity) then 'owner, who may switch policies off'
        else 'owner, whom policies do not bind' end
      from held h
      where h.relkind in ('r', 'p') and h.relowner not in (select oid from pg_roles where rolsuper or rolbypassrls)
      group by h.relowner
    ), readers as (
      select r.oid, h.*, s.why
      from held h
      cross join pg_roles r
      left join strong s on s.oid = r.oid
      where r.rolname !~ '^pg_' and has_any_column_privilege(r.oid, h.relid, 'select')
    ), paths as (
      select oid, relation, why as path from readers where why is not null
      union all
      select oid, relation, 'no row-level security, and a privilege' from readers
      where why is null and relkind in ('r', 'p') and not relrowsecurity
      union all
      select r.oid, r.relation, format('the policy %%I, which is true for it', p.polname)
      from readers r
      join pg_policy p on p.polrelid = r.relid and p.polroles && array[r.oid, 0::oid]
      where r.why is null and p.polpermissive and p.polcmd in ('r', '*') and pg_get_expr(p.polqual, p.polrelid) = 'true' and not exists (
        select from pg_policy q
        where q.polrelid = r.relid and not q.polpermissive and q.polcmd in ('r', '*') and q.polroles && array[r.oid, 0::oid])
      union all
      select r.oid, r.relation, format('%%s, by the rights of %%s',
        case r.relkind when 'v' then 'a view' when 'm' then 'a materialized view' else 'a foreign table' end, pg_get_userbyid(r.relowner))
      from readers r
      where r.why is null and r.relkind in ('v', 'm', 'f') and not r.invoker
      union all
      select x.oid, 'its tenant''s rows', format('the principal %%s: %%s', p.principal, array_to_string(p.enter, '; '))
      from (%s) p (principal, enter, tenants)
      cross join lateral (select (audit.as_principal(p.enter, 'select array[current_user::pg_catalog.text]')).answer[1] as name) e
      join pg_roles x on x.rolname = e.name
      where p.tenants <> '{}' and ($1 is null or p.principal = $1 or $1 = any (p.tenants))
    ), called as (
      select r.oid, format('%%s functions', count(distinct f.oid)) as reads,
        format('functions that run as %%s: %%s …', pg_get_userbyid(f.proowner), min(f.oid::regprocedure::text)) as path
      from pg_proc f
      join pg_namespace n on n.oid = f.pronamespace and n.nspname !~ '^pg_'
      join pg_roles r on has_function_privilege(r.oid, f.oid, 'execute') and has_schema_privilege(r.oid, n.oid, 'usage')
      where f.prosecdef and f.proowner <> r.oid and r.rolname !~ '^pg_' and f.proowner in (select oid from paths)
        and r.oid not in (select oid from strong)
      group by r.oid, f.proowner
    ), direct as (
      select oid, min(relation) || case when count(distinct relation) > 1 then format(' and %%s more', count(distinct relation) - 1)
        else '' end as reads, path
      from paths
      group by oid, path
      union all
      select * from called
    )
    select r.rolname, r.rolcanlogin, d.reads, d.path
    from direct d
    join pg_roles r on r.oid = d.oid
    union all
    select m.rolname, m.rolcanlogin, min(d.reads), concat(format('member of %%I: %%s', r.rolname, min(d.path)),
      case when count(*) = 2 then ', and 1 more path' when count(*) > 2 then format(', and %%s more paths', count(*) - 1) end)
    from direct d
    join pg_roles r on r.oid = d.oid
    join pg_roles m on m.oid <> r.oid and not m.rolsuper and m.rolname !~ '^pg_' and pg_has_role(m.oid, r.oid, 'member')
    group by m.rolname, m.rolcanlogin, r.rolname
    order by 1, 4$q$, (select principals from audit.profile))
  using p_tenant;
end
$$;
comment on function audit.who_reads(text) is
$$Every role that can read rows of a tenant, and by which path. The tenant is given as the principals call it, or by its key; null: any. It
reads privileges and policies, and audit.prove() acts.
  select * from audit.who_reads('acme');$$;
