import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Config } from "../config/config.ts";
import { type Problem, reasonOf } from "../errors/errors.ts";
import { isUnresolved } from "../errors/problems.ts";
import { shownSlug } from "../observability/log.ts";
import { getMetrics } from "./operations.ts";

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts every request in one hook at its end, and serves GET /metrics for Prometheus. docs/operations.md lists the metrics. */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    const registry = new Registry();
    const registers = [registry];
    const requests = new Histogram({
      name: "tms_http_request_duration_seconds",
      help: "Requests by route, method and status: their number, and the time from the first byte in to the last byte out",
      labelNames: ["method", "route", "status"],
      buckets: BUCKETS,
      registers,
    });
    const resolutions = new Counter({
      name: "tms_tenant_resolutions_total",
      help: "Tenants that requests named, by source of the name and outcome",
      labelNames: ["source", "outcome", ...(config.metricsTenantLabel ? ["tenant"] : [])],
      registers,
    });
    const refusals = new Counter({
      name: "tms_refusals_total",
      help: "Requests answered with an error, by status and reason",
      labelNames: ["status", "reason"],
      registers,
    });
    const limited = new Counter({
      name: "tms_rate_limit_refusals_total",
      help: "Requests over a rate limit, by bucket",
      labelNames: ["bucket"],
      registers,
    });
    collectDefaultMetrics({ register: registry });
    gauges(app, registers);

    app.decorateRequest("refusal", null);
    app.decorateRequest("resolved", false);
    app.addHook("onResponse", (request, reply, done) => {
      const { refusal, tenant, routeOptions } = request;
      const status = String(reply.statusCode);
      const { url: route = "none", config: operation } = routeOptions;
      // The time of a stream is that of its client.
      const isStream = String(reply.getHeader("content-type")).startsWith("text/event-stream");
      if (!isStream) requests.observe({ method: request.method, route, status }, reply.elapsedTime / 1000);
      if (request.resolved) {
        const { source, kind } = tenant;
        // A slug that needs no membership need not exist: each would be one more series.
        resolutions.inc(
          config.metricsTenantLabel && (kind === "default" || operation.needsMembership !== false)
            ? { source, outcome: "resolved", tenant: shownSlug(request) }
            : { source, outcome: "resolved" },
        );
      } else if (refusal && isUnresolved(refusal)) {
        resolutions.inc({ source: tenant?.source ?? "none", outcome: refusal.reason! });
      }
      if (refusal) {
        refusals.inc({ status, reason: reasonOf(refusal) });
        if (refusal.reason === "too_many_requests") limited.inc({ bucket: operation.limit ?? "none" });
      }
      done();
    });
    app.get("/metrics", getMetrics, async (_request, reply) =>
      reply
        .header("cache-control", "no-store")
        .type(registry.contentType)
        .send(await registry.metrics()),
    );
  },
  { name: "metrics", dependencies: ["readiness", "load-limit", "event-stream", "key-set"] },
);

/** Gauges that are read only when Prometheus scrapes. */
function gauges(app: FastifyInstance, registers: Registry[]): void {
  const gauge = (name: string, help: string, labelNames: string[], read: (gauge: Gauge) => unknown) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        this.reset();
        await read(this);
      },
    });
  gauge(
    "tms_http_requests_in_flight",
    "Requests in flight, including those whose clients have left",
    [],
    it => it.set(app.inFlight.length),
  );
  gauge("tms_event_streams", "Open event streams", [], it => it.set(app.streams));
  gauge("tms_database_connections", "Connections of this instance", ["pool", "state"], it => {
    for (const [pool, { totalCount, idleCount }] of Object.entries(app.database.pools)) {
      it.set({ pool, state: "busy" }, totalCount - idleCount);
      it.set({ pool, state: "idle" }, idleCount);
    }
  });
  gauge("tms_database_connections_max", "Connections that a pool may open", ["pool"], it => {
    for (const [pool, { options }] of Object.entries(app.database.pools)) it.set({ pool }, options.max);
  });
  gauge("tms_database_waiting", "Requests waiting for a connection", ["pool"], it => {
    const { pools, shares } = app.database;
    for (const [pool, { waitingCount }] of Object.entries(pools))
      it.set({ pool }, waitingCount + (pool === "primary" ? shares.waiting : 0));
  });
  gauge("tms_database_replica_resting", "1 while the primary answers for a replica that failed", [], it =>
    it.set(performance.now() < app.database.replicaRestsUntil ? 1 : 0),
  );
  gauge(
    "tms_jwks_last_success_seconds",
    "Unix time at which the key set was last read; 0 before the first time",
    [],
    it => {
      if (app.keySet) it.set(app.keySet.lastSuccess);
      else it.remove();
    },
  );
  new Counter({
    name: "tms_jwks_failures_total",
    help: "Reads of the key set that gave no keys",
    registers,
    collect() {
      this.reset();
      if (app.keySet) this.inc(app.keySet.failures);
      else this.remove();
    },
  });
  gauge("tms_ready", "1 when GET /ready finds no fault, by check", ["check"], async it => {
    const { checks } = await app.readiness();
    // No series for an unknown result: an alert on isolation must not fire for another fault.
    for (const [check, faults] of Object.entries(checks))
      if (faults) it.set({ check }, faults.length === 0 ? 1 : 0);
  });
  gauge(
    "tms_events_wait_seconds",
    "Time that the first event has waited which a transaction that stays open keeps from the feeds; 0: none waits",
    [],
    async it => {
      const { known } = await app.readiness();
      if (known) it.set(known.events_wait_seconds);
      else it.remove();
    },
  );
  gauge("tms_tenants", "Tenants by status", ["status"], async it => {
    const { known } = await app.readiness();
    for (const [status, count] of Object.entries(known?.tenants ?? {})) it.set({ status }, count);
  });
  gauge(
    "tms_audit_age_seconds",
    "Time since the last full isolation audit (all tenants, data and schema) ended",
    [],
    async it => {
      const { known } = await app.readiness();
      if (known?.audit) it.set(known.audit.age_seconds);
      else it.remove(); // a gauge without labels would show 0
    },
  );
  gauge("tms_audit_findings", "Findings of the last full isolation audit", ["severity"], async it => {
    const { known } = await app.readiness();
    if (!known?.audit) return;
    const { errors, warnings, not_run } = known.audit;
    it.set({ severity: "error" }, errors);
    it.set({ severity: "warning" }, warnings);
    it.set({ severity: "not_run" }, not_run);
  });
}

declare module "fastify" {
  interface FastifyRequest {
    /** The refusal that was sent. */
    refusal: Problem | null;
    /** The database has let the caller into the tenant that the request names. */
    resolved: boolean;
  }
}
