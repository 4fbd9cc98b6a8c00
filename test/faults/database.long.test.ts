import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startEmbedded } from "../../src/embedded/embedded.ts";
import { freePort } from "../../src/embedded/server.ts";
import { migrate } from "../../src/migrate/migrate.ts";
import {
  addressWith,
  createDatabase,
  createService,
  type Service,
  seedTenant,
  seedUser,
  type TestResponse,
  token,
  withService,
} from "../harness.ts";
import { lockWaiters, until } from "../until.ts";
import { startWire } from "./wire.ts";

const database = await createDatabase();
const wire = await startWire(database.urls.service);
const service = await createService(database, {
  SERVICE_DATABASE_URL: wire.url,
  SERVICE_DATABASE_POOL_SIZE: "4",
});
await seedUser(database.sql, await seedTenant(database.sql, { slug: "acme" }), { subject: "ann" });
const ann = await token({ sub: "ann", tenant: "acme" });
const operator = await token({ sub: "op", tenant: "acme", roles: ["tenant-operator"] });
after(async () => {
  await service.close();
  await wire.close();
  await database.drop();
});
beforeEach(() => database.sql`delete from control.rate_limits`);

const boards = (of = service) => of.request({ url: "/api/boards", token: ann });

/** A 503 with Retry-After, and without text of Postgres. */
function assertUnavailable(answer: TestResponse) {
  const { status, headers, body } = answer;
  assert.equal(status, 503, JSON.stringify(body));
  assert.deepEqual(Object.keys(body), ["error", "detail", "request_id"]);
  assert.deepEqual(
    [body.error, headers["retry-after"], headers["content-type"]],
    ["Service unavailable", "1", "application/json; charset=utf-8"],
  );
  assert.equal(body.request_id, headers["x-request-id"]);
  assert.doesNotMatch(body.detail, /terminat|ECONN|administrator|canceling|relation|timeout exceeded/);
}

/** Requests by eight clients while `harm` runs; every answer must be 200 or a proper 503. */
async function underHarm(harm: () => Promise<unknown>, times: number, of = service) {
  let going = true;
  const statuses: number[] = [];
  const clients = Array.from({ length: 8 }, async () => {
    while (going) {
      const answer = await boards(of);
      statuses.push(answer.status);
      if (answer.status !== 200) {
        assertUnavailable(answer);
        await sleep(5);
      }
    }
  });
  try {
    for (let i = 0; i < times; i += 1) {
      await harm();
      const before = statuses.length;
      await sleep(30);
      await until("requests come through again", () => statuses.slice(before).includes(200));
    }
  } finally {
    going = false;
    await Promise.all(clients);
  }
  return statuses;
}

/** The service recovers by itself. */
async function assertRecovers(of = service) {
  await until("the service has recovered", async () => (await boards(of)).status === 200);
}

test("terminated backends cost only the requests that ran on them: a 503 each", async () => {
  await underHarm(
    () =>
      database.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${database.name} and usename = 'tms_service'`,
    15,
  );
  await assertRecovers();
});

test("requests are 503 while the login has no right to connect, and work again with it", async () => {
  const { name, sql } = database;
  await sql`revoke connect on database ${sql(name)} from tms_service`;
  try {
    wire.cut();
    await until("the connections are gone", async () => (await boards()).status !== 200);
    assertUnavailable(await boards());
  } finally {
    await sql`grant connect on database ${sql(name)} to tms_service`;
  }
  await assertRecovers();
});

test("broken connections, idle or busy, cost only the requests on them", async () => {
  await underHarm(async () => wire.cut(), 15);
  wire.cut();
  await assertRecovers();
});

test("while the database is unreachable every request is 503 at once, and the first one after that works", async () => {
  wire.refuse(true);
  wire.cut();
  for (let i = 0; i < 5; i += 1) assertUnavailable(await boards());
  assertUnavailable(await service.request({ url: "/api/setup/status", token: operator }));
  assertUnavailable(
    await service.request({
      method: "POST",
      url: "/graphql",
      token: ann,
      body: { query: "{ tenant { slug } }" },
    }),
  );
  assert.equal((await service.request({ url: "/health" })).status, 200);
  assert.equal(
    (await service.request({ url: "/api/boards" })).status,
    401,
    "what needs no database is answered as ever",
  );
  wire.refuse(false);
  await assertRecovers();
});

/** Runs `work` with a service that has shorter time-outs than in production. */
const hurried = (address: string, work: (service: Service) => Promise<void>) =>
  withService(database, { SERVICE_DATABASE_URL: address }, async service => {
    service.hurry();
    await work(service);
  });

test("a network that drops packets ends in 503, not in a request that hangs", () =>
  hurried(`${wire.url}&query_timeout=2000`, async service => {
    await boards(service);
    wire.freeze(true);
    const answers = Array.from({ length: 6 }, () => boards(service));
    for (const answer of await Promise.all(answers)) assertUnavailable(answer);
    wire.freeze(false);
    wire.cut();
    await assertRecovers(service);
  }));

/** Runs `work` while another session holds a lock. */
async function whileLocked<T>(lock: string, work: () => Promise<T>): Promise<T> {
  const holder = await database.sql.reserve();
  try {
    await holder.unsafe(`begin; ${lock}`);
    return await work();
  } finally {
    await holder.unsafe("rollback");
    holder.release();
  }
}

test("a lock that is not released is 503 after the lock timeout", () =>
  hurried(addressWith(database.urls.service, { lock_timeout: "150ms" }), async service => {
    await whileLocked("lock table app.boards in access exclusive mode", async () => {
      const answer = await boards(service);
      assertUnavailable(answer);
      assert.equal(answer.body.detail, "The row is busy; send the request again");
    });
    await assertRecovers(service);
  }));

test("a statement beyond statement_timeout is 503", () =>
  // Long enough for the other statements on a slow machine.
  hurried(addressWith(database.urls.service, { statement_timeout: "2s" }), async service => {
    const slow = `create or replace function app.iso_time(p_at timestamptz) returns text language sql volatile
      as 'select pg_sleep(60)::text'`;
    const [saved] =
      await database.sql`select pg_get_functiondef('app.iso_time(timestamptz)'::regprocedure) as text`;
    await database.sql.unsafe(slow);
    try {
      const answer = await service.request({ url: "/api/tenants/current", token: ann });
      assertUnavailable(answer);
      assert.equal(answer.body.detail, "The database cannot answer right now");
    } finally {
      await database.sql.unsafe(saved!.text);
    }
    await assertRecovers(service);
  }));

test("the time-outs of requests do not end the deletion of a large tenant", () => {
  const short = addressWith(database.urls.service, { statement_timeout: "2s", lock_timeout: "1s" });
  return hurried(`${short}&query_timeout=2000`, async service => {
    const id = await seedTenant(database.sql, { slug: "large" });
    let deleted: Promise<TestResponse> | undefined;
    await whileLocked("lock table app.boards", async () => {
      deleted = service.request({ method: "DELETE", url: `/api/setup/tenant/${id}`, token: operator });
      await lockWaiters(database.sql);
      await sleep(2_500); // longer than any of them here
    });
    assert.equal((await deleted!).status, 200);
  });
});

test("an exhausted pool refuses with 503 after its time-out, and works again when it is free", () =>
  withService(database, { SERVICE_DATABASE_POOL_SIZE: "1" }, async small => {
    let held: Promise<TestResponse> | undefined;
    await whileLocked("lock table app.boards in access exclusive mode", async () => {
      held = boards(small);
      await lockWaiters(database.sql);
      await sleep(60); // for 50 ms they would share its connection
      small.hurry();
      const current = () => small.request({ url: "/api/tenants/current", token: ann });
      for (const answer of await Promise.all([current(), current()])) {
        assertUnavailable(answer);
        assert.equal(answer.body.detail, "The database cannot answer right now");
      }
    });
    assert.equal((await held!).status, 200);
    assert.equal((await boards(small)).status, 200);
  }));

test("requests of a tenant that wait for locks use no more than half of the connections", () =>
  withService(database, { SERVICE_DATABASE_POOL_SIZE: "4" }, async small => {
    await seedUser(database.sql, await seedTenant(database.sql, { slug: "globex" }), { subject: "bob" });
    const bob = await token({ sub: "bob", tenant: "globex" });
    const remove = (by: string) =>
      small.request({ method: "DELETE", url: `/api/tenants/members/${randomUUID()}`, token: by });
    const refused: TestResponse[] = [];
    let asked: Promise<unknown>[] = [];
    await whileLocked("select from app.users where auth_subject = 'ann' for update", async () => {
      asked = Array.from({ length: 8 }, async () => {
        const answer = await remove(ann);
        if (answer.status === 503) refused.push(answer);
        else assert.equal(answer.status, 404);
      });
      await lockWaiters(database.sql, 2);
      for (const answer of await Promise.all([remove(bob), remove(bob)])) assert.equal(answer.status, 404);
      assert.equal((await small.request({ url: "/api/tenants/mine", token: bob })).status, 200);
      assert.equal((await small.request({ url: "/ready" })).status, 200);
      await until("all but two are refused", () => refused.length === 6);
    });
    await Promise.all(asked);
    for (const { body } of refused)
      assert.equal(body.detail, "The service is at its limit; send the request again");
    assert.equal(refused.length, 6);
    assert.equal((await remove(ann)).status, 404);
  }));

test("requests count in the share of the tenant that let the caller in, not of the one that is named", () =>
  withService(database, {}, async fresh => {
    const names: string[] = [];
    const { shares } = fresh.app.database;
    const run = shares.run.bind(shares);
    shares.run = (name, ...rest) => {
      names.push(name.replace("\n", " "));
      return run(name, ...rest);
    };
    const mallory = await token({ sub: "mallory", tenant: "acme" });
    for (let i = 0; i < 2; i++)
      assert.equal((await fresh.request({ url: "/api/boards", token: mallory })).status, 403);
    for (let i = 0; i < 2; i++) assert.equal((await boards(fresh)).status, 200);
    assert.equal((await fresh.request({ url: "/api/tenants/mine", token: ann })).status, 200);
    await database.sql`update app.users set removed_at = now(), updated_at = now() where auth_subject = 'ann'`;
    for (let i = 0; i < 2; i++) assert.equal((await boards(fresh)).status, 403);
    await database.sql`update app.users set removed_at = null where auth_subject = 'ann'`;
    const [stranger, caller, member] = ["jwt mallory", "jwt ann", "tenant acme"].map(
      name => `reads of ${name}`,
    );
    assert.deepEqual(names, [stranger, stranger, caller, member, "jwt ann", member, caller]);
  }));

test("row_security = off, left on a connection by another client of a pooler, changes no answer", () =>
  withService(database, { SERVICE_DATABASE_POOL_SIZE: "1" }, async small => {
    await small.app.database.pools.primary.query("set row_security = off");
    assert.equal((await boards(small)).status, 200);
    for (const url of [
      "/api/tenants/current",
      "/api/tenants/mine",
      "/api/setup/tenants",
      "/api/setup/status",
    ])
      assert.equal(
        (await small.request({ url, token: operator })).status,
        url.includes("current") ? 403 : 200,
      );
    const [found] = (await small.app.database.pools.primary.query("show row_security")).rows;
    assert.equal(found.row_security, "off");
  }));

test("deletions use no more than a fifth of the connections", () =>
  withService(database, { SERVICE_DATABASE_POOL_SIZE: "4" }, async small => {
    const ids = await Promise.all([1, 2].map(n => seedTenant(database.sql, { slug: `gone-${n}` })));
    const remove = (id: string) =>
      small.request({ method: "DELETE", url: `/api/setup/tenant/${id}`, token: operator });
    let asked: Promise<TestResponse>[] = [];
    await whileLocked("lock table app.media in share mode", async () => {
      asked = ids.map(remove);
      await lockWaiters(database.sql);
      const refused = await Promise.all(asked.map(answer => Promise.race([answer, sleep(6_000)])));
      assert.equal(refused.filter(answer => answer?.status === 503).length, 1);
      assert.equal((await boards(small)).status, 200);
    });
    assert.equal((await Promise.all(asked)).filter(({ status }) => status === 200).length, 1);
    const { status } = await remove(ids[0]!);
    assert.ok(status === 200 || status === 404, String(status));
  }));

test("deletions that wait do not use the share of the tenant that their operators name", () =>
  withService(database, { SERVICE_DATABASE_POOL_SIZE: "4" }, async small => {
    const ids = await Promise.all([1, 2, 3, 4].map(n => seedTenant(database.sql, { slug: `waits-${n}` })));
    const ofOps = (sub: string) => token({ sub, tenant: "ops", roles: ["tenant-operator"] });
    let asked: Promise<TestResponse>[] = [];
    await whileLocked("lock table app.media in share mode", async () => {
      asked = ids.map(async id =>
        small.request({ method: "DELETE", url: `/api/setup/tenant/${id}`, token: await ofOps(`for ${id}`) }),
      );
      await lockWaiters(database.sql);
      await until(
        "all are counted",
        async () => (await database.sql`select from control.rate_limits`).count === 4,
      );
      await sleep(100); // and wait for their share
      const list = await small.request({ url: "/api/setup/tenants", token: await ofOps("reader") });
      assert.equal(list.status, 200, JSON.stringify(list.body));
    });
    for (const { status } of await Promise.all(asked)) assert.ok(status === 200 || status === 503);
  }));

test("a write whose answer was lost can be repeated with its idempotency key", () =>
  withService(database, { SERVICE_DATABASE_URL: wire.url }, async onWire => {
    const { sql } = database;
    const create = () =>
      onWire.request({
        method: "POST",
        url: "/api/setup/tenant",
        token: operator,
        headers: { "idempotency-key": "lost-answer" },
        body: { name: "Lost", slug: "lost" },
      });
    await sql.unsafe(`create function app.slow() returns trigger language plpgsql security definer as 'begin perform pg_advisory_xact_lock(1); return null; end';
      create constraint trigger slow after insert on app.tenants deferrable initially deferred for each row execute function app.slow()`);
    let lost: Promise<TestResponse> | undefined;
    await whileLocked("select pg_advisory_xact_lock(1)", async () => {
      lost = create();
      await lockWaiters(sql);
      wire.freeze(true); // it commits when the lock is free, and its answer goes nowhere
    });
    await until("the tenant is committed", async () => {
      const [tenant] = await sql`select from app.tenants where slug = 'lost'`;
      return tenant;
    });
    wire.cut();
    wire.freeze(false);
    assertUnavailable(await lost!);
    await sql.unsafe("drop trigger slow on app.tenants; drop function app.slow()");
    const again = await create();
    assert.deepEqual([again.status, again.body.existing], [200, true]);
    assert.equal((await sql`select from app.tenants where slug = 'lost'`).count, 1);
  }));

test("on a read-only server, as during a failover, writes are 503 and reads 200", async () => {
  const readOnly = addressWith(database.urls.service, { default_transaction_read_only: "on" });
  // The start writes nothing when the default tenant exists.
  await withService(database, { SERVICE_DATABASE_URL: readOnly }, async reading => {
    assert.equal((await boards(reading)).status, 200);
    const answer = await reading.request({
      method: "POST",
      url: "/api/tenants/members",
      token: ann,
      body: { auth_subject: "x" },
    });
    assertUnavailable(answer); // the limit is counted first, and counting is a write
    assertUnavailable(await reading.request({ url: "/api/setup/status", token: operator }));
    const { status, body } = await reading.request({ url: "/ready" });
    assert.deepEqual(
      [status, body.checks?.database],
      [503, "it takes no writes: default_transaction_read_only is on"],
    );
  });
});

test("a database set to read-only is not ready; set back, the service needs no restart", async () => {
  const { sql, name } = database;
  await withService(database, {}, async own => {
    const told = async () => (await own.request({ url: "/ready" })).body.checks?.database;
    const status = () => own.request({ url: "/api/setup/status", token: operator });
    await sql`alter database ${sql(name)} set default_transaction_read_only = on`;
    try {
      await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tms_service' and datname = ${name}`;
      await until("it says why", async () => (await told()).endsWith("_read_only is on"));
      assertUnavailable(await status());
    } finally {
      await sql`alter database ${sql(name)} reset default_transaction_read_only`;
    }
    assert.equal((await status()).status, 200);
    await until("it is ready", async () => (await told()) === "ok");
  });
});

test("Postgres stops and starts again under load: 503 meanwhile, then 200", async () => {
  const port = await freePort();
  const dataDir = mkdtempSync(path.join(tmpdir(), "tms-fault-"));
  const settings = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };
  let server = await startEmbedded({ dataDir, port, settings });
  const { owner: ownerUrl, service: serviceUrl, root: rootUrl } = server.urls;
  let own: Service | undefined;
  try {
    await migrate({ ownerUrl, serviceUrl, rootUrl, current: true });
    own = await createService(
      { ...database, urls: { ...database.urls, service: serviceUrl } },
      { SERVICE_MULTI_TENANT_MODE: "false" },
    );
    const harmed = own;
    assert.equal((await boards(harmed)).status, 200);
    const statuses = await underHarm(
      async () => {
        await server.stop();
        await until("a request found no server", async () => (await boards(harmed)).status === 503);
        server = await startEmbedded({ dataDir, port, settings });
      },
      1,
      harmed,
    );
    assert.ok(statuses.includes(503));
    await assertRecovers(harmed);
  } finally {
    await own?.close();
    await server.remove();
  }
});
