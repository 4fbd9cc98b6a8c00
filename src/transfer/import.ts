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
  opening,
  quote,
  requireOwn,
  settle,
  tablesOf,
} from "./tables.ts";

interface Transferred {
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
  let place: string | undefined;
  let triggers = "";
  const work = async (transaction: postgres.TransactionSql): Promise<Transferred> => {
    const sum = createHash("sha256");
    const counts: Record<string, number> = {};
    let header: Header | undefined;
    let trailer: Trailer | undefined;
    let target: { id: string; slug: string } | undefined;
    let batch: string[] = [];
    let length = 0;
    let current: Known | undefined;
    let all: Awaited<ReturnType<typeof tablesOf>> | undefined;
    let known: Known[] = [];
    let number = 0;

    const flush = async (end: number) => {
      if (current && batch.length > 0) {
        const [first, last] = [end - batch.length, end - 1];
        place = `${current.name} refuses ${first === last ? `the row of line ${last}` : `a row of the lines ${first} to ${last}`}`;
        const json = header!.version === 1 ? [] : current.json;
        await insertRows(transaction, current, json, target!.id, batch);
        place = undefined;
      }
      batch = [];
      length = 0;
    };
    await settle(transaction);
    for await (const text of lines) {
      number++;
      if (text === "" && trailer) continue;
      if (trailer) throw new StartupError("The file goes on after its end");
      if (!header || !all) {
        header = headerFrom(text);
        all = await tablesOf(transaction);
        known = knownOf(all.tables, header);
        if (all.deferred.length > 0)
          await transaction.unsafe(`set constraints ${all.deferred.join(", ")} deferred`);
        triggers = advice([all.tenants, ...known]);
        sum.update(`${text}\n`);
        continue;
      }
      const [, table, row] = ROW.exec(text) ?? [];
      if (table === undefined) {
        trailer = trailerFrom(text);
        await flush(number);
        continue;
      }
      sum.update(`${text}\n`);
      const name = JSON.parse(table) as string;
      if (!target) {
        if (name !== "app.tenants") throw new StartupError("The file does not begin with its tenant");
        place = "app.tenants refuses the tenant";
        target = await insertTenant(transaction, all.tenants, row!, header, newSlug);
        place = undefined;
        // On Citus no second role may work on what a transaction has written: there the owner goes on, under no policy.
        if (!(await isDistributed(transaction))) await enter(transaction, target.id);
        continue;
      }
      const full = batch.length >= BATCH.rows || length >= BATCH.length;
      if (name !== current?.name || (full && !current.whole)) {
        await flush(number);
        current = known.find(table => table.name === name);
        if (!current) throw new StartupError(`The file has rows of ${name}, which its header does not name`);
      }
      batch.push(row!);
      length += row!.length;
      counts[name] = (counts[name] ?? 0) + 1;
    }
    if (!trailer || !header || !target) throw new StartupError(CUT_OFF);
    if (sum.digest("hex") !== trailer.sha256)
      throw new StartupError("The file was changed since it was exported: its checksum does not fit");
    for (const { name, from, narrowed_by } of known) {
      const [found] = await transaction.unsafe<{ n: string }[]>(
        `select count(*) as n from ${from} where tenant_id = $1`,
        [target.id],
      );
      const expected = trailer.counts[name] ?? 0;
      if (Number(found!.n) !== expected || (counts[name] ?? 0) !== expected)
        throw new StartupError(
          `${name} has ${found!.n} rows after the import, and ${expected} were exported` +
            (narrowed_by.length > 0 ? `. A policy may hide some (${narrowed_by.join(", ")})` : "") +
            triggers,
        );
    }
    const media = await countFormerMedia(transaction, target.id, header.tenant.id);
    await transaction.unsafe("reset role");
    await advanceSequences(transaction, known, target.id);
    return {
      tenant_id: target.id,
      slug: target.slug,
      counts: trailer.counts,
      media_of_former_tenant: media,
    };
  };
  try {
    return (await sql.begin(work)) as Transferred;
  } catch (error) {
    throw refusal(error, place, triggers);
  }
}

/**
 * A row that the database refuses is named as far as may be: where a policy forbids it, Postgres tells no key. Whole rows, which
 * can hold secrets, it would tell of checks; they are left out.
 */
function refusal(error: unknown, place: string | undefined, triggers: string): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  const { code, message, detail, schema_name, table_name, routine } = error as postgres.PostgresError;
  // What a deferred constraint refuses, it refuses at the end.
  const where =
    place ?? (code.startsWith("23") && table_name && `${schema_name}.${table_name} refuses a row`);
  // On Citus a batch is a COPY into the shards: what one of them refuses comes without its SQLSTATE.
  const told = /^(2[1-3]|42|44|P0|TM)...$/.test(code) || (routine === "ReportCopyError" && code === "XX000");
  if (!where || !told) return error;
  const key = detail && /^23(503|505|P01)$/.test(code) ? ` (${detail})` : "";
  return new StartupError(`${where}: ${message}${key}${/^2[12]/.test(code) ? "" : triggers}`);
}

/** Somebody's own triggers write while an import does, and what they once wrote is in the file as well. */
function advice(tables: Known[]): string {
  const statements = tables.flatMap(({ disabling }) => disabling);
  if (statements.length === 0) return "";
  return `\nTriggers may be why: what they write, the file has as well. As tms_owner, before an import:\n${statements.join("\n")}\nand after it, the same with enable`;
}

/** Files are not carried: under a new id the media go on naming the former tenant's, which the audit reports. */
async function countFormerMedia(sql: postgres.TransactionSql, id: string, former: string): Promise<number> {
  if (id === former) return 0;
  const [found] = await sql<{ n: string }[]>`
    select count(*) as n from app.media where tenant_id = ${id} and position(${former}::text in storage_url) > 0`;
  return Number(found!.n);
}

/** The header's tables, with its columns. Nothing of the file may get lost because the target does not know it. */
function knownOf(tables: Known[], header: Header): Known[] {
  return header.tables.map(({ name, columns }) => {
    const here = tables.find(table => table.name === name);
    if (!here)
      throw new StartupError(
        `This database has no table ${name}, and the file (schema ${header.schema_version}) has one`,
      );
    requireOwn(here);
    if (here.closed)
      throw new StartupError(`tms_app, who writes the rows, may not read ${name}: ${opening(here)}`);
    requireColumns(name, columns, here.columns);
    return { ...here, columns };
  });
}

function requireColumns(name: string, columns: string[], here: string[]): void {
  const missing = columns.filter(column => !here.includes(column));
  if (missing.length > 0)
    throw new StartupError(`${name} has no column ${missing.join(", ")} here, and the file has`);
}

async function insertTenant(
  sql: postgres.TransactionSql,
  here: Known,
  row: string,
  { tenant }: Header,
  newSlug: string | undefined,
) {
  const { name, generated } = here;
  const given = keysOf(row);
  requireColumns(name, given, [...here.columns, ...generated]);
  const slug = newSlug ?? tenant.slug;
  const special = new Map([
    [
      "id",
      "case when $2 and not exists (select from app.tenants t where t.id = r.id) then r.id else gen_random_uuid() end",
    ],
    ["slug", "$3"],
  ]);
  // Files of an earlier release have generated columns too.
  const left = ["is_default", ...special.keys(), ...generated];
  const columns = [...special.keys(), ...given.filter(column => !left.includes(column))];
  await sql.unsafe("set local app.event = 'imported'");
  try {
    const [inserted] = await sql.unsafe<{ id: string; slug: string }[]>(
      `${insertion({ ...here, columns }, column => special.get(column) ?? `r.${quote(column)}`)} returning id, slug`,
      [`[${row}]`, newSlug === undefined, slug],
    );
    return inserted!;
  } catch (error) {
    const { code, constraint_name, message } = error as postgres.PostgresError;
    // Imports of one file at once may meet at the id first. Citus says the name in the message alone, with a number.
    if (code === "23505" && /\btenants_(slug_key|pkey)(_\d+)?\b/.test(constraint_name ?? message))
      throw new StartupError(`A tenant with the slug ${slug} exists: --slug names another one`);
    throw error;
  }
}

function keysOf(row: string): string[] {
  try {
    return Object.keys(JSON.parse(row) as object);
  } catch {
    throw new StartupError("The file is damaged: its tenant is no JSON object");
  }
}

/**
 * The rows as they were, but for the tenant. What a column was not given, its default gives. A text makes a value of any type but
 * those of `json`, where it would become a JSON string.
 */
async function insertRows(
  sql: postgres.TransactionSql,
  here: Known,
  json: string[],
  tenantId: string,
  rows: string[],
) {
  const value = (column: string) => {
    if (column === "tenant_id") return "$2::uuid";
    return json.includes(column) ? `(line.json ->> ${literal(column)})::json` : `r.${quote(column)}`;
  };
  await sql.unsafe(insertion(here, value), [`[${rows.join(",")}]`, tenantId]);
}

/** An insert of the rows of $1. Types are not named: tms_app may use them, but not every schema that they are in. */
function insertion({ name, columns, domains }: Known, value: (column: string) => string): string {
  // Of columns that are not given, only those of domains are looked at, and a domain may refuse null. What is given from the
  // start is not looked at again: a row without values, which only an outer join makes.
  const guarded = domains.some(column => !columns.includes(column));
  return `insert into ${name} (${columns.map(quote).join(", ")}) overriding system value
    select ${columns.map(value).join(", ")}
    from json_array_elements($1::text::json) line (json)
    ${guarded ? `left join ${name} nothing on false` : ""}
    cross join json_populate_record(${guarded ? `row(nothing.*)::${name}` : `null::${name}`}, line.json) r`;
}

/** A number that was imported must not be given out again. */
async function advanceSequences(
  sql: postgres.TransactionSql,
  tables: Known[],
  tenantId: string,
): Promise<void> {
  const names = JSON.stringify(tables.map(({ name }) => name));
  const found = await sql<
    { table: string; column: string; sequence: string; ascending: boolean; least: string; most: string }[]
  >`
    select distinct t as table, a.attname as column, s.seqrelid::regclass::text as sequence, s.seqincrement > 0 as ascending,
      s.seqmin::text as least, s.seqmax::text as most
    from json_array_elements_text(${names}::text::json) t
    join pg_attribute a on a.attrelid = t::regclass and a.attnum > 0 and not a.attisdropped
    join pg_type y on y.oid = a.atttypid
    left join pg_attrdef f on f.adrelid = a.attrelid and f.adnum = a.attnum
    join pg_depend d on d.refclassid = 'pg_class'::regclass
      and case d.classid
        when 'pg_class'::regclass then d.refobjid = a.attrelid and d.refobjsubid = a.attnum
        -- One that it does not own, and others may share.
        when 'pg_attrdef'::regclass then d.objid = f.oid end
    join pg_sequence s on s.seqrelid = case d.classid when 'pg_class'::regclass then d.objid else d.refobjid end
    where coalesce(nullif(y.typbasetype, 0), y.oid) = any ('{smallint,integer,bigint,numeric}'::regtype[])
      and has_sequence_privilege(s.seqrelid, 'select') and has_sequence_privilege(s.seqrelid, 'update')`;
  for (const { table, column, sequence, ascending, least, most } of found) {
    const { from } = tables.find(({ name }) => name === table)!;
    const [furthest, beyond] = ascending ? ["max", ">="] : ["min", "<="];
    await sql.unsafe(
      `select setval(${literal(sequence)}, furthest::bigint)
       from ${sequence} s, (
         select ${furthest}(${quote(column)}) as furthest
         from ${from} where tenant_id = $1 and ${quote(column)} between ${least} and ${most}) rows
       where furthest ${beyond} s.last_value`,
      [tenantId],
    );
  }
}
