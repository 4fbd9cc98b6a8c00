import assert from "node:assert/strict";
import { test } from "node:test";
import { call, refused } from "../database/support.ts";
import { createDatabase, createService, seedTenant, seedUser, token } from "../harness.ts";
import { lockWaiters } from "../until.ts";

test("a deletion that a writer's locks end as a deadlock is made again, and done", async t => {
  const database = await createDatabase();
  t.after(() => database.drop());
  const { sql } = database;
  const service = await createService(database);
  t.after(() => service.close());
  const id = await seedTenant(sql, { slug: "busy" });
  const user = await seedUser(sql, id, { subject: "ann" });
  const writer = await sql.reserve();
  t.after(() => writer.release());
  // In the order of the keys of app.boards; the deletion has the tenant first. The deletion looks for a deadlock sooner, after 1 s.
  await writer.unsafe("begin; set local deadlock_timeout = '10s'");
  await writer`select from app.users where tenant_id = ${id} and id = ${user} for key share`;
  const deleted = service.request({
    method: "DELETE",
    url: `/api/setup/tenant/${id}`,
    token: await token({ sub: "op", tenant: "busy", roles: ["tenant-operator"] }),
  });
  await lockWaiters(sql);
  await writer`select from app.tenants where id = ${id} for key share`;
  await writer.unsafe("commit");
  assert.equal((await deleted).status, 200);
});

test("who is removed while the tenant is deleted waits in the order of the deletion, which needs no second try", async t => {
  const database = await createDatabase();
  t.after(() => database.drop());
  const { sql } = database;
  const id = await seedTenant(sql, { slug: "busy" });
  const [ann, bob, cyd] = await Promise.all(
    ["ann", "bob", "cyd"].map(subject => seedUser(sql, id, { subject, role: "owner" })),
  );
  const [board] = await sql<{ id: string }[]>`
    insert into app.boards (tenant_id, owner_id, title) values (${id}, ${ann!}, 'x') returning id`;
  for (const user of [bob!, cyd!])
    await sql`insert into app.board_members (tenant_id, board_id, user_id, role) values (${id}, ${board!.id}, ${user}, 'viewer')`;
  // The deletion has taken bob from the board, and is held up at cyd.
  const holder = await sql.reserve();
  t.after(() => holder.release());
  await holder.unsafe("begin");
  await holder`select from app.board_members where tenant_id = ${id} and user_id = ${cyd!} for update`;
  const operator = { slug: "busy", subject: "op", operator: true };
  const deleted = sql.begin(tx => call(tx, "delete_tenant", operator, id));
  await lockWaiters(sql);
  const removed = sql.begin(tx => call(tx, "remove_member", { slug: "busy", subject: "ann" }, bob!));
  const refusal = refused(removed, 403, "Access denied", "User does not belong to tenant");
  await lockWaiters(sql, 2);
  await holder.unsafe("rollback");
  await Promise.all([deleted, refusal]);
});
