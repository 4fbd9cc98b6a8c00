/** Takes the sample product out of a database: its rows, its tables, its functions. */
import path from "node:path";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { onConnection } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { hasState } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { installedRelease, installWithin } from "./installer.ts";
import { migrateTurn, takeLock } from "./lock.ts";
import { requireOwnerUrl } from "./owner-url.ts";
import { hasSampleProduct } from "./product.ts";
import { isRelease, RELEASE, releaseHash } from "./release.ts";
import { INSTALLER_SESSION, settle } from "./session.ts";
import { readSqlFile } from "./sql-files.ts";

const FOLDER = path.join(PACKAGE_ROOT, "db", "product");
/** In the order of db/product/tables.sql. */
const tables = () =>
  readSqlFile(path.join(FOLDER, "tables.sql")).flatMap(({ text }) =>
    [...text.matchAll(/^create table (app\.\w+)/gm)].map(([, name]) => name!),
  );

interface Lost {
  table: string;
  rows: number;
}

/** How many rows each table has. Requests go on meanwhile. */
export const countSampleProduct = (ownerUrl: string): Promise<Lost[]> =>
  onSampleProduct(ownerUrl, sql =>
    sql.begin("read only", async tx => {
      await settle(tx);
      await tx`set local app.maintenance = on`;
      return countRows(tx);
    }),
  );

interface DropOptions {
  /** Without it all is rolled back. */
  confirmed: boolean;
  log: (line: string) => void;
}

const rollback = Symbol();

/**
 * In one transaction, with the gate at its end.
 * @returns how many rows each table had
 */
export const dropSampleProduct = (ownerUrl: string, { confirmed, log }: DropOptions): Promise<Lost[]> =>
  onSampleProduct(ownerUrl, async sql => {
    const unlock = await takeLock(sql, migrateTurn(log));
    let lost: Lost[] = [];
    try {
      await sql.begin(async tx => {
        await settle(tx);
        await tx`set local lock_timeout = '10s'`;
        await tx`set local app.maintenance = on`;
        await requireThisRelease(tx); // another process may have migrated meanwhile
        await tx.unsafe(`lock table ${tables().join(", ")} in access exclusive mode`);
        lost = await countRows(tx);
        for (const { text } of readSqlFile(path.join(FOLDER, "drop.sql"))) await tx.unsafe(text).simple();
        const { fault } = await installWithin(tx, { reinstall: true });
        if (fault) throw fault;
        if (!confirmed) throw rollback;
      });
    } catch (error) {
      if (error !== rollback) throw error;
    } finally {
      await unlock().catch(() => {}); // the first error counts
    }
    return lost;
  });

/** Refuses a database without the product, or with another release, before `work` takes a lock. */
async function onSampleProduct<T>(given: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const ownerUrl = requireOwnerUrl(given);
  try {
    return await onConnection(
      ownerUrl,
      async sql => {
        await requireThisRelease(sql);
        return work(sql);
      },
      { connection: INSTALLER_SESSION },
    );
  } catch (error) {
    const { message, detail = "" } = error as Error & { detail?: string };
    // Faults of the gate are sentences already.
    if (hasState(error, "object_not_in_prerequisite_state", "dependent_objects_still_exist"))
      throw new StartupError(
        `The sample product was not dropped, and nothing was changed: ${[message, ...detail.split("\n")].filter(Boolean).join("; ")}`,
      );
    throw explainDatabase(error, ownerUrl, "DATABASE_URL");
  }
}

const countRows = (tx: postgres.TransactionSql): Promise<Lost[]> =>
  Promise.all(
    tables().map(async table => {
      const [row] = await tx.unsafe<[{ n: string }]>(`select count(*) as n from ${table}`);
      return { table, rows: Number(row.n) };
    }),
  );

async function requireThisRelease(sql: postgres.ISql): Promise<void> {
  const installed = await installedRelease(sql);
  if (!isRelease(installed, { number: RELEASE.number, hash: releaseHash() }))
    throw new StartupError(
      `The database does not have release ${RELEASE.number} of this build: migrate first`,
    );
  if (!(await hasSampleProduct(sql))) throw new StartupError("The database has no sample product");
}
