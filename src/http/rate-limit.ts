/**
 * @fastify/rate-limit compares a count with its limit and keeps the window. The SQL function api.take_rate_limit counts, so that all
 * instances share one count. The headers are ours: X-RateLimit-Reset is Unix time here, and seconds to wait in the plugin.
 */
import rateLimit from "@fastify/rate-limit";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { callerName, callInShare } from "../database/database.ts";
import { refusal } from "../errors/problems.ts";

const HOUR = 3_600_000;

/** Fixed windows, counted per identity. An operation names its bucket. */
const LIMITS = {
  setup_create: { max: 10, timeWindow: HOUR },
  setup_delete: { max: 5, timeWindow: HOUR },
  register: { max: 3, timeWindow: HOUR },
  setup_read: { max: 100, timeWindow: 60_000 },
  keys_write: { max: 100, timeWindow: 60_000 },
  tenant_write: { max: 100, timeWindow: 60_000 },
  members_write: { max: 100, timeWindow: 60_000 },
  invitation_accept: { max: 20, timeWindow: 60_000 },
  registration_read: { max: 100, timeWindow: 60_000 },
} as const;

export type Bucket = keyof typeof LIMITS;
type Counted = (error: Error | null, result?: { current: number; ttl: number }) => void;

/** Counts in Postgres, outside the transaction of the request: its rollback must not undo the count. */
function storeIn(app: FastifyInstance) {
  return class Store {
    readonly bucket: string;
    constructor(options: { groupId?: string }) {
      this.bucket = options.groupId ?? "";
    }
    child(options: { groupId?: string }) {
      return new Store(options);
    }
    incr(caller: string, counted: Counted, timeWindow: number) {
      const [identity, key] = caller.split("\0") as [string, string?];
      const call = key ? "take_key_rate_limit" : "take_rate_limit";
      callInShare(app, identity, call, this.bucket, key ?? identity, timeWindow / 1000).then(
        row => {
          // callInShare() names the first column `body`.
          const { body: hits, reset_at } = row as unknown as { body: number; reset_at: string };
          counted(null, { current: hits, ttl: Number(reset_at) * 1000 - Date.now() });
        },
        error => counted(error),
      );
    }
  };
}

/** Adds the limit hook right after authentication, so that every outcome counts. */
export default fp(
  async (app: FastifyInstance) => {
    await app.register(rateLimit, { global: false, store: storeIn(app) as never });
    const limiters = Object.fromEntries(
      Object.entries(LIMITS).map(([bucket, limit]) => [
        bucket,
        app.createRateLimit({ ...limit, groupId: bucket, keyGenerator: identityKey } as never),
      ]),
    ) as Record<Bucket, ReturnType<FastifyInstance["createRateLimit"]>>;

    app.addHook("onRequest", async (request: FastifyRequest, reply: FastifyReply) => {
      const { limit, dryRun } = request.routeOptions.config;
      // Before validation: a value that is no flag, or given twice, is refused, and counts as the operation itself.
      const isDryRun = dryRun && (request.query as { dry_run?: unknown }).dry_run === "true";
      const bucket = isDryRun ? dryRun.limit : limit;
      if (!bucket) return;
      const found = await limiters[bucket](request);
      if (found.isAllowed) return;
      const reset = Math.round((Date.now() + found.ttl) / 1000);
      reply.header("x-ratelimit-limit", found.max);
      reply.header("x-ratelimit-remaining", found.remaining);
      reply.header("x-ratelimit-reset", reset);
      if (found.isExceeded) {
        const wait = Math.min(Math.max(1, Math.ceil(found.ttl / 1000)), LIMITS[bucket].timeWindow / 1000);
        throw refusal("too_many_requests", {
          detail: `The limit of ${found.max} requests is used up; try again in ${wait} s`,
          headers: { "retry-after": String(wait) },
        });
      }
    });
  },
  { name: "rate-limit", dependencies: ["database", "auth"] },
);

/** With an API key, also what the database finds the key by: it counts valid keys only. */
const identityKey = ({ identity }: FastifyRequest) =>
  identity.key ? `${callerName(identity)}\0${identity.key.credential}` : callerName(identity);
