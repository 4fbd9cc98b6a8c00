import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import { BY_STATUS, Problem } from "../errors/errors.ts";
import { PROBLEMS } from "../errors/problems.ts";
import { answerSocket } from "./error-handler.ts";

/**
 * Refuses requests that Node would refuse with an empty body (server-options.ts switches Node's check of Host off), and those that
 * Node would read as another request than the one sent.
 */
export default fp(async (app: FastifyInstance) => {
  app.addHook("onRequest", ({ raw, headers, id }, reply, done) => {
    reply.header("x-request-id", id);
    done(faultOf(raw, headers));
  });
  // Node limits their size. By default it also drops the headers after the thousandth, such as If-Match or a second X-Tenant.
  app.server.maxHeadersCount = 0;
  app.server.on("checkExpectation", ({ socket }) => answerSocket(socket, 417));
  app.server.on("connect", (_request, socket) => answerSocket(socket, 405));
});

function faultOf(
  { httpVersion, url = "" }: IncomingMessage,
  headers: IncomingHttpHeaders,
): Problem | undefined {
  if (httpVersion === "1.1" && headers.host === undefined)
    return new Problem(400, "Bad Request", "The Host header is required");
  if (headers.host?.includes(",")) return new Problem(400, "Bad Request", "There must be one Host header");
  const query = url.indexOf("?");
  // The router takes an empty part for an id. Clients send absolute URLs to proxies, which may pass them on.
  const path = (query < 0 ? url : url.slice(0, query)).replace(/^https?:\/\/[^/]*/i, "");
  if (path.startsWith("/api/") && /\/(?:\/|$)/.test(path)) return new Problem(...BY_STATUS[404]!);
  if (query >= 0 && url.includes("%", query)) {
    for (const [escapes] of url.slice(query).matchAll(/(?:%[0-9a-f]{2})+/gi)) {
      if (!isUtf8(Buffer.from(escapes.replaceAll("%", ""), "hex")))
        return new Problem(...PROBLEMS.malformed_query);
    }
  }
  return undefined;
}
