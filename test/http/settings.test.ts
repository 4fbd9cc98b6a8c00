/** Settings of a server, database or login must not change an answer; the service refuses to start with those that would. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  addressWith,
  createDatabase,
  createService,
  type Service,
  seedTenant,
  seedUser,
  token,
  withService,
  withSettings,
} from "../harness.ts";
import { lockWaiters, until } from "../until.ts";

const database = await createDatabase();
after(() => database.drop());

async function clean(env: Record<string, string>, work: (service: Service) => Promise<void>) {
  await withService(database, env, work);
  await database.sql`delete from control.rate_limits`;
  await database.sql`delete from app.tenants`;
}

/** Settings of names, strings, times, values and the planner. */
const ODD = {
  standard_conforming_strings: "off",
  quote_all_identifiers: "on",
  transform_null_equals: "on",
  datestyle: "'German'",
  intervalstyle: "'sql_standard'",
  timezone: "'Asia/Kolkata'",
  bytea_output: "'escape'",
  array_nulls: "off",
  extra_float_digits: "-15",
  search_path: "'app, public'",
  plan_cache_mode: "'force_generic_plan'",
  jit_above_cost: "0",
  "plpgsql.extra_errors": "'all'",
  default_transaction_isolation: "'serializable'",
  gin_fuzzy_search_limit: "10",
  enable_seqscan: "off",
};

test("unusual settings for strings, names and times do not change an answer", () =>
  withSettings(database, ODD, () =>
    clean({}, async service => {
      const operator = await token({ sub: "op", tenant: "ops", roles: ["tenant-operator"] });
      const ask = (method: "GET" | "POST", url: string, body?: unknown) =>
        service.request({ method, url, token: operator, ...(body !== undefined && { body }) });
      const name = "100% \\ 'a_b'";
      assert.equal((await ask("POST", "/api/setup/tenant", { name, slug: "acme" })).status, 201);
      for (const [search, found] of Object.entries({ "%": 1, "\\": 1, "'": 1, a_b: 1, aab: 0, "0\\%": 0 })) {
        const { status, body } = await ask("GET", `/api/setup/tenants?search=${encodeURIComponent(search)}`);
        assert.deepEqual([status, body.total_count, body.tenants?.length], [200, found, found], search);
      }
      await database.sql`insert into app.tenants (slug, name) select 'zebra-' || i, 'Zebra' from generate_series(1, 5000) i`;
      await database.sql`vacuum analyze app.tenants`;
      assert.equal((await ask("GET", "/api/setup/tenants?search=zebra")).body.total_count, 5000);
      const explained = await ask("GET", "/api/setup/explain?tenant=acme");
      assert.deepEqual(
        explained.body.tables.filter(({ table }: { table: string }) => !/^app\.\w+$/.test(table)),
        [],
      );
      const { status, body } = await ask("GET", "/api/setup/status");
      assert.equal(status, 200);
      assert.deepEqual(
        body.recommendations.filter((sentence: string) => /Isolation is broken/.test(sentence)),
        [],
      );
      const ready = await service.request({ url: "/ready" });
      assert.equal(ready.status, 200, JSON.stringify(ready.body));
    }),
  ));

test("the limit of tenants holds when transactions are repeatable read by default", () =>
  withSettings(database, { default_transaction_isolation: "'repeatable read'" }, () =>
    clean({ SERVICE_MAX_TENANTS_PER_USER: "1" }, async service => {
      const ann = await token({ sub: "ann", tenant: "lobby" });
      // As after a thousand registrations: no two sessions change the same row of the counter, which would end one of them.
      await database.sql`
        insert into control.tenant_counts (shard, pending, active, suspended)
        select i, 0, 0, 0 from generate_series(0, 63) i on conflict do nothing`;
      const lock = await database.sql.reserve();
      await lock`select pg_advisory_lock(hashtextextended('jwt' || chr(10) || 'ann', 0))`;
      const answers = [];
      for (const slug of ["one", "two"]) {
        const body = {
          organization_name: slug,
          organization_slug: slug,
          admin_email: "a@b.example",
          use_case: "x",
        };
        answers.push(service.request({ method: "POST", url: "/api/tenants/register", token: ann, body }));
        await lockWaiters(database.sql, answers.length);
      }
      await lock`select pg_advisory_unlock_all()`;
      lock.release();
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      assert.deepEqual(
        statuses.sort((a, b) => a - b),
        [201, 403],
      );
    }),
  ));

test("the service refuses to start with settings that would break it, and names the setting", async () => {
  const refused = (setting: string, value: string, env = {}) =>
    assert.rejects(createService(database, env), {
      message: new RegExp(`^The service's database login is not safe to use: .*${setting} = ${value}`),
    });
  for (const [setting, value] of [
    ["row_security", "off"],
    ["session_replication_role", "replica"],
  ] as const)
    await withSettings(database, { [setting]: value }, () => refused(setting, value));
  const [setting, value] = ["default_transaction_isolation", "repeatable read"] as const;
  await refused(setting, value, {
    SERVICE_DATABASE_URL: addressWith(database.urls.service, { [setting]: value }),
  });
});

test("the service refuses to start with a login that may not execute its functions", async () => {
  const name = `${database.name}_login`;
  await database.sql.unsafe(
    `create role ${name} login password 'x'; grant connect on database ${database.name} to ${name}`,
  );
  const service = Object.assign(new URL(database.urls.service), { username: name, password: "x" }).href;
  try {
    await assert.rejects(createService({ ...database, urls: { ...database.urls, service } }), {
      message:
        "SERVICE_DATABASE_URL takes the login tms_service; this one may not execute the schema's functions",
    });
  } finally {
    await database.sql.unsafe(`drop owned by ${name}; drop role ${name}`);
  }
});

test("the service refuses to start when another tenant has the slug of the default tenant", async () => {
  const fresh = await createDatabase();
  await seedTenant(fresh.sql, { slug: "default" });
  try {
    await assert.rejects(createService(fresh), {
      message:
        "The default tenant cannot be made: another tenant has the slug default. " +
        "Set SERVICE_DEFAULT_TENANT_SLUG to one that is free",
    });
  } finally {
    await fresh.drop();
  }
});

test("/ready does not call a database unreachable that answers with an error", () =>
  clean({}, service =>
    withSettings(database, { row_security: "off" }, async () => {
      await database.sql`
        select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where usename = 'tms_service' and datname = current_database()`;
      const { status, body } = await until("a new connection is asked", async () => {
        const ready = await service.request({ url: "/ready" });
        return !/cannot be reached/.test(ready.body.detail) && ready.status === 503 && ready;
      });
      assert.deepEqual(
        [status, body.checks.database],
        [503, "it answers with an error, which the service's log has"],
      );
    }),
  ));

test("a transaction that lasted too long is 503", async t => {
  const [server] = await database.sql`select from pg_settings where name = 'transaction_timeout'`;
  if (!server) return t.skip("since Postgres 17");
  // Longer than the transactions of the start on a slow machine, and shorter than lock_timeout.
  const timeouts = { transaction_timeout: "5s", lock_timeout: "60s" };
  const env = { SERVICE_DATABASE_URL: addressWith(database.urls.service, timeouts) };
  await clean(env, async service => {
    await seedUser(database.sql, await seedTenant(database.sql, { slug: "acme" }), { subject: "ann" });
    const ann = await token({ sub: "ann", tenant: "acme" });
    const lock = await database.sql.reserve();
    await lock.unsafe("begin; lock table app.boards");
    const { status } = await service.request({ url: "/api/boards", token: ann });
    await lock.unsafe("rollback");
    lock.release();
    assert.equal(status, 503);
  });
});
