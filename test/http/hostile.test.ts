import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedTenant, seedUser, some, type TestRequest, token } from "../harness.ts";
import { createWorld } from "./world.ts";

const world = await createWorld();
const acme = await seedTenant(world.database.sql, { slug: "acme" });
after(() => world.end());

type Method = NonNullable<TestRequest["method"]>;
const ID = "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10";
interface Operation {
  requestBody?: { content: Record<string, { schema: { $ref: string }; example: Record<string, unknown> }> };
}
const { body: document } = await world.service.request({ url: "/openapi.json" });

/** The example, and every other field as undefined: what is attacked are the keys. */
function bodyOf({ requestBody }: Operation): [body?: Record<string, unknown>] {
  if (!requestBody) return [];
  const [{ schema, example } = assert.fail("a body without a schema")] = Object.values(requestBody.content);
  const { properties } = document.components.schemas[schema.$ref.split("/").at(-1)!];
  return [Object.fromEntries(Object.keys(properties).map(field => [field, example[field]]))];
}

/** Every operation of the document, with a valid body. */
const ROUTES = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]): [Method, string, Record<string, unknown>?] => [
    method.toUpperCase() as Method,
    path.replaceAll(/\{\w+\}/g, ID),
    ...bodyOf(operation),
  ]),
);

let callers = 0;
/** A new caller each time, because of rate limits, who is a member and an operator. */
async function caller(claims: object = {}) {
  const sub = `hostile-${++callers}`;
  await seedUser(world.database.sql, acme, { subject: sub, role: "owner" });
  return token({ sub, tenant: "acme", roles: ["tenant-operator"], ...claims });
}

/** Sends it, and fails when the answer is a 5xx or an error in another form than `{error, detail}`. */
async function survive(request: TestRequest) {
  const answer = await world.service.request({ token: await caller(), undocumented: true, ...request });
  const said = `${request.method} ${request.url.slice(0, 80)} ${JSON.stringify(request.headers ?? {}).slice(0, 80)} ${JSON.stringify(request.body ?? "").slice(0, 120)} → ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`;
  assert.ok(answer.status < 500, said);
  if (answer.status < 400 || request.method === "HEAD") return answer;
  assert.equal(answer.headers["content-type"], "application/json; charset=utf-8", said);
  // GraphQL has its own body for an invalid document.
  if (Array.isArray(answer.body.errors) && answer.body.error === undefined) return answer;
  assert.ok(typeof answer.body.error === "string" && typeof answer.body.detail === "string", said);
  assert.ok(
    !/select |postgres|sqlstate|\.ts:|node_modules|api\.\w+\(/i.test(JSON.stringify(answer.body)),
    said,
  );
  return answer;
}

const TEXTS = [
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "\udfff\ud800",
  "\ufeff",
  "\u202e",
  "\x01\x1b[31m",
  "'",
  "''; drop table app.tenants; --",
  "$1",
  "%s%n",
  "{{7*7}}",
  "\\",
  '"',
  "x".repeat(300),
  "🙂".repeat(300),
  "null",
  "NaN",
  "e\u0301".repeat(255),
  "../../etc/passwd",
  "<script>",
  "\r\nx-injected: 1",
];
const VALUES: unknown[] = [
  ...TEXTS,
  null,
  true,
  0,
  -1,
  1e308,
  2 ** 53,
  [],
  [[]],
  ["acme"],
  {},
  { a: 1 },
  { toString: 1 },
  { length: 5 },
  { __proto__: null, slug: "x" },
];
const RAW = [
  "",
  " ",
  "{",
  "}",
  "[",
  "nul",
  "NaN",
  "undefined",
  "'x'",
  '"x',
  "{}{}",
  "\ufeff{}",
  '{"a":1,}',
  "// x",
  '{"a":1e400}',
  '{"a":-1e400}',
  '{"a":12345678901234567890}',
  '{"a":0.1e-400}',
  '{"__proto__":{"slug":"x"}}',
  '{"constructor":{"prototype":{"slug":"x"}}}',
  '{"a":1,"a":2}',
  '{"toString":"x","valueOf":1,"hasOwnProperty":null}',
  '{"":{"":{"":1}}}',
  "[".repeat(5000) + "]".repeat(5000),
  `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`,
  `{"settings":${'{"a":'.repeat(31)}1${"}".repeat(32)}`,
  `{"metadata":"${"\\u0000"}"}`,
  '{"name":"\\ud800"}',
  `[${"1,".repeat(60_000)}1]`,
  `{${Array.from({ length: 8000 }, (_, i) => `"k${i}":1`).join(",")}}`,
  `"${"\\\\".repeat(60_000)}"`,
  "1".repeat(100_000),
  `0.${"1".repeat(100_000)}`,
  `1e${"9".repeat(1000)}`,
  "x".repeat(200 * 1024),
];

test("no text and no type in any field of a body ends in a 5xx", async () => {
  for (const [method, url, body] of ROUTES) {
    for (const field of Object.keys(body ?? {}))
      for (const value of some(VALUES)) await survive({ method, url, body: { ...body, [field]: value } });
  }
});

test("the answer to a body of thousands of unknown fields is shorter than the body", async () => {
  const many = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`f${i}`, 1]));
  const { status, body } = await survive({ method: "POST", url: "/api/setup/tenant", body: many });
  assert.equal(status, 422);
  assert.equal(body.errors.length, 100);
  assert.ok(JSON.stringify(body).length < JSON.stringify(many).length);
});

test("text that the database cannot hold is 422 in every place", async () => {
  for (const [method, url, body] of ROUTES.filter(([, path]) => path !== "/graphql")) {
    for (const field of Object.keys(body ?? {}))
      for (const value of ["a\0", "\ud800", { k: "\0" }, { "\udc00": 1 }]) {
        const { status } = await survive({ method, url, body: { ...body, [field]: value } });
        assert.equal(status, 422, `${method} ${url} ${field}`);
      }
  }
});

test("a GraphQL document is text: a syntax tree in JSON is refused", async () => {
  const name = { kind: "Name", value: "tenant" };
  const tree = {
    kind: "Document",
    definitions: [
      {
        kind: "OperationDefinition",
        operation: "query",
        selectionSet: { kind: "SelectionSet", selections: [{ kind: "Field", name }] },
      },
    ],
  };
  for (const query of [
    "null",
    "5",
    '"x"',
    "[]",
    "{}",
    '{"kind":"Document"}',
    JSON.stringify(tree),
    JSON.stringify({ kind: "Document", definitions: [null] }),
  ]) {
    const { status } = await survive({ method: "POST", url: "/graphql", body: { query } });
    assert.equal(status, 400, query);
  }
});

test("no claim given to explain ends in a 5xx", async () => {
  for (const name of [
    "sub",
    "iss",
    "exp",
    "nbf",
    "tenant",
    "org",
    "email",
    "email_verified",
    "roles",
    "name",
  ])
    for (const value of some(VALUES))
      await survive({
        method: "POST",
        url: "/api/setup/explain",
        body: { claims: { sub: "ann", [name]: value } },
      });
});

test("no broken body ends in a 5xx, on any route", async () => {
  for (const [method, url] of ROUTES) for (const body of some(RAW)) await survive({ method, url, body });
});

test("no content type and no other misleading header ends in a 5xx", async () => {
  const headers: Record<string, string>[] = [
    { "content-type": "" },
    { "content-type": "application/json; charset=utf-16" },
    { "content-type": "application/json, text/plain" },
    { "content-type": ";;;" },
    { "content-type": "application/json\u00ff" },
    { "content-encoding": "gzip" },
    { "content-length": "5" },
    { accept: "text/html" },
    { accept: "*/*;q=banana" },
    { "x-http-method-override": "DELETE" },
    { "accept-charset": "x" },
    { "idempotency-key": "x" },
    { "idempotency-key": "k".repeat(8000) },
    { "idempotency-key": "\u00fc".repeat(20) },
    { "if-match": "x" },
    { "if-match": '"' },
    { "if-match": `${'"a",'.repeat(2000)}` },
    { "if-none-match": "W/" },
    { "if-none-match": '"\u00ff"' },
    { "x-tenant": "x".repeat(9000) },
    { "x-tenant": "\u00ff" },
    { "x-request-id": "x".repeat(9000) },
    { "x-request-id": "\u00ff\n" },
    { traceparent: "00-zz" },
    { forwarded: "for=x" },
    { "x-forwarded-for": "evil" },
    { host: "" },
    { cookie: "a=b; __proto__=1" },
    { range: "bytes=0-0" },
    { "if-modified-since": "never" },
  ];
  for (const [method, url, body] of ROUTES)
    for (const one of some(headers)) await survive({ method, url, headers: one, ...(body && { body }) });
});

test("no hostile path or query ends in a 5xx", async () => {
  const parts = [
    "%00",
    "%",
    "%zz",
    "%c0%af",
    "%ed%a0%80",
    "%f0%9f%99%82",
    "..%2f..",
    "a".repeat(5000),
    "%61".repeat(2000),
    "'",
    "%27%3b--",
    "__proto__",
    "constructor",
    "*",
    ":tenant_id",
    "%2f",
    "%5c",
    "{x}",
    "Connection%20terminated",
    "ECONNRESET",
    "57P01",
    "TM503",
  ];
  for (const part of parts) {
    for (const [method, path] of [
      ["GET", "/api/setup/tenant/"],
      ["PUT", "/api/setup/tenant/"],
      ["DELETE", "/api/setup/tenant/"],
      ["POST", "/api/setup/tenant/approve/"],
      ["DELETE", "/api/tenants/members/"],
      ["GET", "/"],
      ["GET", "/graphql/"],
    ] as const)
      await survive({ method, url: `${path}${part}`, ...(method === "PUT" && { body: {} }) });
    await survive({ method: "POST", url: `/api/setup/tenant/${part}/approve` });
    for (const [method, path] of some(ROUTES)) {
      if (method !== "GET") continue;
      for (const name of ["limit", "cursor", "status", "search", "query", "variables", part])
        await survive({ method, url: `${path}?${name}=${part}` });
    }
  }
  for (const query of [
    "?",
    "??",
    "?&&&",
    "?=",
    "?limit",
    "?limit[]=1",
    "?limit[a]=1",
    "?search=a&search=b",
    `?${"a=1&".repeat(3000)}`,
    "?search=%F0%9F",
    "?cursor=MSBuaWw",
    "?variables={",
    "?query={",
    "?query={tenant{slug}}&variables=[]",
    "?extensions={}",
  ])
    for (const [method, path] of some(ROUTES))
      if (method === "GET") await survive({ method, url: path + query });
});

test("a request that would be read as another one is refused", async () => {
  const operator = await token({ sub: "op", tenant: "acme", roles: "tenant-operator" });
  const send = (request: TestRequest) => world.service.request({ ...request, token: operator });
  for (const search of ["%ff", "a%C3", "%ED%A0%80"]) {
    const { status, body } = await send({ url: `/api/setup/tenants?search=${search}` });
    assert.deepEqual([status, body.detail], [400, "The query is not valid UTF-8"], search);
  }
  const zipped = { "content-encoding": "gzip" };
  const { status } = await send({ method: "POST", url: "/api/setup/tenant", headers: zipped, body: {} });
  assert.equal(status, 415);
  // These are fine: Content-Encoding without a body, and an empty part in the query.
  for (const url of ["/api/setup/tenants", "/api/setup/tenants?search=a//b/"])
    assert.equal((await send({ url, headers: zipped })).status, 200);
  const plain = { "content-encoding": "Identity" };
  assert.equal(
    (await send({ method: "POST", url: "/api/setup/tenant", headers: plain, body: {} })).status,
    422,
  );
});

test("no claim in a validly signed token ends in a 5xx", async () => {
  const claims: object[] = [
    ...VALUES.flatMap(value => [
      { tenant: value },
      { org: value },
      { email: value },
      { email_verified: value, email: "a@acme.com" },
      { name: value },
      { roles: value },
      { iss: value },
      { aud: value },
      { nbf: value },
      { iat: value },
    ]),
    ...VALUES.map(value => ({ sub: value })),
    ...VALUES.map(value => ({ exp: value })),
    { exp: 1e300 },
    { exp: -1 },
    { nbf: 1e20 },
    { org: { slug: { slug: {} } } },
    { org: { name: "\ud800" } },
    { tenant: undefined, email: `a@${"x".repeat(63)}.${"y".repeat(63)}.com` },
    { tenant: undefined, email: "a@xn--\u00df.com" },
    { deep: JSON.parse("[".repeat(1000) + "]".repeat(1000)) },
  ];
  for (const one of some(claims))
    for (const url of ["/api/tenants/current", "/api/setup/status"])
      await survive({ method: "GET", url, token: await caller(one) });
});

test("every malformed token is 401 with a challenge", async () => {
  const good = await caller();
  const [header, payload, signature] = good.split(".");
  const encode = (value: unknown) =>
    Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
  const tokens = [
    "",
    ".",
    "..",
    "...",
    "a.b.c",
    `${header}.${payload}`,
    `${header}.${payload}.`,
    `${header}..${signature}`,
    `.${payload}.${signature}`,
    `${good}.x`,
    `${good}=`,
    good.slice(0, -1),
    `${good}\u00ff`,
    "null",
    "Bearer",
    ...[
      { alg: "none" },
      { alg: "HS512" },
      { alg: "RS256" },
      { alg: null },
      { alg: 5 },
      {},
      { alg: "HS256", crit: ["x"], x: 1 },
      { alg: "HS256", crit: 5 },
      { alg: "HS256", kid: "\0", jku: "http://evil" },
      "not json",
      [],
      null,
      5,
    ].map(head => `${encode(head)}.${payload}.${signature}`),
    ...["not json", "[]", "null", "5", '"x"', "[".repeat(3000), '{"sub":'].map(
      body => `${header}.${encode(body)}.${signature}`,
    ),
    "x".repeat(8193),
    `${"eyJ".repeat(3000)}.a.b`,
  ];
  for (const authorization of [
    ...tokens.map(one => `Bearer ${one}`),
    "",
    "Bearer",
    "bearer  x",
    "Basic dXNlcjpwYXNz",
    "Bearer\t x",
    "Token x",
    `Bearer ${good} ${good}`,
    `Bearer ${good},${good}`,
  ]) {
    const answer = await survive({
      method: "GET",
      url: "/api/tenants/current",
      token: undefined as never,
      headers: { authorization },
    });
    assert.equal(answer.status, 401, authorization.slice(0, 60));
    assert.match(String(answer.headers["www-authenticate"]), /^Bearer realm="tenants"/);
  }
});

test("after these attacks each tenant has one name, and the service is ready", async () => {
  const { status } = await world.service.request({ url: "/health" });
  assert.equal(status, 200);
  const [row] = await world.database
    .sql`select count(*)::int as wrong from app.tenants where slug !~ '^[a-z0-9-]+$'`;
  assert.equal(row!.wrong, 0);
});
