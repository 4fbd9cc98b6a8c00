import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { createDatabase, rolledBack, seedTenant, seedUser, withRole } from "../../harness.ts";
import { as, call, operator, refused, sqlstate, type Transaction } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

const hashOf = (secret: string) => createHash("sha256").update(secret).digest("hex");

interface World {
  tx: Transaction;
  acme: string;
  /** Arguments of a caller with a key. */
  byKey: (secret: string, slug?: string | null, tenant?: string) => (string | null)[];
  make: (secret: string, role?: string, expires?: string | null) => Promise<{ key_id: string }>;
}
const inWorld = (work: (world: World) => Promise<void>) =>
  rolledBack(database.sql, async tx => {
    const acme = await seedTenant(tx, { slug: "acme" });
    await seedUser(tx, acme, { subject: "ann", role: "owner" });
    await work({
      tx,
      acme,
      byKey: (secret, slug = "", tenant = acme) => [
        slug,
        "key",
        `${tenant}:${hashOf(secret)}`,
        null,
        null,
        "op",
      ],
      make: async (secret, role = "member", expires = null) => {
        const row = await call(tx, "create_key", { slug: "acme" }, "a key", role, expires, hashOf(secret));
        assert.equal(row.tenant_id, acme);
        return row.body;
      },
    });
  });

test("enter_tenant finds a key inside its tenant, and says which tenant and key it is", () =>
  inWorld(async ({ tx, acme, byKey, make }) => {
    const { key_id } = await make("one", "admin");
    const beta = await seedTenant(tx, { slug: "beta" });
    for (const slug of ["", "acme"])
      await as(tx, "tms_app", async sp => {
        const [row] = await sp.unsafe(
          `select e.tenant_id, e.role, (e.member).auth_subject, app.tenant_id() as inside, current_setting('app.key_id') as key,
             current_setting('app.tenant_slug') as slug, current_setting('application_name') as name, current_setting('app.actor') as actor
           from app.enter_tenant($1, $2, $3, $4, $5) e`,
          byKey("one", slug).slice(0, 5) as never[],
        );
        const found = row as unknown as Record<string, string>;
        assert.deepEqual(
          { ...found, actor: JSON.parse(found.actor!) as unknown },
          {
            tenant_id: acme,
            role: "admin",
            auth_subject: key_id,
            inside: acme,
            key: key_id,
            slug: "acme",
            name: "tms acme",
            actor: ["key", key_id],
          },
        );
      });
    await tx`select set_config('app.tenant_id', '', true)`;
    const current = (values: (string | null)[]) => call(tx, "get_current_tenant", values);
    const notValid = [401, "Unauthorized", "The API key is not valid"] as const;
    const denied = [403, "Access denied", "User does not belong to tenant"] as const;
    await refused(current(byKey("two")), ...notValid);
    await refused(current(byKey("one", "", beta)), ...notValid);
    await refused(current(byKey("one", "beta")), ...denied);
    await refused(current(byKey("one", null)), ...denied);
    assert.equal(await sqlstate(current(["", "key", "x", null, null, "op"])), "22P02");
    assert.equal(await sqlstate(current(["", "key", `${acme}:xyz`, null, null, "op"])), "22023");
    // A refusal leaves the transaction in the tenant that it was in.
    const [left] = await tx`select app.tenant_id() as tenant`;
    assert.equal(left!.tenant, null);
    await call(tx, "suspend_tenant", operator, acme, null);
    await refused(current(byKey("one")), ...denied);
    await call(tx, "resume_tenant", operator, acme, null);
    assert.equal((await current(byKey("one"))).body.membership.auth_subject, key_id);
  }));

test("a key is kept as its hash, ends with its row, and its user never comes back", () =>
  inWorld(async ({ tx, acme, byKey, make }) => {
    const { key_id } = await make("one");
    assert.equal(
      await sqlstate(call(tx, "create_key", { slug: "acme" }, "n", "member", null, "00")),
      "23514",
    );
    const [row] = await tx`select encode(secret_hash, 'hex') as hash, u.auth_provider, u.auth_subject, u.role
      from app.api_keys k join app.users u on u.tenant_id = k.tenant_id and u.id = k.user_id`;
    assert.deepEqual(
      { ...row },
      { hash: hashOf("one"), auth_provider: "key", auth_subject: key_id, role: "member" },
    );
    assert.equal(await sqlstate(make("one")), "23505");
    for (const id of ["x", acme])
      await refused(
        call(tx, "revoke_key", { slug: "acme" }, id),
        404,
        "API key not found",
        `API key with ID ${id} not found`,
      );
    await call(tx, "revoke_key", { slug: "acme" }, key_id);
    await refused(
      call(tx, "list_boards", byKey("one"), 10, null),
      401,
      "Unauthorized",
      "The API key is not valid",
    );
    const [user] =
      await tx`select removed_at is not null as removed from app.users where auth_subject = ${key_id}`;
    assert.equal(user!.removed, true);
    const events =
      await tx`select event, target_id, actor_provider || ' ' || actor_subject as actor from control.tenant_events
      where event like 'key.%' order by n`;
    assert.deepEqual(
      events.map(event => ({ ...event })),
      ["key.created", "key.revoked"].map(event => ({ event, target_id: key_id, actor: "jwt ann" })),
    );
  }));

test("last_used_at moves once a minute, not on a read-only server, and a locked key waits for nobody", async () => {
  const { sql } = database;
  const tenant = await seedTenant(sql, { slug: "used" });
  await seedUser(sql, tenant, { subject: "ann", role: "owner" });
  const { key_id } = await sql.begin(
    async tx => (await call(tx, "create_key", { slug: "used" }, "n", "member", null, hashOf("used"))).body,
  );
  const given = ["", "key", `${tenant}:${hashOf("used")}`, null, null, "op"];
  const use = (tx: Transaction) => call(tx, "get_current_tenant", given);
  const used = async () => {
    const [row] =
      await sql`select last_used_at as at, xmin::text as version from app.api_keys where id = ${key_id}`;
    return row as { at: Date | null; version: string };
  };
  await sql.begin("read only", use);
  assert.equal((await used()).at, null);
  await sql.begin(async tx => {
    await tx`select from app.api_keys where id = ${key_id} for update`;
    await sql.begin(async other => {
      await other`set local lock_timeout = 1`;
      await use(other);
    });
  });
  assert.equal((await used()).at, null);
  await sql.begin(use);
  const first = await used();
  assert.ok(first.at);
  await sql.begin(use);
  assert.deepEqual(await used(), first);
  await sql`update app.api_keys set last_used_at = now() - interval '61 seconds' where id = ${key_id}`;
  await sql.begin(use);
  assert.ok((await used()).at! >= first.at);
});

test("a tenant sees its own keys only, and none without a tenant", async () => {
  const { sql } = database;
  const tenants = [await seedTenant(sql, { slug: "left" }), await seedTenant(sql, { slug: "right" })];
  for (const [i, slug] of ["left", "right"].entries()) {
    await seedUser(sql, tenants[i]!, { subject: "ann", role: "owner" });
    await sql.begin(tx => call(tx, "create_key", { slug }, slug, "member", null, hashOf("the same")));
  }
  for (const [tenant, names] of [
    [tenants[0]!, ["left"]],
    [tenants[1]!, ["right"]],
    [null, []],
  ] as const) {
    const rows = await withRole(sql, "tms_app", tenant, tx => tx`select name from app.api_keys`);
    assert.deepEqual(
      rows.map(({ name }) => name),
      names,
    );
  }
  assert.equal(await sqlstate(withRole(sql, "tms_registrar", null, tx => tx`table app.api_keys`)), "42501");
});
