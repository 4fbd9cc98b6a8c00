/** Reads a database in use: its catalog, by the views of the audit, and how many rows have no tenant. */
import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";
import { ident, literal } from "../values/sql-names.ts";
import type { Answers } from "./answers.ts";
import { openBridges } from "./bridges.ts";
import type { Living, Table } from "./living.ts";
import { TENANCY_ID } from "./names.ts";
import type { Profile } from "./profile.ts";
import { SERVICE, tablesOf } from "./read-tables.ts";

export async function readLiving(
  tx: postgres.TransactionSql,
  profile: Profile,
  answers: Answers,
): Promise<Living> {
  const tenants = await tenantsOf(tx, profile);
  await loadReadingProfile(tx, tenants, profile, answers);
  const about = await aboutDatabase(tx, answers, profile);
  refuseGoneRoles(about, answers);
  const [membership] = await tx<NonNullable<Living["membership"]>[]>`
    select m.relation, m.tenant_column as tenant, m.user_column as person, p.relation as people, u.parents[1] as key
    from pg_temp.likely_membership(${tenants.relation}::text::regclass) m
    join pg_temp.foreign_keys u on u.conrelid = m.relation::regclass and u.columns = array[m.user_column]
    join pg_temp.relations p on p.relid = u.confrelid`;
  const tables = await tablesOf(tx);
  await countHomeless(tx, tables);
  return {
    ...about,
    uncopied: about.installed ? await uncopied(tx, tenants, tables) : null,
    tenants,
    membership: membership ?? null,
    tables,
  };
}

async function aboutDatabase(
  tx: postgres.TransactionSql,
  { role, bridges = {} }: Answers,
  { trusted_owners = [], per_table = {} }: Profile,
) {
  const [about] = await tx<Omit<Living, "uncopied" | "tenants" | "membership" | "tables">[]>`
    with role as (
      select coalesce(${role ?? null}, current_database() || '_tenant') as name
    ), requests as (
      select name, r.oid from role left join pg_roles r on r.rolname = name
    )
    select current_database() as database, current_date::text as today, to_regprocedure('app.tenant_id()') is not null as installed,
      array_to_json(array(
        select distinct a.usename from pg_stat_activity a join pg_roles r on r.rolname = a.usename
        where a.datname = current_database() and a.backend_type = 'client backend' and not r.rolsuper and a.usename <> session_user
        order by 1)) as busy,
      q.name as role, q.oid is not null as "roleExists",
      exists (select from pg_auth_members m where m.roleid = to_regrole('tms_app') and m.member = q.oid) as enters,
      array_to_json(array(select nspname from pg_namespace n, aclexplode(n.nspacl) a
        where a.grantee = q.oid and a.privilege_type = 'USAGE')) as usable,
      array_to_json(array(select o.rolname from pg_roles o join pg_namespace n on n.nspname = 'app'
        where has_schema_privilege(o.oid, n.oid, 'usage'))) as "policyMakers",
      array_to_json(array(select rolname from pg_roles where rolsuper or rolbypassrls)) as unbound,
      array_to_json(array(select rolname from pg_roles
        where ${JSON.stringify([...trusted_owners, ...Object.keys(bridges)])}::text::jsonb ? rolname)) as roles,
      array_to_json(array(select k.relation from jsonb_object_keys(${JSON.stringify(per_table)}::text::jsonb) k (relation)
        where k.relation not in (select relation from pg_temp.relations))) as gone,
      array_to_json(array(
        select distinct r.relation from pg_temp.relations r
        join pg_temp.sources s on s.relid = r.relid join pg_temp.tables t on t.relid = s.source
        where r.relkind in ('v', 'm') and not (r.relkind = 'v' and pg_temp.is_invoker(r.reloptions)) order by 1)) as views,
      array_to_json(array(
        select relation from pg_temp.relations where relation ~ '^app\\.' and relkind in ('r', 'p') order by 1)) as own
    from requests q`;
  return about!;
}

/** @throws StartupError */
function refuseGoneRoles({ roles, today }: Pick<Living, "roles" | "today">, { bridges = {} }: Answers) {
  const gone = Object.keys(openBridges(bridges, today)).filter(name => !roles.includes(name));
  if (gone.length > 0)
    throw new StartupError(`"bridges" names roles that this server does not have: ${gone.join(", ")}`);
}

/** The number of rows without a tenant, of all tables in one query. */
async function countHomeless(tx: postgres.TransactionSql, tables: Table[]) {
  const asked = tables.filter(({ nullable, column }) => nullable && column !== null);
  if (asked.length === 0) return;
  const counts = await tx.unsafe<{ relation: string; n: number }[]>(
    asked
      .map(
        ({ relation, column }) =>
          `select ${literal(relation)} as relation, count(*)::float8 as n from ${relation} where ${ident(column!)} is null`,
      )
      .join(" union all "),
  );
  for (const table of asked) table.homeless = counts.find(({ relation }) => relation === table.relation)!.n;
}

/** The number of tenants that app.tenants lacks; null: the tenants have no uuid yet. */
async function uncopied(tx: postgres.TransactionSql, tenants: Living["tenants"], tables: Table[]) {
  const { relation, id } = tenants;
  const columns = tables.find(table => table.relation === relation)?.columns ?? [];
  if (id === TENANCY_ID && !columns.includes(id)) return null;
  const [row] = await tx.unsafe<{ n: number }[]>(
    `select count(*)::float8 as n from ${relation} t where not exists (select from app.tenants a where a.id = t.${ident(id)})`,
  );
  return row!.n;
}

/** The table that the profile names, or else the likeliest, by the catalog's name. */
async function tenantsOf(tx: postgres.TransactionSql, profile: Profile): Promise<Living["tenants"]> {
  const likely = await tx<{ relation: string; key: string; children: number; named: boolean }[]>`
    select relation, key, children::int as children, relid is not distinct from to_regclass(${profile.tenants ?? null}) as named
    from pg_temp.likely_tenants
    where not ${SERVICE}::text::jsonb ? split_part(relation, '.', 1)`;
  const best = likely.find(({ named, children }) => (profile.tenants ? named : children > 0));
  const key = profile.tenant_key ?? best?.key;
  const [found] = await tx<{ relation: string; type: string; columns: string[] }[]>`
    select r.relation, format_type(a.atttypid, a.atttypmod) as type, array_to_json(array(
      select c from unnest(pg_temp.likely_columns(a.attrelid, a.attname)) c
      where exists (
        select from pg_attribute x join pg_temp.relations r on r.relid = x.attrelid
        where x.attname = c and not ${SERVICE}::text::jsonb ? split_part(r.relation, '.', 1)))) as columns
    from pg_attribute a join pg_temp.relations r on r.relid = a.attrelid
    where a.attrelid = to_regclass(${profile.tenants ?? best?.relation ?? null}) and a.attname = ${key ?? null} and not a.attisdropped`;
  if (!found && profile.tenants)
    throw new StartupError(
      `This database has no table ${profile.tenants}${key ? ` with a column ${key}` : ""}, which the profile names. ` +
        "Write it with its schema, quoted as in SQL",
    );
  if (!found)
    throw new StartupError(
      "No table looks like the table of tenants, to which other tables refer. Name it in the file of --answers: " +
        '{"profile": {"tenants": "public.\\"Team\\"", "tenant_key": "id"}}. If the database belongs to one organization, see docs/guides/existing-tables.md',
    );
  const others = likely.filter(one => one.children > 1 && one.relation !== found.relation).slice(0, 3);
  return {
    relation: found.relation,
    key: key!,
    keyType: found.type,
    id: found.type === "uuid" ? key! : TENANCY_ID,
    columns: profile.tenant_columns ?? found.columns,
    others: others.map(one => `${one.relation} (${one.children} tables refer to it)`),
  };
}

/** Only what the audit's views need: how tables belong to tenants. */
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
      `The answers name tables that this database does not have: ${unknown.map(({ name }) => name).join(", ")}`,
    );
  await tx`
    insert into pg_temp.profile (tenants, tenant_key, tenant_columns, per_table, bookkeeping, request_roles, principals)
    values (${relation}::text::regclass, ${key}, array(select jsonb_array_elements_text(${JSON.stringify(columns)}::text::jsonb))::name[],
      ${JSON.stringify({ ...Object.fromEntries(named), ...Object.fromEntries(nobodys.map(name => [name, null])) })}::text::jsonb,
      array(select nspname from pg_namespace where ${SERVICE}::text::jsonb ? nspname or ${JSON.stringify(bookkeeping)}::text::jsonb ? nspname), '{}', 'select null, null, null')`;
}
