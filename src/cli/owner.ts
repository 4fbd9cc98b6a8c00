import type postgres from "postgres";
import { type Config, loadConfig } from "../config.ts";
import { connect, explainDatabase, requireAddress } from "../connection.ts";
import { openEmbedded } from "../embedded.ts";
import { StartupError } from "../startup-error.ts";
import { Interrupted, onInterruption } from "./interruption.ts";

/** No such table, schema or function. */
const MISSING = ["42P01", "3F000", "42883"];

/**
 * Runs `work` on tms_owner's connection: the environment's DATABASE_URL, else the embedded Postgres. An interruption ends the
 * connection, and what was not committed is undone.
 */
export async function asOwner<T>(work: (sql: postgres.Sql, config: Config) => Promise<T>): Promise<T> {
  const env = { ...process.env };
  const { DATABASE_URL: ownerUrl, SERVICE_DATABASE_URL: serviceUrl } = env;
  delete env.SERVICE_DATABASE_URL;
  delete env.SERVICE_DATABASE_READ_URL;
  if (!ownerUrl && serviceUrl)
    throw new StartupError("DATABASE_URL, tms_owner's login, is missing, and SERVICE_DATABASE_URL is set");
  let undo = () => {};
  const interruption = new Promise<never>((_resolve, reject) => {
    undo = onInterruption(signal => reject(new Interrupted(signal)));
  });
  interruption.catch(() => {});
  // The service's login and key are not needed, so what is wrong with them is not this command's business.
  const { config } = loadConfig(env);
  const embedded = ownerUrl ? undefined : await openEmbedded({ dataDir: config.dataDir, log: console.error });
  const url = embedded?.urls.owner ?? requireAddress(ownerUrl!, "DATABASE_URL");
  const sql = connect(url, { max: 2 });
  try {
    return await Promise.race([interruption, work(sql, config)]);
  } catch (error) {
    if (error instanceof Interrupted) await sql.end({ timeout: 0 });
    if (MISSING.includes((error as { code?: string }).code ?? ""))
      throw new StartupError("The database's schema is missing, or behind this release: run npm run migrate");
    throw explainDatabase(error, url, "DATABASE_URL");
  } finally {
    await sql.end({ timeout: 5 });
    await embedded?.stop();
    undo();
  }
}
