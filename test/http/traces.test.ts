import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { tracesAskedBy } from "../../src/observability/tracing.ts";
import { createDatabase, createService, seedTenant, seedUser, token } from "../harness.ts";

const installed = await import("@opentelemetry/sdk-node" as string).then(
  () => true,
  () => false,
);

const received: string[] = [];
const database = await createDatabase();
const collector = createServer((request, response) => {
  let body = "";
  request
    .setEncoding("latin1")
    .on("data", chunk => (body += chunk))
    .on("end", () => {
      received.push(`${request.url} ${body}`);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
});
await new Promise<void>(resolve => collector.listen(0, "127.0.0.1", resolve));
after(async () => {
  collector.close();
  await database.drop();
});

/** Sets environment variables while `work` runs: OpenTelemetry reads process.env. */
async function withEnvironment(env: Record<string, string>, work: () => Promise<void>) {
  Object.assign(process.env, env);
  try {
    await work();
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
  }
}

test("only the standard variables switch traces on", () => {
  for (const [env, asked] of [
    [{}, undefined],
    [{ OTEL_SERVICE_NAME: "x" }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318" }, "OTEL_EXPORTER_OTLP_ENDPOINT"],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://c" }, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"],
    [{ OTEL_TRACES_EXPORTER: "otlp" }, "OTEL_TRACES_EXPORTER"],
    [{ OTEL_TRACES_EXPORTER: "none", OTEL_EXPORTER_OTLP_ENDPOINT: "http://c" }, undefined],
    [{ OTEL_SDK_DISABLED: "True", OTEL_EXPORTER_OTLP_ENDPOINT: "http://c" }, undefined],
  ] as const)
    assert.equal(tracesAskedBy(env), asked);
});

test(
  "where OpenTelemetry is not installed the service says so in one sentence",
  {
    skip: installed && "OpenTelemetry is installed here",
  },
  () =>
    withEnvironment({ OTEL_TRACES_EXPORTER: "otlp" }, () =>
      assert.rejects(createService(database), (error: Error) => {
        assert.equal(
          error.message,
          "OTEL_TRACES_EXPORTER asks for traces, and OpenTelemetry is not installed: npm install @opentelemetry/api @opentelemetry/sdk-node",
        );
        return true;
      }),
    ),
);

interface Described {
  attributes: { key: string; value: Record<string, unknown> }[];
}
interface Span extends Described {
  name: string;
  kind: number;
  traceId: string;
  parentSpanId: string;
  spanId: string;
  status: { code: number };
}
interface Resource {
  resource: Described;
  scopeSpans: { spans: Span[] }[];
}
const attributesOf = ({ attributes }: Described) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
const requestTo = (route: string, status: number, slug?: string) => ({
  "http.request.method": "GET",
  "http.route": route,
  "http.response.status_code": status,
  ...(slug && { "tenant.slug": slug }),
});

const ifInstalled = {
  skip:
    !installed &&
    "OpenTelemetry is not installed here (npm install --no-save @opentelemetry/api @opentelemetry/sdk-node)",
};
const exportTo = (port: number) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
  OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  OTEL_METRICS_EXPORTER: "none",
  OTEL_LOGS_EXPORTER: "none",
});

test("a collector that cannot be reached does not block the stop of the service", ifInstalled, () =>
  withEnvironment(exportTo(9), async () => {
    const service = await createService(database);
    await service.request({ url: "/health" });
    const from = performance.now();
    await service.close();
    assert.ok(performance.now() - from < 8_000);
    assert.equal(service.logs.at(-1)!.msg, "the last spans are lost");
    // A process keeps its first provider, so the next test could not set its own.
    const { trace, context, propagation } = await import("@opentelemetry/api" as string);
    for (const global of [trace, context, propagation]) global.disable();
  }),
);

test("a request is a span of the caller's trace, with a child span for the database call", ifInstalled, () =>
  withEnvironment(exportTo((collector.address() as AddressInfo).port), async () => {
    await seedUser(database.sql, await seedTenant(database.sql, { slug: "acme" }), { subject: "alice" });
    const alice = await token({ sub: "alice", tenant: "acme" });
    const service = await createService(database);
    const trace = "0af7651916cd43dd8448eb211c80319c";
    const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` };
    assert.equal((await service.request({ url: "/api/boards", token: alice, headers })).status, 200);
    assert.equal(service.logs.at(-1)!.trace_id, trace);
    assert.equal((await service.request({ url: "/api/boards", token: alice })).status, 200);
    assert.match(String(service.logs.at(-1)!.trace_id), /^[\da-f]{32}$/);
    assert.equal((await service.request({ url: "/nowhere", undocumented: true })).status, 404);
    await database.sql`alter function api.list_boards rename to list_later`;
    assert.equal((await service.request({ url: "/api/boards", token: alice })).status, 500);
    await service.close();
    const resources = received.flatMap(
      text => (JSON.parse(text.slice(text.indexOf(" "))) as { resourceSpans: Resource[] }).resourceSpans,
    );
    assert.equal(attributesOf(resources[0]!.resource)["service.name"], "tenant-management-service");
    const spans = resources.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
    const mine = spans.filter(({ traceId }) => traceId === trace);
    assert.deepEqual(mine.map(({ name }) => name).sort(), ["GET /api/boards", "api.list_boards"]);
    const [request, call] = ["GET /api/boards", "api.list_boards"].map(
      name => mine.find(span => span.name === name)!,
    );
    assert.deepEqual([request!.parentSpanId, call!.parentSpanId], ["b7ad6b7169203331", request!.spanId]);
    assert.deepEqual([call!.kind, attributesOf(call!)], [3, { "db.system.name": "postgresql" }]);
    assert.deepEqual([request!.kind, attributesOf(request!)], [2, requestTo("/api/boards", 200, "acme")]);
    const nowhere = spans.find(({ name }) => name === "GET none")!;
    assert.deepEqual([nowhere.status.code, attributesOf(nowhere)], [0, requestTo("none", 404)]);
    const failed = spans.filter(({ name }) => name === "GET /api/boards").at(-1)!;
    assert.deepEqual([failed.status.code, attributesOf(failed)], [2, requestTo("/api/boards", 500)]);
  }),
);
