import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import Fastify from "fastify";
import { loadConfig } from "../../src/config/config.ts";
import { TOKEN_REASONS } from "../../src/errors/problems.ts";
import auth from "../../src/identity/auth.ts";
import { encode, good, guarded, HOUR, hmac, now, pem, SECRET, sign } from "./tokens.ts";

const HMAC = { SERVICE_JWT_SECRET: SECRET };
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const rsaKey = { SERVICE_JWT_PUBLIC_KEY: pem(rsa.publicKey) };

test("a verified token gives an identity, and an issuer is its provider", async t => {
  const ask = await guarded(t, HMAC);
  const claims = good({ email: "ann@acme.com", name: "Ann", org: { slug: "acme" } });
  const { status, body } = await ask(`Bearer ${hmac(claims)}`);
  assert.equal(status, 200);
  assert.deepEqual(body, {
    provider: "jwt",
    subject: "ann",
    email: "ann@acme.com",
    name: "Ann",
    claims,
    operator: false,
  });
  const issued = await ask(`Bearer ${hmac(good({ iss: "https://issuer.example" }))}`);
  assert.equal(issued.body.provider, "https://issuer.example");
});

test("the scheme is read in any case", async t => {
  const ask = await guarded(t, HMAC);
  for (const scheme of ["Bearer", "bearer", "BEARER"])
    assert.equal((await ask(`${scheme} ${hmac(good())}`)).status, 200);
});

test("e-mail and name are null when they are no text that can be stored", async t => {
  const ask = await guarded(t, HMAC);
  for (const odd of [5, null, "", ["a@b.com"], { a: 1 }, "a\0b", "a\nb", "\ud800", "x".repeat(321)]) {
    const { status, body } = await ask(`Bearer ${hmac(good({ email: odd, name: odd }))}`);
    assert.deepEqual([status, body.email, body.name], [200, null, null], JSON.stringify(odd));
  }
});

test("a name that shows nothing is no name", async t => {
  const ask = await guarded(t, HMAC);
  const { status, body } = await ask(`Bearer ${hmac(good({ name: "\u200b\u{e0041}" }))}`);
  assert.deepEqual([status, body.name], [200, null]);
});

test("a claim is as long as it has code points", async t => {
  const ask = await guarded(t, HMAC);
  const { status, body } = await ask(`Bearer ${hmac(good({ sub: "🙂".repeat(255) }))}`);
  assert.deepEqual([status, body.subject], [200, "🙂".repeat(255)]);
  assert.equal((await ask(`Bearer ${hmac(good({ sub: "🙂".repeat(256) }))}`)).reason, "subject");
});

test("an e-mail address has up to 320 characters", async t => {
  const ask = await guarded(t, HMAC);
  const longest = `${"x".repeat(308)}@example.com`;
  for (const [email, kept] of [
    [longest, longest],
    [`x${longest}`, null],
  ]) {
    const { status, body } = await ask(`Bearer ${hmac(good({ email }))}`);
    assert.deepEqual([status, body.email], [200, kept]);
  }
});

test("every kind of key verifies its own algorithms", async t => {
  const ec = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });
  const cases = [
    [rsa, "RS256", undefined],
    [rsa, "RS512", "RS384,RS512"],
    [rsa, "PS256", "PS256"],
    [ec("P-256"), "ES256", undefined],
    [ec("P-384"), "ES384", undefined],
    [ec("P-521"), "ES512", undefined],
    [generateKeyPairSync("ed25519"), "EdDSA", undefined],
    [generateKeyPairSync("ed25519"), "Ed25519", undefined],
    [generateKeyPairSync("ed25519"), "EdDSA", "Ed25519"],
    [generateKeyPairSync("ed25519"), "Ed25519", "EdDSA"],
  ] as const;
  for (const [pair, alg, algorithms] of cases) {
    const env = { SERVICE_JWT_PUBLIC_KEY: pem(pair.publicKey), SERVICE_JWT_ALGORITHMS: algorithms ?? "" };
    const ask = await guarded(t, env);
    assert.equal((await ask(`Bearer ${await sign(alg, pair.privateKey)}`)).status, 200, alg);
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const forged = await ask(`Bearer ${await sign("RS256", other)}`);
    assert.deepEqual([forged.status, forged.challenge?.includes("invalid_token")], [401, true], alg);
  }
  const ask = await guarded(t, { SERVICE_JWT_SECRET: SECRET.repeat(2), SERVICE_JWT_ALGORITHMS: "HS512" });
  assert.equal((await ask(`Bearer ${hmac(good(), { alg: "HS512" }, SECRET.repeat(2), 512)}`)).status, 200);
  assert.equal((await ask(`Bearer ${hmac(good(), { alg: "HS256" }, SECRET.repeat(2))}`)).reason, "algorithm");
});

test("without credentials the challenge has no error, with a malformed header it has invalid_request", async t => {
  const ask = await guarded(t, HMAC);
  for (const header of [
    undefined,
    "",
    "Basic YTpi",
    "Bearertoken",
    hmac(good()),
    `Basic Bearer ${hmac(good())}`,
  ]) {
    const { status, body, challenge, reason } = await ask(header);
    assert.deepEqual([status, challenge, reason], [401, 'Bearer realm="tenants"', "no_credentials"], header);
    assert.deepEqual([body.error, typeof body.detail], ["Unauthorized", "string"]);
  }
  const token = hmac(good());
  const bad = [
    "Bearer",
    "Bearer ",
    `Bearer  ${token}`,
    `Bearer\t${token}`,
    `Bearer ${token} x`,
    `Bearer ${token}, b`,
  ];
  for (const header of bad) {
    const { status, challenge, reason } = await ask(header);
    assert.deepEqual([status, reason], [401, "malformed_header"], header);
    assert.match(
      challenge as string,
      /^Bearer realm="tenants", error="invalid_request", error_description="[^"\\]+"$/,
    );
  }
});

/** A flipped bit, a foreign character, a missing part. */
function broken(): [token: string, reason: keyof typeof TOKEN_REASONS][] {
  const token = hmac(good());
  const [header, payload, signature] = token.split(".") as [string, string, string];
  const with_ = (extra: object) => hmac(good(), { alg: "HS256", ...extra });
  const claims = (extra: object): string => hmac(good(extra));
  const raw = (json: string): string => hmac(json);
  return [
    ["x", "malformed"],
    ["..", "malformed"],
    ["a.b.c", "malformed"],
    [`${header}.${payload}`, "malformed"],
    [`${token}.${signature}`, "malformed"],
    [`.${payload}.${signature}`, "malformed"],
    [`${header}..${signature}`, "malformed"],
    [`${header}.${payload}.`, "unsigned"],
    [`${header}.${payload}.${signature.slice(1)}`, "signature"],
    [`${header}.${payload}.${signature.slice(0, -2)}*A`, "signature"],
    [`${header}.${payload}.${signature}=`, "signature"],
    [`${header}.${payload}+.${signature}`, "malformed"],
    [`${header}.${encode(good({ sub: "eve" }))}.${signature}`, "signature"],
    [hmac(good(), { alg: "HS256" }, `${SECRET}x`), "signature"],
    [hmac(good(), "not json"), "malformed"],
    [hmac(good(), [1]), "malformed"],
    [hmac(good(), "null"), "malformed"],
    [hmac([good()]), "malformed"],
    [raw("null"), "malformed"],
    [raw('"text"'), "malformed"],
    [raw("{"), "malformed"],
    [raw(""), "malformed"],
    [`${encode({ alg: "none" })}.${encode(good())}.`, "unsigned"],
    [hmac(good(), { alg: "none" }), "algorithm"],
    [with_({ alg: "None" }), "algorithm"],
    [with_({ alg: "hs256" }), "algorithm"],
    [with_({ alg: "HS512" }), "algorithm"],
    [with_({ alg: "RS256" }), "algorithm"],
    [with_({ alg: "ES256" }), "algorithm"],
    [with_({ alg: "EdDSA" }), "algorithm"],
    [with_({ alg: "constructor" }), "algorithm"],
    [with_({ alg: ["HS256"] }), "algorithm"],
    [with_({ alg: null }), "algorithm"],
    [hmac(good(), { typ: "JWT" }), "algorithm"],
    [with_({ typ: "logout+jwt" }), "type"],
    [with_({ typ: "secevent+jwt" }), "type"],
    [with_({ typ: "application/dpop+jwt" }), "type"],
    [with_({ typ: "JWTx" }), "type"],
    [with_({ typ: "" }), "type"],
    [with_({ typ: null }), "type"],
    [with_({ typ: ["JWT"] }), "type"],
    [claims({ events: { "http://schemas.openid.net/event/backchannel-logout": {} } }), "type"],
    [with_({ crit: ["b64"], b64: false }), "critical_header"],
    [with_({ crit: [] }), "critical_header"],
    [with_({ crit: "exp" }), "critical_header"],
    [claims({ exp: now() - 6 }), "expired"],
    [claims({ exp: 0 }), "expired"],
    [claims({ exp: -1 }), "expired"],
    [claims({ exp: -1e20 }), "expired"],
    [claims({ exp: String(now() + HOUR) }), "expiry"],
    [claims({ exp: null }), "expiry"],
    [claims({ exp: [now() + HOUR] }), "expiry"],
    [raw('{"sub":"ann","exp":1e400}'), "expiry"],
    [raw('{"sub":"ann","exp":-1e400}'), "expiry"],
    [raw('{"sub":"ann"}'), "expiry"],
    [raw(`{"sub":"ann","exp":${now() + HOUR},"exp":1}`), "expired"],
    [claims({ nbf: now() + 60 }), "not_yet_valid"],
    [claims({ nbf: 1e20 }), "not_yet_valid"],
    [raw(`{"sub":"ann","exp":${now() + HOUR},"nbf":1e400}`), "invalid"],
    [claims({ nbf: "0" }), "invalid"],
    [claims({ nbf: null }), "invalid"],
    [claims({ sub: undefined }), "subject"],
    [claims({ sub: null }), "subject"],
    [claims({ sub: 5 }), "subject"],
    [claims({ sub: "" }), "subject"],
    [claims({ sub: ["ann"] }), "subject"],
    [claims({ sub: { id: "ann" } }), "subject"],
    [claims({ sub: "a\0b" }), "subject"],
    [claims({ sub: "a\nb" }), "subject"],
    [claims({ sub: "x".repeat(256) }), "subject"],
    [raw(`{"sub":"\\ud800","exp":${now() + HOUR}}`), "subject"],
    [raw(`{"__proto__":{"sub":"ann"},"exp":${now() + HOUR}}`), "subject"],
    [claims({ iss: null }), "issuer"],
    [claims({ iss: "" }), "issuer"],
    [claims({ iss: 5 }), "issuer"],
    [claims({ iss: ["https://issuer.example"] }), "issuer"],
    [claims({ iss: "x".repeat(256) }), "issuer"],
    [claims({ iss: "a\0" }), "issuer"],
    [hmac(good({ pad: "x".repeat(7_000) })), "too_long"],
  ];
}

test("every broken token is 401 with invalid_token and a reason, and says nothing of the library", async t => {
  const ask = await guarded(t, HMAC);
  for (const [token, expected] of broken()) {
    const { status, body, challenge, reason } = await ask(`Bearer ${token}`);
    assert.deepEqual(
      [status, reason],
      [401, expected],
      `${expected}: ${Buffer.from(token, "base64").toString().slice(0, 200)}`,
    );
    assert.deepEqual([body.error, body.detail], ["Unauthorized", TOKEN_REASONS[expected]]);
    const description = `error="invalid_token", error_description="${TOKEN_REASONS[expected]}"`;
    assert.equal(challenge, `Bearer realm="tenants", ${description}`);
  }
  for (const sentence of Object.values(TOKEN_REASONS))
    assert.match(sentence, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
});

test("a token without a type, or with one of an access token, gives access", async t => {
  const ask = await guarded(t, HMAC);
  for (const typ of [undefined, "JWT", "jwt", "at+jwt", "AT+JWT", "application/jwt", "application/at+JWT"])
    assert.equal((await ask(`Bearer ${hmac(good(), { alg: "HS256", typ })}`)).status, 200, typ);
  for (const events of [[], "x", null, { started: {} }])
    assert.equal((await ask(`Bearer ${hmac(good({ events }))}`)).status, 200, JSON.stringify(events));
});

test("a token of 8192 characters is read, and one of more is not", async t => {
  const ask = await guarded(t, HMAC);
  let longest = "";
  for (let pad = 5_900; longest.length < 8_192; pad++) longest = hmac(good({ pad: "x".repeat(pad) }));
  assert.equal(longest.length, 8_192);
  assert.equal((await ask(`Bearer ${longest}`)).status, 200);
  assert.equal((await ask(`Bearer ${longest}x`)).reason, "too_long");
});

test("the clock may be off by five seconds, and times that are odd but true are taken", async t => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_900_000_000_000 });
  const ask = await guarded(t, HMAC);
  const far = [
    { exp: now() - 3 },
    { nbf: now() + 3 },
    { nbf: -1e20 },
    { nbf: 0.5 },
    { exp: 1e20 },
    { exp: now() + 0.5 },
  ];
  for (const claims of far)
    assert.equal((await ask(`Bearer ${hmac(good(claims))}`)).status, 200, JSON.stringify(claims));
});

test("a claim named __proto__ is data, and the last of two claims counts", async t => {
  const ask = await guarded(t, HMAC);
  const exp = now() + HOUR;
  const odd = await ask(
    `Bearer ${hmac(`{"sub":"ann","exp":${exp},"__proto__":{"roles":["tenant-operator"]}}`)}`,
  );
  assert.deepEqual([odd.status, odd.identity?.operator, odd.identity?.claims.roles], [200, false, undefined]);
  const twice = await ask(`Bearer ${hmac(`{"sub":"ann","sub":"bob","exp":${exp}}`)}`);
  assert.equal(twice.identity?.subject, "bob");
});

test("an RSA public key is no HMAC secret", async t => {
  const ask = await guarded(t, rsaKey);
  const text = pem(rsa.publicKey);
  for (const key of [text, text.trim(), text.replace(/\n/g, "\\n")])
    for (const alg of ["HS256", "RS256"])
      assert.equal((await ask(`Bearer ${hmac(good(), { alg }, key)}`)).status, 401);
  assert.equal((await ask(`Bearer ${encode({ alg: "none" })}.${encode(good())}.`)).status, 401);
  assert.equal((await ask(`Bearer ${await sign("RS512", rsa.privateKey)}`)).reason, "algorithm");
  assert.equal((await ask(`Bearer ${await sign("PS256", rsa.privateKey)}`)).reason, "algorithm");
  assert.equal((await ask(`Bearer ${await sign("RS256", rsa.privateKey)}`)).status, 200);
});

test("issuer and audience must be shown when they are configured", async t => {
  const ask = await guarded(t, {
    ...HMAC,
    SERVICE_JWT_ISSUER: "https://a.example",
    SERVICE_JWT_AUDIENCE: "api,web",
  });
  const both = { iss: "https://a.example", aud: "api" };
  for (const claims of [both, { ...both, aud: "web" }, { ...both, aud: ["x", "api"] }])
    assert.equal((await ask(`Bearer ${hmac(good(claims))}`)).status, 200);
  for (const iss of [undefined, "https://b.example", "https://a.example/", ["https://a.example"]])
    assert.equal((await ask(`Bearer ${hmac(good({ ...both, iss }))}`)).reason, "issuer");
  for (const aud of [undefined, null, "", "ap", "api,web", [], ["x"], [["api"]], { api: 1 }, 5])
    assert.equal(
      (await ask(`Bearer ${hmac(good({ ...both, aud }))}`)).reason,
      "audience",
      JSON.stringify(aud),
    );
});

test("an operator holds the role in a string, a list, or words", async t => {
  const ask = await guarded(t, HMAC);
  const is = async (roles: unknown) => (await ask(`Bearer ${hmac(good({ roles }))}`)).identity?.operator;
  for (const roles of ["tenant-operator", ["a", "tenant-operator"], "a tenant-operator b"])
    assert.equal(await is(roles), true, JSON.stringify(roles));
  const object = { "tenant-operator": true };
  const none = [
    undefined,
    null,
    "",
    "operator",
    "tenant-operators",
    ["a tenant-operator"],
    [["tenant-operator"]],
    object,
    1,
  ];
  for (const roles of none) assert.equal(await is(roles), false, JSON.stringify(roles));
  const spaced = await guarded(t, { ...HMAC, SERVICE_OPERATOR_ROLE: "Tenant operator" });
  assert.equal((await spaced(`Bearer ${hmac(good({ roles: "Tenant operator" }))}`)).identity?.operator, true);
});

test("the operator's claim may be a dotted path or a name with dots, the name first", async t => {
  const nested = await guarded(t, {
    ...HMAC,
    SERVICE_OPERATOR_CLAIM: "realm_access.roles",
    SERVICE_OPERATOR_ROLE: "root",
  });
  const is = async (ask: typeof nested, claims: object) =>
    (await ask(`Bearer ${hmac(good(claims))}`)).identity?.operator;
  assert.equal(await is(nested, { realm_access: { roles: ["root"] } }), true);
  assert.equal(await is(nested, { realm_access: { roles: ["root"] }, "realm_access.roles": ["no"] }), false);
  assert.equal(await is(nested, { realm_access: "root" }), false);
  const url = await guarded(t, { ...HMAC, SERVICE_OPERATOR_CLAIM: "https://acme.com/roles" });
  assert.equal(await is(url, { "https://acme.com/roles": "tenant-operator" }), true);
  const inherited = await guarded(t, {
    ...HMAC,
    SERVICE_OPERATOR_CLAIM: "constructor.name",
    SERVICE_OPERATOR_ROLE: "Object",
  });
  assert.equal(await is(inherited, {}), false);
  assert.equal(await is(inherited, { constructor: {} }), false);
});

test("one token gives one identity, frozen to its depth", async t => {
  const ask = await guarded(t, HMAC);
  const deep = JSON.parse(`${"[".repeat(2_000)}${"]".repeat(2_000)}`);
  const token = hmac(good({ org: { slug: "acme", tags: [{ a: 1 }] }, deep, none: null }));
  const first = (await ask(`Bearer ${token}`)).identity!;
  assert.equal((await ask(`bearer ${token}`)).identity, first);
  const { org } = first.claims as { org: { slug: string; tags: { a: number }[] } };
  const writes = [
    () => Object.assign(first, { operator: true }),
    () => Object.assign(first.claims, { sub: "eve" }),
    () => Object.assign(org, { slug: "other" }),
    () => org.tags.push({ a: 2 }),
    () => Object.assign(org.tags[0]!, { a: 2 }),
  ];
  for (const write of writes) assert.throws(write, TypeError);
});

test("a kept token is looked at again after a minute, and is out when it expires or the clock stands before it", async t => {
  const ask = await guarded(t, HMAC);
  const start = 1_900_000_000_000;
  t.mock.timers.enable({ apis: ["Date"], now: start });
  const at = (seconds: number) => t.mock.timers.setTime(start + seconds * 1000);
  const token = hmac({ sub: "ann", exp: start / 1000 + 70, nbf: start / 1000 - 10 });
  const first = (await ask(`Bearer ${token}`)).identity;
  at(60);
  assert.equal((await ask(`Bearer ${token}`)).identity, first);
  at(61);
  const second = (await ask(`Bearer ${token}`)).identity;
  assert.ok(second && second !== first);
  at(75);
  assert.equal((await ask(`Bearer ${token}`)).identity, second);
  at(76);
  assert.equal((await ask(`Bearer ${token}`)).reason, "expired");
  at(0);
  assert.equal((await ask(`Bearer ${token}`)).status, 200);
  at(-20);
  assert.equal((await ask(`Bearer ${token}`)).reason, "not_yet_valid");
});

test("a kept token vouches for no other, and the oldest gives way to the newest", async t => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_900_000_000_000 });
  const ask = await guarded(t, HMAC);
  const tokens = Array.from({ length: 2_001 }, (_, index) => hmac(good({ sub: `user-${index}` })));
  const first = (await ask(`Bearer ${tokens[0]}`)).identity;
  assert.equal((await ask(`Bearer ${tokens[0]!.slice(0, -4)}AAAA`)).status, 401);
  assert.equal((await ask(`Bearer ${tokens[0]}x`)).status, 401);
  const identities = [first];
  for (const token of tokens.slice(1, 2_000)) identities.push((await ask(`Bearer ${token}`)).identity);
  // Used again, the first is still the oldest: the order is the one they came in.
  for (const index of [0, 1])
    assert.equal((await ask(`Bearer ${tokens[index]}`)).identity, identities[index]);
  await ask(`Bearer ${tokens[2_000]}`);
  for (const index of [1, 2, 3])
    assert.equal((await ask(`Bearer ${tokens[index]}`)).identity, identities[index]);
  const again = (await ask(`Bearer ${tokens[0]}`)).identity;
  assert.ok(again && again !== first);
});

test("a token that is verified anew is kept as a new one", async t => {
  const ask = await guarded(t, HMAC);
  const start = 1_900_000_000_000;
  t.mock.timers.enable({ apis: ["Date"], now: start });
  const tokens = Array.from({ length: 2_002 }, (_, index) => hmac(good({ sub: `user-${index}` })));
  for (const token of tokens.slice(0, 2_000)) await ask(`Bearer ${token}`);
  t.mock.timers.setTime(start + 61_000);
  const renewed = (await ask(`Bearer ${tokens[1]}`)).identity;
  for (const token of tokens.slice(2_000)) await ask(`Bearer ${token}`);
  assert.equal((await ask(`Bearer ${tokens[1]}`)).identity, renewed);
});

test("without a key the plugin does not start", async () => {
  const app = Fastify();
  await assert.rejects(async () => await app.register(auth, { config: loadConfig({}).config }), /no key/);
});
