/** The library that a backend of one's own uses, on a real login, directly and through PgBouncer. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { inTenant, proof } from "../../src/library/index.ts";
import { assertPoolClean } from "../../src/library/testing.ts";
import { startPgbouncer, withoutPgbouncer } from "../faults/pgbouncer.ts";
import { CONTEXT_SECRET, createDatabase, requireProofs, seedTenant, seedUser } from "../harness.ts";

const database = await createDatabase();
const { sql } = database;
const shop = `shop_${database.name.slice(-8)}`;
const url = Object.assign(new URL(database.urls.root), { username: shop, password: "shop" }).href;
const pools: pg.Pool[] = [];
const poolOf = (max: number, connectionString = url) => {
  const pool = new pg.Pool({ connectionString, max });
  pools.push(pool);
  return pool;
};
const ids: Record<string, string> = {};

before(async () => {
  for (const slug of ["acme", "beta"]) {
    ids[slug] = await seedTenant(sql, { slug });
    await seedUser(sql, ids[slug], { subject: `ann of ${slug}`, role: "owner" });
  }
  await sql.unsafe(`create role ${shop} login noinherit password 'shop'; grant tms_app to ${shop};
    grant connect on database ${database.name} to ${shop}; alter role ${shop} set app.require_tenant = on`);
});
after(async () => {
  await Promise.all(pools.map(pool => pool.end()));
  await sql.unsafe(`drop owned by ${shop}; drop role ${shop}`);
  await database.drop();
});

const ann = (slug: string) => ({ slug, subject: `ann of ${slug}` });
const subjects = async (client: pg.PoolClient) =>
  (await client.query<{ auth_subject: string }>("select auth_subject from app.users")).rows.map(
    row => row.auth_subject,
  );

async function assertEnters(pool: pg.Pool) {
  await Promise.all(
    Array.from({ length: 20 }, (_, i) => (i % 2 ? "acme" : "beta")).map(async slug => {
      const [seen, entered] = await inTenant(pool, ann(slug), async (client, entered) => [
        await subjects(client),
        entered,
      ]);
      assert.deepEqual(seen, [`ann of ${slug}`]);
      assert.equal(entered.tenantId, ids[slug]);
      assert.equal(entered.role, "owner");
      assert.deepEqual(await inTenant(pool, { tenantId: ids[slug]! }, subjects), [`ann of ${slug}`]);
    }),
  );
  await assert.rejects(inTenant(pool, { slug: "acme", subject: "mallory" }, subjects), { code: "TM403" });
}

test("a caller works in their tenant only, a stranger in none, and the pool is clean afterwards", async () => {
  const pool = poolOf(3);
  await assertEnters(pool);
  await assertPoolClean(pool);
});

test("a connection that is lost during slow work is an error of that work, and ends nothing else", async () => {
  const pool = poolOf(1);
  pool.on("error", () => {});
  const work = inTenant(pool, ann("acme"), async client => {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    await sql`select pg_terminate_backend(${rows[0]!.pid})`;
    await new Promise(resolve => setTimeout(resolve, 200));
    return subjects(client);
  });
  await assert.rejects(work);
  assert.deepEqual(await inTenant(pool, ann("acme"), subjects), ["ann of acme"]);
});

test("work that throws is rolled back, and so is work that hides the error of a statement", async () => {
  const pool = poolOf(1);
  const rename = (client: pg.PoolClient) => client.query("update app.users set display_name = 'x'");
  await assert.rejects(
    inTenant(pool, ann("acme"), async client => {
      await rename(client);
      throw new Error("no");
    }),
    /^Error: no$/,
  );
  await assert.rejects(
    inTenant(pool, ann("acme"), async client => {
      await rename(client);
      await client.query("select 1 / 0").catch(() => {});
    }),
    /nothing was written/,
  );
  assert.equal((await sql`select from app.users where display_name = 'x'`).count, 0);
  await assertPoolClean(pool);
});

test("a call inside another is refused before it waits for a connection; one after the other is not", async () => {
  const pool = poolOf(1);
  await assert.rejects(
    inTenant(pool, ann("acme"), () => inTenant(pool, ann("beta"), subjects)),
    /is open already/,
  );
  let end = () => {};
  const ended = new Promise<void>(resolve => {
    end = resolve;
  });
  let late: Promise<unknown> | undefined;
  await inTenant(pool, ann("acme"), async () => {
    late = ended.then(() => inTenant(pool, ann("beta"), subjects));
  });
  end();
  assert.deepEqual(await late, ["ann of beta"]);
});

test("a caller without a slug, a subject or an id enters no tenant, not the default one either", async () => {
  const pool = poolOf(1);
  for (const caller of [{ subject: "ann" }, { slug: "", subject: "ann" }, { slug: "acme" }, { tenantId: "" }])
    await assert.rejects(inTenant(pool, caller as never, subjects), /a subject are needed/);
  assert.equal(pool.totalCount, 0);
});

test("through PgBouncer in transaction mode", { skip: withoutPgbouncer }, async () => {
  const pooler = await startPgbouncer(url);
  const pool = poolOf(8, pooler.url);
  try {
    await assertEnters(pool);
  } finally {
    await pool.end();
    pools.splice(pools.indexOf(pool), 1);
    await pooler.stop();
  }
});

test("assertPoolClean fails for what a request leaves behind, and where it checked nothing", async () => {
  const empty = poolOf(1);
  await assert.rejects(assertPoolClean(empty), /nothing was checked/);
  const leaks: [string, RegExp][] = [
    ["select set_config('app.tenant_id', gen_random_uuid()::text, false)", /has app\.tenant_id = /],
    ["set role tms_app", /is still tms_app/],
    ["begin", /is in a transaction/],
    ["select pg_advisory_lock(1)", /holds 1 advisory locks/],
  ];
  for (const [leak, message] of leaks) {
    const pool = poolOf(2);
    const [clean, dirty] = [await pool.connect(), await pool.connect()];
    await dirty.query(leak);
    await assert.rejects(assertPoolClean(pool), /2 connections of the pool were not released/);
    clean.release();
    dirty.release();
    await assert.rejects(assertPoolClean(pool), message, leak);
  }
  const pool = poolOf(1, database.urls.root);
  await pool.query("create temp table notes ()");
  await assert.rejects(assertPoolClean(pool), /has the temporary notes/);
});

test("with a secret each call is proved, by the environment's or the one that is passed", async () => {
  await requireProofs(database);
  const pool = poolOf(2);
  await assert.rejects(inTenant(pool, ann("acme"), subjects), { code: "TM503" });
  assert.deepEqual(await inTenant(pool, ann("acme"), subjects, { secret: CONTEXT_SECRET }), ["ann of acme"]);
  assert.throws(() => proof("tenant", [ids.acme!]), /SERVICE_TENANT_CONTEXT_SECRET/);
  process.env.SERVICE_TENANT_CONTEXT_SECRET = CONTEXT_SECRET;
  try {
    await assertEnters(pool);
  } finally {
    delete process.env.SERVICE_TENANT_CONTEXT_SECRET;
  }
  await assertPoolClean(pool);
});
