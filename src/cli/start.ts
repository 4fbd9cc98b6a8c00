import path from "node:path";
import type { CommandModule } from "yargs";
import { type Config, loadConfig } from "../config/config.ts";
import type { DatabaseUrls } from "../embedded/databases.ts";
import { startEmbedded } from "../embedded/embedded.ts";
import { StartupError, tell } from "../errors/startup-error.ts";
import type { Links } from "../http/routes/console.ts";
import { migrate } from "../migrate/migrate.ts";
import { Interrupted, onInterruption } from "./interruption.ts";

export interface Running {
  /** Where it listens, such as `http://127.0.0.1:3000`. */
  address: string;
  /** With its database and its secret filled in. */
  config: Config;
  /** Null when SERVICE_DATABASE_URL names the database. */
  urls: DatabaseUrls | null;
  stop(): Promise<void>;
}

const fail = (fault: unknown) => {
  tell(fault);
  process.exit(1);
};

/**
 * The service. If the configuration names no database, first the embedded Postgres, migrated.
 * @throws StartupError
 */
export async function runService(
  given: Config,
  log: (line: string) => void,
  signal?: AbortSignal,
  links?: Links,
): Promise<Running> {
  const key = keyOf(given);
  if (given.databaseUrl !== null) {
    // The service's login cannot migrate: `tenancy migrate` does it, once, before the instances start.
    const service = await listen(given, { key });
    return { address: service.address, config: given, urls: null, stop: () => service.close() };
  }
  const { dataDir, embeddedPort } = given;
  const embedded = await startEmbedded({ dataDir, preferredPort: embeddedPort, log, onExit: fail });
  try {
    const { urls } = embedded;
    const { host, port } = new URL(urls.service);
    const taken = embeddedPort !== 0 && embeddedPort !== Number(port);
    log(`Embedded Postgres in ${dataDir}, at ${host}${taken ? `: the port ${embeddedPort} is taken` : ""}`);
    const { applied, installed, version, release } = await migrate({
      ownerUrl: urls.owner,
      contextSecret: given.tenantContextSecret,
      sampleProduct: given.sampleProduct,
      log,
      ...(signal && { signal }),
    });
    if (applied.length > 0) log(`Applied ${applied.join(", ")}`);
    const state = applied.length > 0 || installed ? "now" : "up to date";
    log(`The schema is ${state} at ${version}, release ${release}`);
    const jwt = key === undefined ? { ...given.jwt, secret: embedded.jwtSecret } : given.jwt;
    const config = { ...given, databaseUrl: urls.service, jwt };
    const service = await listen(config, { key: key ?? path.join(dataDir, "secrets.json") }, links);
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
    throw embedded.lost() ?? error;
  }
}

/** The variable that holds the key of the tokens. */
const keyOf = ({ jwt }: Config) =>
  (jwt.secret !== null && "SERVICE_JWT_SECRET") ||
  (jwt.publicKey !== null && "SERVICE_JWT_PUBLIC_KEY") ||
  (jwt.jwksUrl !== null && "SERVICE_JWT_JWKS_URL") ||
  undefined;

async function listen(config: Config, facts: { key: string | undefined }, links?: Links) {
  // Loaded late: a wrong environment is reported without waiting for Fastify to load.
  const [{ startServer }, { sampleProduct }] = await Promise.all([
    import("../http/server.ts"),
    import("../product/product.ts"),
  ]);
  try {
    return await startServer(config, sampleProduct, facts, links);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const place = `${config.host} port ${config.port}`;
    if (code === "EADDRINUSE")
      throw new PortTaken(`${place} is taken by another program; set SERVICE_PORT to another port`);
    if (code === "EACCES")
      throw new StartupError(`${place} may not be used by this user; set SERVICE_PORT to one above 1023`);
    if (/^(EADDRNOTAVAIL|EINVAL|ENOTFOUND|EAI_AGAIN)$/.test(code ?? ""))
      throw new StartupError(`${config.host} is not an address of this machine; set SERVICE_HOST`);
    throw error;
  }
}

export class PortTaken extends StartupError {}

/**
 * Stops at the first signal; a second one ends the process at once, and Postgres follows. `running` rejects with `Interrupted` if
 * the signal comes before the service is up.
 */
export function untilSignal(start: (signal: AbortSignal) => Promise<Running>): {
  running: Promise<Running>;
  signal: AbortSignal;
} {
  const interruption = new AbortController();
  const { signal } = interruption;
  const running = start(signal).catch(error => {
    throw signal.aborted ? new Interrupted(signal.reason as NodeJS.Signals, (error as Error).message) : error;
  });
  onInterruption(name => {
    interruption.abort(name);
    return running.then(
      service => service.stop().then(() => process.exit(0), fail),
      () => {}, // the caller awaits `running` and reports it
    );
  });
  return { running, signal };
}

/** Writes a line in the format of the service's log. */
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
    await untilSignal(signal => runService(config, logLine(config, 30), signal)).running;
  },
};
