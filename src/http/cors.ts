import cors, { type FastifyCorsOptions } from "@fastify/cors";
import type { FastifyInstance, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "../config/config.ts";

export const ALLOWED_HEADERS =
  "Authorization, Baggage, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Traceparent, Tracestate, X-Request-Id, X-Tenant";
export const EXPOSED_HEADERS =
  "Accept-Patch, ETag, Link, Location, Retry-After, WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id";

/**
 * Lets pages of other origins call the API from a browser. Registered first, so that refusals by the load limit have the headers too, and a
 * preflight needs no token. Without credentials: a token comes from the page, never from the browser's own store.
 */
export default fp(
  async (app: FastifyInstance, { config: { corsOrigins } }: { config: Config }) => {
    if (!corsOrigins) return;
    const options: FastifyCorsOptions = {
      origin: corsOrigins,
      methods: "GET, HEAD, POST, PUT, PATCH, DELETE",
      allowedHeaders: ALLOWED_HEADERS,
      exposedHeaders: EXPOSED_HEADERS,
      maxAge: 600,
    };
    // Everything else than a preflight of such a page is answered as without this plugin: OPTIONS is 405.
    const isFor = ({ headers: { origin, "access-control-request-method": asked }, method }: FastifyRequest) =>
      origin !== undefined && corsOrigins.includes(origin) && (method !== "OPTIONS" || asked !== undefined);
    app.addHook("onRequest", (request, reply, done) => {
      // Every answer depends on it: a cache must not give a page the answer for another.
      reply.header("vary", "Origin");
      if (request.method === "OPTIONS") reply.header("x-request-id", request.id);
      done();
    });
    await app.register(cors, {
      delegator: (request: FastifyRequest, done: (error: Error | null, chosen: FastifyCorsOptions) => void) =>
        done(null, isFor(request) ? options : { origin: false }),
    });
  },
  { name: "cors-origins" },
);
