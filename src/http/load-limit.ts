/**
 * Not @fastify/under-pressure: it refuses requests by event loop delay and memory, and both stay low while requests wait for a busy
 * database. So this counts the requests in flight.
 */
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, preParsingHookHandler } from "fastify";
import fp from "fastify-plugin";
import { type Connection, Connections } from "../admission/connections.ts";
import { Guest, Room } from "../admission/room.ts";
import type { Config } from "../config/config.ts";
import { callerName } from "../database/database.ts";
import { BY_STATUS, Problem } from "../errors/errors.ts";
import { refusal } from "../errors/problems.ts";
import type { Identity } from "../identity/auth.ts";
import { lineOf } from "../observability/log.ts";
import { networkOf } from "../values/network.ts";
import { slugOf } from "../values/request-tenant.ts";

/** A stopping service answers for so long, so that a client with keep-alive reads 503 instead of a lost connection. */
const NOTICE_MS = 250;

const STOPPING = refusal("stopping");
const OVERLOADED = refusal("overloaded");
const TOO_MANY = refusal("too_many_at_once", { headers: { "retry-after": "1" } });

const GONE = new Problem(...BY_STATUS[400]!);

const WITH_BODY = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/** Unanswered requests on one connection. Clients that pipeline send a few. */
const MOST_PIPELINED = 32;

/** A request from its first line until its client has read the answer, or has left and the work is done. */
class Entry extends Guest {
  answered = false;
  /** Goes on with a request that waits for others of its connection. */
  goOn: (() => void) | null = null;
  constructor(
    readonly reply: FastifyReply,
    readonly connection: Connection<Entry> | undefined,
  ) {
    super();
  }
}

/** Requests of one identity that are worked on at once; more wait for these. */
const MOST_AT_ONCE = 16;

/**
 * Counts the requests in flight. Beyond `maxInFlight` it refuses new ones with 503 rather than queue them. Incomplete requests,
 * unauthenticated callers and unread answers do not count against `maxInFlight`. They count against their address, identity or tenant.
 * While the service stops it refuses all new requests, and the open ones end, each with its connection.
 */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    const { maxInFlight } = config;
    /** At least what one connection may send: a small instance has one bound for all. */
    const shareOf = (parts: number) => Math.max(MOST_PIPELINED, Math.ceil(maxInFlight / parts));
    const room = new Room<Entry>({
      all: maxInFlight,
      address: shareOf(10),
      identity: shareOf(10),
      tenant: shareOf(2),
      atOnce: MOST_AT_ONCE,
    });
    const connections = new Connections<Entry>(app.server, left);

    type Done = (problem?: Problem) => void;
    function begin(entry: Entry, done: Done): void {
      if (!room.begin(entry, done)) done(OVERLOADED);
    }
    /** After its client left, a request that has begun goes on working or waiting for a connection: it counts until it has a response. */
    function left(entry: Entry): void {
      const { raw, request } = entry.reply;
      if (entry.answered || raw.headersSent || entry.goOn || entry.begins) room.leave(entry);
      // Fastify logs only responses that were sent; this logs the requests that a client did not wait for.
      if (entry.connection && !raw.writableFinished) request.log.info(lineOf(entry.reply), "client left");
    }
    app.decorate("setAside", ({ entry }) => {
      entry!.answered = true;
      room.leave(entry!);
    });
    let stopping = false;
    app.decorate("inFlight", { getter: () => room.guests.map(({ reply }) => reply.raw) });
    app.decorateRequest("entry", null);

    app.addHook("onRequest", (request, reply, done) => {
      const { socket } = request.raw;
      const connection = connections.of(socket);
      // A response before this request has ended the connection.
      const ended = socket.destroyed || socket.writableEnded;
      if (ended || (connection && connection.unanswered.length >= MOST_PIPELINED))
        return void socket.destroy();
      const entry = new Entry(reply, connection);
      request.entry = entry;
      connection?.unanswered.push(entry);
      // Not `onResponse`: it does not run when the client leaves before the response.
      reply.raw.once("close", () => {
        const at = connection?.unanswered.indexOf(entry) ?? 0;
        if (at < 0) return; // the connection closed first
        connection?.unanswered.splice(at, 1);
        left(entry);
        if (at === 0) connection?.unanswered[0]?.goOn?.();
      });
      const enter = () => {
        if (socket.destroyed || socket.writableEnded) return;
        entry.goOn = null;
        if (stopping) return done(STOPPING);
        const fits =
          request.routeOptions.config.knowsCallers || room.countAddress(entry, networkOf(request.ip));
        done(fits ? undefined : TOO_MANY);
      };
      if (!stopping) room.enter(entry);
      // Pipelined: one after the other, as they are answered.
      if (connection && connection.unanswered.length > 1) entry.goOn = enter;
      else enter();
    });

    /**
     * The last tenant that let an identity in. Anybody may name any tenant: only requests of its members fill its share, and only they are
     * refused beyond it.
     */
    const memberships = new WeakMap<Identity, string>();

    // After authentication, and before the first use of the database.
    app.decorate("admit", ({ identity, entry }, done) => {
      if (entry!.connection && identity.key?.tenant !== null) entry!.connection.known = true;
      if (!room.countCaller(entry!, callerName(identity))) return done(TOO_MANY);
      // One that does not arrive whole fills the share, too; which tenant it names is not known yet.
      const tenant = memberships.get(identity);
      if (tenant !== undefined) room.countTenant(entry!, tenant);
      begin(entry!, done);
    });

    const wait: preParsingHookHandler = ({ raw, entry }, _reply, _payload, done) => {
      if (!raw.complete) room.rest(entry!);
      // The body of a client that left before we read it neither arrives nor fails, so its request would never end.
      done(raw.destroyed ? GONE : null);
    };
    // Only routes with a body pay for this hook.
    app.addHook("onRoute", route => {
      if (![route.method].flat().some(method => WITH_BODY.includes(method))) return;
      route.preParsing = [wait, ...[route.preParsing ?? []].flat()];
    });

    app.addHook("preValidation", (request, _reply, done) => {
      const { entry, identity, tenant } = request;
      if (!identity) return done();
      const slug = identity.key ? identity.key.tenant : slugOf(tenant);
      if (slug && memberships.get(identity) === slug && !room.countTenant(entry!, slug))
        return done(TOO_MANY);
      if (entry!.works) done();
      else begin(entry!, done);
    });
    app.addHook("onSend", (request, reply, _payload, done) => {
      const { entry, identity, tenant, resolved, raw } = request;
      const slug = resolved ? slugOf(tenant) : undefined;
      if (slug !== undefined && request.routeOptions.config.needsMembership !== false)
        if (memberships.get(identity) !== slug) memberships.set(identity, slug);
      if (entry) {
        entry.answered = true;
        if (raw.socket.destroyed || reply.raw.destroyed) room.leave(entry);
        else room.rest(entry);
      }
      done();
    });

    app.addHook("preClose", async () => {
      stopping = true;
      for (const { reply } of room.guests)
        if (!reply.raw.headersSent) reply.raw.setHeader("connection", "close");
      const until = performance.now() + NOTICE_MS;
      while (performance.now() < until && connections.all.length > 0) await sleep(20);
      // Accept all connections of the backlog before listening ends: the kernel resets those that are left.
      for (let before = -1; before !== connections.accepted; ) {
        before = connections.accepted;
        await new Promise(setImmediate);
      }
      const listened = performance.now();
      // Not closeIdleConnections(): it keeps connections that never sent a whole request.
      const reaper = setInterval(() => {
        if (performance.now() < listened + NOTICE_MS) return; // the last client may be about to send its request
        const busy = new Set<Socket>(room.guests.map(({ reply }) => reply.raw.req.socket));
        for (const { socket } of connections.all) if (!busy.has(socket)) socket.destroySoon();
      }, 20);
      app.server.once("close", () => clearInterval(reaper));
    });
  },
  { name: "load-limit" },
);

/** For routes whose callers show a token: registered after `auth`. */
export const callers = fp(
  async (app: FastifyInstance) => {
    app.addHook("onRoute", route => {
      route.config = { ...route.config, knowsCallers: true };
    });
    app.addHook("onRequest", (request, _reply, done) => app.admit(request, done));
  },
  { name: "callers", dependencies: ["load-limit", "auth"] },
);

declare module "fastify" {
  interface FastifyInstance {
    inFlight: readonly FastifyReply["raw"][];
    /** Lets a known caller's request begin, or says why not. */
    admit(request: FastifyRequest, done: (problem?: Problem) => void): void;
    /** The answer goes on for long: its request is in flight no more. */
    setAside(request: FastifyRequest): void;
  }
  interface FastifyRequest {
    entry: Entry | null;
  }
  interface FastifyContextConfig {
    /** The route asks for a token. */
    knowsCallers?: true;
  }
}
