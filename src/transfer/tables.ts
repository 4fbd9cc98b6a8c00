/**
 * Which tables and columns a tenant has is the catalog's to say, so a table isolated tomorrow is exported tomorrow. Rows are
 * read and written as tms_app inside the tenant: row level security itself keeps a file to its tenant, whoever wrote the file.
 */
import type postgres from "postgres";
import { StartupError } from "../startup-error.ts";

/** Rows that an export holds at once. */
export const FETCHED = 20;
/** Rows, and characters of them, from which on an import sends what it holds. */
export const BATCH = { rows: 1_000, length: 2_000_000 };

export interface Table {
  name: string;
  columns: string[];
}

export interface Known extends Table {
  /** Its rows refer to each other: whatever their order, they fit only as one statement. */
  whole: boolean;
  /** Its columns of the types json and jsonb. */
  json: string[];
  /** Those of a domain over one of these: a domain's checks know no text, so they stay JSON. */
  json_domains: string[];
}

/** Tenant tables, parents before children. Generated columns are left out: they follow from the others. */
export async function tablesOf(sql: postgres.TransactionSql): Promise<Known[]> {
  const tables = await sql<(Known & { parents: string[] })[]>`
    with recursive json_type (oid) as (
      select unnest('{json,jsonb}'::regtype[])::oid
      union select t.oid from pg_type t join json_type on t.typbasetype = json_type.oid)
    select c.oid::regclass::text as name,
      (select json_agg(a.attname order by a.attnum) from pg_attribute a
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
      (select coalesce(json_agg(a.attname), '[]') from pg_attribute a
       where a.attrelid = c.oid and a.attnum > 0 and a.atttypid = any ('{json,jsonb}'::regtype[])) as json,
      (select coalesce(json_agg(a.attname), '[]') from pg_attribute a join json_type on json_type.oid = a.atttypid
       where a.attrelid = c.oid and a.attnum > 0 and a.atttypid <> all ('{json,jsonb}'::regtype[])) as json_domains,
      exists (select from pg_constraint f where f.conrelid = c.oid and f.confrelid = c.oid) as whole,
      (select coalesce(json_agg(distinct f.confrelid::regclass::text), '[]') from pg_constraint f
       where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid) as parents
    from pg_class c
    where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id' and not attisdropped)
    order by c.relname`;
  const ordered: Known[] = [];
  const left = new Map(tables.map(table => [table.name, table]));
  while (left.size > 0) {
    const ready = [...left.values()].filter(({ parents }) => !parents.some(parent => left.has(parent)));
    if (ready.length === 0)
      throw new StartupError(
        `The foreign keys of ${[...left.keys()].join(", ")} go in a circle: no order fits`,
      );
    for (const { name, columns, whole, json, json_domains } of ready) {
      left.delete(name);
      ordered.push({ name, columns, whole, json, json_domains });
    }
  }
  return ordered;
}

export async function enter(sql: postgres.TransactionSql, tenantId: string): Promise<void> {
  await sql.unsafe("set local role tms_app");
  await sql`select app.set_tenant(${tenantId})`;
}

export const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
