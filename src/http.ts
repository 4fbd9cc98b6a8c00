import { randomUUID } from "node:crypto";
import type { FastifyServerOptions } from "fastify";
import type { AppOptions } from "./app.ts";
import type { Config } from "./config.ts";
import { malformedRequest } from "./errors.ts";

/** How the service listens and logs: limits of one request, its id, what never reaches a log. */
export function httpOptions(config: Config, { logStream }: AppOptions): FastifyServerOptions {
  return {
    logger: {
      level: config.logLevel,
      redact: ["req.headers.authorization", "req.headers.cookie"],
      ...(logStream && { stream: logStream }),
    },
    genReqId: ({ headers }) => {
      const given = headers["x-request-id"];
      return typeof given === "string" && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
    },
    clientErrorHandler: malformedRequest,
    bodyLimit: 128 * 1024,
    routerOptions: { maxParamLength: 8_192 },
    requestTimeout: 30_000,
    keepAliveTimeout: 5_000,
    return503OnClosing: true,
  };
}
