/** Reads a database that lives: its catalog, by the views of the audit, and how many rows have no tenant. */
import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";
import type { Answers } from "./answers.ts";
import type { Living, Table } from "./living.ts";
import { FILL, TENANCY_ID } from "./names.ts";

/** What `tenancy migrate` installs; nothing in it is the product's. Lists are sent as JSON: the driver knows no types of arrays. */
const SERVICE = JSON.stringify(["app", "api", "audit", "control", "graphile_migrate"]);

interface Profile {
  tenants?: string;
  tenant_key?: string;
  tenant_columns?: string[];
  per_table?: Record<string, string | null>;
  bookkeeping?: string[];
}

export async function readLiving(
  tx: postgres.TransactionSql,
  profile: Profile,
  answers: Answers,
): Promise<Living> {
  const tenants = await tenantsOf(tx, profile);
  await loadReadingProfile(tx, tenants, profile, answers);
  const [about] = await tx<Pick<Living, "database" | "version" | "today" | "installed" | "busy" | "own">[]>`
    select current_database() as database, current_setting('server_version_num')::int as version, current_date::text as today,
      to_regprocedure('app.tenant_id()') is not null as installed,
      array_to_json(array(
        select distinct a.usename from pg_stat_activity a join pg_roles r on r.rolname = a.usename
        where a.datname = current_database() and a.backend_type = 'client backend' and not r.rolsuper and a.usename <> session_user
        order by 1)) as busy,
      array_to_json(array(
        select relation from pg_temp.relations where relation ~ '^app\.' and relkind in ('r', 'p') order by 1)) as own`;
  const role = answers.role ?? `${about!.database}_tenant`;
  const [membership] = await tx<NonNullable<Living["membership"]>[]>`
    select m.relation, m.tenant_column as tenant, m.user_column as person, p.relation as people, u.parents[1] as key
    from pg_temp.likely_membership(${tenants.relation}::text::regclass) m
    join pg_temp.foreign_keys u on u.conrelid = m.relation::regclass and u.columns = array[m.user_column]
    join pg_temp.relations p on p.relid = u.confrelid`;
  const [found] = await tx<{ exists: boolean; unbound: string[]; views: string[] }[]>`
    select exists (select from pg_roles where rolname = ${role}) as exists,
      array_to_json(array(select rolname from pg_roles where rolsuper or rolbypassrls)) as unbound,
      array_to_json(array(
        select distinct r.relation from pg_temp.relations r
        join pg_temp.sources s on s.relid = r.relid join pg_temp.tables t on t.relid = s.source
        where r.relkind in ('v', 'm') and not (r.relkind = 'v' and pg_temp.is_invoker(r.reloptions)) order by 1)) as views`;
  const tables = await tablesOf(tx);
  const rights = await rightsOf(tx, role);
  for (const table of tables.filter(one => one.nullable && one.column !== null)) {
    const [row] = await tx<{ n: number }[]>`
      select count(*)::int as n from ${tx.unsafe(table.relation)} where ${tx(table.column!)} is null`;
    table.homeless = row!.n;
  }
  return {
    ...about!,
    role,
    roleExists: found!.exists,
    ...rights,
    uncopied: about!.installed ? await uncopied(tx, tenants) : null,
    unbound: found!.unbound,
    views: found!.views,
    tenants,
    membership: membership ?? null,
    tables,
    keys: await keysOf(tx),
  };
}

async function rightsOf(tx: postgres.TransactionSql, role: string) {
  const [rights] = await tx<Pick<Living, "enters" | "usable" | "policyMakers">[]>`
    select exists (select from pg_auth_members m where m.roleid = to_regrole('tms_app') and m.member = r.oid) as enters,
      array_to_json(array(select nspname from pg_namespace n, aclexplode(n.nspacl) a
        where a.grantee = r.oid and a.privilege_type = 'USAGE')) as usable,
      array_to_json(array(select o.rolname from pg_roles o join pg_namespace n on n.nspname = 'app'
        where has_schema_privilege(o.oid, n.oid, 'usage'))) as "policyMakers"
    from (select (select oid from pg_roles where rolname = ${role}) as oid) r`;
  return rights!;
}

/** How many tenants of the product are not the service's yet; null: those of a key that is no uuid have no id yet. */
async function uncopied(tx: postgres.TransactionSql, { relation, key, keyType }: Living["tenants"]) {
  const [row] = await tx<{ id: string | null }[]>`
    select attname as id from pg_attribute
    where attrelid = to_regclass(${relation}) and attname = ${keyType === "uuid" ? key : TENANCY_ID} and not attisdropped`;
  if (!row) return null;
  const [{ n }] = await tx<[{ n: number }]>`
    select count(*)::int as n from ${tx.unsafe(relation)} t
    where not exists (select from app.tenants a where a.id = t.${tx(row.id!)})`;
  return n;
}

/** As the file says, or else the likeliest. */
async function tenantsOf(tx: postgres.TransactionSql, profile: Profile): Promise<Living["tenants"]> {
  const [likely] = await tx<{ relation: string; key: string }[]>`
    select relation, key from pg_temp.likely_tenants
    where (${profile.tenants ?? null}::text is null and children > 0 or relation = ${profile.tenants ?? null})
      and not ${SERVICE}::text::jsonb ? split_part(relation, '.', 1)
    limit 1`;
  const relation = profile.tenants ?? likely?.relation;
  const key = profile.tenant_key ?? likely?.key;
  const [found] = await tx<{ type: string; columns: string[] }[]>`
    select format_type(a.atttypid, a.atttypmod) as type, array_to_json(array(
      select c from unnest(pg_temp.likely_columns(a.attrelid, a.attname)) c
      where exists (
        select from pg_attribute x join pg_temp.relations r on r.relid = x.attrelid
        where x.attname = c and not ${SERVICE}::text::jsonb ? split_part(r.relation, '.', 1)))) as columns
    from pg_attribute a
    where a.attrelid = to_regclass(${relation ?? null}) and a.attname = ${key ?? null} and not a.attisdropped`;
  if (!found && profile.tenants)
    throw new StartupError(`The profile names ${relation} (${key}), which this database has not`);
  if (!found)
    throw new StartupError(
      "No table looks like the tenants' one, to which the others refer: name it in the file of --answers, " +
        '{"profile": {"tenants": "public.\\"Team\\"", "tenant_key": "id"}}. A database of one organization has its own way: docs/guides/existing-tables.md',
    );
  const others = await tx<{ relation: string; children: string }[]>`
    select relation, children from pg_temp.likely_tenants
    where children > 1 and relation <> ${relation!} and not ${SERVICE}::text::jsonb ? split_part(relation, '.', 1) limit 3`;
  return {
    relation: relation!,
    key: key!,
    keyType: found.type,
    columns: profile.tenant_columns ?? found.columns,
    others: others.map(one => `${one.relation} (${one.children} tables refer to it)`),
  };
}

/** Only what its views need: which tables are whose. */
async function loadReadingProfile(
  tx: postgres.TransactionSql,
  { relation, key, columns }: Living["tenants"],
  { per_table = {}, bookkeeping = [] }: Profile,
  { tables = {} }: Answers,
) {
  const named = Object.entries(per_table).filter(([, column]) => column !== null);
  const nobodys = Object.keys(tables).filter(name => tables[name] && tables[name] !== "required");
  const unknown = await tx<{ name: string }[]>`
    select name from jsonb_array_elements_text(${JSON.stringify([...Object.keys(tables), ...named.map(([name]) => name)])}::text::jsonb) name
    where name not in (select relation from pg_temp.relations)`;
  if (unknown.length > 0)
    throw new StartupError(
      `The answers name what is not in this database: ${unknown.map(({ name }) => name).join(", ")}`,
    );
  await tx`
    insert into pg_temp.profile (tenants, tenant_key, tenant_columns, per_table, bookkeeping, request_roles, principals)
    values (${relation}::text::regclass, ${key}, array(select jsonb_array_elements_text(${JSON.stringify(columns)}::text::jsonb))::name[],
      ${JSON.stringify({ ...Object.fromEntries(named), ...Object.fromEntries(nobodys.map(name => [name, null])) })}::text::jsonb,
      array(select nspname from pg_namespace where ${SERVICE}::text::jsonb ? nspname or ${JSON.stringify(bookkeeping)}::text::jsonb ? nspname), '{}', 'select null, null, null')`;
}

function tablesOf(tx: postgres.TransactionSql): Promise<Table[]> {
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
      -- The nearest to a tenant, and rather one with which its rows go. The keys that the plan adds say that all parents agree.
      select t.*, f.relid is not null as filled, case when t.steps > 0 or f.relid is not null then
        (select k.confrelid from pg_temp.foreign_keys k cross join pg_temp.profile p join pg_temp.tables m on m.relid = k.confrelid
          where k.conrelid = t.relid and k.required and k.confrelid not in (t.relid, p.tenants)
          order by m.steps, k.confdeltype <> 'c', k.conname limit 1) end as by_parent
      from pg_temp.tables t left join filled f using (relid)
    )
    select r.relation, n.nspname as schema, c.relname as name, o.rolname as owner, c.reltuples::float8 as rows,
      pg_total_relation_size(c.oid)::float8 as bytes, t.attname as column, coalesce(not t.attnotnull, false) as nullable, 0 as homeless,
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
      exists (select from pg_trigger g where g.tgrelid = r.relid and not g.tgisinternal and g.tgtype & 16 > 0) as fires,
      (select coalesce(json_agg(json_build_object('name', y.polname, 'roles',
          array(select rolname from pg_roles where oid = any (y.polroles) order by 1)) order by y.polname), '[]')
        from pg_policy y where y.polrelid = r.relid) as policies,
      array_to_json(array(
        select distinct coalesce(g.rolname, '') from (
          select grantee from aclexplode(c.relacl)
          union select x.grantee from pg_attribute y cross join lateral aclexplode(y.attacl) x where y.attrelid = r.relid) e
        left join pg_roles g on g.oid = e.grantee where e.grantee <> c.relowner order by 1)) as granted,
      array_to_json(array(
        select s.oid::regclass::text from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
        where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = r.relid and d.deptype = 'a'
        order by 1)) as sequences,
      (select coalesce(json_agg(json_build_object('name', x.indexrelid::regclass::text, 'definition', pg_get_indexdef(x.indexrelid),
          'constraint', (select k.conname from pg_constraint k where k.conindid = x.indexrelid and k.contype in ('p', 'u', 'x')),
          'columns', array(select a.attname from generate_series(0, x.indnkeyatts - 1) i
            left join pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[i] order by i),
          'unique', x.indisunique, 'primary', x.indisprimary, 'partial', x.indpred is not null,
          'guessable', not (x.indnkeyatts = 1 and (x.indisprimary or exists (select from pg_attribute a
            where a.attrelid = x.indrelid and a.attnum = x.indkey[0] and (a.atttypid = 'uuid'::regtype or a.attidentity <> '')))),
          'referable', x.indisunique and x.indisvalid and x.indimmediate and x.indpred is null and x.indexprs is null)
        order by x.indexrelid::regclass::text), '[]')
        from pg_index x where x.indrelid = r.relid and x.indisvalid) as indexes,
      array_to_json(array(select y.relname from pg_index x join pg_class y on y.oid = x.indexrelid
        where x.indrelid = r.relid and not x.indisvalid order by 1)) as invalid,
      (select coalesce(json_agg(json_build_object('name', k.conname, 'valid', k.convalidated) order by k.conname), '[]')
        from pg_constraint k where k.conrelid = r.relid and k.contype = 'c') as checks
    from pg_temp.relations r
    join pg_class c on c.oid = r.relid
    join pg_namespace n on n.oid = c.relnamespace and not ${SERVICE}::text::jsonb ? n.nspname
    join pg_roles o on o.oid = c.relowner
    cross join pg_temp.profile p
    left join held t on t.relid = r.relid
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

function keysOf(tx: postgres.TransactionSql): Promise<Living["keys"]> {
  return tx<Living["keys"]>`
    select k.conname as name, c.relation as child, m.relation as parent, array_to_json(k.columns) as columns,
      array_to_json(k.parents) as parents, k.confdeltype as "onDelete", k.confupdtype as "onUpdate", k.convalidated as valid,
      array_to_json(array(select a.attname from pg_attribute a where a.attrelid = k.conrelid and a.attnum = any (k.confdelsetcols))) as sets,
      concat(case when x.condeferrable then ' deferrable' end, case when x.condeferred then ' initially deferred' end) as deferrable
    from pg_temp.foreign_keys k
    join pg_constraint x on x.oid = k.oid
    join pg_temp.relations c on c.relid = k.conrelid
    join pg_temp.relations m on m.relid = k.confrelid
    order by c.relation, k.conname`;
}
