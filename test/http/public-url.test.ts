/** Behind a proxy with a prefix: every address that the service names is the one that clients use. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedTenant, seedUser } from "../harness.ts";
import { createWorld, operator, person, setupOf } from "./world.ts";

const world = await createWorld({ SERVICE_PUBLIC_URL: "https://api.example/tenancy/" });
const { database, service } = world;
const { create } = setupOf(world);
const acme = await seedTenant(database.sql, { slug: "acme" });
await seedUser(database.sql, acme, { subject: "ada", role: "owner" });
after(() => world.end());

test("Location and Link begin with the public address", async () => {
  const made = await create({ name: "Globex", slug: "globex" });
  assert.equal(made.headers.location, `https://api.example/tenancy/api/setup/tenant/${made.body.tenant_id}`);
  const ada = await person("ada", "acme");
  const member = await service.request({
    method: "POST",
    url: "/api/tenants/members",
    token: ada,
    body: { auth_subject: "bob" },
  });
  assert.match(String(member.headers.location), /^https:\/\/api\.example\/tenancy\/api\/tenants\/members\/./);
  const registered = await service.request({
    method: "POST",
    url: "/api/tenants/register",
    token: await person("carol", "hooli"),
    body: { organization_name: "Hooli", admin_email: "carol@hooli.com" },
  });
  assert.match(
    String(registered.headers.location),
    /^https:\/\/api\.example\/tenancy\/api\/setup\/tenant\/./,
  );
  const page = await service.request({ url: "/api/setup/tenants?limit=1", token: await operator() });
  assert.match(
    String(page.headers.link),
    /^<https:\/\/api\.example\/tenancy\/api\/setup\/tenants\?limit=1&cursor=[\w-]+>; rel="next"$/,
  );
});

test("the document and its pages name it too", async () => {
  const { body } = await service.request({ url: "/openapi.json" });
  assert.deepEqual(body.servers, [{ url: "https://api.example/tenancy" }]);
  const page = await service.request({ url: "/docs" });
  const files = [...String(page.body).matchAll(/(?:href|src)="([^"]+)"/g)].map(([, file]) => file!);
  assert.ok(files.length > 5);
  for (const file of files) {
    assert.ok(file.startsWith("/tenancy/docs/static/"), file);
    assert.equal((await service.request({ url: file.replace("/tenancy", "") })).status, 200, file);
  }
  const moved = await service.request({ url: "/docs/static/index.html" });
  assert.deepEqual([moved.status, moved.headers.location], [302, "/tenancy/docs/"]);
});
