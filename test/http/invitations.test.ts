import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedTenant, seedUser, settled, type TestResponse, withService } from "../harness.ts";
import { assertError, createWorld, person } from "./world.ts";

const world = await createWorld({
  SERVICE_FRONTEND_BASE_URL: "https://app.example.com/team/",
  SERVICE_LOG_LEVEL: "trace",
});
const { sql } = world.database;
const acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
const beta = await seedTenant(sql, { slug: "beta" });
for (const role of ["owner", "admin", "member"]) await seedUser(sql, acme, { subject: role, role });
await seedUser(sql, beta, { subject: "stranger", role: "owner" });
after(() => world.end());

const URL = "/api/tenants/invitations";
const ask = async (
  sub: string,
  method: "GET" | "POST" | "DELETE",
  url: string,
  body?: unknown,
  { tenant = "acme" as string | undefined, claims = {} } = {},
) => world.service.request({ method, url, token: await person(sub, tenant, claims), body });
const invite = async (body: object = {}, by = "owner") => {
  const made = await ask(by, "POST", URL, { role: "member", ...body });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body as { invitation_id: string; token: string };
};
/** As a newcomer, whose token may name any tenant. */
const accept = (sub: string, token: unknown, claims = {}, tenant: string | undefined = "no-such-tenant") =>
  ask(sub, "POST", `${URL}/accept`, { token }, { tenant, claims });

const FIELDS = ["invitation_id", "role", "email", "invited_by", "created_at", "expires_at"];
const REFUSED = { error: "Access denied", detail: "The invitation cannot be used" };

test("an invitation shows its token once, and makes who accepts it a member", async () => {
  const made = await ask("owner", "POST", URL, { role: "admin", email: "Ada@B\u00fccher.example" });
  const { token, accept_url, ...rest } = made.body;
  assert.deepEqual([made.status, Object.keys(rest)], [201, FIELDS]);
  assert.equal(made.headers.location, `${URL}/${rest.invitation_id}`);
  assert.equal(made.headers["cache-control"], "no-store");
  assert.equal(made.headers["content-type"], "application/json; charset=utf-8");
  assert.match(token, new RegExp(`^tmi_${acme}_[A-Za-z0-9_-]{43}$`));
  assert.equal(accept_url, `https://app.example.com/team/#invitation=${token}`);
  assert.deepEqual([rest.role, rest.email], ["admin", "ada@xn--bcher-kva.example"]);
  const week = Date.parse(rest.expires_at) - Date.parse(rest.created_at);
  assert.equal(week, 7 * 86_400_000);
  assert.deepEqual((await ask("admin", "GET", URL)).body, { invitations: [rest] });

  const claims = { email: "aDA@xn--BCHER-kva.example", name: "Ada" };
  const { status, body } = await accept("ada", token, claims);
  assert.deepEqual([status, Object.keys(body)], [200, ["tenant", "membership"]]);
  assert.deepEqual(
    [body.tenant.slug, body.membership.role, body.membership.email, body.membership.display_name],
    ["acme", "admin", claims.email, "Ada"],
  );
  assert.deepEqual((await ask("ada", "GET", "/api/tenants/current")).body, body);
  assert.deepEqual((await ask("admin", "GET", URL)).body, { invitations: [] });
});

test("an operator invites an owner into any tenant, and never sees the token again", async () => {
  const empty = await seedTenant(sql, { slug: "empty" });
  const under = `/api/setup/tenant/${empty}/invitations`;
  const operator = { roles: ["tenant-operator"] };
  const by = (method: "GET" | "POST" | "DELETE", url: string, body?: object) =>
    ask("olga", method, url, body, { claims: operator });
  const made = await by("POST", under, { role: "owner" });
  const { token, accept_url, ...rest } = made.body;
  assert.deepEqual([made.status, Object.keys(rest), rest.invited_by], [201, FIELDS, null]);
  assert.equal(made.headers.location, `${under}/${rest.invitation_id}`);
  assert.equal(made.headers["cache-control"], "no-store");
  assert.equal(accept_url, `https://app.example.com/team/#invitation=${token}`);
  assert.deepEqual((await by("GET", under)).body, { invitations: [rest] });
  assert.equal((await accept("founder", token)).body.membership.role, "owner");
  assert.deepEqual((await by("GET", under)).body, { invitations: [] });

  const other = (await by("POST", under, { role: "member" })).body;
  const revoking = () => by("DELETE", `${under}/${other.invitation_id}`);
  assert.deepEqual([(await revoking()).status, (await revoking()).status], [200, 404]);
  assertError(await accept("late", other.token), 403, REFUSED);
  // The tenant's own people read that an operator acted, and not which one.
  await settled(sql);
  const feed = await ask("founder", "GET", "/api/tenants/events?type=invitation.created", undefined, {
    tenant: "empty",
  });
  const actors = feed.body.events.map((one: { actor: { auth_subject: string } }) => one.actor.auth_subject);
  assert.deepEqual(actors, ["operator", "operator"]);
});

test("without a frontend's address there is no accept_url", () =>
  withService(world.database, {}, async service => {
    const token = await person("owner", "acme");
    const { status, body } = await service.request({
      method: "POST",
      url: URL,
      token,
      body: { role: "member" },
    });
    assert.deepEqual([status, Object.keys(body)], [201, [...FIELDS, "token"]]);
  }));

test("every invitation that cannot be used gets the same 403, byte for byte", async () => {
  const ids: Record<string, { invitation_id: string; token: string }> = {};
  for (const name of ["used", "revoked", "expired", "good"]) ids[name] = await invite();
  ids.addressed = await invite({ email: "ada@acme.com" });
  await accept("first", ids.used!.token);
  await ask("owner", "DELETE", `${URL}/${ids.revoked!.invitation_id}`);
  await sql`update app.invitations set created_at = now() - interval '2 days', expires_at = now() - interval '1 day'
    where id = ${ids.expired!.invitation_id}`;
  const good = ids.good!.token;
  const [secret] = good.split("_", 2).slice(1);
  const as = (claims: object) => () => accept("new", ids.addressed!.token, claims);
  const withStatus = (status: string) => async () => {
    await sql`update app.tenants set status = ${status} where id = ${acme}`;
    const answer = await accept("new", good);
    await sql`update app.tenants set status = 'active' where id = ${acme}`;
    return answer;
  };
  const ways: Record<string, () => Promise<TestResponse>> = {
    unknown: () => accept("new", `${good.slice(0, -1)}${good.endsWith("A") ? "B" : "A"}`),
    used: () => accept("new", ids.used!.token),
    revoked: () => accept("new", ids.revoked!.token),
    expired: () => accept("new", ids.expired!.token),
    "of another tenant": () => accept("new", good.replace(acme, beta)),
    "of no tenant": () => accept("new", good.replace(acme, "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10")),
    empty: () => accept("new", ""),
    "without a tenant": () => accept("new", secret),
    "with white space": () => accept("new", ` ${good}`),
    long: () => accept("new", "x".repeat(8_000)),
    text: () => accept("new", "'; drop table app.invitations; --"),
    "without an e-mail": as({}),
    "of another e-mail": as({ email: "eve@acme.com" }),
    "of a look-alike": as({ email: "ad\u0430@acme.com" }),
    "of another domain": as({ email: "ada@mail.acme.com" }),
    "not verified": as({ email: "ada@acme.com", email_verified: false }),
    "not verified, as text": as({ email: "ada@acme.com", email_verified: "false" }),
    "not verified, in another spelling": as({ email: "ada@acme.com", email_verified: "no" }),
    "verified is null": as({ email: "ada@acme.com", email_verified: null }),
    "no address": as({ email: "ada" }),
    pending: withStatus("pending"),
    suspended: withStatus("suspended"),
  };
  const shown = ({ status, headers, body }: TestResponse) => {
    const { "x-request-id": _, date: __, ...rest } = headers;
    for (const name of Object.keys(rest)) if (name.startsWith("x-ratelimit")) delete rest[name];
    return JSON.stringify([status, rest, body]);
  };
  const answers = new Map<string, string>();
  for (const [why, way] of Object.entries(ways)) {
    const answer = await way();
    assertError(answer, 403, REFUSED);
    answers.set(why, shown(answer));
    await sql`delete from control.rate_limits`;
  }
  assert.equal(new Set(answers.values()).size, 1, JSON.stringify([...answers]));
  // In single-tenant mode as well: the tenant is not the default one.
  await withService(world.database, { SERVICE_MULTI_TENANT_MODE: "false" }, async service => {
    const token = await person("new");
    const request = { method: "POST", url: `${URL}/accept`, token, body: { token: good } } as const;
    assertError(await service.request(request), 403, REFUSED);
  });
  for (const claims of [{ email: "ada@acme.com" }, { email: "ADA@ACME.com", email_verified: true }]) {
    const { token } = await invite({ email: "Ada@Acme.com" });
    assert.equal((await accept(`ada-${JSON.stringify(claims).length}`, token, claims)).status, 200);
  }
  assert.equal((await accept("new", good)).status, 200);
  assertError(await accept("member", ids.addressed!.token, { email: "ada@acme.com" }), 409, {
    error: "Conflict",
    detail: "This identity is already a member of the tenant",
  });
});

test("accepting needs a token and names any tenant, also one of which the caller is no member", async () => {
  const { token } = await invite();
  const request = { method: "POST", url: `${URL}/accept`, body: { token } } as const;
  assert.equal((await world.service.request(request)).status, 401);
  assert.equal((await world.service.request({ ...request, token: await person("x") })).status, 400);
  assert.equal((await accept("guest", token, {}, "beta")).status, 200);
});

test("a key invites while it lives, and never joins itself", async () => {
  const made = await ask("owner", "POST", "/api/tenants/keys", { name: "onboarding", role: "admin" });
  const byKey = (url: string, body: object) =>
    world.service.request({ method: "POST", url, token: made.body.key, body });
  const invited = [
    await byKey(URL, { role: "member" }),
    await byKey(URL, { role: "admin" }),
    await byKey(URL, { role: "owner" }),
  ];
  assert.deepEqual(
    invited.map(({ status }) => status),
    [201, 201, 403],
  );
  const [first, second] = invited.map(({ body }) => body.token as string);
  const other = await invite();
  assert.equal((await byKey(`${URL}/accept`, { token: other.token })).status, 403);
  assert.equal((await accept("by-key-1", first)).status, 200);
  await ask("owner", "DELETE", `/api/tenants/keys/${made.body.key_id}`);
  assertError(await accept("by-key-2", second), 403, REFUSED);
});

test("accepting is limited to 20 a minute for each identity", async () => {
  for (let i = 0; i < 20; i += 1) assertError(await accept("prober", "x"), 403, REFUSED);
  const { status, headers } = await accept("prober", "x");
  assert.deepEqual([status, String(headers["x-ratelimit-limit"])], [429, "20"]);
});

test("an invitation's fields follow the rules", async () => {
  for (const [body, field] of [
    [{}, "role"],
    [{ role: "king" }, "role"],
    [{ role: "member", email: "acme.com" }, "email"],
    [{ role: "member", email: null }, "email"],
    [{ role: "member", expires_in: 59 }, "expires_in"],
    [{ role: "member", expires_in: 30 * 86_400 + 1 }, "expires_in"],
    [{ role: "member", expires_in: 60.5 }, "expires_in"],
    [{ role: "member", expires_in: "60" }, "expires_in"],
    [{ role: "member", token: "mine" }, "token"],
  ] as const) {
    const { status, body: answer } = await ask("owner", "POST", URL, body);
    assert.deepEqual([status, answer.errors?.[0].field], [422, field], JSON.stringify(body));
  }
  for (const token of [undefined, null, 5, {}, ["x"]]) {
    const { status, body } = await accept("guest-2", token);
    assert.deepEqual([status, body.errors?.[0].field], [422, "token"]);
  }
  assert.equal((await ask("owner", "GET", `${URL}?token=x`)).status, 422);
});

test("the token stands in no log line, no event and no column", async () => {
  const { token, invitation_id } = await invite({ role: "admin" });
  const secret = token.slice(37);
  await ask("owner", "GET", URL);
  await accept("member", token); // 409
  await accept("spy", `${token}x`); // 403
  await world.service.request({
    method: "POST",
    url: `${URL}/accept`,
    token: await person("spy", "x"),
    body: `{"token": "${token}"`, // malformed
  });
  await ask("owner", "POST", URL, { role: token }); // 422
  await accept("joiner", token);
  await ask("owner", "DELETE", `${URL}/${invitation_id}`);
  const { token: open } = await invite();
  const logged = JSON.stringify(world.service.logs);
  assert.ok(logged.includes("incoming request"));
  const tables = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('app', 'control', 'audit') and c.relkind = 'r'`;
  for (const hidden of [secret, open.slice(37)]) {
    assert.ok(!logged.includes(hidden));
    for (const { name } of tables) {
      const found = await sql.unsafe(`select from ${name} t where strpos(t::text, $1) > 0`, [hidden]);
      assert.equal(found.count, 0, name);
    }
  }
});

test("a tenant has a thousand open invitations at most, under parallel requests too", async () => {
  const full = await seedTenant(sql, { slug: "full" });
  const boss = await seedUser(sql, full, { subject: "boss", role: "owner" });
  await sql`
    insert into app.invitations (tenant_id, token_hash, invited_by)
    select ${full}, sha256(n::text::bytea), ${boss} from generate_series(1, 998) n`;
  await sql`
    insert into app.invitations (tenant_id, token_hash, invited_by, created_at, expires_at)
    select ${full}, sha256(n::text::bytea), ${boss}, now() - interval '2 days', now() - interval '1 day' from generate_series(2001, 2100) n`;
  const more = () => ask("boss", "POST", URL, { role: "member" }, { tenant: "full" });
  const answers = await Promise.all(Array.from({ length: 6 }, more));
  assert.equal(answers.filter(({ status }) => status === 201).length, 2);
  const refused = { error: "Conflict", detail: "The tenant has 1000 open invitations; revoke one first" };
  for (const answer of answers.filter(({ status }) => status !== 201)) assertError(answer, 409, refused);
  const one = answers.find(({ status }) => status === 201)!.body.invitation_id;
  assert.equal((await ask("boss", "DELETE", `${URL}/${one}`, undefined, { tenant: "full" })).status, 200);
  assert.equal((await more()).status, 201);
});
