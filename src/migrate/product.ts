/** The sample product: boards and what belongs to them. A database has it or not; the installed function is what says so. */
import path from "node:path";
import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";

/** As the names of files in a release begin. */
export const PRODUCT_FOLDER = path.join("db", "product", path.sep);

/** An SQL condition that a login without rights can ask. */
export const SAMPLE_PRODUCT = `exists (
  select from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where n.nspname = 'app' and p.proname = 'sample_product' and p.pronargs = 0)`;

/** What db/migrations/committed/000002-sample-product.sql asks. */
export const productSettings = (wanted: boolean | null): Record<string, string> =>
  wanted === false ? { "app.sample_product": "off" } : {};

export async function hasSampleProduct(sql: postgres.ISql): Promise<boolean> {
  const [row] = await sql.unsafe<[{ installed: boolean }]>(`select ${SAMPLE_PRODUCT} as installed`);
  return row.installed;
}

/** Before the first release the migration has decided it: by its tables. */
export async function isToHaveProduct(sql: postgres.ISql, hasRelease: boolean): Promise<boolean> {
  if (hasRelease) return hasSampleProduct(sql);
  const [row] = await sql<[{ tables: boolean }]>`select to_regclass('app.boards') is not null as tables`;
  return row.tables;
}

const PRODUCT_MIGRATION = "000002.sql";

/** Undefined: the database is new, and the migration that decides it is pending. */
export async function productOf(
  sql: postgres.ISql,
  applied: readonly { filename: string }[],
): Promise<boolean | undefined> {
  if (!applied.some(({ filename }) => filename === PRODUCT_MIGRATION)) return undefined;
  const [row] = await sql<[{ released: boolean }]>`select exists (select from control.release) as released`;
  return isToHaveProduct(sql, row.released);
}

/** @throws StartupError where the variable and the database contradict each other */
export async function refuseOtherProduct(
  sql: postgres.ISql,
  applied: readonly { filename: string }[],
  wanted: boolean | null,
): Promise<void> {
  const found = await productOf(sql, applied);
  if (found === undefined || wanted === null || wanted === found) return;
  throw new StartupError(
    found
      ? "SERVICE_SAMPLE_PRODUCT is false, and the database has the sample product. Unset the variable to keep it; " +
          "npm run tenancy -- migrate --drop-sample-product --dry-run says what to drop it would delete"
      : "SERVICE_SAMPLE_PRODUCT is true, and the database was made without the sample product, which only a new database gets: unset the variable",
  );
}
