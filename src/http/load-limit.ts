/**
 * Not @fastify/under-pressure: it refuses requests by event loop delay and memory, and both stay low while requests wait for a busy
 * database. So this counts the requests in flight.
 */
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, preParsingHookHandler } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "../config/config.ts";
import { BY_STATUS, Problem } from "../errors/errors.ts";
import { refusal } from "../errors/problems.ts";
import type { Identity } from "../identity/auth.ts";
import { lineOf } from "../observability/log.ts";
import { type Connection, Connections } from "./connections.ts";

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
interface Entry {
  readonly reply: FastifyReply;
  readonly connection: Connection<Entry> | undefined;
  /** Its body is here, its caller is known, and it has no answer yet: it counts against `maxInFlight`. */
  works: boolean;
  answered: boolean;
  /** Of a client that needs no token. Kept: Node asks the system for it, behind several getters. */
  address: string | null;
  /** Goes on with a request that waits for others of its connection or its identity. */
  goOn: (() => void) | null;
}

/** Requests of one identity that are worked on at once; more wait for these. */
const MOST_AT_ONCE = 16;

/**
 * Counts the requests in flight. Beyond `maxInFlight` it refuses new ones with 503 rather than queue them. What is not yet whole, what
 * comes from a caller who is not yet known, and what nobody reads does not count for all: it counts for its address, identity
 * and tenant, which have shares of their own. While the service stops it refuses all new requests, and the open ones end, each with its connection.
 */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    const { maxInFlight } = config;
    /** At least what one connection may send: a small instance has one bound for all. */
    const shareOf = (parts: number) => Math.max(MOST_PIPELINED, Math.ceil(maxInFlight / parts));
    const shares = { address: shareOf(10), tenant: shareOf(2), identity: shareOf(10) };
    // An array, not a Set. V8 links the hash table that a Set outgrew to the next one; once it is in the old generation, all later
    // entries survive until a full collection: that took a tenth of the CPU time.
    const open: Entry[] = [];
    let working = 0;
    const connections = new Connections<Entry>(app.server, left);

    /** Nobody can have more than a share open while there are fewer in all: then nothing is counted. */
    const isFull = (share: number, isOf: (entry: Entry) => boolean) => {
      let count = open.length > share ? 0 : Number.NEGATIVE_INFINITY;
      if (count === 0) for (const entry of open) if (isOf(entry)) count++;
      return count > share;
    };
    /** Requests that wait for others of their identity, the oldest first. */
    const waiting: Entry[] = [];
    type Done = (problem?: Problem) => void;
    function begin(entry: Entry, identity: Identity, done: Done): void {
      if (working + waiting.length >= maxInFlight) done(OVERLOADED);
      else if (isBusy(identity)) {
        entry.goOn = () => {
          entry.goOn = null;
          work(entry, done);
        };
        waiting.push(entry);
      } else work(entry, done);
    }
    function work(entry: Entry, done: Done): void {
      entry.works = true;
      working++;
      done();
    }
    function rest(entry: Entry): void {
      if (!entry.works) return;
      working--;
      entry.works = false;
      if (waiting.length === 0) return;
      const { identity } = entry.reply.request;
      const next = waiting.findIndex(({ reply }) => isSame(reply.request.identity, identity));
      if (next >= 0) waiting.splice(next, 1)[0]!.goOn!();
    }
    function isBusy(identity: Identity): boolean {
      let count = working < MOST_AT_ONCE ? Number.NEGATIVE_INFINITY : 0;
      if (count === 0)
        for (const { works, reply } of open) if (works && isSame(reply.request.identity, identity)) count++;
      return count >= MOST_AT_ONCE;
    }
    /** After its client left, a request that has begun goes on working or waiting for a connection: it counts until it has a response. */
    function left(entry: Entry): void {
      const { raw, request } = entry.reply;
      if (entry.answered || raw.headersSent || entry.goOn) drop(entry);
      // Fastify logs only responses that were sent; this logs the requests that a client did not wait for.
      if (entry.connection && !raw.writableFinished) request.log.info(lineOf(entry.reply), "client left");
    }
    function drop(entry: Entry): void {
      rest(entry);
      remove(open, entry);
      if (entry.goOn) remove(waiting, entry);
    }
    app.decorate("setAside", ({ entry }) => {
      entry!.answered = true;
      drop(entry!);
    });
    let stopping = false;
    app.decorate("inFlight", { getter: () => open.map(({ reply }) => reply.raw) });
    app.decorateRequest("entry", null);

    app.addHook("onRequest", (request, reply, done) => {
      const { socket } = request.raw;
      const connection = connections.of(socket);
      // A response before this request has ended the connection.
      const ended = socket.destroyed || socket.writableEnded;
      if (ended || (connection && connection.unanswered.length >= MOST_PIPELINED))
        return void socket.destroy();
      const entry: Entry = { reply, connection, works: false, answered: false, address: null, goOn: null };
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
        if (!request.routeOptions.config.knowsCallers) entry.address = request.ip;
        const { address } = entry;
        const full = address !== null && isFull(shares.address, one => one.address === address);
        done(full ? TOO_MANY : undefined);
      };
      if (!stopping) open.push(entry);
      // Pipelined: one after the other, as they are answered.
      if (connection && connection.unanswered.length > 1) entry.goOn = enter;
      else enter();
    });

    // After authentication, and before the first use of the database.
    app.decorate("admit", ({ identity, entry }, done) => {
      if (entry!.connection && identity.key?.tenant !== null) entry!.connection.known = true;
      if (isFull(shares.identity, ({ reply }) => isSame(reply.request.identity, identity)))
        return done(TOO_MANY);
      begin(entry!, identity, done);
    });

    const wait: preParsingHookHandler = ({ raw, entry }, _reply, _payload, done) => {
      if (!raw.complete) rest(entry!);
      // The body of a client that left before we read it neither arrives nor fails, so its request would never end.
      done(raw.destroyed ? GONE : null);
    };
    // Only routes with a body pay for this hook.
    app.addHook("onRoute", route => {
      if (![route.method].flat().some(method => WITH_BODY.includes(method))) return;
      route.preParsing = [wait, ...[route.preParsing ?? []].flat()];
    });

    /**
     * The last tenant that let an identity in. Anybody may name any tenant: only requests of its members fill its share, and only they are
     * refused beyond it.
     */
    const memberships = new WeakMap<Identity, string>();
    const isOf = ({ reply }: Entry, slug: string) => {
      const { identity } = reply.request as { identity?: Identity };
      return identity !== undefined && memberships.get(identity) === slug;
    };
    app.addHook("preValidation", (request, _reply, done) => {
      const { entry, identity, tenant } = request;
      if (!identity) return done();
      const slug = identity.key ? identity.key.tenant : tenant?.slug;
      if (
        slug &&
        open.length > shares.tenant &&
        isOf(entry!, slug) &&
        isFull(shares.tenant, one => isOf(one, slug))
      )
        return done(TOO_MANY);
      if (entry!.works) done();
      else begin(entry!, identity, done);
    });
    app.addHook("onSend", (request, reply, _payload, done) => {
      const { entry, identity, tenant, resolved, raw } = request;
      if (resolved && tenant.slug && request.routeOptions.config.needsMembership !== false)
        if (memberships.get(identity) !== tenant.slug) memberships.set(identity, tenant.slug);
      if (entry) {
        entry.answered = true;
        if (raw.socket.destroyed || reply.raw.destroyed) drop(entry);
        else rest(entry);
      }
      done();
    });

    app.addHook("preClose", async () => {
      stopping = true;
      for (const { reply } of open) if (!reply.raw.headersSent) reply.raw.setHeader("connection", "close");
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
        const busy = new Set<Socket>(open.map(({ reply }) => reply.raw.req.socket));
        for (const { socket } of connections.all) if (!busy.has(socket)) socket.destroySoon();
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

const isSame = (one: Identity | undefined, other: Identity) =>
  one === other || (one?.subject === other.subject && one.provider === other.provider);

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
