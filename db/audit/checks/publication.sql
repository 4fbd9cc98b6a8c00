create or replace view audit.publication as
select 'warning' as severity, t.relation, p.pubname::text as object,
  format('the publication %s sends every tenant''s rows to its subscribers', p.pubname) as detail,
  case when r.oid is not null then format('alter publication %I drop table %s;', p.pubname, t.relation)
    else format('-- in place of %I, which is for all tables or all of a schema: one that lists its tables', p.pubname) end as remedy
from audit.tables t
join pg_publication p on true
left join pg_publication_rel r on r.prpubid = p.oid and r.prrelid = t.relid
where t.relkind in ('r', 'p') and (p.puballtables or r.oid is not null
    or exists (select from pg_publication_namespace s where s.pnpubid = p.oid and s.pnnspid = t.relnamespace))
  -- A row filter that asks for the tenant.
  and not coalesce(t.attnum is not null and r.prqual is not null and pg_get_expr(r.prqual, t.relid) ~ ('\m' || t.attname || '\M'), false)
union all
select 'warning', null, slot_name::text,
  format('the replication slot %s sends every tenant''s rows to whoever reads it, through %s: it asks no publication', slot_name, plugin),
  format('-- once nothing reads it: select pg_drop_replication_slot(%L)', slot_name)
from pg_replication_slots
where slot_type = 'logical' and plugin <> 'pgoutput' and database = current_database()
union all
select 'warning', t.relation, s.subname::text, format('the subscription %s writes it, past policies and foreign keys', s.subname),
  format('-- once the move is done: alter subscription %I disable', s.subname)
from audit.tables t
join pg_subscription_rel r on r.srrelid = t.relid
join pg_subscription s on s.oid = r.srsubid;
comment on view audit.publication is
$$warning: A publication or a replication slot sends tenants' rows, or a subscription writes them; a publication whose row filter names
the tenant aside.
Why: Replication knows no policy: a subscriber gets every tenant's rows, and what it sends is written past policies and keys.
Fix: Take the table out of it, unless the subscriber is a replica of the whole; then accept it.$$;
