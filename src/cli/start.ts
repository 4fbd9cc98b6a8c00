import postgres from "postgres";
import type { CommandModule } from "yargs";
import { type Config, loadConfig } from "../config.ts";
import { explainDatabase } from "../connection.ts";
import type { DatabaseUrls } from "../embedded/databases.ts";
import { startEmbedded } from "../embedded.ts";
import { buildVersion } from "../migrate/history.ts";
import { migrate } from "../migrate.ts";
import { StartupError } from "../startup-error.ts";

export interface Running {
  /** Where it listens, such as `http://127.0.0.1:3000`. */
  address: string;
  /** With its database and its secret filled in. */
  config: Config;
  /** null when the database is somebody else's. */
  urls: DatabaseUrls | null;
  stop(): Promise<void>;
}

/**
 * The service and, where the configuration names no database, the embedded Postgres below it, migrated.
 * @throws StartupError
 */
export async function runService(
  given: Config,
  log: (line: string) => void,
  onExit: (fault: string) => void,
): Promise<Running> {
  if (given.databaseUrl !== null) {
    await checkSchema(given.databaseUrl);
    const service = await listen(given);
    return { address: service.address, config: given, urls: null, stop: () => service.close() };
  }
  const embedded = await startEmbedded({ dataDir: given.dataDir, log, onExit });
  try {
    const { urls } = embedded;
    log(`Embedded Postgres in ${given.dataDir}, at ${new URL(urls.service).host}`);
    const { applied, version } = await migrate({ ownerUrl: urls.owner, log });
    log(applied.length > 0 ? `Applied ${applied.join(", ")}` : `The schema is up to date at ${version}`);
    const hasKey = given.jwt.secret ?? given.jwt.publicKey ?? given.jwt.jwksUrl;
    const jwt = hasKey ? given.jwt : { ...given.jwt, secret: embedded.jwtSecret };
    const config = { ...given, databaseUrl: urls.service, jwt };
    const service = await listen(config);
    const stop = async () => {
      try {
        await service.close();
      } finally {
        await embedded.stop();
      }
    };
    return { address: service.address, config, urls, stop };
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}

async function listen(config: Config) {
  // Loaded late: a fault of the environment is said before the framework is read.
  const { startServer } = await import("../server.ts");
  try {
    return await startServer(config);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const place = `${config.host} port ${config.port}`;
    if (code === "EADDRINUSE")
      throw new PortTaken(`${place} is taken by another program; set SERVICE_PORT to another port`);
    if (code === "EACCES")
      throw new StartupError(`${place} may not be used by this user; set SERVICE_PORT to one above 1023`);
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
      throw new StartupError(`${config.host} is not an address of this machine; set SERVICE_HOST`);
    }
    throw error;
  }
}

export class PortTaken extends StartupError {}

/** A database of somebody else is not migrated from here: a pipeline does that, once, and with another login. */
async function checkSchema(databaseUrl: string) {
  const sql = postgres(databaseUrl, { max: 1, connect_timeout: 10, fetch_types: false, onnotice: () => {} });
  const build = (await buildVersion()) ?? "";
  let found: string | null;
  try {
    const [row] = await sql<{ version: string | null }[]>`select api.get_schema_version() as version`;
    found = row!.version;
  } catch (error) {
    // No such schema, no such function, or no right to connect or look: all granted by the first migration.
    if (!["3F000", "42883", "42501"].includes((error as { code?: string }).code ?? "")) {
      throw explainDatabase(error, databaseUrl, "SERVICE_DATABASE_URL");
    }
    const [there] = await sql`
      select from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      where n.nspname = 'api' and p.proname = 'get_schema_version'`.catch(() => []);
    if (there) {
      throw new StartupError(
        "SERVICE_DATABASE_URL takes the login tms_service; this one may not execute the schema's functions",
      );
    }
    found = null;
  } finally {
    await sql.end({ timeout: 5 });
  }
  const version = found ?? "";
  if (version < build) {
    throw new StartupError(
      `The database's schema is ${found ? `at ${found}` : "missing"} and this build needs ${build}: run npm run migrate`,
    );
  }
  if (version > build) {
    throw new StartupError(
      `The database's schema is at ${found}, newer than this build's ${build || "none"}: start the newer build`,
    );
  }
}

/**
 * Stops at the first SIGINT, SIGTERM or SIGHUP, also while it starts; a second one ends at once, and Postgres follows.
 * Under an npm script it stops with its parent too: npm passes a signal on to its shell, and the shell to nobody.
 */
export function stopOnSignal(running: Promise<Running>): void {
  let stopping = false;
  const fail = (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  };
  const stop = () => {
    stopping = true;
    running.then(service => service.stop()).then(() => process.exit(0), fail);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(1);
      stop();
    });
  }
  // Not under other scripts: theirs may leave it running on purpose.
  if (!/^(start|demo)$/.test(process.env.npm_lifecycle_event ?? "") || process.platform === "win32") return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    if (!stopping) stop();
  }, 500).unref();
}

/** One line in the shape of the service's own log. */
const logLine = (config: Config, level: 30 | 40) => (msg: string) => {
  const lowest = { trace: 10, debug: 20, info: 30, warn: 40 }[config.logLevel] ?? 99;
  if (level >= lowest) console.log(JSON.stringify({ level, time: Date.now(), pid: process.pid, msg }));
};

export const start: CommandModule = {
  command: "start",
  describe: "Run the service as the environment configures it",
  handler: async () => {
    const { config, warnings } = loadConfig(process.env);
    for (const warning of warnings) logLine(config, 40)(warning);
    const running = runService(config, logLine(config, 30), fault => {
      console.error(fault);
      process.exit(1);
    });
    stopOnSignal(running);
    await running;
  },
};
