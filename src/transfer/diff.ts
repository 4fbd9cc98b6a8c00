/** What differs between a file and its tenant here. */
import { createHash } from "node:crypto";
import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";
import { oneLine, summaryOf, VERSION } from "./file.ts";
import { KEPT, requireColumns } from "./insert.ts";
import { asTexts, type Known, requireOwn, requireSight, tablesOf, useStandardText } from "./tables.ts";

/** A table whose rows in the file and in the database differ, by their numbers of rows. */
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

/** Rows in any order: their number, and the sum of their SHA-256. */
class Contents {
  rows = 0;
  #sum = 0n;
  add(row: string): void {
    this.rows++;
    this.#sum = BigInt.asUintN(
      256,
      this.#sum + BigInt(`0x${createHash("sha256").update(row).digest("hex")}`),
    );
  }
  equals(other: Contents): boolean {
    return this.rows === other.rows && this.#sum === other.#sum;
  }
}

/** Compares the rows of the file with those of its tenant here, every table in one snapshot. Throws StartupError. */
export async function diffTenant(sql: postgres.Sql, lines: AsyncIterable<string>): Promise<Differences> {
  const file = new Map<string, Contents>();
  let tenantRow = "{}";
  const { header } = await summaryOf(lines, (table, row) => {
    if (table === "app.tenants") tenantRow = row;
    else contentsIn(file, table).add(row);
  });
  if (header.version !== VERSION)
    throw new StartupError(
      `The file is of version ${header.version}, which does not hold values exactly: export the tenant again to compare`,
    );
  return (await sql.begin("isolation level repeatable read read only", async transaction => {
    await useStandardText(transaction);
    const { tables: all, tenants } = await tablesOf(transaction);
    const [tenant] = await transaction<{ id: string; slug: string }[]>`
      select id, slug from app.tenants t where id = app.parse_uuid(${header.tenant.id})`;
    if (!tenant) throw new StartupError(`This database has no tenant with the id ${header.tenant.id}`);
    const database = new Map<string, Contents>();
    for (const table of all) {
      requireOwn(table);
      requireSight(table, "its rows cannot be compared");
      const columns = header.tables.find(({ name }) => name === table.name)?.columns ?? table.columns;
      requireColumns(table.name, columns, table.columns);
      const texts = asTexts(columns, table.json_domains);
      const found = contentsIn(database, table.name);
      for await (const rows of rowsOf(transaction, table, texts, tenant.id).cursor(COMPARED))
        for (const { row } of rows) found.add(oneLine(row));
    }
    const columns = Object.keys(JSON.parse(tenantRow) as object).filter(column => !KEPT.includes(column));
    requireColumns(tenants.name, columns, [...tenants.columns, ...tenants.generated]);
    const texts = asTexts(columns, [...tenants.json, ...tenants.json_domains]);
    const [held] = await transaction.unsafe<{ same: boolean }[]>(
      `select (select to_json(t.*)::jsonb from (select ${texts} from app.tenants where id = $1) t)
         = (select jsonb_object_agg(key, value) from jsonb_each($2::text::jsonb) where key in (select json_array_elements_text($3::text::json))) as same`,
      [tenant.id, tenantRow, JSON.stringify(columns)],
    );
    const names = [...new Set([...header.tables.map(({ name }) => name), ...database.keys()])];
    const tables = names
      .filter(name => !contentsIn(file, name).equals(contentsIn(database, name)))
      .map(table => ({
        table,
        file: contentsIn(file, table).rows,
        database: contentsIn(database, table).rows,
      }));
    if (!held!.same) tables.unshift({ table: tenants.name, file: 1, database: 1 });
    return { tenant_id: tenant.id, slug: tenant.slug, exported_at: header.exported_at, tables };
  })) as Differences;
}

/** Rows that are fetched at once. */
const COMPARED = 500;

const rowsOf = (sql: postgres.TransactionSql, { from, tenant_is_uuid }: Known, texts: string, id: string) =>
  sql.unsafe<{ row: string }[]>(
    `select to_json(t.*)::text as row
     from (${
       tenant_is_uuid
         ? `select ${texts} from ${from} where tenant_id = $1`
         : `select ${texts} from ${from} where tenant_id::text = $1`
     }) t`,
    [id],
  );

function contentsIn(contents: Map<string, Contents>, table: string): Contents {
  const found = contents.get(table) ?? new Contents();
  contents.set(table, found);
  return found;
}
