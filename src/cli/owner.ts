import { existsSync } from "node:fs";
import path from "node:path";
import type postgres from "postgres";
import { type Config, loadConfig } from "../config/config.ts";
import { DATA_DIR, DEMO_DATA_DIR } from "../config/paths.ts";
import { connect, UNHURRIED } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { requireAddress } from "../database/url.ts";
import { openEmbedded } from "../embedded/embedded.ts";
import { hasState } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { Interrupted, onInterruption } from "./interruption.ts";

/** The configuration as these variables of the environment give it; others are not validated. */
export const readVariables = (names: RegExp): Config =>
  loadConfig(Object.fromEntries(Object.entries(process.env).filter(([name]) => names.test(name)))).config;

/** SERVICE_DATA_DIR or its default. */
export const environmentFolder = () => readVariables(/^SERVICE_DATA_DIR$/).dataDir;

/** Null: not set. */
export const environmentProduct = () => readVariables(/^SERVICE_SAMPLE_PRODUCT$/).sampleProduct;

/** The data folder of a service that was started before: the demo's if only the demo was. */
export function begunFolder(log: (line: string) => void): string {
  const isBegun = (folder: string) => existsSync(path.join(folder, "secrets.json"));
  if (process.env.SERVICE_DATA_DIR || isBegun(DATA_DIR) || !isBegun(DEMO_DATA_DIR))
    return environmentFolder();
  log(`Nothing was started in ${DATA_DIR} yet: this is about the demo, in ${DEMO_DATA_DIR}`);
  return DEMO_DATA_DIR;
}

interface OwnerDatabase {
  url: string;
  /** The error to report if another command, which had started this server, has stopped it. */
  lost: () => StartupError | undefined;
}

/**
 * Runs `work` on DATABASE_URL, else on the embedded Postgres. If only another address is set, the embedded Postgres is not what
 * the operator means: that is an error. The service's own variables are not validated.
 */
export async function onOwnerDatabase<T>(
  log: (line: string) => void,
  { login = "tms_owner's login", folder = begunFolder },
  work: (database: OwnerDatabase) => Promise<T>,
): Promise<T> {
  const { DATABASE_URL } = process.env;
  if (DATABASE_URL) return work({ url: requireAddress(DATABASE_URL, "DATABASE_URL"), lost: () => undefined });
  const other = ["ROOT_DATABASE_URL", "SERVICE_DATABASE_URL"].find(name => process.env[name]);
  if (other) throw new StartupError(`DATABASE_URL, ${login}, is missing, and ${other} is set`);
  const { urls, stop, lost } = await openEmbedded({ dataDir: folder(log), log });
  try {
    return await work({ url: urls.owner, lost });
  } catch (error) {
    throw lost() ?? error;
  } finally {
    await stop();
  }
}

/** Runs `work` on tms_owner's connection. A signal closes the connection, and Postgres rolls back what is not committed. */
export async function asOwner<T>(
  work: (sql: postgres.Sql, lost: OwnerDatabase["lost"]) => Promise<T>,
): Promise<T> {
  const interruption = new Promise<never>((_resolve, reject) =>
    onInterruption(signal => reject(new Interrupted(signal))),
  );
  interruption.catch(() => {});
  return onOwnerDatabase(console.error, {}, async ({ url, lost }) => {
    const sql = connect(url, {
      // A slow reader of our output must not end the session, either.
      connection: UNHURRIED,
    });
    try {
      return await Promise.race([interruption, work(sql, lost)]);
    } catch (error) {
      if (error instanceof Interrupted) await sql.end({ timeout: 0 });
      if (hasState(error, "undefined_table", "invalid_schema_name", "undefined_function"))
        throw new StartupError(
          "The database's schema is missing, or behind this release: run npm run migrate",
        );
      throw explainDatabase(error, url, "DATABASE_URL");
    } finally {
      await sql.end({ timeout: 5 });
    }
  });
}
