import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { isOfStatement, Pipeline } from "../../src/database/pipeline.ts";
import { codeOf } from "../../src/errors/errors.ts";
import {
  addressWith,
  createDatabase,
  long,
  type Service,
  seedTenant,
  seedUser,
  type TestResponse,
  token,
  withService,
} from "../harness.ts";
import { lockWaiters, until } from "../until.ts";
import { startWire } from "./wire.ts";

const TENANTS = ["acme", "hooli", "initech", "umbrella"];

const database = await createDatabase();
const wire = await startWire(database.urls.service);
for (const slug of TENANTS) {
  const tenant = await seedTenant(database.sql, { slug });
  const owner = await seedUser(database.sql, tenant, { subject: `of-${slug}`, role: "owner" });
  for (let i = 0; i < 4; i++) await seedUser(database.sql, tenant, { subject: `member-${i}` });
  await database.sql`insert into app.boards (tenant_id, owner_id, title) values (${tenant}, ${owner}, ${slug})`;
}
after(async () => {
  await wire.close();
  await database.drop();
});

const onWire = (env: Record<string, string>, work: (service: Service) => Promise<void>) =>
  withService(database, { SERVICE_DATABASE_URL: wire.url, ...env }, work);
const get = async (service: Service, url: string, slug: string, sub = `of-${slug}`) =>
  service.request({ url, token: await token({ sub, tenant: slug }) });
const connections = (service: Service) => service.app.database.pools.primary.totalCount;
const others = <T>(count: number, one: (i: number) => T) => Array.from({ length: count }, (_, i) => one(i));

/** Locks app.boards while `work` runs. */
async function whileBoardsAreLocked(work: () => Promise<void>) {
  await database.sql.begin(async sql => {
    await sql`lock table app.boards in access exclusive mode`;
    await work();
  });
}

long("requests of many tenants, served and refused, share a connection, and each gets its own answer", () =>
  onWire({ SERVICE_DATABASE_POOL_SIZE: "1" }, async service => {
    await Promise.all(
      others(120, async i => {
        const slug = TENANTS[i % TENANTS.length]!;
        if (i % 5 === 0) {
          const { status } = await get(service, "/api/boards", slug, "of-nobody");
          assert.equal(status, 403);
        } else if (i % 7 === 0) {
          const { status } = await get(service, "/api/boards?cursor=bm90IG91cnM", slug);
          assert.equal(status, 422);
        } else if (i % 3 === 0) {
          const { status, body } = await get(service, "/api/tenants/current", slug);
          assert.equal(status, 200);
          assert.deepEqual([body.tenant.slug, body.membership.auth_subject], [slug, `of-${slug}`]);
        } else {
          const { status, body } = await get(service, "/api/boards", slug);
          assert.equal(status, 200);
          assert.deepEqual(
            body.boards.map(({ title }: { title: string }) => title),
            [slug],
          );
        }
      }),
    );
    assert.equal(connections(service), 1);
  }),
);

long("short reads share a connection up to the configured depth, and not at depth 1", async t => {
  for (const [depth, expected] of [
    ["8", 5],
    ["1", 10],
  ] as const) {
    await onWire({ SERVICE_DATABASE_PIPELINE_DEPTH: depth }, async service => {
      await get(service, "/api/boards", "acme");
      const at = performance.now();
      const clock = t.mock.method(performance, "now", () => at); // else a slow machine would find a connection stalled
      const urls = ["/api/boards", "/api/tenants/current", "/api/tenants/members"];
      // Of several members: one identity has 16 requests at work at most.
      const answers = await Promise.all(
        others(36, i => get(service, urls[i % 3]!, "acme", `member-${i % 4}`)),
      );
      clock.mock.restore();
      assert.ok(answers.every(({ status }) => status === 200));
      assert.equal(connections(service), expected, depth);
    });
  }
});

long("a request after a read that waits for a lock does not wait with it", () =>
  onWire({}, async service => {
    let held: Promise<TestResponse> | undefined;
    await whileBoardsAreLocked(async () => {
      held = get(service, "/api/boards", "acme");
      await lockWaiters(database.sql);
      await sleep(60); // a connection that answered nobody for 50 ms takes no more
      const { status } = await Promise.race([
        get(service, "/api/tenants/current", "acme"),
        held.then(() => assert.fail("the read did not wait for the lock")),
      ]);
      assert.equal(status, 200);
    });
    assert.equal((await held!).status, 200);
  }),
);

long("a read does not overtake a request that waits for a connection", t =>
  onWire({ SERVICE_DATABASE_POOL_SIZE: "1" }, async service => {
    const { primary } = service.app.database.pools;
    const order: string[] = [];
    const told = (url: string) => get(service, url, "acme").then(() => order.push(url));
    const urls = ["/api/boards", "/api/tenants/mine", "/api/tenants/current"] as const;
    let asked: Promise<unknown>[] = [];
    await told(urls[0]);
    await whileBoardsAreLocked(async () => {
      const at = performance.now();
      t.mock.method(performance, "now", () => at); // else a slow machine would find the first read stalled
      asked = [told(urls[0])];
      await until("the read is sent", () => primary.idleCount === 0);
      asked.push(told(urls[1]));
      await until("who needs a connection waits", () => service.app.database.shares.waiting === 1);
      asked.push(told(urls[2]));
      await until("all are asked", () => service.app.inFlight.length === 3);
    });
    await Promise.all(asked);
    assert.deepEqual(order.slice(1), urls);
  }),
);

long(
  "requests behind a read that ran into its lock timeout fail at once, instead of waiting in their turn",
  t => {
    // Shorter than in production, to save time.
    const env = { SERVICE_DATABASE_URL: addressWith(wire.url, { lock_timeout: "2s" }) };
    return onWire({ ...env, SERVICE_DATABASE_POOL_SIZE: "1" }, async service => {
      await get(service, "/api/boards", "acme");
      const details: string[] = [];
      await whileBoardsAreLocked(async () => {
        const at = performance.now();
        const clock = t.mock.method(performance, "now", () => at); // else a slow machine would find the first read stalled
        const one = async () => {
          const { status, headers, body } = await get(service, "/api/boards", "acme");
          assert.deepEqual([status, headers["retry-after"]], [503, "1"]);
          details.push(body.detail);
        };
        await Promise.all(others(8, one));
        clock.mock.restore();
      });
      assert.deepEqual([...new Set(details)], ["The row is busy; send the request again"]);
      assert.equal(details.length, 8);
      assert.equal((await get(service, "/api/boards", "acme")).status, 200);
    });
  },
);

long("a write gets a connection of its own under constant reads", () =>
  onWire({ SERVICE_DATABASE_POOL_SIZE: "1" }, async service => {
    let going = true;
    const readers = others(12, async i => {
      while (going) assert.equal((await get(service, "/api/boards", TENANTS[i % 4]!)).status, 200);
    });
    try {
      for (let i = 0; i < 20; i += 1) {
        const { status } = await service.request({
          method: "POST",
          url: "/api/tenants/members",
          token: await token({ sub: "of-acme", tenant: "acme" }),
          body: { auth_subject: `new-${i}` },
        });
        assert.equal(status, 201);
      }
    } finally {
      going = false;
      await Promise.all(readers);
    }
  }),
);

long("a broken connection costs only the requests on it: a 503 each", () =>
  onWire({}, async service => {
    await get(service, "/api/boards", "acme");
    wire.freeze(true);
    const lost = others(20, () => get(service, "/api/boards", "hooli"));
    await until("all are on their way", () => service.app.inFlight.length === 20);
    wire.refuse(true); // one that is late finds no other connection
    wire.cut();
    for (const { status, body } of await Promise.all(lost)) {
      assert.equal(status, 503);
      assert.equal(body.error, "Service unavailable");
    }
    wire.refuse(false);
    wire.freeze(false);
    assert.equal((await get(service, "/api/boards", "hooli")).status, 200);
  }),
);

/** A pipeline without the service. A statement stays in flight until `release`; `pid` is that of its connection. */
async function onPipeline(
  settings: Record<string, string>,
  work: (line: {
    pool: pg.Pool;
    pipeline: Pipeline;
    pid: () => Promise<number>;
    hold: () => { pid: Promise<number>; release: () => Promise<unknown> };
  }) => Promise<void>,
) {
  const pool = new pg.Pool({ connectionString: addressWith(database.urls.service, settings), max: 3 });
  pool.on("connect", client => client.on("error", () => {}));
  const pipeline = new Pipeline(pool, 8);
  const pidOf = async (client: pg.PoolClient) =>
    (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]!.pid;
  const held: (() => Promise<void>)[] = [];
  const hold = () => {
    let open = () => {};
    const gate = new Promise<void>(resolve => {
      open = resolve;
    });
    let done: Promise<void> | undefined;
    const pid = new Promise<number>(resolve => {
      done = pipeline.run(async client => {
        resolve(await pidOf(client));
        await gate;
      });
    });
    const release = () => {
      open();
      return done!;
    };
    held.push(release);
    return { pid, release };
  };
  try {
    await work({ pool, pipeline, pid: () => pipeline.run(pidOf), hold });
  } finally {
    await Promise.allSettled(held.map(release => release()));
    await pool.end();
  }
}

long("a connection that answers, even with an error, takes more; after ten seconds it takes none", t =>
  onPipeline({}, async ({ pipeline, pid, hold }) => {
    let at = 1_000;
    t.mock.method(performance, "now", () => at);
    const held = hold();
    const first = await held.pid;
    for (let i = 0; i < 130; i += 1) {
      at += 40; // a connection that answered nobody for 50 ms takes no more
      await pipeline
        .run(client => client.query("select 1 / 0"))
        .catch(error => assert.equal(codeOf(error), "22012"));
      at += 40;
      if (at < 11_000) assert.equal(await pid(), first, `after ${at}`);
      else assert.notEqual(await pid(), first, `after ${at}`);
    }
    await held.release();
  }),
);

long("a statement that runs out of time fails those behind it, and, alone, keeps the connection", () =>
  onPipeline({ statement_timeout: "300ms" }, async ({ pipeline, pid }) => {
    const before = await pid();
    const slow = () => pipeline.run(client => client.query("select pg_sleep(60)")).catch(error => error);
    assert.equal(codeOf(await slow()), "57014");
    assert.equal(await pid(), before);
    const [first, ...behind] = await Promise.all([slow(), slow(), slow(), slow()]);
    assert.equal(codeOf(first), "57014");
    assert.ok(behind.every(error => error === first)); // they did not have their own try
    assert.notEqual(await pid(), before);
  }),
);

long("a broken connection takes no more, and is not used again", () =>
  onPipeline({}, async ({ pool, pipeline, pid, hold }) => {
    const held = hold();
    const broken = await held.pid;
    await assert.rejects(
      pipeline.run(() => Promise.reject(new Error("lost"))),
      /lost/,
    );
    assert.notEqual(await pid(), broken);
    assert.equal(pool.totalCount, 2);
    await held.release();
    await until("it is closed", () => pool.totalCount === 1);
    assert.notEqual(await pid(), broken);
  }),
);

test("an error of a statement keeps the connection; an error of the connection does not", () => {
  const said = (code: string) => Object.assign(new pg.DatabaseError("", 0, "error"), { code });
  for (const code of ["22012", "23505", "25006", "40P01", "55P03", "57014", "TM403"])
    assert.ok(isOfStatement(said(code)), code);
  for (const code of ["08006", "08P01", "25P03", "25P04", "57P01", "57P02", "57P05"])
    assert.ok(!isOfStatement(said(code)), code);
  assert.ok(!isOfStatement(Object.assign(new Error("lost"), { code: "ECONNRESET" })));
});
