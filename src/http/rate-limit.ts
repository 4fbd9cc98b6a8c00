/**
 * @fastify/rate-limit compares a count with its limit and keeps the window. The SQL function api.take_rate_limit counts, so that all
 * instances share one count. The headers are ours: X-RateLimit-Reset is Unix time here, and seconds to wait in the plugin.
 */
import rateLimit from "@fastify/rate-limit";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { callerName, callInShare } from "../database/database.ts";
import { refusal } from "../errors/problems.ts";
import { slugOf } from "../values/request-tenant.ts";

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

/** Writes that also count for the tenant, whoever makes them: an admin makes keys at will. */
const LIMITS_OF_TENANTS = {
  keys_write: { max: 1_000, timeWindow: 60_000 },
  tenant_write: { max: 1_000, timeWindow: 60_000 },
  members_write: { max: 1_000, timeWindow: 60_000 },
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
      const counted_in = { bucket: this.bucket, window_seconds: timeWindow / 1000 };
      const taken = key
        ? callInShare(app, identity, "take_key_rate_limit", { ...counted_in, key })
        : callInShare(app, identity, "take_rate_limit", { ...counted_in, identity });
      taken.then(
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
    const limitersOf = (limits: Partial<Record<Bucket, Limit>>, prefix: string, keyGenerator: Key) =>
      Object.fromEntries(
        Object.entries(limits).map(([bucket, limit]) => [
          bucket,
          app.createRateLimit({ ...limit, groupId: prefix + bucket, keyGenerator } as never),
        ]),
      ) as Partial<Record<Bucket, ReturnType<FastifyInstance["createRateLimit"]>>>;
    const limiters = limitersOf(LIMITS, "", identityKey);
    const limitersOfTenants = limitersOf(
      LIMITS_OF_TENANTS,
      "tenant_",
      request => `tenant ${tenantOf(request)}`,
    );

    app.addHook("onRequest", async (request: FastifyRequest, reply: FastifyReply) => {
      const { limit, dryRun } = request.routeOptions.config;
      // Before validation, which refuses every value but these two.
      const { dry_run = "false" } = request.query as { dry_run?: unknown };
      const bucket = dryRun && dry_run !== "false" ? dryRun.limit : limit;
      if (!bucket) return;
      const found = await limiters[bucket]!(request);
      if (found.isAllowed) return;
      showLimit(reply, found);
      if (found.isExceeded) throw exceeded(found, LIMITS[bucket].timeWindow);
    });

    // After the tenant is resolved. Anybody may name any tenant: only requests of callers whom it let in count for it.
    app.addHook("preValidation", async (request: FastifyRequest, reply: FastifyReply) => {
      const { limit: bucket, needsMembership } = request.routeOptions.config;
      const take = bucket && limitersOfTenants[bucket];
      if (!take || needsMembership === false) return;
      const { identity, tenant } = request;
      // In single-tenant mode every verified caller is let in.
      if (tenant.kind !== "default" && !app.database.entered.has(tenantOf(request), callerName(identity)))
        return;
      const found = await take(request);
      if (found.isAllowed || !found.isExceeded) return;
      showLimit(reply, found);
      throw exceeded(found, LIMITS[bucket].timeWindow);
    });
  },
  { name: "rate-limit", dependencies: ["database", "auth"] },
);

type Limit = { max: number; timeWindow: number };
type Key = (request: FastifyRequest) => string;
type Found = { max: number; remaining: number; ttl: number };

function showLimit(reply: FastifyReply, { max, remaining, ttl }: Found): void {
  reply.header("x-ratelimit-limit", max);
  reply.header("x-ratelimit-remaining", remaining);
  reply.header("x-ratelimit-reset", Math.round((Date.now() + ttl) / 1000));
}

function exceeded({ max, ttl }: Found, timeWindow: number): Error {
  const wait = Math.min(Math.max(1, Math.ceil(ttl / 1000)), timeWindow / 1000);
  return refusal("too_many_requests", {
    detail: `The limit of ${max} requests is used up; try again in ${wait} s`,
    headers: { "retry-after": String(wait) },
  });
}

/** As callAsCaller() names it. */
const tenantOf = ({ identity: { key }, tenant }: FastifyRequest) =>
  (key && tenant.kind !== "default" ? key.tenant : slugOf(tenant)) ?? "";

/** With an API key, also what the database finds the key by: it counts valid keys only. */
const identityKey = ({ identity }: FastifyRequest) =>
  identity.key ? `${callerName(identity)}\0${identity.key.credential}` : callerName(identity);
