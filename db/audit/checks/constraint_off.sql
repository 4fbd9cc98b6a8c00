create or replace view audit.constraint_off as
select case when k.contype = 'f' and audit.reached_by(t.relid) is not null then 'error' else 'warning' end as severity, t.relation,
  k.conname::text as object, format('was never validated: rows from before it may break it: %s', pg_get_constraintdef(k.oid)) as detail,
  case when coalesce((to_jsonb(k) ->> 'conenforced')::boolean, true)
    then format('alter table %s validate constraint %I;', t.relation, k.conname)
    else format('alter table %s alter constraint %I enforced;', t.relation, k.conname) end as remedy
from audit.tables t
join pg_constraint k on k.conrelid = t.relid and k.conparentid = 0 and not k.convalidated
union all
select case when bool_or(g.tgisinternal) then 'error' else 'warning' end, t.relation, min(coalesce(k.conname, g.tgname))::text,
  case when bool_or(g.tgisinternal) then format('foreign keys do not look at its rows: %s of their triggers are off',
      count(*) filter (where g.tgisinternal))
    else format('%s of its triggers are off', count(*)) end,
  format('alter table %s %s;', t.relation, string_agg(format('enable trigger %I', g.tgname), ', ' order by g.tgname))
from audit.tables t
join pg_trigger g on g.tgrelid = t.relid and g.tgenabled in ('D', 'R') and g.tgparentid = 0
left join pg_constraint k on k.oid = g.tgconstraint
group by t.relid, t.relation;
comment on view audit.constraint_off is
$$error: A foreign key of a tenants' table was never validated, or its triggers are disabled. warning: So is a CHECK, or a trigger of the
table's own.
Why: It reads like a promise and is none: rows may point into another tenant, and a load that switched triggers off left them unchecked.
Fix: Validate the constraint, enable the triggers (a foreign key's own as a superuser); then run the data checks.$$;
