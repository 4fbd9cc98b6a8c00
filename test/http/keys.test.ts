import assert from "node:assert/strict";
import { after, test } from "node:test";
import { rounds, seedTenant, seedUser, type TestResponse, withService } from "../harness.ts";
import { assertError, createWorld, DENIED, operator, person } from "./world.ts";

const world = await createWorld({ SERVICE_LOG_LEVEL: "trace", SERVICE_METRICS_TENANT_LABEL: "true" });
const { sql } = world.database;
const { service } = world;
const acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
const beta = await seedTenant(sql, { slug: "beta" });
for (const role of ["owner", "admin", "member"]) await seedUser(sql, acme, { subject: role, role });
await seedUser(sql, beta, { subject: "stranger", role: "owner" });
after(() => world.end());

type Method = "GET" | "POST" | "DELETE" | "PUT" | "PATCH";
const ask = async (sub: string, method: Method, url: string, body?: object, tenant = "acme") =>
  service.request({ method, url, token: await person(sub, tenant), body });

interface Made {
  key_id: string;
  key: string;
}
/** Every key that a test made: none may be in a log. */
const keys: string[] = [];
async function make(
  role: "admin" | "member" = "member",
  { by = "owner", ...body }: Record<string, string> = {},
) {
  const answer = await ask(by, "POST", "/api/tenants/keys", { name: `a ${role}`, role, ...body });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  keys.push(answer.body.key as string);
  return answer.body as Made;
}
const withKey = (key: string, url: string, rest: object = {}) =>
  service.request({ url, token: key, ...rest });
const NOT_VALID = { error: "Unauthorized", detail: "The API key is not valid" };
const CHALLENGE =
  'Bearer realm="tenants", error="invalid_token", error_description="The API key is not valid"';
function assertNotValid(answer: TestResponse) {
  assertError(answer, 401, NOT_VALID);
  assert.equal(answer.headers["www-authenticate"], CHALLENGE);
}
const flipped = (key: string) => key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");

test("a key is shown once, and acts in its tenant without X-Tenant", async () => {
  const answer = await ask("admin", "POST", "/api/tenants/keys", { name: "e\u0301 CI", role: "admin" });
  const { key, key_id, created_by, created_at, ...rest } = answer.body;
  assert.equal(answer.status, 201);
  assert.match(key, new RegExp(`^tms_${acme}_[0-9a-f]{64}$`));
  assert.deepEqual(rest, { name: "\u00e9 CI", role: "admin", expires_at: null, last_used_at: null });
  assert.deepEqual(
    [answer.headers.location, answer.headers["cache-control"]],
    [`/api/tenants/keys/${key_id}`, "no-store"],
  );
  keys.push(key);
  const [maker] = await sql`select id from app.users where tenant_id = ${acme} and auth_subject = 'admin'`;
  assert.equal(created_by, maker!.id);

  const { status, body } = await withKey(key, "/api/tenants/current");
  assert.equal(status, 200);
  const { user_id: _user, joined_at: _joined, ...membership } = body.membership;
  assert.deepEqual(
    [body.tenant.slug, membership],
    [
      "acme",
      { role: "admin", auth_provider: "key", auth_subject: key_id, email: null, display_name: "\u00e9 CI" },
    ],
  );
  assert.deepEqual((await withKey(key, "/api/tenants/current", { tenant: "acme" })).body, body);
  const { body: mine } = await withKey(key, "/api/tenants/mine", { tenant: "acme" });
  assert.deepEqual([mine.total_count, mine.tenants[0].slug], [1, "acme"]);
  const query = { query: "{ tenant { slug } membership { role } boards { title } }" };
  const graphql = await withKey(key, "/graphql", { method: "POST", body: query });
  assert.deepEqual(graphql.body.data.membership, { role: "admin" });
  assert.equal((await withKey(key, "/api/tenants/registration/status")).status, 200);

  const { body: list } = await ask("owner", "GET", "/api/tenants/keys?limit=1");
  assert.deepEqual(
    { ...list.keys[0], last_used_at: null },
    {
      key_id,
      name: "\u00e9 CI",
      role: "admin",
      created_by,
      created_at,
      expires_at: null,
      last_used_at: null,
    },
  );
  assert.match(list.keys[0].last_used_at, /T\d\d:\d\d:00\.000000Z$/);
});

test("a key that is unknown, malformed, expired or revoked gets one and the same 401", async () => {
  const { key, key_id } = await make();
  const expiring = await make("member", { expires_at: "2999-01-01T00:00:00+01:00" });
  assert.equal((await withKey(expiring.key, "/api/boards")).status, 200);
  await sql`update app.api_keys set created_at = '2001-01-01', expires_at = now() where id = ${expiring.key_id}`;
  const elsewhere = key.replace(acme, beta);
  const upper = key.toUpperCase().replace("TMS", "tms");
  for (const one of [
    flipped(key),
    elsewhere,
    expiring.key,
    upper,
    `${key}0`,
    key.slice(0, -1),
    "tms_",
    "tms_x",
  ])
    for (const url of [
      "/api/boards",
      "/api/tenants/mine",
      "/api/setup/status",
      "/api/tenants/registration/status",
    ])
      assertNotValid(await withKey(one, url));
  assert.equal((await withKey(key, "/api/boards")).status, 200);
  const revoked = await ask("admin", "DELETE", `/api/tenants/keys/${key_id}`);
  assert.deepEqual([revoked.status, revoked.body], [200, { message: "API key revoked", key_id }]);
  for (const tenant of [undefined, "acme", "beta"])
    assertNotValid(await withKey(key, "/api/boards", { tenant }));
  assertError(await ask("admin", "DELETE", `/api/tenants/keys/${key_id}`), 404, {
    error: "API key not found",
    detail: `API key with ID ${key_id} not found`,
  });
  const { body } = await ask("admin", "GET", "/api/tenants/keys");
  const ids = body.keys.map((one: Made) => one.key_id);
  assert.deepEqual([ids.includes(key_id), ids.includes(expiring.key_id)], [false, true]);
});

test("another tenant in X-Tenant, a suspended tenant and single-tenant mode refuse a key like a stranger", async () => {
  const { key } = await make();
  const foreign = await ask("stranger", "POST", "/api/tenants/keys", { name: "b", role: "member" }, "beta");
  keys.push(foreign.body.key as string);
  for (const tenant of ["beta", "no-such-tenant"])
    assertError(await withKey(key, "/api/boards", { tenant }), 403, DENIED);
  const malformed = await withKey(key, "/api/boards", { tenant: "Acme Corp" });
  assert.deepEqual([malformed.status, malformed.body.error], [400, "Invalid X-Tenant header format"]);
  for (const status of ["suspended", "pending"]) {
    await sql`update app.tenants set status = ${status} where id = ${beta}`;
    assertError(await withKey(foreign.body.key, "/api/boards"), 403, DENIED);
  }
  await sql`update app.tenants set status = 'active' where id = ${beta}`;
  assert.equal((await withKey(foreign.body.key, "/api/boards")).status, 200);
  const [standard] = await sql`select id from app.tenants where is_default`;
  await seedUser(sql, standard!.id, { subject: "owner", role: "owner" });
  const own = await ask("owner", "POST", "/api/tenants/keys", { name: "d", role: "member" }, "default");
  keys.push(own.body.key as string);
  await withService(world.database, { SERVICE_MULTI_TENANT_MODE: "false" }, async single => {
    const current = await single.request({
      url: "/api/tenants/current",
      token: own.body.key,
      tenant: "beta",
    });
    assert.deepEqual([current.status, current.body.tenant?.slug], [200, "default"]);
    assertError(await single.request({ url: "/api/boards", token: key }), 403, DENIED);
    assertNotValid(await single.request({ url: "/api/boards", token: flipped(own.body.key) }));
    const [strange] =
      await sql`select count(*)::int as users from app.users where auth_provider = 'key' and auth_subject ~ ':'`;
    assert.equal(strange!.users, 0);
  });
});

test("the role of a key bounds it; no key makes keys, registers, sets up, or is a member that others see", async () => {
  const admin = await make("admin", { by: "admin" });
  const member = await make("member");
  const denied = (detail: string) => ({ error: "Access denied", detail });
  const adding = { method: "POST", body: { auth_subject: "by-key", auth_provider: "jwt" } };
  assertError(
    await withKey(member.key, "/api/tenants/members", adding),
    403,
    denied("The tenant role admin is required"),
  );
  assert.equal((await withKey(admin.key, "/api/tenants/members", adding)).status, 201);
  assert.equal((await ask("by-key", "GET", "/api/boards")).status, 200);
  for (const [sub, body] of [
    ["owner", { auth_subject: "x", auth_provider: "key" }],
    [null, { auth_subject: "x" }],
  ] as const) {
    const token = sub ? await person(sub, "acme") : admin.key;
    const answer = await service.request({ method: "POST", url: "/api/tenants/members", token, body });
    assert.deepEqual([answer.status, answer.body.errors?.[0]?.field], [422, "auth_provider"]);
  }
  const made = { method: "POST", body: { name: "n", role: "member" } };
  const registered = { method: "POST", body: { organization_name: "n", admin_email: "a@example.com" } };
  for (const [url, rest] of [
    ["/api/tenants/keys", made],
    ["/api/tenants/keys", {}],
    [`/api/tenants/keys/${admin.key_id}`, { method: "DELETE" }],
    ["/api/tenants/register", registered],
  ] as const)
    assertError(await withKey(admin.key, url, rest), 403, denied("An API key cannot do this"));
  for (const [url, rest] of [
    ["/api/setup/status", {}],
    ["/api/setup/tenants", {}],
    [`/api/setup/tenant/${acme}`, { method: "DELETE" }],
  ] as const)
    assertError(await withKey(admin.key, url, rest), 403, denied("The role tenant-operator is required"));
  assertError(
    await ask("member", "POST", "/api/tenants/keys", made.body),
    403,
    denied("The tenant role admin is required"),
  );
  assertError(
    await ask("member", "GET", "/api/tenants/keys"),
    403,
    denied("The tenant role admin is required"),
  );
  assertError(
    await ask("member", "DELETE", `/api/tenants/keys/${member.key_id}`),
    403,
    denied("The tenant role admin is required"),
  );
  assertError(await ask("stranger", "GET", "/api/tenants/keys"), 403, DENIED);
  const foreign = await ask("stranger", "DELETE", `/api/tenants/keys/${member.key_id}`, undefined, "beta");
  assert.equal(foreign.status, 404);

  const { body } = await ask("owner", "GET", "/api/tenants/members");
  assert.deepEqual(
    body.members.filter((one: { auth_provider: string }) => one.auth_provider === "key"),
    [],
  );
  const [user] = await sql`select user_id as id from app.api_keys where id = ${member.key_id}`;
  for (const token of [member.key, await person("owner", "acme")])
    assert.equal(
      (await withKey(token, `/api/tenants/members/${user!.id}`, { method: "DELETE" })).status,
      404,
    );
});

test("a key outlives its maker", async () => {
  const id = await seedUser(sql, acme, { subject: "leaver", role: "admin" });
  const { key, key_id } = await make("admin", { by: "leaver" });
  assert.equal((await ask("owner", "DELETE", `/api/tenants/members/${id}`)).status, 200);
  assert.equal((await withKey(key, "/api/boards")).status, 200);
  assert.equal((await ask("owner", "DELETE", `/api/tenants/keys/${key_id}`)).status, 200);
});

test("the fields of a key follow the rules, and the list has pages", async () => {
  for (const [body, field] of [
    [{ role: "member" }, "name"],
    [{ name: "n" }, "role"],
    [{ name: "", role: "member" }, "name"],
    [{ name: " ", role: "member" }, "name"],
    [{ name: "x".repeat(256), role: "member" }, "name"],
    [{ name: "n", role: "owner" }, "role"],
    [{ name: "n", role: "member", key: "x" }, "key"],
    ...[
      "2020-01-01T00:00:00Z",
      "2999-01-01",
      "2999-02-29T00:00:00Z",
      "2999-01-01T00:00:00",
      "0000-01-01T00:00:00Z",
      "x",
    ].map(expires_at => [{ name: "n", role: "member", expires_at }, "expires_at"] as const),
  ] as const) {
    const answer = await ask("owner", "POST", "/api/tenants/keys", body);
    assert.deepEqual([answer.status, answer.body.errors?.[0].field], [422, field], JSON.stringify(body));
  }
  const paged = await seedTenant(sql, { slug: "paged" });
  await seedUser(sql, paged, { subject: "owner", role: "owner" });
  for (const name of ["one", "two", "three"])
    await ask("owner", "POST", "/api/tenants/keys", { name, role: "member" }, "paged");
  const names: string[] = [];
  for (let url: string | undefined = "/api/tenants/keys?limit=2"; url; ) {
    const { body, headers } = await ask("owner", "GET", url, undefined, "paged");
    names.push(...body.keys.map((key: { name: string }) => key.name));
    url = /<(.*)>/.exec(String(headers.link ?? ""))?.[1];
  }
  assert.deepEqual(names, ["three", "two", "one"]);
});

test("a token whose issuer is called key is refused", async () => {
  const { key_id } = await make();
  const answer = await service.request({
    url: "/api/boards",
    token: await person(key_id, "acme", { iss: "key" }),
  });
  assertError(answer, 401, { error: "Unauthorized", detail: "The iss of the token is not accepted" });
});

test("the log and the metrics have the tenant of a key, also of a refusal and of the first request", async () => {
  for (const url of ["/api/boards", `/api/tenants/members/${acme}`]) {
    const { key } = await make("admin");
    const from = service.logs.length;
    await withKey(key, url, url === "/api/boards" ? {} : { method: "DELETE" });
    const line = service.logs.slice(from).find(({ msg }) => msg === "tenant resolved");
    assert.deepEqual([line?.tenant_slug, line?.tenant_source], ["acme", "key"], url);
  }
  const { body } = await service.request({ url: "/metrics" });
  assert.match(body, /tms_tenant_resolutions_total\{source="key",outcome="resolved",tenant="acme"\} \d+/);
  assert.doesNotMatch(body, /source="key",outcome="resolved",tenant=""/);
});

test("a key's actor and counters are its id, and a key that is not valid makes no counter", async () => {
  const { key, key_id } = await make("admin");
  const count = async () => [
    ...(await sql`select identity from control.rate_limits where identity like 'key%' order by 1`),
  ];
  const before = (await count()).length;
  const adding = (auth_subject: string) => ({ method: "POST", body: { auth_subject, auth_provider: "jwt" } });
  for (const [i, one] of [flipped(key), key, key].entries())
    await withKey(one, "/api/tenants/members", adding(`counted-${i}`));
  const rows = await count();
  assert.equal(rows.length, before + 1);
  const [own] = await sql`select hits from control.rate_limits where identity = ${`key\n${key_id}`}`;
  assert.equal(own!.hits, 2);
  for (const { identity } of rows) assert.match(identity, /^key\n[0-9a-f-]{36}$/);
  const answer = await withKey(key, "/api/tenants/members", adding("counted-9"));
  assert.equal(answer.headers["x-ratelimit-remaining"], "97");
});

test("operators explain a key by its id", async () => {
  const { key_id } = await make();
  const explained = async () =>
    service.request({
      url: `/api/setup/explain?tenant=acme&provider=key&subject=${key_id}`,
      token: await operator(),
    });
  assert.deepEqual([(await explained()).body.allowed], [true]);
  await sql`update app.api_keys set created_at = '2001-01-01', expires_at = '2002-01-01' where id = ${key_id}`;
  const { body } = await explained();
  assert.deepEqual([body.allowed, body.because], [false, "The API key has expired"]);
});

test("a tenant has 100 keys at most, also by parallel requests", async () => {
  const full = await seedTenant(sql, { slug: "full" });
  await seedUser(sql, full, { subject: "owner", role: "owner" });
  await sql`
    with u as (
      insert into app.users (tenant_id, auth_provider, auth_subject, role)
      select ${full}, 'key', gen_random_uuid(), 'member' from generate_series(1, 97) returning *)
    insert into app.api_keys (tenant_id, id, user_id, name, secret_hash, created_by)
    select tenant_id, auth_subject::uuid, id, 'n', sha256(id::text::bytea), (select id from app.users where tenant_id = ${full}) from u`;
  const answers = await Promise.all(
    Array.from({ length: 6 }, () =>
      ask("owner", "POST", "/api/tenants/keys", { name: "n", role: "member" }, "full"),
    ),
  );
  assert.deepEqual(
    answers.map(({ status }) => status).sort((a, b) => a - b),
    [201, 201, 201, 409, 409, 409],
  );
  assertError(answers.find(({ status }) => status === 409)!, 409, {
    error: "Conflict",
    detail: "The tenant has 100 API keys; revoke one first",
  });
});

test("a key that was revoked under load answers nobody afterwards", { timeout: 600_000 }, async () => {
  const most = rounds(8, 40);
  const { port } = new URL(await service.app.listen({ host: "127.0.0.1", port: 0 }));
  const url = (path: string) => `http://127.0.0.1:${port}${path}`;
  const owners = await Promise.all(
    Array.from({ length: Math.ceil(most / 40) }, async (_, i) => {
      await seedUser(sql, acme, { subject: `revoker-${i}`, role: "owner" });
      return `revoker-${i}`;
    }),
  );
  let answered = 0;
  for (let round = 0; round < most; round++) {
    const by = owners[round % owners.length]!;
    const { key, key_id } = await make("member", { by });
    const headers = { authorization: `Bearer ${key}` };
    let revoked = false;
    const late: number[] = [];
    const statuses = new Set<number>();
    const clients = Array.from({ length: 6 }, async () => {
      for (let left = 3; left > 0; ) {
        const after = revoked;
        const answer = await fetch(url("/api/boards"), { headers });
        await answer.arrayBuffer();
        statuses.add(answer.status);
        if (answer.status === 200) answered++;
        if (after && answer.status !== 401) late.push(answer.status);
        if (after) left--;
      }
    });
    const token = await person(by, "acme");
    const revoking = await fetch(url(`/api/tenants/keys/${key_id}`), {
      method: "DELETE",
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(revoking.status, 200, await revoking.text());
    revoked = true;
    await Promise.all(clients);
    assert.deepEqual(late, []);
    assert.ok(
      [...statuses].every(status => status === 200 || status === 401),
      [...statuses].join(),
    );
  }
  assert.ok(answered > 0);
});

test("neither a key nor its hash is in a log, also when it stands where nobody expects it", async () => {
  const key = keys[0]!;
  await service.request({ url: `/api/boards?cursor=${key}`, token: key, undocumented: true });
  await service.request({ url: `/${key}`, headers: { authorization: key }, undocumented: true });
  await service.request({
    url: "/api/boards",
    tenant: key,
    token: await person("owner"),
    undocumented: true,
  });
  const log = JSON.stringify(service.logs);
  assert.ok(keys.length > 20, String(keys.length));
  for (const one of keys) assert.ok(!log.includes(one.slice(41)), "a secret is in the log");
  const hashes = await sql<{ hash: string }[]>`select encode(secret_hash, 'hex') as hash from app.api_keys`;
  for (const { hash } of hashes) assert.ok(!log.includes(hash), "a hash is in the log");
});
