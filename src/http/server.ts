import { lookup } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { Config } from "../config/config.ts";
import { buildApp } from "./app.ts";

export interface Server {
  address: string;
  /** Resolves when the open requests are answered, or after the shutdown timeout. */
  close(): Promise<void>;
}

/** Listens as configured; rejects when the database or the port is not available. */
export async function startServer(config: Config): Promise<Server> {
  const app = await buildApp(config);
  try {
    // When localhost has two addresses, Fastify opens a second server, which our limits and our shutdown would miss.
    const host = config.host === "localhost" ? (await lookup(config.host)).address : config.host;
    const address = await app.listen({ host, port: config.port });
    return { address, close: () => closeWithin(app, config.shutdownTimeoutMs) };
  } catch (error) {
    await app.close();
    throw error;
  }
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
