import assert from "node:assert/strict";
import { after, test } from "node:test";
import { RELEASE } from "../../src/migrate/release.ts";
import { rolledBack } from "../harness.ts";
import { until } from "../until.ts";
import { createWorld, passASecond } from "./world.ts";

const world = await createWorld();
after(() => world.end());

/** A fresh answer: answers are shared for a second. */
async function ready() {
  passASecond();
  return world.service.request({ url: "/ready" });
}

test("health says that the process is up, without a token and without the database", async () => {
  const { status, body } = await world.service.request({ url: "/health" });
  assert.deepEqual([status, body], [200, { status: "ok" }]);
});

test("machines may add a query to the addresses that they watch", async () => {
  for (const url of ["/health?x=1", "/ready?verbose=1&verbose=2", "/metrics?x=1"])
    assert.equal((await world.service.request({ url, undocumented: true })).status, 200, url);
});

test("ready says that the database answers, is migrated and keeps tenants apart", async () => {
  const { status, body, headers } = await world.service.request({ url: "/ready" });
  assert.equal(status, 200);
  assert.equal(headers["cache-control"], "no-store");
  assert.deepEqual(body.checks, { database: "ok", migrations: "ok", isolation: "ok", clock: "ok" });
  assert.equal(body.status, "ready");
});

test("/ready queries the database once a second, however many requests come", async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => world.service.app.readiness()));
  assert.equal(new Set(answers).size, 1);
});

test("/ready is fresh after a second, also when the clock was set back", async t => {
  const first = world.service.app.readiness();
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() - 3_600_000 });
  await ready();
  assert.notEqual(world.service.app.readiness(), first);
});

/** The isolation faults that the service's login reads after a breach, which is then undone. */
const faultsAfter = (breach: string): Promise<string[]> =>
  rolledBack(world.database.sql, async sql => {
    await sql.unsafe(breach);
    await sql`set local session authorization tms_service`;
    const [row] = await sql<{ found: { isolation: string[] } }[]>`select api.get_readiness(null) as found`;
    return row!.found.isolation;
  });

const ONE_MEMBER = `
  insert into app.tenants (id, slug, name) values ('00000000-0000-4000-8000-000000000001', 'seen', 'Seen');
  insert into app.users (tenant_id, auth_provider, auth_subject) values ('00000000-0000-4000-8000-000000000001', 'jwt', 'a')`;

const SHOP = "create schema shop; grant usage on schema shop to tms_app;";
/** Begins like the template, and shows a row of the one member's tenant to every tenant. */
const OPEN =
  "(tenant_id = (select app.tenant_id() where false union all select '00000000-0000-4000-8000-000000000001'::uuid))";
const LEAKING = `${SHOP} ${ONE_MEMBER}; create table shop.a (tenant_id uuid not null, id int, primary key (tenant_id, id)); select app.isolate('shop.a');
  insert into shop.a select tenant_id, 1 from app.users; alter policy tenant_only on shop.a using ${OPEN} with check ${OPEN};`;
const OWN = "(tenant_id = (select app.tenant_id()))";

const BREACHES: [name: string, breach: string, says: string[]][] = [
  ["no breach", "select", []],
  [
    "row-level security switched off",
    "alter table app.boards disable row level security",
    ["app.boards: row-level security is not enabled and forced"],
  ],
  [
    "the owner let past row-level security",
    "alter table app.users no force row level security",
    ["app.users: row-level security is not enabled and forced"],
  ],
  [
    "the tenants themselves open, and a table in parts that nobody isolated",
    "alter table app.tenants disable row level security; create table app.parts (tenant_id uuid) partition by list (tenant_id)",
    ["tenants", "parts"].map(table => `app.${table}: row-level security is not enabled and forced`),
  ],
  [
    "the tenant's policy dropped from a table without rows",
    "drop policy tenant_only on app.media",
    ["app.media: the policy that keeps its rows to one tenant is missing"],
  ],
  [
    "the tenant's policy made to mean nothing",
    "alter policy tenant_only on app.media using (tenant_id is not null) with check (tenant_id is not null)",
    ["app.media: the policy that keeps its rows to one tenant is missing"],
  ],
  ...[
    "alter policy tenant_only on app.media with check (true)",
    "alter policy tenant_only on app.media to tms_owner",
    `drop policy tenant_only on app.media; create policy tenant_only on app.media as restrictive for select to tms_app using ${OWN}`,
    `drop policy tenant_only on app.media; create policy tenant_only on app.media as restrictive for update to tms_app using ${OWN} with check ${OWN}`,
    `drop policy tenant_only on app.media; create policy tenant_only on app.media to tms_app using ${OWN} with check ${OWN}`,
  ].map((breach): (typeof BREACHES)[number] => [
    `the tenant's policy for less: ${breach}`,
    breach,
    ["app.media: the policy that keeps its rows to one tenant is missing"],
  ]),
  ["nothing in the tenant's policy for everybody", "alter policy tenant_only on app.media to public", []],
  [
    "nothing in a second policy like the tenant's",
    `create policy again on app.media as restrictive to tms_app using ${OWN} with check ${OWN}`,
    [],
  ],
  [
    "tenants' rows elsewhere that requests may delete, or write a column of",
    `${SHOP} create table shop.a (tenant_id uuid); grant delete on shop.a to tms_app;
     create table shop.b (tenant_id uuid, n int); grant insert (n) on shop.b to tms_app`,
    ["shop.a", "shop.b"].map(table => `${table}: row-level security is not enabled and forced`),
  ],
  [
    "nothing in what requests do not reach, all share, or a session has",
    `${SHOP} create table shop.a (tenant_id uuid); create table shop.shared (n int); grant select on shop.shared to tms_app;
     create schema closed; create table closed.a (tenant_id uuid); grant select on closed.a to tms_app; create temporary table a (tenant_id uuid); grant select on a to tms_app`,
    [],
  ],
  [
    "a policy that reads right to the catalog check and leaks",
    `${ONE_MEMBER}; alter policy tenant_only on app.users using ${OPEN} with check ${OPEN}`,
    ["app.users: rows are visible outside their tenant"],
  ],
  [
    "a policy that shows all rows to whoever is in a tenant, though there is none",
    `${ONE_MEMBER}; alter policy tenant_only on app.users using (app.tenant_id() is not null)`,
    ["app.users: rows are visible outside their tenant"],
  ],
  [
    "a policy that shows all rows to whoever is in no tenant",
    `${ONE_MEMBER}; alter policy tenant_only on app.users using (app.tenant_id() is null)`,
    ["app.users: rows are visible outside their tenant"],
  ],
  [
    "rows in a table among the tenants', whoever owns it",
    `${LEAKING} alter table shop.a owner to pg_monitor; alter table shop.a set schema app`,
    ["app.a: rows are visible outside their tenant"],
  ],
  [
    "rows elsewhere",
    `${LEAKING} alter table shop.a owner to tms_owner`,
    ["shop.a: rows are visible outside their tenant"],
  ],
  [
    "nothing but the policy of a table of somebody else's, of which no row is read",
    `${LEAKING} alter table shop.a owner to pg_monitor`,
    ["shop.a: the policy that keeps its rows to one tenant is missing"],
  ],
  [
    "a new table of tenants' rows that nobody isolated",
    "create table app.invoices (tenant_id uuid, id int)",
    [
      "app.invoices: row-level security is not enabled and forced",
      "app.invoices: the policy that keeps its rows to one tenant is missing",
    ],
  ],
  [
    "a role let past every policy",
    "alter role tms_registrar bypassrls; alter role tms_app superuser; alter role tms_owner bypassrls; alter role tms_auditor superuser; alter role tms_service bypassrls",
    ["tms_registrar", "tms_app", "tms_owner", "tms_auditor", "tms_service"].map(
      role => `the role ${role}: it can bypass row-level security`,
    ),
  ],
  [
    "a right on a table given to the service's login",
    "grant select on app.boards to tms_service",
    ["the service's login: it owns or has a right on the table app.boards"],
  ],
];

for (const [name, breach, says] of BREACHES) {
  test(`the proof finds ${name}`, async () => {
    const faults = await faultsAfter(breach);
    for (const one of says) assert.ok(faults.includes(one), `${one} is missing in ${faults.join("; ")}`);
    if (name.startsWith("no")) assert.deepEqual(faults, says);
    assert.equal(new Set(faults).size, faults.length, "each is told once");
  });
}

test("ready is 503 while a table is unprotected, and 200 again after", async () => {
  await world.database.sql`alter table app.boards disable row level security`;
  const { status, body, headers } = await ready();
  await world.database.sql`alter table app.boards enable row level security`;
  assert.equal(status, 503);
  assert.equal(headers["retry-after"], "1");
  assert.equal(body.status, "not ready");
  assert.match(body.checks.isolation, /^app\.boards: row-level security is not enabled/);
  assert.equal(body.checks.database, "ok");
  const told = world.service.logs.map(({ msg }) => msg);
  assert.ok(!told.includes("a dependency is unavailable"), "probes ask again and again");
  assert.equal((await ready()).status, 200);
});

test("ready is 503 on a database with an older release, and 200 on a newer one, so that the old build works on", async () => {
  const { sql } = world.database;
  await sql`update control.release set number = number - 1 where number > 1`;
  await sql`delete from control.release where number = 1`;
  const { status, body } = await ready();
  await sql`insert into control.release (number, hash) values (${RELEASE.number + 1}, 'newer')`;
  const newer = await ready();
  await sql`truncate control.release`;
  await sql`insert into control.release ${sql({ ...RELEASE })}`;
  assert.equal(status, 503);
  assert.match(
    body.checks.migrations,
    /^the database is at (release \d+|no release), this build needs release \d+$/,
  );
  assert.equal(newer.status, 200);
});

test("ready is 503 when the function that this release calls is missing", async () => {
  const { sql } = world.database;
  for (const [away, back] of [
    ["alter schema api rename to gone", "alter schema gone rename to api"],
    ["alter function api.get_readiness rename to gone", "alter function api.gone rename to get_readiness"],
  ] as const) {
    await sql.unsafe(away);
    // A connection that has prepared the statement could still run it.
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tms_service' and datname = ${world.database.name}`;
    await until("the service lost its connections", () => world.service.app.pg.pool.totalCount === 0);
    const { status, body } = await ready();
    await sql.unsafe(back);
    assert.equal(status, 503);
    assert.deepEqual(body.checks, {
      database: "ok",
      migrations: "the schema of this release is missing",
      isolation: "unknown",
      clock: "unknown",
    });
  }
});

test("ready is 503 while the database takes longer than the time-out", async () => {
  await world.database.sql.begin(async sql => {
    await sql`lock table app.boards`;
    const { status, body } = await ready();
    assert.equal(status, 503);
    assert.deepEqual(body.checks, {
      database: "no answer within 2 s",
      migrations: "unknown",
      isolation: "unknown",
      clock: "unknown",
    });
  });
  assert.equal((await ready()).status, 200);
});

test("repeated requests hold two connections at most while the database does not answer", async () => {
  const { pool } = world.service.app.pg;
  // A question of the test before may still be under way: it would count as one of the two.
  await until("earlier questions have ended", () => pool.totalCount === pool.idleCount);
  await world.database.sql.begin(async sql => {
    await sql`lock table app.boards`;
    const answers = Array.from({ length: 5 }, () => {
      passASecond();
      return world.service.app.readiness();
    });
    for (const { checks } of await Promise.all(answers))
      assert.deepEqual(checks.database, ["no answer within 2 s"]);
    assert.equal(pool.totalCount - pool.idleCount + pool.waitingCount, 2);
  });
  await until("both have their answer", () => pool.totalCount === pool.idleCount);
  assert.equal((await ready()).status, 200);
});

test("ready is 503 without secrets while the database is away; health and metrics still answer", async () => {
  const { sql } = world.database;
  const told = /^tms_(tenants|ready\{check="(isolation|migrations)"\})/m;
  assert.match((await world.service.request({ url: "/metrics" })).body, told);
  await sql`alter database ${sql(world.database.name)} connection limit 0`;
  try {
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tms_service' and datname = ${world.database.name}`;
    await until("the pool knows", () => world.service.app.pg.pool.totalCount === 0);
    const { status, body } = await ready();
    assert.equal(status, 503);
    assert.deepEqual(body.checks, {
      database: "it cannot be reached",
      migrations: "unknown",
      isolation: "unknown",
      clock: "unknown",
    });
    assert.equal((await world.service.request({ url: "/health" })).status, 200);
    const metrics = await world.service.request({ url: "/metrics" });
    assert.match(metrics.body, /^tms_ready\{check="database"\} 0$/m);
    assert.doesNotMatch(metrics.body, told);
  } finally {
    await sql`alter database ${sql(world.database.name)} connection limit -1`;
  }
  assert.equal((await ready()).status, 200);
});
