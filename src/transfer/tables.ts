/**
 * Which tables and columns a tenant has is the catalog's to say, so a table isolated tomorrow is exported tomorrow. Rows are
 * read and written as tms_app inside the tenant: row-level security itself keeps a file to its tenant, whoever wrote the file.
 */
import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";

/** Rows that an export holds at once. */
export const FETCHED = 20;
/** Rows, and characters of them, from which on an import sends what it holds. */
export const BATCH = { rows: 1_000, length: 2_000_000 };

export interface Table {
  name: string;
  columns: string[];
}

export interface Known extends Table {
  /** What its own rows are read from: a child by INHERITS is a table of its own here. */
  from: string;
  owner: string;
  /** tms_app may not read all of it, or it cannot be isolated. */
  closed: boolean;
  /** The statement that opens its schema to tms_app, where that is closed. */
  entering: string;
  /** Of a child by INHERITS, the tenants' table above all others: app.isolate() of that closes the child. */
  heir_of: string | null;
  tenant_is_uuid: boolean;
  /** Its rows refer to each other: whatever their order, they fit only as one statement. */
  whole: boolean;
  generated: string[];
  /** Its columns of the types json and jsonb. */
  json: string[];
  /** Those of a domain over one of these: a domain's checks know no text, so they stay JSON. */
  json_domains: string[];
  /** Its columns of any domain, generated ones too. */
  domains: string[];
  /** Restrictive policies that somebody added for tms_app. */
  narrowed_by: string[];
  /** Those that hide rows from who asks, too. */
  blinded_by: string[];
  /** The statements that keep somebody's own triggers from writing. */
  disabling: string[];
}

/** What a foreign key refers to. */
interface Parent {
  table: string;
  /** The key's name, if it may wait for the end of a transaction. */
  waits: string | null;
  /** The statement that lets it. */
  deferring: string;
  /** A row need not refer to anything. */
  optional: boolean;
}

/**
 * A login may have settings by which names and values are written or read otherwise: without a schema, in another order, short
 * of digits.
 */
export const settle = (sql: postgres.TransactionSql) =>
  sql.unsafe(
    Object.entries({
      search_path: "pg_catalog, pg_temp",
      quote_all_identifiers: "off",
      standard_conforming_strings: "on",
      row_security: "on",
      datestyle: "'ISO'",
      intervalstyle: "'postgres'",
      extra_float_digits: "1",
      lc_monetary: "'C'",
      xmloption: "content",
      array_nulls: "on",
      "app.maintenance": "'on'",
    })
      .map(([name, value]) => `set local ${name} = ${value}`)
      .join("; "),
  );

/**
 * app.tenants, and the tenants' tables, parents before children but for the keys of circles, to be deferred. Generated columns
 * are left out: they follow from the others.
 */
export async function tablesOf(
  sql: postgres.TransactionSql,
): Promise<{ tenants: Known; tables: Known[]; deferred: string[] }> {
  const found = await sql<(Known & { parents: Parent[] })[]>`
    with recursive json_type (oid) as (
      select unnest('{json,jsonb}'::regtype[])::oid
      union select t.oid from pg_type t join json_type on t.typbasetype = json_type.oid
    ), tenant_table as (
      select c.oid, c.relname, c.relkind, c.relowner, c.relnamespace, c.relhassubclass, a.atttypid = 'uuid'::regtype as is_uuid
      from audit.relations() r
      join pg_class c on c.oid = r.relid
      join pg_attribute a on a.attrelid = r.relid and a.attname = r.tenant_column and not a.attisdropped
      where not c.relispartition
    ), reference as (
      select coalesce(pg_partition_root(conrelid), conrelid) as child, coalesce(pg_partition_root(confrelid), confrelid) as parent,
        format('alter table %s alter constraint %I deferrable;', conrelid::regclass, conname) as deferring,
        exists (select from pg_attribute where attrelid = conrelid and attnum = any (conkey) and not attnotnull) as optional,
        case when condeferrable then format('%I.%I', (select nspname from pg_namespace n where n.oid = connamespace), conname) end as waits
      from pg_constraint where contype = 'f' and conparentid = 0
    )
    select c.oid::regclass::text as name, pg_get_userbyid(c.relowner)::text as owner, c.is_uuid as tenant_is_uuid,
      case when c.relkind = 'r' and c.relhassubclass then 'only ' else '' end || c.oid::regclass as from,
      not (c.is_uuid and columns.readable and n.entering = '') as closed, n.entering,
      (with recursive above as (
         select inhparent as oid, 1 as step from pg_inherits where inhrelid = c.oid
         union all select i.inhparent, step + 1 from above join pg_inherits i on i.inhrelid = above.oid
       ) select oid::regclass::text from above where oid in (select t.oid from tenant_table t) order by step desc, 1 limit 1) as heir_of,
      columns.columns, columns.generated, columns.json, columns.json_domains, columns.domains,
      exists (select from reference where child = c.oid and parent = c.oid) as whole,
      (select coalesce(json_agg(json_build_object('table', parent::regclass::text, 'waits', waits, 'deferring', deferring, 'optional', optional)), '[]') from reference where child = c.oid and parent <> c.oid) as parents,
      (select coalesce(json_agg(quote_ident(polname) order by polname), '[]') from pg_policy
       where polrelid = c.oid and not polpermissive and polcmd in ('r', '*') and polqual is not null and polname <> 'tenant_only'
         and polroles && array[0, 'tms_app'::regrole::oid]) as narrowed_by,
      (select coalesce(json_agg(quote_ident(polname) order by polname), '[]') from pg_policy
       where polrelid = c.oid and not polpermissive and polcmd in ('r', '*') and polqual is not null and row_security_active(c.oid)
         and exists (select from unnest(polroles) role where role = 0 or pg_has_role(role, 'usage'))) as blinded_by,
      (select coalesce(json_agg(format('alter table %s disable trigger %I;', tgrelid::regclass, tgname) order by tgrelid, tgname), '[]')
       from pg_trigger join pg_proc p on p.oid = tgfoid
       where coalesce(pg_partition_root(tgrelid), tgrelid) = c.oid and not tgisinternal and tgparentid = 0 and tgenabled in ('O', 'A') and tgtype & 4 = 4 -- on insert
         and p.pronamespace <> 'control'::regnamespace) as disabling
    from tenant_table c
    cross join lateral (
      select case when has_schema_privilege('tms_app', oid, 'usage') then '' else format('grant usage on schema %I to tms_app; ', nspname) end as entering
      from pg_namespace where oid = c.relnamespace) n
    cross join lateral (
      select bool_and(has_column_privilege('tms_app', c.oid, a.attnum, 'select')) as readable,
        coalesce(json_agg(a.attname order by a.attnum) filter (where a.attgenerated = ''), '[]') as columns,
        coalesce(json_agg(a.attname) filter (where a.attgenerated <> ''), '[]') as generated,
        coalesce(json_agg(a.attname) filter (where a.atttypid = any ('{json,jsonb}'::regtype[])), '[]') as json,
        coalesce(json_agg(a.attname) filter (where t.typtype = 'd' and a.atttypid in (select oid from json_type)), '[]') as json_domains,
        coalesce(json_agg(a.attname) filter (where t.typtype = 'd'), '[]') as domains
      from pg_attribute a join pg_type t on t.oid = a.atttypid
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) columns
    order by c.relname, 1`;
  const ordered: Known[] = [];
  const deferred: string[] = [];
  const left = new Map(found.map(table => [table.name, table]));
  const tenants = left.get("app.tenants")!;
  left.delete(tenants.name);
  while (left.size > 0) {
    const all = [...left.values()];
    let ready = all.filter(({ parents }) => !parents.some(({ table }) => left.has(table)));
    // A key that may wait until the end asks for no order.
    if (ready.length === 0)
      ready = all.filter(({ parents }) => !parents.some(({ table, waits }) => !waits && left.has(table)));
    if (ready.length === 0) throw circular(all.map(({ name, parents }) => ({ name, parents })));
    for (const { parents } of ready)
      deferred.push(...parents.flatMap(({ table, waits }) => (waits && left.has(table) ? [waits] : [])));
    for (const { name } of ready) left.delete(name);
    ordered.push(...ready);
  }
  return { tenants, tables: ordered, deferred };
}

/** Which tables wait for each other, and the keys that leave an order once they may wait: of each circle one, if it can, that may be null. */
function circular(tables: { name: string; parents: Parent[] }[]): StartupError {
  let keys = tables.flatMap(({ name: child, parents }) =>
    parents.filter(({ waits }) => !waits).map(parent => ({ ...parent, child })),
  );
  const leadsTo = (from: string, to: string, seen = new Set<string>()): boolean =>
    from === to ||
    (!seen.has(from) &&
      seen.add(from) &&
      keys.some(({ child, table }) => child === from && leadsTo(table, to, seen)));
  const circles = () => keys.filter(({ child, table }) => leadsTo(table, child));
  const names = [...new Set(circles().map(({ child }) => child))];
  const statements: string[] = [];
  for (let circle = circles(); circle.length > 0; circle = circles()) {
    const key = circle.find(({ optional }) => optional) ?? circle[0]!;
    statements.push(key.deferring);
    keys = keys.filter(other => other !== key);
  }
  return new StartupError(
    `The foreign keys of ${names.join(", ")} go in a circle: no order fits. As tms_owner, here and where you import:\n${statements.join("\n")}`,
  );
}

/** What opens a table to tms_app. The gate wants a child reached through its parent alone, where its own columns are not seen. */
export const opening = ({ name, heir_of, entering }: Known) =>
  `${entering}select app.isolate(${literal(name)}) grants what requests need` +
  (heir_of === null
    ? ""
    : `; afterwards select app.isolate(${literal(heir_of)}) takes it back, as the gate asks`);

/** Whoever owns a table chooses what reading and writing it calls. */
export function requireOwn({ name, owner }: Known): void {
  if (owner !== "tms_owner")
    throw new StartupError(
      `${name} is owned by ${owner}, and what it calls would run with tms_owner's rights: alter table ${name} owner to tms_owner`,
    );
}

export async function enter(sql: postgres.TransactionSql, tenantId: string): Promise<void> {
  await sql.unsafe("set local role tms_app");
  await sql`select app.set_tenant(${tenantId})`;
}

export const isDistributed = async (sql: postgres.TransactionSql): Promise<boolean> => {
  const [database] = await sql<{ distributed: boolean }[]>`select app.is_distributed() as distributed`;
  return database!.distributed;
};

/**
 * The columns as a file has them: texts, which lose nothing, but for those that must stay JSON. A type's own output, and no cast to
 * text: that of bpchar drops blanks, and anybody's type may have one.
 */
export const asTexts = (columns: string[], json: string[]) =>
  columns
    .map(quote)
    .map((name, i) =>
      json.includes(columns[i]!)
        ? name
        : `case when num_nulls(${name}) = 0 then format('%s', ${name}) end as ${name}`,
    )
    .join(", ");

export const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
