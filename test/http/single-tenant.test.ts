import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createDatabase,
  createService,
  type Database,
  type Service,
  seedTenant,
  seedUser,
} from "../harness.ts";
import { assertError, DENIED, operator, person } from "./world.ts";

const SINGLE = { SERVICE_MULTI_TENANT_MODE: "false" };

async function inModes(
  work: (database: Database, start: (env?: Record<string, string>) => Promise<Service>) => Promise<void>,
) {
  const database = await createDatabase();
  let service: Service | undefined;
  const start = async (env: Record<string, string> = {}) => {
    await service?.close();
    service = await createService(database, env);
    return service;
  };
  try {
    await work(database, start);
  } finally {
    await service?.close();
    await database.drop();
  }
}

test("every verified caller acts in the default tenant; X-Tenant and claims are ignored, malformed ones too", () =>
  inModes(async (database, start) => {
    const service = await start(SINGLE);
    await seedTenant(database.sql, { slug: "acme" });
    for (const [claims, tenant] of [
      [{}, undefined],
      [{ tenant: "acme" }, undefined],
      [{ tenant: "NOT A SLUG" }, undefined],
      [{ org: ["x"] }, "acme"],
      [{}, "Not A Slug"],
      [{}, ""],
    ] as const) {
      const { status, body } = await service.request({
        url: "/api/tenants/current",
        token: await person("ann", undefined, claims),
        ...(tenant !== undefined && { tenant }),
      });
      assert.deepEqual(
        [status, body.tenant.slug, body.tenant.name, body.membership.role],
        [200, "default", "Default Tenant", "member"],
      );
    }
    assert.equal((await database.sql`select from app.users`).count, 1);
    assert.ok(service.logs.some(line => line.msg === "tenant resolved" && line.tenant_slug === "default"));
  }));

test("20 parallel first requests of a new user make one row and 20 answers", () =>
  inModes(async (database, start) => {
    const service = await start(SINGLE);
    await database.sql`alter table app.users alter column role set default 'owner'`; // by somebody else's hand
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        person("new", undefined, { iat: i, email: "new@acme.com", name: "New" }),
      ),
    );
    const answers = await Promise.all(
      tokens.map(token => service.request({ url: "/api/tenants/current", token })),
    );
    assert.deepEqual(
      answers.map(answer => answer.status),
      Array.from({ length: 20 }, () => 200),
    );
    assert.equal(new Set(answers.map(answer => answer.body.membership.user_id)).size, 1);
    assert.deepEqual(
      [...(await database.sql`select auth_provider, auth_subject, email, display_name, role from app.users`)],
      [
        {
          auth_provider: "jwt",
          auth_subject: "new",
          email: "new@acme.com",
          display_name: "New",
          role: "member",
        },
      ],
    );
  }));

test("a first request may list the caller's tenants: the default one is there, with older memberships", () =>
  inModes(async (database, start) => {
    const service = await start(SINGLE);
    const acme = await seedTenant(database.sql, { slug: "acme" });
    await seedUser(database.sql, acme, { subject: "ann", role: "owner" });
    const ask = async (url: string) => (await service.request({ url, token: await person("ann") })).body;
    const first = await ask("/api/tenants/mine");
    assert.deepEqual(
      first.tenants.map((tenant: { slug: string; role: string }) => [tenant.slug, tenant.role]),
      [
        ["acme", "owner"],
        ["default", "member"],
      ],
    );
    assert.equal(first.total_count, 2);
    assert.deepEqual(await ask("/api/tenants/mine"), first);
    const { membership } = await ask("/api/tenants/current");
    assert.equal(first.tenants[1].joined_at, membership.joined_at);
  }));

test("a first request may read the status of registration: the caller is a member from then on", () =>
  inModes(async (database, start) => {
    const service = await start(SINGLE);
    const ask = async () =>
      service.request({ url: "/api/tenants/registration/status", token: await person("ann") });
    const enabled = (await Promise.all(Array.from({ length: 5 }, ask))).map(({ body }) => body.enabled);
    assert.deepEqual(enabled, [false, false, false, false, false]);
    assert.deepEqual(
      [...(await database.sql`select auth_subject, role from app.users`)],
      [{ auth_subject: "ann", role: "member" }],
    );
    await database.sql`update app.users set removed_at = now()`;
    assert.equal((await ask()).status, 200, "whoever belongs nowhere is told, too");
  }));

test("a removed member of the default tenant does not come back with the next request", () =>
  inModes(async (database, start) => {
    const service = await start(SINGLE);
    const ask = async () => service.request({ url: "/api/tenants/current", token: await person("ann") });
    assert.equal((await ask()).status, 200);
    await database.sql`update app.users set removed_at = now()`;
    assertError(await ask(), 403, DENIED);
  }));

test("registration is off, the default tenant can be neither deleted nor suspended, others can", () =>
  inModes(async (database, start) => {
    const service = await start(SINGLE);
    const send = async (method: "GET" | "POST" | "PUT" | "DELETE", url: string, body?: object) =>
      service.request({ method, url, token: await operator(), body });
    for (const body of [{ organization_name: "x", admin_email: "a@example.com" }, {}, undefined])
      assertError(await send("POST", "/api/tenants/register", body), 403, {
        error: "Registration disabled",
        detail: "Tenant registration is only available in multi-tenant mode",
      });
    const { body: status } = await send("GET", "/api/setup/status");
    assert.deepEqual(
      [status.setup_needed, status.has_default_tenant, status.multi_tenant_mode],
      [false, true, false],
    );
    const url = `/api/setup/tenant/${status.default_tenant_id}`;
    // Renaming it does not make it deletable.
    assert.equal((await send("PUT", url, { slug: "renamed", name: "Renamed" })).status, 200);
    assertError(await send("DELETE", url), 400, {
      error: "Default tenant",
      detail: "The default tenant cannot be deleted in single-tenant mode",
    });
    assertError(await send("POST", `${url}/suspend`), 409, {
      error: "Conflict",
      detail: "The default tenant cannot be suspended in single-tenant mode",
    });
    const other = await seedTenant(database.sql, { slug: "other" });
    assert.equal((await send("POST", `/api/setup/tenant/${other}/suspend`)).status, 200);
    assert.equal((await send("DELETE", `/api/setup/tenant/${other}`)).status, 200);
  }));

test("the default tenant is made once, with the configured name; another slug at a later start changes nothing", () =>
  inModes(async (database, start) => {
    await start({
      ...SINGLE,
      SERVICE_DEFAULT_TENANT_SLUG: "main",
      SERVICE_DEFAULT_TENANT_NAME: "Main Tenant",
    });
    await start({ ...SINGLE, SERVICE_DEFAULT_TENANT_SLUG: "another" });
    await start();
    assert.deepEqual(
      [...(await database.sql`select slug, name, is_default from app.tenants`)],
      [{ slug: "main", name: "Main Tenant", is_default: true }],
    );
  }));

test("a renamed default tenant is still found, and logs use the configured slug", () =>
  inModes(async (database, start) => {
    const logged = async (env: Record<string, string>) => {
      const service = await start({ ...SINGLE, ...env });
      const { body } = await service.request({ url: "/api/tenants/current", token: await person("ann") });
      return [body.tenant.slug, service.logs.find(line => line.msg === "tenant resolved")?.tenant_slug];
    };
    assert.deepEqual(await logged({}), ["default", "default"]);
    await database.sql`update app.tenants set slug = 'acme' where is_default`;
    assert.deepEqual(await logged({}), ["acme", "default"]);
    assert.deepEqual(await logged({ SERVICE_DEFAULT_TENANT_SLUG: "acme" }), ["acme", "acme"]);
    assert.equal((await database.sql`select from app.tenants`).count, 1);
  }));

test("a missing default tenant means setup_needed; creating the default slug, only in this mode, fixes it", () =>
  inModes(async (_database, start) => {
    let service = await start();
    const send = async (method: "GET" | "POST" | "DELETE", url: string, body?: object) =>
      service.request({ method, url, token: await operator(), body });
    const { body } = await send("GET", "/api/setup/status");
    await send("DELETE", `/api/setup/tenant/${body.default_tenant_id}`);
    const make = (slug: string) => send("POST", "/api/setup/tenant", { name: slug, slug });
    const { tenant_id } = (await make("default")).body;
    assert.equal((await send("GET", "/api/setup/status")).body.has_default_tenant, false);
    await send("DELETE", `/api/setup/tenant/${tenant_id}`);
    service = await start(SINGLE);
    assert.equal((await make("other")).status, 201);
    assertError(
      await service.request({ url: "/api/tenants/current", token: await person("ann") }),
      403,
      DENIED,
    );
    const { body: missing } = await send("GET", "/api/setup/status");
    assert.deepEqual(
      [missing.setup_needed, missing.has_default_tenant, missing.default_tenant_id],
      [true, false, null],
    );
    assert.match(missing.recommendations.join("\n"), /no default tenant/);
    assert.equal((await make("default")).status, 201);
    assert.equal((await send("GET", "/api/setup/status")).body.setup_needed, false);
    assert.equal(
      (await service.request({ url: "/api/tenants/current", token: await person("ann") })).status,
      200,
    );
  }));

test("a default tenant that was suspended in the other mode means setup_needed, and the status says how to fix it", () =>
  inModes(async (_database, start) => {
    let service = await start();
    const send = async (method: "GET" | "POST", url: string) =>
      service.request({ method, url, token: await operator() });
    const { body } = await send("GET", "/api/setup/status");
    assert.equal((await send("POST", `/api/setup/tenant/${body.default_tenant_id}/suspend`)).status, 200);
    const { body: other } = await send("GET", "/api/setup/status");
    assert.deepEqual([other.setup_needed, other.recommendations], [false, body.recommendations]);
    service = await start(SINGLE);
    const { body: suspended } = await send("GET", "/api/setup/status");
    assert.equal(suspended.setup_needed, true);
    const [, advice] =
      /default tenant is suspended.*POST (\S+)/.exec(suspended.recommendations.join("\n")) ?? [];
    assert.equal((await send("POST", advice!)).status, 200);
    assert.equal((await send("GET", "/api/setup/status")).body.setup_needed, false);
    assert.equal(
      (await service.request({ url: "/api/tenants/current", token: await person("ann") })).status,
      200,
    );
  }));

test("switching multi-tenant mode on changes no row: the old data stays in the default tenant and visible to its users", () =>
  inModes(async (database, start) => {
    const { sql } = database;
    let service = await start(SINGLE);
    const ask = async (sub: string, tenant?: string) =>
      service.request({
        url: "/api/boards",
        token: await person(sub),
        ...(tenant !== undefined && { tenant }),
      });
    for (const sub of ["ann", "bob"]) assert.equal((await ask(sub)).status, 200);
    await sql`insert into app.boards (tenant_id, owner_id, title) select tenant_id, id, auth_subject || '''s' from app.users`;
    const titles = (answer: { body: { boards: { title: string }[] } }) =>
      answer.body.boards.map(board => board.title).sort();
    const rows = () =>
      sql`select (select json_agg(t order by id) from app.tenants t) as t, (select json_agg(u order by id) from app.users u) as u, (select json_agg(b order by id) from app.boards b) as b`;
    assert.deepEqual(titles(await ask("ann")), ["ann's", "bob's"]);
    const before = await rows();

    service = await start();
    assert.deepEqual([...(await rows())], [...before]);
    for (const sub of ["ann", "bob"]) assert.deepEqual(titles(await ask(sub, "default")), ["ann's", "bob's"]);
    assert.equal((await ask("ann")).body.error, "Missing X-Tenant header");
    // A stranger does not become a member of the default tenant by naming it.
    assertError(await ask("carl", "default"), 403, DENIED);
    await seedTenant(sql, { slug: "acme" });
    assertError(await ask("ann", "acme"), 403, DENIED);
    assert.equal((await sql`select from app.users`).count, 2);

    service = await start(SINGLE);
    assert.deepEqual(titles(await ask("ann")), ["ann's", "bob's"]);
  }));
