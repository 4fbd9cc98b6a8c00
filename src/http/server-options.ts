import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { FastifyHttpOptions } from "fastify";
import type { Config } from "../config/config.ts";
import { type LogStream, loggerOptions } from "../observability/log.ts";
import { malformedRequest } from "./error-handler.ts";

/** Options of Fastify and of Node's server: limits of a request, its id. */
export function httpOptions(config: Config, logStream: LogStream | undefined): FastifyHttpOptions<Server> {
  return {
    ...loggerOptions(config, logStream),
    genReqId: ({ headers }) => {
      const given = headers["x-request-id"];
      return typeof given === "string" && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
    },
    clientErrorHandler: malformedRequest,
    trustProxy: config.trustedProxies ?? false,
    http: {
      requireHostHeader: false, // protocol.ts refuses it with the usual body
      // Of two Authorization headers Node would take the first, and a proxy perhaps the second. Joined they are no valid token.
      joinDuplicateHeaders: true,
      // Must not exceed requestTimeout: Node would swap the two.
      headersTimeout: config.requestTimeoutMs,
      connectionsCheckingInterval: 2_000,
    },
    bodyLimit: 8 * 1024,
    routerOptions: { maxParamLength: 8_192 },
    requestTimeout: config.requestTimeoutMs,
    // Idle: connections.ts decides. Longer than requestTimeout, which is answered with 408.
    connectionTimeout: Math.max(40_000, config.requestTimeoutMs + 10_000),
    keepAliveTimeout: 5_000,
    return503OnClosing: false, // load-limit.ts refuses it with the usual body
  };
}
