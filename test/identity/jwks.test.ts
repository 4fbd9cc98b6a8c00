import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign as signBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import Fastify from "fastify";
import type { JWTPayload } from "jose";
import { loadConfig } from "../../src/config/config.ts";
import keySet from "../../src/identity/jwks.ts";
import { until } from "../until.ts";
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

/** Keys that no token can be verified with, each for another reason. */
const BROKEN: [kid: string, jwk: unknown][] = [
  ["short", { kty: "RSA", kid: "short", n: "AQAB", e: "AQAB", use: "sig" }],
  ["no-modulus", { kty: "RSA", kid: "no-modulus", e: "AQAB" }],
  ["no-exponent", { ...jwk(other.publicKey, "no-exponent"), e: undefined }],
  ["number", { kty: "RSA", kid: "number", n: 5, e: 3 }],
  ["off-curve", { kty: "EC", kid: "off-curve", crv: "P-256", x: "AA", y: "AA" }],
  ["odd-curve", jwk(ec("secp256k1").publicKey, "odd-curve")],
  ["ed448", jwk(generateKeyPairSync("ed448").publicKey, "ed448")],
  ["private", jwk(other.privateKey, "private")],
  ["secret", { kty: "oct", kid: "secret", k: "AAAA" }],
  ["new-kind", { kty: "AKP", kid: "new-kind", alg: "ML-DSA-44", pub: "AAAA" }],
  ["encryption", { ...jwk(other.publicKey, "encryption"), use: "enc" }],
  ["wrapping", { ...jwk(other.publicKey, "wrapping"), key_ops: ["wrapKey"] }],
  ["odd-ops", { ...jwk(other.publicKey, "odd-ops"), key_ops: "verify" }],
  ["oaep", { ...jwk(other.publicKey, "oaep"), alg: "RSA-OAEP" }],
  ["odd-alg", { ...jwk(other.publicKey, "odd-alg"), alg: 5 }],
  ["none", null],
  ["text", "text"],
];
const unsigned = (kid: string) => `Bearer ${encode({ alg: "RS256", kid })}.${encode(good())}.`;

test("a broken key refuses its own tokens only, and keeps no new key waiting", async t => {
  for (const [kid, broken] of BROKEN) {
    const at = clock(t);
    const server = await keyServer(t, [jwk(rsa.publicKey, "r1"), broken as object]);
    const ask = await guarded(t, server.env);
    const signed = async (pair: typeof rsa, id: string, jti = id) =>
      `Bearer ${await sign("RS256", pair.privateKey, { jti }, id)}`;
    assert.equal((await ask(unsigned(kid))).reason, "unknown_key", kid);
    assert.equal((await ask(await signed(other, kid))).reason, "unknown_key", kid);
    assert.equal((await ask(await signed(other, "r2"))).reason, "unknown_key", kid);
    assert.equal((await ask(await signed(rsa, "r1"))).status, 200, kid);
    assert.equal(server.fetches, 1);
    server.answer = serving([jwk(rsa.publicKey, "r1"), broken as object, jwk(other.publicKey, "r2")]);
    for (let second = 1; second < 10; second++) {
      at(second);
      assert.equal((await ask(unsigned(kid))).status, 401, kid);
    }
    at(10);
    assert.equal((await ask(unsigned(kid))).status, 401, kid);
    assert.equal((await ask(await signed(other, "r2"))).status, 200, kid);
    assert.equal((await ask(await signed(rsa, "r1", "again"))).status, 200, kid);
    t.mock.reset();
  }
});

test("an answer without a usable key is an outage: known keys serve on, and unknown ones are 503", async t => {
  const answers = [
    [],
    [{ ...jwk(other.publicKey, "enc"), use: "enc" }],
    [null],
    [jwk(ec("P-256").publicKey, "ec")],
  ];
  for (const keys of answers) {
    const at = clock(t);
    const server = await keyServer(t, [jwk(rsa.publicKey, "1")]);
    const ask = await guarded(t, { ...server.env, SERVICE_JWT_ALGORITHMS: "RS256" });
    const token = async (kid: string, jti: string) =>
      `Bearer ${await sign("RS256", rsa.privateKey, { exp: 4e9, jti }, kid)}`;
    assert.equal((await ask(await token("1", "a"))).status, 200);
    server.answer = serving(keys as object[]);
    at(11);
    assert.deepEqual([(await ask(await token("2", "b"))).status, server.fetches], [503, 2]);
    assert.equal((await ask(await token("1", "c"))).status, 200);
    at(3_000);
    assert.equal((await ask(await token("1", "d"))).status, 200);
    assert.equal((await ask(await token("2", "e"))).status, 503);
    at(3_700);
    const late = await ask(await token("1", "f"));
    assert.deepEqual([late.status, late.reason], [503, "key_set_unreachable"]);
    server.answer = serving([jwk(rsa.publicKey, "2")]);
    at(3_706);
    assert.equal((await ask(await token("2", "g"))).status, 200);
    assert.equal((await ask(await token("1", "h"))).reason, "unknown_key");
    t.mock.reset();
  }
});

test("Ed25519 and EdDSA are one algorithm, in the key, in the token and in the configuration", async t => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const names = ["EdDSA", "Ed25519"];
  for (const configured of ["", ...names])
    for (const alg of [undefined, ...names]) {
      const server = await keyServer(t, [{ ...jwk(publicKey, "1"), alg }]);
      const ask = await guarded(t, { ...server.env, SERVICE_JWT_ALGORITHMS: configured });
      for (const name of names)
        assert.equal((await ask(`Bearer ${await sign(name, privateKey, {}, "1")}`)).status, 200, name);
      assert.equal((await ask(`Bearer ${await sign("RS256", rsa.privateKey, {}, "1")}`)).status, 401);
    }
});

test("a key verifies its own algorithms only: by its kind, and by its alg", async t => {
  const pair = ec("P-256");
  const keys = [jwk(pair.publicKey, "ec"), { ...jwk(rsa.publicKey, "rsa"), alg: "RS384" }];
  const server = await keyServer(t, keys);
  const ask = await guarded(t, server.env);
  const reason = async (alg: string, key: KeyObject, kid: string) =>
    (await ask(`Bearer ${await sign(alg, key, {}, kid)}`)).reason;
  assert.equal(await reason("ES256", pair.privateKey, "ec"), undefined);
  assert.equal(await reason("RS384", rsa.privateKey, "rsa"), undefined);
  for (const alg of ["RS256", "PS384", "PS256"])
    assert.equal(await reason(alg, rsa.privateKey, "rsa"), "unknown_key");
  assert.equal(await reason("RS384", rsa.privateKey, "ec"), "unknown_key");
});

/** What a service that listens logs about its key set until it has read it. */
async function started(t: TestContext, env: Record<string, string>) {
  const lines: { level: number; msg: string }[] = [];
  const app = Fastify({ logger: { stream: { write: line => void lines.push(JSON.parse(line)) } } });
  await app.register(keySet, loadConfig(env));
  t.after(() => app.close());
  await app.listen({ port: 0, host: "127.0.0.1" });
  const set = app.keySet!;
  await until("the key set is read", () => set.lastSuccess > 0 || set.failures > 0);
  return { set, said: () => lines.filter(({ msg }) => msg.startsWith("SERVICE_JWT_JWKS_URL")) };
}

test("a service that starts reads the key set, and says what is wrong at the address", async t => {
  const json =
    (value: unknown): RequestListener =>
    (_request, response) =>
      response.end(JSON.stringify(value));
  const cases: [RequestListener, RegExp][] = [
    [request => request.socket.destroy(), /it cannot be reached: other side closed$/],
    [(_request, response) => response.writeHead(404).end("no"), /it answers 404$/],
    [
      (_request, response) => response.writeHead(301, { location: "https://other.example/" }).end(),
      /it answers 301, a redirect to https:\/\/other\.example\/$/,
    ],
    [
      (_request, response) => response.setHeader("content-type", "text/html").end("<html>"),
      /it answers text\/html that is no JSON$/,
    ],
    [json({ issuer: "https://a.example" }), /it answers JSON without a list `keys`$/],
    [json(null), /it answers JSON without a list `keys`$/],
    [json({ keys: [jwk(rsa.publicKey)], more: "x".repeat(256 * 1024) }), /it answers more than 256 KiB$/],
    [json({ keys: [] }), /it has no key that can be used$/],
    [
      json({ keys: [{ ...jwk(rsa.publicKey, "e1"), use: "enc" }, jwk(rsa.privateKey)] }),
      /no key that can be used; not used: "e1" is not for signatures, a key without a kid is a private key$/,
    ],
    [
      json({ jwks_uri: "http://keys.acme.com/" }),
      /it names the key set http:\/\/keys\.acme\.com\/, which is not an https/,
    ],
  ];
  for (const [answer, words] of cases) {
    const { said, set } = await started(t, (await keyServer(t, answer)).env);
    const [line, ...more] = said();
    assert.deepEqual([line?.level, more.length, set.failures, set.lastSuccess], [40, 0, 1, 0], words.source);
    assert.match(line!.msg, words);
  }
  const gone = await keyServer(t, []);
  await gone.close();
  assert.match(
    (await started(t, gone.env)).said()[0]!.msg,
    /cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:\d+$/,
  );
  const mixed = await keyServer(t, [
    jwk(rsa.publicKey, "1"),
    { kty: "RSA", kid: "b1", n: "AQAB", e: "AQAB" },
  ]);
  const { said, set } = await started(t, mixed.env);
  const [line, ...more] = said();
  assert.deepEqual([line!.level, more.length, set.failures], [30, 0, 0]);
  assert.match(line!.msg, /: 1; not used: "b1" is too short or of an unknown kind$/);
  assert.ok(Math.abs(set.lastSuccess - Date.now() / 1000) < 60);
});

test("the log says in plain words why a key is not used", async t => {
  const words: Record<string, string> = {
    short: "is too short or of an unknown kind",
    "no-modulus": "is incomplete or broken (RSA)",
    "no-exponent": "is incomplete or broken (RSA)",
    number: "is incomplete or broken (RSA)",
    "off-curve": "is incomplete or broken (EC)",
    "odd-curve": "is too short or of an unknown kind",
    ed448: "is too short or of an unknown kind",
    private: "is a private key",
    encryption: "is not for signatures",
    wrapping: "is not for signatures",
    "odd-ops": "is not for signatures",
    oaep: "is for algorithms that are not accepted",
    "odd-alg": "is for algorithms that are not accepted",
    none: "is no JSON object",
    text: "is no JSON object",
  };
  // How much of these two kinds Node.js knows differs between its versions.
  const either = /^"[\w-]+" is (incomplete or broken \([A-Za-z]+\)|too short or of an unknown kind)$/;
  const others: [string, unknown][] = [
    ["number", { kid: "number" }],
    ["list", []],
  ];
  for (const [kid, broken] of [...BROKEN, ...others]) {
    const server = await keyServer(t, [jwk(rsa.publicKey, "r1"), broken as object]);
    const { said } = await started(t, server.env);
    const [, why] = /: 1; not used: (.*)$/.exec(said()[0]!.msg) ?? [];
    assert.ok(why, kid);
    const name =
      typeof broken === "object" && broken !== null && "kid" in broken ? `"${kid}"` : "a key without a kid";
    if (kid === "secret" || kid === "new-kind") assert.match(why, either);
    else if (broken === others[0]![1]) assert.equal(why, `${name} is incomplete or broken, without a kty`);
    else assert.equal(why, `${name} ${words[kid] ?? "is no JSON object"}`);
  }
});

test("an outage is one line in the log, however long it lasts, and its end is another", async t => {
  const server = await keyServer(t, (_request, response) => response.writeHead(500).end());
  const { said, set } = await started(t, server.env);
  await set.refresh();
  await set.refresh();
  assert.deepEqual([said().length, set.failures, server.fetches], [1, 3, 3]);
  server.answer = serving([jwk(rsa.publicKey, "1")]);
  await set.refresh();
  await set.refresh(); // not due
  assert.deepEqual([server.fetches, ...said().map(({ level }) => level)], [4, 40, 30]);
});

test("a discovery document leads to its key set", async t => {
  const keys = await keyServer(t, [jwk(rsa.publicKey, "1")]);
  const { SERVICE_JWT_JWKS_URL: jwks_uri } = keys.env as Record<string, string>;
  const discovery = await keyServer(t, (_request, response) =>
    response.end(JSON.stringify({ issuer: "https://a.example", jwks_uri })),
  );
  const ask = await guarded(t, discovery.env);
  assert.equal((await ask(`Bearer ${await sign("RS256", rsa.privateKey, {}, "1")}`)).status, 200);
  const circle = await keyServer(t, (_request, response) =>
    response.end(JSON.stringify({ jwks_uri: (circle.env as Record<string, string>).SERVICE_JWT_JWKS_URL })),
  );
  assert.equal((await (await guarded(t, circle.env))(unsigned("1"))).status, 503);
  assert.equal(circle.fetches, 2);
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

test("an unreachable key server gives 503 with Retry-After, and the service tries it again after five seconds", async t => {
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
