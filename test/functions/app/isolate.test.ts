import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { as, type Transaction } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

const message = (tx: Transaction, statement: string) =>
  tx
    .savepoint(sp => sp.unsafe(statement))
    .then(
      () => "none",
      error => `${error.code} ${error.message}`,
    );

const refusals: [rule: string, definition: string, refusal: RegExp][] = [
  ["a tenant_id", "(id uuid primary key)", /has no column tenant_id/],
  ["of type uuid", "(tenant_id text not null, id int, primary key (tenant_id, id))", /not of type uuid/],
  ["that is not null", "(tenant_id uuid unique, id int primary key)", /tenant_id may be null/],
  ["a primary key", "(tenant_id uuid not null)", /no primary key/],
  [
    "that begins with tenant_id",
    "(tenant_id uuid not null, id uuid primary key)",
    /unique index .* does not begin with tenant_id/,
  ],
  [
    "and so must every unique constraint",
    "(tenant_id uuid not null, id int, email text unique, primary key (tenant_id, id))",
    /unique index .*email.* does not begin with tenant_id/,
  ],
  [
    "also one that ends with it",
    "(tenant_id uuid not null, id int, email text, primary key (tenant_id, id), unique (email, tenant_id))",
    /does not begin with tenant_id/,
  ],
  [
    "and exclusion constraints",
    "(tenant_id uuid not null, id int, span int4range, primary key (tenant_id, id), exclude using gist (span with &&))",
    /does not begin with tenant_id/,
  ],
  [
    "foreign keys carry the tenant",
    `(tenant_id uuid not null, id int, parent_tenant uuid, owner_id uuid, primary key (tenant_id, id),
      foreign key (parent_tenant, owner_id) references app.users)`,
    /does not pair tenant_id with tenant_id/,
  ],
  [
    "pair it with its like",
    `(tenant_id uuid not null, id int, owner_id uuid, primary key (tenant_id, id),
      foreign key (owner_id, tenant_id) references app.users (tenant_id, id))`,
    /does not pair tenant_id with tenant_id/,
  ],
  [
    "and never null it",
    `(tenant_id uuid not null, id int, owner_id uuid, primary key (tenant_id, id),
      foreign key (tenant_id, owner_id) references app.users on delete set null)`,
    /would set tenant_id to null/,
  ],
];

for (const [rule, definition, refusal] of refusals) {
  test(`app.isolate() refuses a table that breaks a rule: ${rule}`, () =>
    rolledBack(database.sql, async tx => {
      await tx.unsafe(`create table app.notes ${definition}`);
      assert.match(await message(tx, "select app.isolate('app.notes')"), refusal);
      const [row] =
        await tx`select relforcerowsecurity as forced from pg_class where oid = 'app.notes'::regclass`;
      assert.equal(row!.forced, false);
    }));
}

test("app.isolate() names every rule that a table breaks", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe("create table app.notes (tenant_id uuid, id int unique)");
    assert.equal(
      await message(tx, "select app.isolate('app.notes')"),
      "55000 app.notes cannot be isolated: tenant_id may be null; it has no primary key; " +
        "the unique index app.notes_id_key does not begin with tenant_id, so one tenant could learn another's values",
    );
  }));

test("app.isolate() refuses a relation that is not a table", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe("create view app.peek as select * from app.boards");
    assert.match(
      await message(tx, "select app.isolate('app.peek')"),
      /55000 app.peek cannot be isolated: it is not a table/,
    );
  }));

test("ON DELETE SET NULL is allowed for columns other than tenant_id", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`create table app.notes (tenant_id uuid not null, id int, owner_id uuid, primary key (tenant_id, id),
      foreign key (tenant_id, owner_id) references app.users on delete set null (owner_id))`);
    await tx.unsafe("select app.isolate('app.notes')");
  }));

const shape = (tx: Transaction) => tx`
  select relrowsecurity, relforcerowsecurity,
    array(select a::text from unnest(relacl) a order by 1) as acl,
    (select json_agg(json_build_array(polname, polcmd, polpermissive, polroles::regrole[]::text, pg_get_expr(polqual, polrelid),
      pg_get_expr(polwithcheck, polrelid)) order by polname) from pg_policy where polrelid = c.oid) as policies,
    (select json_agg(pg_get_constraintdef(oid) order by conname) from pg_constraint where conrelid = c.oid) as constraints
  from pg_class c where oid = 'app.notes'::regclass`;

test("a second run of app.isolate() changes nothing", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe("create table app.notes (tenant_id uuid not null, id int, primary key (tenant_id, id))");
    await tx.unsafe("select app.isolate('app.notes')");
    const [first] = await shape(tx);
    await tx.unsafe("select app.isolate('app.notes')");
    assert.deepEqual((await shape(tx))[0], first);
    assert.equal(first!.policies.length, 4);
  }));

test("a second run of app.isolate() on app.users keeps the registrar's policy and rights", () =>
  rolledBack(database.sql, async tx => {
    const user = await seedUser(tx, await seedTenant(tx, { slug: "counted" }), { subject: "ann" });
    await tx.unsafe("select app.isolate('app.users')");
    const seen = await as(tx, "tms_registrar", sp => sp`select id from app.users where id = ${user}`);
    assert.equal(seen.length, 1);
  }));

test("app.isolate() repairs policies, FORCE, and rights that row-level security does not govern", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`drop policy tenant_only on app.boards; alter table app.boards no force row level security;
      grant all on app.boards to tms_app; grant select on app.boards to tms_service, public`);
    await tx.unsafe("select app.isolate('app.boards')");
    const [row] = await tx`
      select relforcerowsecurity as forced, has_table_privilege('tms_app', oid, 'truncate') as truncate,
        has_table_privilege('tms_service', oid, 'select') as service,
        exists (select from pg_policy where polrelid = c.oid and polname = 'tenant_only' and not polpermissive) as policy
      from pg_class c where oid = 'app.boards'::regclass`;
    assert.deepEqual({ ...row }, { forced: true, truncate: false, service: false, policy: true });
  }));

test("a deletion of the tenant reaches an isolated table and its children, also a child with other keys", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`create table app.plans (tenant_id uuid primary key);
      create table app.notes (tenant_id uuid not null references app.tenants initially deferred
          references app.plans on delete cascade, id int,
        about uuid references app.tenants on delete cascade, primary key (tenant_id, id));
      create table app.drafts (primary key (tenant_id, id)) inherits (app.notes)`);
    await tx.unsafe("select app.isolate('app.notes')");
    const id = await seedTenant(tx, { slug: "acme" });
    await tx`insert into app.plans values (${id})`;
    await tx`insert into app.notes (tenant_id, id) values (${id}, 1)`;
    await tx`insert into app.drafts (tenant_id, id) values (${id}, 1)`;
    await tx`delete from app.tenants where id = ${id}`;
    assert.equal((await tx`select from app.notes`).count, 0);
  }));

test("partitions of every level show no rows by their own name, and the table itself works", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`create table app.notes (tenant_id uuid not null, id int, primary key (tenant_id, id)) partition by hash (tenant_id);
      create table app.notes_0 partition of app.notes for values with (modulus 1, remainder 0) partition by range (id);
      create table app.notes_0_0 partition of app.notes_0 default;
      grant select on app.notes_0_0 to tms_app, tms_service, public;
      select app.isolate('app.notes')`);
    const acme = await seedTenant(tx, { slug: "acme" });
    const beta = await seedTenant(tx, { slug: "beta" });
    await tx`insert into app.notes values (${acme}, 1), (${beta}, 2)`;
    await as(tx, "tms_app", async sp => {
      await sp`select app.set_tenant(${acme})`;
      assert.deepEqual([...(await sp`select id from app.notes`)], [{ id: 1 }]);
      for (const partition of ["app.notes_0", "app.notes_0_0"])
        assert.match(await message(sp, `table ${partition}`), /^42501/);
    });
    const open = await tx`
      select relname from pg_class c where relname like 'notes%' and relkind in ('r', 'p')
        and not (relrowsecurity and relforcerowsecurity and has_table_privilege('tms_auditor', c.oid, 'select')
          and not has_table_privilege('tms_service', c.oid, 'select')
          and (select count(*) from pg_constraint where conrelid = c.oid and contype = 'f') = 1)`;
    assert.deepEqual([...open], []);
  }));

test("adoption gives a single-tenant table's rows to the default tenant; a second one changes nothing", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "default", isDefault: true });
    const beta = await seedTenant(tx, { slug: "beta" });
    await tx.unsafe(
      "create table app.notes (id int primary key, body text); insert into app.notes values (1, 'old'), (2, 'older')",
    );
    assert.match(await message(tx, "select app.isolate('app.notes')"), /no column tenant_id/);
    await tx.unsafe("select app.isolate('app.notes', true)");
    const [first] = await shape(tx);
    await tx.unsafe(`create table app.lines (tenant_id uuid, id int, foreign key (tenant_id, id) references app.notes);
      select app.isolate('app.notes', true); drop table app.lines`);
    assert.deepEqual((await shape(tx))[0], first);
    assert.ok(first!.constraints.includes("PRIMARY KEY (tenant_id, id)"));
    await as(tx, "tms_app", async sp => {
      await sp`select app.set_tenant(${id})`;
      assert.equal((await sp`select from app.notes`).count, 2);
      await sp`select app.set_tenant(${beta})`;
      assert.equal((await sp`select from app.notes`).count, 0);
      await sp`insert into app.notes values (1, 'the same id in another tenant', ${beta})`;
    });
    // The column has no default any more: a row without a tenant is refused.
    assert.match(await message(tx, "insert into app.notes (id) values (9)"), /^23502/);
  }));

test("the hint of a refusal is SQL to paste: for the keys, or the adoption of a table without tenant_id", () =>
  rolledBack(database.sql, async tx => {
    await seedTenant(tx, { slug: "default", isDefault: true });
    const pasted = async (table: string, statement: RegExp) => {
      const refused = await tx
        .savepoint(sp => sp`select app.isolate(${table})`)
        .catch((error: postgres.PostgresError) => error);
      const [, paste] = statement.exec((refused as postgres.PostgresError).hint!)!;
      return tx.unsafe<{ remedy: string }[]>(paste!);
    };
    await tx.unsafe(`create table app."Bare" (id int primary key); create table app.careless (id int primary key, tenant_id uuid not null);
      alter table app."Bare" owner to tms_owner; alter table app.careless owner to tms_owner`);
    await pasted('app."Bare"', /default tenant's: (.*); else/);
    await tx`select app.isolate('app."Bare"')`;
    await pasted("app.careless", /^for its primary key: (.*;)$/);
    await tx`select app.isolate('app.careless')`;
  }));

test("each fault of a table has a hint of its own, and a table without the fault does not get the hint", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`create table app.part (tenant_id uuid not null, id int, primary key (tenant_id, id), unique (id), unique (tenant_id, id));
      create table app.keyless (tenant_id uuid not null);
      create table app.open (tenant_id uuid, id int not null, other int references app.part (id));
      create table app.texts (tenant_id text not null, id int, primary key (tenant_id, id))`);
    const hintOf = async (table: string) => {
      const refused = await tx
        .savepoint(sp => sp`select app.isolate(${table})`)
        .catch((error: postgres.PostgresError) => error);
      return (refused as postgres.PostgresError).hint;
    };
    const primary = "alter table app.open add primary key (tenant_id, …);";
    const hints: unknown[] = [];
    for (const table of ["app.part", "app.keyless", "app.open", "app.texts"]) hints.push(await hintOf(table));
    assert.deepEqual(hints, [
      "for its other unique keys: begin them with tenant_id, or call audit.vouch();",
      primary.replace("open", "keyless"),
      `${primary} for its foreign keys: select remedy from audit.key_crosses_tenants where relation = 'app.open'; once no row is without a tenant: alter table app.open alter column tenant_id set not null;`,
      "see *Rules for a table* in docs/guides/own-tables.md",
    ]);
  }));

test("a table is not adopted while foreign keys need its primary key, and the hint names each of them", () =>
  rolledBack(database.sql, async tx => {
    await seedTenant(tx, { slug: "default", isDefault: true });
    await tx.unsafe(
      `create table app.notes (id int primary key, "Over" int references app.notes);
       create table app.lines (note int constraint "Of" references app.notes on delete cascade) partition by hash (note);
       create table app.lines_0 partition of app.lines for values with (modulus 1, remainder 0)`,
    );
    const refused = await tx
      .savepoint(sp => sp`select app.isolate('app.notes', true)`)
      .catch((error: postgres.PostgresError) => error);
    assert.ok(refused instanceof postgres.PostgresError);
    assert.equal(
      `${refused.code} ${refused.message}`,
      "2BP01 app.notes cannot be adopted: foreign keys need its primary key as it is",
    );
    const [, ...keys] = refused.hint!.split("\n");
    assert.deepEqual(keys, [
      'alter table app.notes drop constraint "notes_Over_fkey"; -- FOREIGN KEY ("Over") REFERENCES app.notes(id)',
      'alter table app.lines drop constraint "Of"; -- FOREIGN KEY (note) REFERENCES app.notes(id) ON DELETE CASCADE',
    ]);
    for (const key of keys) await tx.unsafe(key);
    await tx.unsafe("select app.isolate('app.notes', true)");
  }));

test("a table that names its tenant in another column is not adopted: the hint renames that column", () =>
  rolledBack(database.sql, async tx => {
    await seedTenant(tx, { slug: "default", isDefault: true });
    const beta = await seedTenant(tx, { slug: "beta" });
    await tx.unsafe(`create table app.notes (id int, "accountId" uuid references app.tenants, other uuid references app.tenants,
        primary key ("accountId", id));
      insert into app.notes values (1, '${beta}')`);
    const refused = await tx
      .savepoint(sp => sp`select app.isolate('app.notes', true)`)
      .catch((error: postgres.PostgresError) => error);
    assert.ok(refused instanceof postgres.PostgresError);
    assert.equal(
      `${refused.code} ${refused.message}`,
      '55000 app.notes cannot be adopted: the tenant of its rows is in "accountId"',
    );
    await tx.unsafe(
      `alter table app.notes drop column other, drop constraint "notes_accountId_fkey"; ${refused.hint}`,
    );
    await tx.unsafe("select app.isolate('app.notes', true)");
    assert.deepEqual([...(await tx`select id, tenant_id from app.notes`)], [{ id: 1, tenant_id: beta }]);
  }));

test("a table that holds other tenants' ids in a column without a foreign key is not the default tenant's", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "default", isDefault: true });
    const beta = await seedTenant(tx, { slug: "beta" });
    for (const type of ["uuid", "text"]) {
      await tx.unsafe(`create table app.legacy (id int primary key, "orgId" ${type}, other uuid, note text);
        insert into app.legacy values (1, '${id}', gen_random_uuid(), 'x'), (2, '${type === "text" ? beta.toUpperCase() : beta}', null, null)`);
      assert.equal(
        await message(tx, "select app.isolate('app.legacy', true)"),
        '55000 app.legacy cannot be adopted: "orgId" holds ids of other tenants than the default one',
      );
      await tx.unsafe(
        "delete from app.legacy where id = 2; select app.isolate('app.legacy', true); drop table app.legacy",
      );
    }
  }));

test("without a default tenant no table can be adopted", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe("create table app.notes (id int primary key)");
    assert.match(await message(tx, "select app.isolate('app.notes', true)"), /^55000 .*no default tenant/);
  }));

test("a table with a filled tenant_id is adopted without a default tenant: tenant_id goes first in the key", () =>
  rolledBack(database.sql, async tx => {
    const acme = await seedTenant(tx, { slug: "acme" });
    await tx.unsafe(
      `create table app.notes (id int, tenant_id uuid, primary key (id, tenant_id));
       create table app.drafts (year int default 1, id int, tenant_id uuid, primary key (year, id))`,
    );
    for (const table of ["app.notes", "app.drafts"]) {
      await tx.unsafe(`insert into ${table} (id, tenant_id) values (1, $1)`, [acme]);
      await tx.unsafe(`select app.isolate('${table}', true)`);
    }
    const keys = await tx`
      select pg_get_constraintdef(oid) as key from pg_constraint
      where conrelid in ('app.notes'::regclass, 'app.drafts'::regclass) and contype = 'p' order by conname desc`;
    assert.deepEqual(
      keys.map(({ key }) => key),
      ["PRIMARY KEY (tenant_id, id)", "PRIMARY KEY (tenant_id, year, id)"],
    );
  }));

test("app.isolate() raises no notice when all is well", async () => {
  const notices: unknown[] = [];
  const sql = postgres(database.urls.root, { max: 1, onnotice: ({ message }) => notices.push(message) });
  try {
    await rolledBack(sql, tx =>
      tx.unsafe(
        "create table app.notes (tenant_id uuid, id int, primary key (tenant_id, id)); select app.isolate('app.notes')",
      ),
    );
  } finally {
    await sql.end();
  }
  assert.deepEqual(notices, []);
});

test("every table of the service breaks no rule and has the policies of a tenant table", async () => {
  const rows = await database.sql`
    select c.oid::regclass::text as name, f.fault from pg_class c left join lateral app.table_faults(c.oid) f on true
    where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p') and c.oid <> 'app.tenants'::regclass`;
  assert.ok(rows.length >= 7);
  assert.deepEqual(
    rows.filter(row => row.fault !== null),
    [],
  );
});

test("the owner of the tables sees rows only with app.maintenance on", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "acme" });
    await seedUser(tx, id, { subject: "ann" });
    await tx.unsafe("set local role tms_owner");
    assert.equal((await tx`select from app.users`).count, 0);
    await tx.unsafe("set local app.maintenance = on");
    assert.equal((await tx`select from app.users`).count, 1);
  }));
