import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack, seedTenant, seedUser, withRole } from "../../harness.ts";
import { as, sqlstate } from "../support.ts";

const database = await createDatabase();
/** A tenant with a board; both have this name. */
async function seed(slug: string) {
  const id = await seedTenant(database.sql, { slug });
  const user = await seedUser(database.sql, id, { subject: slug });
  await database.sql`insert into app.boards (tenant_id, owner_id, title) values (${id}, ${user}, ${slug})`;
  return id;
}
const acme = await seed("acme");
const beta = await seed("beta");
after(() => database.drop());

test("without a tenant, or with an empty one, tms_app reads and writes no row", async () => {
  for (const setting of ["", "set local app.tenant_id = ''", "set local app.tenant_id = default"]) {
    await withRole(database.sql, "tms_app", null, async tx => {
      await tx.unsafe(setting);
      assert.deepEqual([...(await tx`select app.tenant_id() as id`)], [{ id: null }]);
      assert.equal((await tx`select from app.boards`).count, 0);
      assert.equal((await tx`select from app.tenants`).count, 0);
      assert.equal((await tx`update app.boards set title = 'x'`).count, 0);
      assert.equal((await tx`delete from app.boards`).count, 0);
      const insert = tx.savepoint(
        sp => sp`insert into app.users (tenant_id, auth_provider, auth_subject) values (${acme}, 'jwt', 'x')`,
      );
      assert.equal(await sqlstate(insert), "42501");
    });
  }
});

test("a text that is not a uuid is no tenant: tms_app reads and writes no row", async () => {
  for (const garbage of [
    "acme",
    "*",
    " ",
    "00000000-0000-0000-0000-00000000000",
    "' or true --",
    `{${acme}}`,
    `${acme}\n`,
  ]) {
    await withRole(database.sql, "tms_app", null, async tx => {
      await tx`select set_config('app.tenant_id', ${garbage}, true)`;
      assert.equal((await tx`table app.boards`).count, 0, garbage);
      assert.equal((await tx`delete from app.boards`).count, 0);
      const insert = tx.savepoint(
        sp => sp`insert into app.users (tenant_id, auth_provider, auth_subject) values (${acme}, 'jwt', 'x')`,
      );
      assert.equal(await sqlstate(insert), "42501");
    });
  }
});

test("a text in the form of a uuid with other digits raises an error", async () => {
  await withRole(database.sql, "tms_app", "zzzzzzzz-0000-4000-8000-000000000000", async tx => {
    assert.equal(await sqlstate(tx.savepoint(sp => sp`table app.boards`)), "22P02");
  });
});

test("a tenant that does not exist has no rows", async () => {
  await withRole(database.sql, "tms_app", "00000000-0000-4000-8000-000000000000", async tx => {
    assert.equal((await tx`table app.users`).count, 0);
  });
});

test("the setting ends with its transaction: the connection is then in no tenant", async () => {
  const one = postgres(database.urls.root, { max: 1, onnotice: () => {} });
  try {
    await one.begin(tx => tx.unsafe(`set local app.tenant_id = '${acme}'`));
    assert.deepEqual([...(await one`select app.tenant_id() as id`)], [{ id: null }]);
  } finally {
    await one.end();
  }
});

test("a DBA inspects a tenant in psql with SET LOCAL ROLE and SET LOCAL app.tenant_id", async () => {
  // As psql sends them: one statement at a time, by the simple protocol.
  const session = postgres(database.urls.root, { max: 1, onnotice: () => {}, prepare: false });
  try {
    const reserved = await session.reserve();
    await reserved.unsafe("begin");
    await reserved.unsafe("set local role tms_app");
    await reserved.unsafe(`set local app.tenant_id = '${acme}'`);
    const boards = await reserved.unsafe("table app.boards");
    await reserved.unsafe("commit");
    reserved.release();
    assert.deepEqual(
      boards.map(board => board.title),
      ["acme"],
    );
  } finally {
    await session.end();
  }
});

test("app.set_tenant() lasts until the transaction ends, null unsets it, and a savepoint restores the tenant before it", async () => {
  await rolledBack(database.sql, tx =>
    as(tx, "tms_app", async sp => {
      const now = async () => (await sp`select current_setting('app.tenant_id', true) as id`)[0]!.id;
      await sp`select app.set_tenant(${acme})`;
      assert.equal(await now(), acme);
      await sp.unsafe("savepoint other");
      await sp`select app.set_tenant(${beta})`;
      assert.deepEqual((await sp`select title from app.boards`)[0], { title: "beta" });
      await sp.unsafe("rollback to savepoint other");
      assert.equal(await now(), acme);
      assert.deepEqual((await sp`select title from app.boards`)[0], { title: "acme" });
      await sp`select app.set_tenant(null)`;
      assert.equal(await now(), "");
      assert.equal((await sp`table app.boards`).count, 0);
    }),
  );
});

test("a caught exception restores the tenant that was set before its block", async () => {
  await rolledBack(database.sql, tx =>
    as(tx, "tms_app", async sp => {
      await sp`select app.set_tenant(${acme})`;
      await sp.unsafe(`do $$ begin
        perform app.set_tenant('${beta}'); raise exception 'out'; exception when others then null; end $$`);
      assert.deepEqual([...(await sp`select title from app.boards`)], [{ title: "acme" }]);
    }),
  );
});

test("a scan keeps its tenant from the first row to the last, even if a row changes the setting", async () => {
  await rolledBack(database.sql, async tx => {
    await tx`insert into app.boards (tenant_id, owner_id, title)
      select tenant_id, owner_id, title || i from app.boards, generate_series(1, 9) i`;
    await tx.unsafe(`set local role tms_app; set local app.tenant_id = '${acme}'`);
    const rows = await tx`select title, set_config('app.tenant_id', ${beta}, true) from app.boards`;
    assert.equal(rows.length, 10);
    assert.ok(rows.every(row => row.title.startsWith("acme")));
  });
});
