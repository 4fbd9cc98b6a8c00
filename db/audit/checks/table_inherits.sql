create or replace view audit.table_inherits as
select case when audit.reached_by(c.oid) is null then 'warning' else 'error' end as severity, t.relation,
  c.oid::regclass::text as object,
  concat('inherits from ', c.oid::regclass, ': a query of that shows every tenant''s rows, for only the parent''s policies are asked',
    '; ' || audit.reached_by(c.oid) || ' may reach the parent') as detail,
  format('alter table %s no inherit %s;', t.relation, c.oid::regclass) as remedy
from audit.tables t
join pg_inherits i on i.inhrelid = t.relid
join pg_class c on c.oid = i.inhparent
cross join audit.profile p
where not t.relispartition and (t.relid = p.tenants or c.oid not in (select relid from audit.tables where relrowsecurity))
union all
select 'error', t.relation, c.oid::regclass::text,
  format('%s inherits from it: to foreign keys a tenant in there is none, and to requests it is one', c.oid::regclass),
  format('alter table %s no inherit %s;', c.oid::regclass, t.relation)
from audit.profile p
join audit.tables t on t.relid = p.tenants
join pg_inherits i on i.inhparent = t.relid
join pg_class c on c.oid = i.inhrelid and not c.relispartition;
comment on view audit.table_inherits is
$$error: A tenants' table inherits from a table that has no row-level security or no tenants, or a table inherits from the tenants' table;
a warning where no request role has a privilege on the parent.
Why: A query of the parent returns the child's rows, and only the parent's policies are asked.
Fix: NO INHERIT, after whatever reads the parent reads the child as well.$$;
