import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "./config.ts";
import { refusal } from "./problems.ts";

/** So long a stopping service still answers, so that a client on a kept connection reads 503 instead of losing it. */
const NOTICE_MS = 250;

const STOPPING = refusal("stopping");
const OVERLOADED = refusal("overloaded");

/** Of one connection, unanswered: clients that send the next request before the last is answered send a few. */
const MOST_PIPELINED = 32;

/**
 * The requests in flight. Beyond `maxInFlight` of them new ones are refused with 503 rather than queued; while the service
 * stops all new ones are, and the open ones end, each with its connection.
 */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    const open = new Set<ServerResponse>();
    /** Those of each connection that are not answered, refused ones too. */
    const sockets = new Map<Socket, Set<ServerResponse>>();
    let taken = 0;
    // Of answers that stand behind another on their connection only the connection tells when it ends.
    function cut(this: Socket): void {
      for (const response of sockets.get(this)!) open.delete(response);
      sockets.delete(this);
    }
    function closed(this: ServerResponse): void {
      open.delete(this);
      sockets.get(this.req.socket)?.delete(this);
    }
    app.server.on("connection", socket => {
      taken++;
      sockets.set(socket, new Set());
      socket.once("close", cut);
    });
    // Nothing came or went for a while (http.ts). Who works on a long request is waited for, who does not read its answer is not.
    app.server.on("timeout", (socket: Socket) => {
      if (!sockets.get(socket)?.size || socket.writableLength > 0) socket.destroy();
    });
    let stopping = false;
    app.decorate("inFlight", open);

    app.addHook("onRequest", (request, reply, done) => {
      const { socket } = request.raw;
      const ofSocket = sockets.get(socket);
      // What comes after an answer that ended the connection is no request to work on.
      const ended = socket.destroyed || socket.writableEnded;
      if (ended || (ofSocket && ofSocket.size >= MOST_PIPELINED)) return void socket.destroy();
      ofSocket?.add(reply.raw);
      // Also when the client leaves before the answer: `onResponse` would miss that.
      reply.raw.once("close", closed);
      if (stopping) return done(STOPPING);
      if (open.size >= config.maxInFlight && !request.routeOptions.config.probe) return done(OVERLOADED);
      open.add(reply.raw);
      done();
    });

    app.addHook("preClose", async () => {
      stopping = true;
      for (const response of open) if (!response.headersSent) response.setHeader("connection", "close");
      const until = performance.now() + NOTICE_MS;
      while (performance.now() < until && sockets.size > 0) await sleep(20);
      // Listening ends when nobody is left who knocked and was not taken: the kernel cuts those off.
      for (let before = -1; before !== taken; ) {
        before = taken;
        await new Promise(setImmediate);
      }
      const listened = performance.now();
      // Node's own closeIdleConnections() leaves those alone that never sent a whole request.
      const reaper = setInterval(() => {
        if (performance.now() < listened + NOTICE_MS) return; // who was taken last may still be about to ask
        const busy = new Set([...open].map(response => response.req.socket));
        for (const socket of sockets.keys()) if (!busy.has(socket)) socket.destroySoon();
      }, 20);
      app.server.once("close", () => clearInterval(reaper));
    });
  },
  { name: "in-flight" },
);

declare module "fastify" {
  interface FastifyInstance {
    inFlight: ReadonlySet<ServerResponse>;
  }
  interface FastifyContextConfig {
    /** For machines that watch the service: answered under load too. */
    probe?: boolean;
  }
}
