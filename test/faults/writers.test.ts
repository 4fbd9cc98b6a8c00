/** Parallel connections work in a tenant while the tenant, or its members, change. */
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import postgres from "postgres";
import { PROBLEMS } from "../../src/errors/problems.ts";
import { call, refused, sqlstate } from "../functions/support.ts";
import { long, seedTenant, seedUser, token, withRole, withService } from "../harness.ts";
import { createWorld } from "../http/world.ts";
import { lockWaiters, until } from "../until.ts";

const world = await createWorld();
const { sql } = world.database;
after(() => world.end());
// Room in the rate limit of deletions.
beforeEach(() => sql`delete from control.rate_limits`);

const operator = (method: "POST" | "PUT" | "DELETE" | "GET", url: string, body?: object, headers = {}) =>
  token({ sub: "op", tenant: "acme", roles: ["tenant-operator"] }).then(token =>
    world.service.request({ method: method as "POST", url: `/api/setup/${url}`, token, body, headers }),
  );

/** A tenant with an owner, and a connection whose transaction has written a board there. */
async function busyTenant(slug: string) {
  const id = await seedTenant(sql, { slug });
  const owner = await seedUser(sql, id, { subject: "owner", role: "owner" });
  const writer = await sql.reserve();
  const write = () =>
    writer`insert into app.boards (tenant_id, owner_id, title) values (${id}, ${owner}, 'x')`;
  await writer`begin`;
  await write();
  return { id, owner, writer, write };
}
const end = async (writer: postgres.ReservedSql, how: "commit" | "rollback") => {
  await writer.unsafe(how);
  writer.release();
};

// The first, as others change how long that is.
long(
  "a deletion waits two seconds for all members to leave, then up to lock_timeout for all writers",
  async t => {
    const { id, writer } = await busyTenant("slow");
    t.after(() => end(writer, "rollback"));
    await writer`select app.set_tenant(${id})`;
    // By the server's clock, with a wide margin for a busy machine.
    const seconds = (work: string) =>
      sql.begin(async tx => {
        await tx.unsafe("set local role tms_registrar; set local lock_timeout = '500ms'");
        const state = await sqlstate(tx.savepoint(sp => sp.unsafe(`select ${work}`)));
        const [row] = await tx<
          { took: number }[]
        >`select extract(epoch from clock_timestamp() - now())::float8 as took`;
        return { state, took: row!.took };
      });
    const fence = await seconds(`app.fence_tenant('${id}')`);
    assert.ok(fence.state === "none" && fence.took > 1.9 && fence.took < 7, JSON.stringify(fence));
    const writers = await seconds(`app.await_writers('${id}', true)`);
    assert.ok(writers.state === "55P03" && writers.took > 0.4 && writers.took < 5, JSON.stringify(writers));
  },
);

test("a tenant with an open write can be suspended, resumed and renamed, and its members removed", async () => {
  const { id, owner, writer } = await busyTenant("busy");
  const other = await seedUser(sql, id, { subject: "other" });
  for (const move of ["suspend", "resume"])
    assert.equal((await operator("POST", `tenant/${id}/${move}`)).status, 200, move);
  for (const change of [{ name: "Renamed" }, { slug: "moved" }, { slug: "busy" }])
    assert.equal((await operator("PUT", `tenant/${id}`, change)).status, 200);
  await seedUser(sql, id, { subject: "second", role: "owner" });
  for (const user of [other, owner]) {
    const removed = await world.service.request({
      method: "DELETE",
      url: `/api/tenants/members/${user}`,
      token: await token({ sub: "second", tenant: "busy" }),
    });
    assert.equal(removed.status, 200);
  }
  await end(writer, "commit");
});

/** How long a deletion waits for all transactions in the tenant before it looks for writers. */
const patience = (limit: string) =>
  sql.unsafe(`alter function app.fence_tenant(uuid) set lock_timeout = '${limit}'`);

test("a deletion waits for transactions in the tenant and admits no new ones: members get 503, strangers 403", async () => {
  await patience("60s");
  const { id, writer: inside, write } = await busyTenant("fenced");
  await inside`select app.set_tenant(${id})`;
  // A deletion that is refused anyway does not wait.
  const stale = await operator("DELETE", `tenant/${id}`, undefined, { "if-match": '"stale"' });
  assert.equal(stale.status, 412);
  const deleted = operator("DELETE", `tenant/${id}`);
  await lockWaiters(sql);
  const boards = async (sub: string) =>
    world.service.request({ url: "/api/boards", token: await token({ sub, tenant: "fenced" }) });
  const member = await boards("owner");
  assert.deepEqual([member.status, member.body.detail], [503, "The tenant is being deleted or replaced"]);
  assert.equal((await boards("nobody")).status, 403);
  for (const role of ["tms_app", "tms_auditor"])
    await refused(
      withRole(sql, role, null, tx => tx`select app.set_tenant(${id})`),
      503,
      "Service unavailable",
      "The tenant is being deleted or replaced",
    );
  await inside`select app.set_tenant(${id})`;
  await write();
  await end(inside, "commit");
  assert.equal((await deleted).status, 200);
  assert.equal((await boards("owner")).status, 403);
});

long(
  "a tenant that is renamed while its deletion waits no longer matches the If-Match of the deletion",
  async t => {
    const id = await seedTenant(sql, { slug: "renamed" });
    await patience("5s");
    const reader = await sql.reserve();
    t.after(() => reader.release());
    await reader`begin`;
    await reader`select app.set_tenant(${id})`;
    const { headers } = await operator("GET", `tenant/${id}`);
    const deleted = operator("DELETE", `tenant/${id}`, undefined, { "if-match": String(headers.etag) });
    await lockWaiters(sql);
    assert.equal((await operator("PUT", `tenant/${id}`, { name: "Another" })).status, 200);
    await reader.unsafe("commit");
    assert.equal((await deleted).status, 412);
  },
);

long("a transaction that only reads does not block the deletion of its tenant", async () => {
  await patience("50ms");
  const id = await seedTenant(sql, { slug: "stayed" });
  await sql.begin(async reader => {
    await reader`select app.set_tenant(${id})`;
    assert.equal((await operator("DELETE", `tenant/${id}`)).status, 200);
  });
});

long("a deletion among many writers succeeds at the first try, without a deadlock", async () => {
  await patience("60s");
  const id = await seedTenant(sql, { slug: "stormy" });
  const owner = await seedUser(sql, id, { subject: "owner" });
  const connections = postgres(world.database.urls.root, { max: 8, onnotice: () => {} });
  let written = 0;
  let gone = false;
  const errors = new Set<string>();
  const writers = Array.from({ length: 8 }, async () => {
    while (!gone) {
      const error = await sqlstate(
        connections.begin(async tx => {
          await tx`set local role tms_app`;
          await tx`select app.set_tenant(${id})`;
          const [board] = await tx<{ id: string }[]>`
            insert into app.boards (tenant_id, owner_id, title) values (${id}, ${owner}, 'x') returning id`;
          await tx`insert into app.board_members (tenant_id, board_id, user_id, role) values (${id}, ${board!.id}, ${owner}, 'viewer')`;
        }),
      );
      if (error === "none") written += 1;
      else errors.add(error);
    }
  });
  await until("they write", () => written > 50);
  await sql.begin(tx => call(tx, "delete_tenant", { slug: "stormy", subject: "op", operator: true }, id));
  gone = true;
  await Promise.all(writers);
  await connections.end();
  assert.deepEqual(
    [...errors].filter(code => !["TM503", "23503"].includes(code)),
    [],
  );
});

long("a deletion waits for writers, not for ever, and the tenant can be suspended meanwhile", async () => {
  const { id, writer, write } = await busyTenant("written");
  const slow = operator("DELETE", `tenant/${id}`);
  await until("the deletion waits", async () => {
    const [row] = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep' and query like '%delete_tenant%'`;
    return row !== undefined;
  });
  assert.equal((await operator("POST", `tenant/${id}/suspend`)).status, 200);
  await write();
  await end(writer, "commit");
  assert.equal((await slow).status, 200);
  assert.equal((await sql`select from app.boards where tenant_id = ${id}`).count, 0);
});

long("a deletion of a tenant with constant writers is 503, not an endless wait", async () => {
  const { id, writer } = await busyTenant("never");
  await sql
    .begin(async sql => {
      await sql`set local role tms_registrar`;
      await sql`set local lock_timeout = '200ms'`;
      await assert.rejects(Promise.resolve(sql`select app.lock_tenant(${id})`), { code: "55P03" });
    })
    .catch(error => assert.equal((error as { code: string }).code, "55P03"));
  await end(writer, "rollback");
  assert.equal((await operator("DELETE", `tenant/${id}`)).status, 200);
});

long(
  "without a lock_timeout a deletion waits for writers without limit, and not at all for a tenant that is gone",
  async () => {
    const { id, writer } = await busyTenant("patient");
    const locked = sql.begin(async sql => {
      await sql.unsafe("set local role tms_registrar; set local lock_timeout = 0");
      await sql`select app.lock_tenant(${id}), app.lock_tenant(gen_random_uuid()::text)`;
    });
    await Promise.race([locked, lockWaiters(sql)]);
    await end(writer, "rollback");
    await locked;
  },
);

long("a deletion that ends in a deadlock with a writer is tried again, and succeeds", async t => {
  const id = await seedTenant(sql, { slug: "crossed" });
  const user = await seedUser(sql, id, { subject: "ann" });
  const writer = await sql.reserve();
  t.after(() => writer.release());
  for (let round = 1; ; round++) {
    // In the order of the keys of app.boards; the deletion has the tenant first. The deletion looks for a deadlock sooner, after 1 s.
    await writer.unsafe("begin; set local deadlock_timeout = '10s'");
    await writer`select from app.users where tenant_id = ${id} and id = ${user} for key share`;
    const deleted = operator("DELETE", `tenant/${id}`);
    await lockWaiters(sql);
    await writer`select from app.tenants where id = ${id} for key share`;
    await writer.unsafe("commit");
    const { status } = await deleted;
    // On a busy machine its time to wait for locks, 2 s, may be over before.
    if (status === 503 && round < 3) continue;
    assert.equal(status, 200);
    break;
  }
});

long("a deletion that ends in a deadlock three times is 503, and says what to do", async () => {
  const id = await seedTenant(sql, { slug: "crowded" });
  await sql.unsafe(`create sequence app.tries;
    create function app.cross() returns trigger language plpgsql security definer as
      $$ begin perform nextval('app.tries'); raise exception using errcode = 'deadlock_detected'; end $$;
    create trigger crossed before delete on app.tenants for each row execute function app.cross()`);
  const { status, headers, body } = await operator("DELETE", `tenant/${id}`);
  const [tries] = await sql`select last_value::int as count from app.tries`;
  await sql.unsafe("drop trigger crossed on app.tenants; drop function app.cross(); drop sequence app.tries");
  assert.deepEqual([status, body.detail, headers["retry-after"]], [503, PROBLEMS.tenant_busy[2], "1"]);
  assert.equal(tries!.count, 3);
  assert.equal((await operator("DELETE", `tenant/${id}`)).status, 200);
});

long("a write with serialization failures is tried three times, and then refused with 503", async () => {
  const id = await seedTenant(sql, { slug: "unfit" });
  const fails = (times: number) =>
    sql.unsafe(`create sequence app.tries;
      create function app.fail() returns trigger language plpgsql security definer as $$ begin
        if nextval('app.tries') <= ${times} then raise 'again' using errcode = '40001'; end if;
        return new;
      end $$;
      create trigger fail before update on app.tenants for each row execute function app.fail()`);
  const heal = () =>
    sql.unsafe("drop trigger if exists fail on app.tenants; drop function app.fail; drop sequence app.tries");
  for (const [times, status] of [
    [2, 200],
    [3, 503],
  ] as const) {
    await fails(times);
    const answer = await operator("PUT", `tenant/${id}`, { name: `Failed ${times} times` });
    const [made] = await sql`select last_value::int as tries from app.tries`;
    await heal();
    assert.deepEqual([answer.status, made!.tries], [status, 3]);
  }
});

long(
  "removing a member while the tenant is deleted locks in the order of the deletion, which needs no second try",
  async t => {
    const id = await seedTenant(sql, { slug: "going" });
    const [ann, bob, cyd] = await Promise.all(
      ["ann", "bob", "cyd"].map(subject => seedUser(sql, id, { subject, role: "owner" })),
    );
    const [board] = await sql<{ id: string }[]>`
    insert into app.boards (tenant_id, owner_id, title) values (${id}, ${ann!}, 'x') returning id`;
    for (const user of [bob!, cyd!])
      await sql`insert into app.board_members (tenant_id, board_id, user_id, role) values (${id}, ${board!.id}, ${user}, 'viewer')`;
    // The deletion has taken bob from the board, and is held up at cyd. Somebody stays in the tenant, so others are let in.
    await patience("50ms");
    const holder = await sql.reserve();
    t.after(() => holder.release());
    await holder`begin`;
    await holder`select app.set_tenant(${id})`;
    await holder`select from app.board_members where tenant_id = ${id} and user_id = ${cyd!} for update`;
    const operator = { slug: "going", subject: "op", operator: true };
    const deleted = sql.begin(tx => call(tx, "delete_tenant", operator, id));
    await until("the deletion has given up that they leave, and waits for the row", async () => {
      const [row] = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event = 'transactionid'`;
      return row !== undefined;
    });
    const removed = sql.begin(tx => call(tx, "remove_member", { slug: "going", subject: "ann" }, bob!));
    const refusal = refused(removed, 403, "Access denied", "User does not belong to tenant");
    await lockWaiters(sql, 2);
    await holder.unsafe("rollback");
    await Promise.all([deleted, refusal]);
  },
);

long("after waiting for writers the tenant is locked if requested, else free", async () => {
  const id = await seedTenant(sql, { slug: "awaited" });
  for (const lock of [true, false])
    await sql.begin(async holder => {
      await holder`select app.await_writers(${id}, ${lock})`;
      const found = await sqlstate(sql`select from app.tenants where id = ${id} for key share nowait`);
      assert.equal(found, lock ? "55P03" : "none");
    });
});

long(
  "of two members who remove each other one succeeds, of the last two owners too, without a second try",
  async () => {
    for (const role of ["admin", "owner"])
      for (const whoIsHeld of ["caller", "target"]) {
        const slug = `duel-${role}-${whoIsHeld}`;
        const id = await seedTenant(sql, { slug });
        const [low, high] = (
          await Promise.all(
            ["ann", "bob"].map(async subject => ({
              subject,
              id: await seedUser(sql, id, { subject, role }),
            })),
          )
        ).sort((a, b) => (a.id < b.id ? -1 : 1)) as [
          { subject: string; id: string },
          { subject: string; id: string },
        ];
        const remove = (subject: string, user: string) =>
          sqlstate(sql.begin(tx => call(tx, "remove_member", { slug, subject }, user)));
        // Both are let in, and whoever comes first waits for a row: each has to wait for the other in one order.
        const gate = await sql.reserve();
        await gate`begin`;
        await gate`select from app.users where tenant_id = ${id} and id = ${high.id} for update`;
        const [one, other] = whoIsHeld === "caller" ? [high, low] : [low, high];
        const first = remove(one.subject, other.id);
        await lockWaiters(sql, 1);
        const second = remove(other.subject, one.id);
        await lockWaiters(sql, 2);
        await end(gate, "commit");
        assert.deepEqual([await first, await second], ["none", "TM403"], slug);
      }
  },
);

test("of the last two owners who leave in parallel one stays", async () => {
  const id = await seedTenant(sql, { slug: "left" });
  const [ann, bob] = await Promise.all(
    ["ann", "bob"].map(subject => seedUser(sql, id, { subject, role: "owner" })),
  );
  let second: Promise<void> | undefined;
  await sql.begin(async first => {
    await call(first, "remove_member", { slug: "left", subject: "ann" }, ann!);
    const leaves = sql.begin(tx => call(tx, "remove_member", { slug: "left", subject: "bob" }, bob!));
    second = refused(leaves, 409, "Conflict", "The last owner of a tenant cannot be removed");
    await Promise.race([second, lockWaiters(sql)]);
  });
  await second;
});

test("a former admin adds and removes nobody, also in a transaction begun as admin", async () => {
  const id = await seedTenant(sql, { slug: "demoted" });
  const caller = { slug: "demoted", subject: "admin" };
  const admin = await seedUser(sql, id, { ...caller, role: "admin" });
  const other = await seedUser(sql, id, { subject: "other" });
  let both: Promise<unknown> | undefined;
  await sql.begin(async gate => {
    await gate`select from app.tenants where id = ${id} for update`;
    await gate`update app.users set role = 'member' where id = ${admin}`;
    both = Promise.all(
      [
        sql.begin(tx => call(tx, "add_member", caller, null, "x", null, null, "admin")),
        sql.begin(tx => call(tx, "remove_member", caller, other)),
      ].map(work => refused(work, 403, "Access denied", "The tenant role admin is required")),
    );
    await lockWaiters(sql, 2);
  });
  await both;
});

long("members who add each other, or remove one who adds them, never deadlock", async () => {
  const id = await seedTenant(sql, { slug: "mutual" });
  const people = await Promise.all(
    ["ann", "bob"].map(async subject => ({
      subject,
      id: await seedUser(sql, id, { subject, role: "owner" }),
    })),
  );
  const add = (by: number, who: number) =>
    sqlstate(
      sql.begin(tx =>
        call(
          tx,
          "add_member",
          { slug: "mutual", subject: people[by]!.subject },
          null,
          people[who]!.subject,
          null,
          null,
          "owner",
        ),
      ),
    );
  const remove = (by: number, who: number) =>
    sqlstate(
      sql.begin(tx =>
        call(tx, "remove_member", { slug: "mutual", subject: people[by]!.subject }, people[who]!.id),
      ),
    );
  for (const first of [0, 1])
    for (const other of [add, remove]) {
      const second = 1 - first;
      // The one who is added first is held; the one who adds comes first at that row, the other has to come second at both.
      const gate = await sql.reserve();
      await gate`begin`;
      await gate`select from app.users where tenant_id = ${id} and id = ${people[first]!.id} for update`;
      const one = other(second, first);
      await lockWaiters(sql, 1);
      const two = add(first, second);
      await lockWaiters(sql, 2);
      await end(gate, "commit");
      const states = [await one, await two];
      assert.deepEqual(states, other === add ? ["TM409", "TM409"] : ["none", "TM403"]);
      await sql`update app.users set removed_at = null where tenant_id = ${id}`;
    }
});

long("a member who is being removed can neither add members meanwhile nor come back", async () => {
  const id = await seedTenant(sql, { slug: "leaving" });
  await seedUser(sql, id, { subject: "owner", role: "owner" });
  const of = (sub: string) => token({ sub, tenant: "leaving" });
  const remove = async (user: string) =>
    world.service.request({
      method: "DELETE",
      url: `/api/tenants/members/${user}`,
      token: await of("owner"),
    });
  const add = async (by: string, subject: string) =>
    world.service.request({
      method: "POST",
      url: "/api/tenants/members",
      token: await of(by),
      body: { auth_subject: subject, role: "admin" },
    });
  for (const [by, subject] of [
    ["self", "self"],
    ["other", "friend"],
  ] as const) {
    const user = await seedUser(sql, id, { subject: by, role: "admin" });
    // The removal waits for the row first, and the one who is removed has been let in before it ends.
    const gate = await sql.reserve();
    await gate`begin`;
    await gate`select from app.users where tenant_id = ${id} and id = ${user} for update`;
    const removed = remove(user);
    await lockWaiters(sql, 1);
    const added = add(by, subject);
    await lockWaiters(sql, 2);
    await end(gate, "commit");
    assert.equal((await removed).status, 200);
    assert.equal((await added).status, 403);
    const members = await sql`
      select auth_subject from app.users where tenant_id = ${id} and removed_at is null order by 1`;
    assert.deepEqual(
      members.map(row => row.auth_subject),
      ["owner"],
    );
  }
});

long("a long transaction that changes tenants does not block the creation of others", async () => {
  await operator("POST", "tenant", { name: "First", slug: "first" });
  const { pid } = (
    await sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and usename = 'tms_service' limit 1`
  )[0]!;
  const holder = await sql.reserve();
  await holder`begin`;
  await holder`insert into control.tenant_counts (shard) select n from generate_series(0, 63) n on conflict do nothing`;
  await holder`commit`;
  await holder`begin`;
  await holder`update control.tenant_counts set active = active where shard = ${pid % 64}`;
  const created = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      operator("POST", "tenant", { name: "x", slug: `beside-${i}` }, { "idempotency-key": `beside-${i}` }),
    ),
  );
  await end(holder, "commit");
  assert.deepEqual(
    [...new Set(created.map(({ status }) => status))].filter(status => status !== 429),
    [201],
  );
  const [counts] = await sql`
    select sum(pending + active + suspended)::int as said, (select count(*)::int from app.tenants) as held from control.tenant_counts`;
  assert.equal(counts!.said, counts!.held);
});

long("nor where all counters that there are are held; where no more can be, one waits", async t => {
  const { sql, urls } = world.database;
  const login = postgres(urls.service, { max: 1, onnotice: () => {} });
  t.after(() => login.end());
  for (const shards of [63, 64]) {
    await sql`delete from control.tenant_counts`;
    await sql`
      insert into control.tenant_counts (shard, active)
      select n, case when n = 0 then (select count(*) from app.tenants) else 0 end from generate_series(0, ${shards - 1}) n`;
    let created: Promise<unknown> | undefined;
    await sql.begin(async holder => {
      await holder`update control.tenant_counts set active = active`;
      created =
        login`select api.create_tenant(row('x', 'jwt', 'op', null, null, null), 'x', ${`held-${shards}`}, null, false, false, null)`.execute();
      await (shards === 63 ? created : lockWaiters(sql));
    });
    await created;
  }
  const [counts] = await sql`
    select app.count_tenants(null)::int as said, (select count(*)::int from app.tenants) as held`;
  assert.equal(counts!.said, counts!.held);
});

long("an ETag never repeats, also when the clock was set back", async () => {
  const id = await seedTenant(sql, { slug: "clock" });
  await sql`update app.tenants set updated_at = now() + interval '5 minutes' where id = ${id}`;
  const before = (await operator("GET", `tenant/${id}`)).headers.etag;
  let last = "";
  for (const [method, move] of [
    ["GET", ""],
    ["POST", "/suspend"],
    ["POST", "/resume"],
    ["PUT", ""],
  ] as const) {
    const { body } = await operator(
      method,
      `tenant/${id}${move}`,
      method === "PUT" ? { name: "x" } : undefined,
    );
    assert.ok(body.updated_at > last, `${method}${move}: ${body.updated_at} after ${last}`);
    last = body.updated_at;
  }
  const stale = await operator("PUT", `tenant/${id}`, { name: "y" }, { "if-match": String(before) });
  assert.equal(stale.status, 412);
});

long(
  "adding or dropping a column while a request waits for the table does not fail the request",
  async () => {
    const id = await seedTenant(sql, { slug: "wide" });
    await seedUser(sql, id, { subject: "ann" });
    const caller = await token({ sub: "ann", tenant: "wide", roles: ["tenant-operator"] });
    const paths = [
      "tenants/current",
      "tenants/mine",
      "tenants/members",
      "boards",
      "setup/tenants",
      `setup/tenant/${id}`,
    ];
    for (const table of ["tenants", "users", "boards"])
      for (const path of paths)
        for (const change of ["add column more text", "drop column more"]) {
          const ask = () => world.service.request({ url: `/api/${path}`, token: caller });
          await ask(); // what is planned once is planned before
          const holder = await sql.reserve();
          await holder.unsafe(`begin; alter table app.${table} ${change}`);
          const asked = ask();
          await Promise.race([asked, lockWaiters(sql)]); // not every request reads every table
          await end(holder, "commit");
          assert.equal((await asked).status, 200, `${table} ${change}: ${path}`);
        }
  },
);

long("a connection with plans on a dropped column still registers tenants", async () => {
  const { database } = world;
  await withService(database, { SERVICE_DATABASE_POOL_SIZE: "1" }, async service => {
    for (const change of ["add column more text", "drop column more"]) {
      await sql.unsafe(`alter table app.tenants ${change}`);
      const { status } = await service.request({
        method: "POST",
        url: "/api/tenants/register",
        token: await token({ sub: "new", tenant: "new" }),
        body: { organization_name: "New", admin_email: "new@new.example" },
      });
      assert.equal(status, 201, change);
    }
  });
});
