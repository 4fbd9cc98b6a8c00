import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { createClient, pauseAfter, Refused, requestOf } from "../../src/client/client.ts";
import { type Document, generate } from "../../src/client/generate.ts";
import { token } from "../harness.ts";
import { createWorld } from "../http/world.ts";

const world = await createWorld();
await world.service.app.listen({ host: "127.0.0.1", port: 0 });
const url = `http://127.0.0.1:${(world.service.app.server.address() as AddressInfo).port}`;
after(() => world.end());

const operatorToken = () => token({ sub: "operator", roles: ["tenant-operator"] });

test("the generated types are the ones of this document (UPDATE_DOCS=1 writes them anew)", async () => {
  const file = new URL("../../src/client/api.ts", import.meta.url);
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
  const wanted = generate(document);
  if (process.env.UPDATE_DOCS) writeFileSync(file, wanted);
  assert.equal(readFileSync(file, "utf8"), wanted, "write it again: npm run release");
});

test("a client of the generated types registers, reads, pages, changes, deletes, and tells refusals apart", async () => {
  const ada = createClient({ url, token: await token({ sub: "ada", tenant: "acme" }) });
  const registered = await ada("registerTenant", {
    body: { organization_name: "Acme", organization_slug: "acme", admin_email: "ada@acme.com" },
  });
  assert.equal(registered.status, 201, JSON.stringify(registered.body));
  assert.equal(registered.body.status, "active");
  const current = await ada("getCurrentTenant");
  assert.equal(current.status, 200);
  assert.deepEqual([current.body.tenant.slug, current.body.membership.role], ["acme", "owner"]);

  const operator = createClient({
    url,
    token: await operatorToken(),
    tenant: "default",
  });
  const { tenant_id } = current.body.tenant;
  const page = await operator("listTenants", { query: { limit: 1, status: "active", search: "acme" } });
  assert.equal(page.status, 200);
  assert.deepEqual([page.body.total_count, page.body.tenants[0]?.slug], [1, "acme"]);
  const read = await operator("getTenant", { params: { tenant_id } });
  const etag = read.headers.get("etag")!;
  const changed = await operator("updateTenant", {
    params: { tenant_id },
    headers: { "If-Match": etag },
    body: { settings: { plan: "team" } },
  });
  assert.equal(changed.status, 200);
  assert.deepEqual(changed.body.settings, { plan: "team" });
  const unchanged = await operator("getTenant", {
    params: { tenant_id },
    headers: { "If-None-Match": changed.headers.get("etag")! },
  });
  assert.deepEqual([unchanged.status, unchanged.body], [304, undefined]);
  const stale = await operator("updateTenant", {
    params: { tenant_id },
    headers: { "If-Match": etag },
    body: { name: "Late" },
  });
  assert.equal(stale.status, 412);
  assert.equal(stale.body.error, "Precondition failed");
  const refused = await ada("deleteTenant", { params: { tenant_id } });
  assert.equal(refused.status, 403);
  assert.equal((await operator("deleteTenant", { params: { tenant_id } })).status, 200);
  assert.equal((await operator("getTenant", { params: { tenant_id } })).status, 404);
  assert.equal((await operator("getHealth")).status, 200);
});

test("a request leaves out what is undefined, and escapes what stands in its path", () => {
  assert.deepEqual(
    requestOf("getTenant", { params: { tenant_id: "a/b?c" } }).path,
    "api/setup/tenant/a%2Fb%3Fc",
  );
  const query = { limit: 5, search: "", status: undefined };
  assert.equal(requestOf("listTenants", { query }).path, "api/setup/tenants?limit=5");
  const changed = requestOf("patchTenant", {
    params: { tenant_id: "x" },
    headers: { "If-Match": undefined },
    body: { settings: { plan: null }, name: undefined },
  });
  assert.deepEqual(changed.headers, { "content-type": "application/merge-patch+json" });
  assert.equal(changed.body, '{"settings":{"plan":null}}');
});

test("a list is read page after page, and a refusal says why and when to try again", async () => {
  const token = await operatorToken();
  const operator = createClient({ url: `${url}/`, token, tenant: "default" });
  for (const slug of ["one", "two", "three"])
    await operator.call("createTenant", { body: { name: slug, slug: `page-${slug}` } });
  const pages: string[][] = [];
  for await (const { tenants } of operator.pages("listTenants", {
    query: { limit: 2, search: "page-", order: "name" },
  }))
    pages.push(tenants.map(({ name }) => name));
  assert.deepEqual(pages, [["one", "three"], ["two"]]);
  await assert.rejects(operator.call("createTenant", { body: { name: "x", slug: "page-one" } }), error => {
    assert.ok(error instanceof Refused && error.requestId);
    assert.deepEqual([error.status, error.problem.error], [409, "Conflict"]);
    return true;
  });
  const away = createClient({ url: "http://127.0.0.1:1", token });
  await assert.rejects(away.call("getHealth"), (error: Refused) => error.status === 0);
  const late = createClient({ url, token, timeoutMs: 1 });
  await assert.rejects(late.call("getReady"), (error: Refused) => error.status === 0);
  const after = (status: number, headers = {}) =>
    pauseAfter(new Refused(status, { error: "", detail: "" }, new Headers(headers)), 2);
  assert.deepEqual(
    [after(0), after(503, { "retry-after": "9" }), after(429), after(409)],
    [4, 9, 4, undefined],
  );
});
