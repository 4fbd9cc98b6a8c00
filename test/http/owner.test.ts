/** POST /api/setup/tenant with a first owner. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, createWorld, operator, person, setupOf } from "./world.ts";

const world = await createWorld();
const { sql } = world.database;
const { create } = setupOf(world);
after(() => world.end());

const current = async (subject: string, slug: string) =>
  world.service.request({ url: "/api/tenants/current", token: await person(subject, slug) });

test("the first owner can act at once, owns the sample data, and is an event", async () => {
  const owner = { auth_subject: "olga", email: "olga@acme.example", display_name: "e\u0301" };
  const { status, body } = await create({ name: "Acme", slug: "acme", owner, include_sample_data: true });
  assert.equal(status, 201);
  const { body: seen } = await current("olga", "acme");
  assert.deepEqual(
    { ...seen.membership, user_id: "", joined_at: "" },
    { user_id: "", role: "owner", auth_provider: "jwt", ...owner, display_name: "\u00e9", joined_at: "" },
  );
  const users = await sql`select id from app.users where tenant_id = ${body.tenant_id}`;
  const boards = await sql`select owner_id from app.boards where tenant_id = ${body.tenant_id}`;
  assert.deepEqual(
    [users.map(({ id }) => id), boards.map(({ owner_id }) => owner_id)],
    [[seen.membership.user_id], [seen.membership.user_id]],
  );
  const events = await sql`
    select event, target_id from control.tenant_events where tenant_id = ${body.tenant_id} order by id`;
  assert.deepEqual(
    events.map(({ event, target_id }) => [event, target_id]),
    [
      ["tenant.created", null],
      ["member.added", seen.membership.user_id],
    ],
  );
});

test("the owner is part of what an Idempotency-Key stands for", async () => {
  const token = await operator();
  const key = { "idempotency-key": "with-an-owner" };
  const first = {
    name: "Beta",
    slug: "beta",
    owner: { auth_subject: "bea", auth_provider: "https://id.example" },
  };
  assert.equal((await create(first, key, token)).status, 201);
  const again = await create(first, key, token);
  assert.deepEqual([again.status, again.body.existing], [200, true]);
  const { owner: _, ...without } = first;
  for (const other of [without, { ...first, owner: { auth_subject: "bea" } }])
    assert.equal((await create(other, key, token)).status, 422);
});

test("an owner that is no person, or has wrong fields, is refused, and nothing is created", async () => {
  for (const [owner, field] of [
    [{}, "owner.auth_subject"],
    [{ auth_subject: "" }, "owner.auth_subject"],
    [{ auth_subject: "a", email: "x" }, "owner.email"],
    [{ auth_subject: "a", role: "admin" }, "owner.role"],
    [{ auth_subject: "a", auth_provider: "key" }, "owner.auth_provider"],
    [null, "owner"],
  ] as const)
    assert.equal((await create({ name: "x", slug: "nobody", owner })).body.errors?.[0].field, field);
  const [row] = await sql`select count(*)::int as n from app.tenants where slug = 'nobody'`;
  assert.equal(row!.n, 0);
  assertError(await create({ name: "x", slug: "acme", owner: { auth_subject: "a" } }), 409, {
    error: "Conflict",
    detail: "A tenant with slug 'acme' already exists",
  });
});
