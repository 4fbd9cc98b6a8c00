/** Pages of events, and server-sent events: one page after the other, for as long as the client stays. */
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import Negotiator from "negotiator";
import { OpenStreams } from "../admission/open-streams.ts";
import { callerName, type Row } from "../database/database.ts";
import { BY_STATUS, Problem } from "../errors/errors.ts";
import { refusal } from "../errors/problems.ts";
import { slugOf } from "../values/request-tenant.ts";
import { sendPage } from "./responses.ts";
import type { Event, EventPage, ListTenantEvents } from "./schemas/events.ts";

/** Between two looks into the database; each asks again whether the caller may look. */
const LOOK_MS = 1_000;
/** Proxies end a connection that has been silent for long. */
const HEARTBEAT_MS = 15_000;
/** Events of one look. */
const PAGE = 100;

type Look = (
  request: FastifyRequest,
  limit: number,
  after: string | null,
  order: "at" | "-at",
) => Promise<Row>;

export async function sendEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  { limit, order = "at", ...query }: ListTenantEvents,
  look: Look,
): Promise<FastifyReply> {
  const after = query.after ?? null;
  if (!asksForStream(request)) return sendPage(reply, await look(request, limit, after, order), "after");
  const from = lastEventId(request) ?? after;
  const next = from === null && order === "-at";
  // What it refuses is answered as usual. An API key is known, and its tenant, once the database has admitted it.
  const row = await look(request, PAGE, from, next ? "-at" : "at");
  const close = request.server.openStream(request, reply, row.key_id ?? null);
  const first = pageOf(row);
  if (next) first.events = [];
  request.server.setAside(request);
  // A span and log lines for the request, none for each look.
  const quiet = Object.create(request, { span: { value: null } }) as FastifyRequest;
  const { exp = Number.POSITIVE_INFINITY } = request.identity.claims as { exp?: number };
  const lines = follow(first, from => look(quiet, PAGE, from, "at"), close.signal, exp * 1_000);
  return reply
    .header("content-type", STREAM_TYPE)
    .header("cache-control", "no-store")
    .header("x-content-type-options", "nosniff")
    .header("x-accel-buffering", "no")
    .send(Readable.from(lines, { objectMode: false }));
}

const [JSON_TYPE, STREAM_TYPE] = ["application/json", "text/event-stream"].map(
  type => `${type}; charset=utf-8`,
);

/** JSON, unless the client prefers a stream. */
const asksForStream = ({ method, raw }: FastifyRequest) =>
  method === "GET" && new Negotiator(raw).mediaType([JSON_TYPE!, STREAM_TYPE!]) === STREAM_TYPE;

/** Where a client that was cut off goes on. */
function lastEventId({ headers }: FastifyRequest): string | null {
  const id = headers["last-event-id"];
  return typeof id === "string" && id !== "" ? id : null;
}

const pageOf = ({ body }: Row) => JSON.parse(body) as EventPage;

/** Ends when the signal says so, when the token expires, and when the caller may not look any more. */
async function* follow(
  { events, cursor }: EventPage,
  look: (after: string) => Promise<Row>,
  signal: AbortSignal,
  until: number,
): AsyncGenerator<string> {
  yield `retry: ${LOOK_MS}\n\n`;
  let spoke = performance.now();
  for (;;) {
    if (events.length > 0 || performance.now() - spoke > HEARTBEAT_MS) {
      yield events.map(asText).join("") || ":\n\n";
      spoke = performance.now();
    }
    const wait = Math.min(events.length < PAGE ? LOOK_MS : 0, until - Date.now());
    if (wait > 0) await sleep(wait, undefined, { signal }).catch(() => {});
    if (signal.aborted || Date.now() >= until) return;
    try {
      ({ events, cursor } = pageOf(await look(cursor)));
    } catch (error) {
      if (!(error instanceof Problem) || error.status < 500) return;
      // The database is away, or busy: the next look may succeed.
      events = [];
    }
  }
}

const asText = (event: Event) =>
  `id: ${event.cursor}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/** Counts the open streams, and ends them when the service stops: their clients go on at another instance. */
export default fp(
  async (app: FastifyInstance) => {
    const open = new OpenStreams();
    let stopping = false;
    app.decorate("streams", { getter: () => open.size });
    app.decorate("openStream", ({ identity, tenant: asked, routeOptions: { config } }, reply, keyId) => {
      const who = callerName(keyId === null ? identity : { ...identity, subject: keyId });
      // An operator may name any tenant.
      const tenant = config.needsMembership === false ? null : (slugOf(asked) ?? "");
      if (stopping) throw refusal("stopping");
      // Its client left during the first look: nothing would tell us again.
      if (reply.raw.destroyed) throw new Problem(...BY_STATUS[400]!);
      const end = open.add(who, tenant);
      reply.raw.once("close", () => end.abort());
      return end;
    });
    app.addHook("preClose", async () => {
      stopping = true;
      open.endAll();
    });
  },
  { name: "event-stream", dependencies: ["load-limit"] },
);

declare module "fastify" {
  interface FastifyInstance {
    /** How many are open. */
    streams: number;
    /** Counts a stream of the caller until it is aborted or its client leaves. */
    openStream(request: FastifyRequest, reply: FastifyReply, keyId: string | null): AbortController;
  }
}
