import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Service, seedTenant, seedUser, withService } from "../harness.ts";
import { assertError, createWorld, DENIED, operator, person } from "./world.ts";

const world = await createWorld({ SERVICE_FRONTEND_BASE_URL: "https://app.example/" });
after(() => world.end());

let people = 0;
const somebody = () => `somebody-${++people}`;
const register = async (
  body: object,
  { sub = somebody(), tenant = "new-here", service = world.service as Service } = {},
) =>
  service.request({
    method: "POST",
    url: "/api/tenants/register",
    token: await person(sub, tenant),
    body: { organization_name: "Acme", admin_email: "ada@acme.com", ...body },
  });

/** Another service on the same database, with other settings, for one test. */
const besides = <T>(env: Record<string, string>, work: (service: Service) => Promise<T>) =>
  withService(world.database, env, work);

test("registration status answers the settings", async () => {
  const status = async (service: Service) =>
    (await service.request({ url: "/api/tenants/registration/status", token: await person("x", "new-here") }))
      .body;
  assert.deepEqual(await status(world.service), {
    enabled: true,
    requires_approval: false,
    max_tenants_per_user: null,
    allowed_domains: null,
  });
  const env = {
    SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL: "true",
    SERVICE_MAX_TENANTS_PER_USER: "3",
    SERVICE_TENANT_REGISTRATION_ALLOWED_DOMAINS: "Acme.com, bücher.example",
  };
  await besides(env, async service =>
    assert.deepEqual(await status(service), {
      enabled: true,
      requires_approval: true,
      max_tenants_per_user: 3,
      allowed_domains: ["acme.com", "xn--bcher-kva.example"],
    }),
  );
  await besides({ SERVICE_MULTI_TENANT_MODE: "false" }, async service =>
    assert.equal((await status(service)).enabled, false),
  );
});

test("registration that is switched off is 403 whatever the body, and its status says so", () =>
  besides({ SERVICE_TENANT_REGISTRATION_ENABLED: "false" }, async service => {
    for (const body of [{}, { organization_name: "" }])
      assertError(await register(body, { service }), 403, {
        error: "Registration disabled",
        detail: "Tenant registration is switched off",
      });
    const { body } = await service.request({
      url: "/api/tenants/registration/status",
      token: await person(somebody(), "new-here"),
    });
    assert.deepEqual([body.enabled, body.requires_approval], [false, false]);
  }));

test("a registration answers 201 and exactly the fields of the specification, and the caller is the owner", async () => {
  const { status, headers, body } = await register(
    { organization_slug: "first", organization_name: "First & Co" },
    { sub: "ada", tenant: "first" },
  );
  assert.equal(status, 201);
  assert.deepEqual(
    { ...body, tenant_id: "" },
    {
      tenant_id: "",
      organization_name: "First & Co",
      tenant_slug: "first",
      status: "active",
      admin_instructions: "Send the header X-Tenant: first on all API requests.",
      dashboard_url: "https://app.example/?tenant=first",
      api_access: {
        tenant_header: "X-Tenant: first",
        graphql_endpoint: "/graphql",
        api_base_url: "/api",
        authentication_required: true,
      },
    },
  );
  assert.equal(headers.location, `/api/setup/tenant/${body.tenant_id}`);
  const current = await world.service.request({
    url: "/api/tenants/current",
    token: await person("ada"),
    tenant: "first",
  });
  assert.deepEqual(
    [current.status, current.body.tenant.tenant_id, current.body.membership.role],
    [200, body.tenant_id, "owner"],
  );
  const boards = await world.service.request({ url: "/api/boards", token: await person("ada", "first") });
  assert.deepEqual(
    boards.body.boards.map((one: { title: string; owner_id: string }) => [one.title, one.owner_id]),
    [["Welcome board", current.body.membership.user_id]],
  );
});

test("a caller whose token names another tenant reads that X-Tenant does not count with that token", async () => {
  const asked = async (claims: object, slug: string) => {
    const { body } = await world.service.request({
      method: "POST",
      url: "/api/tenants/register",
      token: await person(somebody(), undefined, claims),
      tenant: "new-here",
      body: { organization_name: "Told", organization_slug: slug, admin_email: "a@told.example" },
    });
    return body.admin_instructions;
  };
  const told = (slug: string) => `Send the header X-Tenant: ${slug} on all API requests.`;
  assert.equal(await asked({}, "told-header"), told("told-header"));
  assert.equal(await asked({ email: "a@told.example" }, "told"), told("told"));
  assert.equal(
    await asked({ email: "a@told-not.example" }, "told-else"),
    `${told("told-else")} It counts only with a token that names no tenant: yours names told-not.`,
  );
});

test("all fields of the registration are kept with the tenant; the domain of the e-mail in lower case", async () => {
  const given = {
    admin_email: "Ada.Lovelace@ACME.Com",
    admin_name: "Ada",
    use_case: "u".repeat(500),
    organization_size: "enterprise",
    metadata: { a: [1, { b: null }] },
  };
  const { body } = await register({ ...given, include_sample_data: false });
  const [row] = await world.database.sql`
    select registration, email, display_name, (select count(*)::int from app.boards b where b.tenant_id = u.tenant_id) as boards
    from app.tenants t join app.users u on u.tenant_id = t.id where t.id = ${body.tenant_id}`;
  assert.deepEqual(
    { ...row },
    {
      registration: { ...given, admin_email: "Ada.Lovelace@acme.com" },
      email: "Ada.Lovelace@acme.com",
      display_name: "Ada",
      boards: 0,
    },
  );
  const unnamed = await world.service.request({
    method: "POST",
    url: "/api/tenants/register",
    token: await person(somebody(), "new-here", { name: "Grace" }),
    body: { organization_name: "Unnamed", admin_email: "grace@acme.com" },
  });
  const [owner] = await world.database
    .sql`select display_name from app.users where tenant_id = ${unnamed.body.tenant_id}`;
  assert.equal(owner!.display_name, "Grace");
});

test("slugs are made from the name: slugified, numbered when taken, random when too short", async () => {
  const slug = async (organization_name: string) =>
    (await register({ organization_name, include_sample_data: false })).body.tenant_slug;
  assert.deepEqual(
    [await slug("Müller & Söhne"), await slug("Müller & Söhne"), await slug("muller  SOHNE!")],
    ["muller-sohne", "muller-sohne-2", "muller-sohne-3"],
  );
  for (const name of ["株式会社", "!!", "AB", "🙂"]) assert.match(await slug(name), /^org-[a-z0-9]{8}$/);
  assert.equal(await slug("abc"), "abc");
  const long = "x".repeat(255);
  assert.deepEqual([await slug(long), (await slug(long)).replace(/x+/, "")], [long, "-2"]);
});

test("a chosen slug that is taken is a conflict, an invalid one 422", async () => {
  await seedTenant(world.database.sql, { slug: "used" });
  assertError(await register({ organization_slug: "used" }), 409, {
    error: "Conflict",
    detail: "A tenant with slug 'used' already exists",
  });
  for (const organization_slug of ["Used", "", "a b", "x".repeat(256), null, 1])
    assert.equal((await register({ organization_slug })).status, 422);
});

const refused: [what: string, body: object, field: string][] = [
  ["no name", { organization_name: undefined }, "organization_name"],
  ["a blank name", { organization_name: " " }, "organization_name"],
  ["no e-mail", { admin_email: undefined }, "admin_email"],
  ...[
    "ada",
    "acme.com",
    "mail.acme.co.uk",
    "ada@",
    "@acme.com",
    "ada@acme.com.",
    "a b@acme.com",
    "ada@localhost",
    "ada@acme..com",
    "ada@-acme.com",
    "ada@127.0.0.1",
    "ada@acme.com\n",
    "a@b@acme.com",
    ".a@acme.com",
    `${"a".repeat(65)}@acme.com`,
    "Ada <ada@acme.com>",
    "ada@acme.com/evil.com",
    5,
    null,
    "a\u001b@acme.com",
    "a\u0085b@acme.com",
  ].map((admin_email): [string, object, string] => [
    `the e-mail ${JSON.stringify(admin_email)}`,
    { admin_email },
    "admin_email",
  ]),
  ["an unknown size", { organization_size: "huge" }, "organization_size"],
  ["a long use case", { use_case: "u".repeat(501) }, "use_case"],
  ["a name of white space", { admin_name: " \u0085\t" }, "admin_name"],
  ["an empty name", { admin_name: "" }, "admin_name"],
  ["metadata that is no object", { metadata: "x" }, "metadata"],
  ["NUL in metadata", { metadata: { a: "\0" } }, "metadata.a"],
  ["a number for a boolean", { include_sample_data: 1 }, "include_sample_data"],
  ["an unknown field", { plan: "free" }, "plan"],
];
test("an invalid field is 422 with its name", async () => {
  for (const [what, body, field] of refused) {
    const answer = await register(body);
    assert.deepEqual(
      [answer.status, answer.body.error, answer.body.errors?.[0].field],
      [422, "Validation failed", field],
      what,
    );
    if (what.startsWith('the e-mail "'))
      assert.equal(answer.body.errors[0].message, "must be an e-mail address", what);
  }
  for (const admin_email of [
    "ada@mail.acme.co.uk",
    "o'brien+tag@acme.com",
    "jörg@bücher.example",
    `${"a".repeat(64)}@acme.com`,
  ])
    assert.equal((await register({ admin_email })).status, 201, admin_email);
});

test("only allowed domains register: in any case, after IDNA, without their subdomains", async () => {
  await besides({ SERVICE_TENANT_REGISTRATION_ALLOWED_DOMAINS: "acme.com,bücher.example" }, async service => {
    const status = async (admin_email: string) => (await register({ admin_email }, { service })).status;
    for (const email of [
      "a@acme.com",
      "a@ACME.COM",
      "a@bücher.example",
      "a@BÜCHER.example",
      "a@xn--bcher-kva.example",
    ])
      assert.equal(await status(email), 201, email);
    for (const email of ["a@evil.com", "a@sub.acme.com", "a@acme.com.evil.com", "a@notacme.com"])
      assert.equal(await status(email), 403, email);
    assertError(await register({ admin_email: "a@Evil.com" }, { service }), 403, {
      error: "Domain not allowed",
      detail: "Email domain 'evil.com' is not allowed for registration",
    });
  });
});

test("the checks come in the order mode, domain, limit, slug", async () => {
  const { sql } = world.database;
  await seedTenant(sql, { slug: "order-used" });
  await seedUser(sql, await seedTenant(sql, { slug: "order-owned" }), { subject: "orderly", role: "owner" });
  const env = { SERVICE_TENANT_REGISTRATION_ALLOWED_DOMAINS: "acme.com", SERVICE_MAX_TENANTS_PER_USER: "1" };
  const attempt = (service: Service, body: object, sub = "orderly") =>
    register({ organization_slug: "order-used", admin_email: "a@evil.com", ...body }, { sub, service });
  await besides({ ...env, SERVICE_MULTI_TENANT_MODE: "false" }, async service =>
    assertError(await attempt(service, {}), 403, {
      error: "Registration disabled",
      detail: "Tenant registration is only available in multi-tenant mode",
    }),
  );
  await sql`delete from control.rate_limits`;
  await besides(env, async service => {
    assert.equal((await attempt(service, {})).body.error, "Domain not allowed");
    assertError(await attempt(service, { admin_email: "a@acme.com" }), 403, {
      error: "Tenant limit reached",
      detail: "A user may own at most 1 tenant(s)",
    });
    assert.equal((await attempt(service, { admin_email: "a@acme.com" }, "fresh")).body.error, "Conflict");
  });
});

test("a registration that needs approval is 202 and pending; its owner gets in after an operator approves", async () => {
  await besides({ SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL: "true" }, async service => {
    const { status, body } = await register({ organization_slug: "later" }, { sub: "late", service });
    assert.deepEqual([status, body.status], [202, "pending"]);
    assert.match(body.admin_instructions, /waits for approval.*X-Tenant: later/);
    const enter = async () => service.request({ url: "/api/boards", token: await person("late", "later") });
    assertError(await enter(), 403, DENIED);
    const mine = await service.request({ url: "/api/tenants/mine", token: await person("late", "later") });
    assert.deepEqual(
      mine.body.tenants.map((one: { slug: string; status: string }) => [one.slug, one.status]),
      [["later", "pending"]],
    );
    const move = async (name: string) =>
      service.request({
        method: "POST",
        url: `/api/setup/tenant/${body.tenant_id}/${name}`,
        token: await operator(),
      });
    assert.equal((await move("approve")).status, 200);
    assert.equal((await enter()).status, 200);
    assert.equal((await move("suspend")).status, 200);
    assertError(await enter(), 403, DENIED);
    assert.equal((await move("resume")).status, 200);
    assert.equal((await enter()).status, 200);
  });
});

const times = <T>(n: number, make: (i: number) => T) => Array.from({ length: n }, (_, i) => make(i));

test("30 people register one slug at once: one wins, 29 read the conflict", async () => {
  const answers = await Promise.all(times(30, () => register({ organization_slug: "rush" })));
  assert.equal(answers.filter(answer => answer.status === 201).length, 1);
  for (const answer of answers.filter(one => one.status !== 201))
    assertError(answer, 409, { error: "Conflict", detail: "A tenant with slug 'rush' already exists" });
});

test("30 people register one name at once and get 30 slugs", async () => {
  const answers = await Promise.all(times(30, () => register({ organization_name: "Crowd" })));
  assert.deepEqual(
    answers.map(answer => answer.body.tenant_slug as string).sort(),
    ["crowd", ...times(29, i => `crowd-${i + 2}`)].sort(),
  );
});

test("one person with a limit of 3 registers 30 times at once: exactly 3 pass", async () => {
  // Another test has the rate limit: here the window has room for all.
  await world.database
    .sql`insert into control.rate_limits values ('register', E'jwt\ngreedy', -100, now() + interval '1 hour')`;
  await besides({ SERVICE_MAX_TENANTS_PER_USER: "3" }, async service => {
    const answers = await Promise.all(
      times(30, i => register({ organization_slug: `greedy-${i}` }, { sub: "greedy", service })),
    );
    assert.equal(answers.filter(answer => answer.status === 201).length, 3);
    for (const answer of answers.filter(one => one.status !== 201))
      assertError(answer, 403, {
        error: "Tenant limit reached",
        detail: "A user may own at most 3 tenant(s)",
      });
  });
});

test("without a frontend address the dashboard is a path", async () => {
  await besides({}, async service =>
    assert.equal(
      (await register({ organization_slug: "pathless" }, { service })).body.dashboard_url,
      "/?tenant=pathless",
    ),
  );
});
