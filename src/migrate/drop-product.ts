/** Takes the sample product out of a database: its rows, its tables, its functions. */
import path from "node:path";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { connect } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { hasState } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { installedRelease, installWithin } from "./installer.ts";
import { requireOwnerUrl } from "./owner-url.ts";
import { hasSampleProduct } from "./product.ts";
import { isRelease, RELEASE, releaseHash } from "./release.ts";
import { INSTALLER_SESSION, settle } from "./session.ts";
import { readSqlFile } from "./sql-files.ts";

const DROP_SQL = path.join(PACKAGE_ROOT, "db", "product", "drop.sql");
const TABLES = [
  "boards",
  "board_members",
  "generations",
  "media",
  "provider_configs",
  "credit_transactions",
].map(name => `app.${name}`);

export interface Lost {
  table: string;
  rows: number;
}

const rollback = Symbol();

/**
 * In one transaction, with the gate at its end. Without `confirmed` it is rolled back.
 * @returns how many rows each table has
 */
export async function dropSampleProduct(given: string, confirmed: boolean): Promise<Lost[]> {
  const ownerUrl = requireOwnerUrl(given);
  const sql = connect(ownerUrl, { connection: INSTALLER_SESSION });
  let lost: Lost[] = [];
  try {
    await sql
      .begin(async tx => {
        await settle(tx);
        await tx`select pg_advisory_xact_lock(8624367002)`; // the turn of migrate
        await tx`set local lock_timeout = '10s'`;
        await tx`set local app.maintenance = on`;
        await requireThisRelease(tx);
        await tx.unsafe(`lock table ${TABLES.join(", ")} in access exclusive mode`);
        lost = await Promise.all(
          TABLES.map(async table => {
            const [row] = await tx.unsafe<[{ n: string }]>(`select count(*) as n from ${table}`);
            return { table, rows: Number(row.n) };
          }),
        );
        for (const { text } of readSqlFile(DROP_SQL)) await tx.unsafe(text).simple();
        const { fault } = await installWithin(tx, { reinstall: true });
        if (fault) throw fault;
        if (!confirmed) throw rollback;
      })
      .catch(error => {
        if (error !== rollback) throw error;
      });
    return lost;
  } catch (error) {
    const { message, detail = "" } = error as Error & { detail?: string };
    // Faults of the gate are sentences already.
    if (hasState(error, "object_not_in_prerequisite_state", "dependent_objects_still_exist"))
      throw new StartupError(
        `The sample product was not dropped, and nothing was changed: ${[message, ...detail.split("\n")].filter(Boolean).join("; ")}`,
      );
    throw explainDatabase(error, ownerUrl, "DATABASE_URL");
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function requireThisRelease(tx: postgres.TransactionSql): Promise<void> {
  const installed = await installedRelease(tx);
  if (!isRelease(installed, { number: RELEASE.number, hash: releaseHash() }))
    throw new StartupError(
      `The database does not have release ${RELEASE.number} of this build: migrate first`,
    );
  if (!(await hasSampleProduct(tx))) throw new StartupError("The database has no sample product");
}
