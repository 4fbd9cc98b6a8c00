/** What is not yet whole, not yet known or not read costs only its sender. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { networkOf } from "../../src/values/network.ts";
import { createDatabase, createService, long, seedTenant, seedUser } from "../harness.ts";
import { until } from "../until.ts";
import { person } from "./world.ts";

const database = await createDatabase();
const { sql } = database;
const acme = await seedTenant(sql, { slug: "acme" });
for (const subject of ["ann", "cat", "dan"]) await seedUser(sql, acme, { subject });
await seedUser(sql, await seedTenant(sql, { slug: "globex" }), { subject: "bob" });
const [ann, cat, dan, bob] = await Promise.all([
  person("ann", "acme"),
  person("cat", "acme"),
  person("dan", "acme"),
  person("bob", "globex"),
]);
after(() => database.drop());

/** After so long no statement of another caller is sent behind those that wait for a lock (pipeline.ts). */
const STALLED_MS = 60;

const BUNDLE = "/docs/static/swagger-ui-bundle.js";

/** A service that listens; everything is closed at the end of the test. */
async function listen(t: TestContext, most: number, env: Record<string, string> = {}) {
  const service = await createService(database, { SERVICE_MAX_REQUESTS_IN_FLIGHT: String(most), ...env });
  const address = await service.app.listen({ host: "127.0.0.1", port: 0 });
  const sockets: { socket: Socket; text: string }[] = [];
  t.after(async () => {
    for (const { socket } of sockets) socket.destroy();
    await service.close();
  });
  /** Sends a request on a connection of its own; `text` is what it answers, unless nobody reads it. */
  const raw = async (request: string, reads = true) => {
    const socket = connect(Number(new URL(address).port), "127.0.0.1").on("error", () => {});
    const one = { socket, text: "" };
    sockets.push(one);
    await once(socket, "connect");
    if (reads) socket.on("data", bytes => (one.text += bytes.toString("latin1")));
    socket.write(request);
    return one;
  };
  const all = <T>(count: number, make: (i: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, i) => make(i)));
  const get = async (path: string, token?: string, headers: Record<string, string> = {}) => {
    const authorization = token && { authorization: `Bearer ${token}` };
    const answer = await fetch(address + path, { headers: { ...authorization, ...headers } });
    return { status: answer.status, retry: answer.headers.get("retry-after"), body: await answer.text() };
  };
  /** Others are served. */
  const served = async () => {
    const answers = await all(10, () => get("/api/tenants/current", bob));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  };
  return { ...service, raw, all, get, served };
}

/** Blocks every reader of the boards until `release`, or the end of the test. */
async function lockBoards(t: TestContext) {
  const holder = await sql.reserve();
  await holder.unsafe("begin; lock table app.boards in access exclusive mode");
  const release = async () => void (await holder.unsafe("commit"));
  t.after(async () => {
    await release();
    holder.release();
  });
  return release;
}

const head = (line: string, ...more: string[]) =>
  [`${line} HTTP/1.1`, "host: x", ...more, "", ""].join("\r\n");
const json = ["content-type: application/json", "content-length: 10"];

long("strangers who announce a body and send none are answered at once, and others are served", async t => {
  const { raw, all, served } = await listen(t, 40);
  const refused: [line: string, status: number][] = [
    ["POST /nothing", 404],
    ["POST /api/boards", 405],
    ["POST /graphql", 401],
  ];
  const sent = await all(300, i => raw(head(refused[i % 3]![0], ...json)));
  await until("all are answered", () => sent.every(({ text }) => text.includes("\r\n\r\n{")));
  for (const [i, { text }] of sent.entries())
    assert.match(text, new RegExp(`^HTTP/1.1 ${refused[i % 3]![1]} `));
  await served();
});

long("a member's bodies that do not arrive fill only the member's own share", async t => {
  const { app, raw, all, get, served } = await listen(t, 40);
  const line = head("POST /graphql", `authorization: Bearer ${ann}`, ...json);
  const sent = await all(60, () => raw(line));
  const refused = () => sent.filter(({ text }) => text.startsWith("HTTP/1.1 429 ")).length;
  await until("the share is full", () => refused() === 60 - 32 && app.inFlight.length === 32);
  await served();
  assert.equal((await get("/api/tenants/current", ann)).status, 429);
});

long("a body that does not arrive in time is 408", async t => {
  const { app, raw } = await listen(t, 40, { SERVICE_REQUEST_TIMEOUT: "0.1" });
  assert.deepEqual([app.server.headersTimeout, app.server.requestTimeout], [100, 100]);
  const one = await raw(head("POST /graphql", `authorization: Bearer ${ann}`, ...json));
  await until("it is answered", () => one.text.startsWith("HTTP/1.1 408 "));
});

long("answers that nobody reads do not count against others", async t => {
  const { app, raw, all, served } = await listen(t, 1_000);
  await all(20, () => raw(head(`GET ${BUNDLE}`), false));
  await until("all are being answered", () => app.inFlight.length === 20);
  const small = await listen(t, 20);
  await small.all(20, () => small.raw(head(`GET ${BUNDLE}`).repeat(8), false));
  await until("nobody reads", () => small.app.inFlight.length >= 20);
  await small.served();
  await served();
});

test("one identity has a share of the requests in flight: its own are refused beyond it", async t => {
  await lockBoards(t);
  const { app, all, get, served } = await listen(t, 100);
  await served(); // opens connections, which takes its time on a busy machine
  const open = Array.from({ length: 32 }, () => get("/api/boards", ann));
  await until("its share is in flight", () => app.inFlight.length === 32);
  await sleep(STALLED_MS);
  const more = await all(8, () => get("/api/boards", ann));
  for (const { status, retry, body } of more) {
    assert.deepEqual([status, retry], [429, "1"]);
    assert.match(body, /Too many requests of yours are open at once/);
  }
  await served();
  assert.equal((await get("/api/tenants/current", cat)).status, 200);
  const { body } = await get("/metrics");
  assert.match(body, /^tms_refusals_total\{status="429",reason="too_many_at_once"\} 8$/m);
  t.after(() => Promise.all(open));
});

test("one tenant has a share, which only its members fill", async t => {
  await lockBoards(t);
  const { app, get, served } = await listen(t, 100);
  await served();
  for (const token of [ann, cat, dan]) assert.equal((await get("/api/tenants/current", token)).status, 200);
  const open = [ann, cat].flatMap(token => Array.from({ length: 25 }, () => get("/api/boards", token)));
  await until("its share is in flight", () => app.inFlight.length === 50);
  await sleep(STALLED_MS);
  assert.equal((await get("/api/boards", dan)).status, 429);
  await served();
  // A caller who is no member learns nothing of it.
  assert.equal((await get("/api/boards", await person("eve", "acme"))).status, 403);
  t.after(() => Promise.all(open));
});

long("one address has a share of what needs no token: behind a trusted proxy the client's", async t => {
  const { app, logs, raw, all, get } = await listen(t, 40, { SERVICE_TRUSTED_PROXIES: "127.0.0.0/8" });
  const unread = (client: string) =>
    raw(head(`GET ${BUNDLE}`, `x-forwarded-for: ${client}`).repeat(4), false);
  await all(40, () => unread("203.0.113.7"));
  await until("its share is full", async () => {
    const { status } = await get("/docs/json", undefined, { "x-forwarded-for": "203.0.113.7" });
    return status === 429;
  });
  assert.ok(app.inFlight.length >= 32);
  assert.equal((await get("/docs/json", undefined, { "x-forwarded-for": "203.0.113.8" })).status, 200);
  assert.equal((await get("/api/tenants/current", bob, { "x-forwarded-for": "203.0.113.7" })).status, 200);
  // An IPv6 client has 2^64 addresses of its own.
  await all(40, i => unread(`2001:db8:1:2::${i}`));
  const sixth = (address: string) => get("/docs/json", undefined, { "x-forwarded-for": address });
  await until(
    "the share of its network is full",
    async () => (await sixth("2001:db8:1:2::ffff")).status === 429,
  );
  assert.equal((await sixth("2001:db8:1:3::1")).status, 200);
  assert.ok(logs.some(({ msg, ip }) => msg === "request completed" && ip === "203.0.113.8"));
});

long("without trusted proxies X-Forwarded-For is not read", async t => {
  const { logs, get } = await listen(t, 40);
  await get("/health", undefined, { "x-forwarded-for": "203.0.113.7" });
  await until("it is logged", () => logs.some(({ url, ip }) => url === "/health" && ip === "127.0.0.1"));
});

long(
  "answers to a flood of strangers wait for their turn, and beyond ten seconds the connection ends",
  async t => {
    const { raw, all, get, served } = await listen(t, 10_000);
    const at = performance.now();
    t.mock.method(performance, "now", () => at); // no turn comes meanwhile
    const sent = await all(700, () => raw(head("GET /docs/json")));
    await until("some connections have ended", () => sent.some(({ socket }) => socket.destroyed));
    assert.ok(sent.some(({ socket, text }) => !socket.destroyed && text === ""));
    await served();
    assert.equal((await get("/health")).status, 200);
  },
);

long("pipelined requests are worked on one after the other", async t => {
  const release = await lockBoards(t);
  const { app, raw, served } = await listen(t, 100, { SERVICE_DATABASE_PIPELINE_DEPTH: "1" });
  // Sample data would wait for the boards by itself.
  const registration = {
    organization_name: "Behind",
    admin_email: "a@example.com",
    include_sample_data: false,
  };
  const body = JSON.stringify(registration);
  const token = `authorization: Bearer ${ann}`;
  const type = "content-type: application/json";
  const register = head("POST /api/tenants/register", token, type, `content-length: ${body.length}`) + body;
  const one = await raw(head("GET /api/boards", token) + register);
  const registered = () => sql`select from app.tenants where name = 'Behind'`;
  await until("both have come", () => app.inFlight.length === 2);
  for (let i = 0; i < 5; i++) await served();
  assert.equal((await registered()).length, 0);
  await release();
  await until("both are answered", () => one.text.includes("HTTP/1.1 201 "));
  assert.equal((await registered()).length, 1);
});

test("32 requests wait on one connection, and one more ends it", async t => {
  const { raw } = await listen(t, 10_000);
  const answers = ({ text }: { text: string }) => text.split("HTTP/1.1 404 ").length - 1;
  const [fits, exceeds] = [
    await raw(head("GET /nothing").repeat(32)),
    await raw(head("GET /nothing").repeat(33)),
  ];
  await until("the longer one has ended", () => exceeds.socket.destroyed || exceeds.socket.readableEnded);
  await until("the other one is answered", () => answers(fits) === 32);
  assert.ok(answers(exceeds) < 33);
});

test("an IPv6 address counts as its network", () => {
  assert.equal(networkOf("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2");
  assert.equal(networkOf("2001:db8::5:6"), "2001:db8:0:0");
  assert.equal(networkOf("2001:db8:1:2::"), "2001:db8:1:2");
  assert.equal(networkOf("::1"), "0:0:0:0");
  assert.equal(networkOf("::ffff:192.0.2.1"), "::ffff:192.0.2.1");
  assert.equal(networkOf("192.0.2.1"), "192.0.2.1");
});
