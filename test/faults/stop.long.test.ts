import assert from "node:assert/strict";
import dns from "node:dns";
import http from "node:http";
import net from "node:net";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runService } from "../../src/cli/start.ts";
import { loadConfig } from "../../src/config/config.ts";
import { buildApp } from "../../src/http/app.ts";
import { type Server, startServer } from "../../src/http/server.ts";
import { sampleProduct } from "../../src/product/product.ts";
import { createDatabase, makePatient, seedTenant, seedUser, TEST_SECRET, token } from "../harness.ts";
import { lockWaiters, until } from "../until.ts";

const database = await createDatabase();
await seedUser(database.sql, await seedTenant(database.sql, { slug: "acme" }), { subject: "alice" });
const alice = await token({ sub: "alice", tenant: "acme" });
after(() => database.drop());

const configure = (env: Record<string, string>) =>
  loadConfig({
    SERVICE_PORT: "0",
    SERVICE_DATABASE_URL: database.urls.service,
    SERVICE_JWT_SECRET: TEST_SECRET,
    SERVICE_MULTI_TENANT_MODE: "true",
    SERVICE_LOG_LEVEL: "silent",
    SERVICE_SHUTDOWN_TIMEOUT: "60",
    ...env,
  }).config;
const start = (env: Record<string, string> = {}): Promise<Server> =>
  startServer(configure(env), sampleProduct);

interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: string;
}

function get(address: string, path: string, agent?: http.Agent): Promise<Answer> {
  const headers = { authorization: `Bearer ${alice}` };
  return new Promise((resolve, reject) => {
    http
      .get(`${address}${path}`, { headers, ...(agent && { agent }) }, response => {
        let body = "";
        response
          .setEncoding("utf8")
          .on("data", text => (body += text))
          .on("end", () => resolve({ status: response.statusCode!, headers: response.headers, body }));
      })
      .on("error", reject);
  });
}

/** Blocks every reader of the table until `release`, or the end of the test. */
async function lockBoards(t: TestContext) {
  const holder = await database.sql.reserve();
  await holder.unsafe("begin; lock table app.boards in access exclusive mode");
  const release = async () => void (await holder.unsafe("commit"));
  t.after(async () => {
    await release();
    holder.release();
  });
  return release;
}

async function timed(work: Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work;
  return performance.now() - from;
}

// Less than the shutdown timeout, so that a hanging stop is found, and enough for a busy machine.
const SOON = 30_000;

test("without a connection the service stops at once; with an idle one it first gives notice", async t => {
  const [alone, watched] = [await start(), await start()];
  const agent = new http.Agent({ keepAlive: true });
  await get(watched.address, "/health", agent);
  await get(alone.address, "/health", new http.Agent()); // a connection that has ended
  const at = performance.now();
  const clock = t.mock.method(performance, "now", () => at); // while it stands still, the notice has no end
  const closed = watched.close().then(() => "watched");
  const hung = sleep(SOON, "neither", { ref: false });
  assert.equal(await Promise.race([closed, alone.close().then(() => "alone"), hung]), "alone");
  clock.mock.restore();
  await closed;
  agent.destroy();
});

test("idle connections, kept alive or never used, do not delay the stop", async () => {
  const server = await start();
  const agent = new http.Agent({ keepAlive: true });
  await get(server.address, "/health", agent);
  const { port, hostname } = new URL(server.address);
  const silent = net.connect(Number(port), hostname);
  const half = net.connect(Number(port), hostname);
  await new Promise(resolve => half.once("connect", resolve));
  half.write("GET /health HTTP/1.1\r\n");
  for (const socket of [silent, half]) socket.on("error", () => {});
  const took = await timed(server.close());
  assert.ok(took < SOON, `${took} ms`);
  agent.destroy();
  silent.destroy();
  half.destroy();
});

test("the stop answers requests in flight, refuses later ones with 503, and then ends", async t => {
  const server = await start();
  const agent = new http.Agent({ keepAlive: true });
  await get(server.address, "/health", agent);
  const release = await lockBoards(t);
  const open = get(server.address, "/api/boards");
  await lockWaiters(database.sql);
  const order: string[] = [];
  const closed = server.close().then(() => order.push("stopped"));
  const refused = await Promise.all([
    get(server.address, "/api/tenants/current", agent),
    get(server.address, "/ready"),
  ]);
  for (const { status, headers, body } of refused) {
    assert.equal(status, 503);
    assert.equal(headers["retry-after"], "1");
    assert.equal(headers.connection, "close");
    assert.equal(JSON.parse(body).error, "Service unavailable");
    assert.match(JSON.parse(body).detail, /stopping/);
  }
  await until("nobody listens any more", () =>
    get(server.address, "/health")
      .catch(error => /ECONNREFUSED/.test(error.message))
      .then(answer => answer === true),
  );
  order.push("released");
  await release();
  const { status, headers } = await open;
  assert.deepEqual([status, headers.connection], [200, "close"]);
  const took = await timed(closed);
  assert.ok(took < SOON, `${took} ms`);
  assert.deepEqual(order, ["released", "stopped"]);
  agent.destroy();
});

test("a response that has begun when the service stops is sent completely", async () => {
  const app = await buildApp(configure({}), sampleProduct);
  let answer!: http.ServerResponse;
  app.get("/long", (_request, reply) => {
    answer = reply.hijack().raw;
    answer.writeHead(200).write("begun, ");
  });
  const address = await app.listen({ port: 0 });
  const silent = net.connect(Number(new URL(address).port), "127.0.0.1").resume();
  const silentEnds = new Promise(resolve => silent.once("close", resolve));
  const open = get(address, "/long");
  await until("the answer has begun", () => answer?.headersSent);
  const closed = app.close();
  await silentEnds; // by what ends all connections that nobody works on
  answer.end("ended");
  assert.equal((await open).body, "begun, ended");
  await closed;
});

test("a request that does not end is cut off at the shutdown timeout", async t => {
  const server = await start({ SERVICE_SHUTDOWN_TIMEOUT: "1" });
  await lockBoards(t);
  const open = get(server.address, "/api/boards").then(
    () => "answered",
    (error: Error) => error.message,
  );
  await lockWaiters(database.sql);
  const took = await timed(server.close());
  assert.ok(took > 990, `${took} ms`); // timers may be a little early
  assert.match(await open, /socket hang up|ECONNRESET/);
});

test("over the limit of requests in flight the answer is 503 at once, and probes still get through", async t => {
  const app = await buildApp(
    configure({ SERVICE_MAX_REQUESTS_IN_FLIGHT: "20", SERVICE_DATABASE_POOL_SIZE: "4" }),
    sampleProduct,
  );
  makePatient(app);
  const address = await app.listen({ port: 0 });
  const release = await lockBoards(t);
  const open = Array.from({ length: 20 }, () => get(address, "/api/boards"));
  await until("the limit is reached", () => app.inFlight.length === 20);
  const more = await Promise.all(Array.from({ length: 200 }, () => get(address, "/api/boards")));
  for (const { status, headers, body } of more) {
    assert.equal(status, 503);
    assert.equal(headers["retry-after"], "1");
    assert.match(JSON.parse(body).detail, /at its limit/);
  }
  assert.equal((await get(address, "/health")).status, 200);
  await release();
  assert.deepEqual([...new Set((await Promise.all(open)).map(({ status }) => status))], [200]);
  assert.equal((await get(address, "/api/boards")).status, 200);
  const { body } = await get(address, "/metrics");
  assert.match(body, /^tms_refusals_total\{status="503",reason="overloaded"\} 200$/m);
  await app.close();
});

test("a client that leaves before its answer is logged, and its request stays in flight until its work ends", async t => {
  const lines: Record<string, unknown>[] = [];
  const app = await buildApp(configure({ SERVICE_LOG_LEVEL: "info" }), sampleProduct, {
    write: line => void lines.push(JSON.parse(line)),
  });
  const address = await app.listen({ port: 0 });
  const release = await lockBoards(t);
  t.after(() => app.close());
  const leaving = http.get(`${address}/api/boards`, { headers: { authorization: `Bearer ${alice}` } });
  leaving.on("error", () => {});
  await lockWaiters(database.sql);
  leaving.destroy();
  const told = () => lines.filter(({ url }) => url).map(({ msg, method, url }) => [msg, method, url]);
  await until("the client has left", () => told().length > 0);
  assert.equal(app.inFlight.length, 1);
  await release();
  await until("nothing is in flight", () => app.inFlight.length === 0);
  assert.deepEqual(told(), [["client left", "GET", "/api/boards"]]);
});

test("clients that leave at once cause no more work than the limit allows", async t => {
  const app = await buildApp(
    configure({ SERVICE_MAX_REQUESTS_IN_FLIGHT: "5", SERVICE_DATABASE_POOL_SIZE: "4" }),
    sampleProduct,
  );
  makePatient(app);
  const address = await app.listen({ port: 0 });
  const release = await lockBoards(t);
  t.after(() => app.close());
  for (let working = 1; working <= 5; working++) {
    const leaving = http.get(`${address}/api/boards`, { headers: { authorization: `Bearer ${alice}` } });
    leaving.on("error", () => {});
    await until("it is worked on", () => app.inFlight.length === working);
    leaving.destroy();
  }
  await until("all have left", () => app.inFlight.every(({ destroyed }) => destroyed));
  assert.equal((await get(address, "/api/boards")).status, 503);
  assert.equal((await get(address, "/health")).status, 200);
  await release();
  await until("nothing is in flight", () => app.inFlight.length === 0);
  assert.equal((await get(address, "/api/boards")).status, 200);
});

test("if the service cannot listen, one sentence names the variable", async () => {
  for (const host of ["192.0.2.1", "no-such-host.invalid", "fe80::1"])
    await assert.rejects(
      runService(configure({ SERVICE_HOST: host }), () => {}),
      { message: `${host} is not an address of this machine; set SERVICE_HOST` },
    );
});

test("if localhost has two addresses, the service listens on one: limits and the stop cover only one server", async t => {
  const two = ["127.0.0.1", "127.0.0.2"].map(address => ({ address, family: 4 }));
  const { lookup } = dns;
  t.mock.method(dns, "lookup", (host: string, ...[options, done]: [object, (...found: unknown[]) => void]) =>
    host === "localhost" && done ? done(null, two) : lookup(host, options, done),
  );
  const server = await start({ SERVICE_HOST: "localhost" });
  t.after(() => server.close());
  const { port } = new URL(server.address);
  assert.equal((await get(`http://127.0.0.1:${port}`, "/health")).status, 200);
  await assert.rejects(get(`http://127.0.0.2:${port}`, "/health"), { code: "ECONNREFUSED" });
});
