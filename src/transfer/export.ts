import { createHash } from "node:crypto";
import type postgres from "postgres";
import { StartupError } from "../startup-error.ts";
import { FORMAT, type Header, oneLine, type Trailer, VERSION } from "./file.ts";
import { enter, FETCHED, quote, tablesOf } from "./tables.ts";

/** Yields the lines of the file, from one snapshot; never more than a few rows are held. Throws StartupError. */
export async function* exportTenant(sql: postgres.Sql, slug: string): AsyncGenerator<string, void> {
  await sql`select`; // the driver never hands out a reserved connection that is its first
  const connection = await sql.reserve();
  // A reserved connection begins and ends its own transaction.
  const transaction = connection as unknown as postgres.TransactionSql;
  try {
    await transaction.unsafe("begin isolation level repeatable read read only");
    await transaction.unsafe("set local app.maintenance = 'on'");
    // A login may have settings by which texts are another's to misread, or short of digits.
    await transaction.unsafe(
      "set local datestyle = 'ISO'; set local intervalstyle = 'postgres'; set local extra_float_digits = 1",
    );
    const [tenant] = await transaction<{ id: string; slug: string; name: string; row: string }[]>`
      select id, slug, name, to_json(t.*)::text as row from app.tenants t where slug = ${slug}`;
    if (!tenant) throw new StartupError(`There is no tenant with the slug ${slug}`);
    const tables = await tablesOf(transaction);
    const [at] = await transaction<{ now: string; version: string | null }[]>`
      select app.iso_time(now()) as now, app.schema_version() as version`;
    await enter(transaction, tenant.id);
    // Where a worker holds the tenant, its snapshot is taken at the first look.
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
    yield line(`{"table":"app.tenants","row":${oneLine(tenant.row)}}`);
    const counts: Record<string, number> = {};
    for (const table of tables) {
      counts[table.name] = 0;
      const columns = table.columns
        .map(quote)
        .map((column, i) =>
          table.json_domains.includes(table.columns[i]!) ? column : `${column}::text as ${column}`,
        )
        .join(", ");
      const rows = transaction.unsafe<{ row: string }[]>(
        `select to_json(t.*)::text as row from (select ${columns} from ${table.name} where tenant_id = $1) t`,
        [id],
        { simple: false } as object, // the simple protocol knows no cursor
      );
      const start = `{"table":${JSON.stringify(table.name)},"row":`;
      for await (const batch of rows.cursor(FETCHED)) {
        counts[table.name]! += batch.length;
        for (const { row } of batch) yield line(`${start}${oneLine(row)}}`);
      }
    }
    const trailer: Trailer = { end: true, counts, sha256: sum.digest("hex") };
    yield `${JSON.stringify(trailer)}\n`;
  } finally {
    await transaction.unsafe("rollback").catch(() => {});
    connection.release();
  }
}
