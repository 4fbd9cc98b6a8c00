import { createHash } from "node:crypto";
import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";
import { hasSampleProduct } from "../migrate/product.ts";
import {
  CHANGED,
  CUT_OFF,
  GOES_ON,
  type Header,
  headerFrom,
  ROW,
  type Trailer,
  trailerFrom,
} from "./file.ts";
import { advanceSequences, insertRows, insertTenant, replaceTenant, requireColumns } from "./insert.ts";
import { isValid, putKeys } from "./kept-keys.ts";
import { type Emptied, emptyTenant } from "./replace.ts";
import {
  BATCH,
  enter,
  isDistributed,
  type Known,
  opening,
  requireOwn,
  tablesOf,
  useStandardText,
} from "./tables.ts";

interface Transferred {
  tenant_id: string;
  slug: string;
  counts: Record<string, number>;
  /** Media whose storage address contains the exported tenant's id. */
  media_of_former_tenant: number;
  /** Of the tenant that was replaced. */
  replaced?: { rows: number; invitations_ended: number; keys_kept: number };
}

/**
 * Imports a file as a new tenant in one transaction. The tenant keeps its id if that is free and no other slug is requested.
 * `is_default` is not imported. `replaces`: not as a new one, but in place of the rows of the tenant that has its id (findReplaced()).
 * `deletesUnknown`: also of its rows in tables that the file does not know.
 * Throws StartupError.
 */
export async function importTenant(
  sql: postgres.Sql,
  lines: AsyncIterable<string>,
  newSlug: string | undefined,
  { replaces = false, deletesUnknown = false } = {},
): Promise<Transferred> {
  let place: string | undefined;
  let triggers = "";
  const work = async (transaction: postgres.TransactionSql): Promise<Transferred> => {
    const sum = createHash("sha256");
    let header: Header | undefined;
    let trailer: Trailer | undefined;
    let target: { id: string; slug: string } | undefined;
    let batch: string[] = [];
    let length = 0;
    let current: Known | undefined;
    let all: Awaited<ReturnType<typeof tablesOf>> | undefined;
    let known: Known[] = [];
    let emptied: Emptied | undefined;
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
    await useStandardText(transaction);
    for await (const text of lines) {
      number++;
      if (text === "" && trailer) continue;
      if (trailer) throw new StartupError(GOES_ON);
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
        if (replaces)
          emptied = await emptyTenant(transaction, header, all, deletesUnknown, now => {
            place = now;
          });
        place = "app.tenants refuses the tenant";
        target = replaces
          ? await replaceTenant(transaction, all.tenants, row!, header)
          : await insertTenant(transaction, all.tenants, row!, header, newSlug);
        place = undefined;
        // On Citus a second role cannot read what the transaction has written, so the owner continues, without policies.
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
    }
    if (!trailer || !header || !target) throw new StartupError(CUT_OFF);
    if (sum.digest("hex") !== trailer.sha256) throw new StartupError(CHANGED);
    for (const { name, from, narrowed_by } of known) {
      const [found] = await transaction.unsafe<{ n: string }[]>(
        `select count(*) as n from ${from} where tenant_id = $1`,
        [target.id],
      );
      const expected = trailer.counts[name] ?? 0;
      if (Number(found!.n) !== expected)
        throw new StartupError(
          `${name} has ${found!.n} rows after the import, and ${expected} were exported` +
            (narrowed_by.length > 0 ? `. A policy may hide some (${narrowed_by.join(", ")})` : "") +
            triggers,
        );
    }
    if (emptied) {
      const users = all!.tables.find(({ name }) => name === "app.users")!;
      await putKeys(transaction, all!.keys, users, target.id, emptied.keys);
    }
    const media = await countFormerMedia(transaction, target.id, header.tenant.id);
    await transaction.unsafe("reset role");
    await advanceSequences(transaction, known, target.id);
    return {
      tenant_id: target.id,
      slug: target.slug,
      counts: trailer.counts,
      media_of_former_tenant: media,
      ...(emptied && {
        replaced: {
          rows: emptied.rows,
          invitations_ended: emptied.invitations,
          keys_kept: emptied.keys.keys.filter(isValid).length,
        },
      }),
    };
  };
  try {
    return (await sql.begin(work)) as Transferred;
  } catch (error) {
    throw refusal(error, place, triggers);
  }
}

/**
 * Names the refused row as far as Postgres does; a policy violation carries no key. The detail of a failing check contains the
 * whole row, which can hold secrets, so it is left out.
 */
function refusal(error: unknown, place: string | undefined, triggers: string): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  const { code, message, detail, schema_name, table_name, routine } = error as postgres.PostgresError;
  // Deferred constraints fail at the commit.
  const where = place ?? (table_name && `${schema_name}.${table_name} refuses a row`);
  // On Citus a batch is a COPY into the shards, whose errors arrive without the original SQLSTATE.
  const told = /^(2[1-3]|42|44|P0|TM)...$/.test(code) || (routine === "ReportCopyError" && code === "XX000");
  if (!where || !told) return error;
  const key = detail && /^23(503|505|P01)$/.test(code) ? ` (${detail})` : "";
  return new StartupError(`${where}: ${message}${key}${/^2[12]/.test(code) ? "" : triggers}`);
}

/** A product's triggers would write rows that the file already contains. */
function advice(tables: Known[]): string {
  const statements = tables.flatMap(({ disabling }) => disabling);
  if (statements.length === 0) return "";
  return `\nTriggers may be why: what they write, the file has as well. As tms_owner, before an import:\n${statements.join("\n")}\nand after it, the same with enable`;
}

/** Stored files are not exported: under a new id the media still name the former tenant's files, which the audit reports. */
async function countFormerMedia(sql: postgres.TransactionSql, id: string, former: string): Promise<number> {
  if (id === former || !(await hasSampleProduct(sql))) return 0;
  const [found] = await sql<{ n: string }[]>`
    select count(*) as n from app.media where tenant_id = ${id} and position(${former}::text in storage_url) > 0`;
  return Number(found!.n);
}

/** The tables and columns of the header. One that the target does not have is an error, so that no data is lost. */
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
