import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { FastifyHttpOptions } from "fastify";
import type { Config } from "../config/config.ts";
import { type LogStream, loggerOptions } from "../observability/log.ts";
import { malformedRequest } from "./error-handler.ts";

/** How the service listens: limits of one request, its id. */
export function httpOptions(config: Config, logStream: LogStream | undefined): FastifyHttpOptions<Server> {
  return {
    ...loggerOptions(config, logStream),
    genReqId: ({ headers }) => {
      const given = headers["x-request-id"];
      return typeof given === "string" && /^[\w-]{1,64}$/.test(given) ? given : randomUUID();
    },
    clientErrorHandler: malformedRequest,
    http: {
      requireHostHeader: false, // protocol.ts answers, in the service's own words
      // Of two tokens Node would take the first, and what stands in front perhaps the other: joined they are none.
      joinDuplicateHeaders: true,
      // Were it longer than the request's, Node would take each for the other.
      headersTimeout: 30_000,
      connectionsCheckingInterval: 2_000,
    },
    bodyLimit: 128 * 1024,
    routerOptions: { maxParamLength: 8_192 },
    requestTimeout: 30_000,
    connectionTimeout: 40_000, // without a byte either way: in-flight.ts decides; later than the request's own, which is answered
    keepAliveTimeout: 5_000,
    return503OnClosing: false, // in-flight.ts answers, in the service's own words
  };
}
