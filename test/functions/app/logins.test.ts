/** What logins can still do to others: each row of SECURITY.md's table is tried. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { addressWith, createDatabase, rolledBack, seedTenant, seedUser, settled } from "../../harness.ts";
import { sqlstate } from "../support.ts";

const database = await createDatabase();
const { sql } = database;
const shop = `shop_${database.name.slice(-8)}`;
const login = (username: string, password: string) =>
  postgres(Object.assign(new URL(database.urls.root), { username, password }).href, {
    max: 4,
    onnotice: () => {},
  });
const product = login(shop, "shop");
const service = postgres(addressWith(database.urls.service, { lock_timeout: "200ms" }), {
  max: 4,
  onnotice: () => {},
});
let acme = "";

before(async () => {
  acme = await seedTenant(sql, { slug: "acme" });
  await seedUser(sql, acme, { subject: "ann", role: "owner" });
  await sql.unsafe(`create role ${shop} login noinherit password 'shop'; grant tms_app to ${shop};
    grant connect on database ${database.name} to ${shop}`);
});
after(async () => {
  await Promise.all([product.end(), service.end()]);
  await sql.unsafe(`drop owned by ${shop}; drop role ${shop}`);
  await database.drop();
});

const enter = () =>
  service`select api.get_current_tenant(row('acme', 'jwt', 'ann', null, null, 'tenant-operator')) is not null as entered`;
const remove = (id: string) =>
  service`select api.delete_tenant(row(null, 'jwt', 'op', null, null, null), ${id}, null) is not null as removed`;

/** While a session of this login is in a transaction that has run the statement. */
async function during(login: postgres.Sql, statement: string, work: () => Promise<void>) {
  const session = await login.reserve();
  try {
    await session.unsafe("begin");
    await session.unsafe(statement);
    await work();
  } finally {
    await session.unsafe("rollback");
    session.release();
  }
}

test("an advisory lock on a tenant keeps no caller out", async () => {
  const lock = `select pg_advisory_xact_lock(uuid_hash_extended('${acme}', 0))`;
  for (const thief of [product, service])
    await during(thief, lock, async () => {
      assert.deepEqual([...(await enter())], [{ entered: true }]);
      await rolledBack(sql, async tx => {
        await tx`set local role tms_app`;
        await tx`select app.set_tenant(${acme})`;
        const [row] = await tx`select count(*)::int as n from app.users`;
        assert.equal(row!.n, 1);
      });
      // A deletion gives up waiting for the lock, and is not stopped by it.
      const doomed = await seedTenant(sql, { slug: "doomed" });
      await during(thief, lock.replace(acme, doomed), async () => {
        assert.deepEqual([...(await remove(doomed))], [{ removed: true }]);
      });
    });
});

test("a deletion, also one that still waits, keeps new transactions out", async () => {
  const doomed = await seedTenant(sql, { slug: "closing" });
  await seedUser(sql, doomed, { subject: "ann" });
  const entering = () =>
    sqlstate(
      service`select api.get_current_tenant(row('closing', 'jwt', 'ann', null, null, 'tenant-operator'))`,
    );
  assert.equal(await entering(), "none");
  // It has the lock.
  await during(sql, `select app.fence_tenant('${doomed}')`, async () => {
    assert.equal(await entering(), "TM503");
    assert.equal(await sqlstate(rolledBack(sql, tx => tx`select app.set_tenant(${doomed})`)), "TM503");
  });
  // It waits for somebody who is inside.
  await during(sql, `select app.set_tenant('${doomed}')`, async () => {
    const waits = rolledBack(sql, tx => tx`select app.fence_tenant(${doomed})`);
    for (;;) {
      const [row] =
        await sql`select exists (select from pg_locks where locktype = 'advisory' and not granted) as waiting`;
      if (row!.waiting || (await Promise.race([waits.then(() => true), new Promise(r => setTimeout(r, 5))])))
        break;
    }
    assert.equal(await entering(), "TM503");
    await waits;
  });
  assert.equal(await entering(), "none");
});

test("an advisory lock delays the keys of a tenant, and nothing else in it", () =>
  during(product, `select pg_advisory_xact_lock(uuid_hash_extended('${acme}', 1))`, async () => {
    const created = service`select api.create_key(row('acme', 'jwt', 'ann', null, null, 'tenant-operator'), 'ci', 'member', null, repeat('ab', 32))`;
    assert.equal(await sqlstate(created), "55P03");
    assert.deepEqual([...(await enter())], [{ entered: true }]);
  }));

test("an open transaction of any login keeps newer events out of the feeds until it ends", async () => {
  const events = async () =>
    (
      await service`select body from api.list_events(row(null, 'jwt', 'op', null, null, null), 100, null, 'at', null, ${acme})`
    )[0]!.body;
  await settled(sql);
  const before = JSON.stringify(await events());
  await during(product, "select pg_current_xact_id()", async () => {
    await sql`update app.tenants set name = name || '!' where id = ${acme}`;
    assert.equal(JSON.stringify(await events()), before);
  });
  await settled(sql);
  assert.notEqual(JSON.stringify(await events()), before);
});

test("no login takes the mark of a deletion", async () => {
  for (const thief of [product, service])
    for (const statement of [
      "lock table control.deployment in row exclusive mode",
      "select app.fence_tenant(null)",
    ])
      assert.equal(
        await sqlstate(
          rolledBack(thief, async tx => {
            if (thief === product) await tx`set local role tms_app`;
            await tx.unsafe(statement);
          }),
        ),
        "42501",
        statement,
      );
});

test("tms_app can lock a table that requests need; they get 503 and not more", () =>
  during(product, "set local role tms_app; lock table app.users", async () => {
    assert.equal(await sqlstate(enter()), "55P03");
  }));

test("tms_app locks no table of tenants, and none of the bookkeeping", async () => {
  for (const table of ["app.tenants", "control.deployment", "control.rate_limits", "audit.runs"])
    assert.equal(
      await sqlstate(
        rolledBack(product, async tx => {
          await tx`set local role tms_app`;
          await tx.unsafe(`lock table ${table} in row exclusive mode`);
        }),
      ),
      "42501",
      table,
    );
});

test("the service's login may set its own sessions, and no other role's; never to a tenant", () =>
  // In one transaction that is rolled back: tests of other files use the role.
  rolledBack(sql, async tx => {
    await tx`set local session authorization tms_service`;
    await tx`alter role tms_service set statement_timeout = '1ms'`;
    for (const statement of [
      `alter role tms_service set app.tenant_id = '${acme}'`,
      "alter role tms_service createrole",
      "alter role tms_app login",
      "alter role tms_owner set statement_timeout = 1",
    ])
      assert.equal(await sqlstate(tx.savepoint(sp => sp.unsafe(statement))), "42501", statement);
  }));

test("a tenant that an administrator gives the service's sessions opens nothing, and is an error of the gate", async () => {
  await rolledBack(sql, async tx => {
    await tx.unsafe(`alter role tms_service in database ${database.name} set app.tenant_id = '${acme}'`);
    await assert.rejects(
      tx.savepoint(async sp => {
        await sp`set local role tms_owner`;
        await sp`select control.gate()`;
      }),
      /Tenants are not isolated: .*app\.tenant_id/,
    );
  });
  await rolledBack(service, async tx => {
    await tx`select set_config('app.tenant_id', ${acme}, true)`;
    assert.equal(await sqlstate(tx.savepoint(sp => sp`select from app.boards`)), "42501");
  });
});

test("statistics show no value of a table with row-level security", async () => {
  await sql`analyze app.users`;
  await rolledBack(product, async tx => {
    await tx`set local role tms_app`;
    const stats = await tx`select * from pg_stats where schemaname = 'app' and tablename = 'users'`;
    assert.equal(stats.length, 0);
    assert.equal(await sqlstate(tx.savepoint(sp => sp`select from pg_statistic`)), "42501");
  });
});

test("another login sees that a session is there, and neither its statement nor its values", async () => {
  const session = await service.reserve();
  try {
    await session`begin`;
    const [{ pid } = { pid: 0 }] = await session`select pg_backend_pid() as pid, ${"a proof"}::text as value`;
    const [seen] = await product`select query, usename from pg_stat_activity where pid = ${pid}`;
    assert.deepEqual({ ...seen }, { query: "<insufficient privilege>", usename: "tms_service" });
    // The same login sees the statement, and no value.
    const [own] = await service`select query from pg_stat_activity where pid = ${pid}`;
    assert.match(own!.query, /select pg_backend_pid\(\) as pid, \$1::text as value/);
    assert.equal(await sqlstate(product`select pg_terminate_backend(${pid})`), "42501");
    await session`rollback`;
  } finally {
    session.release();
  }
});
