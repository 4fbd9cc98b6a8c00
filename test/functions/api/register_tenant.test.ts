import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { type Caller, call, placesOf, refused, type Transaction } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

interface Registration {
  name?: string;
  slug?: string | null;
  base?: string;
  domain?: string | null;
  sample?: boolean;
  approval?: boolean;
  limit?: number | null;
  domains?: string[] | null;
}
const values = ({
  name = "Acme",
  slug = null,
  base = "acme",
  domain = "acme.com",
  sample = false,
  approval = false,
  limit = null,
  domains = null,
}: Registration) => [
  name,
  slug,
  base,
  domain,
  { admin_email: `ann@${domain}`, metadata: { k: 1 } },
  sample,
  approval,
  limit,
  domains,
  "https://app.example",
];
const register = (tx: Transaction, given: Registration, caller: Partial<Caller> = {}) =>
  call(tx, "register_tenant", { slug: "nowhere-yet", ...caller }, ...values(given));

test("register_tenant makes the caller the owner and returns the body of the specification", () =>
  rolledBack(database.sql, async tx => {
    const { body, status } = await register(tx, { slug: "acme", sample: true });
    assert.equal(status, "active");
    assert.deepEqual(
      { ...body, tenant_id: "" },
      {
        tenant_id: "",
        organization_name: "Acme",
        tenant_slug: "acme",
        status: "active",
        admin_instructions: "Send the header X-Tenant: acme on all API requests.",
        dashboard_url: "https://app.example/?tenant=acme",
        api_access: {
          tenant_header: "X-Tenant: acme",
          graphql_endpoint: "/graphql",
          api_base_url: "/api",
          authentication_required: true,
        },
      },
    );
    const [row] = await tx`
      select u.auth_provider, u.auth_subject, u.email, u.role, t.registration, b.title
      from app.users u join app.tenants t on t.id = u.tenant_id join app.boards b on b.tenant_id = u.tenant_id and b.owner_id = u.id`;
    assert.deepEqual(
      { ...row },
      {
        auth_provider: "jwt",
        auth_subject: "ann",
        email: "ann@acme.com",
        role: "owner",
        title: "Welcome board",
        registration: { admin_email: "ann@acme.com", metadata: { k: 1 } },
      },
    );
  }));

test("the order of refusals is mode, tenant, domain, limit, slug", () =>
  rolledBack(database.sql, async tx => {
    await seedTenant(tx, { slug: "taken" });
    const owned = await seedTenant(tx, { slug: "owned" });
    await seedUser(tx, owned, { subject: "ann", role: "owner" });
    const all: Registration = { slug: "taken", domain: "evil.com", domains: ["acme.com"], limit: 1 };
    await refused(
      register(tx, all, { slug: null }),
      403,
      "Registration disabled",
      "Tenant registration is only available in multi-tenant mode",
    );
    await refused(
      register(tx, all, { slug: "taken" }),
      403,
      "Access denied",
      "User does not belong to tenant",
    );
    await refused(
      register(tx, all),
      403,
      "Domain not allowed",
      "Email domain 'evil.com' is not allowed for registration",
    );
    await assert.rejects(register(tx, { ...all, domain: null }), /not allowed for registration/);
    await refused(
      register(tx, { ...all, domains: null }),
      403,
      "Tenant limit reached",
      "A user may own at most 1 tenant(s)",
    );
    await refused(
      register(tx, { ...all, domains: null, limit: 2 }),
      409,
      "Conflict",
      "A tenant with slug 'taken' already exists",
    );
    await register(tx, { slug: "free", domain: "acme.com", domains: ["beta.com", "acme.com"], limit: 2 });
    // A caller who has only used the default tenant names that one.
    await seedTenant(tx, { slug: "default", isDefault: true });
    await register(tx, { slug: "from-there" }, { slug: "default", subject: "eve" });
  }));

test("the limit counts owned tenants, also pending ones, and not those that the caller left", () =>
  rolledBack(database.sql, async tx => {
    for (const role of ["member", "admin"])
      await seedUser(tx, await seedTenant(tx, { slug: role }), { subject: "ann", role });
    const left = await seedUser(tx, await seedTenant(tx, { slug: "left" }), {
      subject: "ann",
      role: "owner",
    });
    await tx`update app.users set removed_at = now() where id = ${left}`;
    await seedUser(tx, await seedTenant(tx, { slug: "of-another-issuer" }), {
      subject: "ann",
      provider: "https://other",
      role: "owner",
    });
    await register(tx, { slug: "one", limit: 1, approval: true });
    await refused(
      register(tx, { slug: "two", limit: 1 }),
      403,
      "Tenant limit reached",
      "A user may own at most 1 tenant(s)",
    );
  }));

test("an automatic slug takes the first free suffix, and a long one is cut to make room", () =>
  rolledBack(database.sql, async tx => {
    const slug = async (base: string) => (await register(tx, { base })).body.tenant_slug;
    assert.deepEqual(
      [await slug("acme"), await slug("acme"), await slug("acme")],
      ["acme", "acme-2", "acme-3"],
    );
    await tx`delete from app.tenants where slug = 'acme-2'`;
    assert.equal(await slug("acme"), "acme-2");
    const long = "x".repeat(255);
    assert.equal(await slug(long), long);
    const next = await slug(long);
    assert.ok(next.length <= 255 && /^x+-2$/.test(next), next);
    assert.match(await slug(`${"y".repeat(246)}-${"y".repeat(8)}`), /^y{246}-y{8}$/);
    assert.match(await slug(`${"y".repeat(246)}-${"y".repeat(8)}`), /^y{246}-2$/);
  }));

test("until its approval a registration refuses everybody, its owner included", () =>
  rolledBack(database.sql, async tx => {
    const { body, status } = await register(tx, { slug: "acme", approval: true });
    assert.deepEqual([status, body.status], ["pending", "pending"]);
    assert.match(body.admin_instructions, /waits for approval.*X-Tenant: acme/);
    const enter = () => call(tx, "get_current_tenant", { slug: "acme" });
    await refused(enter(), 403, "Access denied", "User does not belong to tenant");
    const operator = { slug: "acme", subject: "op", operator: true };
    await call(tx, "approve_tenant", operator, body.tenant_id);
    assert.equal((await enter()).body.membership.role, "owner");
    await call(tx, "suspend_tenant", operator, body.tenant_id);
    await refused(enter(), 403, "Access denied", "User does not belong to tenant");
  }));

/** Parallel calls as the service's login, each on its own connection. */
async function inParallel(calls: { caller: string; given: Registration }[]) {
  const logins = calls.map(() => postgres(database.urls.service, { max: 1, onnotice: () => {} }));
  try {
    await Promise.all(logins.map(login => login`select 1`));
    return await Promise.all(
      calls.map(async ({ caller, given }, i) => {
        const all = ["nowhere-yet", "jwt", caller, null, null, null, ...values(given)];
        const places = placesOf(all.length);
        return logins[i]!.unsafe(
          `select body ->> 'tenant_slug' as slug from api.register_tenant(${places})`,
          all as never[],
        ).then(
          ([row]) => row!.slug as string,
          error => `${error.code} ${error.constraint_name}`,
        );
      }),
    );
  } finally {
    await Promise.all(logins.map(login => login.end()));
  }
}

const times = <T>(n: number, make: (i: number) => T) => Array.from({ length: n }, (_, i) => make(i));

test("of 30 parallel registrations of one slug exactly one succeeds, with one tenant and one owner", async () => {
  const results = await inParallel(
    times(30, i => ({ caller: `p${i}`, given: { slug: "parallel", sample: true } })),
  );
  assert.equal(results.filter(result => result === "parallel").length, 1);
  assert.equal(results.filter(result => result === "TM409 tenants_slug_key").length, 29);
  const [row] = await database.sql`
    select (select count(*)::int from app.tenants where slug = 'parallel') as tenants,
           (select count(*)::int from app.users where auth_subject like 'p%') as owners, (select count(*)::int from app.boards) as boards`;
  assert.deepEqual({ ...row }, { tenants: 1, owners: 1, boards: 1 });
});

test("of 30 parallel registrations of one user exactly as many succeed as the limit allows", async () => {
  const results = await inParallel(
    times(30, i => ({ caller: "greedy", given: { slug: `greedy-${i}`, limit: 3 } })),
  );
  assert.equal(results.filter(result => result.startsWith("greedy-")).length, 3);
  assert.equal(results.filter(result => result === "TM403 tenant_limit").length, 27);
  assert.equal((await database.sql`select from app.users where auth_subject = 'greedy'`).count, 3);
});

test("30 parallel registrations without a slug get 30 different ones", async () => {
  const results = await inParallel(times(30, i => ({ caller: `auto${i}`, given: { base: "auto" } })));
  assert.deepEqual(results.sort(), ["auto", ...times(29, i => `auto-${i + 2}`)].sort());
});

test("the count of tenants is exact after parallel registrations", async () => {
  const [row] =
    await database.sql`select app.count_tenants(null)::int as counted, (select count(*)::int from app.tenants) as there`;
  assert.equal(row!.counted, row!.there);
});
