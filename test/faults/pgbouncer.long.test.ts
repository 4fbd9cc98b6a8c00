import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { UNHURRIED } from "../../src/database/command-connection.ts";
import { migrate } from "../../src/migrate/migrate.ts";
import { removeSecret } from "../../src/migrate/tenant-context.ts";
import {
  CONTEXT_SECRET,
  createDatabase,
  type Database,
  requireProofs,
  type Service,
  seedTenant,
  seedUser,
  token,
  withService,
} from "../harness.ts";
import { until } from "../until.ts";
import { keepsStatements, type Pooler, startPgbouncer, withoutPgbouncer } from "./pgbouncer.ts";

const skip = withoutPgbouncer;
const TENANTS = ["acme", "globex", "initech", "hooli", "umbrella"];

let database: Database;
const tokens = new Map<string, string>();
before(async () => {
  if (skip) return;
  database = await createDatabase();
  for (const slug of TENANTS) {
    const tenant = await seedTenant(database.sql, { slug });
    const user = await seedUser(database.sql, tenant, { subject: slug });
    await database.sql`insert into app.boards (tenant_id, owner_id, title) values (${tenant}, ${user}, ${`of ${slug}`})`;
    tokens.set(slug, await token({ sub: slug, tenant: slug }));
  }
});
after(() => database?.drop());

/** Runs `work` on the service behind a PgBouncer. */
async function behind(
  settings: Record<string, string | number>,
  env: Record<string, string>,
  work: (service: Service, pooler: Pooler) => Promise<void>,
) {
  const pooler = await startPgbouncer(database.urls.service, settings);
  await withService(database, { SERVICE_DATABASE_URL: pooler.url, ...env }, service =>
    work(service, pooler),
  ).finally(() => pooler.stop());
}

/** Many tenants in parallel over three connections: each gets its own answers, with writes and long transactions too. */
async function everythingWorks(service: Service) {
  const rounds = Array.from({ length: 60 }, (_, i) => TENANTS[i % TENANTS.length]!);
  await Promise.all(
    rounds.map(async slug => {
      const { status, body } = await service.request({ url: "/api/boards", token: tokens.get(slug)! });
      assert.equal(status, 200);
      assert.deepEqual(
        body.boards.map(({ title }: { title: string }) => title),
        [`of ${slug}`],
      );
    }),
  );
  const strangers = rounds.map((slug, i) => [slug, TENANTS[(i + 1) % TENANTS.length]!] as const);
  await Promise.all(
    strangers.map(async ([slug, other]) => {
      const stranger = await token({ sub: slug, tenant: other });
      assert.equal((await service.request({ url: "/api/boards", token: stranger })).status, 403);
    }),
  );
  const operator = await token({ sub: `op-${Math.random()}`, tenant: "acme", roles: ["tenant-operator"] });
  const created = await service.request({
    method: "POST",
    url: "/api/setup/tenant",
    token: operator,
    body: { name: "New", slug: "new", include_sample_data: true },
  });
  assert.equal(created.status, 201);
  const url = `/api/setup/tenant/${created.body.tenant_id}`;
  const changed = await service.request({ method: "PUT", url, token: operator, body: { name: "Newer" } });
  assert.deepEqual([changed.status, changed.body.name], [200, "Newer"]);
  assert.equal((await service.request({ url: "/api/setup/tenants", token: operator })).body.total_count, 7);
  assert.equal((await service.request({ method: "DELETE", url, token: operator })).status, 200);
  assert.equal((await service.request({ url: "/ready" })).status, 200);
}

const dropped = (service: Service) =>
  service.logs.filter(({ msg }) => /prepared statements/.test(String(msg)));

test("transaction mode without prepared statements: everything works", { skip }, () =>
  behind({}, { SERVICE_DATABASE_PREPARED: "false" }, everythingWorks),
);

test("transaction mode with proofs of the tenant context: everything works", { skip }, async () => {
  await requireProofs(database);
  const env = { SERVICE_DATABASE_PREPARED: "false", SERVICE_TENANT_CONTEXT_SECRET: CONTEXT_SECRET };
  await behind({}, env, everythingWorks);
  const owner = postgres(database.urls.owner, { max: 1, onnotice: () => {} });
  await removeSecret(owner).finally(() => owner.end());
});

test("a transaction leaves no setting on the connection for the next client", { skip }, () =>
  behind({ default_pool_size: 1 }, { SERVICE_DATABASE_PREPARED: "false" }, async (service, pooler) => {
    await service.request({ url: "/api/boards", token: tokens.get("acme")! });
    const next = postgres(pooler.url, { max: 1, prepare: false, connection: { application_name: "next" } });
    try {
      const [found] = await next`
        select current_setting('app.tenant_id', true) as tenant, current_setting('application_name') as name,
          current_setting('statement_timeout') as timeout`;
      assert.deepEqual({ ...found }, { tenant: "", name: "next", timeout: "30s" });
      await assert.rejects(next`table app.boards`, /permission denied/);
    } finally {
      await next.end();
    }
  }),
);

test(
  "transaction mode of a PgBouncer that loses prepared statements: the service goes on without",
  {
    skip: skip || (keepsStatements && "this PgBouncer keeps prepared statements"),
  },
  () =>
    behind({}, {}, async service => {
      await everythingWorks(service);
      assert.equal(dropped(service).length, 1);
      assert.equal(service.app.database.prepared, false);
    }),
);

test(
  "the same where the statement is gone with the server's connection",
  {
    skip: skip || (keepsStatements && "this PgBouncer keeps prepared statements"),
  },
  () =>
    behind({ default_pool_size: 1 }, { SERVICE_DATABASE_POOL_SIZE: "1" }, async service => {
      const boards = async () =>
        (await service.request({ url: "/api/boards", token: tokens.get("acme")! })).status;
      assert.equal(await boards(), 200);
      await database.sql`
        select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${database.name} and usename = 'tms_service'`;
      await until("requests come through again", async () => (await boards()) === 200);
      assert.equal(service.app.database.prepared, false);
    }),
);

test(
  "transaction mode of a PgBouncer that keeps prepared statements: they are used",
  {
    skip: skip || (!keepsStatements && "this PgBouncer is older than 1.21 and keeps no prepared statements"),
  },
  () =>
    behind({ max_prepared_statements: 100 }, {}, async service => {
      await everythingWorks(service);
      assert.equal(service.app.database.prepared, true);
    }),
);

test("session mode with prepared statements: they are used", { skip }, () =>
  behind({ pool_mode: "session", default_pool_size: 12 }, {}, async service => {
    await everythingWorks(service);
    assert.equal(dropped(service).length, 0);
    assert.equal(service.app.database.prepared, true);
  }),
);

test("migrate leaves no lock and no setting on the sessions of a pooler", { skip }, async () => {
  const { owner, root } = database.urls;
  const ignored = Object.keys(UNHURRIED).join(",");
  const lenient = { ignore_startup_parameters: ignored, default_pool_size: 1 };
  const [asOwner, asRoot] = await Promise.all([owner, root].map(url => startPgbouncer(url, lenient)));
  try {
    for (const urls of [{ ownerUrl: asOwner!.url }, { ownerUrl: owner, rootUrl: asRoot!.url }])
      assert.deepEqual((await migrate(urls)).applied, []);
    const locks = await database.sql`
      select pid from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
    assert.deepEqual([...locks], []);
    const next = postgres(asRoot!.url, { max: 1, prepare: false });
    const [found] = await next`select setting, reset_val from pg_settings where name = 'statement_timeout'`;
    await next.end();
    assert.equal(found!.setting, found!.reset_val);
  } finally {
    await Promise.all([asOwner, asRoot].map(pooler => pooler!.stop()));
  }
});

test("a pooler that refuses the startup parameters of migrations is named in the error", {
  skip,
}, async () => {
  const pooler = await startPgbouncer(database.urls.owner);
  try {
    await assert.rejects(migrate({ ownerUrl: pooler.url }), {
      message:
        /^The database at \S+ \(DATABASE_URL\) is behind a pooler \(unsupported startup parameter: \w+\): name the server's own address, which migrations and commands need$/,
    });
  } finally {
    await pooler.stop();
  }
});

test("a stopped pooler is 503, and its return needs no restart", { skip }, async () => {
  const first = await startPgbouncer(database.urls.service);
  const port = new URL(first.url).port;
  const env = { SERVICE_DATABASE_URL: first.url, SERVICE_DATABASE_PREPARED: "false" };
  await withService(database, env, async service => {
    const boards = () => service.request({ url: "/api/boards", token: tokens.get("acme")! });
    assert.equal((await boards()).status, 200);
    await first.stop();
    const { status, headers } = await boards();
    assert.deepEqual([status, headers["retry-after"]], [503, "1"]);
    const second = await startPgbouncer(database.urls.service, { listen_port: port });
    assert.equal((await boards()).status, 200);
    await service.close();
    await second.stop();
  });
});
