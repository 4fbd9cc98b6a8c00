import { METHODS as KNOWN } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";
import fp from "fastify-plugin";
import { BY_STATUS, Problem } from "../errors/errors.ts";
import { sendError } from "./error-handler.ts";

/** All methods that Node parses; the common ones first, in the order of `Allow`. */
const METHODS = [...new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", ...KNOWN])];

/**
 * 404 for an unknown path; 405 with `Allow` for a known path with another method: both before the body is read, and whatever it is.
 * Registered before the routes.
 */
export default fp(async (app: FastifyInstance) => {
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const byUrl = new Map<string, Set<string>>();
  app.addHook("onRoute", ({ url, method }) => {
    const methods = byUrl.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    byUrl.set(url, methods);
  });
  const nothing = new Problem(...BY_STATUS[404]!);
  app.setNotFoundHandler((request, reply) => sendError(nothing, request, reply));
  app.addHook("onRequest", ({ is404, routeOptions: { config } }, _reply, done) =>
    done(is404 ? nothing : config.refuses),
  );
  app.decorate("refuseOtherMethods", () => {
    for (const [url, methods] of byUrl) {
      // Fastify adds paths with a trailing slash by itself, and reports only some of their methods.
      if (url.endsWith("/")) continue;
      const missing = METHODS.filter(method => !methods.has(method)) as HTTPMethods[];
      const allow = METHODS.filter(method => methods.has(method)).join(", ");
      const detail = `This address takes ${allow}`;
      const refuses = new Problem(405, "Method not allowed", detail, { headers: { allow } });
      const handler = (request: FastifyRequest, reply: FastifyReply) => sendError(refuses, request, reply);
      for (const twin of [url, `${url}/`].filter(one => byUrl.has(one)))
        app.route({ url: twin, method: missing, config: { refuses }, handler });
    }
  });
});

declare module "fastify" {
  interface FastifyInstance {
    /** Called once, after the last route. */
    refuseOtherMethods(): void;
  }
  interface FastifyContextConfig {
    /** A method that the address does not take. */
    refuses?: Problem;
  }
}
