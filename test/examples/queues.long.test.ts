/** The recipes of examples/queues: a job works in the tenant that sent it. Their packages are not ours. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { inTenant } from "../../src/library/index.ts";
import { built } from "../cli/command.ts";
import { temporaryFolder } from "../folder.ts";
import { ALL, CONTEXT_SECRET, createDatabase, requireProofs, seedTenant, seedUser } from "../harness.ts";
import { until } from "../until.ts";

type Client = pg.PoolClient;
type Task = (client: Client, payload: { note: string }) => Promise<unknown>;
type Stop = () => Promise<unknown>;

const folder = temporaryFolder("queues");
const database = await createDatabase();
const { sql } = database;
const shop = `shop_${database.name.slice(-8)}`;
const pool = new pg.Pool({
  connectionString: Object.assign(new URL(database.urls.root), { username: shop, password: "shop" }).href,
  max: 6,
});
/** The queue's own login. Only the other one works in tenants. */
const role = `${shop}_queue`;
const queuePool = new pg.Pool({
  connectionString: Object.assign(new URL(database.urls.root), { username: role, password: "shop" }).href,
  max: 4,
});
const owner = new pg.Pool({ connectionString: database.urls.owner, max: 2 });
const ids: Record<string, string> = {};
const offline =
  ALL &&
  spawnSync("npm", ["ping", "--fetch-retries=0", "--fetch-timeout=5000"]).status !== 0 &&
  "npm's registry is out of reach";

before(async () => {
  for (const slug of ["acme", "beta"]) {
    ids[slug] = await seedTenant(sql, { slug });
    await seedUser(sql, ids[slug], { subject: `ann of ${slug}` });
  }
  await sql.unsafe(`create role ${shop} login noinherit password 'shop'; grant tms_app to ${shop};
    create role ${role} login noinherit password 'shop'; grant ${role} to ${shop};
    grant connect on database ${database.name} to ${shop}, ${role}; alter role ${shop} set app.require_tenant = on`);
  await requireProofs(database);
  process.env.SERVICE_TENANT_CONTEXT_SECRET = CONTEXT_SECRET;
  if (offline) return;
  cpSync(path.join(built, "examples/queues"), folder, { recursive: true, dereference: true });
  // A folder where they are installed already.
  if (process.env.QUEUE_PACKAGES)
    symlinkSync(path.join(process.env.QUEUE_PACKAGES, "node_modules"), path.join(folder, "node_modules"));
  else execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder });
  mkdirSync(path.join(folder, "node_modules"), { recursive: true });
  rmSync(path.join(folder, "node_modules/tenant-management-service"), { force: true });
  symlinkSync(built, path.join(folder, "node_modules/tenant-management-service"));
});
after(async () => {
  delete process.env.SERVICE_TENANT_CONTEXT_SECRET;
  await Promise.all([pool.end(), queuePool.end(), owner.end()]);
  await sql.unsafe(`drop owned by ${shop}, ${role}; drop role ${shop}, ${role}`);
  await database.drop();
});
beforeEach(() => sql`update app.users set display_name = null`);

const load = async <T>(name: string) => (await import(pathToFileURL(path.join(folder, name)).href)) as T;
const ann = (slug: string) => ({ slug, subject: `ann of ${slug}` });
const note: Task = (client, { note }) => client.query("update app.users set display_name = $1", [note]);
const notes = async () =>
  (
    await sql<{ note: string }[]>`
      select coalesce(display_name, '-') as note from app.users order by auth_subject`
  ).map(row => row.note);

/** Both recipes promise the same. */
async function assertQueue(
  send: (client: Client, tenant: { tenantId: string }, note: string) => Promise<unknown>,
  work: (task: Task) => Promise<Stop>,
) {
  await inTenant(pool, ann("acme"), async (client, entered) => {
    await send(client, entered, "from acme");
    // The request goes on in its tenant.
    const { rows } = await client.query<{ auth_subject: string }>("select auth_subject from app.users");
    assert.deepEqual(rows, [{ auth_subject: "ann of acme" }]);
  });
  await assert.rejects(
    inTenant(pool, ann("beta"), async (client, entered) => {
      await send(client, entered, "never");
      throw new Error("rolled back");
    }),
    /rolled back/,
  );
  let runs = 0;
  const stop = await work((client, payload) => {
    runs++;
    return note(client, payload);
  });
  try {
    await until("the job has run", async () => (await notes())[0] === "from acme");
    assert.deepEqual(await notes(), ["from acme", "-"]);
    assert.equal(runs, 1, "the job of the request that rolled back was not sent");
  } finally {
    await stop();
  }
}

test("graphile-worker: a job works in its tenant, and is sent only if the request commits", {
  skip: offline,
}, async () => {
  const queue = await load<{
    install: (owner: pg.Pool, role: string) => Promise<void>;
    send: (
      client: Client,
      role: string,
      tenant: { tenantId: string },
      task: string,
      payload: object,
    ) => Promise<unknown>;
    work: (queue: pg.Pool, pool: pg.Pool, tasks: Record<string, Task>) => Promise<Stop>;
  }>("graphile-worker.mjs");
  await queue.install(owner, role);
  await assertQueue(
    (client, tenant, note) => queue.send(client, role, tenant, "note", { note }),
    task => queue.work(queuePool, pool, { note: task }),
  );
});

test("pg-boss: a job works in its tenant, and is sent only if the request commits", {
  skip: offline,
}, async () => {
  const queue = await load<{
    install: (owner: pg.Pool, role: string, names: string[]) => Promise<void>;
    connect: (pool: pg.Pool) => Promise<object>;
    send: (
      boss: object,
      client: Client,
      role: string,
      tenant: { tenantId: string },
      name: string,
      payload: object,
    ) => Promise<unknown>;
    work: (boss: object, pool: pg.Pool, tasks: Record<string, Task>) => Promise<Stop>;
  }>("pg-boss.mjs");
  await queue.install(owner, role, ["note"]);
  const boss = await queue.connect(queuePool);
  await assertQueue(
    (client, tenant, note) => queue.send(boss, client, role, tenant, "note", { note }),
    task => queue.work(boss, pool, { note: task }),
  );
});

test("a job of a suspended tenant, or without a tenant, fails; and the gate passes with both queues", {
  skip: offline,
}, async () => {
  const { inJob } = await load<{
    inJob: (
      pool: pg.Pool,
      payload: { tenantId?: string },
      work: (client: Client) => Promise<unknown>,
    ) => Promise<unknown>;
  }>("in-job.mjs");
  const work = async () => assert.fail("it has begun");
  await sql`update app.tenants set status = 'suspended' where slug = 'beta'`;
  await assert.rejects(inJob(pool, { tenantId: ids.beta! }, work), /is not active/);
  await assert.rejects(inJob(pool, {}, work), /a tenantId/);
  await sql`select control.gate()`;
  // No request reads the jobs of others.
  for (const table of ["graphile_worker.jobs", "pgboss.job"])
    await assert.rejects(
      inTenant(pool, ann("acme"), client => client.query(`select from ${table}`)),
      {
        code: "42501",
      },
    );
});
