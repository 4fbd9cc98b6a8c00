import assert from "node:assert/strict";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { after, test } from "node:test";
import { buildClientSchema, type GraphQLObjectType, getIntrospectionQuery } from "graphql";
import { addressWith, seedTenant, seedUser, withService } from "../harness.ts";
import { assertError, createWorld, DENIED, person } from "./world.ts";

const world = await createWorld();
const { sql } = world.database;
const [acme, beta] = [await seedTenant(sql, { slug: "acme" }), await seedTenant(sql, { slug: "beta" })];
const member = await seedUser(sql, acme, { subject: "member" });
const stranger = await seedUser(sql, beta, { subject: "stranger" });
for (const [tenant, owner, title] of [
  [acme, member, "Acme's"],
  [acme, member, "second"],
  [beta, stranger, "Beta's"],
] as const)
  await sql`insert into app.boards (tenant_id, owner_id, title) values (${tenant}, ${owner}, ${title})`;
after(() => world.end());

const get = async (url: string) => world.service.request({ url, token: await person("member", "acme") });
const post = async (sub: string, body: object) =>
  world.service.request({ method: "POST", url: "/graphql", token: await person(sub, "acme"), body });
const query = (sub: string, document: string, variables?: object) =>
  post(sub, { query: document, variables });

test("GraphQL answers the tenant, the membership and the boards of the tenant", async () => {
  const { status, body } = await query(
    "member",
    "query Q($n: Int!) { tenant { slug status } membership { role user_id } boards(limit: $n) { title } all: boards { title } }",
    { n: 1 },
  );
  assert.equal(status, 200);
  assert.deepEqual(
    [body.data.tenant, body.data.membership, body.data.boards.length, body.data.all.length],
    [{ slug: "acme", status: "active" }, { role: "member", user_id: member }, 1, 2],
  );
});

test("a GraphQL request of a stranger is refused like any other, before its document is parsed", async () => {
  assertError(await query("stranger", "{ tenant { slug } }"), 403, DENIED);
  assertError(await query("stranger", "{ nonsense"), 403, DENIED);
});

test("an invalid document is 400 with its errors, and one that is too large is not parsed", async () => {
  for (const document of [
    "{",
    "{ nope }",
    "",
    "{ tenant { tenant { slug } } }",
    `{ ${"a: boards { title } ".repeat(200)} }`,
    "{ a ".repeat(1900),
    `{ boards(limit: ${"[".repeat(5000)}) { title } }`,
  ]) {
    const { status, body } = await query("member", document);
    assert.equal(status, 400, document.slice(0, 40));
    assert.ok(body.error || body.errors.length > 0);
    assert.ok(!JSON.stringify(body).includes("call stack"));
  }
  for (const document of ["mutation { a }", "subscription { a }"]) {
    const { status, body } = await query("member", document);
    assert.deepEqual([status, Object.keys(body)], [400, ["errors"]]);
    assert.match(body.errors[0].message, /Only queries/);
  }
  assert.equal((await post("member", [{ query: "{ tenant { slug } }" }])).status, 400);
  assert.equal((await query("member", `{ tenant { slug } } #${"x".repeat(33_000)}`)).status, 413);
});

test("tools can read the schema, whose boards have every field, but not a thousand times in one request", async () => {
  const options = {
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    inputValueDeprecation: true,
    oneOf: true,
  };
  const { status, body } = await query("member", getIntrospectionQuery(options));
  assert.equal(status, 200, JSON.stringify(body));
  const { Board } = buildClientSchema(body.data).getTypeMap();
  assert.deepEqual(Object.keys((Board as GraphQLObjectType).getFields()), [
    "board_id",
    "title",
    "description",
    "owner_id",
    "created_at",
    "updated_at",
  ]);
  const aliases = (count: number, field: string) =>
    Array.from({ length: count }, (_, i) => `a${i}: ${field}`).join(" ");
  for (const document of [
    `{ __schema { types { ...A } } } fragment A on __Type { ${aliases(30, "fields { type { ...B } }")} } fragment B on __Type { ${aliases(30, "fields { name }")} }`,
    `{ __schema { types { fields { type { ...A } } } } } fragment A on __Type { ${aliases(30, "ofType { ...B }")} } fragment B on __Type { ${aliases(30, "ofType { name }")} }`,
    `{ __schema { types { ...A } } } fragment A on __Type { interfaces { ...B } ...B } fragment B on __Type { possibleTypes { ...A } ...A }`,
  ]) {
    const answer = await query("member", document);
    assert.equal(answer.status, 400, document);
    assert.match(JSON.stringify(answer.body.errors), /asks for too many fields|Cannot spread fragment/);
  }
});

test("GraphQL answers in its own media type to clients that accept it", async () => {
  for (const [accept, type] of [
    ["application/graphql-response+json,application/json;q=0.9", "application/graphql-response+json"],
    ["*/*", "application/json"],
  ] as const) {
    for (const [document, expected] of [
      ["{ tenant { slug } }", 200],
      ["{ nope }", 400],
    ] as const) {
      const { status, headers } = await world.service.request({
        method: "POST",
        url: "/graphql",
        token: await person("member", "acme"),
        headers: { accept },
        body: { query: document, extensions: null },
      });
      assert.deepEqual(
        [status, headers["content-type"], headers.vary],
        [expected, `${type}; charset=utf-8`, "Accept"],
      );
    }
  }
});

test("a variable that no operation of the document defines is 400, by POST and by GET", async () => {
  const document = "query A($n: Int!) { boards(limit: $n) { title } } query B { membership { role } }";
  for (const [operationName, status] of [
    ["A", 200],
    ["B", 200],
  ] as const)
    assert.equal(
      (await post("member", { query: document, operationName, variables: { n: 1 } })).status,
      status,
    );
  const refusal = 'Variable "$m" is not defined by any operation of the document';
  for (const answer of [
    await query("member", "query ($n: Int!) { boards(limit: $n) { title } }", { n: 1, m: [1, 2] }),
    await query("member", "{ membership { role } }", { m: null }),
    await get(`/graphql?query=${encodeURIComponent("{ membership { role } }")}&variables={"m":1}`),
  ])
    assert.deepEqual([answer.status, answer.body.errors], [400, [{ message: refusal }]]);
});

test("expensive documents of one tenant run a few at a time, and other requests come between", async t => {
  const fields = Array.from({ length: 300 }, (_, i) => `a${i}: name`).join(" ");
  const document = `{ __schema { types { fields { ${fields} } } } }`;
  const begin = performance.now();
  assert.equal((await query("member", document)).status, 200);
  const alone = performance.now() - begin;
  const order: string[] = [];
  // As often as the event loop looks at its timers it looks at the network.
  let most = 0;
  let ended = 0;
  const looks = setInterval(() => {
    most = Math.max(most, ended);
    ended = 0;
  }, 1);
  t.after(() => clearInterval(looks));
  const flood = Array.from({ length: 16 }, async () => {
    await query("member", document);
    ended++;
    order.push("flood");
  });
  const others = (async () => {
    for (let i = 0; i < 8; i++) {
      assert.equal((await world.service.request({ url: "/health" })).status, 200);
      order.push("health");
    }
  })();
  await Promise.all([...flood, others]);
  assert.ok(order.indexOf("health") < 4, `alone ${alone} ms: ${order.join(" ")}`);
  assert.ok(order.slice(0, 20).filter(one => one === "health").length >= 6, order.join(" "));
  assert.ok(most <= 3, `${most} ended at once`);
});

test("a GraphQL request without its operation, or with other variables, is 400 by POST and by GET", async () => {
  const named = "query a { __typename } query b { __typename }";
  const needy = "query ($n: Int!) { boards(limit: $n) { title } }";
  for (const [body, message] of [
    [{ query: named }, /Must provide operation name/],
    [{ query: named, operationName: "z" }, /Unknown operation named "z"/],
    [{ query: named, operationName: "" }, /Unknown operation named ""/],
    [{ query: "fragment f on Query { __typename }" }, /f/],
    [{ query: needy }, /"\$n" of required type/],
    [{ query: needy, variables: {} }, /"\$n" of required type/],
    [{ query: needy, variables: { n: "x" } }, /"\$n" got invalid value/],
    ...[[], 5, 0, true, "x", ""].map(variables => [
      { query: needy, variables },
      /^variables must be an? (?:JSON )?object$/,
    ]),
    [{}, /^query is required/],
  ] as [{ query?: string; variables?: unknown }, RegExp][]) {
    const { variables, ...rest } = body;
    const search = new URLSearchParams({
      ...rest,
      ...(variables !== undefined && { variables: JSON.stringify(variables) }),
    });
    for (const answer of [await post("member", body), await get(`/graphql?${search.toString()}`)]) {
      assert.deepEqual([answer.status, Object.keys(answer.body)], [400, ["errors"]], JSON.stringify(body));
      assert.match(answer.body.errors[0].message, message);
      assert.ok(answer.headers["x-request-id"]);
    }
  }
  for (const variables of ["", "{", "null x"]) {
    const url = `/graphql?query=${encodeURIComponent(needy)}&variables=${encodeURIComponent(variables)}`;
    assert.equal((await get(url)).status, 400, variables);
  }
  const good = await get(`/graphql?query=${encodeURIComponent(needy)}&variables={"n":1}`);
  assert.deepEqual([good.status, good.body.data.boards.length], [200, 1]);
  const none = await get("/graphql?query={__typename}&variables=null");
  assert.equal(none.status, 200);
});

test("a persisted query gets the error after which clients send the whole document", async () => {
  const extensions = { persistedQuery: { version: 1, sha256Hash: "0".repeat(64) } };
  const search = new URLSearchParams({ extensions: JSON.stringify(extensions) }).toString();
  for (const answer of [await post("member", { extensions }), await get(`/graphql?${search}`)]) {
    assert.equal(answer.status, 400);
    assert.deepEqual(answer.body, { errors: [{ message: "PersistedQueryNotSupported" }] });
  }
  const whole = await post("member", { query: "{ __typename }", extensions });
  assert.deepEqual(whole.body, { data: { __typename: "Query" } });
});

test("a GraphQL body is JSON, and shared caches do not keep the answers", async () => {
  const sent = {
    method: "POST" as const,
    url: "/graphql",
    token: await person("member", "acme"),
    headers: { "content-type": "application/graphql" },
    body: "{ __typename }",
  };
  assertError(await world.service.request(sent), 415, {
    error: "Unsupported media type",
    detail: "Send the body as application/json",
  });
  for (const document of ["{ __typename }", "{ nope }"]) {
    const { headers } = await query("member", document);
    assert.deepEqual(
      [headers["content-type"], headers["cache-control"], headers["x-content-type-options"]],
      ["application/json; charset=utf-8", "private, no-cache", "nosniff"],
    );
  }
});

test("a limit of boards that REST would refuse is an error of the field; each alias has its own limit", async () => {
  for (const limit of [0, -5, 1001, 99999]) {
    const { status, body } = await query("member", `{ boards(limit: ${limit}) { title } }`);
    assert.deepEqual([status, body.data], [200, null]);
    assert.deepEqual(
      [body.errors[0].message, body.errors[0].path],
      ["limit must be 1 to 1000", ["boards"]],
      String(limit),
    );
  }
  const { body } = await query(
    "member",
    "{ a: boards(limit: 1) { title } b: boards(limit: 998) { title } c: boards(limit: 1) { title } }",
  );
  const titles = ["a", "b", "c"].map(alias => body.data[alias].map((one: { title: string }) => one.title));
  assert.deepEqual(titles, [["second"], ["second", "Acme's"], ["second"]]);
});

test("the cost of a document is limited, however short it is", async () => {
  const many = await query(
    "member",
    "{ a: boards(limit: 998) { title } ...more } fragment more on Query { b: boards(limit: 3) { title } }",
  );
  assert.deepEqual(
    [many.status, many.body.errors[0].message],
    [200, "All boards of a request together must be at most 1000"],
  );
  const fields = (count: number) => Array.from({ length: count }, (_, i) => `t${i}: title`).join(" ");
  const wide = await query("member", `{ boards { ...wide } } fragment wide on Board { ${fields(25)} }`);
  assert.deepEqual(
    [wide.status, wide.body.errors[0].message],
    [400, "A document must ask for at most 24 fields of boards"],
  );
  assert.equal((await query("member", `{ boards { ${fields(24)} } }`)).status, 200);
});

test("a document whose answer would be too large is 400, within the time that others may wait", async () => {
  const [wide] = [await seedTenant(sql, { slug: "wide" })];
  const owner = await seedUser(sql, wide, { subject: "wendy" });
  await sql`
    insert into app.boards (tenant_id, owner_id, title, description)
    select ${wide}, ${owner}, 'Board ' || n, repeat('a"', 1000) from generate_series(1, 1000) n`;
  const ask = async (document: string) =>
    world.service.request({
      method: "POST",
      url: "/graphql",
      token: await person("wendy", "wide"),
      body: { query: document },
    });
  const aliases = (field: string) => Array.from({ length: 24 }, (_, i) => `a${i}: ${field}`).join(" ");
  const page = await ask("{ boards(limit: 1000) { title } }");
  const most = Number(/at most (\d+) of them/.exec(page.body.errors?.[0].message)?.[1]);
  assert.deepEqual([page.status, most > 500 && most < 1000], [400, true], JSON.stringify(page.body));
  assert.equal((await ask(`{ boards(limit: ${most}) { title description } }`)).status, 200);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  for (const document of [
    `{ boards(limit: 1000) { ${aliases("description")} } }`,
    `{ boards(limit: ${most}) { ${aliases("description")} } }`,
  ]) {
    const { status, body } = await ask(document);
    assert.deepEqual([status, body.data, body.errors.length], [400, undefined, 1]);
    assert.match(body.errors[0].message, /too large/);
  }
  delay.disable();
  // 200 ms on a machine that has nothing else to do.
  assert.ok(delay.max < 1e9, `the event loop was late by ${delay.max / 1e6} ms`);
  await sql`update app.boards set description = null where tenant_id = ${wide}`;
  assert.equal((await ask(`{ boards(limit: 1000) { ${aliases("title")} } }`)).status, 200);
});

test("a database that fails in a resolver is 503 with Retry-After, as everywhere", async () => {
  const { sql, urls } = world.database;
  const env = { SERVICE_DATABASE_URL: addressWith(urls.service, { lock_timeout: "50ms" }) };
  const holder = await sql.reserve();
  try {
    await holder.unsafe("begin; lock table app.boards in access exclusive mode");
    const answer = await withService(world.database, env, async impatient =>
      impatient.request({
        method: "POST",
        url: "/graphql",
        token: await person("member", "acme"),
        body: { query: "{ tenant { slug } boards { title } }" },
      }),
    );
    assert.deepEqual(
      [answer.status, answer.body.detail, answer.headers["retry-after"]],
      [503, "The row is busy; send the request again", "1"],
    );
  } finally {
    await holder.unsafe("rollback");
    holder.release();
  }
});

test("a fault of the service in a resolver is 500 as everywhere, without its message", async () => {
  await sql`revoke select on app.boards from tms_app`;
  try {
    const { status, body } = await query("member", "{ tenant { slug } boards { title } }");
    assert.deepEqual([status, body.error, body.errors], [500, "Internal error", undefined]);
  } finally {
    await sql`grant select on app.boards to tms_app`;
  }
});
