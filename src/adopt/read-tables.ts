/** The tables of a database in use with their columns, indexes, foreign keys, policies and privileges. */
import type postgres from "postgres";
import type { Table } from "./living.ts";
import { FILL } from "./names.ts";

/** The schemas that `tenancy migrate` makes. Lists are sent as JSON, since the driver does not know the types of arrays. */
export const SERVICE = JSON.stringify(["app", "api", "audit", "control", "graphile_migrate"]);

export function tablesOf(tx: postgres.TransactionSql): Promise<Table[]> {
  return tx<Table[]>`
    with members as (
      select u.confrelid as relid
      from pg_temp.profile p
      join pg_temp.foreign_keys k on k.confrelid = p.tenants
      join pg_temp.foreign_keys u on u.conrelid = k.conrelid and u.confrelid <> p.tenants
      join pg_temp.relations r on r.relid = u.confrelid and r.relation ~* 'user|person|people|profile|identit'
      where u.confrelid not in (select relid from pg_temp.tables where steps > 0 or attnotnull)
    ), filled as (
      select tgrelid as relid from pg_trigger where tgname = ${FILL}
    ), held as (
      -- The parent nearest to a tenant; of two, one that deletes its children. While columns are being filled, one
      -- that is full comes first: two tables may refer to each other. The keys that the plan adds enforce that all parents agree.
      select t.*, f.relid is not null as filled, case when t.steps > 0 or f.relid is not null then
        (select k.confrelid from pg_temp.foreign_keys k cross join pg_temp.profile p join pg_temp.tables m on m.relid = k.confrelid
          where k.conrelid = t.relid and k.required and k.confrelid not in (t.relid, p.tenants)
          order by m.attnotnull is not true, m.steps, k.confdeltype <> 'c', k.conname limit 1) end as by_parent
      from pg_temp.tables t left join filled f using (relid)
    )
    select r.relation, n.nspname as schema, c.relname as name, o.rolname as owner, c.reltuples::float8 as rows,
      pg_total_relation_size(c.oid)::float8 as bytes, t.attname as column,
      coalesce(t.attname, p.tenant_columns[1], 'tenant_id') as "tenantColumn", coalesce(not t.attnotnull, false) as nullable, 0 as homeless,
      coalesce(t.filled, false) as filled, c.relkind = 'p' as partitioned, r.relrowsecurity as enabled, r.relforcerowsecurity as forced,
      case
        when r.relid = p.tenants then 'tenants'
        when t.by_parent is not null then 'parent'
        when t.steps = 0 and t.attnotnull then 'direct'
        when t.steps = 0 then 'nullable'
        when r.relid in (select relid from members) then 'people'
        when u.names is not null and up.names is null then 'of people'
        when up.names is not null then 'optional parent'
        when c.relname ~* '(migration|schema_version|schema_history|databasechangelog)' and up.names is null and down.names is null
          then 'migrations'
        when down.names is not null then 'shared'
        else 'unknown' end as class,
      coalesce(up.names, down.names, u.names) as via,
      (select row_to_json(x) from (
        select m.relation, k.columns, k.parents from pg_temp.foreign_keys k join pg_temp.relations m on m.relid = k.confrelid
        where k.conrelid = r.relid and k.confrelid = t.by_parent and k.required order by k.conname limit 1) x) as parent,
      (select json_agg(a.attname order by a.attnum) from pg_attribute a
        where a.attrelid = r.relid and a.attnum > 0 and not a.attisdropped) as columns,
      array_to_json(array(select a.attname from pg_attribute a where a.attrelid = r.relid and a.attnum > 0 and a.attnotnull)) as required,
      (select coalesce(json_agg(json_build_object('name', y.polname, 'roles',
          array(select rolname from pg_roles where oid = any (y.polroles) order by 1)) order by y.polname), '[]')
        from pg_policy y where y.polrelid = r.relid) as policies,
      e.granted, e.writers,
      array_to_json(array(
        select g.rolname from pg_roles g
        where t.by_parent is not null and g.oid <> c.relowner and has_any_column_privilege(g.oid, r.relid, 'insert')
          and not has_any_column_privilege(g.oid, t.by_parent, 'select') order by 1)) as blind,
      array_to_json(array(
        select s.oid::regclass::text from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
        where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = r.relid and d.deptype = 'a'
        order by 1)) as sequences,
      (select coalesce(json_agg(json_build_object('name', x.indexrelid::regclass::text, 'relname', y.relname, 'method', quote_ident(m.amname),
          -- The definition begins with names that may contain any text, so it is cut by length.
          'keys', substr(pg_get_indexdef(x.indexrelid), 1 + length(format('CREATE %sINDEX %I ON %s%s USING %I ',
            case when x.indisunique then 'UNIQUE ' end, y.relname, case y.relkind when 'I' then 'ONLY ' end, r.relation, m.amname))),
          'constraint', (select k.conname from pg_constraint k where k.conindid = x.indexrelid and k.contype in ('p', 'u', 'x')),
          'columns', array(select a.attname from generate_series(0, x.indnkeyatts - 1) i
            left join pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[i] order by i),
          'unique', x.indisunique, 'primary', x.indisprimary, 'partial', x.indpred is not null,
          'guessable', not (x.indnkeyatts = 1 and (x.indisprimary or exists (select from pg_attribute a
            where a.attrelid = x.indrelid and a.attnum = x.indkey[0] and (a.atttypid = 'uuid'::regtype or a.attidentity <> '')))),
          'referable', x.indisunique and x.indisvalid and x.indimmediate and x.indpred is null and x.indexprs is null)
        order by x.indexrelid::regclass::text), '[]')
        from pg_index x join pg_class y on y.oid = x.indexrelid join pg_am m on m.oid = y.relam
        where x.indrelid = r.relid and x.indisvalid) as indexes,
      array_to_json(array(select y.relname from pg_index x join pg_class y on y.oid = x.indexrelid
        where x.indrelid = r.relid and not x.indisvalid order by 1)) as invalid,
      (select coalesce(json_agg(json_build_object('name', k.conname, 'clause', pg_get_expr(k.conbin, k.conrelid), 'valid', k.convalidated) order by k.conname), '[]')
        from pg_constraint k where k.conrelid = r.relid and k.contype = 'c') as checks,
      (select coalesce(json_agg(json_build_object('name', k.conname, 'parent', m.relation, 'columns', k.columns, 'parents', k.parents,
          'onDelete', k.confdeltype, 'onUpdate', k.confupdtype, 'full', x.confmatchtype = 'f', 'valid', k.convalidated,
          'hidden', k.confrelid in (select relid from pg_temp.tables union all select relid from members union all select p.tenants),
          'sets', array(select a.attname from pg_attribute a where a.attrelid = k.conrelid and a.attnum = any (k.confdelsetcols)),
          'deferrable', concat(case when x.condeferrable then ' deferrable' end, case when x.condeferred then ' initially deferred' end))
        order by k.conname), '[]')
        from pg_temp.foreign_keys k join pg_constraint x on x.oid = k.oid join pg_temp.relations m on m.relid = k.confrelid
        where k.conrelid = r.relid) as keys
    from pg_temp.relations r
    join pg_class c on c.oid = r.relid
    join pg_namespace n on n.oid = c.relnamespace and not ${SERVICE}::text::jsonb ? n.nspname
    join pg_roles o on o.oid = c.relowner
    cross join pg_temp.profile p
    left join held t on t.relid = r.relid
    cross join lateral (
      select coalesce(json_agg(distinct role order by role), '[]') as granted,
        coalesce(json_agg(distinct role order by role) filter (where writes), '[]') as writers
      from (
        select coalesce(g.rolname, '') as role, a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') as writes
        from (select c.relacl as acl union all select attacl from pg_attribute where attrelid = r.relid) l
        cross join lateral aclexplode(l.acl) a
        left join pg_roles g on g.oid = a.grantee
        where a.grantee <> c.relowner) x) e
    cross join lateral (
      select string_agg(distinct m.relation, ', ') as names from pg_temp.foreign_keys k join pg_temp.tables m on m.relid = k.confrelid
      where k.conrelid = r.relid and k.confrelid <> r.relid and r.relid <> p.tenants) up
    cross join lateral (
      select string_agg(distinct m.relation, ', ') as names from pg_temp.foreign_keys k join pg_temp.tables m on m.relid = k.conrelid
      where k.confrelid = r.relid and k.conrelid <> r.relid) down
    cross join lateral (
      select string_agg(distinct m.relation, ', ') as names from pg_temp.foreign_keys k join pg_temp.relations m on m.relid = k.confrelid
      where k.conrelid = r.relid and k.confrelid in (select relid from members) and k.confrelid <> r.relid) u
    where r.relkind in ('r', 'p') and not c.relispartition
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = r.relid and d.deptype = 'e')
    order by r.relid <> p.tenants, r.relation`;
}
