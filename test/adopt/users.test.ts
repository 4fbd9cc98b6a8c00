/** docs/guides/adopt.md, *Whose users*: a product's own users beside app.users, on an adopted product. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import pg from "pg";
import { inTenant } from "../../src/library/index.ts";
import { projectRoot } from "../cli/command.ts";
import { carryOut, createLiving } from "./living.ts";
import { product } from "./product.ts";

const living = await createLiving(product);
const { sql, role } = living;
const login = `shop_${living.name.slice(-8)}`;
const url = Object.assign(new URL(living.urls.root), { username: login, password: "shop" }).href;
const pool = new pg.Pool({ connectionString: url, max: 2 });
after(async () => {
  await pool.end();
  await sql.unsafe(`drop owned by ${login}; drop role ${login}`);
  await living.drop();
});

const page = readFileSync(path.join(projectRoot, "docs/guides/adopt.md"), "utf8");
const [copied, together] = [
  ...page.slice(page.indexOf("## Whose users")).matchAll(/```sql\n([\s\S]*?)```/g),
].map(([, code]) => code!);

test("the members of a product's own users enter by slug, see each other, and are added in one transaction", async () => {
  const planned = await living.plan("--no-rehearse");
  await carryOut(sql, planned.stdout);
  await sql.unsafe(`create role ${login} login noinherit password 'shop'; grant ${role} to ${login};
    grant connect on database ${living.name} to ${login}; alter role ${login} set app.require_tenant = on`);
  await sql.unsafe(copied!);

  const caller = { slug: "team-1", subject: "u1" };
  const people = async (client: pg.PoolClient) =>
    (await client.query<{ id: string }>(`select id from "User" order by id`)).rows.map(({ id }) => id);
  assert.deepEqual(await inTenant(pool, caller, people, { as: role }), ["u1", "u3", "u5"]);
  await assert.rejects(inTenant(pool, { slug: "team-1", subject: "u2" }, people, { as: role }), {
    code: "TM403",
  });

  await inTenant(pool, caller, client => client.query(together!), { as: role });
  assert.deepEqual(await inTenant(pool, { slug: "team-1", subject: "u2" }, people, { as: role }), [
    "u1",
    "u2",
    "u3",
    "u5",
  ]);
  // One person, two tenants.
  assert.deepEqual(await inTenant(pool, { slug: "team-2", subject: "u2" }, people, { as: role }), [
    "u2",
    "u4",
  ]);
  // What forgets to become the role can do nothing; what forgets its tenant raises.
  await assert.rejects(pool.query('select from public."Order"'), { code: "42501" });
  const client = await pool.connect();
  await assert.rejects(client.query(`begin; set local role ${role}; select from "Order"`), { code: "TM428" });
  await client.query("rollback");
  client.release();
});

test("a policy for the login that signs people in is left alone, and its privileges too", async () => {
  const auth = `auth_${living.name.slice(-8)}`;
  await sql.unsafe(
    `create role ${auth} login; grant select on "User" to ${auth}; create policy sign_in on "User" to ${auth} using (true)`,
  );
  try {
    const file = living.answer({ bridges: {} });
    const { stdout } = await living.plan("--answers", file, "--no-rehearse");
    assert.doesNotMatch(stdout, /policies of its own/);
    assert.match(stdout, new RegExp(`revoke all on table public\\."User" from ${living.app};`));
    await carryOut(sql, stdout);
    const seen = await sql
      .begin(async tx => {
        await tx.unsafe(`set local role ${auth}`);
        return (await tx`select from public."User"`).length;
      })
      .catch((error: Error) => error.message);
    assert.equal(seen, "permission denied for schema public");
    await sql.unsafe(`grant usage on schema public to ${auth}`);
    await sql.begin(async tx => {
      await tx.unsafe(`set local role ${auth}`);
      assert.equal((await tx`select from "User"`).length, 5);
    });
  } finally {
    await sql.unsafe(`drop owned by ${auth}; drop role ${auth}`);
  }
});
