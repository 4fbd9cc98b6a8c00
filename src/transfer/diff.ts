import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";
import { summaryOf } from "./file.ts";
import { countRows, requireOwn, requireSight, settle, tablesOf } from "./tables.ts";

/** A table whose rows in the file and in the database differ in number. */
interface Difference {
  table: string;
  file: number;
  database: number;
}

interface Differences {
  tenant_id: string;
  slug: string;
  exported_at: string;
  tables: Difference[];
}

/** Counts the rows of the file's tenant here, every table in one snapshot, and compares. Throws StartupError. */
export async function diffTenant(sql: postgres.Sql, lines: AsyncIterable<string>): Promise<Differences> {
  const { header, trailer } = await summaryOf(lines);
  return (await sql.begin("isolation level repeatable read read only", async transaction => {
    await settle(transaction);
    const { tables: all } = await tablesOf(transaction);
    const [tenant] = await transaction<{ id: string; slug: string }[]>`
      select id, slug from app.tenants t where id = app.parse_uuid(${header.tenant.id})`;
    if (!tenant) throw new StartupError(`This database has no tenant with the id ${header.tenant.id}`);
    const held = new Map<string, number>();
    for (const table of all) {
      requireOwn(table);
      requireSight(table, "its rows cannot be counted");
      held.set(table.name, await countRows(transaction, table, tenant.id));
    }
    const names = new Set([...Object.keys(trailer.counts), ...held.keys()]);
    const tables = [...names].map(table => ({
      table,
      file: trailer.counts[table] ?? 0,
      database: held.get(table) ?? 0,
    }));
    return {
      tenant_id: tenant.id,
      slug: tenant.slug,
      exported_at: header.exported_at,
      tables: tables.filter(({ file, database }) => file !== database),
    };
  })) as Differences;
}
