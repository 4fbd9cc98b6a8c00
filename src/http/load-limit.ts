import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, preParsingHookHandler } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "../config/config.ts";
import { BY_STATUS, Problem } from "../errors/errors.ts";
import { refusal } from "../errors/problems.ts";
import { lineOf } from "../observability/log.ts";

/** So long a stopping service still answers, so that a client on a kept connection reads 503 instead of losing it. */
const NOTICE_MS = 250;

const STOPPING = refusal("stopping");
const OVERLOADED = refusal("overloaded");

const WITH_BODY = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const refuseGone: preParsingHookHandler = ({ raw }, _reply, _payload, done) =>
  done(raw.destroyed ? new Problem(...BY_STATUS[400]!) : null);

/** Of one connection, unanswered: clients that send the next request before the last is answered send a few. */
const MOST_PIPELINED = 32;

/**
 * The requests in flight. Beyond `maxInFlight` of them new ones are refused with 503 rather than queued; while the service
 * stops all new ones are, and the open ones end, each with its connection.
 */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    // Arrays, not Sets: a table that a Set outgrew points to the next one. Once such a table is old, whatever the Set has held since
    // survives until the old generation is collected: a tenth of the process's time.
    const open: ServerResponse[] = [];
    const sockets: Socket[] = [];
    /** Those of each connection that are not answered, refused ones too. */
    const unanswered = new WeakMap<Socket, FastifyReply[]>();
    let taken = 0;
    // Of answers that stand behind another on their connection only the connection tells when it ends.
    function cut(this: Socket): void {
      for (const reply of unanswered.get(this)!.splice(0)) {
        left(reply.raw);
        told(reply);
      }
      remove(sockets, this);
    }
    function closed(this: ServerResponse): void {
      left(this);
      const ofSocket = unanswered.get(this.req.socket);
      const at = ofSocket?.findIndex(({ raw }) => raw === this) ?? -1;
      if (at >= 0) told(ofSocket!.splice(at, 1)[0]!);
    }
    /** Answers that are read from somewhere, and sent as they come. */
    const streams = new WeakSet<ServerResponse>();
    /** What a request does goes on without its client, and so does its wait for a connection: it counts until there is an answer. */
    function left(response: ServerResponse): void {
      if (response.writableEnded || response.headersSent || streams.has(response)) remove(open, response);
    }
    /** Fastify tells of an answer that is sent; without this, what a client began and did not wait for would leave no line. */
    function told(reply: FastifyReply): void {
      if (!reply.raw.writableFinished) reply.request.log.info(lineOf(reply), "client left");
    }
    app.server.on("connection", socket => {
      taken++;
      sockets.push(socket);
      unanswered.set(socket, []);
      socket.once("close", cut);
    });
    // Nothing came or went for a while (http.ts). Who works on a long request is waited for, who does not read its answer is not.
    app.server.on("timeout", (socket: Socket) => {
      if (!unanswered.get(socket)?.length || socket.writableLength > 0) socket.destroy();
    });
    let stopping = false;
    app.decorate("inFlight", open);

    app.addHook("onRequest", (request, reply, done) => {
      const { socket } = request.raw;
      const ofSocket = unanswered.get(socket);
      // What comes after an answer that ended the connection is no request to work on.
      const ended = socket.destroyed || socket.writableEnded;
      if (ended || (ofSocket && ofSocket.length >= MOST_PIPELINED)) return void socket.destroy();
      ofSocket?.push(reply);
      // Also when the client leaves before the answer: `onResponse` would miss that.
      reply.raw.once("close", closed);
      if (stopping) return done(STOPPING);
      if (open.length >= config.maxInFlight && !request.routeOptions.config.probe) return done(OVERLOADED);
      open.push(reply.raw);
      done();
    });

    // A body that was not asked for before its client left never comes and never fails: its request would have no answer. One
    // hook on every request costs more than these few lines.
    app.addHook("onRoute", route => {
      if (![route.method].flat().some(method => WITH_BODY.includes(method))) return;
      route.preParsing = [refuseGone, ...[route.preParsing ?? []].flat()];
    });
    app.addHook("onSend", ({ raw }, reply, payload, done) => {
      if (raw.socket.destroyed || reply.raw.destroyed) remove(open, reply.raw);
      else if (payload !== null && typeof payload === "object" && !Buffer.isBuffer(payload))
        streams.add(reply.raw);
      done();
    });

    app.addHook("preClose", async () => {
      stopping = true;
      for (const response of open) if (!response.headersSent) response.setHeader("connection", "close");
      const until = performance.now() + NOTICE_MS;
      while (performance.now() < until && sockets.length > 0) await sleep(20);
      // Listening ends when nobody is left who knocked and was not taken: the kernel cuts those off.
      for (let before = -1; before !== taken; ) {
        before = taken;
        await new Promise(setImmediate);
      }
      const listened = performance.now();
      // Node's own closeIdleConnections() leaves those alone that never sent a whole request.
      const reaper = setInterval(() => {
        if (performance.now() < listened + NOTICE_MS) return; // who was taken last may still be about to ask
        const busy = new Set(open.map(response => response.req.socket));
        for (const socket of sockets) if (!busy.has(socket)) socket.destroySoon();
      }, 20);
      app.server.once("close", () => clearInterval(reaper));
    });
  },
  { name: "in-flight" },
);

/** The oldest stand first, and are mostly the first to go. */
function remove<T>(list: T[], one: T): void {
  const at = list.indexOf(one);
  if (at >= 0) list.splice(at, 1);
}

declare module "fastify" {
  interface FastifyInstance {
    inFlight: readonly ServerResponse[];
  }
}
