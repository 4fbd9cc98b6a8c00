import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedTenant } from "../harness.ts";
import { assertError, createWorld, operator, setupOf } from "./world.ts";

const world = await createWorld();
const { sql } = world.database;
const { create } = setupOf(world);
after(() => world.end());

test("an idempotent repeat answers 200 with existing true, another body 422, another caller 409", async () => {
  const token = await operator();
  const headers = { "idempotency-key": "create-me-once" };
  const first = await create({ name: "Once", slug: "once" }, headers, token);
  const again = await create({ slug: "once", name: "Once", include_sample_data: false }, headers, token);
  assert.deepEqual([first.status, again.status], [201, 200]);
  assert.deepEqual(again.body, { ...first.body, existing: true });
  const message = "was already used with another request";
  assertError(await create({ name: "Twice", slug: "once" }, headers, token), 422, {
    error: "Validation failed",
    detail: `The Idempotency-Key ${message}`,
    errors: [{ field: "Idempotency-Key", message }],
  });
  assert.equal((await create({ name: "Once", slug: "once" }, headers)).status, 409);
});

test("an Idempotency-Key is 8 to 255 printable characters", async () => {
  const status = async (key: string | string[]) =>
    (await create({ name: "n", slug: `key-${String(key).length}` }, { "idempotency-key": key })).status;
  assert.deepEqual(
    [
      await status("1234567"),
      await status("x".repeat(256)),
      await status("ümläut-schlüssel"),
      await status(""),
    ],
    [422, 422, 422, 422],
  );
  assert.deepEqual(
    [await status("12345678"), await status("x".repeat(255)), await status("with a space ~!")],
    [201, 201, 201],
  );
});

test("20 parallel repeats make one tenant: one 201, nineteen 200 with its id", async () => {
  // Another test has the limit of ten an hour: here the window has room for twenty.
  await sql`insert into control.rate_limits values ('setup_create', E'jwt\\none-operator', -10, now() + interval '1 hour')`;
  const token = await operator({ sub: "one-operator" });
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      create({ name: "Parallel", slug: "parallel" }, { "idempotency-key": "parallel-key" }, token),
    ),
  );
  assert.deepEqual(
    answers.map(answer => answer.status).sort((a, b) => a - b),
    [...Array.from({ length: 19 }, () => 200), 201],
  );
  for (const { status, body } of answers) assert.equal(body.existing, status === 200);
  assert.equal(new Set(answers.map(answer => answer.body.tenant_id)).size, 1);
  assert.equal((await sql`select from app.tenants where slug = 'parallel'`).count, 1);
});

test("after a failure the same key works", async () => {
  const token = await operator();
  const headers = { "idempotency-key": "fails-at-first" };
  await seedTenant(sql, { slug: "in-the-way" });
  const attempt = () => create({ name: "n", slug: "in-the-way" }, headers, token);
  assert.equal((await attempt()).status, 409);
  await sql`delete from app.tenants where slug = 'in-the-way'`;
  const second = await attempt();
  assert.deepEqual([second.status, second.body.existing], [201, false]);
});
