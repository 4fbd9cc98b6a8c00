/** Clients that leave, or do not read: no request of theirs stays in flight. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { lockWaiters, until } from "../until.ts";
import { listen } from "./raw-http.ts";
import { createWorld } from "./world.ts";

const world = await createWorld();
const { database, service } = world;
const { port, authorization, send, get, post } = await listen(world);
after(() => world.end());
// Room in the rate limit of registration for all cases.
beforeEach(() => database.sql`delete from control.rate_limits`);

test("a client that leaves in the middle of its body does no harm", async () => {
  for (let i = 0; i < 5; i += 1) {
    await new Promise<void>(resolve => {
      const socket = connect(port, "127.0.0.1", () =>
        socket.write(`${post("content-length: 1000")}\r\n{`, () => socket.destroy()),
      );
      socket.on("close", () => resolve());
    });
  }
  assert.equal((await send(get("x-tenant: acme"))).status, 200);
  // And the log does not report a lost database.
  const alarming = service.logs.filter(line => Number(line.level) >= 40);
  assert.deepEqual(alarming, []);
});

test("a client that sends its whole oversized body before it reads gets its 413, and no later request runs", async () => {
  const size = 4 << 20;
  const taken = once(service.app.server, "connection") as Promise<[Socket]>;
  const socket = connect(port, "127.0.0.1");
  const errors: Error[] = [];
  socket.on("error", error => errors.push(error)).pause();
  const behind = JSON.stringify({ organization_name: "Behind", admin_email: "a@example.com" });
  socket.write(`${post(`content-length: ${size}`)}\r\n`);
  for (let sent = 0; sent < size && !socket.destroyed; sent += size / 64) {
    await new Promise(setImmediate);
    socket.write("x".repeat(size / 64));
  }
  socket.write(`${post(`content-length: ${behind.length}`)}\r\n${behind}`);
  const [served] = await taken;
  await until(
    "it is all read, or lost",
    () => socket.destroyed || served.destroyed || served.bytesRead > size,
  );
  let text = "";
  socket.on("data", bytes => (text += bytes.toString("latin1"))).resume();
  if (!socket.destroyed) await once(socket, "close");
  assert.deepEqual(errors, []);
  assert.equal(text.match(/HTTP\/1\.1 /g)?.length, 1, text);
  assert.match(text, /^HTTP\/1\.1 413 [\s\S]*connection: close/i);
  const registered = await database.sql`select from app.tenants where name = 'Behind'`;
  assert.equal(registered.length, 0);
});

test("a client that never ends such a body is cut off", async () => {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {}).resume();
  socket.write(`${post("content-length: 99999999999")}\r\n`);
  const writing = setInterval(() => socket.write("x".repeat(1_000)), 50);
  const begun = performance.now();
  await new Promise(resolve => socket.once("close", resolve));
  clearInterval(writing);
  assert.ok(performance.now() - begun < 20_000, "not only when the request's own time is over");
});

const none = (what: string) =>
  until(`${what}: none counts as in flight`, () => service.app.inFlight.length === 0);
const open = async () => {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  await once(socket, "connect");
  return socket;
};
const ask = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n${authorization}\r\nx-tenant: acme\r\n\r\n`;

test("pipelined requests on a closed connection do not stay in flight", async () => {
  for (const path of ["/nope", "/api/boards", "/api/tenants/current"]) {
    const socket = await open();
    socket.write(ask(path).repeat(20));
    await once(socket, "data");
    socket.resetAndDestroy();
    await none(path);
  }
});

test("a client that leaves before its body is read does not stay in flight", async () => {
  const body = JSON.stringify({ organization_name: "Gone", admin_email: "a@example.com" });
  for (const sent of [body, "{", ""]) {
    const socket = await open();
    await database.sql.begin(async sql => {
      await sql`lock table control.rate_limits in access exclusive mode`;
      socket.write(`${post(`content-length: ${body.length}`)}\r\n${sent}`);
      await lockWaiters(database.sql);
      socket.resetAndDestroy();
      await until("it has left", () => service.app.inFlight.every(({ destroyed }) => destroyed));
    });
    await none(`${sent.length} bytes`);
  }
});

test("no request stays in flight, whenever its client leaves", async () => {
  const json = (text: string, ...lines: string[]) =>
    `${post(`content-length: ${Buffer.byteLength(text)}`, ...lines)}\r\n${text}`;
  const body = JSON.stringify({ organization_name: "Cut", admin_email: "a@example.com" });
  const graphql = json('{"query":"{ tenant { slug } boards { title } }"}', "x-tenant: acme")
    .replace("/api/tenants/register", "/graphql")
    .replace("x-tenant: new-here\r\n", "");
  const whole = [
    ...["/api/boards", "/api/tenants/mine", "/api/setup/tenants", "/openapi.json", "/metrics", "/ready"].map(
      ask,
    ),
    ...["/docs/", "/docs/static/swagger-ui-bundle.js", "/nope", "/api/tenants//x", "/docs/static/../x"].map(
      ask,
    ),
    ask("/api/boards").replace("GET", "HEAD"),
    ask("/api/boards").replace("GET", "OPTIONS"),
    ask("/api/boards").replace("\r\n\r\n", "\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"),
    json(body),
    json("{}"),
    json("{"),
    json(body, "expect: 100-continue"),
    json("x".repeat(200_000)),
    `${post("transfer-encoding: chunked")}\r\n5\r\n{"a":\r\n`,
    graphql,
  ];
  const sent = [...whole, ...whole.map(text => text.slice(0, -1)), ...whole.map(text => text.repeat(3))];
  for (const wait of [0, 1, 3, 8, 20]) {
    await Promise.all(
      sent.map(async (text, i) => {
        const socket = await open();
        socket.write(text);
        await sleep(wait);
        if (i % 2) socket.destroy();
        else socket.resetAndDestroy();
      }),
    );
    await none(`cut after ${wait} ms`);
  }
  assert.equal((await send(get("x-tenant: acme"))).status, 200);
});

test("a connection with more than 32 unanswered requests is closed", async () => {
  const socket = await open();
  await database.sql.begin(async sql => {
    await sql`lock table app.boards in access exclusive mode`;
    socket.write(ask("/api/boards").repeat(32));
    await until("32 are worked on", () => service.app.inFlight.length === 32);
    assert.ok(!socket.readableEnded && socket.bytesRead === 0);
    const cut = once(socket.resume(), "close");
    socket.write(ask("/api/boards"));
    await cut;
    assert.equal(socket.bytesRead, 0, "nothing was answered");
  });
  await none("cut");
});

test("a client that does not read is cut off after a while, one that waits for its answer is not", async t => {
  const { server } = service.app;
  const { timeout } = server;
  t.after(() => server.setTimeout(timeout));
  server.setTimeout(1_000);
  const deaf = await open();
  deaf.pause();
  // Until the socket buffers of the kernel are full, and the server reads no more.
  for (let full = 0, asked = 0; full < 5; asked++) {
    assert.ok(asked < 1_000, "everything is taken");
    deaf.write(ask("/openapi.json"));
    await sleep(4);
    full = service.app.inFlight.length > 0 ? full + 1 : 0;
  }
  await none("who does not read");
  deaf.destroy();
  const holder = await database.sql.reserve();
  await holder.unsafe("begin; lock table app.boards in access exclusive mode");
  const waiting = send(ask("/api/boards"));
  await sleep(1_500); // longer than a connection may be silent
  await holder.unsafe("commit");
  holder.release();
  assert.equal((await waiting).status, 200);
});
