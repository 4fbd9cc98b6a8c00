import { lookup } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { Config } from "../config/config.ts";
import { VERSION } from "../config/version.ts";
import { callFunction } from "../database/database.ts";
import { buildApp } from "./app.ts";
import type { Product } from "./product.ts";
import type { Links } from "./routes/console.ts";

export interface Server {
  address: string;
  /** Resolves when the open requests are answered, or after the shutdown timeout. */
  close(): Promise<void>;
}

/** Listens as configured; rejects when the database or the port is not available. The log line of the start has `facts`. */
export async function startServer(
  config: Config,
  product: Product,
  facts: Record<string, unknown> = {},
  links?: Links,
): Promise<Server> {
  const app = await buildApp(config, product, undefined, links);
  try {
    // When localhost has two addresses, Fastify opens a second server, which our limits and our shutdown would miss.
    const host = config.host === "localhost" ? (await lookup(config.host)).address : config.host;
    const address = await app.listen({ host, port: config.port });
    const setup = await setupOf(app, config).catch(err => ({ err }));
    app.log.info({ ...setup, ...facts }, "started");
    return { address, close: () => closeWithin(app, config.shutdownTimeoutMs) };
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** How this instance is set up, and on what; no password is in it. */
async function setupOf(app: FastifyInstance, config: Config): Promise<Record<string, unknown>> {
  const [{ rows }, { body: release }] = await Promise.all([
    app.pg.query<{ version: string }>("select current_setting('server_version') as version"),
    callFunction(app, "get_release", {}),
  ]);
  const { host, pathname } = new URL(config.databaseUrl!);
  return {
    mode: config.multiTenantMode ? "multi-tenant" : "single-tenant",
    database: host + pathname,
    postgres: rows[0]!.version,
    release: Number(release),
    version: VERSION,
    bounds: {
      connections: config.databasePoolSize,
      pipeline_depth: config.databasePipelineDepth,
      requests_in_flight: config.maxInFlight,
      tenants_per_user: config.registration.maxTenantsPerUser,
      shutdown_ms: config.shutdownTimeoutMs,
    },
  };
}

async function closeWithin(app: FastifyInstance, timeoutMs: number): Promise<void> {
  app.log.info("stopping");
  const done = new AbortController();
  const late = sleep(timeoutMs, true, { signal: done.signal }).catch(() => false);
  const wasLate = await Promise.race([app.close(), late]).finally(() => done.abort());
  if (!wasLate) return;
  app.log.warn({ unanswered: app.inFlight.length }, "stopped before every request was answered");
  app.server.closeAllConnections();
}
