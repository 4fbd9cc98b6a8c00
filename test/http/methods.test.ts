import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, createWorld, operator } from "./world.ts";

const world = await createWorld();
after(() => world.end());

test("a wrong method is 405 with Allow, an unknown address 404, both in the usual body", async () => {
  const wrong = async (method: string, url: string) =>
    world.service.request({ method: method as "PATCH", url, token: await operator() });
  for (const [method, url, allow] of [
    ["PATCH", "/api/setup/tenants", "GET, HEAD"],
    ["OPTIONS", "/api/setup/tenant", "POST"],
    ["TRACE", "/api/setup/tenant/x", "GET, HEAD, PUT, PATCH, DELETE"],
    ["PROPFIND", "/api/boards", "GET, HEAD"],
    ["DELETE", "/api/tenants/register", "POST"],
    ["POST", "/api/setup/status", "GET, HEAD"],
    ["POST", "/docs/static/index.css", "GET, HEAD"],
    ["POST", "/docs/", "GET, HEAD"],
  ] as const) {
    const answer = await wrong(method, url);
    assertError(answer, 405, { error: "Method not allowed", detail: `This address takes ${allow}` });
    assert.equal(answer.headers.allow, allow);
  }
  for (const url of [
    "/",
    "/api",
    "/api/setup",
    "/api/setup/tenant/x/y",
    "/nothing?x=1",
    "/api/setup/tenant/",
    "/api/tenants/members/?x=1",
    "/api/setup/tenant//approve",
    "/api/boards/",
  ])
    assertError(await wrong("POST", url), 404, {
      error: "Not found",
      detail: "There is nothing at this address",
    });
});

test("the method is judged before the body: 404 and 405, whatever the body is", async () => {
  const token = await operator();
  for (const headers of [
    { "content-type": "application/merge-patch+json" },
    { "content-type": "nonsense" },
    { "content-type": "application/json", "content-encoding": "gzip" },
  ])
    for (const [url, status] of [
      ["/api/setup/tenant/x/approve", 405],
      ["/api/boards", 405],
      ["/nothing", 404],
    ] as const) {
      const answer = await world.service.request({ method: "PATCH", url, token, headers, body: "{" });
      assert.equal(answer.status, status, `${url} ${JSON.stringify(headers)}`);
    }
});
