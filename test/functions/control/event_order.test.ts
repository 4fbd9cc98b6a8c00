import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { createDatabase, rounds, seedTenant, settled } from "../../harness.ts";

const WRITERS = 20;
const ROUNDS = rounds(8, 40);

const database = await createDatabase();
const { sql } = database;
const tenant = await seedTenant(sql, { slug: "acme" });
after(() => database.drop());

const connect = (url = database.urls.root) => postgres(url, { max: 1, onnotice: () => {} });
type Page = { events: { cursor: string; target_id: string | null }[]; cursor: string };

/** A reader with nothing but its cursor, on a connection of its own. */
function reader(from: string | null = null) {
  let login = connect(database.urls.service);
  const seen: (string | null)[] = [];
  let cursor = from;
  const look = async (limit = 7) => {
    const [row] = await login<[{ body: Page }]>`
      select body from api.list_events(row('any', 'jwt', 'op', null, null, null), ${limit}, ${cursor}, 'at', null, null)`;
    seen.push(...row.body.events.map(event => event.target_id));
    ({ cursor } = row.body);
    return row.body.events.length;
  };
  return {
    seen,
    look,
    cursor: () => cursor,
    async drain() {
      await settled(sql);
      while ((await look(1_000)) > 0);
    },
    async reconnect() {
      await login.end({ timeout: 0 }).catch(() => {});
      login = connect(database.urls.service);
    },
    end: () => login.end(),
  };
}

const write = (tx: postgres.ISql, target: string) =>
  tx`select app.record_event('member.added', ${tenant}, ${target})`;
const uuid = (writer: number, n: number) =>
  `${String(writer).padStart(8, "0")}-0000-4000-8000-${String(n).padStart(12, "0")}`;

test("a reader that polls beside twenty writers misses none, repeats none, and keeps their order", async () => {
  const reading = reader();
  let writing = true;
  const work = async (writer: number) => {
    let login = connect();
    let n = 0;
    for (let round = 0; round < ROUNDS; round++) {
      await login
        .begin(async tx => {
          await tx`set local role tms_registrar`;
          await write(tx, uuid(writer, ++n));
          // Some are held open, some roll back, some lose their connection.
          if (round % 3 === 0) await sleep(Math.random() * 40);
          if (round % 4 === 0) await write(tx, uuid(writer, ++n));
          if (round % 7 === writer % 7) throw new Error("rolled back");
          if (round % 13 === 6 && writer % 5 === 0)
            await sql`select pg_terminate_backend(${await pidOf(tx)})`;
        })
        .catch(async error => {
          if (error.message === "rolled back") return;
          assert.match(String(error.code), /^(57P01|ECONNRESET|EPIPE|CONNECTION_\w+)$/, error.message);
          await login.end({ timeout: 0 }).catch(() => {});
          login = connect();
        });
    }
    await login.end();
  };
  const writers = Promise.all(Array.from({ length: WRITERS }, (_, writer) => work(writer))).finally(() => {
    writing = false;
  });
  let kills = 0;
  for (let looks = 0; writing; looks++) {
    // A killed reader has its last cursor and nothing else. One that dies between the answer and its work has an older one.
    if (looks % 25 === 24 && kills++ < 10) {
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tms_service' and datname = current_database()`;
      await reading.look().catch(() => {});
      await reading.reconnect();
    }
    await reading.look();
    await sleep(2);
  }
  await writers;
  await reading.drain();
  await reading.end();
  const written = await sql`select target_id from control.tenant_events order by epoch, xid, n`;
  assert.deepEqual(
    reading.seen,
    written.map(row => row.target_id),
  );
  assert.ok(written.length > WRITERS * ROUNDS * 0.7, `${written.length}`);
  assert.ok(kills > 0);
});

const pidOf = async (tx: postgres.ISql) => {
  const [{ pid }] = await tx<[{ pid: number }]>`select pg_backend_pid() as pid`;
  return pid;
};

/** Three transactions: the one that began to write first ends last. */
async function overtaken() {
  const reading = reader();
  await reading.drain();
  const before = reading.seen.length;
  const [slow, fast] = [connect(), connect()];
  const [x, y, z] = [uuid(90, before), uuid(91, before), uuid(92, before)];
  await slow`begin`;
  await slow`set local role tms_registrar`;
  await write(slow, x);
  await fast.begin(async tx => {
    await tx`set local role tms_registrar`;
    await write(tx, y);
  });
  await reading.look();
  const early = reading.seen.slice(before);
  await slow`commit`;
  await fast.begin(async tx => {
    await tx`set local role tms_registrar`;
    await write(tx, z);
  });
  await reading.drain();
  await Promise.all([slow.end(), fast.end(), reading.end()]);
  const named = new Map([
    [x, "x"],
    [y, "y"],
    [z, "z"],
  ]);
  return [early, reading.seen.slice(before)].map(list => list.map(id => named.get(id!)).join(""));
}

test("an event waits for older transactions; without the condition a reader would miss theirs", async () => {
  assert.deepEqual(await overtaken(), ["", "xyz"]);
  const [{ source }] = await sql<[{ source: string }]>`
    select pg_get_functiondef('app.event_page(uuid, int, text, text, text, boolean)'::regprocedure) as source`;
  const mutant = source.replace(/\(%5\$se\.epoch, e\.xid, e\.n\) < \([^\n]*?::bigint\)/, "$1 is not null");
  assert.notEqual(mutant, source);
  await sql.unsafe(mutant);
  assert.deepEqual(await overtaken(), ["y", "yz"], "x is missed");
  await sql.unsafe(source);
});

test("after a dump is restored on another server, cursors go on: its old events come first, all of them are shown", async () => {
  const reading = reader();
  await reading.drain();
  // The other server was far ahead.
  await sql`update control.tenant_events set origin = '7/1', xid = (xid::text::bigint + 900000000000)::text::xid8`;
  const again = reader();
  await again.drain();
  assert.deepEqual(again.seen, reading.seen);
  const cursor = again.cursor();
  const resumed = reader(cursor);
  for (const n of [1, 2]) {
    await sql.begin(async tx => {
      await tx`set local role tms_registrar`;
      await write(tx, uuid(99, n));
    });
  }
  await resumed.drain();
  assert.deepEqual(resumed.seen, [uuid(99, 1), uuid(99, 2)]);
  // And those of a release that knew no order come before all.
  await sql`
    insert into control.tenant_events (event, tenant_id, slug, name, epoch, xid, origin, n)
    select 'tenant.created', ${tenant}, 'old', 'Old', 0, '0', '', n from generate_series(1, 3) n`;
  const all = reader();
  await all.drain();
  assert.deepEqual(all.seen.length, again.seen.length + 5);
  await Promise.all([reading, again, resumed, all].map(one => one.end()));
  const [first] = await sql`
    select body -> 'events' -> 0 ->> 'type' as type, body -> 'events' -> 0 ->> 'tenant_slug' as slug
    from api.list_events(row('any', 'jwt', 'op', null, null, null), 1, null, 'at', 'tenant.created', null)`;
  assert.deepEqual({ ...first }, { type: "tenant.created", slug: "old" });
});
