import assert from "node:assert/strict";
import { test } from "node:test";
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
