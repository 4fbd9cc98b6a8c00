import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ALLOWED_HEADERS, EXPOSED_HEADERS } from "../../src/http/cors.ts";
import { createService, seedTenant, seedUser } from "../harness.ts";
import { createWorld, person } from "./world.ts";

const world = await createWorld({
  SERVICE_CORS_ORIGINS: "https://app.example, http://localhost:5173, capacitor://localhost",
  SERVICE_MAX_REQUESTS_IN_FLIGHT: "1000",
});
after(() => world.end());
const acme = await seedTenant(world.database.sql, { slug: "acme" });
await seedUser(world.database.sql, acme, { subject: "ann", role: "owner" });
const ann = await person("ann", "acme");

const ORIGIN = { origin: "https://app.example" };
const PREFLIGHT = { "access-control-request-method": "PATCH" };
const corsOf = (headers: Record<string, unknown>) =>
  Object.keys(headers).filter(name => name.startsWith("access-control-"));

test("a preflight is answered without a token, before 405, for every path", async () => {
  for (const url of ["/api/tenants/current", "/graphql", "/api/setup/tenant/x", "/api/nothing"]) {
    const { status, headers } = await world.service.request({
      method: "OPTIONS",
      url,
      headers: { ...ORIGIN, ...PREFLIGHT },
      undocumented: true,
    });
    assert.deepEqual(
      [status, headers["access-control-allow-origin"], headers["access-control-allow-headers"], headers.vary],
      [204, ORIGIN.origin, ALLOWED_HEADERS, "Origin"],
    );
    assert.match(String(headers["access-control-allow-methods"]), /PATCH/);
    assert.equal(headers["access-control-allow-credentials"], undefined);
    assert.match(String(headers["x-request-id"]), /^[\w-]{36}$/);
  }
});

test("answers and refusals carry the headers for a listed origin, and for no other", async () => {
  const ask = (url: string, headers: Record<string, string>, token?: string) =>
    world.service.request({ url, headers, ...(token && { token }), undocumented: true });
  for (const [url, token, status] of [
    ["/api/tenants/current", ann, 200],
    ["/api/tenants/current", undefined, 401],
    ["/api/tenants/current?x=1", ann, 422],
    ["/api/setup/status", ann, 403],
    ["/nothing", undefined, 404],
    ["/api/tenants/register", undefined, 405],
    ["/health", undefined, 200],
    ["/graphql?query=%7Btenant%7Bslug%7D%7D", ann, 200],
  ] as const) {
    const answer = await ask(url, ORIGIN, token);
    assert.deepEqual(
      [
        answer.status,
        answer.headers["access-control-allow-origin"],
        answer.headers["access-control-expose-headers"],
      ],
      [status, ORIGIN.origin, EXPOSED_HEADERS],
      url,
    );
    assert.match(String(answer.headers.vary), /^Origin\b/, url);
    for (const origin of [
      "https://app.example.evil",
      "https://evil.example",
      "null",
      "https://app.example:444",
    ]) {
      const other = await ask(url, { origin }, token);
      assert.deepEqual([other.status, corsOf(other.headers)], [status, []], `${url} ${origin}`);
      assert.match(String(other.headers.vary), /^Origin\b/, "a cache keeps the two apart");
    }
  }
});

test("an app's own scheme is an origin; a preflight may ask for the headers of traces; the console varies by both", async () => {
  const app = await world.service.request({
    method: "OPTIONS",
    url: "/api/tenants/current",
    headers: {
      ...PREFLIGHT,
      origin: "capacitor://localhost",
      "access-control-request-headers": "authorization, traceparent, tracestate, baggage",
    },
    undocumented: true,
  });
  assert.deepEqual([app.status, app.headers["access-control-allow-origin"]], [204, "capacitor://localhost"]);
  const allowed = String(app.headers["access-control-allow-headers"]).toLowerCase().split(", ");
  for (const name of ["traceparent", "tracestate", "baggage"]) assert.ok(allowed.includes(name), name);
  const page = await world.service.request({ url: "/console/", headers: ORIGIN, undocumented: true });
  assert.equal(page.headers.vary, "Origin, Accept-Encoding");
});

test("OPTIONS that is no preflight of a listed origin is 405 as everywhere", async () => {
  for (const headers of [ORIGIN, {}, PREFLIGHT, { origin: "https://evil.example", ...PREFLIGHT }]) {
    const answer = await world.service.request({
      method: "OPTIONS",
      url: "/api/tenants/current",
      headers,
      undocumented: true,
    });
    assert.deepEqual([answer.status, answer.headers.allow], [405, "GET, HEAD, PATCH"]);
    const nothing = await world.service.request({
      method: "OPTIONS",
      url: "/nothing",
      headers,
      undocumented: true,
    });
    assert.equal(nothing.status, 404);
  }
});

test("without SERVICE_CORS_ORIGINS no answer has such a header", async () => {
  const plain = await createService(world.database);
  try {
    for (const method of ["GET", "OPTIONS"] as const) {
      const { headers } = await plain.request({
        method,
        url: "/health",
        headers: { ...ORIGIN, ...PREFLIGHT },
        undocumented: true,
      });
      assert.deepEqual([corsOf(headers), headers.vary], [[], undefined]);
    }
  } finally {
    await plain.close();
  }
});
