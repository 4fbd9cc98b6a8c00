import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { lockWaiters } from "../../until.ts";
import { as, call, operator, ROUNDS, refused, rowsRead, type Transaction } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

/** Two tenants; in acme there is one of each role, named after it. */
async function seed(tx: Transaction) {
  const acme = await seedTenant(tx, { slug: "acme" });
  const beta = await seedTenant(tx, { slug: "beta" });
  const ids: Record<string, string> = {};
  for (const role of ["owner", "admin", "member"])
    ids[role] = await seedUser(tx, acme, { subject: role, role });
  ids.stranger = await seedUser(tx, beta, { subject: "stranger", role: "owner" });
  return { acme, beta, ids };
}
const by = (subject: string, slug = "acme") => ({ slug, subject });
const add = (tx: Transaction, caller: string, subject: string, role: string) =>
  call(tx, "add_member", by(caller), null, subject, null, null, role);
const change = (tx: Transaction, caller: string, id: string, role: string, slug = "acme") =>
  call(tx, "change_member", by(caller, slug), id, role);
const remove = (tx: Transaction, caller: string, id: string) => call(tx, "remove_member", by(caller), id);
const DENIED = [403, "Access denied", "User does not belong to tenant"] as const;

test("owners add every role, admins all but owners, members nobody", () =>
  rolledBack(database.sql, async tx => {
    await seed(tx);
    for (const role of ["owner", "admin", "member"])
      assert.equal((await add(tx, "owner", `o-${role}`, role)).body.role, role);
    for (const role of ["admin", "member"]) await add(tx, "admin", `a-${role}`, role);
    const written = async () =>
      (await tx`select n_tup_ins from pg_stat_xact_user_tables where relid = 'app.users'::regclass`)[0];
    const before = await written();
    await refused(add(tx, "admin", "x", "owner"), 403, "Access denied", "The tenant role owner is required");
    for (const role of ["admin", "member"])
      await refused(add(tx, "member", "x", role), 403, "Access denied", "The tenant role admin is required");
    await refused(add(tx, "stranger", "x", "member"), ...DENIED);
    assert.deepEqual(await written(), before, "who is refused writes nothing, and waits for nobody");
  }));

test("callers without a membership add and remove no members", () =>
  rolledBack(database.sql, async tx => {
    const answer = as(tx, "tms_app", sp => sp`select app.require_member_admin(null, 'member')`);
    await refused(answer, 403, "Access denied", "The tenant role admin is required");
  }));

test("a new member has these fields, and can use the tenant from the next call on", () =>
  rolledBack(database.sql, async tx => {
    await seed(tx);
    await refused(call(tx, "get_current_tenant", by("new")), ...DENIED);
    const { body } = await call(tx, "add_member", by("owner"), null, "new", "new@acme.com", "New", "member");
    assert.deepEqual(
      { ...body, user_id: "", joined_at: "" },
      {
        user_id: "",
        role: "member",
        auth_provider: "jwt",
        auth_subject: "new",
        email: "new@acme.com",
        display_name: "New",
        joined_at: "",
      },
    );
    const current = await call(tx, "get_current_tenant", by("new"));
    assert.deepEqual(Object.keys(current.body), ["tenant", "membership"]);
    assert.deepEqual(current.body.membership, body);
    await refused(
      add(tx, "owner", "new", "admin"),
      409,
      "Conflict",
      "This identity is already a member of the tenant",
    );
    // The same subject of another issuer is another person.
    await call(tx, "add_member", by("owner"), "https://other", "new", null, null, "member");
  }));

test("members are found by a part of their name, address or subject, in any case, in one tenant, page by page", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`insert into app.users (tenant_id, auth_provider, auth_subject, display_name, email, created_at)
      select ${acme}, 'jwt', 'p-' || i, case when i % 10 = 0 then 'Zoë 100%' end, 'p' || i || '@Zoo.example', now() - (100 - i) * interval '1 second'
      from generate_series(1, 40) i`;
    await call(tx, "remove_member", by("owner"), ids.member);
    const found = async (q: string | null, name = "list_members", ...first: unknown[]) => {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const caller = first.length > 0 ? operator : by("admin");
        const page: Awaited<ReturnType<typeof call>> = await call(tx, name, caller, ...first, 3, cursor, q);
        seen.push(...page.body.members.map((one: Record<string, string>) => one.auth_subject));
        cursor = page.next_cursor;
      } while (cursor);
      return seen;
    };
    assert.deepEqual(await found("zoë 100%"), ["p-40", "p-30", "p-20", "p-10"]);
    // A name is stored in NFC; this subject came in NFD, and has a capital letter.
    await seedUser(tx, acme, { subject: "ZOE\u0308" });
    assert.deepEqual(await found("zoe\u0308"), ["ZOE\u0308", "p-40", "p-30", "p-20", "p-10"]);
    await tx`delete from app.users where auth_subject = ${"ZOE\u0308"}`;
    assert.deepEqual(await found("P7@zoo"), ["p-7"]);
    assert.deepEqual(await found("-2"), [
      "p-29",
      "p-28",
      "p-27",
      "p-26",
      "p-25",
      "p-24",
      "p-23",
      "p-22",
      "p-21",
      "p-20",
      "p-2",
    ]);
    for (const none of ["_", "p-41", "stranger"]) assert.deepEqual(await found(none), [], none);
    assert.equal((await found(null)).length, 42);
    assert.deepEqual(await found(ids.owner!.toUpperCase()), ["owner"]);
    assert.deepEqual(await found(ids.stranger!), []);
    assert.deepEqual(await found("p7@", "list_tenant_members", acme), ["p-7"]);
  }));

test("a removed member is refused at once, keeps their boards, and returns as the same user", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`insert into app.boards (tenant_id, owner_id, title) values (${acme}, ${ids.member!}, 'mine')`;
    assert.deepEqual((await remove(tx, "admin", ids.member!)).body, {
      message: "Member removed",
      user_id: ids.member,
    });
    for (const name of ["get_current_tenant", "list_my_tenants"]) {
      const outcome = call(tx, name, by("member"));
      if (name === "list_my_tenants") assert.deepEqual((await outcome).body, { tenants: [], total_count: 0 });
      else await refused(outcome, ...DENIED);
    }
    assert.equal((await call(tx, "list_boards", by("owner"), 10, null)).body.boards.length, 1);
    await refused(
      remove(tx, "admin", ids.member!),
      404,
      "Member not found",
      `Member with ID ${ids.member} not found`,
    );
    assert.equal((await add(tx, "owner", "member", "admin")).body.user_id, ids.member);
    assert.equal((await call(tx, "get_current_tenant", by("member"))).body.membership.role, "admin");
  }));

test("adding a removed member brings back that member only", () =>
  rolledBack(database.sql, async tx => {
    const { ids } = await seed(tx);
    const namesake = await call(tx, "add_member", by("owner"), "other", "member", null, null, "member");
    for (const id of [ids.member!, namesake.body.user_id, ids.admin!]) await remove(tx, "owner", id);
    const left = async () =>
      (await tx`select id from app.users where removed_at is not null`).map(row => row.id);
    await refused(
      add(tx, "owner", "owner", "member"),
      409,
      "Conflict",
      "This identity is already a member of the tenant",
    );
    assert.equal((await left()).length, 3);
    assert.equal((await add(tx, "owner", "member", "member")).body.user_id, ids.member);
    assert.deepEqual(new Set(await left()), new Set([namesake.body.user_id, ids.admin]));
  }));

test("a removed member leaves every board, and returns with the name and e-mail that are given", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`insert into app.boards (tenant_id, owner_id, title) values (${acme}, ${ids.owner!}, 'x')`;
    await tx`insert into app.board_members (tenant_id, board_id, user_id)
      select b.tenant_id, b.id, u.id from app.boards b join app.users u using (tenant_id)`;
    await remove(tx, "owner", ids.member!);
    const left =
      await tx`select u.role from app.board_members m join app.users u on u.id = m.user_id order by 1`;
    assert.deepEqual(
      left.map(row => row.role),
      ["admin", "owner"],
    );
    const again = async (email: string | null, name: string | null) => {
      const { body } = await call(tx, "add_member", by("owner"), null, "member", email, name, "member");
      await remove(tx, "owner", ids.member!);
      return [body.email, body.display_name];
    };
    assert.deepEqual(await again("one@acme.com", "One"), ["one@acme.com", "One"]);
    assert.deepEqual(await again("two@acme.com", null), ["two@acme.com", "One"]);
    assert.deepEqual(await again(null, "Two"), ["two@acme.com", "Two"]);
  }));

test("removal and return never precede the last change, even after the clock was set back", () =>
  rolledBack(database.sql, async tx => {
    const { ids } = await seed(tx);
    for (const age of ["-1 day", "1 day"]) {
      const change = () =>
        tx`update app.users set created_at = now() - interval '2 days', updated_at = now() + ${age}::interval`;
      const times = async () => {
        const [row] = await tx`
          select removed_at = updated_at as removed, updated_at = greatest(now(), now() + ${age}::interval) as changed
          from app.users where id = ${ids.member!}`;
        return { ...row };
      };
      await change();
      await remove(tx, "owner", ids.member!);
      assert.deepEqual(await times(), { removed: true, changed: true }, age);
      await change();
      await add(tx, "owner", "member", "member");
      assert.deepEqual(await times(), { removed: null, changed: true }, age);
    }
  }));

test("a member may leave a tenant without an owner", () =>
  rolledBack(database.sql, async tx => {
    const { ids } = await seed(tx);
    await tx`delete from app.users where role = 'owner'`;
    await remove(tx, "member", ids.member!);
  }));

test("admins cannot remove owners, members remove only themselves, and the last owner stays", () =>
  rolledBack(database.sql, async tx => {
    const { ids } = await seed(tx);
    await refused(remove(tx, "admin", ids.owner!), 403, "Access denied", "The tenant role owner is required");
    await refused(
      remove(tx, "member", ids.admin!),
      403,
      "Access denied",
      "The tenant role admin is required",
    );
    await refused(
      remove(tx, "owner", ids.owner!),
      409,
      "Conflict",
      "The last owner of a tenant cannot be removed",
    );
    await remove(tx, "member", ids.member!);
    const { body } = await add(tx, "owner", "second", "owner");
    await remove(tx, "second", ids.owner!);
    await refused(
      remove(tx, "second", body.user_id),
      409,
      "Conflict",
      "The last owner of a tenant cannot be removed",
    );
  }));

test("owners give and take every role, admins all but owner, members none", () =>
  rolledBack(database.sql, async tx => {
    const { ids } = await seed(tx);
    const needs = (role: string) => [403, "Access denied", `The tenant role ${role} is required`] as const;
    const second = await add(tx, "owner", "second", "owner");
    for (const role of ["owner", "admin", "member"])
      assert.equal((await change(tx, "owner", second.body.user_id, role)).body.role, role);
    for (const role of ["admin", "member"])
      assert.equal((await change(tx, "admin", second.body.user_id, role)).body.role, role);
    await refused(change(tx, "admin", second.body.user_id, "owner"), ...needs("owner"));
    await refused(change(tx, "admin", ids.admin!, "owner"), ...needs("owner"));
    for (const role of ["member", "admin", "owner"])
      await refused(change(tx, "admin", ids.owner!, role), ...needs("owner"));
    for (const id of [ids.member!, second.body.user_id, ids.admin!])
      await refused(change(tx, "member", id, "member"), ...needs("admin"));
    await refused(change(tx, "stranger", ids.member!, "member"), ...DENIED);
    await refused(
      change(tx, "owner", ids.stranger!, "member"),
      404,
      "Member not found",
      `Member with ID ${ids.stranger} not found`,
    );
    // Admins may step down, and have then no more to say.
    assert.equal((await change(tx, "admin", ids.admin!, "member")).body.role, "member");
    await refused(change(tx, "admin", ids.member!, "member"), ...needs("admin"));
  }));

test("a changed role counts at once, keeps the boards, and the same role changes nothing", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`update app.users set created_at = now() - interval '1 day', updated_at = now() - interval '1 day'`;
    await tx`insert into app.boards (tenant_id, owner_id, title) values (${acme}, ${ids.owner!}, 'x')`;
    await tx`insert into app.board_members (tenant_id, board_id, user_id, role)
      select tenant_id, id, ${ids.member!}, 'editor' from app.boards`;
    const row = async () => (await tx`select * from app.users where id = ${ids.member!}`)[0];
    const before = await row();
    const same = await change(tx, "owner", ids.member!, "member");
    assert.deepEqual(await row(), before);
    const { body } = await change(tx, "owner", ids.member!, "admin");
    assert.deepEqual(body, { ...same.body, role: "admin" });
    assert.deepEqual((await call(tx, "get_current_tenant", by("member"))).body.membership, body);
    const after = await row();
    assert.ok(after!.updated_at > before!.updated_at);
    assert.deepEqual({ ...after, role: "", updated_at: "" }, { ...before, role: "", updated_at: "" });
    assert.deepEqual(
      [...(await tx`select user_id, role from app.board_members`)],
      [{ user_id: ids.member, role: "editor" }],
    );
  }));

test("what a product keeps for a membership alone ends with it, and what only refers to the member stays", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`set local role tms_owner`;
    await tx.unsafe(`
      create table app.seats (tenant_id uuid not null, project int not null, holder uuid not null, primary key (tenant_id, project, holder),
        foreign key (tenant_id, holder) references app.users (tenant_id, id) on delete cascade);
      create table app.tasks (tenant_id uuid not null, id int not null, done_by uuid, primary key (tenant_id, id),
        foreign key (tenant_id, done_by) references app.users (tenant_id, id) on delete cascade);
      create table app.desks (tenant_id uuid not null, holder uuid not null, primary key (tenant_id, holder),
        foreign key (tenant_id, holder) references app.users (tenant_id, id));
      select app.isolate('app.seats'), app.isolate('app.tasks'), app.isolate('app.desks');`);
    await tx`reset role`;
    for (const [i, user] of [ids.member!, ids.admin!].entries()) {
      await tx`insert into app.seats values (${acme}, 1, ${user}), (${acme}, 2, ${user})`;
      await tx`insert into app.tasks values (${acme}, ${i}, ${user})`;
      await tx`insert into app.desks values (${acme}, ${user})`;
    }
    await call(tx, "remove_member", by("owner"), ids.member!);
    const left = async (table: string) => (await tx`select from ${tx(table)}`).length;
    assert.deepEqual([...(await tx`select distinct holder from app.seats`)], [{ holder: ids.admin }]);
    assert.deepEqual([await left("app.tasks"), await left("app.desks")], [2, 2]);
  }));

test("the last owner cannot be demoted, not by an operator either; keys count neither as owners nor as members", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    const hash = createHash("sha256").update("secret").digest("hex");
    await call(tx, "create_key", by("owner"), "a key", "owner", null, hash);
    const [{ id: key }] = await tx<[{ id: string }]>`select id from app.users where auth_provider = 'key'`;
    const words = [409, "Conflict", "The last owner of a tenant cannot be given another role"] as const;
    const last = [409, "Conflict", "The last owner of a tenant cannot be removed"] as const;
    await refused(change(tx, "owner", ids.owner!, "member"), ...words);
    await refused(call(tx, "change_tenant_member", operator, acme, ids.owner, "admin"), ...words);
    await refused(remove(tx, "owner", ids.owner!), ...last);
    await refused(call(tx, "remove_tenant_member", operator, acme, ids.owner), ...last);
    assert.equal((await change(tx, "owner", ids.owner!, "owner")).body.role, "owner");
    // As a caller a key is what its role says. As a member it is not found.
    const byKey = (name: string, ...values: unknown[]) =>
      call(tx, name, { ...by(`${acme}:${hash}`), provider: "key" }, ...values);
    await refused(byKey("change_member", ids.owner, "member"), ...words);
    await refused(byKey("remove_member", ids.owner), ...last);
    assert.equal((await byKey("change_member", ids.member, "admin")).body.role, "admin");
    for (const gone of [
      () => change(tx, "owner", key, "member"),
      () => remove(tx, "owner", key),
      () => byKey("remove_member", key),
      () => call(tx, "remove_tenant_member", operator, acme, key),
    ])
      await refused(gone(), 404, "Member not found", `Member with ID ${key} not found`);
    const named = [
      422,
      "Validation failed",
      "auth_provider must be the issuer of a person's tokens",
    ] as const;
    await refused(byKey("add_member", null, "x", null, null, "member"), ...named);
    await refused(call(tx, "add_member", by("owner"), "key", "x", null, null, "member"), ...named);
    await refused(call(tx, "add_tenant_member", operator, acme, "key", "x", null, null, "owner"), ...named);
    assert.equal((await byKey("add_member", "jwt", "x", null, null, "member")).body.auth_subject, "x");
    const { members } = (await call(tx, "list_members", by("owner"), 100, null)).body;
    assert.ok(members.length > 3 && members.every((one: Record<string, string>) => one.user_id !== key));
  }));

test("operators do in every tenant what its owners can, whatever its status, and replace the last owner", () =>
  rolledBack(database.sql, async tx => {
    await seed(tx);
    for (const status of ["active", "pending", "suspended"]) {
      const id = await seedTenant(tx, { slug: `of-${status}`, status });
      const ask = (name: string, ...values: unknown[]) => call(tx, name, operator, id, ...values);
      const list = async () =>
        (await ask("list_tenant_members", 100, null)).body.members.map(
          (one: Record<string, string>) => `${one.auth_subject} ${one.role}`,
        );
      assert.deepEqual(await list(), []);
      const first = await ask("add_tenant_member", null, "first", "first@acme.com", "First", "owner");
      assert.deepEqual(
        { ...first.body, user_id: "", joined_at: "" },
        {
          user_id: "",
          role: "owner",
          auth_provider: "jwt",
          auth_subject: "first",
          email: "first@acme.com",
          display_name: "First",
          joined_at: "",
        },
      );
      await refused(
        ask("add_tenant_member", null, "first", null, null, "member"),
        409,
        "Conflict",
        "This identity is already a member of the tenant",
      );
      const next = await ask("add_tenant_member", "https://issuer", "next", null, null, "member");
      await ask("change_tenant_member", next.body.user_id, "owner");
      await ask("change_tenant_member", first.body.user_id, "member");
      assert.deepEqual((await list()).sort(), ["first member", "next owner"]);
      await ask("remove_tenant_member", first.body.user_id);
      assert.deepEqual(await list(), ["next owner"]);
      await refused(
        ask("remove_tenant_member", first.body.user_id),
        404,
        "Member not found",
        `Member with ID ${first.body.user_id} not found`,
      );
    }
    // The operator became a member of none.
    assert.equal((await tx`select from app.users where auth_subject = ${operator.subject}`).count, 0);
  }));

test("operators' functions refuse all other callers, unknown tenants, and members of another tenant", () =>
  rolledBack(database.sql, async tx => {
    const { acme, beta, ids } = await seed(tx);
    for (const [name, ...values] of [
      ["list_tenant_members", 10, null],
      ["add_tenant_member", null, "x", null, null, "member"],
      ["change_tenant_member", ids.member, "admin"],
      ["remove_tenant_member", ids.member],
    ] as const) {
      await refused(
        call(tx, name, by("owner"), acme, ...values),
        403,
        "Access denied",
        "The role tenant-operator is required",
      );
      await refused(call(tx, name, by("stranger"), acme, ...values), ...DENIED);
      for (const id of ["5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10", "x", ""])
        await refused(
          call(tx, name, operator, id, ...values),
          404,
          "Tenant not found",
          `Tenant with ID ${id} not found`,
        );
    }
    for (const [name, ...values] of [
      ["change_tenant_member", ids.member, "admin"],
      ["remove_tenant_member", ids.member],
    ] as const)
      await refused(
        call(tx, name, operator, beta, ...values),
        404,
        "Member not found",
        `Member with ID ${ids.member} not found`,
      );
    const { body } = await call(tx, "list_tenant_members", operator, beta, 10, null);
    assert.deepEqual(
      body.members.map((one: Record<string, string>) => one.auth_subject),
      ["stranger"],
    );
  }));

test("each change of a member is one event with its actor; what changes nothing and what is refused is none", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    const { body } = await add(tx, "owner", "new", "member");
    await add(tx, "owner", "new", "member").catch(() => {});
    await change(tx, "admin", body.user_id, "member");
    await change(tx, "admin", body.user_id, "admin");
    await change(tx, "admin", ids.owner!, "member").catch(() => {});
    await call(tx, "change_tenant_member", operator, acme, body.user_id, "owner");
    await remove(tx, "new", body.user_id);
    await call(tx, "add_tenant_member", operator, acme, null, "new", null, null, "member");
    await call(tx, "remove_tenant_member", operator, acme, body.user_id);
    const events = await tx`
      select event, target_id, changed, actor_subject as actor, role_before || ' >' as before, role from control.tenant_events
      where tenant_id = ${acme} and event like 'member.%' order by epoch, xid, n`;
    assert.ok(events.every(one => one.target_id === body.user_id));
    assert.deepEqual(
      events.map(({ event, changed, actor, before, role }) =>
        [event, changed?.join(), "by", actor, before, role].filter(Boolean).join(" "),
      ),
      [
        "member.added by owner member",
        "member.role_changed role by admin member > admin",
        "member.role_changed role by op admin > owner",
        "member.left by new owner >",
        "member.added by op member",
        "member.removed by op member >",
      ],
    );
  }));

test("a deleted tenant shows operators its members, and refuses to change them", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`update app.tenants set status = 'deleted', status_before = 'active', deleted_at = now(), purge_at = now()
      where id = ${acme}`;
    const { body } = await call(tx, "list_tenant_members", operator, acme, 10, null);
    assert.equal(body.members.length, 3);
    for (const [name, ...values] of [
      ["add_tenant_member", null, "x", null, null, "member"],
      ["change_tenant_member", ids.member, "admin"],
      ["remove_tenant_member", ids.member],
    ] as const)
      await refused(
        call(tx, name, operator, acme, ...values),
        409,
        "Conflict",
        "The tenant is deleted, not active",
      );
  }));

test("of two owners who demote or remove each other at once, exactly one stays", async t => {
  const sql = postgres(database.urls.root, { max: 2, onnotice: () => {} });
  t.after(async () => {
    await sql.end();
    await database.sql`delete from app.tenants`;
  });
  const tenant = await seedTenant(sql, { slug: "duel" });
  const a = await seedUser(sql, tenant, { subject: "a", role: "owner" });
  const b = await seedUser(sql, tenant, { subject: "b", role: "owner" });
  const against = { a: b, b: a };
  const ways = [
    (tx: Transaction, who: "a" | "b") => change(tx, who, against[who], "member", "duel"),
    (tx: Transaction, who: "a" | "b") => call(tx, "remove_member", by(who, "duel"), against[who]),
    // Both step down.
    (tx: Transaction, who: "a" | "b") => change(tx, who, { a, b }[who], "admin", "duel"),
    (tx: Transaction, who: "a" | "b") =>
      call(tx, "change_tenant_member", operator, tenant, { a, b }[who], "member"),
  ];
  for (let round = 0; round < ROUNDS; round += 1) {
    await sql`update app.users set role = 'owner', removed_at = null where tenant_id = ${tenant}`;
    const one = ways[round % ways.length]!;
    const other = ways[(round >> 2) % ways.length]!;
    const outcomes = await Promise.allSettled([
      sql.begin(tx => one(tx, "a")),
      sql.begin(tx => other(tx, "b")),
    ]);
    const owners = await sql`
      select from app.users where tenant_id = ${tenant} and role = 'owner' and removed_at is null`;
    const said = JSON.stringify(outcomes.map(o => (o.status === "rejected" ? o.reason.message : "done")));
    assert.equal(owners.count, 1, said);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") assert.match(outcome.reason.code, /^TM40[349]$/, said);
  }
});

test("another tenant's member is 404, like one that does not exist", () =>
  rolledBack(database.sql, async tx => {
    const { ids } = await seed(tx);
    for (const id of [ids.stranger!, "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10", "x", ""])
      await refused(remove(tx, "owner", id), 404, "Member not found", `Member with ID ${id} not found`);
  }));

test("members and boards are listed newest first, in pages, for the caller's tenant only", () =>
  rolledBack(database.sql, async tx => {
    const { acme, beta, ids } = await seed(tx);
    for (const [tenant, owner] of [
      [acme, ids.owner!],
      [beta, ids.stranger!],
    ] as const)
      await tx`insert into app.boards (tenant_id, owner_id, title, created_at, updated_at)
        select ${tenant}, ${owner}, ${tenant}::text || i, timestamptz '2026-01-01' + (i / 4) * interval '1 hour', '2027-01-01'
        from generate_series(1, 11) i`;
    await tx`insert into app.users (tenant_id, auth_provider, auth_subject, created_at, updated_at)
      select ${acme}, 'jwt', i, timestamptz '2026-01-01' + (i / 9) * interval '1 hour', '2027-01-01' from generate_series(1, 25) i`;
    for (const [name, field, id, expected] of [
      [
        "list_boards",
        "boards",
        "board_id",
        await tx`select id from app.boards where tenant_id = ${acme} order by created_at desc, id`,
      ],
      [
        "list_members",
        "members",
        "user_id",
        await tx`select id from app.users where tenant_id = ${acme} order by created_at desc, id`,
      ],
    ] as const) {
      for (const [limit, byIndex] of [
        [1, "on"],
        [2, "on"],
        [2, "off"], // an index has the order by itself
      ] as const) {
        await tx.unsafe(
          `set local enable_indexscan = ${byIndex}; set local enable_bitmapscan = ${byIndex}; discard plans`,
        );
        const seen: string[] = [];
        let cursor: string | null = null;
        do {
          const page: Awaited<ReturnType<typeof call>> = await call(tx, name, by("member"), limit, cursor);
          assert.ok(page.body[field].length > 0, "no page is empty");
          seen.push(...page.body[field].map((row: Record<string, string>) => row[id]));
          cursor = page.next_cursor;
        } while (cursor);
        assert.deepEqual(
          seen,
          expected.map(row => row.id),
        );
      }
      const [end] = await tx`select app.cursor_of('2000-01-01', gen_random_uuid()) as cursor`;
      assert.deepEqual((await call(tx, name, by("member"), 2, end!.cursor)).body, { [field]: [] });
    }
  }));

test("a board's times are those of the row, whatever the session's DateStyle and time zone", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`insert into app.boards (tenant_id, owner_id, title, created_at, updated_at)
      values (${acme}, ${ids.owner!}, 'x', '2026-02-03T04:05:06.789Z', '2026-03-04T05:06:07.891Z')`;
    await tx.unsafe("set local datestyle = 'German'; set local timezone = 'Asia/Kolkata'");
    const [board] = (await call(tx, "list_boards", by("member"), 1, null)).body.boards;
    assert.deepEqual(
      [board.created_at, board.updated_at],
      ["2026-02-03T04:05:06.789000Z", "2026-03-04T05:06:07.891000Z"],
    );
  }));

test("in a large tenant a page of members, or a removal, reads only a few rows", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`insert into app.users (tenant_id, auth_provider, auth_subject, created_at, updated_at)
      select ${acme}, 'jwt', 'm' || i, timestamptz '2026-01-01' + i * interval '1 second', now() from generate_series(1, 5000) i`;
    // All with the same time, as after an import.
    await tx`insert into app.users (tenant_id, auth_provider, auth_subject, created_at, updated_at)
      select ${acme}, 'jwt', 'l' || i, timestamptz '2025-01-01', now() from generate_series(1, 5000) i`;
    await tx`analyze app.users`;
    const cursor = (await call(tx, "list_members", by("member"), 10, null)).next_cursor;
    const [late] = await tx`
      select app.cursor_of(created_at, id) as cursor from app.users where auth_subject like 'l%' order by id offset 4000 limit 1`;
    const calls = {
      first: () => call(tx, "list_members", by("member"), 10, null),
      next: () => call(tx, "list_members", by("member"), 10, cursor),
      late: () => call(tx, "list_members", by("member"), 10, late!.cursor),
      removal: () => remove(tx, "admin", ids.member!),
    };
    for (const [name, work] of Object.entries(calls)) {
      const rows = await rowsRead(tx, "app.users", work);
      assert.ok(rows < 100, `${name}: ${rows} rows`);
    }
  }));

test("a page reads only a few of many boards with the same time, as an import makes them", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`insert into app.boards (tenant_id, owner_id, title, created_at, updated_at)
      select ${acme}, ${ids.owner!}, 'b' || i, '2026-01-01', '2026-01-01' from generate_series(1, 5000) i`;
    await tx`analyze app.boards`;
    const [late] =
      await tx`select app.cursor_of(created_at, id) as cursor from app.boards order by id offset 4000 limit 1`;
    for (const cursor of [null, late!.cursor]) {
      const rows = await rowsRead(tx, "app.boards", async () => {
        const { body } = await call(tx, "list_boards", by("member"), 10, cursor);
        assert.equal(body.boards.length, 10);
      });
      assert.ok(rows < 100, `${cursor}: ${rows} rows`);
    }
  }));

test("boards with the same time are all listed, also when no older one follows", () =>
  rolledBack(database.sql, async tx => {
    const { acme, ids } = await seed(tx);
    await tx`delete from app.boards`;
    await tx`insert into app.boards (tenant_id, owner_id, title, created_at, updated_at)
      select ${acme}, ${ids.owner!}, 'b' || i, '2026-01-01', '2026-01-01' from generate_series(1, 25) i`;
    const pages: string[][] = [];
    let cursor: string | null | undefined = null;
    do {
      const { body, next_cursor } = await call(tx, "list_boards", by("member"), 10, cursor);
      pages.push(body.boards.map(({ title }: { title: string }) => title));
      cursor = next_cursor;
    } while (cursor && pages.length < 9);
    assert.deepEqual(
      pages.map(page => page.length),
      [10, 10, 5],
    );
    assert.equal(new Set(pages.flat()).size, 25);
  }));

test("list_my_tenants lists the caller's tenants with status and role, oldest membership first, whatever tenant is named", () =>
  rolledBack(database.sql, async tx => {
    const { beta } = await seed(tx);
    await tx`insert into app.users (tenant_id, auth_provider, auth_subject, role, created_at, updated_at)
      values (${beta}, 'jwt', 'member', 'admin', '2020-01-01', '2020-01-01')`;
    await tx`update app.tenants set status = 'suspended' where id = ${beta}`;
    const gamma = await seedTenant(tx, { slug: "gamma" });
    await seedUser(tx, gamma, { subject: "member", provider: "https://other" });
    const { body } = await call(tx, "list_my_tenants", { slug: "nowhere", subject: "member" });
    assert.deepEqual(Object.keys(body.tenants[0]), [
      "tenant_id",
      "name",
      "slug",
      "status",
      "role",
      "joined_at",
    ]);
    assert.deepEqual(
      body.tenants.map((one: Record<string, string>) => `${one.slug} ${one.status} ${one.role}`),
      ["beta suspended admin", "acme active member"],
    );
    assert.equal(body.total_count, 2);
    // Memberships with the same time are sorted by the tenant's id.
    await tx`insert into app.tenants (slug, name) select 'load-' || i, 'n' from generate_series(1, 9) i`;
    await tx`insert into app.users (tenant_id, auth_provider, auth_subject) select id, 'jwt', 'loaded'
      from app.tenants where slug like 'load-%'`;
    const loaded = await call(tx, "list_my_tenants", by("loaded"));
    const ids = loaded.body.tenants.map((one: { tenant_id: string }) => one.tenant_id);
    assert.deepEqual(ids, ids.toSorted());
  }));

test("in single-tenant mode a caller joins the default tenant at the first call, unless removed or without such a tenant", () =>
  rolledBack(database.sql, async tx => {
    const current = () => call(tx, "get_current_tenant", { slug: null, subject: "new" });
    await refused(current(), ...DENIED);
    const id = await seedTenant(tx, { slug: "old", isDefault: true });
    const { body } = await current();
    assert.deepEqual(
      [body.tenant.tenant_id, body.membership.role, body.membership.email],
      [id, "member", "new@example.com"],
    );
    assert.deepEqual((await current()).body, body);
    assert.deepEqual(
      [...(await tx`select current_setting('application_name') as name`)],
      [{ name: "tms (default)" }],
    );
    assert.equal((await tx`select from app.users`).count, 1);
    await tx`update app.users set removed_at = now()`;
    await refused(current(), ...DENIED);
    // The same subject of another issuer is another person. A suspended tenant refuses members and newcomers.
    await seedUser(tx, id, { subject: "two", provider: "https://other", role: "owner" });
    const two = await call(tx, "get_current_tenant", { slug: null, subject: "two" });
    assert.deepEqual([two.body.membership.auth_provider, two.body.membership.role], ["jwt", "member"]);
    for (let i = 0; i < 2; i++) {
      const mine = await call(tx, "list_my_tenants", { slug: null, subject: "four" });
      assert.deepEqual([mine.body.total_count, mine.body.tenants[0].slug], [1, "old"]);
    }
    await tx`update app.tenants set status = 'suspended'`;
    for (const subject of ["two", "three"])
      await refused(call(tx, "get_current_tenant", { slug: null, subject }), ...DENIED);
    assert.equal((await tx`select from app.users`).count, 4);
    // A later request writes nothing.
    await tx`update app.tenants set status = 'active'`;
    await tx`set local transaction_read_only = on`;
    assert.equal(
      (await call(tx, "get_current_tenant", { slug: null, subject: "two" })).body.membership.role,
      "member",
    );
  }));

test("two parallel first requests in single-tenant mode both get the one membership", async t => {
  const { sql } = database;
  t.after(() => sql`delete from app.tenants`);
  const id = await seedTenant(sql, { slug: "old", isDefault: true });
  await seedUser(sql, id, { subject: "new", provider: "https://other" });
  await seedUser(sql, id, { subject: "else" });
  // So that every index returns them first.
  await sql`update app.users set created_at = now() + interval '1 day', updated_at = now() + interval '1 day'`;
  const enter = (tx: Transaction) => call(tx, "get_current_tenant", { slug: null, subject: "new" });
  let second: ReturnType<typeof enter> | undefined;
  const first = await sql.begin(async tx => {
    const made = await enter(tx);
    second = sql.begin(enter);
    await lockWaiters(sql);
    return made;
  });
  assert.deepEqual((await second)!.body, first.body);
});
