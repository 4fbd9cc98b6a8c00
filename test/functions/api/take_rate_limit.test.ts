import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack } from "../../harness.ts";
import { as, rowsRead, type Transaction } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

const take = (tx: Transaction, bucket: string, identity: string) =>
  as(tx, "tms_service", async sp => {
    const [row] = await sp`select hits, reset_at::int from api.take_rate_limit(${bucket}, ${identity}, 60)`;
    return { ...row } as { hits: number; reset_at: number };
  });

const now = async (tx: Transaction) =>
  (await tx<{ now: number }[]>`select extract(epoch from clock_timestamp())::float as now`)[0]!.now;

test("hits count up in a fixed window, separately for each bucket and identity", () =>
  rolledBack(database.sql, async tx => {
    const before = await now(tx);
    const first = await take(tx, "a", "ann");
    assert.ok(first.reset_at >= before + 60 && first.reset_at <= (await now(tx)) + 61);
    const [row] = await tx`
      select ceil(extract(epoch from reset_at))::int as reset_at from control.rate_limits`;
    assert.equal(first.reset_at, row!.reset_at);
    assert.deepEqual(await take(tx, "a", "ann"), { hits: 2, reset_at: first.reset_at });
    assert.equal((await take(tx, "b", "ann")).hits, 1);
    assert.equal((await take(tx, "a", "bob")).hits, 1);
    assert.equal((await take(tx, "a", "ann")).hits, 3);
  }));

test("an ended window begins again at one, also for a row that is due to be swept", () =>
  rolledBack(database.sql, async tx => {
    for (const age of ["1 second", "1 hour 1 second", "1 year"]) {
      await take(tx, "a", "ann");
      await tx`update control.rate_limits set hits = 99, reset_at = clock_timestamp() - ${age}::interval`;
      assert.equal((await take(tx, "a", "ann")).hits, 1, age);
      assert.equal((await take(tx, "a", "ann")).hits, 2, age);
    }
  }));

test("a window ends at one moment: no hit of it counts in the next one", async () => {
  const { sql } = database;
  await sql`create table public.began (hits int, seconds_left float)`;
  // The window ends during the next call, or soon after it.
  await sql.unsafe(`do $$
  declare
    began timestamptz;
    took interval = '0.1 ms';
  begin
    for i in 1..10000 loop
      began := clock_timestamp();
      insert into control.rate_limits values ('end', 'ann', 50, began + 2 * random() * took)
      on conflict (bucket, identity) do update set hits = 50, reset_at = excluded.reset_at;
      insert into public.began
      select hits, reset_at - extract(epoch from clock_timestamp()) from api.take_rate_limit('end', 'ann', 60);
      took := clock_timestamp() - began;
      commit;
    end loop;
  end $$`);
  const found = await sql`select distinct hits, seconds_left > 30 as next from public.began order by hits`;
  assert.deepEqual(
    [...found],
    [
      { hits: 1, next: true },
      { hits: 51, next: false },
    ],
  );
});

test("a window never ends later than a new one would, even after the clock was set back", () =>
  rolledBack(database.sql, async tx => {
    await take(tx, "a", "ann");
    await tx`update control.rate_limits set hits = 99, reset_at = reset_at + interval '1 day'`;
    const found = await take(tx, "a", "ann");
    assert.equal(found.hits, 100);
    assert.ok(found.reset_at <= (await now(tx)) + 61, `${found.reset_at} is later`);
    assert.equal((await take(tx, "a", "ann")).reset_at, found.reset_at);
  }));

test("each call deletes two old rows of others", () =>
  rolledBack(database.sql, async tx => {
    await tx`insert into control.rate_limits select 'a', 'old' || i, 1, now() - interval '2 hours' from generate_series(1, 5) i`;
    await take(tx, "a", "ann");
    assert.equal((await tx`select from control.rate_limits where identity like 'old%'`).count, 3);
  }));

test("a hit reads only a few of many rows", () =>
  rolledBack(database.sql, async tx => {
    await tx`insert into control.rate_limits select 'a', 'other' || i, 1, now() + interval '1 minute' from generate_series(1, 5000) i`;
    const rows = await rowsRead(tx, "control.rate_limits", () => take(tx, "a", "ann"));
    assert.ok(rows < 100, `${rows} rows`);
  }));

test("a locked old row is skipped, and the highest count does not overflow", async t => {
  const { sql } = database;
  await sql`insert into control.rate_limits values ('a', 'held', 1, now() - interval '2 hours'),
    ('a', 'ann', 2147483647, now() + interval '1 minute')`;
  t.after(() => sql`delete from control.rate_limits`);
  await sql.begin(async holder => {
    await holder`select from control.rate_limits where identity = 'held' for update`;
    await rolledBack(sql, async tx => {
      await tx`set local lock_timeout = '1s'`;
      assert.equal((await take(tx, "a", "ann")).hits, 2147483647);
    });
  });
});

test("no hit is lost or counted twice by 20 connections at once", async () => {
  const pool = postgres(database.urls.service, { max: 20, onnotice: () => {} });
  try {
    const hits = await Promise.all(
      Array.from(
        { length: 200 },
        async () => (await pool`select hits from api.take_rate_limit('p', 'ann', 60)`)[0]!.hits as number,
      ),
    );
    assert.deepEqual(
      hits.sort((a, b) => a - b),
      Array.from({ length: 200 }, (_, i) => i + 1),
    );
  } finally {
    await pool.end();
  }
});
