import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, createService, seedTenant, seedUser } from "../harness.ts";
import { lockWaiters, until } from "../until.ts";
import { person } from "./world.ts";

const database = await createDatabase();
const service = await createService(database);
await seedUser(database.sql, await seedTenant(database.sql, { slug: "acme" }), {
  subject: "ann",
});
const authorization = `authorization: Bearer ${await person("ann")}`;
const port = Number(new URL(await service.app.listen({ host: "127.0.0.1", port: 0 })).port);
after(async () => {
  await service.close();
  await database.drop();
});
// Room in the rate limit of registration for all cases.
beforeEach(() => database.sql`delete from control.rate_limits`);

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Sends raw bytes; resolves with the first answer when it is whole, or when the server ends the connection. */
function send(...pieces: (string | Buffer)[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => {
      for (const piece of pieces) socket.write(piece);
    });
    const finish = () => {
      socket.destroy();
      const [head, ...rest] = text.split("\r\n\r\n");
      const [first, ...lines] = head!.split("\r\n");
      const headers = Object.fromEntries(
        lines.map(line => [
          line.slice(0, line.indexOf(":")).toLowerCase(),
          line.slice(line.indexOf(":") + 2),
        ]),
      );
      resolve({ status: Number(first!.split(" ")[1]), headers, body: rest.join("\r\n\r\n") });
    };
    socket.setTimeout(60_000, () =>
      reject(new Error(`no answer to ${JSON.stringify(pieces[0]?.toString().slice(0, 80))}: ${text}`)),
    );
    socket.on("data", bytes => {
      text += bytes.toString("latin1");
      const length = /content-length: (\d+)/i.exec(text)?.[1];
      const at = text.indexOf("\r\n\r\n");
      if (length && at > 0 && text.length >= at + 4 + Number(length)) finish();
    });
    socket.on("close", finish);
    socket.on("error", () => {});
  });
}

const get = (...lines: string[]) =>
  ["GET /api/tenants/current HTTP/1.1", "host: x", authorization, ...lines, "", ""].join("\r\n");
const post = (...lines: string[]) =>
  [
    "POST /api/tenants/register HTTP/1.1",
    "host: x",
    authorization,
    "x-tenant: new-here",
    "content-type: application/json",
    ...lines,
    "",
  ].join("\r\n");

const bad = { error: "Bad Request", detail: "The request could not be understood" };
const cases: [what: string, pieces: () => (string | Buffer)[], status: number, body?: object][] = [
  ["no HTTP at all", () => ["hello\r\n\r\n"], 400, bad],
  ["bytes at random", () => [Buffer.from([0, 255, 1, 254, 13, 10, 13, 10])], 400, bad],
  ["TLS", () => [Buffer.from("16030100c8010000c40303", "hex"), "\r\n\r\n"], 400, bad],
  ["HTTP/2", () => ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], 400, bad],
  ["an unknown version", () => ["GET / HTTP/9.9\r\nhost: x\r\n\r\n"], 400, bad],
  ["an unknown method", () => ["BREW / HTTP/1.1\r\nhost: x\r\n\r\n"], 400, bad],
  ["a header without a colon", () => [get("nonsense")], 400, bad],
  ["NUL in a header", () => [get("x-tenant: a\0b")], 400, bad],
  ["a space before the colon", () => [get("x-tenant : acme")], 400, bad],
  ["a folded header", () => [get("x-tenant: acme", " beta")], 400, bad],
  ["a bare carriage return", () => [get("x-tenant: a\rb")], 400, bad],
  [
    "raw bytes in the address",
    () => [Buffer.from("GET /caf\xe9 HTTP/1.1\r\nhost: x\r\n\r\n", "latin1")],
    400,
    bad,
  ],
  [
    "a length and chunks at once",
    () => [post("content-length: 2", "transfer-encoding: chunked"), "0\r\n\r\n"],
    400,
    bad,
  ],
  ["two lengths", () => [post("content-length: 2", "content-length: 3"), "\r\n{}"], 400, bad],
  ["a negative length", () => [post("content-length: -1"), "\r\n{}"], 400, bad],
  ["a length that is no number", () => [post("content-length: 2e0"), "\r\n{}"], 400, bad],
  ["an unknown transfer coding", () => [post("transfer-encoding: gzip"), "\r\n{}"], 400, bad],
  ["a chunk of no size", () => [post("transfer-encoding: chunked"), "\r\nzz\r\n\r\n"], 400, bad],
  ["a huge chunk size", () => [post("transfer-encoding: chunked"), `\r\n${"f".repeat(40)}\r\n`], 400, bad],
  [
    "no Host",
    () => ["GET /health HTTP/1.1\r\n\r\n"],
    400,
    { error: "Bad Request", detail: "The Host header is required" },
  ],
  [
    "a second Host",
    () => [get("x-tenant: acme", "host: x")],
    400,
    { error: "Bad Request", detail: "There must be one Host header" },
  ],
  [
    "an expectation nobody can meet",
    () => [get("expect: magic")],
    417,
    { error: "Expectation failed", detail: "Send the request without an Expect header" },
  ],
  [
    "CONNECT",
    () => ["CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n"],
    405,
    { error: "Method not allowed", detail: "This address does not take this method" },
  ],
  [
    "an address beyond all measure",
    () => [`GET /${"a".repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
    431,
    { error: "Request header fields too large", detail: "The headers are larger than this service takes" },
  ],
  [
    "a second Authorization, valid or not",
    () => [get("x-tenant: acme", authorization)],
    401,
    { error: "Unauthorized", detail: "The Authorization header must read: Bearer <token>" },
  ],
  [
    "two content types",
    () => [post("content-type: text/plain", "content-length: 2"), "\r\n{}"],
    415,
    { error: "Unsupported media type", detail: "Send the body as application/json" },
  ],
  ["huge headers", () => [get(`x-big: ${"a".repeat(20_000)}`)], 431],
  [
    "a thousand headers",
    () => [get(...Array.from({ length: 1500 }, (_, i) => `x-${i}: ${"v".repeat(10)}`))],
    431,
  ],
  [
    "a long part of the address",
    () => [`GET /api/setup/tenant/${"a".repeat(9000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
    414,
    { error: "URI too long", detail: "A part of the address is longer than this service takes" },
  ],
  ["a bad escape", () => ["GET /api/setup/tenant/%zz HTTP/1.1\r\nhost: x\r\n\r\n"], 400, bad],
  ["an asterisk", () => ["OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n"], 404],
  ...["..", "%2e%2e", "..%2f.."].map((up): (typeof cases)[number] => [
    `an address that leaves the pages by ${up}`,
    () => [`GET /docs/static/${up}/${up}/package.json HTTP/1.1\r\nhost: x\r\n\r\n`],
    404,
    { error: "Not found", detail: "There is nothing at this address" },
  ]),
  ["an absolute address", () => ["GET http://[::1/ HTTP/1.1\r\nhost: x\r\n\r\n"], 400, bad],
  [
    "an absolute address with an empty part",
    () => ["GET http://h/api/setup/tenant//approve HTTP/1.1\r\nhost: h\r\n\r\n"],
    404,
    { error: "Not found", detail: "There is nothing at this address" },
  ],
  ["a method of another protocol", () => ["PROPFIND /health HTTP/1.1\r\nhost: x\r\n\r\n"], 405],
  [
    "a chunked body that is not UTF-8",
    () => [post("transfer-encoding: chunked"), Buffer.from('\r\n4\r\n"\xff\xfe"\r\n0\r\n\r\n', "latin1")],
    400,
    { error: "Bad Request", detail: "The body is not valid UTF-8" },
  ],
  [
    "a BOM",
    () => [post("content-length: 5"), Buffer.from("\r\n\xef\xbb\xbf{}", "latin1")],
    400,
    { error: "Bad Request", detail: "The body is not valid JSON" },
  ],
  [
    "a chunked body that is zipped",
    () => [post("transfer-encoding: chunked", "content-encoding: gzip"), "\r\n2\r\n{}\r\n0\r\n\r\n"],
    415,
  ],
  [
    "chunks without an end of 10 MB",
    () => [
      post("transfer-encoding: chunked"),
      "\r\n",
      ...Array.from({ length: 10 }, () => `100000\r\n${"x".repeat(1 << 20)}\r\n`),
    ],
    413,
    { error: "Payload too large", detail: "The body is larger than this service takes" },
  ],
  ["a length beyond the limit, before the body", () => [post("content-length: 99999999999"), "\r\n"], 413],
];

for (const [what, pieces, status, body] of cases) {
  test(`${what} is ${status}, in JSON`, async () => {
    const answer = await send(...pieces());
    assert.equal(answer.status, status, answer.body);
    assert.equal(answer.headers["content-type"], "application/json; charset=utf-8");
    const found = JSON.parse(answer.body);
    if (body) assert.deepEqual(found, body);
    else assert.ok(found.error && found.detail);
  });
}

test("headers and bodies that do not end in time are 408, soon after", async () => {
  const { server } = service.app;
  assert.deepEqual([server.headersTimeout, server.requestTimeout], [30_000, 30_000]);
  server.headersTimeout = 100;
  server.requestTimeout = 100;
  for (const piece of ["GET /health HTTP/1.1\r\nhost:", `${post("content-length: 10")}\r\n{`]) {
    const { status, body } = await send(piece);
    assert.deepEqual(
      [status, JSON.parse(body)],
      [408, { error: "Request timeout", detail: "The request took too long to arrive" }],
    );
  }
  server.headersTimeout = 30_000;
  server.requestTimeout = 30_000;
});

test("X-Tenant given twice is malformed, and shown as joined", async () => {
  const twice = await send(get("x-tenant: acme", "x-tenant: acme"));
  assert.deepEqual([twice.status, JSON.parse(twice.body).provided_tenant], [400, "acme, acme"]);
});

test("two Idempotency-Keys are refused; the word as the value of another header is not one", async () => {
  const operator = `authorization: Bearer ${await person("op", "acme", { roles: ["tenant-operator"] })}`;
  const create = async (slug: string, ...lines: string[]) => {
    const body = JSON.stringify({ name: "n", slug });
    const json = ["content-type: application/json", `content-length: ${body.length}`];
    const head = ["POST /api/setup/tenant HTTP/1.1", "host: x", operator, ...json, ...lines, "", body];
    return (await send(head.join("\r\n"))).status;
  };
  assert.equal(await create("twice", "idempotency-key: key-12345", "idempotency-key: key-67890"), 422);
  for (const slug of ["one", "two"])
    assert.equal(await create(slug, "x-note: idempotency-key", "x-another: 1"), 201);
});

test("no header is dropped, however many there are", async () => {
  const many = Array.from({ length: 2_000 }, () => "a:b");
  assert.equal((await send(get("x-tenant: acme", ...many, "x-tenant: acme"))).status, 400);
  assert.equal((await send(get(...many, "x-tenant: acme"))).status, 200);
});

test("valid HTTP works: expect 100-continue, chunks, an upgrade that is not offered, HTTP/1.0", async () => {
  assert.equal((await send(get("x-tenant: acme", "upgrade: websocket", "connection: upgrade"))).status, 200);
  assert.equal((await send(`GET /health HTTP/1.0\r\n\r\n`)).status, 200);
  const body = JSON.stringify({ organization_name: "Chunks", admin_email: "a@example.com" });
  const chunks = Array.from(body, character => `1\r\n${character}\r\n`).join("");
  assert.equal((await send(post("transfer-encoding: chunked"), `\r\n${chunks}0\r\n\r\n`)).status, 201);
  assert.equal(
    (await send(post("expect: 100-continue", `content-length: ${body.length}`), `\r\n${body}`)).status,
    100,
  );
});

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
