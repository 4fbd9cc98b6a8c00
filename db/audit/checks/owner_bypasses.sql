create or replace view audit.owner_bypasses as
select case when q.oid is not null or d.definer is not null then 'error' else 'warning' end as severity, t.relation,
  o.rolname::text as object,
  case when q.oid is not null then format('belongs to %s, a request role: an owner may switch policies off', o.rolname)
    when not x.trusted then format('belongs to %s, who is none of the owners that the profile trusts', o.rolname)
    else format('row-level security is not forced: %s sees every tenant', o.rolname)
      || coalesce(', and so do requests by ' || d.definer || ', which runs as it', ', and so does what runs as it') end as detail,
  case when q.oid is not null or not x.trusted then format('-- for a role that no request acts as: alter table %s owner to …', t.relation)
    else format('alter table %s force row level security;', t.relation) end as remedy
from audit.tables t
join pg_roles o on o.oid = t.relowner
left join audit.request_roles q on q.oid = o.oid
cross join audit.profile p
cross join lateral (select cardinality(p.trusted_owners) = 0 or o.rolname = any (p.trusted_owners) as trusted) x
cross join lateral (
  select min(f.oid::regprocedure::text) as definer
  from pg_proc f
  join audit.executed e on e.oid = f.oid
  where f.prosecdef and f.proowner = t.relowner and not t.relforcerowsecurity) d
where t.relkind in ('r', 'p') and t.relrowsecurity
  and (q.oid is not null or not x.trusted or not t.relforcerowsecurity and not o.rolsuper and not o.rolbypassrls);
comment on view audit.owner_bypasses is
$$error: A table whose owner requests act as, or whose policies are not forced on its owner while requests may execute a function of that
owner; a warning where they may not, or where the owner is none that the profile trusts.
Why: Without FORCE no policy applies to the owner, nor to what runs as it; and an owner may switch the policies off.
Fix: FORCE; an owner that no request acts as.$$;
