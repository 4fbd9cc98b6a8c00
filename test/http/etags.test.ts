import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedTenant, seedUser } from "../harness.ts";
import { lockWaiters } from "../until.ts";
import { createWorld, setupOf } from "./world.ts";

const world = await createWorld();
const { sql } = world.database;
const { send } = setupOf(world);
after(() => world.end());

test("a client that has the ETag gets 304, in every form of If-None-Match", async () => {
  const id = await seedTenant(sql, { slug: "etag" });
  const { headers } = await send("GET", `tenant/${id}`);
  const etag = String(headers.etag);
  assert.match(etag, /^"[0-9a-f]{32}-0"$/);
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
    const answer = await send("GET", `tenant/${id}`, undefined, { "if-none-match": known });
    assert.deepEqual([answer.status, answer.body, answer.headers.etag], [304, "", etag]);
  }
  for (const known of ['"other"', etag.slice(1, -1), ""])
    assert.equal((await send("GET", `tenant/${id}`, undefined, { "if-none-match": known })).status, 200);
  assert.equal((await send("GET", `tenant/${id.toUpperCase()}`)).headers.etag, etag);
  const head = await send("HEAD", `tenant/${id}`);
  assert.deepEqual([head.status, head.body, head.headers.etag], [200, "", etag]);
});

test("every operation that changes or deletes a tenant honours If-Match", async () => {
  const id = await seedTenant(sql, { slug: "guarded", status: "pending" });
  const stale = { "if-match": '"stale"' };
  const current = async () => (await send("GET", `tenant/${id}`)).headers.etag;
  let etag = await current();
  for (const move of ["approve", "suspend", "resume"]) {
    assert.equal((await send("POST", `tenant/${id}/${move}`, undefined, stale)).status, 412, move);
    const moved = await send("POST", `tenant/${id}/${move}`, undefined, { "if-match": String(etag) });
    assert.equal(moved.status, 200, move);
    etag = moved.headers.etag;
    assert.equal(etag, await current());
  }
  assert.equal((await send("DELETE", `tenant/${id}`, undefined, stale)).status, 412);
  assert.equal((await send("DELETE", `tenant/${id}`, undefined, { "if-match": "*" })).status, 200);
  const rejected = await seedTenant(sql, { slug: "rejected", status: "pending" });
  assert.equal((await send("POST", `tenant/${rejected}/reject`, undefined, stale)).status, 412);
  assert.equal((await send("POST", `tenant/${rejected}/reject`)).status, 200);
});

test("a member who joins changes the ETag of a tenant, and does not stop a change of it", async () => {
  const id = await seedTenant(sql, { slug: "joined" });
  await sql`update app.tenants set registration = ${sql.json({ admin_email: "a@b.example", metadata: { members_count: 7, nothing: null } })} where id = ${id}`;
  const before = await send("GET", `tenant/${id}`);
  await seedUser(sql, id, { subject: "ann" });
  const left = await seedUser(sql, id, { subject: "bob" });
  await sql`update app.users set removed_at = now() where id = ${left}`;
  await seedUser(sql, id, { subject: "a-key", provider: "key" });
  const now = await send("GET", `tenant/${id}`, undefined, { "if-none-match": before.headers.etag });
  assert.deepEqual(
    [now.status, now.body.members_count, now.body.registration],
    [200, 1, { admin_email: "a@b.example", metadata: { members_count: 7, nothing: null } }],
  );
  assert.notEqual(now.headers.etag, before.headers.etag);
  const put = await send("PUT", `tenant/${id}`, { name: "x" }, { "if-match": before.headers.etag });
  assert.deepEqual([put.status, put.body.members_count], [200, 1]);
  const moved = await send("POST", `tenant/${id}/suspend`, undefined, { "if-match": put.headers.etag });
  assert.equal(moved.headers.etag, (await send("GET", `tenant/${id}`)).headers.etag);
  assert.equal((await send("PUT", `tenant/${id}`, {}, { "if-match": put.headers.etag })).status, 412);
});

test("of parallel PUTs with the same If-Match exactly one wins", async () => {
  const id = await seedTenant(sql, { slug: "race" });
  const { headers } = await send("GET", `tenant/${id}`);
  let puts: ReturnType<typeof send>[] = [];
  await sql.begin(async gate => {
    await gate`select from app.tenants where id = ${id} for update`;
    puts = ["one", "two", "three"].map(name =>
      send("PUT", `tenant/${id}`, { name }, { "if-match": headers.etag }),
    );
    await lockWaiters(sql, puts.length);
  });
  const answers = await Promise.all(puts);
  const statuses = answers.map(answer => answer.status).sort((a, b) => a - b);
  assert.deepEqual(statuses, [200, 412, 412]);
  const winner = answers.find(answer => answer.status === 200)!;
  assert.deepEqual((await send("GET", `tenant/${id}`)).body, winner.body);
});
