/** What `migrate` would do, and the gate's verdict on it, in a transaction that is rolled back. */

import { connect } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import type { Finding } from "../values/finding.ts";
import { compiled } from "./graphile.ts";
import { appliedMigrations, checkHistory, committedMigrations, type Migration } from "./history.ts";
import { installedRelease, installWithin, refuseOlderBuild } from "./installer.ts";
import { refuseNeighbours } from "./neighbours.ts";
import { requireOwnerUrl } from "./owner-url.ts";
import { productOf, productSettings, refuseOtherProduct } from "./product.ts";
import { isRelease, RELEASE, type Release, releaseHash } from "./release.ts";
import { changedObjects } from "./released.ts";
import { INSTALLER_SESSION, settle } from "./session.ts";

export interface Status {
  applied: string[];
  pending: string[];
  installed: Release | undefined;
  build: Release;
  /** Whether the database has the sample product; undefined: it is new. */
  product: boolean | undefined;
  /** What is not as the release made it. */
  changed: Finding[];
}

/** Whether `migrate`, with --reinstall for what was changed, has nothing to do. */
export const isUpToDate = ({ pending, installed, build, changed }: Status): boolean =>
  pending.length === 0 && isRelease(installed, build) && changed.length === 0;

const rollback = Symbol();

/** Reads only. Throws StartupError. */
export const migrationStatus = (ownerUrl: string): Promise<Status> =>
  withStatus(ownerUrl, async (_sql, { status }) => status);

/**
 * Runs the pending migrations and the installer in one transaction, and rolls it back. It takes the locks that they take.
 * @returns the status, and the fault that would stop `migrate`; null: none
 */
export function dryRun(
  ownerUrl: string,
  sampleProduct: boolean | null,
): Promise<Status & { fault: string | null }> {
  return withStatus(ownerUrl, async (sql, { status, pending }) => {
    await refuseOlderBuild(sql);
    await refuseOtherProduct(sql, await appliedMigrations(sql), sampleProduct);
    if (status.applied.length === 0) await refuseNeighbours(sql);
    let at = "";
    const outcome: unknown = await sql
      .begin(async tx => {
        await settle(tx);
        // Requests queue behind a lock that it waits for, so it gives up as a migration does.
        await tx`set local lock_timeout = '60s'`;
        await tx`set local app.maintenance = on`;
        for (const [name, value] of Object.entries(productSettings(sampleProduct)))
          await tx`select set_config(${name}, ${value}, true)`;
        // db/audit/rights.sql vouches for the functions of the installer's transaction. A savepoint's functions have another xmin.
        await tx`savepoint migrations`;
        for (const migration of pending) {
          at = `${migration.file}: `;
          await tx.unsafe(await compiled(migration, ownerUrl)).simple();
        }
        await tx`release savepoint migrations`;
        at = "";
        throw (await installWithin(tx, {})).fault ?? rollback;
      })
      .catch(error => error as unknown);
    if (outcome === rollback) return { ...status, fault: null };
    const { message, code = "", sqlFile } = outcome as Error & { code?: string; sqlFile?: string };
    if (!/^[0-9A-Z]{5}$/.test(code)) throw outcome;
    return { ...status, fault: `${at}${sqlFile ? `${sqlFile}: ` : ""}${message}` };
  });
}

async function withStatus<T>(
  given: string,
  work: (sql: ReturnType<typeof connect>, found: { status: Status; pending: Migration[] }) => Promise<T>,
): Promise<T> {
  const ownerUrl = requireOwnerUrl(given);
  const sql = connect(ownerUrl, { connection: INSTALLER_SESSION });
  try {
    const build = await committedMigrations();
    const applied = await appliedMigrations(sql);
    checkHistory(build, applied);
    const pending = build.slice(applied.length);
    const installed = await installedRelease(sql);
    const status = {
      applied: build.slice(0, applied.length).map(({ file }) => file),
      pending: pending.map(({ file }) => file),
      installed,
      build: { number: RELEASE.number, hash: releaseHash() },
      product: await productOf(sql, applied),
      changed: installed?.hash === releaseHash() ? await sql.begin("read only", changedObjects) : [],
    };
    return await work(sql, { status, pending });
  } catch (error) {
    throw explainDatabase(error, ownerUrl, "DATABASE_URL");
  } finally {
    await sql.end({ timeout: 5 });
  }
}
