/**
 * Not @fastify/under-pressure: it refuses requests by event loop delay and memory, and both stay low while requests wait for a busy
 * database. So this counts the requests in flight.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, preParsingHookHandler } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "../config/config.ts";
import { BY_STATUS, Problem } from "../errors/errors.ts";
import { refusal } from "../errors/problems.ts";
import { lineOf } from "../observability/log.ts";

/** A stopping service answers for so long, so that a client with keep-alive reads 503 instead of a lost connection. */
const NOTICE_MS = 250;

const STOPPING = refusal("stopping");
const OVERLOADED = refusal("overloaded");

const WITH_BODY = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const refuseGone: preParsingHookHandler = ({ raw }, _reply, _payload, done) =>
  done(raw.destroyed ? new Problem(...BY_STATUS[400]!) : null);

/** Unanswered requests on one connection. Clients that pipeline send a few. */
const MOST_PIPELINED = 32;

/**
 * Counts the requests in flight. Beyond `maxInFlight` it refuses new ones with 503 rather than queue them. While the service stops
 * it refuses all new ones, and the open ones end, each with its connection.
 */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    // Arrays, not Sets. V8 links the hash table that a Set outgrew to the next one; once it is in the old generation, all later
    // entries survive until a full collection: that took a tenth of the CPU time.
    const open: ServerResponse[] = [];
    const sockets: Socket[] = [];
    /** The unanswered requests of each connection, refused ones too. */
    const unanswered = new WeakMap<Socket, FastifyReply[]>();
    let accepted = 0;
    // Pipelined responses: Node reports the end only on the socket.
    function cut(this: Socket): void {
      for (const reply of unanswered.get(this)!.splice(0)) {
        left(reply.raw);
        logLeft(reply);
      }
      remove(sockets, this);
    }
    function closed(this: ServerResponse): void {
      left(this);
      const ofSocket = unanswered.get(this.req.socket);
      const at = ofSocket?.findIndex(({ raw }) => raw === this) ?? -1;
      if (at >= 0) logLeft(ofSocket!.splice(at, 1)[0]!);
    }
    /** Responses whose payload is a stream. */
    const streams = new WeakSet<ServerResponse>();
    /** After its client left, a request goes on working or waiting for a connection: it counts until it has a response. */
    function left(response: ServerResponse): void {
      if (response.writableEnded || response.headersSent || streams.has(response)) remove(open, response);
    }
    /** Fastify logs only responses that were sent; this logs the requests that a client did not wait for. */
    function logLeft(reply: FastifyReply): void {
      if (!reply.raw.writableFinished) reply.request.log.info(lineOf(reply), "client left");
    }
    app.server.on("connection", socket => {
      accepted++;
      sockets.push(socket);
      unanswered.set(socket, []);
      socket.once("close", cut);
    });
    // An idle connection (`connectionTimeout`). We keep it while we work on its request, but not when its client does not read.
    app.server.on("timeout", (socket: Socket) => {
      if (!unanswered.get(socket)?.length || socket.writableLength > 0) socket.destroy();
    });
    let stopping = false;
    app.decorate("inFlight", open);

    app.addHook("onRequest", (request, reply, done) => {
      const { socket } = request.raw;
      const ofSocket = unanswered.get(socket);
      // A response before this request has ended the connection.
      const ended = socket.destroyed || socket.writableEnded;
      if (ended || (ofSocket && ofSocket.length >= MOST_PIPELINED)) return void socket.destroy();
      ofSocket?.push(reply);
      // Not `onResponse`: it does not run when the client leaves before the response.
      reply.raw.once("close", closed);
      if (stopping) return done(STOPPING);
      if (open.length >= config.maxInFlight && !request.routeOptions.config.probe) return done(OVERLOADED);
      open.push(reply.raw);
      done();
    });

    // The body of a client that left before we read it neither arrives nor fails, so its request would never end. Only routes with
    // a body pay for this hook.
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
      // Accept all connections of the backlog before listening ends: the kernel resets those that are left.
      for (let before = -1; before !== accepted; ) {
        before = accepted;
        await new Promise(setImmediate);
      }
      const listened = performance.now();
      // Not closeIdleConnections(): it keeps connections that never sent a whole request.
      const reaper = setInterval(() => {
        if (performance.now() < listened + NOTICE_MS) return; // the last client may be about to send its request
        const busy = new Set(open.map(response => response.req.socket));
        for (const socket of sockets) if (!busy.has(socket)) socket.destroySoon();
      }, 20);
      app.server.once("close", () => clearInterval(reaper));
    });
  },
  { name: "load-limit" },
);

/** The oldest entries are first, and mostly the first to go. */
function remove<T>(list: T[], one: T): void {
  const at = list.indexOf(one);
  if (at >= 0) list.splice(at, 1);
}

declare module "fastify" {
  interface FastifyInstance {
    inFlight: readonly ServerResponse[];
  }
}
