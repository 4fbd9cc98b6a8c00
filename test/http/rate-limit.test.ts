import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  addressWith,
  createService,
  seedTenant,
  seedUser,
  type TestResponse,
  withService,
} from "../harness.ts";
import { assertError, createWorld, operator, person } from "./world.ts";

const world = await createWorld();
const second = await createService(world.database);
await seedUser(world.database.sql, await seedTenant(world.database.sql, { slug: "acme" }), {
  subject: "ann",
});
after(async () => {
  await second.close();
  await world.end();
});

const limits = ({ headers }: TestResponse) =>
  ["limit", "remaining", "reset"].map(name => headers[`x-ratelimit-${name}`]);
const remaining = (answer: TestResponse) => Number(answer.headers["x-ratelimit-remaining"]);
const now = () => Math.floor(Date.now() / 1000);

test("two instances share one exact count under 140 parallel requests of every GET under /api/setup, HEAD among them", async () => {
  const tokens = await Promise.all(Array.from({ length: 7 }, (_, iat) => operator({ sub: "busy", iat })));
  const urls = [
    "/api/setup/status",
    "/api/setup/tenants",
    "/api/setup/tenant/x",
    "/api/setup/tenants?limit=0",
  ];
  const send = (i: number) =>
    (i % 2 ? world.service : second).request({
      method: i % 3 === 0 ? "HEAD" : "GET",
      url: urls[i % 4]!,
      token: tokens[i % 7]!,
    });
  const begun = await send(0);
  // A slow machine needs longer for the others than the window is.
  await world.database.sql`
      update control.rate_limits set reset_at = reset_at + interval '1 hour' where identity like '%busy'`;
  const more = await Promise.all(Array.from({ length: 139 }, (_, i) => send(i + 1)));
  const answers = [begun, ...more];
  const passed = answers.filter(answer => answer.status !== 429);
  assert.deepEqual(
    passed.map(remaining).sort((a, b) => a - b),
    Array.from({ length: 100 }, (_, i) => i),
  );
  assert.equal(answers.length - passed.length, 40);
  assert.equal(
    new Set(more.map(answer => answer.headers["x-ratelimit-reset"])).size,
    1,
    "one window, one end",
  );
  for (const answer of answers) assert.equal(String(answer.headers["x-ratelimit-limit"]), "100");
});

test("beyond the limit the answer is 429 with Retry-After, and the window ends when it says", async () => {
  const token = await operator({ sub: "deleter" });
  const remove = () =>
    world.service.request({ method: "DELETE", url: `/api/setup/tenant/${Math.random()}`, token });
  const begun = now();
  const first = await remove();
  assert.deepEqual(limits(first).slice(0, 2).map(String), ["5", "4"]);
  const reset = Number(limits(first)[2]);
  assert.ok(reset >= begun + 3599 && reset <= now() + 3602, `${reset} is Unix time in seconds`);
  for (let i = 0; i < 4; i += 1) assert.equal((await remove()).status, 404);
  const before = now();
  const refused = await remove();
  const wait = Number(refused.headers["retry-after"]);
  assert.ok(Number.isInteger(wait) && wait <= 3600);
  assert.ok(wait <= reset - before + 1 && wait >= reset - now() - 1, `${wait} s until ${reset}`);
  assert.deepEqual(limits(refused).map(String), ["5", "0", String(reset)]);
  assertError(refused, 429, {
    error: "Too many requests",
    detail: `The limit of 5 requests is used up; try again in ${wait} s`,
  });
  await world.database.sql`update control.rate_limits set reset_at = now() where identity like '%deleter'`;
  assert.deepEqual(
    limits(await remove())
      .slice(0, 2)
      .map(String),
    ["5", "4"],
  );
});

test("every outcome of a limited request counts and carries the headers", async () => {
  const token = await person("outcomes", undefined, { roles: "tenant-operator" });
  const post = (body: unknown, tenant: string | undefined, headers = {}) =>
    world.service.request({
      method: "POST",
      url: "/api/setup/tenant",
      token,
      headers,
      body,
      ...(tenant !== undefined && { tenant }),
    });
  const outcomes: [status: number, request: () => Promise<TestResponse>][] = [
    [201, () => post({ name: "n", slug: "outcome" }, "ops")],
    [409, () => post({ name: "n", slug: "outcome" }, "ops")],
    [422, () => post({ name: "" }, "ops")],
    [422, () => post('{"name":1e400}', "ops")],
    [400, () => post("{", "ops")],
    [400, () => post({}, undefined)],
    [400, () => post({}, "Not A Slug")],
    [415, () => post("x", "ops", { "content-type": "text/plain" })],
    [413, () => post("x".repeat(200_000), "ops")],
    [422, () => post({ name: "n", slug: "x" }, "ops", { "idempotency-key": "short" })],
    [429, () => post({ name: "n", slug: "x" }, "ops")],
  ];
  for (const [i, [status, request]] of outcomes.entries()) {
    const answer = await request();
    assert.deepEqual(
      [answer.status, String(answer.headers["x-ratelimit-limit"]), remaining(answer)],
      [status, "10", Math.max(0, 9 - i)],
      `outcome ${i}`,
    );
  }
});

test("a caller who is not an operator is counted, and the refusal has the headers", async () => {
  const answers = [];
  for (let i = 0; i < 2; i += 1)
    answers.push(
      await world.service.request({ url: "/api/setup/status", token: await person("ann", "acme") }),
    );
  assert.deepEqual(
    answers.map(answer => [answer.status, remaining(answer)]),
    [
      [403, 99],
      [403, 98],
    ],
  );
});

test("a request without authentication is not counted", async () => {
  const token = await operator({ sub: "careful" });
  for (const bad of [undefined, "rubbish", await operator({ sub: "careful", exp: 1 })]) {
    const answer = await world.service.request({
      url: "/api/setup/status",
      ...(bad !== undefined && { token: bad }),
    });
    assert.deepEqual([answer.status, answer.headers["x-ratelimit-limit"]], [401, undefined]);
  }
  assert.equal(remaining(await world.service.request({ url: "/api/setup/status", token })), 99);
});

test("an identity is issuer and subject, whatever the tenant or token; buckets are separate", async () => {
  const read = async (claims: object) =>
    remaining(await world.service.request({ url: "/api/setup/status", token: await operator(claims) }));
  assert.equal(await read({ sub: "same" }), 99);
  assert.equal(await read({ sub: "same", tenant: "another", iat: 1 }), 98);
  assert.equal(await read({ sub: "same", iss: "https://idp.example" }), 99);
  const token = await operator({ sub: "same" });
  const create = await world.service.request({ method: "POST", url: "/api/setup/tenant", token, body: {} });
  const remove = await world.service.request({ method: "DELETE", url: "/api/setup/tenant/x", token });
  const register = await world.service.request({
    method: "POST",
    url: "/api/tenants/register",
    token,
    body: {},
  });
  assert.deepEqual(
    [create, remove, register].map(answer => limits(answer).slice(0, 2).map(String)),
    [
      ["10", "9"],
      ["5", "4"],
      ["3", "2"],
    ],
  );
});

test("changes of members share a limit, and the registration status has its own", async () => {
  const token = await person("ann", "acme");
  const ask = async (method: "POST" | "DELETE" | "GET", url: string) =>
    world.service.request({ method, url, token, ...(method === "POST" && { body: {} }) });
  const answers = [
    await ask("POST", "/api/tenants/members"),
    await ask("DELETE", "/api/tenants/members/x"),
    await ask("GET", "/api/tenants/registration/status"),
  ];
  assert.deepEqual(
    answers.map(answer => [answer.status, ...limits(answer).slice(0, 2).map(String)]),
    [
      [422, "100", "99"],
      [404, "100", "98"],
      [200, "100", "99"],
    ],
  );
  assert.deepEqual(limits(await ask("GET", "/api/tenants/members")), [undefined, undefined, undefined]);
});

test("where the service's clock is ahead of the database's, Retry-After is a second", async t => {
  const token = await operator({ sub: "early" });
  await world.database.sql`
    insert into control.rate_limits values ('setup_read', E'jwt\\nearly', 100, now() + interval '30 seconds')`;
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 40_000 });
  const { status, headers } = await world.service.request({ url: "/api/setup/status", token });
  assert.deepEqual([status, headers["retry-after"]], [429, "1"]);
});

test("an operation without a limit has no headers", async () => {
  const token = await operator();
  for (const [method, url] of [
    ["PUT", "/api/setup/tenant/x"],
    ["POST", "/api/setup/tenant/x/approve"],
    ["GET", "/api/tenants/mine"],
  ] as const) {
    const answer = await world.service.request({ method, url, token, ...(method === "PUT" && { body: {} }) });
    assert.deepEqual(limits(answer), [undefined, undefined, undefined], url);
  }
});

test("when the counter cannot be reached the request is refused with 503, not let through", async () => {
  const { sql, urls } = world.database;
  const token = await operator();
  const env = { SERVICE_DATABASE_URL: addressWith(urls.service, { lock_timeout: "50ms" }) };
  await withService(world.database, env, async service => {
    const create = (slug: string) =>
      service.request({ method: "POST", url: "/api/setup/tenant", token, body: { name: "n", slug } });
    await sql.begin(async tx => {
      await tx`lock table control.rate_limits in access exclusive mode`;
      const answer = await create("let-through");
      assert.deepEqual(
        [answer.status, answer.body.error, answer.headers["retry-after"]],
        [503, "Service unavailable", "1"],
      );
    });
    assert.equal((await sql`select from app.tenants where slug = 'let-through'`).count, 0);
    assert.equal((await create("now")).status, 201);
  });
});

test("all writers of a tenant share a limit, which callers who only name the tenant do not use up", async () => {
  const { sql } = world.database;
  const busy = await seedTenant(sql, { slug: "busy" });
  for (const subject of ["one", "two"]) await seedUser(sql, busy, { subject, role: "admin" });
  const write = async (sub: string) =>
    world.service.request({
      method: "PATCH",
      url: "/api/tenants/current",
      token: await person(sub, "busy"),
      body: { name: "Busy" },
    });
  const hits = async () => {
    const [row] = await sql`select hits from control.rate_limits where bucket = 'tenant_tenant_write'`;
    return row?.hits ?? 0;
  };
  // From its second request on the service knows that the tenant lets it in.
  for (const sub of ["one", "one", "two", "two"]) assert.equal((await write(sub)).status, 200);
  assert.equal(await hits(), 2);
  for (let i = 0; i < 3; i++) assert.equal((await write("stranger")).status, 403);
  assert.equal(await hits(), 2);
  await sql`update control.rate_limits set hits = 1000 where bucket = 'tenant_tenant_write'`;
  for (const sub of ["one", "two"]) {
    const answer = await write(sub);
    assert.equal(answer.status, 429);
    assert.deepEqual(limits(answer).slice(0, 2).map(Number), [1000, 0]);
    assert.ok(Number(answer.headers["retry-after"]) <= 60);
  }
});
