import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack, seedTenant } from "../../harness.ts";
import { lockWaiters } from "../../until.ts";
import { call, createTenant, operator, refused, type Transaction } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

test("a tenant created in single-tenant mode becomes the default one if there is none", () =>
  rolledBack(database.sql, async tx => {
    await createTenant(tx, "first");
    for (const slug of ["second", "third"])
      await call(tx, "create_tenant", operator, slug, slug, null, false, true, null);
    assert.deepEqual(
      (await tx`select slug from app.tenants where is_default`).map(row => row.slug),
      ["second"],
    );
  }));

test("in single-tenant mode only the default tenant can be neither deleted nor suspended, whatever its slug", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "renamed", isDefault: true });
    const single = { ...operator, slug: null };
    await refused(
      call(tx, "delete_tenant", single, id),
      400,
      "Default tenant",
      "The default tenant cannot be deleted in single-tenant mode",
    );
    await refused(
      call(tx, "suspend_tenant", single, id),
      409,
      "Conflict",
      "The default tenant cannot be suspended in single-tenant mode",
    );
    const other = await seedTenant(tx, { slug: "other" });
    await call(tx, "suspend_tenant", single, other);
    await call(tx, "delete_tenant", single, other);
    await call(tx, "suspend_tenant", operator, id);
    await call(tx, "delete_tenant", operator, id);
    assert.equal((await tx`select from app.tenants`).count, 0);
  }));

test("of two parallel creations that may be the default tenant the first becomes it, and both succeed", async t => {
  const logins = [1, 2].map(() => postgres(database.urls.service, { max: 1, onnotice: () => {} }));
  t.after(async () => {
    await Promise.all(logins.map(login => login.end()));
    await database.sql`delete from app.tenants`;
  });
  const [first, second] = logins as [postgres.Sql, postgres.Sql];
  const make = (login: postgres.Sql, slug: string) =>
    login`select api.create_tenant(row(null, 'jwt', 'op', null, null, null), 'x', ${slug}, null, false, true, null)`;
  await first`begin`;
  await make(first, "one");
  const waiting = Promise.allSettled([make(second, "two")]);
  await lockWaiters(database.sql);
  await first`commit`;
  const [made] = await waiting;
  assert.equal(made!.status, "fulfilled", String((made as PromiseRejectedResult).reason));
  const rows = await database.sql`select slug, is_default from app.tenants order by slug`;
  assert.deepEqual(
    rows.map(row => [row.slug, row.is_default]),
    [
      ["one", true],
      ["two", false],
    ],
  );
});

test("of two parallel first starts one creates the default tenant, and the other finds it", async t => {
  const { sql } = database;
  t.after(() => sql.unsafe("delete from app.tenants; delete from control.deployment"));
  const start = (tx: Transaction) => call(tx, "ensure_default_tenant", null, "default", "Default Tenant");
  let second: Promise<unknown> | undefined;
  await sql.begin(async first => {
    await start(first);
    second = sql.begin(start);
    await lockWaiters(sql);
  });
  await second;
  assert.equal((await sql`select from app.tenants`).count, 1);
});

test("ensure_default_tenant refuses a slug that another tenant has", () =>
  rolledBack(database.sql, async tx => {
    await seedTenant(tx, { slug: "default" });
    const detail = "A tenant with slug 'default' already exists";
    await refused(call(tx, "ensure_default_tenant", null, "default", "Default"), 409, "Conflict", detail);
    await call(tx, "ensure_default_tenant", null, "other", "Default");
    assert.equal((await tx`select from app.tenants where is_default`).count, 1);
  }));

test("ensure_default_tenant accepts a default tenant that was created in SQL before the first start", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "mine", isDefault: true });
    await call(tx, "ensure_default_tenant", null, "default", "Default Tenant");
    assert.deepEqual([...(await tx`select id from app.tenants`)], [{ id }]);
    await tx`delete from app.tenants`;
    await call(tx, "ensure_default_tenant", null, "default", "Default Tenant");
    assert.equal((await tx`select from app.tenants`).count, 0);
  }));

test("ensure_default_tenant creates the default tenant once in the life of a database", () =>
  rolledBack(database.sql, async tx => {
    await call(tx, "ensure_default_tenant", null, "default", "Default Tenant");
    await call(tx, "ensure_default_tenant", null, "another", "Another");
    assert.deepEqual(
      [...(await tx`select slug, is_default from app.tenants`)],
      [{ slug: "default", is_default: true }],
    );
    await tx`delete from app.tenants`;
    await call(tx, "ensure_default_tenant", null, "default", "Default Tenant");
    assert.equal((await tx`select from app.tenants`).count, 0, "a deliberate deletion stays one");
    await tx`set local transaction_read_only = on`;
    await call(tx, "ensure_default_tenant", null, "default", "Default Tenant");
  }));
