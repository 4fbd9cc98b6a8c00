import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { listen } from "./raw-http.ts";
import { createWorld, person } from "./world.ts";

const world = await createWorld();
const { database, service } = world;
const { authorization, send, get, post } = await listen(world);
after(() => world.end());
// Room in the rate limit of registration for all cases.
beforeEach(() => database.sql`delete from control.rate_limits`);

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
  assert.deepEqual([server.headersTimeout, server.requestTimeout], [10_000, 10_000]);
  server.headersTimeout = 100;
  server.requestTimeout = 100;
  for (const piece of ["GET /health HTTP/1.1\r\nhost:", `${post("content-length: 10")}\r\n{`]) {
    const { status, body } = await send(piece);
    assert.deepEqual(
      [status, JSON.parse(body)],
      [408, { error: "Request timeout", detail: "The request took too long to arrive" }],
    );
  }
  server.headersTimeout = 10_000;
  server.requestTimeout = 10_000;
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
