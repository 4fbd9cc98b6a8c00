/** The database knows whether the deployment is in multi-tenant mode: a forgotten slug, which is null, then enters nobody's tenant. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { migrate } from "../../../src/migrate/migrate.ts";
import { tenancy } from "../../cli/command.ts";
import {
  createDatabase,
  createService,
  requireProofs,
  rolledBack,
  seedTenant,
  seedUser,
  withService,
} from "../../harness.ts";
import { person } from "../../http/world.ts";
import { as, call, refused, type Transaction } from "../support.ts";

const database = await createDatabase();
const { sql } = database;
before(async () => {
  await seedTenant(sql, { slug: "default", isDefault: true });
  await seedUser(sql, await seedTenant(sql, { slug: "acme" }), { subject: "ann" });
});
after(() => database.drop());

const stored = async () =>
  (await sql<{ multi: boolean | null }[]>`select multi_tenant as multi from control.deployment`)[0]?.multi;
const store = (tx: Transaction, multi: boolean | null) => tx`select control.store_mode(${multi})`;
const enter = (tx: Transaction, slug: string | null, subject = "stranger") =>
  as(
    tx,
    "tms_app",
    sp => sp`select role from app.enter_tenant(slug => ${slug}, provider => 'jwt', subject => ${subject})`,
  );
const MISSING = [
  400,
  "Missing X-Tenant header",
  "The slug is null, and this database is in multi-tenant mode",
] as const;

test("in multi-tenant mode a null slug raises, makes nobody a member, and a slug enters as before", () =>
  rolledBack(sql, async tx => {
    await store(tx, true);
    const [before] = await tx`select count(*) from app.users`;
    await refused(enter(tx, null), ...MISSING);
    await refused(call(tx, "get_current_tenant", { slug: null, subject: "stranger" }), ...MISSING);
    await refused(call(tx, "list_my_tenants", { slug: null, subject: "stranger" }, 10, null), ...MISSING);
    await refused(
      call(tx, "get_registration_status", { slug: null, subject: "stranger" }, true, 5, null),
      ...MISSING,
    );
    await refused(
      call(tx, "get_current_tenant", {
        slug: null,
        provider: "key",
        subject: "00000000-0000-0000-0000-000000000001:0",
      }),
      ...MISSING,
    );
    assert.deepEqual((await tx`select count(*) from app.users`)[0], before);
    assert.deepEqual([...(await enter(tx, "acme", "ann"))], [{ role: "member" }]);
    const [row] = await tx`select api.explain_access(null, 'jwt', 'stranger') as e`;
    assert.deepEqual([row!.e.allowed, row!.e.because], [false, MISSING[2]]);
  }));

test("in single-tenant mode, and where nobody stored one, a null slug is the default tenant", () =>
  rolledBack(sql, async tx => {
    for (const multi of [null, false]) {
      await store(tx, multi);
      assert.deepEqual([...(await enter(tx, null, `caller ${multi}`))], [{ role: "member" }]);
    }
  }));

test("storing null leaves the mode, and a read-only server does not matter", () =>
  rolledBack(sql, async tx => {
    await store(tx, true);
    await store(tx, null);
    await tx`set local transaction_read_only = on`;
    await store(tx, false);
    await refused(enter(tx, null), ...MISSING);
  }));

test("a caller of requests cannot change the mode", () =>
  rolledBack(sql, async tx => {
    for (const role of ["tms_app", "tms_service", "tms_auditor"])
      await assert.rejects(
        as(tx, role, sp => sp`select control.store_mode(false)`),
        { code: "42501" },
      );
  }));

test("the service stores its mode as it starts, keeps it in SQL, and answers as it is configured", async () => {
  const multi = await createService(database);
  try {
    assert.equal(await stored(), true);
    await rolledBack(sql, tx => refused(enter(tx as unknown as Transaction, null), ...MISSING));
    const nameless = await multi.request({ url: "/api/tenants/current", token: await person("ann") });
    assert.deepEqual([nameless.status, nameless.body.error], [400, "Missing X-Tenant header"]);
    const ann = await multi.request({ url: "/api/tenants/current", token: await person("ann", "acme") });
    assert.equal(ann.status, 200);
    await withService(database, { SERVICE_MULTI_TENANT_MODE: "false" }, async single => {
      assert.equal(await stored(), false);
      const { status, body } = await single.request({
        url: "/api/tenants/current",
        token: await person("eve"),
      });
      assert.deepEqual([status, body.tenant.slug], [200, "default"]);
      // Another instance in the other mode: what is stored last holds.
      await withService(database, {}, async () => {
        const late = await single.request({ url: "/api/tenants/current", token: await person("late") });
        assert.deepEqual([late.status, late.body.error], [400, "Missing X-Tenant header"]);
      });
    });
  } finally {
    await multi.close();
  }
});

test("tenancy migrate stores SERVICE_MULTI_TENANT_MODE where it is set, and else leaves the mode", async () => {
  const run = async (env: Record<string, string>) => {
    const command = tenancy(["migrate"], { DATABASE_URL: database.urls.owner, ...env });
    assert.equal(await command.ended, 0, command.stderr);
    return stored();
  };
  assert.equal(await run({ SERVICE_MULTI_TENANT_MODE: "false" }), false);
  assert.equal(await run({}), false);
  assert.equal(await run({ SERVICE_MULTI_TENANT_MODE: "true" }), true);
  assert.equal(await run({ SERVICE_MULTI_TENANT_MODE: "" }), true);
  const wrong = tenancy(["migrate"], {
    DATABASE_URL: database.urls.owner,
    SERVICE_MULTI_TENANT_MODE: "maybe",
  });
  assert.equal(await wrong.ended, 1);
  assert.match(wrong.stderr, /SERVICE_MULTI_TENANT_MODE: expected/);
});

test("with proofs a null slug is refused, too", async () => {
  await migrate({ ownerUrl: database.urls.owner, multiTenantMode: true });
  await requireProofs(database);
  await rolledBack(sql, tx => refused(enter(tx as unknown as Transaction, null), ...MISSING));
});
