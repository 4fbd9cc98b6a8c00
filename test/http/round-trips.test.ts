import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startWire } from "../faults/wire.ts";
import {
  createDatabase,
  createService,
  type Service,
  seedTenant,
  seedUser,
  withService,
} from "../harness.ts";
import { operator, person } from "./world.ts";

const database = await createDatabase();
const wire = await startWire(database.urls.service);
const service = await createService(database, {
  SERVICE_DATABASE_URL: wire.url,
  SERVICE_DATABASE_POOL_SIZE: "1",
});
await seedUser(database.sql, await seedTenant(database.sql, { slug: "acme" }), { subject: "ann" });
after(async () => {
  await service.close();
  await wire.close();
  await database.drop();
});

/** Round trips to Postgres of one request, the second of its kind on the connection. */
async function trips(request: Parameters<Service["request"]>[0]) {
  await service.request(request);
  wire.trips();
  const { status } = await service.request(request);
  return { status, trips: wire.trips() };
}

test("the usual authenticated request takes exactly one round trip: membership, tenant and work together", async () => {
  const token = await person("ann", "acme");
  for (const url of [
    "/api/boards",
    "/api/boards?limit=5",
    "/api/tenants/current",
    "/api/tenants/members",
    "/api/tenants/mine",
  ])
    assert.deepEqual(await trips({ url, token }), { status: 200, trips: 1 }, url);
});

test("a request with an API key takes one too, valid or not", async () => {
  await seedUser(database.sql, await seedTenant(database.sql, { slug: "keyed" }), {
    subject: "ann",
    role: "owner",
  });
  const made = await service.request({
    method: "POST",
    url: "/api/tenants/keys",
    token: await person("ann", "keyed"),
    body: { name: "n", role: "member" },
  });
  const { key } = made.body;
  for (const [token, status] of [
    [key, 200],
    [key.slice(0, -1) + (key.endsWith("0") ? "1" : "0"), 401],
  ] as const)
    for (const url of ["/api/boards", "/api/tenants/current", "/api/tenants/mine"])
      assert.deepEqual(await trips({ url, token }), { status, trips: 1 }, url);
  assert.deepEqual(await trips({ url: "/api/boards", token: "tms_x" }), { status: 401, trips: 0 });
});

test("the first request of a kind on a connection takes one too", async () => {
  await withService(
    database,
    {
      SERVICE_DATABASE_URL: wire.url,
      SERVICE_DATABASE_POOL_SIZE: "1",
    },
    async fresh => {
      wire.trips();
      assert.equal(
        (await fresh.request({ url: "/api/boards", token: await person("ann", "acme") })).status,
        200,
      );
      assert.equal(wire.trips(), 1);
    },
  );
});

test("a refused request takes one too, and one without a valid token or tenant takes none", async () => {
  assert.deepEqual(await trips({ url: "/api/boards", token: await person("eve", "acme") }), {
    status: 403,
    trips: 1,
  });
  assert.deepEqual(await trips({ url: "/api/boards", token: await person("ann") }), {
    status: 400,
    trips: 0,
  });
  assert.deepEqual(await trips({ url: "/api/boards" }), { status: 401, trips: 0 });
});

test("a GraphQL document takes two, for any number of boards and aliases", async () => {
  const aliases = Array.from({ length: 24 }, (_, i) => `b${i}: boards(limit: ${i + 1}) { title }`);
  const url = `/graphql?query=${encodeURIComponent(`{ tenant { slug } ${aliases.join(" ")} }`)}`;
  assert.deepEqual(await trips({ url, token: await person("ann", "acme") }), { status: 200, trips: 2 });
});

test("a limited request takes one more, for the count that survives its rollback", async () => {
  const token = await operator();
  assert.deepEqual(await trips({ url: "/api/setup/tenants", token }), { status: 200, trips: 2 });
});

test("with explicit transactions a call, refused or not, ends its own", async () => {
  await withService(
    database,
    {
      SERVICE_DATABASE_POOL_SIZE: "1",
      SERVICE_DATABASE_EXPLICIT_TRANSACTION: "true",
    },
    async explicit => {
      for (const [name, status] of [
        ["ann", 200],
        ["eve", 403],
        ["ann", 200],
      ] as const)
        assert.equal(
          (await explicit.request({ url: "/api/boards", token: await person(name, "acme") })).status,
          status,
        );
      const ended = await database.sql`
      select query, state from pg_stat_activity
      where usename = 'tms_service' and datname = current_database() and query <> '' and query !~ '^select'`;
      assert.deepEqual([...ended], [{ query: "commit", state: "idle" }]);
    },
  );
});
