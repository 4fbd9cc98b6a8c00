create or replace view audit.view_as_owner as
select case when reached is null then 'warning' else 'error' end as severity, v.relation, null as object,
  format('%s over %s: %s reads every tenant''s rows', case v.relkind when 'm' then 'is a materialized view'
      else 'is a view that runs as its owner, ' || v.relowner::regrole::text || ',' end,
    string_agg(distinct t.relation, ', ' order by t.relation), coalesce(reached, 'who is given a privilege on it')) as detail,
  case v.relkind when 'v' then format('alter view %s set (security_invoker = true);', v.relation)
    else format(E'-- 1. a view in its place, by a name of its own:\n-- create view … with (security_invoker = true) as\n%s\n'
      '-- 2. when nothing reads %s any more: revoke all on table %2$s from %s;',
      audit.commented(pg_get_viewdef(v.relid)), v.relation, coalesce(reached, '…')) end as remedy
from audit.relations v
join audit.sources s on s.relid = v.relid
join audit.tables t on t.relid = s.source and t.relkind in ('r', 'p', 'f')
cross join lateral audit.reached_by(v.relid) reached
where v.relkind in ('v', 'm') and not (v.relkind = 'v' and audit.is_invoker(v.reloptions))
  and not exists (
    select from audit.request_roles q join pg_roles r on r.oid = q.oid where q.oid = v.relowner and not r.rolsuper and not r.rolbypassrls)
group by v.relid, v.relation, v.relkind, v.relowner, reached;
comment on view audit.view_as_owner is
$$error: A view over tenants' rows that runs as its owner, or a materialized view of them, that requests may read; a warning where they
may not yet.
Why: Policies are asked for the owner and not for the reader; a materialized view has none.
Fix: security_invoker = true; in place of a materialized view a view with it.$$;
