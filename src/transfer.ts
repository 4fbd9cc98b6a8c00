/**
 * One tenant as a file, and back. The file is JSON lines: a header, one line a row, a trailer with counts and a checksum.
 * Which tables and columns is the catalog's to say, so a table isolated tomorrow is exported tomorrow. Rows are read and
 * written as tms_app inside the tenant: row level security itself keeps a file to its tenant, whoever wrote the file.
 */
import { createHash } from "node:crypto";
import type postgres from "postgres";
import { StartupError } from "./startup-error.ts";

export const FORMAT = "tenant-export";
const VERSION = 1;
const BATCH = 1_000;

interface Table {
  name: string;
  columns: string[];
}
interface Known extends Table {
  /** Its rows refer to each other: whatever their order, they fit only as one statement. */
  whole: boolean;
}
export interface Header {
  format: typeof FORMAT;
  version: number;
  exported_at: string;
  schema_version: string | null;
  tenant: { id: string; slug: string; name: string };
  tables: Table[];
}
interface Trailer {
  end: true;
  counts: Record<string, number>;
  sha256: string;
}
export interface Transferred {
  tenant_id: string;
  slug: string;
  counts: Record<string, number>;
}

/** Tenant tables, parents before children. Generated columns are left out: they follow from the others. */
async function tablesOf(sql: postgres.TransactionSql): Promise<Known[]> {
  const tables = await sql<(Known & { parents: string[] })[]>`
    select c.oid::regclass::text as name,
      (select json_agg(a.attname order by a.attnum) from pg_attribute a
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
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
    for (const { name, columns, whole } of ready) {
      left.delete(name);
      ordered.push({ name, columns, whole });
    }
  }
  return ordered;
}

async function enter(sql: postgres.TransactionSql, tenantId: string): Promise<void> {
  await sql.unsafe("set local role tms_app");
  await sql`select app.set_tenant(${tenantId})`;
}

const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Yields the lines of the file, from one snapshot; never more than a batch of rows is held. Throws StartupError. */
export async function* exportTenant(sql: postgres.Sql, slug: string): AsyncGenerator<string, void> {
  await sql`select`; // the driver never hands out a reserved connection that is its first
  const connection = await sql.reserve();
  // A reserved connection begins and ends its own transaction.
  const transaction = connection as unknown as postgres.TransactionSql;
  try {
    await transaction.unsafe("begin isolation level repeatable read read only");
    await transaction.unsafe("set local app.maintenance = 'on'");
    const [tenant] = await transaction<{ id: string; slug: string; name: string; row: string }[]>`
      select id, slug, name, to_json(t)::text as row from app.tenants t where slug = ${slug}`;
    if (!tenant) throw new StartupError(`There is no tenant with the slug ${slug}`);
    const tables = await tablesOf(transaction);
    const [at] = await transaction<{ now: string; version: string | null }[]>`
      select app.iso_time(now()) as now, app.schema_version() as version`;
    await enter(transaction, tenant.id);

    const sum = createHash("sha256");
    const line = (text: string) => {
      sum.update(`${text}\n`);
      return `${text}\n`;
    };
    const { id, name } = tenant;
    const header: Header = {
      format: FORMAT,
      version: VERSION,
      exported_at: at!.now,
      schema_version: at!.version,
      tenant: { id, slug, name },
      tables: tables.map(({ name, columns }) => ({ name, columns })),
    };
    yield line(JSON.stringify(header));
    yield line(`{"table":"app.tenants","row":${oneLine(tenant.row)}}`);
    const counts: Record<string, number> = {};
    for (const table of tables) {
      counts[table.name] = 0;
      const columns = table.columns.map(quote).join(", ");
      const rows = transaction.unsafe<{ row: string }[]>(
        `select to_json(t)::text as row from (select ${columns} from ${table.name}) t`,
        [],
        { simple: false } as object, // the simple protocol knows no cursor
      );
      for await (const batch of rows.cursor(BATCH)) {
        counts[table.name]! += batch.length;
        const start = `{"table":${JSON.stringify(table.name)},"row":`;
        yield batch.map(({ row }) => line(`${start}${oneLine(row)}}`)).join("");
      }
    }
    const trailer: Trailer = { end: true, counts, sha256: sum.digest("hex") };
    yield `${JSON.stringify(trailer)}\n`;
  } finally {
    await transaction.unsafe("rollback").catch(() => {});
    connection.release();
  }
}

/** A json column keeps its author's line ends; between tokens a space means the same, and inside strings they are escaped. */
const oneLine = (json: string) => json.replace(/[\r\n]+/g, " ");

const ROW = /^\{"table":("(?:[^"\\]|\\.)*"),"row":(.*)\}$/s;

/**
 * Writes the lines of a file as a new tenant, all or nothing. The tenant keeps its id where that is free and no other slug
 * is asked for; `is_default` is not carried over. Throws StartupError.
 */
export async function importTenant(
  sql: postgres.Sql,
  lines: AsyncIterable<string>,
  newSlug: string | undefined,
): Promise<Transferred> {
  return (await sql.begin(async transaction => {
    const sum = createHash("sha256");
    const counts: Record<string, number> = {};
    let header: Header | undefined;
    let trailer: Trailer | undefined;
    let target: { id: string; slug: string } | undefined;
    let batch: string[] = [];
    let current: Table | undefined;
    let whole = false;
    let known: Known[] = [];

    const flush = async () => {
      if (current && batch.length > 0) await insertRows(transaction, current, target!.id, batch);
      batch = [];
    };
    for await (const text of lines) {
      if (text === "" && trailer) continue;
      if (trailer) throw new StartupError("The file goes on after its end");
      if (!header) {
        header = headerFrom(text);
        known = await tablesOf(transaction);
        checkTables(known, header);
        sum.update(`${text}\n`);
        continue;
      }
      const [, table, row] = ROW.exec(text) ?? [];
      if (table === undefined) {
        trailer = trailerFrom(text);
        continue;
      }
      sum.update(`${text}\n`);
      const name = JSON.parse(table) as string;
      if (!target) {
        if (name !== "app.tenants") throw new StartupError("The file does not begin with its tenant");
        target = await insertTenant(transaction, row!, header, newSlug);
        await enter(transaction, target.id);
        continue;
      }
      if (name !== current?.name || (batch.length >= BATCH && !whole)) {
        await flush();
        current = header.tables.find(table => table.name === name);
        whole = known.find(table => table.name === name)?.whole ?? false;
        if (!current) throw new StartupError(`The file has rows of ${name}, which its header does not name`);
      }
      batch.push(row!);
      counts[name] = (counts[name] ?? 0) + 1;
    }
    await flush();
    if (!trailer || !header || !target)
      throw new StartupError("The file is cut off: its last line is missing");
    if (sum.digest("hex") !== trailer.sha256)
      throw new StartupError("The file was changed since it was exported: its checksum does not fit");
    for (const { name } of header.tables) {
      const [found] = await transaction.unsafe<{ n: string }[]>(`select count(*) as n from ${name}`);
      const expected = trailer.counts[name] ?? 0;
      if (Number(found!.n) !== expected || (counts[name] ?? 0) !== expected)
        throw new StartupError(
          `${name} has ${found!.n} rows after the import, and ${expected} were exported`,
        );
    }
    await transaction.unsafe("reset role");
    await advanceSequences(transaction, header.tables);
    return { tenant_id: target.id, slug: target.slug, counts: trailer.counts };
  })) as Transferred;
}

function parsed(text: string): Record<string, unknown> {
  try {
    const found = JSON.parse(text) as unknown;
    if (typeof found === "object" && found !== null) return found as Record<string, unknown>;
  } catch {}
  throw new StartupError("The file is not a tenant's export, or damaged: a line is no JSON object");
}

function headerFrom(text: string): Header {
  const header = parsed(text) as unknown as Header;
  if (header.format !== FORMAT) throw new StartupError("The file is not a tenant's export");
  if (header.version !== VERSION)
    throw new StartupError(
      `The file is of version ${header.version}, and this release reads version ${VERSION}`,
    );
  return header;
}

function trailerFrom(text: string): Trailer {
  const trailer = parsed(text) as unknown as Trailer;
  if (trailer.end !== true)
    throw new StartupError("The file is damaged: a line is neither a row nor the end");
  return trailer;
}

/** Nothing of the file may get lost because the target does not know it. */
function checkTables(known: Known[], header: Header): void {
  for (const { name, columns } of header.tables) {
    const here = known.find(table => table.name === name)?.columns;
    if (!here)
      throw new StartupError(
        `This database has no table ${name}, and the file (schema ${header.schema_version}) has one`,
      );
    const missing = columns.filter(column => !here.includes(column));
    if (missing.length > 0)
      throw new StartupError(`${name} has no column ${missing.join(", ")} here, and the file has`);
  }
}

async function insertTenant(
  sql: postgres.TransactionSql,
  row: string,
  { tenant }: Header,
  newSlug: string | undefined,
) {
  const slug = newSlug ?? tenant.slug;
  await sql.unsafe("set local app.maintenance = 'on'");
  await sql.unsafe("set local app.event = 'imported'");
  const [taken] = await sql`select from app.tenants where slug = ${slug}`;
  if (taken) throw new StartupError(`A tenant with the slug ${slug} exists: --slug names another one`);
  const [inserted] = await sql<{ id: string; slug: string }[]>`
    insert into app.tenants (id, name, slug, settings, status, registration, created_at, updated_at)
    select case when ${newSlug === undefined} and not exists (select from app.tenants t where t.id = r.id) then r.id else gen_random_uuid() end,
      r.name, ${slug}, r.settings, r.status, r.registration, r.created_at, r.updated_at
    from json_populate_record(null::app.tenants, ${row}::text::json) r
    returning id, slug`;
  return inserted!;
}

/** The rows as they were, but for the tenant. What a column was not given, its default gives. */
async function insertRows(
  sql: postgres.TransactionSql,
  { name, columns }: Table,
  tenantId: string,
  rows: string[],
) {
  const into = columns.map(quote).join(", ");
  const values = columns
    .map(column => (column === "tenant_id" ? "$1::uuid" : `r.${quote(column)}`))
    .join(", ");
  await sql.unsafe(
    `insert into ${name} (${into}) overriding system value
     select ${values} from json_populate_recordset(null::${name}, $2::text::json) r`,
    [tenantId, `[${rows.join(",")}]`],
  );
}

/** A number that was imported must not be given out again. */
async function advanceSequences(sql: postgres.TransactionSql, tables: Table[]): Promise<void> {
  const names = JSON.stringify(tables.map(({ name }) => name));
  const found = await sql<{ table: string; column: string; sequence: string }[]>`
    select t as table, quote_ident(a.attname) as column, pg_get_serial_sequence(t, a.attname) as sequence
    from json_array_elements_text(${names}::text::json) t
    join pg_attribute a on a.attrelid = t::regclass and a.attnum > 0 and not a.attisdropped
    where pg_get_serial_sequence(t, a.attname) is not null`;
  for (const { table, column, sequence } of found)
    await sql.unsafe(
      `select setval('${sequence.replaceAll("'", "''")}', greatest(s.last_value, m.highest))
       from ${sequence} s, (select max(${column}) as highest from ${table}) m where m.highest >= s.last_value`,
    );
}

/** The lines of a stream. Not node:readline, which also breaks lines inside JSON strings, at U+2028. */
export async function* linesOf(input: AsyncIterable<Buffer | string>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const chunk of input) {
    const lines = (rest + decoder.decode(Buffer.from(chunk), { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}
