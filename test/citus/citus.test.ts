/** The service on a Citus cluster: `npm run test:citus`. Without a cluster every test is skipped. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { runAudit } from "../../src/audit/run.ts";
import { createService, settled } from "../harness.ts";
import { wrongAnswers, wrongForKeys } from "../http/matrix.ts";
import { operator, person, setupOf, type World } from "../http/world.ts";
import { type Cluster, createCluster, missing } from "./cluster.ts";

const ENV = { SERVICE_DATABASE_EXPLICIT_TRANSACTION: "true", SERVICE_LOG_LEVEL: "silent" };

void describe("on Citus", { skip: missing }, () => {
  let cluster: Cluster;
  let sql: postgres.Sql;
  /** Deletes at once. */
  let world: World;
  /** With thirty days to restore a tenant. */
  let patient: World;

  before(async () => {
    cluster = await createCluster();
    sql = cluster.database.sql;
    assert.equal(await cluster.distribute(), "");
    const worldOf = async (env = {}): Promise<World> => {
      const service = await createService(cluster.database, { ...ENV, ...env });
      return { database: cluster.database, service, end: () => service.close() };
    };
    world = await worldOf();
    patient = await worldOf({ SERVICE_TENANT_DELETION_GRACE: "30" });
  });
  after(async () => {
    await Promise.all([world, patient].map(one => one?.end()));
    await cluster?.database.drop();
  });

  /** A tenant with sample data, whose owner is ann. */
  async function made(slug: string): Promise<string> {
    const { status, body } = await setupOf(world).create({
      name: slug,
      slug,
      include_sample_data: true,
      owner: { auth_subject: "ann", auth_provider: "jwt" },
    });
    assert.equal(status, 201, JSON.stringify(body));
    return body.tenant_id;
  }
  const asAnn = async (
    slug: string,
    url: string,
    rest: { method?: "POST" | "PATCH" | "DELETE"; body?: object } = {},
  ) => world.service.request({ url, token: await person("ann", slug), ...rest });

  /** How many rows each table has of a tenant, wherever they are. */
  async function rowsOf(id: string): Promise<Record<string, number>> {
    const tables = await sql<{ name: string }[]>`
      select logicalrelid::text as name from pg_dist_partition where partmethod = 'h' order by 1`;
    const counts: Record<string, number> = {};
    for (const { name } of tables) {
      const [row] = await sql.unsafe(`select count(*)::int as n from ${name} where tenant_id = $1`, [id]);
      counts[name] = row!.n;
    }
    return counts;
  }
  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0);

  test("every operation answers every caller with the status of the matrix", async () => {
    assert.equal((await wrongAnswers(world)).join("\n"), "");
  });

  test("an API key gets what a person of its role gets, but for what only people do", async () => {
    assert.equal((await wrongForKeys(world)).join("\n"), "");
  });

  test("a deleted tenant can be restored with all its rows, and a deletion for good leaves none", async () => {
    const id = await made("kept");
    const before = await rowsOf(id);
    assert.ok(before["app.media"]! > 0);
    const url = `/api/setup/tenant/${id}`;
    const as = await operator();
    const dry = await world.service.request({ method: "DELETE", url: `${url}?dry_run=true`, token: as });
    assert.deepEqual([dry.status, dry.body.total_rows], [200, sum(before) + 1]);
    const deleted = await patient.service.request({ method: "DELETE", url, token: as });
    assert.equal(deleted.status, 200, JSON.stringify(deleted.body));
    assert.equal((await asAnn("kept", "/api/boards")).status, 403);
    const restored = await patient.service.request({ method: "POST", url: `${url}/restore`, token: as });
    assert.equal(restored.status, 200, JSON.stringify(restored.body));
    assert.equal((await asAnn("kept", "/api/boards")).body.boards.length, 1);
    assert.deepEqual(await rowsOf(id), before);
    const gone = await world.service.request({ method: "DELETE", url, token: as });
    assert.equal(gone.status, 200, JSON.stringify(gone.body));
    assert.equal(sum(await rowsOf(id)), 0);
    assert.equal((await world.service.request({ url, token: as })).status, 404);
  });

  test("a deletion beside writers leaves no row, and no write is acknowledged after it", async () => {
    const id = await made("busy");
    let deleted = false;
    const seen = new Set<string>();
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let n = 0, late = false; !late; n++) {
        late = deleted;
        const { status } = await asAnn("busy", "/api/tenants/members", {
          method: "POST",
          body: { auth_subject: `m-${writer}-${n}` },
        });
        seen.add(`${status}${late ? " late" : ""}`);
      }
    });
    await sleep(300);
    const answer = await world.service.request({
      method: "DELETE",
      url: `/api/setup/tenant/${id}`,
      token: await operator(),
    });
    deleted = true;
    await Promise.all(writers);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(sum(await rowsOf(id)), 0);
    const allowed = ["201", "403", "403 late", "429", "429 late", "503"];
    assert.deepEqual(
      [...seen].filter(status => !allowed.includes(status)),
      [],
    );
    assert.ok(seen.has("201"));
  });

  test("a reader that goes on from its cursor gets every event of parallel changes once, in one order", async () => {
    const page = async (after: string | null) => {
      const { status, body } = await world.service.request({
        url: `/api/setup/events?limit=1000${after ? `&after=${after}` : ""}`,
        token: await operator(),
      });
      assert.equal(status, 200, JSON.stringify(body));
      return body as { events: { cursor: string; tenant_slug: string; type: string }[]; cursor: string };
    };
    await sql`truncate control.rate_limits`; // the writers' of the test before
    let { cursor } = await page(null);
    for (let more = 1000; more === 1000; ) {
      const next = await page(cursor);
      more = next.events.length;
      cursor = next.cursor;
    }
    const from = cursor;
    let over = false;
    const read: string[] = [];
    const step = async () => {
      const { events, cursor: next } = await page(cursor);
      cursor = next;
      read.push(...events.map(event => event.cursor));
    };
    const reader = (async () => {
      while (!over) await step();
    })();
    const slugs = Array.from({ length: 4 }, (_, i) => `feed-${i}`);
    await Promise.all(
      slugs.map(async slug => {
        await made(slug);
        for (let n = 0; n < 5; n++) {
          const body = { auth_subject: `m-${n}` };
          await asAnn(slug, "/api/tenants/members", { method: "POST", body });
          await asAnn(slug, "/api/tenants/current", { method: "PATCH", body: { name: `${slug} ${n}` } });
        }
      }),
    );
    over = true;
    await reader;
    await settled(sql);
    await step();
    const { events } = await page(from);
    assert.deepEqual(
      read,
      events.map(event => event.cursor),
    );
    for (const slug of slugs) {
      const types = events.filter(event => event.tenant_slug === slug).map(event => event.type);
      const each = ["member.added", "tenant.updated"];
      assert.deepEqual(types, ["tenant.created", "member.added", ...Array(5).fill(each).flat()], slug);
    }
  });

  test("no request fails while the functions are replaced, and a dropped one is gone from the workers", async () => {
    const id = await made("served");
    // Rate limits are per person.
    await sql`
      insert into app.users (tenant_id, auth_provider, auth_subject, role)
      select ${id}::uuid, 'jwt', 'p-' || n, 'owner' from generate_series(1, 2000) n`;
    let people = 0;
    // As a release that drops a function leaves it: on the workers only.
    await sql`create function app.leftover(p_tenant_id uuid) returns uuid language sql as 'select p_tenant_id'`;
    await sql`select create_distributed_function('app.leftover(uuid)')`;
    await sql.begin(async tx => {
      await tx`set local citus.enable_ddl_propagation = off`;
      await tx`drop function app.leftover(uuid)`;
    });
    let over = false;
    const bad: string[] = [];
    let answers = 0;
    const clients = Array.from({ length: 4 }, async (_, client) => {
      for (let n = 0; !over; n++) {
        const slug = `during-${client}-${n}`;
        const token = await person(`p-${++people}`, "served");
        const { service } = world;
        for (const answer of await Promise.all([
          service.request({ url: "/api/boards", token }),
          service.request({ url: "/api/tenants/current", token }),
          service.request({
            method: "POST",
            url: "/api/tenants/members",
            token,
            body: { auth_subject: slug },
          }),
          setupOf(world).create({ name: slug, slug, include_sample_data: true }),
        ])) {
          answers++;
          if (answer.status > 201) bad.push(`${answer.status} ${JSON.stringify(answer.body)}`);
        }
      }
    });
    try {
      await cluster.reinstall();
      await cluster.distribute();
    } finally {
      over = true;
      await Promise.all(clients);
    }
    assert.deepEqual(bad, []);
    assert.ok(answers > 20, `${answers} answers`);
    for (const worker of cluster.workers) {
      const [left] = await worker`select to_regproc('app.leftover') as name`;
      assert.equal(left!.name, null);
    }
  });

  test("distribute.sql names the function of api that Citus refuses, and leaves nothing of its trial", async () => {
    const tenants = () => sql`select id from app.tenants order by 1`;
    const events = () => sql`select event, tenant_id from control.tenant_events order by epoch, xid, n`;
    const before = [await tenants(), await events()];
    await sql.begin(async tx => {
      await tx`set local citus.enable_ddl_propagation = off`;
      await tx`
        create function api.count_planted(p_tenant_id text) returns bigint language sql stable security definer
        set search_path = pg_catalog, pg_temp
        as 'select count(*) from app.users where tenant_id = p_tenant_id::uuid'`;
      await tx`alter function api.count_planted(text) owner to tms_registrar`;
      await tx`grant execute on function api.count_planted(text) to tms_service`;
    });
    await assert.rejects(
      cluster.distribute(),
      /Requests fail on this cluster:\n?api\.count_planted\(text\): .*\n(?!api)/,
    );
    await sql`drop function api.count_planted(text)`;
    assert.deepEqual([await tenants(), await events()], before);
  });

  test("what a delegated function calls reaches the workers", async () => {
    await sql.begin(async tx => {
      await tx`set local citus.enable_ddl_propagation = off`;
      await tx`create function app.planted(p_tenant_id uuid) returns void language plpgsql as 'begin end'`;
      await tx`alter function app.planted(uuid) owner to tms_app`;
      await tx`
        do $$
        begin
          execute replace(pg_get_functiondef('app.empty_tenant(uuid)'::regprocedure), 'perform app.set_tenant(',
            'perform app.planted(p_tenant_id); perform app.set_tenant(');
        end
        $$`;
    });
    await cluster.distribute();
    for (const worker of cluster.workers) {
      const [found] = await worker`select to_regproc('app.planted')::text as name`;
      assert.equal(found!.name, "app.planted");
    }
    await sql`drop function app.planted(uuid)`;
    await cluster.reinstall();
  });

  test("the audit and the gate find nothing, and the audit finds a shard without row-level security", async () => {
    const errors = async (only?: "schema") => {
      const { audit } = await runAudit(cluster.database.urls.owner, "DATABASE_URL", { sample: 2, only });
      const { report, notRun } = audit;
      assert.deepEqual(notRun, []);
      return report.findings.filter(({ severity }) => severity === "error").map(({ check }) => check);
    };
    assert.deepEqual(await errors(), []);
    const owner = postgres(cluster.database.urls.owner, { max: 1 });
    await owner`select control.gate()`.finally(() => owner.end());
    const [worker] = cluster.workers;
    const [shard] = await worker!<{ name: string }[]>`
      select shard_name(s.logicalrelid, s.shardid) as name
      from pg_dist_shard s join pg_dist_placement p using (shardid)
      where s.logicalrelid = 'app.boards'::regclass and p.groupid = (select groupid from pg_dist_local_group) limit 1`;
    await worker!.unsafe(`alter table ${shard!.name} disable row level security`);
    assert.ok((await errors("schema")).includes("shard_differs"));
    await worker!.unsafe(`alter table ${shard!.name} enable row level security`);
  });
});
