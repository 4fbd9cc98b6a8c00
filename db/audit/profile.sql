-- What the audit must be told of a database, in one row, and what it reads from the catalog with it. Nothing here reads a table's rows.
-- Sent into pg_temp by a client (it replaces the schema's name), after: set search_path = pg_catalog, pg_temp. So nothing that the audited
-- database has in its search_path, and no operator or cast of its own, decides what these queries say.
create or replace view audit.relations as
select c.oid as relid, format('%I.%I', n.nspname, c.relname) as relation, c.relkind, c.relowner, c.relnamespace, c.relispartition,
  c.relrowsecurity, c.relforcerowsecurity, c.reloptions
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  and n.oid <> (select relnamespace from pg_class where oid = 'audit.profile'::regclass)
  -- An extension's own relations are its author's matter, unless they hold tenants' rows: anybody can add a table to an extension.
  and (not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    or exists (select from audit.profile p join pg_attribute a on a.attname = any (p.tenant_columns) where a.attrelid = c.oid));
comment on view audit.relations is
$$Every table, view, materialized view and foreign table that is not Postgres's, an extension's or the audit's own.
relation is its name with the schema, whatever the search_path. The columns rel… are those of pg_class.$$;

create or replace view audit.types as
with recursive base as (
  select oid, typbasetype as base from pg_type where typtype = 'd'
  union all
  select b.oid, t.typbasetype from base b join pg_type t on t.oid = b.base and t.typtype = 'd'
)
select t.oid, format('%I.%I', n.nspname, f.typname) as type, n.nspname = 'pg_catalog' as built_in
from pg_type t
left join (select b.oid, b.base from base b join pg_type x on x.oid = b.base and x.typtype <> 'd') d on d.oid = t.oid
join pg_type f on f.oid = coalesce(d.base, t.oid)
join pg_namespace n on n.oid = f.typnamespace;
comment on view audit.types is
  'Each type by the name of what it is made of, for a domain: of its base type. built_in: its operators and casts are Postgres''s own.';

create or replace view audit.tenant_columns as
select distinct on (r.relid) r.*, a.attname, a.attnum, a.attnotnull, e.type, e.template, format(e.template, 't') as tenant
from audit.relations r
cross join audit.profile p
join pg_namespace n on n.oid = r.relnamespace and n.nspname <> all (p.bookkeeping)
join pg_attribute a on a.attrelid = r.relid and a.attnum > 0 and not a.attisdropped
join audit.types y on y.oid = a.atttypid
left join pg_collation l on l.oid = a.attcollation
cross join lateral (select '%1$s.' || replace(quote_ident(a.attname), '%', '%%') as col) c
cross join lateral (
  select case
      -- A type of the database's own has operators and casts of its own. Its text is compared.
      when not y.built_in then format('(case when %s is not null then pg_catalog.concat(%1$s) end)', c.col)
      -- One that takes ACME for acme would take two tenants for one.
      when not l.collisdeterministic then format('(%s collate "C")', c.col)
      else c.col end as template,
    case when y.built_in then y.type else 'pg_catalog.text' end as type
) e
where case
  when p.per_table ? r.relation then a.attname = p.per_table ->> r.relation
  when r.relid = p.tenants then a.attname = p.tenant_key
  else a.attname = any (p.tenant_columns) or a.attnotnull and exists (
    select from pg_constraint k
    where k.conrelid = r.relid and k.contype = 'f' and k.confrelid = p.tenants and k.conkey = array[a.attnum])
  end
order by r.relid, array_position(p.tenant_columns, a.attname), a.attnum;
comment on view audit.tenant_columns is
$$The relations with a column that says whose a row is: one that the profile names, or else one that must refer to the tenants' table.
tenant is an expression over a row t, of the given type; format(template, 'x') is the same over a row x.$$;

create or replace view audit.foreign_keys as
select k.oid, k.conname, k.conrelid, k.confrelid, k.confdeltype, k.confupdtype, k.convalidated, k.conkey, k.confkey, k.confdelsetcols,
  array(select a.attname from unnest(k.conkey) with ordinality u (n, i)
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.n order by u.i) as columns,
  array(select a.attname from unnest(k.confkey) with ordinality u (n, i)
    join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.n order by u.i) as parents,
  (select bool_and(a.attnotnull) from pg_attribute a where a.attrelid = k.conrelid and a.attnum = any (k.conkey)) as required
from pg_constraint k
where k.contype = 'f' and k.conparentid = 0;
comment on view audit.foreign_keys is
$$Foreign keys with the names of their columns: columns of the child conrelid, parents of the parent confrelid, in the same order.
required: no column of the child may be null, so that each row has a parent. A partition's copies of its parent's keys are left out.$$;

create or replace function audit.key_condition(p_columns name[], p_parents name[], p_child text, p_parent text)
returns text
language sql
immutable
return (
  select string_agg(format('%s.%I operator(pg_catalog.=) %s.%I', p_parent, p_parents[i], p_child, p_columns[i]), ' and ' order by i)
  from generate_subscripts(p_columns, 1) i);
comment on function audit.key_condition(name[], name[], text, text) is 'The condition that joins a child''s row to its parent''s.';

create or replace view audit.through_parent as
with recursive held as materialized (
  select relid, type, template from audit.tenant_columns
), keys as materialized (
  select k.conrelid, k.confrelid, k.columns, k.parents, m.relation as parent
  from audit.foreign_keys k
  join audit.relations m on m.relid = k.confrelid
  where k.required and k.confrelid <> k.conrelid
), homeless as materialized (
  select r.relid
  from audit.relations r
  cross join audit.profile p
  join pg_namespace n on n.oid = r.relnamespace and n.nspname <> all (p.bookkeeping)
  left join held h on h.relid = r.relid
  where r.relkind in ('r', 'p') and h.relid is null and not p.per_table ? r.relation
), way as (
  select h.relid, k.confrelid as at, 1 as steps, format(' from %s t1', k.parent) as joins, array[k.confrelid] as visited,
    k.columns, k.parents
  from homeless h
  join keys k on k.conrelid = h.relid
  union all
  select w.relid, k.confrelid, w.steps + 1,
    format('%s join %s t%s on %s', w.joins, k.parent, w.steps + 1,
      audit.key_condition(k.columns, k.parents, 't' || w.steps, 't' || w.steps + 1)),
    w.visited || k.confrelid, w.columns, w.parents
  from way w
  left join held h on h.relid = w.at
  join keys k on k.conrelid = w.at and k.confrelid <> all (w.visited)
  where w.steps < 4 and h.relid is null
)
select distinct on (w.relid) w.relid, w.steps, w.visited[1] as parent, h.type, w.columns,
  format('(select %s%s where %s)', replace(format(h.template, 't' || w.steps), '%', '%%'), replace(w.joins, '%', '%%'),
    (select string_agg(format('t1.%s operator(pg_catalog.=) %%1$s.%s', replace(quote_ident(w.parents[i]), '%', '%%'),
      replace(quote_ident(w.columns[i]), '%', '%%')), ' and ' order by i) from generate_subscripts(w.columns, 1) i)) as template
from way w
join held h on h.relid = w.at
order by w.relid, w.steps, w.at;
comment on view audit.through_parent is
$$Tables without a tenant column whose rows belong to a tenant through a parent that they must have, at most four keys away.
columns are those of the first key.$$;

create or replace view audit.tables as
select c.relid, c.relation, c.relkind, c.relowner, c.relnamespace, c.relispartition, c.relrowsecurity, c.relforcerowsecurity, c.reloptions,
  c.attname, c.attnum, c.attnotnull, c.type, c.template, c.tenant, 0 as steps, null::oid as parent, array[c.attname] as tenant_by
from audit.tenant_columns c
union all
select r.*, null, null, null, w.type, w.template, format(w.template, 't'), w.steps, w.parent, w.columns
from audit.through_parent w
join audit.relations r on r.relid = w.relid;
comment on view audit.tables is
$$Everything that holds rows of tenants. tenant is an expression over a row t that says whose the row is: its column attname, or, steps keys
away, its parent's. type is that expression's; format(template, 'x') is it over a row x. tenant_by are the row's own columns that decide.$$;

create or replace view audit.request_roles as
select r.oid, r.rolname
from pg_roles r
cross join audit.profile p
where not r.rolname = any (p.sees_all) and exists (
  select from pg_roles q
  where q.rolname = any (p.request_roles) and (q.oid = r.oid or not q.rolsuper and pg_has_role(q.oid, r.oid, 'member')));
comment on view audit.request_roles is 'The roles that requests act as, and those that they can become; not those that may see all.';

create or replace view audit.reach as
select r.relid, q.oid as role, q.rolname,
  has_table_privilege(q.oid, r.relid, 'select') or has_any_column_privilege(q.oid, r.relid, 'select') as reads,
  has_any_column_privilege(q.oid, r.relid, 'insert') or has_any_column_privilege(q.oid, r.relid, 'update')
    or has_table_privilege(q.oid, r.relid, 'delete') or has_table_privilege(q.oid, r.relid, 'truncate') as writes
from audit.relations r
cross join audit.request_roles q
where has_schema_privilege(q.oid, r.relnamespace, 'usage');
comment on view audit.reach is 'What each request role may do with each relation by its privileges; policies are not asked.';

create or replace function audit.reached_by(p_relation oid)
returns text
language sql
stable
return (select string_agg(rolname, ', ' order by rolname) from audit.reach where relid = p_relation and (reads or writes));
comment on function audit.reached_by(oid) is 'The request roles with a privilege on a relation, for the sentence of a finding; null: none.';
