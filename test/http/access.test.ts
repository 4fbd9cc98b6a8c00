import assert from "node:assert/strict";
import { after, test } from "node:test";
import { rolledBack, seedTenant, seedUser, withService } from "../harness.ts";
import { assertError, createWorld, DENIED, operator, person } from "./world.ts";

const ids: Record<string, string> = {};
const world = await createWorld();
const { sql } = world.database;
for (const [slug, status] of [
  ["acme", "active"],
  ["beta", "active"],
  ["waits", "pending"],
  ["halted", "suspended"],
  ["dropped", "deleted"],
] as const) {
  ids[slug] = await seedTenant(sql, { slug, status });
  if (slug !== "beta")
    ids[`ann in ${slug}`] = await seedUser(sql, ids[slug], { subject: "ann", role: "owner" });
}
ids["out in acme"] = await seedUser(sql, ids.acme!, { subject: "out" });
await sql`update app.users set removed_at = now() where auth_subject = 'out'`;
after(() => world.end());

const ask = (
  token: string | undefined,
  tenant?: string,
  url = "/api/tenants/current",
  method: "GET" | "POST" | "DELETE" = "GET",
  body?: unknown,
) =>
  world.service.request({
    method,
    url,
    ...(token !== undefined && { token }),
    ...(tenant !== undefined && { tenant }),
    body,
  });

/** Every operation that needs membership. */
const MEMBER_ONLY: [method: "GET" | "POST" | "DELETE", url: string, body?: object][] = [
  ["GET", "/api/tenants/current"],
  ["GET", "/api/tenants/members"],
  ["POST", "/api/tenants/members", { auth_subject: "x" }],
  ["DELETE", "/api/tenants/members/5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10"],
  ["GET", "/api/boards"],
  ["POST", "/graphql", { query: "{ tenant { slug } }" }],
  ["GET", "/graphql?query={tenant{slug}}"],
];
const EVERY: typeof MEMBER_ONLY = [
  ...MEMBER_ONLY,
  ["GET", "/api/tenants/mine"],
  ["GET", "/api/tenants/registration/status"],
  ["POST", "/api/tenants/register", { organization_name: "x", admin_email: "a@example.com" }],
  ["GET", "/api/setup/status"],
  ["GET", "/api/setup/tenants"],
  ["POST", "/api/setup/tenant", { name: "x", slug: "x" }],
  ["GET", "/api/setup/tenant/x"],
  ["DELETE", "/api/setup/tenant/x"],
  ["POST", "/api/setup/tenant/x/approve"],
];

test("every operation needs a token: 401 with a challenge, in the body of every other error", async () => {
  for (const [method, url, body] of EVERY) {
    const answer = await ask(undefined, "acme", url, method, body);
    assertError(answer, 401, { error: "Unauthorized", detail: "A bearer token is required" });
    assert.equal(answer.headers["www-authenticate"], 'Bearer realm="tenants"');
    assert.equal((await ask("rubbish", "acme", url, method, body)).status, 401);
  }
});

test("a new operation is closed too: only operations that the document calls open answer without a token", async () => {
  const { body } = await world.service.request({ url: "/openapi.json" });
  const open: string[] = [];
  for (const [path, methods] of Object.entries<Record<string, { security?: unknown[] }>>(body.paths)) {
    for (const [method, { security }] of Object.entries(methods)) {
      const url = path.replaceAll(/\{\w+\}/g, "x");
      const answer = await world.service.request({
        method: method.toUpperCase() as "GET",
        url,
        undocumented: true,
      });
      if (answer.status !== 401) open.push(`${method} ${path}`);
      assert.equal(answer.status !== 401, security?.length === 0, `${method} ${path}`);
    }
  }
  assert.deepEqual(open.sort(), ["get /health", "get /metrics", "get /ready"]);
});

test("every operation needs a tenant, from operators too: a missing header has the words of the specification", async () => {
  for (const [method, url, body] of EVERY) {
    const token = await operator({ tenant: undefined });
    assertError(await ask(token, undefined, url, method, body), 400, {
      error: "Missing X-Tenant header",
      detail: "The X-Tenant header is required in multi-tenant mode for this endpoint",
      multi_tenant_mode: true,
    });
  }
});

test("a malformed X-Tenant is refused with the value that was sent, whatever the token says", async () => {
  for (const sent of ["", "Acme", "a b", "a_b", "x".repeat(256), "caf\u00e9", "acme,beta"]) {
    for (const [method, url, body] of EVERY) {
      assertError(await ask(await operator(), sent, url, method, body), 400, {
        error: "Invalid X-Tenant header format",
        detail: "The tenant slug must contain only lowercase letters, numbers and hyphens, 1 to 255 of them",
        provided_tenant: sent,
      });
    }
  }
});

test("unknown, pending, suspended, deleted, left and foreign tenants answer the same, byte for byte and header by header", async () => {
  for (const [method, url, body] of MEMBER_ONLY) {
    const answers = new Set<string>();
    for (const [sub, claim, header] of [
      ["ann", undefined, "no-such-tenant"],
      ["ann", "no-such-tenant", undefined],
      ["ann", "waits", undefined],
      ["ann", "halted", undefined],
      ["ann", "dropped", undefined],
      ["ann", "beta", undefined],
      ["ann", undefined, "beta"],
      ["out", "acme", undefined],
      ["nobody", "acme", undefined],
      ["ann", "Not A Slug", undefined],
      ["ann", "x".repeat(256), undefined],
    ] as const) {
      const answer = await ask(await person(sub, claim), header, url, method, body);
      assertError(answer, 403, DENIED);
      const { date: _date, "x-request-id": _id, ...headers } = answer.headers;
      // What is left of the caller's own limit.
      for (const name of ["x-ratelimit-remaining", "x-ratelimit-reset"])
        if (headers[name] !== undefined) headers[name] = "a number";
      answers.add(JSON.stringify([headers, answer.body]));
    }
    assert.equal(answers.size, 1, `${method} ${url}`);
  }
});

test("an unknown slug takes as long as a known one: its members are looked up too", async () => {
  const lookUps = (slug: string) =>
    rolledBack(sql, async tx => {
      const soFar = async () => {
        const [row] = await tx<{ scans: number }[]>`
          select (seq_scan + idx_scan)::int as scans from pg_stat_xact_user_tables where relid = 'app.users'::regclass`;
        return row!.scans;
      };
      const before = await soFar();
      await tx
        .savepoint(nested => nested`select * from app.enter_tenant(${slug}, 'jwt', 'nobody', null, null)`)
        .catch(error => assert.equal(error.code, "TM403"));
      return (await soFar()) - before;
    });
  assert.equal(await lookUps("acme"), 1);
  assert.equal(await lookUps("no-such-tenant"), 1);
});

test("a tenant whose id is the placeholder for unknown slugs keeps its members to itself", async () => {
  const [nobody] = await sql<{ id: string }[]>`
    insert into app.tenants (id, slug, name)
    values (rpad(to_hex(hashtextextended('no-such-tenant', 0)), 32, '0')::uuid, 'standin', 'Stand-in') returning id`;
  await seedUser(sql, nobody!.id, { subject: "zoe" });
  const zoe = await person("zoe");
  assert.equal((await ask(zoe, "standin")).status, 200);
  for (const [method, url, body] of MEMBER_ONLY)
    assertError(await ask(zoe, "no-such-tenant", url, method, body), 403, DENIED);
  await sql`update app.tenants set status = 'suspended' where id = ${nobody!.id}`;
  assertError(await ask(zoe, "standin"), 403, DENIED);
});

test("the same subject of another issuer is another identity", async () => {
  assert.equal((await ask(await person("ann", "acme"))).status, 200);
  assertError(await ask(await person("ann", "acme", { iss: "https://idp.example" })), 403, DENIED);
});

test("the token's tenant wins over another one in the header, and only then a debug line says so", async () => {
  const from = world.service.logs.length;
  const overruled = () => world.service.logs.slice(from).filter(line => /wins over/.test(String(line.msg)));
  assert.equal((await ask(await person("ann"), "acme")).status, 200);
  assert.equal((await ask(await person("ann", undefined, { org: "Acme" }), "acme")).status, 200);
  assert.equal(overruled().length, 0);
  const { status, body } = await ask(await person("ann", "acme"), "beta");
  assert.deepEqual([status, body.tenant.slug], [200, "acme"]);
  assert.deepEqual(
    overruled().map(line => [line.header, line.tenant_slug, line.level]),
    [["beta", "acme", 20]],
  );
});

test("with SERVICE_TENANT_PRECEDENCE=header a member of several works where X-Tenant says, and nobody else gets in", () =>
  withService(world.database, { SERVICE_TENANT_PRECEDENCE: "header" }, async service => {
    const current = (token: string, tenant?: string) =>
      service.request({ url: "/api/tenants/current", token, ...(tenant !== undefined && { tenant }) });
    const ann = await person("ann", undefined, { email: "ann@elsewhere.example" });
    const { status, body } = await current(ann, "acme");
    assert.deepEqual([status, body.tenant.slug], [200, "acme"]);
    assertError(await current(ann), 403, DENIED);
    const both = await person("ann", "acme");
    assert.equal((await current(both)).body.tenant.slug, "acme");
    for (const slug of ["beta", "no-such-tenant"])
      assertError(await current(await person("stranger", "acme"), slug), 403, DENIED);
    assert.equal((await current(both, "Acme")).status, 400);
    const explained = await service.request({
      method: "POST",
      url: "/api/setup/explain",
      token: await operator(),
      body: { claims: { sub: "ann", tenant: "beta" }, header: "acme" },
    });
    assert.deepEqual(
      [explained.body.allowed, explained.body.tenant.slug, explained.body.tenant.source],
      [true, "acme", "header"],
    );
    const registered = await service.request({
      method: "POST",
      url: "/api/tenants/register",
      token: ann,
      tenant: "default",
      body: { organization_name: "By header", organization_slug: "by-header", admin_email: "a@b.example" },
    });
    const { admin_instructions } = registered.body;
    assert.equal(admin_instructions, "Send the header X-Tenant: by-header on all API requests.");
  }));

test("a resolved tenant is logged once at info with its slug, and every later line of the request carries it", async () => {
  for (const [method, url, body] of [
    ["GET", "/api/boards"],
    ["POST", "/graphql", { query: "{ a: boards { title } b: boards(limit: 3) { title } }" }],
  ] as const) {
    const from = world.service.logs.length;
    await ask(await person("ann", "acme"), undefined, url, method, body);
    const lines = world.service.logs.slice(from);
    const resolved = lines.filter(line => line.msg === "tenant resolved");
    assert.deepEqual(
      resolved.map(line => [line.level, line.tenant_slug]),
      [[30, "acme"]],
    );
    const later = lines.slice(lines.indexOf(resolved[0]!));
    assert.ok(later.length > 1 && later.every(line => line.tenant_slug === "acme"), JSON.stringify(later));
  }
});

test("the log has no 'tenant resolved' line for a refused caller", async () => {
  const from = world.service.logs.length;
  await ask(await person("nobody", "acme"));
  assert.ok(world.service.logs.slice(from).every(line => line.msg !== "tenant resolved"));
});

test("setup is for operators: members read which role is missing, strangers the usual refusal", async () => {
  const role = { error: "Access denied", detail: "The role tenant-operator is required" };
  // Only operators read what is wrong with the request.
  const faulty: typeof EVERY = [
    ["POST", "/api/setup/tenant", {}],
    ["GET", "/api/setup/tenants?limit=0"],
    ["POST", "/api/setup/explain", { what: 1 }],
  ];
  for (const [method, url, body] of [
    ...EVERY.filter(([, path]) => path.startsWith("/api/setup")),
    ...faulty,
  ]) {
    assertError(
      await ask(await person("ann", "acme", { roles: ["admin"] }), undefined, url, method, body),
      403,
      role,
    );
    for (const slug of ["beta", "no-such-tenant", "waits"])
      assertError(await ask(await person("ann", slug), undefined, url, method, body), 403, DENIED);
  }
});

test("an operator needs no membership for setup, but needs one elsewhere", async () => {
  for (const slug of ["no-such-tenant", "beta", "halted"]) {
    assert.equal((await ask(await operator({ tenant: slug }), undefined, "/api/setup/tenants")).status, 200);
    for (const [method, url, body] of MEMBER_ONLY)
      assertError(await ask(await operator({ tenant: slug }), undefined, url, method, body), 403, DENIED);
  }
});

test("registration takes a slug without a tenant, or the default one; another existing tenant needs membership", async () => {
  const url = "/api/tenants/registration/status";
  for (const slug of ["no-such-tenant", "default"])
    assert.equal((await ask(await person("new", slug), undefined, url)).status, 200);
  for (const slug of ["acme", "waits", "halted"]) {
    assertError(await ask(await person("new", slug), undefined, url), 403, DENIED);
    assertError(
      await ask(await person("new", slug), undefined, "/api/tenants/register", "POST", {
        organization_name: "N",
        admin_email: "n@example.com",
      }),
      403,
      DENIED,
    );
  }
  assert.equal((await ask(await person("ann", "acme"), undefined, url)).status, 200);
});

test("a request that names a tenant does not create it", async () => {
  for (const [method, url, body] of MEMBER_ONLY)
    await ask(await person("ann", "phantom"), undefined, url, method, body);
  assert.equal((await world.database.sql`select from app.tenants where slug = 'phantom'`).count, 0);
});
