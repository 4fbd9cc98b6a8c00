import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedTenant, seedUser, token, withRole, withService } from "../harness.ts";
import { createWorld } from "./world.ts";

const world = await createWorld();
const { sql } = world.database;
const acme = await seedTenant(sql, { slug: "acme" });
const alice = await seedUser(sql, acme, { subject: "alice", role: "owner" });
await sql`insert into app.boards (tenant_id, owner_id, title) values (${acme}, ${alice}, 'One'), (${acme}, ${alice}, 'Two')`;
await seedUser(sql, acme, { subject: "gone" });
await sql`update app.users set removed_at = now() where auth_subject = 'gone'`;
await seedTenant(sql, { slug: "globex", status: "suspended" });
const operator = await token({ sub: "op", tenant: "acme", roles: ["tenant-operator"] });
after(() => world.end());

const now = () => Math.floor(Date.now() / 1000);
const bySlug = async (query: string) =>
  (await world.service.request({ url: `/api/setup/explain?${query}`, token: operator })).body;
const byClaims = async (claims: object, header?: string) =>
  (
    await world.service.request({
      method: "POST",
      url: "/api/setup/explain",
      token: operator,
      body: { claims, ...(header === undefined ? {} : { header }) },
    })
  ).body;

test("a member is found by an e-mail address", async () => {
  await sql`update app.users set email = 'Al@acme.example' where id = ${alice}`;
  const found = await bySlug("tenant=acme&email=al@ACME.example");
  assert.deepEqual([found.allowed, found.identity.subject], [true, "alice"]);
  const unknown = await bySlug("tenant=acme&email=nobody@acme.example");
  assert.equal(unknown.because, "No member of the tenant has the e-mail address nobody@acme.example");
});

test("a query with an impossible slug or identity is 422", async () => {
  for (const query of ["tenant=UPPER", "provider=", "colour=red", "email=", "subject=a&email=a@b.example"])
    assert.equal((await bySlug(query)).error, "Validation failed", query);
});

test("a member: allowed, with the membership and what each table shows", async () => {
  const found = await bySlug("tenant=acme&subject=alice");
  assert.equal(found.allowed, true);
  assert.equal(found.because, "alice is a member of the tenant, as owner");
  assert.deepEqual(
    [found.tenant.slug, found.tenant.source, found.tenant.status],
    ["acme", "given", "active"],
  );
  assert.equal(found.membership.role, "owner");
  assert.deepEqual(found.roles.login, { name: "tms_service", superuser: false, bypassrls: false });
  assert.deepEqual(
    found.tables.find(({ table }: { table: string }) => table === "app.boards"),
    { table: "app.boards", row_security: "forced", held: 2, shown: 2, more: false },
  );
  assert.deepEqual(found.notes, []);
});

test("the answer tells a policy that hides the tenant's rows from a tenant without rows", async () => {
  await sql`create policy hides on app.boards as restrictive to tms_app using (title <> 'Two')`;
  const found = await bySlug("tenant=acme&subject=alice");
  const refused = await bySlug("tenant=acme&subject=bob");
  await sql`drop policy hides on app.boards`;
  assert.deepEqual(refused.notes, [], "nothing is shown in any case");
  const boards = found.tables.find(({ table }: { table: string }) => table === "app.boards");
  assert.deepEqual([boards.held, boards.shown], [2, 1]);
  assert.deepEqual(found.notes, [
    "A table shows fewer rows than the tenant has: npm run audit says which policy hides them",
  ]);
});

const REFUSED: [query: string, because: string, held: number][] = [
  ["tenant=acme&subject=bob", "bob of jwt is not a member of the tenant", 2],
  [
    "tenant=acme&subject=alice&provider=https://issuer.example",
    "alice of https://issuer.example is not a member of the tenant",
    2,
  ],
  ["tenant=acme&subject=gone", "The membership was ended", 2],
  ["tenant=globex&subject=alice", "The tenant is suspended", 0],
  ["tenant=initech&subject=alice", "No tenant has the slug initech", 0],
  ["tenant=acme", "No identity is given", 2],
];
for (const [query, because, held] of REFUSED) {
  test(`refused: ${because}; nothing is shown`, async () => {
    const found = await bySlug(query);
    assert.deepEqual([found.allowed, found.because], [false, because]);
    const boards = found.tables.find(({ table }: { table: string }) => table === "app.boards");
    assert.deepEqual([boards.held, boards.shown], [held, 0]);
  });
}

test("without a tenant it explains the default one, which strangers join only in single-tenant mode", async () => {
  const found = await bySlug("subject=bob");
  assert.deepEqual([found.allowed, found.because], [false, "bob of jwt is not a member of the tenant"]);
  assert.deepEqual([found.tenant.slug, found.tenant.is_default], ["default", true]);
  const asked = await withService(world.database, { SERVICE_MULTI_TENANT_MODE: "false" }, single =>
    single.request({ url: "/api/setup/explain?subject=bob", token: operator }),
  );
  assert.equal(asked.body.allowed, true);
});

test("claims: the answer names the claim that a request would take the tenant from", async t => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() }); // the last one is at the edge of what clocks may differ
  for (const [claims, header, source] of [
    // First, since the other cases take seconds on a slow machine.
    [{ sub: "alice", exp: now() - 3, nbf: now() + 3 }, "acme", "header"],
    [{ sub: "alice", tenant: "acme" }, "globex", "tenant"],
    [{ sub: "alice", org_name: "ACME" }, undefined, "organization"],
    [{ sub: "alice", team: "acme" }, undefined, "namespace"],
    [{ sub: "alice", email: "alice@acme.com" }, undefined, "email"],
    [{ sub: "alice" }, "acme", "header"],
  ] as const) {
    const found = await byClaims(claims, header);
    assert.deepEqual([found.allowed, found.tenant.source, found.tenant.slug], [true, source, "acme"]);
  }
});

test("claims that are refused before the database are answered with that refusal", async () => {
  for (const [claims, header, status, reason] of [
    [{ sub: "alice" }, undefined, 400, "tenant_missing"],
    [{ sub: "alice" }, "Not A Slug", 400, "tenant_header_malformed"],
    [{ sub: "alice", tenant: "Not A Slug" }, undefined, 403, "tenant_claim_malformed"],
    [{ tenant: "acme" }, undefined, 401, "subject"],
    [{ sub: "alice", tenant: "acme", exp: 1 }, undefined, 401, "expired"],
    [{ sub: "alice", tenant: "acme", exp: null }, undefined, 401, "expiry"],
    [{ sub: "alice", tenant: "acme", nbf: now() + 60 }, undefined, 401, "not_yet_valid"],
    [{ sub: "alice", tenant: "acme", nbf: "0" }, undefined, 401, "invalid"],
  ] as const) {
    const found = await byClaims(claims, header);
    assert.equal(found.allowed, false);
    assert.deepEqual([found.refusal.status, found.refusal.reason], [status, reason]);
    assert.equal(found.because, found.refusal.detail);
  }
  const body = { claims: { sub: "alice" } };
  const { headers } = await world.service.request({
    method: "POST",
    url: "/api/setup/explain",
    token: operator,
    body,
  });
  assert.equal(headers["cache-control"], "no-store");
});

test("for an operator's claims the answer says that setup needs no membership", async () => {
  const found = await byClaims({ sub: "someone", tenant: "acme", roles: ["tenant-operator"] });
  assert.deepEqual([found.allowed, found.operator], [false, true]);
  assert.match(found.notes[0], /setup endpoints ask for no membership, those for members do$/);
});

test("explain is for operators, and counts against their limit", async () => {
  const alice = await token({ sub: "alice", tenant: "acme" });
  const refused = await world.service.request({ url: "/api/setup/explain?tenant=acme", token: alice });
  assert.equal(refused.status, 403);
  const alicesClaims = { claims: { sub: "x" } };
  const post = await world.service.request({
    method: "POST",
    url: "/api/setup/explain",
    token: alice,
    body: alicesClaims,
  });
  assert.equal(post.status, 403);
  assert.ok(refused.headers["x-ratelimit-remaining"]);
});

test("single-tenant mode: a stranger would join the default tenant, and explaining that writes nothing", async () => {
  await withService(world.database, { SERVICE_MULTI_TENANT_MODE: "false" }, async single => {
    const admin = await token({ sub: "op", roles: "tenant-operator" });
    const { body } = await single.request({
      method: "POST",
      url: "/api/setup/explain",
      token: admin,
      body: { claims: { sub: "new" } },
    });
    assert.deepEqual(
      [body.allowed, body.tenant.slug, body.tenant.source],
      [true, "default", "single_tenant"],
    );
    assert.match(body.because, /joins the default tenant/);
    const bySlug = await single.request({
      url: "/api/setup/explain?tenant=default&subject=new",
      token: admin,
    });
    assert.equal(bySlug.body.allowed, false);
    assert.ok(bySlug.body.notes.some((note: string) => /single-tenant mode .* joins it/.test(note)));
    assert.deepEqual(
      await world.database.sql`select from app.users where auth_subject = 'new'`.then(rows => rows.length),
      0,
    );
  });
});

test("a DBA explains access in psql; for a superuser the answer says that RLS hides no rows", async () => {
  const ask = (sql: typeof world.database.sql) => sql<{ found: { allowed: boolean; notes: string[] } }[]>`
    select api.explain_access('acme', 'jwt', 'alice') as found`;
  const [asAuditor] = await withRole(world.database.sql, "tms_auditor", null, sql => ask(sql as never));
  assert.equal(asAuditor!.found.allowed, true);
  assert.match(asAuditor!.found.notes[0]!, /which sees every row whatever app\.tenant_id says/);
  await assert.rejects(
    withRole(world.database.sql, "tms_service", null, sql => ask(sql as never)),
    /permission denied/,
  );
});

test("explain leaves the transaction in its tenant", async () => {
  const [tenant] = await world.database.sql<{ id: string }[]>`select id from app.tenants where slug = 'acme'`;
  const [after] = await world.database.sql.begin(async sql => {
    await sql.unsafe(`set local app.tenant_id = '${tenant!.id}'`);
    await sql`select api.explain_access('globex', 'jwt', 'alice'), api.get_readiness(null)`;
    return sql<{ id: string }[]>`select app.tenant_id() as id`;
  });
  assert.equal(after!.id, tenant!.id);
});
