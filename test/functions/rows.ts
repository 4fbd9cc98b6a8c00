/** A row for every table that holds tenants' rows, made from the catalog. */
import type { Transaction } from "./support.ts";

interface Column {
  name: string;
  type: string;
  required: boolean;
}
interface Key {
  columns: string[];
  parent: string;
  parentColumns: string[];
}
export interface Table {
  name: string;
  /** The column that holds the tenant. */
  tenant: string;
  columns: Column[];
  keys: Key[];
}
export type Row = Record<string, string>;

/** The tables with tenants' rows, parents before children: those of the schema app, and others with the policy of a tenant table. */
export async function tenantTables(tx: Transaction): Promise<Table[]> {
  const tables = await tx<Table[]>`
    select c.oid::regclass::text as name, case when c.oid = 'app.tenants'::regclass then 'id' else 'tenant_id' end as tenant,
      (select json_agg(json_build_object('name', attname, 'type', format_type(atttypid, null),
                                         'required', attnotnull and not atthasdef) order by attnum)
       from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
      (select coalesce(json_agg(json_build_object('parent', k.confrelid::regclass::text,
         'columns', (select json_agg(attname order by n) from unnest(k.conkey) with ordinality as u (num, n)
                     join pg_attribute on attrelid = k.conrelid and attnum = num),
         'parentColumns', (select json_agg(attname order by n) from unnest(k.confkey) with ordinality as u (num, n)
                           join pg_attribute on attrelid = k.confrelid and attnum = num)) order by k.conname), '[]')
       from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as keys
    from pg_class c
    where c.relkind in ('r', 'p') and not c.relispartition
      and (c.relnamespace = 'app'::regnamespace
           or exists (select from pg_policy where polrelid = c.oid and polname = 'tenant_only'))`;
  const sorted: Table[] = [];
  for (let left = [...tables]; left.length > 0; ) {
    const ready = left.filter(table =>
      table.keys.every(key => !left.some(other => other.name === key.parent)),
    );
    if (ready.length === 0)
      throw new Error(`foreign keys in a circle: ${left.map(table => table.name).join()}`);
    sorted.push(...ready);
    left = left.filter(table => !ready.includes(table));
  }
  return sorted;
}

export const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
export const insert = (table: string, row: Row, rest = "") =>
  `insert into ${table} (${Object.keys(row).join()}) values (${Object.values(row).map(quoted).join()}) ${rest}`;

/** The values of a foreign key's columns that refer to these rows. */
export const pointing = (key: Key, parents: Record<string, Row>): Row =>
  Object.fromEntries(key.columns.map((column, i) => [column, parents[key.parent]![key.parentColumns[i]!]!]));

/** One row of a table: ids count up, foreign keys refer to `parents`, columns with a default keep it. */
export function makeRow(
  table: Table,
  index: number,
  tenant: string,
  parents: Record<string, Row>,
  word: string,
): Row {
  const id = `${tenant.slice(0, 35)}${(index + 1).toString(16)}`;
  const row: Row = {};
  for (const { name, type, required } of table.columns) {
    if (name === "id" && type === "uuid") row[name] = table.tenant === "id" ? tenant : id;
    else if (!required) continue;
    else if (type === "uuid") row[name] = id;
    else if (type === "text") row[name] = table.tenant === "id" && name === "slug" ? `${word}-slug` : word;
    else if (/int|numeric/.test(type)) row[name] = "1";
    else if (/^(timestamp|date)/.test(type)) row[name] = "2026-01-01";
    else if (type.startsWith("json")) row[name] = "{}";
    else if (type === "bytea") row[name] = `\\x${id.replaceAll("-", "").repeat(2)}`;
    else if (type === "boolean") row[name] = "true";
    else throw new Error(`${table.name}.${name}: teach the battery to make a ${type}`);
  }
  for (const key of table.keys) Object.assign(row, pointing(key, parents));
  if (table.tenant === "tenant_id") row.tenant_id = tenant;
  return row;
}

export function makeTenant(tables: Table[], tenant: string, word: string): Record<string, Row> {
  const rows: Record<string, Row> = {};
  for (const [index, table] of tables.entries()) rows[table.name] = makeRow(table, index, tenant, rows, word);
  return rows;
}

export async function write(tx: Transaction, rows: Record<string, Row>) {
  for (const [table, row] of Object.entries(rows)) await tx.unsafe(insert(table, row));
}
