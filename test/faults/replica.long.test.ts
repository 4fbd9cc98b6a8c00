import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  lchownSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { startEmbedded } from "../../src/embedded/embedded.ts";
import { freePort } from "../../src/embedded/server.ts";
import { migrate } from "../../src/migrate/migrate.ts";
import {
  createService,
  type Database,
  type Service,
  seedTenant,
  seedUser,
  token,
  withService,
} from "../harness.ts";
import { until } from "../until.ts";
import { ownerOf, type Program, startProgram, temporaryFolder } from "./programs.ts";
import { startWire } from "./wire.ts";

// Its own primary: the Postgres of the test run is shared, and its files belong to other tests too.
let primary: Awaited<ReturnType<typeof startEmbedded>>;
let sql: postgres.Sql;
let replica: { url: string; sql: postgres.Sql; server: Program; folder: string; start(): Promise<Program> };
let service: Service;
let operator: string;

before(async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), "tms-primary-"));
  chmodSync(dataDir, 0o711);
  // No autovacuum, so that the copied files stay unchanged; wal_keep_size keeps the WAL that the replica needs later.
  const settings = { fsync: "off", autovacuum: "off", wal_keep_size: "1GB" };
  primary = await startEmbedded({ dataDir, settings });
  await migrate({ ownerUrl: primary.urls.owner, current: true });
  const database = new URL(primary.urls.service).pathname;
  sql = postgres(Object.assign(new URL(primary.urls.root), { pathname: database }).href, {
    max: 2,
    onnotice: () => {},
  });
  await seedUser(sql, await seedTenant(sql, { slug: "acme" }), { subject: "alice" });
  replica = await startReplica();
  service = await createService({ urls: { service: primary.urls.service } } as Database, {
    SERVICE_DATABASE_READ_URL: replica.url,
  });
  operator = await tokenOf("op");
});
after(async () => {
  await service?.close();
  await replica?.sql.end();
  await replica?.server.stop("SIGQUIT");
  if (replica) rmSync(replica.folder, { recursive: true });
  await sql?.end();
  await primary?.remove();
});

/** A streaming replica from a backup in SQL and a copy of the files: the embedded binaries have no pg_basebackup. */
async function startReplica() {
  const [{ bindir, data }] = await sql<[{ bindir: string; data: string }]>`
    select (select setting from pg_config where name = 'BINDIR') as bindir, current_setting('data_directory') as data`;
  appendFileSync(path.join(data, "pg_hba.conf"), "\nhost replication all 127.0.0.1/32 scram-sha-256\n");
  await sql`select pg_reload_conf()`;
  const account = ownerOf(data);
  const folder = temporaryFolder("replica", account);
  const backup = await sql.reserve();
  await backup`select pg_backup_start('replica', fast => true)`;
  cpSync(data, folder, {
    recursive: true,
    verbatimSymlinks: true,
    filter: file => !/postmaster\.(pid|opts)$/.test(file),
  });
  for (const file of readdirSync(path.join(folder, "pg_wal")))
    rmSync(path.join(folder, "pg_wal", file), { recursive: true });
  const [stopped] = await backup<{ labelfile: string }[]>`select labelfile from pg_backup_stop()`;
  backup.release();
  const port = await freePort();
  const root = new URL(primary.urls.root);
  writeFileSync(path.join(folder, "backup_label"), stopped!.labelfile);
  writeFileSync(path.join(folder, "standby.signal"), "");
  appendFileSync(
    path.join(folder, "postgresql.auto.conf"),
    `\nprimary_conninfo = 'host=127.0.0.1 port=${root.port} user=${root.username} password=${decodeURIComponent(root.password)}'\n`,
  );
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    lchownSync(path.join(folder, file), account.uid, account.gid);
  const as = process.getuid!() === 0 ? account : undefined;
  const start = () =>
    startProgram(
      path.join(bindir, "postgres"),
      ["-D", folder, "-p", String(port), "-h", "127.0.0.1", "-k", ""],
      port,
      as,
    );
  const server = await start();
  const at = (url: string) => Object.assign(new URL(url), { port: String(port) }).href;
  const { pathname } = new URL(primary.urls.service);
  const own = postgres(at(Object.assign(new URL(primary.urls.root), { pathname }).href), {
    max: 1,
    onnotice: () => {},
  });
  // It listens before it accepts connections: first it applies the WAL of the copy.
  await until("the replica takes connections", () => own`select`.catch(() => false));
  return { url: at(primary.urls.service), sql: own, server, folder, start };
}

const tokenOf = (sub: string) => token({ sub, tenant: "acme", roles: ["tenant-operator"] });

/** By another operator each time: on a slow machine the wait would use up the rate limit of one. */
let lists = 0;
const list = async () =>
  (await service.request({ url: "/api/setup/tenants", token: await tokenOf(`lister-${++lists}`) })).body
    .total_count;

/** Waits until the replica has applied all WAL of the primary. */
async function caughtUp() {
  const [{ lsn }] = await sql<[{ lsn: string }]>`select pg_current_wal_flush_lsn()::text as lsn`;
  await until("the replica has caught up", async () => {
    const [row] = await replica.sql<
      { there: boolean }[]
    >`select pg_last_wal_replay_lsn() >= ${lsn}::text::pg_lsn as there`;
    return row!.there;
  });
}

/** Pauses replay on the replica. */
async function fallBehind() {
  await replica.sql`select pg_wal_replay_pause()`;
  await until("the replica pauses", async () => {
    const [row] = await replica.sql<{ state: string }[]>`select pg_get_wal_replay_pause_state() as state`;
    return row!.state === "paused";
  });
}

test("the replica streams from the primary", async () => {
  await caughtUp();
  const [row] = await replica.sql`select pg_is_in_recovery() as recovering`;
  assert.equal(row!.recovering, true);
  await until("it streams", async () => {
    const senders = await sql`select state from pg_stat_replication`;
    return senders.map(({ state }) => state as string).join() === "streaming";
  });
});

test("an operator's reads come from the replica, also while it lags", async () => {
  await caughtUp();
  const before = await list();
  const slug = async () =>
    (await service.request({ url: "/api/setup/status", token: operator })).body.default_tenant_slug;
  const named = await slug();
  await fallBehind();
  await sql`update app.tenants set slug = 'renamed' where is_default`;
  assert.equal(await slug(), named, "the status is the replica's");
  const made = await service.request({
    method: "POST",
    url: "/api/setup/tenant",
    token: operator,
    body: { name: "New", slug: "new" },
  });
  assert.equal(made.status, 201);
  const one = await service.request({ url: `/api/setup/tenant/${made.body.tenant_id}`, token: operator });
  assert.deepEqual([one.status, one.body.slug], [200, "new"], "what the replica has not, the primary has");
  assert.equal(await list(), before, "the list is the replica's, which is at fault in nothing");
  await replica.sql`select pg_wal_replay_resume()`;
  await caughtUp();
  assert.equal(await list(), before + 1);
  assert.equal(await slug(), "renamed");
  await sql`update app.tenants set slug = ${named} where is_default`;
});

test("the replica's login must keep the rules of the primary's", async () => {
  const env = (url: string) => ({ SERVICE_DATABASE_READ_URL: url });
  const { pathname } = new URL(primary.urls.service);
  const root = Object.assign(new URL(primary.urls.root), { pathname, port: new URL(replica.url).port }).href;
  const database = { urls: { service: primary.urls.service } } as Database;
  await assert.rejects(
    createService(database, env(root)),
    /The login of SERVICE_DATABASE_READ_URL is not safe to use: it is a superuser/,
  );
  const nowhere = Object.assign(new URL(replica.url), { port: String(await freePort()) }).href;
  await withService(database, env(nowhere), async without =>
    assert.equal((await without.request({ url: "/api/setup/tenants", token: operator })).status, 200),
  );
});

test("the login of a replica that was down at the start is checked before its first use", async () => {
  await caughtUp();
  const { pathname } = new URL(primary.urls.service);
  const root = Object.assign(new URL(primary.urls.root), { pathname, port: new URL(replica.url).port }).href;
  for (const [url, used] of [
    [replica.url, true],
    [root, false],
  ] as const) {
    const wire = await startWire(url);
    wire.refuse(true);
    const env = { SERVICE_DATABASE_READ_URL: wire.url };
    await withService({ urls: { service: primary.urls.service } } as Database, env, async own => {
      const { database } = own.app;
      const ask = async () =>
        (
          await own.request({
            url: "/api/setup/tenants",
            token: await tokenOf(`late-${++lists}`),
          })
        ).status;
      assert.equal(await ask(), 200);
      assert.ok(database.replicaRestsUntil > performance.now(), "it was tried");
      wire.refuse(false);
      await until("it has rested", () => performance.now() >= database.replicaRestsUntil);
      assert.equal(await ask(), 200);
      wire.trips();
      assert.equal(await ask(), 200);
      assert.equal(wire.trips() > 0, used);
      const [error] = own.logs.filter(({ level }) => level === 50);
      assert.match(
        JSON.stringify(error ?? null),
        used ? /^null$/ : /"it is a superuser".*SERVICE_DATABASE_READ_URL is not safe to use/,
      );
    }).finally(() => wire.close());
  }
});

test("a replica that lags never answers about membership", async () => {
  const alice = await token({ sub: "alice", tenant: "acme" });
  const current = async () => (await service.request({ url: "/api/tenants/current", token: alice })).status;
  const setup = async () => (await service.request({ url: "/api/setup/tenants", token: alice })).body.detail;
  await caughtUp();
  assert.equal(await current(), 200);
  assert.equal(await setup(), "The role tenant-operator is required");
  await fallBehind();
  await sql`update app.users set removed_at = now() where auth_subject = 'alice'`;
  assert.equal(await current(), 403);
  assert.equal(await setup(), "User does not belong to tenant");
  await replica.sql`select pg_wal_replay_resume()`;
});

test("in single-tenant mode a caller who is not an operator, and would join, never uses the replica", async () => {
  const database = { urls: { service: primary.urls.service } } as Database;
  const env = { SERVICE_DATABASE_READ_URL: replica.url, SERVICE_MULTI_TENANT_MODE: "false" };
  await withService(database, env, async ({ app, ...service }) => {
    const answer = await service.request({
      url: "/api/setup/status",
      token: await token({ sub: "newcomer" }),
    });
    assert.equal(answer.status, 403);
    assert.equal(app.database.replicaRestsUntil, 0);
  });
});

test("a stale read cannot overwrite: its ETag is the replica's, so the primary answers 412", async () => {
  const [{ id }] = await sql<[{ id: string }]>`select id from app.tenants where slug = 'acme'`;
  const url = `/api/setup/tenant/${id}`;
  await caughtUp();
  await fallBehind();
  const change = (name: string, etag: unknown) =>
    service.request({
      method: "PUT",
      url,
      token: operator,
      body: { name },
      headers: { "if-match": String(etag) },
    });
  const { headers } = await service.request({ url, token: operator });
  assert.equal((await change("First", headers.etag)).status, 200);
  const stale = await service.request({ url, token: operator });
  assert.equal((await change("Second", stale.headers.etag)).status, 412);
  await replica.sql`select pg_wal_replay_resume()`;
});

test("without the replica the primary answers; after its return it is used again, also when the clock was set back", async t => {
  await replica.server.stop("SIGQUIT");
  assert.ok((await list()) >= 3);
  assert.equal(await list(), await list());
  const { body } = await service.request({ url: "/metrics" });
  assert.match(body, /^tms_database_replica_resting 1$/m);
  assert.equal((await service.request({ url: "/ready" })).status, 200);
  replica.server = await replica.start();
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() - 3_600_000 });
  const rests = () => performance.now() < service.app.database.replicaRestsUntil;
  await until("the replica has rested", () => !rests());
  const { pool } = service.app.pg.replica!;
  await until("the replica is asked again", async () => {
    assert.ok((await list()) >= 3);
    return pool.idleCount > 0;
  });
  assert.ok(!rests(), "the replica answered");
});

test("an address of a standby is not ready; a write is 503, and the next one connects anew", async () => {
  await caughtUp();
  const wire = await startWire(replica.url);
  const database = { urls: { service: wire.url } } as Database;
  await withService(database, {}, async own => {
    const status = () => own.request({ url: "/api/setup/status", token: operator });
    const ready = () => own.request({ url: "/ready" });
    const refused = await status();
    assert.deepEqual(
      [refused.status, refused.body.detail],
      [503, "The database takes no writes right now; send the request again"],
    );
    const { status: unready, body } = await ready();
    assert.deepEqual([unready, body.checks?.database], [503, "it takes no writes: it is a standby"]);
    wire.lead(primary.urls.service);
    assert.equal((await status()).status, 200);
    await until("the service is ready", async () => (await ready()).status === 200);
  }).finally(() => wire.close());
});

test("each check of the audit answers on a standby, as a view", async () => {
  const checks = await replica.sql<
    { source: string }[]
  >`select source from audit.checks where oid is not null`;
  assert.ok(checks.length > 40);
  for (const { source } of checks) await replica.sql.unsafe(`select * from ${source}`);
});

test("a promoted standby needs no restart of the service", async () => {
  await caughtUp();
  await withService({ urls: { service: replica.url } } as Database, {}, async own => {
    const create = () =>
      own.request({
        method: "POST",
        url: "/api/setup/tenant",
        token: operator,
        body: { name: "Failover", slug: "failover" },
      });
    assert.equal((await create()).status, 503);
    await replica.sql`select pg_promote()`;
    assert.equal((await create()).status, 201);
    await until("it is ready", async () => (await own.request({ url: "/ready" })).status === 200);
  });
});
