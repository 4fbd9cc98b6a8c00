create or replace view audit.rewrite_rule as
select case when w.reached is null then 'warning' else 'error' end as severity, r.ev_class::regclass::text as relation,
  r.rulename::text as object,
  concat('what it adds runs as ', c.relowner::regrole, '; it reaches ' || s.names, '; ' || w.reached || ' may set it off') as detail,
  format(E'-- as it was made: %s\n-- 1. a trigger that does the same; 2. drop rule %I on %s',
    replace(pg_get_ruledef(r.oid), E'\n', ' '), r.rulename, r.ev_class::regclass) as remedy
from pg_rewrite r
join pg_class c on c.oid = r.ev_class
cross join lateral audit.reached_by(r.ev_class) w (reached)
cross join lateral (
  select string_agg(distinct t.relation, ', ' order by t.relation) as names
  from pg_depend d join audit.tables t on t.relid = d.refobjid
  where d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass and t.relid <> r.ev_class) s
where r.ev_type <> '1' and r.ev_enabled <> 'D'
  and (s.names is not null or r.ev_class in (select relid from audit.tables where relkind in ('r', 'p')));
comment on view audit.rewrite_rule is
$$error: A rewrite rule on a tenants' table, or one elsewhere that reaches a tenants' table, which requests may set off; a warning where
they may not.
Why: What a rule adds is executed with the privileges of its table's owner, and the owner's policies are asked.
Fix: A trigger in its place.$$;
