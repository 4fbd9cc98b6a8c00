import { createHash } from "node:crypto";
import type postgres from "postgres";
import { StartupError } from "../startup-error.ts";
import { CUT_OFF, type Header, headerFrom, ROW, type Trailer, trailerFrom } from "./file.ts";
import {
  BATCH,
  enter,
  isDistributed,
  type Known,
  literal,
  quote,
  requireOwn,
  settle,
  type Table,
  tablesOf,
} from "./tables.ts";

export interface Transferred {
  tenant_id: string;
  slug: string;
  counts: Record<string, number>;
  /** Media whose storage address holds the id that the tenant had where it was exported. */
  media_of_former_tenant: number;
}

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
    let length = 0;
    let current: Table | undefined;
    let here: Known | undefined;
    let known: Known[] = [];

    const flush = async () => {
      if (current && batch.length > 0)
        await insertRows(transaction, current, header!.version === 1 ? [] : here!.json, target!.id, batch);
      batch = [];
      length = 0;
    };
    await settle(transaction);
    for await (const text of lines) {
      if (text === "" && trailer) continue;
      if (trailer) throw new StartupError("The file goes on after its end");
      if (!header) {
        header = headerFrom(text);
        known = (await tablesOf(transaction)).tables;
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
        await enterNew(transaction, target.id);
        continue;
      }
      const full = batch.length >= BATCH.rows || length >= BATCH.length;
      if (name !== current?.name || (full && !here?.whole)) {
        await flush();
        current = header.tables.find(table => table.name === name);
        here = known.find(table => table.name === name);
        if (!current) throw new StartupError(`The file has rows of ${name}, which its header does not name`);
      }
      batch.push(row!);
      length += row!.length;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    await flush();
    if (!trailer || !header || !target) throw new StartupError(CUT_OFF);
    if (sum.digest("hex") !== trailer.sha256)
      throw new StartupError("The file was changed since it was exported: its checksum does not fit");
    for (const { name, from, narrowed_by } of known.filter(({ name }) =>
      header!.tables.some(table => table.name === name),
    )) {
      const [found] = await transaction.unsafe<{ n: string }[]>(
        `select count(*) as n from ${from} where tenant_id = $1`,
        [target.id],
      );
      const expected = trailer.counts[name] ?? 0;
      if (Number(found!.n) !== expected || (counts[name] ?? 0) !== expected)
        throw new StartupError(
          `${name} has ${found!.n} rows after the import, and ${expected} were exported` +
            (narrowed_by.length > 0 ? `. A policy may hide some (${narrowed_by.join(", ")})` : ""),
        );
    }
    const media = await countFormerMedia(transaction, target.id, header.tenant.id);
    await transaction.unsafe("reset role");
    await advanceSequences(transaction, header.tables);
    return {
      tenant_id: target.id,
      slug: target.slug,
      counts: trailer.counts,
      media_of_former_tenant: media,
    };
  })) as Transferred;
}

/** Files are not carried: under a new id the media go on naming the former tenant's, which the audit reports. */
async function countFormerMedia(sql: postgres.TransactionSql, id: string, former: string): Promise<number> {
  if (id === former) return 0;
  const [found] = await sql<{ n: string }[]>`
    select count(*) as n from app.media where tenant_id = ${id} and position(${former}::text in storage_url) > 0`;
  return Number(found!.n);
}

/** Nothing of the file may get lost because the target does not know it. */
function checkTables(known: Known[], header: Header): void {
  for (const { name, columns } of header.tables) {
    const here = known.find(table => table.name === name);
    if (!here)
      throw new StartupError(
        `This database has no table ${name}, and the file (schema ${header.schema_version}) has one`,
      );
    requireOwn(here);
    if (here.closed)
      throw new StartupError(
        `tms_app, who writes the rows, may not read ${name}: select app.isolate(${literal(name)}) grants what requests need`,
      );
    const missing = columns.filter(column => !here.columns.includes(column));
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
  await sql.unsafe("set local app.event = 'imported'");
  const [inserted] = await sql<{ id: string; slug: string }[]>`
    insert into app.tenants (id, name, slug, settings, status, registration, created_at, updated_at)
    select case when ${newSlug === undefined} and not exists (select from app.tenants t where t.id = r.id) then r.id else gen_random_uuid() end,
      r.name, ${slug}, r.settings, r.status, r.registration, r.created_at, r.updated_at
    from json_populate_record(null::app.tenants, ${row}::text::json) r
    on conflict do nothing
    returning id, slug`;
  if (!inserted) throw new StartupError(`A tenant with the slug ${slug} exists: --slug names another one`);
  return inserted;
}

/** On Citus no second role may work on what a transaction has written: there the owner goes on, under no policy. */
async function enterNew(sql: postgres.TransactionSql, tenantId: string): Promise<void> {
  if (!(await isDistributed(sql))) await enter(sql, tenantId);
}

/**
 * The rows as they were, but for the tenant. What a column was not given, its default gives. A text makes a value of any type but
 * those of `json`, where it would become a JSON string.
 */
async function insertRows(
  sql: postgres.TransactionSql,
  { name, columns }: Table,
  json: string[],
  tenantId: string,
  rows: string[],
) {
  const into = columns.map(quote).join(", ");
  const values = columns.map(column => {
    if (column === "tenant_id") return "$1::uuid";
    return json.includes(column) ? `(line.json ->> ${literal(column)})::json` : `r.${quote(column)}`;
  });
  await sql.unsafe(
    `insert into ${name} (${into}) overriding system value
     select ${values.join(", ")}
     from json_array_elements($2::text::json) line (json), json_populate_record(null::${name}, line.json) r`,
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
      `select setval(${literal(sequence)}, greatest(s.last_value, m.highest))
       from ${sequence} s, (select max(${column}) as highest from ${table}) m where m.highest >= s.last_value`,
    );
}
