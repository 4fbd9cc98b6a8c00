import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { call, operator, ROUNDS, refused, rowsRead, type Transaction } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

/** Two tenants; in acme there is one of each role, named after it. */
async function seed(tx: postgres.ISql) {
  const acme = await seedTenant(tx, { slug: "acme" });
  const beta = await seedTenant(tx, { slug: "beta" });
  const ids: Record<string, string> = {};
  for (const role of ["owner", "admin", "member"])
    ids[role] = await seedUser(tx, acme, { subject: role, role });
  ids.stranger = await seedUser(tx, beta, { subject: "stranger", role: "owner" });
  return { acme, beta, ids };
}

const hashOf = (secret: string) => createHash("sha256").update(secret).digest("hex");
const by = (subject: string, slug: string | null = "acme") => ({ slug, subject });
const invite = async (
  tx: Transaction,
  caller: string,
  secret: string,
  { role = "member", email = null as string | null, seconds = 3600, slug = "acme" } = {},
) => (await call(tx, "create_invitation", by(caller, slug), role, email, seconds, hashOf(secret))).body;
/** The caller names a tenant that does not exist. */
const accept = (
  tx: Transaction,
  subject: string,
  tenant: string,
  secret: string,
  email: string | null = null,
  slug: string | null = "nowhere",
) => call(tx, "accept_invitation", by(subject, slug), tenant, hashOf(secret), email);
const listed = async (tx: Transaction, caller = "owner") =>
  (await call(tx, "list_invitations", by(caller), 100, null)).body.invitations;

const DENIED = [403, "Access denied", "User does not belong to tenant"] as const;
const REFUSED = [403, "Access denied", "The invitation cannot be used"] as const;
const MEMBER_ALREADY = [409, "Conflict", "This identity is already a member of the tenant"] as const;
const needs = (role: string) => [403, "Access denied", `The tenant role ${role} is required`] as const;

test("an invitation is listed without its token, and makes who accepts it a member with its role", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    const made = await invite(tx, "admin", "s", { role: "admin", email: "ada@acme.com" });
    assert.deepEqual(Object.keys(made), [
      "invitation_id",
      "role",
      "email",
      "invited_by",
      "created_at",
      "expires_at",
    ]);
    assert.deepEqual([made.role, made.email, made.invited_by], ["admin", "ada@acme.com", ids.admin]);
    assert.equal(Date.parse(made.expires_at) - Date.parse(made.created_at), 3_600_000);
    assert.deepEqual(await listed(tx), [made]);
    const { body } = await accept(tx, "ada", acme, "s", "ada@acme.com");
    assert.deepEqual(Object.keys(body), ["tenant", "membership"]);
    assert.deepEqual(
      [body.tenant.slug, body.membership.role, body.membership.auth_subject, body.membership.email],
      ["acme", "admin", "ada", "ada@example.com"],
    );
    assert.deepEqual((await call(tx, "get_current_tenant", by("ada"))).body, body);
    assert.deepEqual(await listed(tx), []);
    await refused(accept(tx, "bob", acme, "s", "ada@acme.com"), ...REFUSED);
  }));

test("owners invite for every role, admins for all but owner; members neither invite, list nor revoke", () =>
  rolledBack(database.sql, async tx => {
    await seed(tx);
    const made: Record<string, string> = {};
    for (const role of ["owner", "admin", "member"])
      made[role] = (await invite(tx, "owner", `o-${role}`, { role })).invitation_id;
    for (const role of ["admin", "member"]) await invite(tx, "admin", `a-${role}`, { role });
    await refused(invite(tx, "admin", "x", { role: "owner" }), ...needs("owner"));
    await refused(invite(tx, "member", "x"), ...needs("admin"));
    await refused(listed(tx, "member"), ...needs("admin"));
    const revoke = (caller: string, id: string) => call(tx, "revoke_invitation", by(caller), id);
    await refused(revoke("member", made.member!), ...needs("admin"));
    await refused(revoke("admin", made.owner!), ...needs("owner"));
    for (const work of [
      () => invite(tx, "stranger", "x"),
      () => listed(tx, "stranger"),
      () => revoke("stranger", made.member!),
    ])
      await refused(work(), ...DENIED);
    const gone = (id: string) => [404, "Invitation not found", `Invitation with ID ${id} not found`] as const;
    await refused(call(tx, "revoke_invitation", by("stranger", "beta"), made.member), ...gone(made.member!));
    assert.deepEqual((await revoke("admin", made.member!)).body, {
      message: "Invitation revoked",
      invitation_id: made.member,
    });
    for (const id of [made.member!, "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10", "x", ""])
      await refused(revoke("owner", id), ...gone(id));
    assert.equal((await listed(tx, "admin")).length, 4);
  }));

test("every invitation that cannot be used is refused with the same words", () =>
  rolledBack(database.sql, async tx => {
    const { acme, beta, ids } = await seed(tx);
    const open = (secret = "good") => accept(tx, "new", acme, secret);
    await invite(tx, "owner", "good");
    await invite(tx, "owner", "addressed", { email: "ada@acme.com" });
    const { invitation_id } = await invite(tx, "owner", "revoked");
    await call(tx, "revoke_invitation", by("owner"), invitation_id);
    await invite(tx, "owner", "used");
    await accept(tx, "first", acme, "used");
    const bad: [string, () => Promise<unknown>][] = [
      ["unknown", () => open("unknown")],
      ["of another tenant", () => accept(tx, "new", beta, "good")],
      ["of no tenant", () => accept(tx, "new", "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10", "good")],
      ["malformed", () => accept(tx, "new", "", "good")],
      ["malformed id", () => accept(tx, "new", `${acme} `, "good")],
      ["revoked", () => open("revoked")],
      ["used", () => open("used")],
      ["of another address", () => accept(tx, "new", acme, "addressed", "eve@acme.com")],
      ["without an address", () => open("addressed")],
      ["in single-tenant mode", () => accept(tx, "new", acme, "good", null, null)],
      [
        "by a key",
        () => call(tx, "accept_invitation", { slug: "x", provider: "key" }, acme, hashOf("good"), null),
      ],
    ];
    for (const [why, work] of bad)
      await refused(work(), ...REFUSED).catch(error => assert.fail(`${why}: ${error}`));
    for (const change of [
      ["expired", "update app.invitations set created_at = now() - interval '2 days', expires_at = now()"],
      ["pending", "update app.tenants set status = 'pending'"],
      ["suspended", "update app.tenants set status = 'suspended'"],
      [
        "deleted",
        "update app.tenants set status = 'deleted', status_before = 'active', deleted_at = now(), purge_at = now()",
      ],
      ["inviter removed", `update app.users set removed_at = now() where id = '${ids.owner}'`],
      ["inviter demoted", `update app.users set role = 'member' where id = '${ids.owner}'`],
      ["gone", `delete from app.tenants where id = '${acme}'`],
    ] as const)
      await tx
        .savepoint(async sp => {
          await sp.unsafe(change[1]);
          await refused(accept(sp, "new", acme, "good"), ...REFUSED).catch(error =>
            assert.fail(`${change[0]}: ${error}`),
          );
          if (change[0].startsWith("inviter")) {
            await sp`update app.users set role = 'owner' where id = ${ids.admin!}`;
            assert.deepEqual(await listed(sp, "admin"), []);
          }
          throw new Error("undo");
        })
        .catch(error => assert.equal(error.message, "undo"));
    assert.equal((await open()).body.membership.role, "member");
  }));

test("an admin's invitations count while the inviter is one, those of an owner while the role allows them", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await seedUser(tx, acme, { subject: "second", role: "owner" });
    await invite(tx, "owner", "an owner", { role: "owner" });
    await invite(tx, "owner", "a member");
    await call(tx, "change_member", by("second"), ids.owner, "admin");
    await refused(accept(tx, "new", acme, "an owner"), ...REFUSED);
    await accept(tx, "new", acme, "a member");
    assert.deepEqual(await listed(tx, "second"), []);
  }));

test("an invitation made, accepted and revoked is an event each, without the address", () =>
  rolledBack(database.sql, async tx => {
    const { acme } = await seed(tx);
    const used = await invite(tx, "owner", "used", { email: "ada@acme.com" });
    const { body } = await accept(tx, "ada", acme, "used", "ada@acme.com");
    const revoked = await invite(tx, "admin", "revoked");
    await call(tx, "revoke_invitation", by("owner"), revoked.invitation_id);
    await accept(tx, "eve", acme, "revoked").catch(() => {});
    const events = await tx`
      select event, target_id, actor_subject, to_jsonb(e)::text as whole from control.tenant_events e
      where tenant_id = ${acme} and event ~ '^(member|invitation)' order by epoch, xid, n`;
    assert.deepEqual(
      events.map(one => [one.event, one.target_id, one.actor_subject]),
      [
        ["invitation.created", used.invitation_id, "owner"],
        ["invitation.accepted", used.invitation_id, "ada"],
        ["member.joined", body.membership.user_id, "ada"],
        ["invitation.created", revoked.invitation_id, "admin"],
        ["invitation.revoked", revoked.invitation_id, "owner"],
      ],
    );
    assert.ok(events.every(one => !one.whole.includes("acme.com")));
  }));

/** By an operator, into any tenant. */
const inviteByOperator = async (tx: Transaction, tenant: string, secret: string, role = "owner") =>
  (await call(tx, "create_tenant_invitation", operator, tenant, role, null, 3600, hashOf(secret))).body;

test("an operator invites the first owner of a tenant without members; the invitation has no inviter", () =>
  rolledBack(database.sql, async tx => {
    const empty = await seedTenant(tx, { slug: "empty" });
    const made = await inviteByOperator(tx, empty, "s");
    assert.deepEqual([made.role, made.invited_by], ["owner", null]);
    const { body } = await accept(tx, "first", empty, "s");
    assert.deepEqual([body.tenant.slug, body.membership.role], ["empty", "owner"]);
    await refused(accept(tx, "second", empty, "s"), ...REFUSED);
    const events = await tx`
      select event, actor_subject, by_operator from control.tenant_events
      where tenant_id = ${empty} and event like 'invitation.%' order by epoch, xid, n`;
    assert.deepEqual(
      events.map(one => [one.event, one.actor_subject, one.by_operator]),
      [
        ["invitation.created", "op", true],
        ["invitation.accepted", "first", false],
      ],
    );
  }));

test("an operator lists and revokes the invitations of one tenant; the tenant's own people see and revoke theirs", () =>
  rolledBack(database.sql, async tx => {
    const { acme, beta } = await seed(tx);
    const own = await invite(tx, "owner", "own");
    const theirs = await inviteByOperator(tx, acme, "theirs");
    const elsewhere = await inviteByOperator(tx, beta, "elsewhere");
    const ids = (list: { invitation_id: string }[]) => list.map(one => one.invitation_id).sort();
    const both = ids([own, theirs]);
    const byOperator = async (tenant: string) =>
      (await call(tx, "list_tenant_invitations", operator, tenant, 100, null)).body.invitations;
    assert.deepEqual(ids(await byOperator(acme)), both);
    assert.deepEqual(ids(await listed(tx, "admin")), both);
    const revoke = (tenant: string, id: string) => call(tx, "revoke_tenant_invitation", operator, tenant, id);
    const gone = (id: string) => [404, "Invitation not found", `Invitation with ID ${id} not found`] as const;
    await refused(revoke(acme, elsewhere.invitation_id), ...gone(elsewhere.invitation_id));
    await revoke(acme, own.invitation_id);
    // Once more does no more.
    await refused(revoke(acme, own.invitation_id), ...gone(own.invitation_id));
    await refused(call(tx, "revoke_invitation", by("admin"), theirs.invitation_id), ...needs("owner"));
    await call(tx, "revoke_invitation", by("owner"), theirs.invitation_id);
    await refused(accept(tx, "new", acme, "theirs"), ...REFUSED);
    assert.deepEqual(ids(await byOperator(beta)), [elsewhere.invitation_id]);
    const [revoked] = await tx`
      select count(*)::int as n from control.tenant_events where event = 'invitation.revoked' and tenant_id = ${acme}`;
    assert.equal(revoked!.n, 2);
  }));

test("only operators invite into any tenant; a deleted tenant takes no invitation, a suspended one lets nobody in", () =>
  rolledBack(database.sql, async tx => {
    const { acme } = await seed(tx);
    const unknown = "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10";
    const needsOperator = [403, "Access denied", "The role tenant-operator is required"] as const;
    for (const work of [
      () => call(tx, "create_tenant_invitation", by("owner"), acme, "owner", null, 60, hashOf("x")),
      () => call(tx, "list_tenant_invitations", by("owner"), acme, 100, null),
      () => call(tx, "revoke_tenant_invitation", by("owner"), acme, unknown),
    ])
      await refused(work(), ...needsOperator);
    await refused(
      inviteByOperator(tx, unknown, "x"),
      404,
      "Tenant not found",
      `Tenant with ID ${unknown} not found`,
    );
    await tx`update app.tenants set status = 'suspended' where id = ${acme}`;
    await inviteByOperator(tx, acme, "s");
    await refused(accept(tx, "new", acme, "s"), ...REFUSED);
    await tx`update app.tenants set status = 'deleted', status_before = 'active', deleted_at = now(), purge_at = now()
      where id = ${acme}`;
    await refused(inviteByOperator(tx, acme, "x"), 409, "Conflict", "The tenant is deleted, not active");
  }));

test("a member who accepts gets 409 and keeps the role; the invitation stays open for another", () =>
  rolledBack(database.sql, async tx => {
    const { acme } = await seed(tx);
    await invite(tx, "owner", "s", { role: "admin" });
    await refused(accept(tx, "member", acme, "s"), ...MEMBER_ALREADY);
    assert.equal((await call(tx, "get_current_tenant", by("member"))).body.membership.role, "member");
    assert.equal((await accept(tx, "new", acme, "s")).body.membership.role, "admin");
  }));

test("a removed member comes back by an invitation made afterwards, not by an older one", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await invite(tx, "owner", "older", { role: "admin" });
    await call(tx, "remove_member", by("owner"), ids.member);
    await refused(accept(tx, "member", acme, "older"), ...REFUSED);
    await tx`update app.users set removed_at = removed_at - interval '1 second' where id = ${ids.member!}`;
    await tx`update app.invitations set created_at = created_at - interval '2 seconds'`;
    await refused(accept(tx, "member", acme, "older"), ...REFUSED);
    await invite(tx, "owner", "newer", { role: "admin" });
    const { membership } = (await accept(tx, "member", acme, "newer")).body;
    assert.deepEqual([membership.user_id, membership.role], [ids.member, "admin"]);
  }));

test("in single-tenant mode an invitation leads into the default tenant", () =>
  rolledBack(database.sql, async tx => {
    const { acme } = await seed(tx);
    await tx`update app.tenants set is_default = true where id = ${acme}`;
    await call(tx, "create_invitation", by("owner", null), "admin", null, 60, hashOf("s"));
    const { body } = await accept(tx, "new", acme, "s", null, null);
    assert.deepEqual([body.tenant.tenant_id, body.membership.role], [acme, "admin"]);
  }));

test("open invitations are listed newest first, in pages, of the caller's tenant only; expired ones go", () =>
  rolledBack(database.sql, async tx => {
    const { acme, beta, ids } = await seed(tx);
    for (const [tenant, inviter, n] of [
      [acme, ids.owner!, 11],
      [beta, ids.stranger!, 5],
    ] as const)
      await tx`insert into app.invitations (tenant_id, token_hash, role, invited_by, created_at, expires_at)
        select ${tenant}, sha256(convert_to(i::text, 'UTF8')), 'member', ${inviter},
          now() - interval '1 day' + (i / 4) * interval '1 hour', now() + interval '1 day' from generate_series(1, ${n}::int) i`;
    await tx`insert into app.invitations (tenant_id, token_hash, role, invited_by, created_at, expires_at)
      values (${acme}, sha256('expired'), 'member', ${ids.owner!}, now() - interval '1 day', now() - interval '1 hour')`;
    const expected = await tx`
      select id from app.invitations where tenant_id = ${acme} and expires_at > now() order by created_at desc, id`;
    for (const limit of [1, 2, 100]) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof call>> = await call(
          tx,
          "list_invitations",
          by("admin"),
          limit,
          cursor,
        );
        seen.push(...page.body.invitations.map((one: Record<string, string>) => one.invitation_id));
        cursor = page.next_cursor;
      } while (cursor);
      assert.deepEqual(
        seen,
        expected.map(row => row.id),
      );
    }
    const [old] = await tx`select id from app.invitations where expires_at < now()`;
    await refused(
      call(tx, "revoke_invitation", by("owner"), old!.id),
      404,
      "Invitation not found",
      `Invitation with ID ${old!.id} not found`,
    );
    await invite(tx, "owner", "next");
    assert.equal((await tx`select from app.invitations where expires_at < now()`).count, 0);
  }));

test("an invitation lives for 30 days at most, and its hash has 32 bytes: constraints say so", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    for (const [constraint, hash, days] of [
      ["invitations_lifetime", "s", 31],
      ["invitations_lifetime", "s", 0],
      ["invitations_hash_length", null, 1],
    ] as const)
      await assert.rejects(
        tx.savepoint(
          sp => sp`insert into app.invitations (tenant_id, token_hash, role, invited_by, expires_at)
            values (${acme}, ${hash ? Buffer.from(hashOf(hash), "hex") : Buffer.from("short")}, 'member', ${ids.owner!},
              now() + ${days}::int * interval '1 day')`,
        ),
        { constraint_name: constraint },
      );
    await invite(tx, "owner", "s", { seconds: 30 * 86_400 });
  }));

test("accepting reads a few rows, however many invitations a tenant has", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`insert into app.invitations (tenant_id, token_hash, role, invited_by, expires_at)
      select ${acme}, sha256(convert_to(i::text, 'UTF8')), 'member', ${ids.owner!}, now() + interval '1 day'
      from generate_series(1, 3000) i`;
    await tx`analyze app.invitations`;
    assert.ok((await rowsRead(tx, "app.invitations", () => accept(tx, "new", acme, "7"))) < 10);
    const page = () => call(tx, "list_invitations", by("owner"), 10, null);
    assert.ok((await rowsRead(tx, "app.invitations", page)) < 100);
  }));

/** As the service calls it: one statement, which is the whole transaction. */
const acceptAtOnce = (sql: postgres.Sql, subject: string, tenant: string, secret: string) =>
  sql`select api.accept_invitation(row('nowhere', 'jwt', ${subject}, null, null, 'tenant-operator'), ${tenant}, ${hashOf(secret)}, null)`;

test("of 50 identities that use one token at once, exactly one joins", async t => {
  const sql = postgres(database.urls.service, { max: 50, onnotice: () => {} });
  t.after(async () => {
    await sql.end();
    await database.sql`delete from app.tenants`;
  });
  const { acme } = await seed(database.sql);
  for (let round = 0; round < ROUNDS; round += 1) {
    const secret = `round ${round}`;
    await database.sql.begin(tx => invite(tx, "owner", secret));
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) => acceptAtOnce(sql, `guest-${round}-${i}`, acme, secret)),
    );
    const failed = outcomes.flatMap(one => (one.status === "rejected" ? [one.reason] : []));
    assert.deepEqual(
      [failed.length, new Set(failed.map(({ code, message }) => `${code} ${message}`))],
      [49, new Set(["TM403 The invitation cannot be used"])],
    );
    const [joined] = await database.sql<{ n: number }[]>`
      select count(*)::int as n from app.users where auth_subject like ${`guest-${round}-%`}`;
    assert.equal(joined!.n, 1);
  }
});

test("an invitation that is revoked and used at once does one of both", async t => {
  const sql = postgres(database.urls.service, { max: 2, onnotice: () => {} });
  t.after(async () => {
    await sql.end();
    await database.sql`delete from app.tenants`;
  });
  const { acme } = await seed(database.sql);
  for (let round = 0; round < ROUNDS; round += 1) {
    const { invitation_id } = await database.sql.begin(tx => invite(tx, "owner", `round ${round}`));
    const [used, revoked] = await Promise.allSettled([
      acceptAtOnce(sql, `guest-${round}`, acme, `round ${round}`),
      sql`select api.revoke_invitation(row('acme', 'jwt', 'owner', null, null, 'tenant-operator'), ${invitation_id})`,
    ]);
    assert.notEqual(used.status, revoked.status);
    const [joined] = await database.sql<{ n: number }[]>`
      select count(*)::int as n from app.users where auth_subject = ${`guest-${round}`}`;
    assert.equal(joined!.n, used.status === "fulfilled" ? 1 : 0);
  }
});

test("who is being removed invites nobody meanwhile: what they made before cannot be used after", async t => {
  const sql = postgres(database.urls.root, { max: 2, onnotice: () => {} });
  t.after(async () => {
    await sql.end();
    await database.sql`delete from app.tenants`;
  });
  const { acme, ids } = await seed(database.sql);
  for (let round = 0; round < ROUNDS / 4; round += 1) {
    await sql`update app.users set removed_at = null where tenant_id = ${acme}`;
    await sql`delete from app.invitations`;
    await Promise.allSettled([
      sql.begin(tx => invite(tx, "admin", `round ${round}`)),
      sql.begin(tx => call(tx, "remove_tenant_member", operator, acme, ids.admin)),
    ]);
    await refused(
      database.sql.begin(tx => accept(tx, "new", acme, `round ${round}`)),
      ...REFUSED,
    );
  }
});
