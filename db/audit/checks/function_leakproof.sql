create or replace view audit.function_leakproof as
select case when q.roles is null then 'warning' else 'error' end as severity, f.oid::regprocedure::text as relation, null as object,
  concat('is marked LEAKPROOF by ', f.proowner::regrole, '; ' || q.roles || ' may execute it') as detail,
  format('alter function %s not leakproof;', f.oid::regprocedure) as remedy
from pg_proc f
left join audit.executed q on q.oid = f.oid
where f.proleakproof and f.oid >= 16384
  and not exists (select from pg_depend d join pg_extension e on e.oid = d.refobjid
    where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e' and f.proowner in (e.extowner, 10));
comment on view audit.function_leakproof is
$$error: A function that somebody marked LEAKPROOF and that requests may execute; a warning where they may not.
Why: Conditions that call it are asked before the policies are, of every tenant's rows: an error text, a notice or the time it takes
tells of them.
Fix: Take the mark away.$$;
