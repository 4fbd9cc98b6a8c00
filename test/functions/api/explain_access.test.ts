import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { rowsRead } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

test("explain reads no rows of other tenants for a tenant that has none", () =>
  rolledBack(database.sql, async tx => {
    const acme = await seedTenant(tx, { slug: "acme" });
    const owner = await seedUser(tx, acme, { subject: "ann", role: "owner" });
    await seedTenant(tx, { slug: "empty" });
    await tx`insert into app.boards (tenant_id, owner_id, title) select ${acme}, ${owner}, 'x' from generate_series(1, 5000)`;
    await tx`analyze app.boards`;
    for (const slug of ["nowhere", "empty"]) {
      const rows = await rowsRead(
        tx,
        "app.boards",
        () => tx`select api.explain_access(${slug}, 'jwt', 'ann')`,
      );
      assert.ok(rows < 100, `${slug}: ${rows} rows`);
    }
  }));

test("explain leaves the transaction in its tenant", () =>
  rolledBack(database.sql, async tx => {
    const acme = await seedTenant(tx, { slug: "acme" });
    await seedTenant(tx, { slug: "beta" });
    for (const before of [acme, ""]) {
      await tx.unsafe(`set local app.tenant_id = '${before}'`);
      await tx`select api.explain_access('beta', 'jwt', 'ann')`;
      assert.equal((await tx`select current_setting('app.tenant_id') as now`)[0]!.now, before);
    }
  }));

test("explain names a suspended tenant or a missing default one as the reason, and shows no rows", () =>
  rolledBack(database.sql, async tx => {
    const acme = await seedTenant(tx, { slug: "acme", status: "suspended" });
    await seedUser(tx, acme, { subject: "ann", role: "owner" });
    for (const [slug, because] of [
      ["acme", "The tenant is suspended"],
      [null, "There is no default tenant"],
    ]) {
      const [row] = await tx`select api.explain_access(${slug as string | null}, 'jwt', 'ann') as told`;
      const { told } = row!;
      assert.deepEqual([told.allowed, told.because], [false, because]);
      assert.ok(told.tables.every(({ shown }: { shown: number }) => shown === 0));
    }
  }));

test("in single-tenant mode explain needs an identity, and tells members, removed members and newcomers apart", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "default", isDefault: true });
    const other = await seedTenant(tx, { slug: "other" });
    await seedUser(tx, id, { subject: "ann" });
    await seedUser(tx, id, { subject: "bob" });
    await seedUser(tx, other, { subject: "cleo" });
    await tx`update app.users set removed_at = now() where auth_subject = 'bob'`;
    const joins = "In single-tenant mode a verified caller joins the default tenant at the first request";
    const note = /It is the default tenant/;
    for (const [slug, subject, allowed, because, noted] of [
      [null, null, false, "No identity is given", false],
      [null, "ann", true, "ann is a member of the tenant, as member", false],
      [null, "bob", false, "The membership was ended", false],
      [null, "cleo", true, joins, false],
      ["default", null, false, "No identity is given", false],
      ["default", "ann", true, "ann is a member of the tenant, as member", false],
      ["default", "cleo", false, "cleo of jwt is not a member of the tenant", true],
      ["nowhere", "ann", false, "No tenant has the slug nowhere", false],
    ] as const) {
      const [row] = await tx`select api.explain_access(${slug}, 'jwt', ${subject}) as told`;
      const { told } = row!;
      assert.deepEqual([told.allowed, told.because, note.test(told.notes.join())], [allowed, because, noted]);
      assert.equal(told.tenant.slug, slug ?? "default");
      assert.equal(/A refusal reads the same/.test(told.notes.join()), slug === "nowhere");
    }
  }));

test("explain finds a member by an e-mail address, in any case, removed ones too", () =>
  rolledBack(database.sql, async tx => {
    const acme = await seedTenant(tx, { slug: "acme" });
    const other = await seedTenant(tx, { slug: "other" });
    await seedUser(tx, acme, { subject: "bob", email: "Bob@acme.example" });
    await seedUser(tx, acme, { subject: "key-1", provider: "key", email: "key@acme.example" });
    await seedUser(tx, other, { subject: "cleo", email: "cleo@acme.example" });
    const explained = async (email: string, slug: string | null = "acme") =>
      (await tx`select api.explain_access(${slug}, p_email => ${email}) as told`)[0]!.told;
    const bob = await explained("bOB@ACME.example");
    assert.deepEqual([bob.allowed, bob.because], [true, "bob is a member of the tenant, as member"]);
    assert.deepEqual(bob.identity, { provider: "jwt", subject: "bob" });
    for (const email of ["cleo@acme.example", "key@acme.example", "%"]) {
      const { allowed, because, identity, notes } = await explained(email);
      assert.deepEqual(
        [allowed, because, identity.subject],
        [false, `No member of the tenant has the e-mail address ${email}`, null],
      );
      assert.match(notes.join(), /has an address only of members/);
    }
    await tx`update app.users set removed_at = now() where auth_subject = 'bob'`;
    assert.equal((await explained("bob@acme.example")).because, "The membership was ended");
    await seedUser(tx, acme, { subject: "bob-2", email: "bob@acme.example" });
    const { because, notes } = await explained("bob@acme.example");
    assert.equal(because, "bob-2 is a member of the tenant, as member");
    assert.match(notes.join(), /has 2 users, removed ones too, with this e-mail address/);
  }));

test("explain shows each table's row security and its counts up to 10000", () =>
  rolledBack(database.sql, async tx => {
    const acme = await seedTenant(tx, { slug: "acme" });
    const owner = await seedUser(tx, acme, { subject: "ann", role: "owner" });
    const add = (n: number) =>
      tx`insert into app.boards (tenant_id, owner_id, title) select ${acme}, ${owner}, 'x' from generate_series(1, ${n}::int)`;
    const told = async () => {
      const [row] = await tx`select api.explain_access('acme', 'jwt', 'ann') as told`;
      assert.doesNotMatch(row!.told.notes.join(), /fewer rows/, "both are counted as far");
      return Object.fromEntries(
        row!.told.tables.map(({ table, ...rest }: { table: string }) => [table, rest]),
      );
    };
    await add(10_000);
    const full = { row_security: "forced", held: 10_000, shown: 10_000, more: false };
    assert.deepEqual((await told())["app.boards"], full);
    await add(2);
    await tx.unsafe(
      "alter table app.boards no force row level security; alter table app.media disable row level security",
    );
    const tables = await told();
    assert.deepEqual(tables["app.boards"], { ...full, row_security: "enabled", more: true });
    assert.equal(tables["app.media"].row_security, "off");
  }));

test("explain shows a partition with its table, and no table that tms_owner does not own", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`create table app.events (tenant_id uuid not null, id uuid, primary key (tenant_id, id)) partition by hash (tenant_id);
      create table app.events_0 partition of app.events for values with (modulus 1, remainder 0); alter table app.events owner to tms_owner;
      alter table app.events_0 owner to tms_owner; select app.isolate('app.events'); create table app.theirs (tenant_id uuid)`);
    const [row] = await tx`select api.explain_access('acme', 'jwt', 'ann') as told`;
    const tables = row!.told.tables.map(({ table }: { table: string }) => table);
    assert.deepEqual(
      tables.filter((table: string) => /events|theirs/.test(table)),
      ["app.events"],
    );
  }));

test("explain gives no total for a table that the auditor may not read, and no visible count for one that requests may not read", () =>
  rolledBack(database.sql, async tx => {
    const acme = await seedTenant(tx, { slug: "acme" });
    await seedUser(tx, acme, { subject: "ann" });
    await tx.unsafe(`create schema shop authorization tms_owner; grant usage on schema shop to tms_app;
      create table shop.orders (tenant_id uuid not null, id int, primary key (tenant_id, id)); alter table shop.orders owner to tms_owner;
      select app.isolate('shop.orders'); insert into shop.orders values ('${acme}', 1); revoke select on app.users from tms_auditor;
      revoke select on app.media from tms_app`);
    const [row] = await tx`select api.explain_access('acme', 'jwt', 'ann') as told`;
    const tables = row!.told.tables.filter(({ table }: { table: string }) =>
      /media|users|orders/.test(table),
    );
    assert.deepEqual(tables, [
      { table: "app.media", row_security: "forced", held: 0, shown: null, more: false },
      { table: "app.users", row_security: "forced", held: null, shown: 1, more: false },
      { table: "shop.orders", row_security: "forced", held: null, shown: 1, more: false },
    ]);
    assert.doesNotMatch(row!.told.notes.join(), /fewer rows/);
  }));

test("explain counts only tables of tms_owner: another owner's code would run as the auditor", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`create table public.trap (tenant_id uuid); grant all on public.trap to tms_auditor;
      grant usage on schema public to tms_registrar, tms_auditor; set local role tms_registrar`);
    await assert.rejects(tx`select control.held_rows('public.trap', null, 1)`, /is owned by postgres/);
  }));
