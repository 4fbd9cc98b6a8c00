create or replace view audit.not_of_tenants as
select case when not w.writes or not w.reads or r.relrowsecurity and a.attname is null then 'warning' else 'error' end as severity,
  r.relation, a.attname::text as object,
  concat('does not count as tenants'', and ', audit.reached_by(r.relid), ' may ', concat_ws(' and ', case when w.reads then 'read' end,
      case when w.writes then 'write' end), ' it', case when r.relrowsecurity then ' under its policies' end,
    ', whichever tenant they act for', '; its column ' || a.attname || ' looks like an organization''s') as detail,
  format(E'-- say in the profile which column names its tenant: "per_table": {%s: "…"};\n-- or that its rows are no tenant''s: '
    '{%1$s: null}', to_json(r.relation)) as remedy
from audit.relations r
cross join audit.profile p
cross join lateral (
  select bool_or(e.reads) as reads, bool_or(e.writes) as writes
  from audit.reach e where e.relid = r.relid having bool_or(e.reads or e.writes)) w
left join lateral (
  select attname from pg_attribute
  where attrelid = r.relid and attnum > 0 and not attisdropped
    and attname ~* '^(tenant|team|org|organi[sz]ation|account|workspace|company|customer)_?id$' limit 1) a on true
where r.relid not in (select relid from audit.tables) and not p.per_table ? r.relation
  and not (r.relkind = 'v' and audit.is_invoker(r.reloptions))
  -- These are another check's: view_as_owner, table_without_tenant.
  and r.relid not in (select s.relid from audit.sources s join audit.tables t on t.relid = s.source)
  and r.relid not in (select k.conrelid from audit.foreign_keys k join audit.tables t on t.relid = k.confrelid);
comment on view audit.not_of_tenants is
$$error: A relation that requests read and write and that does not count as tenants'; a warning where they only read or only write it, or
where it has policies.
Why: The proof does not look at it. A copy of tenants' rows in it is everybody's, and so is what a request writes there.
Fix: Say in the profile whose it is, or that it is no tenant's; else revoke the privileges.$$;
