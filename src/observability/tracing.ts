import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import { StartupError } from "../errors/startup-error.ts";
import { shownSlug, traceId } from "./log.ts";

/**
 * The operator installs OpenTelemetry, 50 MB that most deployments do not need, and configures it by its own OTEL_* variables.
 * These are the calls of @opentelemetry/api that we make.
 */
interface Api {
  trace: {
    getTracer(name: string): {
      startSpan(
        name: string,
        options: { kind: number; attributes?: Record<string, unknown> },
        context: unknown,
      ): Span;
    };
    setSpan(context: unknown, span: Span): unknown;
  };
  context: { active(): unknown };
  propagation: { extract(context: unknown, headers: unknown): unknown };
}
interface Span {
  spanContext(): { traceId: string };
  setAttribute(name: string, value: string | number): void;
  setStatus(status: { code: number }): void;
  end(): void;
}
interface Sdk {
  NodeSDK: new (options: {
    serviceName?: string;
    instrumentations: [];
  }) => { start(): void; shutdown(): Promise<void> };
}
const [SERVER, CLIENT, ERROR] = [1, 2, 2];

/** How long a stopping service waits for the collector to take the last spans. */
const FLUSH_MS = 3_000;

/** The variable that requests traces; undefined if none does. */
export function tracesAskedBy(env: NodeJS.ProcessEnv): string | undefined {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none")
    return undefined;
  return ["OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"].find(
    name => env[name],
  );
}

async function load(variable: string): Promise<[Api, Sdk]> {
  // Not literals, so that neither the compiler nor a bundler requires these optional packages.
  const names = ["@opentelemetry/api", "@opentelemetry/sdk-node"];
  try {
    return (await Promise.all(names.map(name => import(name)))) as [Api, Sdk];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new StartupError(
      `${variable} asks for traces, and OpenTelemetry is not installed: npm install ${names.join(" ")}`,
    );
  }
}

/** One span for each request and one for each database call, if the environment requests traces. */
export default fp(
  async (app: FastifyInstance) => {
    app.decorateRequest("span", null);
    const variable = tracesAskedBy(process.env);
    if (!variable) return;
    const [{ trace, context, propagation }, { NodeSDK }] = await load(variable);
    const named = process.env.OTEL_SERVICE_NAME ?? process.env.OTEL_RESOURCE_ATTRIBUTES;
    const sdk = new NodeSDK({
      ...(named ? {} : { serviceName: "tenant-management-service" }),
      instrumentations: [],
    });
    sdk.start();
    app.addHook("onClose", async () => {
      const late = sleep(FLUSH_MS, undefined, { ref: false }).then(() => {
        throw new Error(`The collector takes longer than ${FLUSH_MS / 1000} s`);
      });
      await Promise.race([sdk.shutdown(), late]).catch(err =>
        app.log.warn({ err }, "the last spans are lost"),
      );
    });
    const tracer = trace.getTracer("tenant-management-service");

    app.addHook("onRequest", (request, _reply, done) => {
      const { method, routeOptions, headers } = request;
      const route = routeOptions.url ?? "none";
      const attributes = { "http.request.method": method, "http.route": route };
      const parent = propagation.extract(context.active(), headers);
      const span = tracer.startSpan(`${method} ${route}`, { kind: SERVER!, attributes }, parent);
      const inside = trace.setSpan(parent, span);
      request.span = {
        own: span,
        call: name =>
          tracer.startSpan(
            `api.${name}`,
            { kind: CLIENT!, attributes: { "db.system.name": "postgresql" } },
            inside,
          ),
      };
      if (traceId(headers.traceparent) === undefined)
        request.log = request.log.child({ trace_id: span.spanContext().traceId });
      done();
    });
    app.addHook("onResponse", (request, reply, done) => {
      const span = request.span?.own;
      span?.setAttribute("http.response.status_code", reply.statusCode);
      if (request.resolved) span?.setAttribute("tenant.slug", shownSlug(request));
      if (reply.statusCode >= 500) span?.setStatus({ code: ERROR! });
      span?.end();
      done();
    });
  },
  { name: "tracing" },
);

declare module "fastify" {
  interface FastifyRequest {
    /** Null without tracing. */
    span: { own: Span; call(name: string): Span } | null;
  }
}
