import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedTenant, seedUser, token, withService } from "../harness.ts";
import { lockWaiters } from "../until.ts";
import { assertError, createWorld, DENIED, operator, person } from "./world.ts";

const ids: Record<string, string> = {};
const world = await createWorld();
const { sql } = world.database;
const acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
const beta = await seedTenant(sql, { slug: "beta" });
for (const role of ["owner", "admin", "member"])
  ids[role] = await seedUser(sql, acme, { subject: role, role, email: `${role}@acme.com` });
ids.stranger = await seedUser(sql, beta, { subject: "stranger", role: "owner" });
for (const [tenant, owner, title] of [
  [acme, ids.owner!, "Acme's"],
  [acme, ids.member!, "second"],
  [beta, ids.stranger, "Beta's"],
] as const)
  await sql`insert into app.boards (tenant_id, owner_id, title) values (${tenant}, ${owner}, ${title})`;
after(() => world.end());

const ask = async (
  sub: string,
  method: "GET" | "POST" | "PATCH" | "DELETE",
  url: string,
  body?: object,
  tenant = "acme",
) => world.service.request({ method, url, token: await person(sub, tenant), body });
const ID = "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10";
const MEMBER = ["user_id", "role", "auth_provider", "auth_subject", "email", "display_name", "joined_at"];
const BOARD = ["board_id", "title", "description", "owner_id", "created_at", "updated_at"];

test("current answers the tenant and the caller's membership", async () => {
  const { status, body } = await ask("member", "GET", "/api/tenants/current");
  assert.equal(status, 200);
  assert.deepEqual([Object.keys(body), Object.keys(body.membership)], [["tenant", "membership"], MEMBER]);
  assert.deepEqual(Object.keys(body.tenant), [
    "tenant_id",
    "name",
    "slug",
    "status",
    "settings",
    "created_at",
    "updated_at",
  ]);
  assert.deepEqual(
    [body.tenant.tenant_id, body.tenant.name, body.membership.user_id, body.membership.email],
    [acme, "Acme", ids.member, "member@acme.com"],
  );
});

test("mine answers every tenant of the caller, whichever tenant the request names", async () => {
  await seedUser(world.database.sql, beta, { subject: "member" });
  const { body } = await ask("member", "GET", "/api/tenants/mine", undefined, "no-such-tenant");
  assert.deepEqual(
    body.tenants.map((one: { slug: string; role: string }) => [one.slug, one.role]),
    [
      ["acme", "member"],
      ["beta", "member"],
    ],
  );
  assert.equal(body.total_count, 2);
  const first = await ask("member", "GET", "/api/tenants/mine?limit=1");
  const next = /^<(.+)>; rel="next"$/.exec(String(first.headers.link))![1]!;
  const second = await ask("member", "GET", next);
  assert.deepEqual([...first.body.tenants, ...second.body.tenants], body.tenants);
  assert.deepEqual([second.body.total_count, second.headers.link], [2, undefined]);
  assert.equal((await ask("member", "GET", "/api/tenants/mine?limit=1001")).status, 422);
  assert.equal((await ask("member", "GET", "/api/tenants/mine?cursor=x")).status, 422);
  assert.deepEqual((await ask("nobody", "GET", "/api/tenants/mine")).body, {
    tenants: [],
    total_count: 0,
    operator: false,
    token_tenant: { slug: "acme", source: "tenant" },
  });
});

test("mine tells an operator, and the one tenant that a token's claims name; null where X-Tenant counts", async () => {
  const mine = async (token: string) => {
    const { body } = await world.service.request({
      url: "/api/tenants/mine",
      token,
      headers: { "x-tenant": "beta" },
    });
    return [body.operator, body.token_tenant];
  };
  assert.deepEqual(await mine(await operator()), [true, { slug: "operations", source: "tenant" }]);
  assert.deepEqual(await mine(await token({ sub: "nora", email: "nora@contractor.example" })), [
    false,
    { slug: "contractor", source: "email" },
  ]);
  assert.deepEqual(await mine(await token({ sub: "nora" })), [false, null]);
});

test("members and boards are those of the tenant, in pages by Link", async () => {
  for (const [url, field] of [
    ["/api/tenants/members", "members"],
    ["/api/boards", "boards"],
  ] as const) {
    const whole = (await ask("member", "GET", url)).body;
    assert.deepEqual(Object.keys(whole), [field]);
    const seen: unknown[] = [];
    for (let at: string | undefined = `${url}?limit=1`; at; ) {
      const { body, headers }: Awaited<ReturnType<typeof ask>> = await ask("member", "GET", at);
      seen.push(...body[field]);
      at = /^<([^>]+)>; rel="next"$/.exec(String(headers.link))?.[1];
    }
    assert.deepEqual(seen, whole[field]);
    assert.equal((await ask("member", "GET", `${url}?limit=%2B1`)).body[field].length, 1);
    for (const limit of ["Infinity", "1e309", "0x1"]) {
      const { status, body } = await ask("member", "GET", `${url}?limit=${limit}`);
      const errors = [{ field: "limit", message: "must be an integer" }];
      assert.deepEqual([status, body.errors], [422, errors], `${url} ${limit}`);
    }
  }
  const { body } = await ask("member", "GET", "/api/boards");
  assert.deepEqual(body.boards.map((board: { title: string }) => board.title).sort(), ["Acme's", "second"]);
  assert.deepEqual(Object.keys(body.boards[0]), BOARD);
});

test("text comes back unchanged, whatever characters it has", async () => {
  const odd = await seedTenant(sql, { slug: "odd" });
  const owner = await seedUser(sql, odd, { subject: 'quo"te\\', role: "owner", email: 'a"b@acme.com' });
  const texts = [
    '"',
    "\\",
    "\b\f\n\r\t\u0001\u007f\u2028",
    "</script>",
    "\u00e9\u4e2d\ud83d\ude42",
    "null",
    "{}",
    "$1 %s",
  ];
  for (const [i, text] of texts.entries())
    await sql`insert into app.boards (tenant_id, owner_id, title, description, created_at, updated_at)
      values (${odd}, ${owner}, ${text}, ${i % 2 ? text : null}, ${`2026-01-01T00:00:0${i}.000${i}00Z`}, '2026-02-01T12:00:00Z')`;
  const { body } = await ask('quo"te\\', "GET", "/api/boards", undefined, "odd");
  const boards = body.boards.reverse() as { title: string; description: string | null; created_at: string }[];
  assert.deepEqual(
    boards.map(board => board.title),
    texts,
  );
  assert.deepEqual(
    boards.map(board => board.description),
    texts.map((text, i) => (i % 2 ? text : null)),
  );
  for (const [i, { created_at }] of boards.entries())
    assert.equal(new Date(created_at).toISOString(), `2026-01-01T00:00:0${i}.000Z`);
  const members = await ask('quo"te\\', "GET", "/api/tenants/members", undefined, "odd");
  assert.deepEqual(
    [members.body.members[0].auth_subject, members.body.members[0].email],
    ['quo"te\\', 'a"b@acme.com'],
  );
});

test("a member is added by an admin, sees the tenant at once, and is out at once when removed", async () => {
  const enter = () => ask("new", "GET", "/api/tenants/current");
  assertError(await enter(), 403, DENIED);
  const added = await ask("admin", "POST", "/api/tenants/members", {
    auth_subject: "new",
    email: "new@acme.com",
    display_name: "e\u0301",
  });
  assert.deepEqual(
    [added.status, Object.keys(added.body), { ...added.body, user_id: "", joined_at: "" }],
    [
      201,
      MEMBER,
      {
        user_id: "",
        role: "member",
        auth_provider: "jwt",
        auth_subject: "new",
        email: "new@acme.com",
        display_name: "\u00e9",
        joined_at: "",
      },
    ],
  );
  assert.equal(added.headers.location, `/api/tenants/members/${added.body.user_id}`);
  assert.deepEqual((await enter()).body.membership, added.body);
  assertError(await ask("admin", "POST", "/api/tenants/members", { auth_subject: "new" }), 409, {
    error: "Conflict",
    detail: "This identity is already a member of the tenant",
  });
  const namesake = { auth_subject: "new", auth_provider: "https://other" };
  assert.equal((await ask("admin", "POST", "/api/tenants/members", namesake)).status, 201);
  const removed = await ask("admin", "DELETE", `/api/tenants/members/${added.body.user_id}`);
  assert.deepEqual(
    [removed.status, removed.body],
    [200, { message: "Member removed", user_id: added.body.user_id }],
  );
  assertError(await enter(), 403, DENIED);
});

test("a member who is added without a provider gets the configured issuer, and gets in", () => {
  const iss = "https://issuer.example";
  return withService(world.database, { SERVICE_JWT_ISSUER: iss }, async service => {
    const id = await seedTenant(sql, { slug: "issued" });
    await seedUser(sql, id, { subject: "owner", role: "owner", provider: iss });
    const added = await service.request({
      method: "POST",
      url: "/api/tenants/members",
      token: await person("owner", "issued", { iss }),
      body: { auth_subject: "new" },
    });
    assert.deepEqual([added.status, added.body.auth_provider], [201, iss]);
    const { status } = await service.request({
      url: "/api/tenants/current",
      token: await person("new", "issued", { iss }),
    });
    assert.equal(status, 200);
  });
});

test("a caller without the role reads which one is required; a member of another tenant is not found", async () => {
  const needs = (role: string) => ({ error: "Access denied", detail: `The tenant role ${role} is required` });
  assertError(
    await ask("member", "POST", "/api/tenants/members", { auth_subject: "x" }),
    403,
    needs("admin"),
  );
  assertError(
    await ask("admin", "POST", "/api/tenants/members", { auth_subject: "x", role: "owner" }),
    403,
    needs("owner"),
  );
  assertError(await ask("member", "DELETE", `/api/tenants/members/${ids.admin}`), 403, needs("admin"));
  assertError(await ask("admin", "DELETE", `/api/tenants/members/${ids.owner}`), 403, needs("owner"));
  assertError(await ask("owner", "DELETE", `/api/tenants/members/${ids.owner}`), 409, {
    error: "Conflict",
    detail: "The last owner of a tenant cannot be removed",
  });
  for (const id of [ids.stranger!, "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10", "x"])
    assertError(await ask("owner", "DELETE", `/api/tenants/members/${id}`), 404, {
      error: "Member not found",
      detail: `Member with ID ${id} not found`,
    });
  assert.equal((await ask("stranger", "GET", "/api/boards", undefined, "beta")).body.boards.length, 1);
});

test("a role is changed by PATCH; the body has the role and nothing else", async () => {
  const id = await seedUser(sql, acme, { subject: "climber" });
  const change = (sub: string, body: unknown, user = id) =>
    world.service.request({ method: "PATCH", url: `/api/tenants/members/${user}`, token: sub, body });
  const [owner, admin] = await Promise.all([person("owner", "acme"), person("admin", "acme")]);
  const { status, body } = await change(admin, { role: "admin" });
  assert.deepEqual([status, Object.keys(body), body.user_id, body.role], [200, MEMBER, id, "admin"]);
  assert.deepEqual((await change(owner, { role: "admin" })).body, body);
  assertError(await change(admin, { role: "owner" }), 403, {
    error: "Access denied",
    detail: "The tenant role owner is required",
  });
  assertError(await change(owner, { role: "member" }, ids.owner), 409, {
    error: "Conflict",
    detail: "The last owner of a tenant cannot be given another role",
  });
  for (const user of [ids.stranger!, "x"])
    assertError(await change(owner, { role: "member" }, user), 404, {
      error: "Member not found",
      detail: `Member with ID ${user} not found`,
    });
  for (const [wrong, field] of [
    [{}, "role"],
    [{ role: "king" }, "role"],
    [{ role: null }, "role"],
    [{ role: "member", email: "a@acme.com" }, "email"],
    [[], "body"],
  ] as const) {
    const answer = await change(owner, wrong);
    assert.deepEqual([answer.status, answer.body.errors?.[0].field], [422, field], JSON.stringify(wrong));
  }
});

test("an operator gives a new tenant its owner, who gets in; every status but gone is open to operators", async () => {
  const token = await operator({ iat: 1 });
  const send = (method: "GET" | "POST" | "PATCH" | "DELETE", url: string, body?: object) =>
    world.service.request({ method, url, token, body });
  const created = await send("POST", "/api/setup/tenant", { name: "Fresh", slug: "fresh" });
  const url = `/api/setup/tenant/${created.body.tenant_id}`;
  assert.deepEqual((await send("GET", `${url}/members`)).body, { members: [] });
  const added = await send("POST", `${url}/members`, {
    auth_subject: "first",
    display_name: "e\u0301",
    role: "owner",
  });
  assert.deepEqual([added.status, Object.keys(added.body), added.body.role], [201, MEMBER, "owner"]);
  assert.deepEqual([added.body.display_name, added.body.auth_provider], ["\u00e9", "jwt"]);
  assert.equal(added.headers.location, `${url}/members/${added.body.user_id}`);
  assert.deepEqual(
    (await ask("first", "GET", "/api/tenants/current", undefined, "fresh")).body.membership,
    added.body,
  );
  const first = `${url}/members/${added.body.user_id}`;
  assertError(await send("DELETE", first), 409, {
    error: "Conflict",
    detail: "The last owner of a tenant cannot be removed",
  });
  await send("POST", `${url}/suspend`);
  const second = await send("POST", `${url}/members`, { auth_subject: "second" });
  assert.equal((await send("PATCH", `${url}/members/${second.body.user_id}`, { role: "owner" })).status, 200);
  assert.deepEqual((await send("DELETE", first)).body, {
    message: "Member removed",
    user_id: added.body.user_id,
  });
  const { body, headers } = await send("GET", `${url}/members?limit=1`);
  assert.deepEqual(
    [body.members.map((one: { auth_subject: string }) => one.auth_subject), headers.link],
    [["second"], undefined],
  );
  for (const [method, path, given] of [
    ["GET", "/members"],
    ["POST", "/members", { auth_subject: "x" }],
    ["PATCH", `/members/${ID}`, { role: "member" }],
    ["DELETE", `/members/${ID}`],
  ] as const) {
    assertError(await ask("owner", method, url + path, given), 403, {
      error: "Access denied",
      detail: "The role tenant-operator is required",
    });
    assertError(await ask("nobody", method, url + path, given), 403, DENIED);
    assertError(await send(method, `/api/setup/tenant/${ID}${path}`, given), 404, {
      error: "Tenant not found",
      detail: `Tenant with ID ${ID} not found`,
    });
  }
});

test("adding a member to a tenant that was just deleted answers as to a stranger", async () => {
  const going = await seedTenant(sql, { slug: "going" });
  await seedUser(sql, going, { subject: "late", role: "owner" });
  let added: ReturnType<typeof ask> | undefined;
  await sql.begin(async tx => {
    await tx`select from app.tenants where id = ${going} for update`;
    await tx`delete from app.users where tenant_id = ${going} and auth_subject <> 'late'`;
    added = ask("late", "POST", "/api/tenants/members", { auth_subject: "x" }, "going");
    await lockWaiters(sql);
    await tx`delete from app.tenants where id = ${going}`;
  });
  assertError(await added!, 403, DENIED);
});

test("a member's fields follow the rules", async () => {
  for (const [body, field] of [
    [{}, "auth_subject"],
    [{ auth_subject: "" }, "auth_subject"],
    [{ auth_subject: "x".repeat(256) }, "auth_subject"],
    [{ auth_subject: "a\nb" }, "auth_subject"],
    [{ auth_subject: "x", auth_provider: "a\u0085b" }, "auth_provider"],
    [{ auth_subject: "x", role: "king" }, "role"],
    [{ auth_subject: "x", display_name: " \u00a0" }, "display_name"],
    [{ auth_subject: "x", email: "x" }, "email"],
    [{ auth_subject: "x", email: "acme.com" }, "email"],
    [{ auth_subject: "x", extra: 1 }, "extra"],
  ] as const) {
    const answer = await ask("owner", "POST", "/api/tenants/members", body);
    assert.deepEqual([answer.status, answer.body.errors?.[0].field], [422, field], JSON.stringify(body));
  }
});
