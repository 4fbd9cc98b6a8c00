import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import { answerSocket, Problem } from "./errors.ts";

/** Requests that Node itself would refuse with an empty body; http.ts switches its own check of Host off. */
export default fp(async (app: FastifyInstance) => {
  app.addHook("onRequest", (request, _reply, done) => {
    const nameless = request.raw.httpVersion === "1.1" && request.headers.host === undefined;
    done(nameless ? new Problem(400, "Bad Request", "The Host header is required") : undefined);
  });
  app.server.on("checkExpectation", ({ socket }) => answerSocket(socket, 417));
  app.server.on("connect", (_request, socket) => answerSocket(socket, 405));
});
