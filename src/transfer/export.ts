import { createHash } from "node:crypto";
import type postgres from "postgres";
import { isUnreachable } from "../errors/network.ts";
import { StartupError } from "../errors/startup-error.ts";
import { FORMAT, type Header, oneLine, type Trailer, VERSION } from "./file.ts";
import {
  asTexts,
  countRows,
  enter,
  FETCHED,
  isDistributed,
  type Known,
  opening,
  requireOwn,
  requireSight,
  tablesOf,
  useStandardText,
} from "./tables.ts";

/** Yields the lines of the file from one snapshot, with only a few rows in memory. Throws StartupError. */
export async function* exportTenant(sql: postgres.Sql, slug: string): AsyncGenerator<string, void> {
  await sql`select`; // without it the driver never resolves `reserve` on its first connection
  const connection = await sql.reserve();
  // A reserved connection begins and ends its own transaction.
  const transaction = connection as unknown as postgres.TransactionSql;
  let isLost = false; // then the driver would wait for the rollback for ever
  try {
    await transaction.unsafe("begin isolation level repeatable read read only");
    await useStandardText(transaction);
    const { tenants, tables: all } = await tablesOf(transaction);
    const [tenant] = await transaction<{ id: string; slug: string; name: string }[]>`
      select id, slug, name from app.tenants t where slug = ${slug}`;
    if (!tenant) throw new StartupError(`There is no tenant with the slug ${slug}`);
    const [row] = await transaction.unsafe<{ row: string }[]>(
      `select to_json(t.*)::text as row
       from (select ${asTexts(tenants.columns, jsonOf(tenants))} from app.tenants where id = $1) t`,
      [tenant.id],
    );
    const { held, tables } = await countHeld(transaction, tenant, all);
    const [at] = await transaction<{ now: string; version: string | null }[]>`
      select app.iso_time(now()) as now, app.schema_version() as version`;
    await enter(transaction, tenant.id);
    // If a Citus worker holds the tenant, the first query there takes its snapshot.
    await transaction`select from app.users where tenant_id = ${tenant.id} limit 1`;

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
    yield line(`{"table":"app.tenants","row":${oneLine(row!.row)}}`);
    const counts: Record<string, number> = {};
    for (const table of tables) {
      counts[table.name] = 0;
      const rows = transaction.unsafe<{ row: string }[]>(
        `select to_json(t.*)::text as row
         from (select ${asTexts(table.columns, table.json_domains)} from ${table.from} where tenant_id = $1) t`,
        [id],
      );
      const start = `{"table":${JSON.stringify(table.name)},"row":`;
      for await (const batch of rows.cursor(FETCHED)) {
        counts[table.name]! += batch.length;
        for (const { row } of batch) yield line(`${start}${oneLine(row)}}`);
      }
      requireAll(table, slug, held.get(table), counts[table.name]!);
    }
    const trailer: Trailer = { end: true, counts, sha256: sum.digest("hex") };
    yield `${JSON.stringify(trailer)}\n`;
  } catch (error) {
    isLost = isUnreachable(error);
    throw error;
  } finally {
    if (!isLost) await transaction.unsafe("rollback").catch(() => {}); // the first error is the one to report
    connection.release();
  }
}

const rowsOf = (n: number, slug: string) => `${n} ${n === 1 ? "row" : "rows"} of ${slug}`;

/** For app.tenants, whose row is JSON since version 1. */
const jsonOf = ({ json, json_domains }: Known) => [...json, ...json_domains];

/** A tenant as the owner sees it, and the tables to read. A table that tms_app may not read is left out if it has no rows of the tenant. */
async function countHeld(
  sql: postgres.TransactionSql,
  { id, slug }: { id: string; slug: string },
  all: Known[],
) {
  const held = new Map<Known, number>();
  const tables: Known[] = [];
  // On Citus each role has its own snapshot on the workers, and no policies apply.
  const distributed = await isDistributed(sql);
  for (const table of all) {
    const { name, closed } = table;
    requireOwn(table);
    if (!closed) tables.push(table);
    if (!closed && distributed) continue;
    requireSight(table, "an export may be incomplete");
    const found = await countRows(sql, table, id);
    held.set(table, found);
    if (closed && found > 0)
      throw new StartupError(
        `${name} holds ${rowsOf(found, slug)}, and tms_app, who reads them, may not: ` +
          `${opening(table)}; or drop the table`,
      );
  }
  return { held, tables };
}

function requireAll({ name, narrowed_by }: Known, slug: string, held: number | undefined, seen: number) {
  if (held === undefined || held === seen) return;
  throw new StartupError(
    `${name} holds ${rowsOf(held, slug)}, and tms_app, who reads them, sees ${seen}: ${
      narrowed_by.length > 0
        ? `a policy of its own hides rows (${narrowed_by.join(", ")}). Drop it while you export, and create it again`
        : "its policies are not those that app.isolate() writes, and npm run audit says how to fix them"
    }`,
  );
}
