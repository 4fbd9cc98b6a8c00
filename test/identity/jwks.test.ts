import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign as signBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import type { JWTPayload } from "jose";
import { encode, good, guarded, hmac, pem, sign } from "./tokens.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const other = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ec = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });
const jwk = (key: KeyObject, kid?: string) => ({ ...key.export({ format: "jwk" }), ...(kid ? { kid } : {}) });

/** A key server on this machine; `answer` may be replaced while it runs. `fetches` counts the requests. */
async function keyServer(t: TestContext, keys: object[] | RequestListener) {
  const state = {
    fetches: 0,
    answer: (typeof keys === "function"
      ? keys
      : (_request, response) => response.end(JSON.stringify({ keys }))) as RequestListener,
    env: {},
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  const server = createServer((request, response) => {
    state.fetches += 1;
    state.answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.listening && state.close());
  const { port } = server.address() as AddressInfo;
  state.env = { SERVICE_JWT_JWKS_URL: `http://127.0.0.1:${port}/jwks.json` };
  return state;
}

const serving =
  (keys: object[]): RequestListener =>
  (_request, response) =>
    response.end(JSON.stringify({ keys }));

/** A clock that stands still until it is moved; timers run as ever. */
function clock(t: TestContext) {
  const start = Date.now();
  t.mock.timers.enable({ apis: ["Date"], now: start });
  let passed = 0;
  t.mock.method(performance, "now", () => passed);
  return (seconds: number, date = seconds) => {
    passed = seconds * 1000;
    t.mock.timers.setTime(start + date * 1000);
  };
}

test("a key set verifies RSA, elliptic and Edwards keys with one fetch", async t => {
  const pairs = [
    ["RS256", rsa],
    ["PS384", other],
    ["ES256", ec("P-256")],
    ["ES384", ec("P-384")],
    ["ES512", ec("P-521")],
    ["EdDSA", generateKeyPairSync("ed25519")],
  ] as const;
  const server = await keyServer(
    t,
    pairs.map(([alg, { publicKey }]) => jwk(publicKey, alg)),
  );
  const ask = await guarded(t, server.env);
  for (const [alg, { privateKey }] of pairs) {
    const { status, body } = await ask(`Bearer ${await sign(alg, privateKey, {}, alg)}`);
    assert.deepEqual([status, body.subject], [200, "ann"], alg);
  }
  assert.equal(server.fetches, 1);
});

test("without a kid the key that fits is found among several", async t => {
  const server = await keyServer(t, [jwk(rsa.publicKey, "1"), jwk(other.publicKey, "2")]);
  const ask = await guarded(t, server.env);
  for (const { privateKey } of [rsa, other])
    assert.equal((await ask(`Bearer ${await sign("RS256", privateKey)}`)).status, 200);
  const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 });
  assert.equal((await ask(`Bearer ${await sign("RS256", stranger.privateKey)}`)).reason, "unknown_key");
});

test("the claims of a token are checked as with any other key", async t => {
  const server = await keyServer(t, [jwk(rsa.publicKey, "1")]);
  const ask = await guarded(t, { ...server.env, SERVICE_JWT_ISSUER: "https://a.example" });
  const reason = async (claims: JWTPayload) =>
    (await ask(`Bearer ${await sign("RS256", rsa.privateKey, claims, "1")}`)).reason;
  assert.equal(await reason({ iss: "https://a.example" }), undefined);
  assert.equal(await reason({ iss: "https://b.example" }), "issuer");
  assert.equal(await reason({ iss: "https://a.example", sub: "" }), "subject");
  assert.equal(await reason({ iss: "https://a.example", nbf: 4e9 }), "not_yet_valid");
  assert.equal(await reason({ iss: "https://a.example", nbf: 1e20 }), "not_yet_valid");
});

test("a forged token is 401 and, when no key could fit it, asks for none", async t => {
  const server = await keyServer(t, [jwk(rsa.publicKey, "1"), { kty: "oct", k: "AAAA", kid: "2" }]);
  const ask = await guarded(t, server.env);
  const text = JSON.stringify(jwk(rsa.publicKey, "1"));
  const forged = [
    hmac(good(), { alg: "HS256", kid: "1" }, pem(rsa.publicKey)),
    hmac(good(), { alg: "HS256", kid: "1" }, text),
    hmac(good(), { alg: "HS256", kid: "2" }, "\0\0\0"),
    hmac(good(), { alg: ["RS256"], kid: "1" }),
    `${encode({ alg: "none", kid: "1" })}.${encode(good())}.`,
    "a.b.c",
  ];
  for (const token of forged) assert.equal((await ask(`Bearer ${token}`)).status, 401);
  assert.equal(server.fetches, 0);
  const wrong = [
    await sign("RS256", other.privateKey, {}, "1"),
    await sign("ES256", ec("P-256").privateKey, {}, "1"),
    hmac(good(), { alg: "RS256", kid: "1" }),
    hmac(good(), { alg: "RS256", kid: { $ne: 1 } }),
    hmac(good(), { alg: "RS256", kid: "1", crit: ["x"], x: 1 }),
    `${encode({ alg: "RS256", kid: "1" })}.${encode(good())}.`,
  ];
  for (const token of wrong) assert.equal((await ask(`Bearer ${token}`)).status, 401);
});

test("what is no token is called that, and not a token with a wrong signature", async t => {
  const server = await keyServer(t, [jwk(rsa.publicKey, "1")]);
  const ask = await guarded(t, server.env);
  const token = await sign("RS256", rsa.privateKey, {}, "1");
  const [header, payload, signature] = token.split(".");
  for (const [broken, reason] of [
    ["undefined", "malformed"],
    ["a.b.c", "malformed"],
    [`${header}.${payload}`, "malformed"],
    [`${header}..${signature}`, "malformed"],
    [`${header}.${encode("not json")}.${signature}`, "malformed"],
    [`${header}.${encode([1])}.${signature}`, "malformed"],
    [`${header}.${payload}.`, "unsigned"],
    [`${header}.${payload}.${signature}=`, "signature"],
    [`${header}.${payload}.${signature!.slice(4)}`, "signature"],
    [`${header}.${encode(good({ sub: "eve" }))}.${signature}`, "signature"],
  ])
    assert.equal((await ask(`Bearer ${broken}`)).reason, reason, broken);
});

test("an RSA key of 1024 bits in the set verifies nothing", async t => {
  const weak = generateKeyPairSync("rsa", { modulusLength: 1024 });
  const server = await keyServer(t, [jwk(weak.publicKey, "1")]);
  const ask = await guarded(t, server.env);
  const input = `${encode({ alg: "RS256", kid: "1" })}.${encode(good())}`;
  const signature = signBytes("sha256", Buffer.from(input), weak.privateKey).toString("base64url");
  assert.equal((await ask(`Bearer ${input}.${signature}`)).reason, "unknown_key");
});

test("a key in the set that cannot be read verifies nothing, and keeps the others from nobody", async t => {
  const odd = { kty: "RSA", e: "AQAB", kid: "odd" };
  const server = await keyServer(t, [jwk(rsa.publicKey, "1"), odd]);
  const ask = await guarded(t, server.env);
  const bearer = async (key: KeyObject, kid: string) => `Bearer ${await sign("RS256", key, {}, kid)}`;
  assert.equal((await ask(await bearer(other.privateKey, "odd"))).status, 401);
  assert.equal((await ask(await bearer(rsa.privateKey, "1"))).status, 200);
  assert.equal((await ask(await bearer(other.privateKey, "odd"))).status, 401);
  assert.equal(server.fetches, 1);
});

test("a thousand tokens with unknown kids make two fetches at most", async t => {
  clock(t);
  const server = await keyServer(t, [jwk(rsa.publicKey, "1")]);
  const ask = await guarded(t, server.env);
  const bogus = (index: number) => hmac(good(), { alg: "RS256", kid: `bogus-${index}` });
  assert.equal((await ask(`Bearer ${bogus(0)}`)).reason, "unknown_key");
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, (_, index) => ask(`Bearer ${bogus(index)}`)),
  );
  assert.ok(answers.every(({ status }) => status === 401));
  assert.ok(server.fetches <= 2, `${server.fetches} fetches`);
});

/** A token of the key that the service has read, and one of the key that the server has in its place since. */
async function rotated(t: TestContext) {
  const server = await keyServer(t, [jwk(rsa.publicKey, "old")]);
  const ask = await guarded(t, server.env);
  const old = `Bearer ${await sign("RS256", rsa.privateKey, {}, "old")}`;
  const fresh = `Bearer ${await sign("RS256", other.privateKey, {}, "new")}`;
  assert.equal((await ask(old)).status, 200);
  server.answer = serving([jwk(other.publicKey, "new")]);
  return { server, ask, old, fresh };
}

test("a new key is taken up after the pause between fetches, and a removed one is out", async t => {
  const at = clock(t);
  const { server, ask, old, fresh } = await rotated(t);
  at(9);
  assert.equal((await ask(fresh)).reason, "unknown_key");
  at(11);
  assert.equal((await ask(fresh)).status, 200);
  assert.equal(server.fetches, 2);
  at(62);
  assert.equal((await ask(old)).reason, "unknown_key");
});

test("a key server that cannot be reached is 503 with Retry-After, and asked again in five seconds", async t => {
  const at = clock(t);
  const server = await keyServer(t, [jwk(rsa.publicKey, "1")]);
  const ask = await guarded(t, server.env);
  const token = `Bearer ${await sign("RS256", rsa.privateKey, {}, "1")}`;
  const working = server.answer;
  server.answer = request => request.socket.destroy();
  for (const wait of ["5", "2"]) {
    const { status, body, retryAfter, reason, challenge } = await ask(token);
    assert.deepEqual([status, body.error, retryAfter], [503, "Service unavailable", wait]);
    assert.deepEqual([reason, challenge], ["key_set_unreachable", undefined]);
    at(3.5);
  }
  assert.equal(server.fetches, 1);
  server.answer = working;
  assert.equal((await ask(token)).status, 503);
  at(6);
  assert.equal((await ask(token)).status, 200);
});

test("a clock that is set back keeps nobody waiting for the key server", async t => {
  const at = clock(t);
  const server = await keyServer(t, [jwk(rsa.publicKey, "1")]);
  const ask = await guarded(t, server.env);
  const token = `Bearer ${await sign("RS256", rsa.privateKey, {}, "1")}`;
  const working = server.answer;
  server.answer = request => request.socket.destroy();
  assert.equal((await ask(token)).status, 503);
  server.answer = working;
  at(6, -1000);
  assert.equal((await ask(token)).status, 200);
});

test("a clock that is set back keeps no key from being taken up, and none longer", async t => {
  const at = clock(t);
  const { server, ask, old, fresh } = await rotated(t);
  at(11, -3600);
  assert.deepEqual([(await ask(fresh)).status, (await ask(old)).reason], [200, "unknown_key"]);
  assert.equal(server.fetches, 2);
});

test("a port where nobody listens is 503 and not 401", async t => {
  const server = await keyServer(t, []);
  await server.close();
  const ask = await guarded(t, server.env);
  assert.equal((await ask(`Bearer ${await sign("RS256", rsa.privateKey, {}, "1")}`)).status, 503);
});

const soon = { timeout: 60_000 };
test(
  "a key server that hangs, before its answer or inside it, is 503 after one wait that all share",
  soon,
  async t => {
    clock(t);
    const token = `Bearer ${await sign("RS256", rsa.privateKey, {}, "1")}`;
    const hanging: RequestListener[] = [() => {}, (_request, response) => response.write('{"keys":[')];
    const began = process.hrtime.bigint(); // the other clocks stand still
    const tried = hanging.map(async answer => {
      const server = await keyServer(t, answer);
      const ask = await guarded(t, server.env);
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(token)));
      answers.push(await ask(token));
      assert.ok(answers.every(({ status }) => status === 503));
      assert.equal(server.fetches, 1);
    });
    await Promise.all(tried);
    const seconds = Number(process.hrtime.bigint() - began) / 1e9;
    assert.ok(seconds > 2.9 && seconds < 20, `${seconds} s`);
  },
);

test("an answer that is no key set is 503", async t => {
  const answers: RequestListener[] = [
    (_request, response) => response.writeHead(500).end("{}"),
    (_request, response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    (_request, response) => response.end("<html>"),
    (_request, response) => response.end("{}"),
    (_request, response) => response.end('{"keys":{}}'),
    (_request, response) => response.end("null"),
  ];
  const token = `Bearer ${await sign("RS256", rsa.privateKey, {}, "1")}`;
  for (const answer of answers) {
    const server = await keyServer(t, answer);
    const ask = await guarded(t, server.env);
    assert.equal((await ask(token)).status, 503);
  }
});

test("keys once seen serve for an hour of outage, and a kid not among them is 503", async t => {
  const at = clock(t);
  const server = await keyServer(t, [jwk(rsa.publicKey, "1")]);
  const ask = await guarded(t, server.env);
  const long = { exp: Math.floor(Date.now() / 1000) + 10_000 };
  const token = async (pair: typeof rsa, kid: string, jti: string) =>
    `Bearer ${await sign("RS256", pair.privateKey, { ...long, jti }, kid)}`;
  assert.equal((await ask(await token(rsa, "1", "a"))).status, 200);
  server.answer = request => request.socket.destroy();
  at(20);
  assert.equal((await ask(await token(other, "2", "b"))).status, 503);
  assert.equal((await ask(await token(rsa, "1", "c"))).status, 200);
  assert.equal((await ask(await token(other, "1", "d"))).status, 401);
  at(3_000);
  assert.equal((await ask(await token(rsa, "1", "e"))).status, 200);
  assert.equal((await ask(await token(other, "2", "f"))).status, 503);
  at(3_700);
  assert.equal((await ask(await token(rsa, "1", "g"))).status, 503);
  server.answer = serving([jwk(rsa.publicKey, "1")]);
  at(3_710);
  assert.equal((await ask(await token(rsa, "1", "h"))).status, 200);
});
