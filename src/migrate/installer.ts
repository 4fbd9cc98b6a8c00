/** Installs the release: functions, views, triggers and checks of db/install.sql, with the gate, in one transaction. */
import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";
import { isToHaveProduct, PRODUCT_FOLDER } from "./product.ts";
import { INSTALL_SQL, isRelease, RELEASE, type Release } from "./release.ts";
import { requireReleased } from "./released.ts";
import { settle } from "./session.ts";
import { hashOf, readSqlFile } from "./sql-files.ts";

/** Installers in several processes wait for each other. */
const INSTALLER_LOCK = 8624367003;

interface InstallOptions {
  /** Installs also when the database has the same files already: repairs functions that somebody changed. */
  reinstall?: boolean;
  /** A migration that belongs to the files is not applied yet: its tables are missing. */
  isPartial?: boolean;
}

/**
 * Returns whether there was something to install; the gate runs in any case. Throws StartupError, and Postgres's own errors with
 * the file as `sqlFile`.
 */
export async function install(sql: postgres.Sql, options: InstallOptions = {}): Promise<boolean> {
  const { installed, fault } = await sql.begin(tx => installWithin(tx, options));
  if (fault) throw fault;
  return installed;
}

interface Installed {
  installed: boolean;
  /** The gate's, where the first release is committed all the same. */
  fault?: Error;
}

/** The same inside a transaction of the caller's. */
export async function installWithin(
  tx: postgres.TransactionSql,
  options: InstallOptions,
): Promise<Installed> {
  await settle(tx);
  await tx`select pg_advisory_xact_lock(${INSTALLER_LOCK})`;
  // A check that waits for a lock gives up, and is an error then.
  await tx`set local lock_timeout = '10s'`;
  await refuseOlderBuild(tx);
  const all = readSqlFile(INSTALL_SQL);
  const build = { number: RELEASE.number, hash: hashOf(all) };
  const before = await installedRelease(tx);
  const product = await isToHaveProduct(tx, before !== undefined);
  const files = all.filter(({ name }) => product || !name.startsWith(PRODUCT_FOLDER));
  const gate = files.pop()!; // db/gate.sql
  const installed = !isRelease(before, build) || options.reinstall === true;
  if (installed) {
    for (const file of files) await runFile(tx, file);
    await tx`insert into control.release ${tx(build)}`;
  }
  const pass = async (inner: postgres.TransactionSql) => {
    await runFile(inner, gate);
    if (!options.isPartial) await requireReleased(inner);
  };
  if (before) {
    await pass(tx);
    return { installed };
  }
  // No release is there to return to, and the remedies that the gate prints need the functions of this one.
  const fault = await tx.savepoint(pass).then(
    () => undefined,
    (error: Error) => Object.assign(error, { firstRelease: true }),
  );
  return { installed, ...(fault && { fault }) };
}

async function runFile(tx: postgres.TransactionSql, { name, text }: { name: string; text: string }) {
  try {
    await tx.unsafe(text).simple();
  } catch (error) {
    // Postgres counts characters from the start of the text.
    const { position } = error as { position?: string };
    const line = position && text.slice(0, Number(position)).split("\n").length;
    throw Object.assign(error as Error, { sqlFile: line ? `${name}:${line}` : name });
  }
}

/** @throws StartupError where the database has a release that this build does not know */
export async function refuseOlderBuild(sql: postgres.ISql): Promise<void> {
  const installed = await installedRelease(sql);
  if (!installed || installed.number <= RELEASE.number) return;
  throw new StartupError(
    `The database is newer than this build: it has release ${installed.number}, and this is release ${RELEASE.number}. Deploy the newer build`,
  );
}

/** The release that is in force; undefined before the first one, and in a database without the schema. */
export async function installedRelease(sql: postgres.ISql): Promise<Release | undefined> {
  const [table] = await sql`select to_regclass('control.release') as name`;
  if (!table!.name) return undefined;
  const [row] = await sql<
    Release[]
  >`select number, hash from control.release order by installed_at desc limit 1`;
  return row && { number: row.number, hash: row.hash };
}
