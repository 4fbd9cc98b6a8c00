/** Parallel connections delete, restore and purge a tenant, while its people work in it. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase, rounds, seedTenant, seedUser } from "../harness.ts";
import { lockWaiters } from "../until.ts";

const ROUNDS = rounds(8, 40);
const database = await createDatabase();
const { sql } = database;
const service = postgres(database.urls.service, { max: 8, onnotice: () => {} });
const owner = postgres(database.urls.owner, { max: 2, onnotice: () => {} });
after(async () => {
  await Promise.all([service.end(), owner.end()]);
  await database.drop();
});

/** "done", or the SQLSTATE. */
const stateOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    error => (error as { code: string }).code,
  );
const asOperator = (name: string, ...values: (string | number | null)[]) => {
  const places = values.map((_, i) => `$${i + 1}`).join(", ");
  return service.unsafe(
    `select api.${name}(row('nowhere', 'jwt', 'op', null, null, null), ${places})`,
    values,
  );
};
const remove = (id: string, days = 30) => asOperator("delete_tenant", id, null, days, null);
const restore = (id: string) => asOperator("restore_tenant", id);
const purgeNow = (id: string) => asOperator("purge_tenant", id, null, null);
const purge = (id: string) => owner`select app.purge_tenant(${id})`;

test("under load nobody gets in after a deletion has been answered, and no write is committed after it", async () => {
  const id = await seedTenant(sql, { slug: "busy" });
  await seedUser(sql, id, { subject: "ann", role: "owner" });
  let round = 0;
  let deleted = false;
  let over = false;
  let made = 0;
  let refusedNow = 0;
  const seen = new Set<string>();
  const late: string[] = [];
  const work = async (n: number) => {
    while (!over) {
      const begunLate = deleted;
      const inRound = round;
      const state = await stateOf(
        n % 2
          ? service`select api.add_member(row('busy', 'jwt', 'ann', null, null, 'x'), 'jwt', ${`m-${n}-${++made}`}, null, null, 'member')`
          : service`select api.get_current_tenant(row('busy', 'jwt', 'ann', null, null, 'x'))`,
      );
      seen.add(state);
      if (begunLate && deleted && inRound === round) {
        refusedNow++;
        if (state !== "TM403") late.push(`${round}: ${state}`);
      }
    }
  };
  const workers = Array.from({ length: 6 }, (_, n) => work(n));
  for (; round < ROUNDS; round++) {
    await remove(id);
    deleted = true;
    const members = async () =>
      (await sql<{ n: number }[]>`select count(*)::int as n from app.users where tenant_id = ${id}`)[0]!.n;
    const before = await members();
    for (refusedNow = 0; refusedNow < 12; ) await sql`select`;
    assert.equal(await members(), before, `round ${round}`);
    deleted = false;
    await restore(id);
    const soFar = await members();
    while ((await members()) === soFar);
  }
  over = true;
  await Promise.all(workers);
  assert.deepEqual(late, []);
  assert.deepEqual(
    [...seen].filter(state => !["done", "TM403", "TM503"].includes(state)),
    [],
  );
});

test("delete, restore, purge and the daily purge at once leave a tenant whole, or nothing of it", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const id = await seedTenant(sql, { slug: `race-${round}`, status: round % 2 ? "deleted" : "active" });
    const user = await seedUser(sql, id, { subject: "ann", role: "owner" });
    await sql`insert into app.boards (tenant_id, owner_id, title) select ${id}, ${user}, 'b' from generate_series(1, 3)`;
    if (round % 2)
      await sql`update app.tenants set deleted_at = now() - interval '2 days', purge_at = now() - interval '1 day' where id = ${id}`;
    const states = await Promise.all(
      [remove(id), restore(id), purge(id), remove(id), restore(id), purgeNow(id)].map(stateOf),
    );
    for (const state of states)
      assert.ok(["done", "TM404", "TM409"].includes(state), `round ${round}: ${states.join()}`);
    const [left] = await sql<{ status: string | null; users: number; boards: number }[]>`
      select (select status from app.tenants where id = ${id}) as status,
        (select count(*)::int from app.users where tenant_id = ${id}) as users,
        (select count(*)::int from app.boards where tenant_id = ${id}) as boards`;
    assert.deepEqual(
      [left!.users, left!.boards],
      left!.status === null ? [0, 0] : [1, 3],
      `round ${round}: ${states.join()}`,
    );
  }
  const [counts] = await sql`
    select app.count_tenants(null)::int + app.count_tenants('deleted')::int as said, (select count(*)::int from app.tenants) as held`;
  assert.equal(counts!.said, counts!.held);
});

test("of two parallel deletions the second does not remove what the first keeps", async () => {
  await sql`alter function app.fence_tenant(uuid) set lock_timeout = '60s'`;
  const id = await seedTenant(sql, { slug: "twice" });
  const inside = await sql.reserve();
  await inside`begin`;
  await inside`select app.set_tenant(${id})`;
  const deletions = Promise.all([remove(id), remove(id)].map(stateOf));
  await lockWaiters(sql, 2);
  await inside`commit`;
  inside.release();
  assert.deepEqual(await deletions, ["done", "done"]);
  const [left] = await sql`select status from app.tenants where id = ${id}`;
  assert.equal(left!.status, "deleted");
});
