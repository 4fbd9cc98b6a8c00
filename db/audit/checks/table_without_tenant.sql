create or replace view audit.table_without_tenant as
select case when audit.reached_by(r.relid) is null then 'warning' else 'error' end as severity, r.relation, null as object,
  format('refers to %s, and nothing says whose its own rows are; %s', string_agg(distinct c.relation, ', ' order by c.relation),
    coalesce(audit.reached_by(r.relid) || ' may reach it', 'no request role has a privilege on it')) as detail,
  format(E'-- add the tenant''s column, fill it from %s, make it NOT NULL, then isolate the table;\n-- or say in the profile that every '
    'tenant may see it: "per_table": {%s: null}', min(c.relation), to_json(r.relation)) as remedy
from audit.relations r
join audit.foreign_keys k on k.conrelid = r.relid
join audit.tables c on c.relid = k.confrelid
cross join audit.profile p
where r.relid not in (select relid from audit.tables) and not p.per_table ? r.relation
  and not exists (select from pg_namespace n where n.oid = r.relnamespace and n.nspname = any (p.bookkeeping))
group by r.relid, r.relation;
comment on view audit.table_without_tenant is
$$error: A table that refers to tenants' rows, by a key that may be null, and does not say whose its own rows are; a warning where no
request role has a privilege on it.
Why: No policy can be written for it, and nothing deletes its rows with their tenant.
Fix: Give it the tenant's column; or say in the profile that its rows are no tenant's.$$;
