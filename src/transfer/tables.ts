/**
 * Tables and columns are read from the catalog, so a table isolated tomorrow is exported tomorrow. Rows are read and written as
 * tms_app inside the tenant: row-level security keeps even a forged file inside its tenant.
 */
import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";
import { ident, literal } from "../values/sql-names.ts";

/** Rows that an export fetches at once. */
export const FETCHED = 20;
/** An import sends a batch when it has this many rows or characters. */
export const BATCH = { rows: 1_000, length: 2_000_000 };

/**
 * Neither exported nor imported: a token or a key is good in one place only, and a file from yesterday must not open again what was used
 * or revoked today. The users that keys are stay in the file, because rows refer to them.
 */
const STAYS = ["app.invitations", "app.api_keys"] as const;

export interface Table {
  name: string;
  columns: string[];
}

export interface Known extends Table {
  /** The `from` item for its own rows, without those of children by INHERITS. */
  from: string;
  owner: string;
  /** tms_app may not read every column, or the table cannot be isolated. */
  closed: boolean;
  /** The grant that lets tms_app use the schema; empty if it can. */
  entering: string;
  tenant_is_uuid: boolean;
  /** Its rows reference each other, so they must be inserted in one statement. */
  whole: boolean;
  generated: string[];
  /** Its columns of the types json and jsonb. */
  json: string[];
  /** Columns of a domain over json or jsonb. They stay JSON, because the domain's checks expect it. */
  json_domains: string[];
  /** Columns of a domain type, including generated ones. */
  domains: string[];
  /** Restrictive policies that a product added for tms_app. */
  narrowed_by: string[];
  /** Those that also hide rows from the current login. */
  blinded_by: string[];
  /** The statements that disable a product's own triggers. */
  disabling: string[];
}

/** The referenced table of a foreign key. */
interface Parent {
  table: string;
  /** The key's name if it is deferrable. */
  waits: string | null;
  /** The statement that makes it deferrable. */
  deferring: string;
  /** A referencing column is nullable. */
  optional: boolean;
}

/**
 * A login's own settings may change how names and values are printed and parsed.
 */
export const useStandardText = (sql: postgres.TransactionSql) =>
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
 * app.tenants, what no file has, and the other tenant tables, parents before children; foreign keys that form a circle are in
 * `deferred`. Generated columns are left out.
 */
export async function tablesOf(
  sql: postgres.TransactionSql,
): Promise<{ tenants: Known; invitations: Known; keys: Known; tables: Known[]; deferred: string[] }> {
  const found = await sql<(Known & { parents: Parent[] })[]>`
    with recursive json_type (oid) as (
      select unnest('{json,jsonb}'::regtype[])::oid
      union select t.oid from pg_type t join json_type on t.typbasetype = json_type.oid
    ), tenant_table as (
      select c.oid, c.relname, c.relkind, c.relowner, c.relnamespace, c.relhassubclass, a.atttypid = 'uuid'::regtype as is_uuid
      from audit.tenant_columns r
      join pg_class c on c.oid = r.relid
      join pg_attribute a on a.attrelid = r.relid and a.attnum = r.attnum
      where c.relkind in ('r', 'p') and not c.relispartition and (a.attname = 'tenant_id' or c.oid = 'app.tenants'::regclass)
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
  const [tenants, invitations, keys] = ["app.tenants", ...STAYS].map(name => left.get(name)!);
  for (const name of ["app.tenants", ...STAYS]) left.delete(name);
  while (left.size > 0) {
    const all = [...left.values()];
    let ready = all.filter(({ parents }) => !parents.some(({ table }) => left.has(table)));
    // A deferrable key requires no order.
    if (ready.length === 0)
      ready = all.filter(({ parents }) => !parents.some(({ table, waits }) => !waits && left.has(table)));
    if (ready.length === 0) throw circular(all.map(({ name, parents }) => ({ name, parents })));
    for (const { parents } of ready)
      deferred.push(...parents.flatMap(({ table, waits }) => (waits && left.has(table) ? [waits] : [])));
    for (const { name } of ready) left.delete(name);
    ordered.push(...ready);
  }
  return { tenants: tenants!, invitations: invitations!, keys: keys!, tables: ordered, deferred };
}

/** The tables of each circle, and one key in each to make deferrable, preferably a nullable one. */
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
    `The foreign keys of ${names.join(", ")} form a circle, so no order of the rows fits. Make one key deferrable, as tms_owner, in this database and in the target:\n${statements.join("\n")}`,
  );
}

/** The statements that open a table to tms_app. */
export const opening = ({ name, entering }: Known) =>
  `${entering}select app.isolate(${literal(name)}) grants what requests need`;

/** A table's owner controls the code that runs when it is read or written. */
export function requireOwn({ name, owner }: Known): void {
  if (owner !== "tms_owner")
    throw new StartupError(
      `${name} is owned by ${owner}, and what it calls would run with tms_owner's rights: alter table ${name} owner to tms_owner`,
    );
}

/** Throws if a policy hides rows from tms_owner as well. `consequence` is what that means for the command. */
export function requireSight({ name, blinded_by: [hides] }: Known, consequence: string): void {
  if (hides !== undefined)
    throw new StartupError(
      `The policy ${hides} of ${name} hides rows from tms_owner too, so ${consequence}: ` +
        `alter policy ${hides} on ${name} to tms_app`,
    );
}

/** The rows of a tenant that the current role sees. */
export async function countRows(
  sql: postgres.TransactionSql,
  { from, tenant_is_uuid }: Known,
  id: string,
): Promise<number> {
  const [found] = await sql.unsafe<{ n: string }[]>(
    tenant_is_uuid
      ? `select count(*) as n from ${from} where tenant_id = $1`
      : `select count(*) as n from ${from} where tenant_id::text = $1`,
    [id],
  );
  return Number(found!.n);
}

export async function enter(sql: postgres.TransactionSql, tenantId: string): Promise<void> {
  // In this order: where a proof is required, tms_owner enters without one, and tms_app does not.
  await sql`select app.set_tenant(${tenantId})`;
  await sql.unsafe("set local role tms_app");
}

export const isDistributed = async (sql: postgres.TransactionSql): Promise<boolean> => {
  const [database] = await sql<{ distributed: boolean }[]>`select app.is_distributed() as distributed`;
  return database!.distributed;
};

/**
 * Select list for the file: text, which loses nothing, except for columns that must stay JSON. format() uses the type's output
 * function; a cast to text may differ, as for bpchar, whose cast drops blanks.
 */
export const asTexts = (columns: string[], json: string[]) =>
  columns
    .map(ident)
    .map((name, i) =>
      json.includes(columns[i]!)
        ? name
        : `case when num_nulls(${name}) = 0 then format('%s', ${name}) end as ${name}`,
    )
    .join(", ");
