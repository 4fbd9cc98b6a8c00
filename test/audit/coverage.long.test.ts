/** Which rows the data checks read: those of every tenant's table, however it is made; and what they say of rows they cannot read. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase, rolledBack } from "../harness.ts";
import { idsOf, planted, seedTenants } from "./world.ts";

const database = await createDatabase();
await seedTenants(database.sql, 10);
const a = await idsOf(database.sql, "t2");
const b = await idsOf(database.sql, "t5");
after(() => database.drop());

void describe("the reach of the data checks", () => {
  it("covers a table that app.isolate() made a tenant's, references and all", async () => {
    const plant = `
      create table app.comments (tenant_id uuid not null, id uuid not null default gen_random_uuid(), board_id uuid not null,
        primary key (tenant_id, id), constraint comments_board foreign key (tenant_id, board_id) references app.boards (tenant_id, id));
      alter table app.comments owner to tms_owner;
      select app.isolate('app.comments');
      set local session_replication_role = replica;
      insert into app.comments (tenant_id, id, board_id) values ('${a.tenant}', '${a.board}', '${b.board}')`;
    const [found, ...more] = await planted(database.sql, plant, "parent_of_other_tenant");
    assert.deepEqual(more, []);
    assert.deepEqual(
      [found?.relation, found?.tenant_id, found?.row],
      ["app.comments", a.tenant, { tenant_id: a.tenant, id: a.board }],
    );
  });

  it("looks for a row's parent in a partitioned table, not in each partition, and for another tenant that it names in no tenant", async () => {
    const plant = `
      create table app.parts (tenant_id uuid not null, id int not null, primary key (tenant_id, id)) partition by hash (tenant_id);
      create table app.parts_0 partition of app.parts for values with (modulus 2, remainder 0);
      create table app.parts_1 partition of app.parts for values with (modulus 2, remainder 1);
      create table app.pieces (tenant_id uuid not null, id int not null, part_id int, partner uuid references app.tenants on delete set null,
        primary key (tenant_id, id), constraint piece_part foreign key (tenant_id, part_id) references app.parts);
      alter table app.parts owner to tms_owner; alter table app.parts_0 owner to tms_owner; alter table app.parts_1 owner to tms_owner; alter table app.pieces owner to tms_owner;
      select app.isolate('app.parts'); select app.isolate('app.pieces');
      insert into app.parts select id, 1 from app.tenants; insert into app.pieces select id, 1, 1, '${b.tenant}' from app.tenants`;
    assert.deepEqual(await planted(database.sql, plant, "parent_missing"), []);
    const moved = `set local session_replication_role = replica; update app.pieces set part_id = 2 where tenant_id = '${a.tenant}'`;
    const found = await planted(database.sql, `${plant}; ${moved}`, "parent_missing");
    assert.deepEqual(
      found.map(({ relation, tenant_id }) => [relation, tenant_id]),
      [["app.pieces", a.tenant]],
    );
  });

  it("has nothing to say of a table that ends with its session", async () => {
    const drafts =
      "create temporary table drafts (tenant_id uuid); insert into drafts values (gen_random_uuid())";
    for (const check of ["rls_disabled", "tenant_missing"])
      assert.deepEqual(await planted(database.sql, drafts, check), [], check);
  });

  it("gives a remedy that can be pasted where a key has to be quoted", async () => {
    const plant = `
      create table app."Odd" (tenant_id uuid not null, "I%d" int not null, board_id uuid, primary key (tenant_id, "I%d"),
        constraint odd_board foreign key (tenant_id, board_id) references app.boards (tenant_id, id));
      alter table app."Odd" owner to tms_owner;
      select app.isolate('app."Odd"');
      set local session_replication_role = replica;
      insert into app."Odd" values ('${a.tenant}', 7, gen_random_uuid())`;
    const [found, ...more] = await planted(database.sql, plant, "parent_missing");
    assert.deepEqual(more, []);
    assert.deepEqual(found?.row, { tenant_id: a.tenant, "I%d": 7 });
    assert.match(
      found.remedy,
      new RegExp(`select \\* from app\\."Odd" where tenant_id = '${a.tenant}' and "I%d" = '7';$`),
    );
  });

  it("tells a row without a key from one at the same place in another partition", async () => {
    const plant = `
      create table app.logs (tenant_id uuid not null, n int not null) partition by list (n);
      create table app.logs_1 partition of app.logs for values in (1);
      create table app.logs_2 partition of app.logs for values in (2);
      alter table app.logs owner to tms_owner;
      alter table app.logs_1 owner to tms_owner;
      alter table app.logs_2 owner to tms_owner;
      grant select on app.logs to tms_auditor;
      set local session_replication_role = replica;
      insert into app.logs values ('${a.tenant}', 1), (gen_random_uuid(), 2)`;
    const all = await planted(database.sql, plant, "tenant_missing");
    const [found, ...more] = all.filter(({ relation }) => relation === "app.logs");
    assert.deepEqual(more, []);
    assert.match(found!.remedy, /where tableoid = 'app\.logs_2'::regclass and ctid = '\(0,1\)';$/);
  });

  it("calls it an error when the auditor sees no row of a table that has some", async () => {
    const blind =
      "drop policy auditor on app.boards; create policy auditor on app.boards for select to tms_auditor using (false)";
    const all = await planted(database.sql, blind, "tenant_missing");
    const found = all.find(({ relation }) => relation === "app.boards")!;
    assert.equal(found.severity, "error");
    assert.match(
      found.detail,
      /could not run: app\.boards: .*no policy lets it read every row \(SQLSTATE 42501\)/,
    );
  });

  it("trusts no policy that merely reads like true: a restrictive one beside it stops the audit", async () => {
    for (const [verb, table, check] of [
      ["select", "media", "tenant_missing"],
      ["all", "media", "tenant_missing"],
      ["all", "provider_configs", "provider_twice_in_tenant"],
      ["all", "users", "tenant_without_owner"], // the second table that it reads
      ["all", "users", "board_owner_outside_tenant"],
      ["all", "tenants", "storage_of_other_tenant"],
    ] as const) {
      const blind = `create policy quiet on app.${table} as restrictive for ${verb} to public using (true)`;
      const [found] = await planted(database.sql, blind, check);
      assert.match(found!.detail, /could not run: .* restrictive policy quiet applies/, check);
    }
  });

  it("reads on past policies that hide no row from a reader", async () => {
    for (const policy of [
      "for select to public using (false)",
      "as restrictive for update to public using (false)",
      "as restrictive for all to public with check (false)",
    ]) {
      const found = await planted(
        database.sql,
        `create policy beside on app.media ${policy}`,
        "tenant_missing",
      );
      assert.deepEqual(found, [], policy);
    }
  });

  it("takes as proved what Postgres itself holds of every row, and nothing else", () =>
    rolledBack(database.sql, async sql => {
      await sql.unsafe(`
        create table app.parts (tenant_id uuid not null, id int not null check (id > 0), note text, primary key (tenant_id, id)) partition by list (tenant_id);
        create table app.parts_rest partition of app.parts default;
        create table app.heir (tenant_id uuid not null, id int not null, primary key (tenant_id, id));
        create table app.heir_old () inherits (app.heir);
        create table app.keys (j int, tenant_id uuid not null, a int not null, b int not null, c int not null, d int not null, e int not null, f int not null, g int, h int not null, i int not null,
          unique (tenant_id, a), unique (tenant_id, b) deferrable, unique (tenant_id, g), unique (tenant_id, h) include (i));
        create unique index on app.keys (tenant_id, c) where c > 0;
        create unique index on app.keys (tenant_id, abs(d));
        create index on app.keys (tenant_id, e);
        create unique index on app.keys (e, tenant_id, i);
        create unique index half on app.keys (tenant_id, f);
        update pg_index set indisvalid = false where indexrelid = 'app.half'::regclass;
        alter table app.keys add check (a < 100) not valid, add check (b < 100);
        do $$ begin if current_setting('server_version_num')::int >= 180000 then execute 'alter table app.keys add constraint j_given not null j not valid'; end if; end $$`);
      const holds = async (what: string) =>
        (await sql.unsafe<{ holds: boolean }[]>(`select ${what} as holds`))[0]!.holds;
      const unique = (table: string, columns: string) =>
        `audit.is_unique('app.${table}', array[${columns}]::name[])`;
      for (const yes of [
        "audit.is_proved('app.boards', 'c.updated_at < c.created_at')",
        "audit.is_proved('app.parts', 'c.id = 0')",
        "audit.is_proved('app.keys', 'c.b = 100')",
        "audit.is_never_null('app.parts', 'tenant_id')",
        "audit.is_never_null('app.keys', 'a')",
        "audit.is_never_null('app.boards', 'tenant_id')",
        unique("parts", "'tenant_id', 'id'"),
        unique("keys", "'tenant_id', 'a'"),
        unique("keys", "'tenant_id', 'a', 'e'"),
        unique("keys", "'tenant_id', 'h'"),
      ])
        assert.equal(await holds(yes), true, yes);
      for (const no of [
        "audit.is_proved('app.boards', 'c.updated_at = c.created_at')",
        "audit.is_proved('app.keys', 'c.a = 100')",
        "audit.is_proved('app.keys', 'now() < timestamptz ''2100-01-01''')", // asked once for all rows, and true
        "audit.is_never_null('app.heir', 'id')", // of a child it may be dropped
        "audit.is_never_null('app.keys', 'g')",
        "audit.is_never_null('app.keys', 'title')", // of another table
        "audit.is_never_null('app.keys', 'j')",
        unique("heir", "'tenant_id', 'id'"),
        unique("keys", "'tenant_id'"),
        ...["b", "c", "d", "e", "f", "g", "i"].map(column => unique("keys", `'tenant_id', '${column}'`)),
        unique("keys", "'tenant_id', 'a', 'g'"),
      ])
        assert.equal(await holds(no), false, no);
    }));

  it("takes no policy at all for one that hides everything", async () => {
    const [found] = await planted(database.sql, "drop policy auditor on app.media", "tenant_missing");
    assert.match(found!.detail, /no policy lets it read every row/);
  });

  it("reads no table with the auditor's rights that somebody else may fill with code", async () => {
    const trap = `
      create table app.trap (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
      select app.isolate('app.trap')`;
    const found = await planted(database.sql, trap, "tenant_missing");
    assert.match(
      found.find(f => f.relation === "app.trap")!.detail,
      /could not run: app\.trap is owned by postgres/,
    );
  });

  it("says of a check that another table's scan would answer that it could not run, where that table is gone", async () => {
    for (const harm of [
      "drop table app.media cascade",
      "alter table app.media rename to media_old",
      "alter table app.media rename column tenant_id to tenant",
    ]) {
      const [found, ...more] = await planted(database.sql, harm, "completed_without_media");
      assert.deepEqual([found?.severity, more], ["error", []], harm);
      assert.match(found!.detail, /could not run/);
    }
    const found = await planted(database.sql, "drop table app.credit_transactions cascade", "credit_balance");
    assert.match(found[0]!.detail, /could not run/);
  });

  it("runs without app.tenants, and says so", async () => {
    const gone = "alter table app.tenants rename to organizations";
    const [found] = await planted(database.sql, gone, "table_missing");
    assert.equal(found?.relation, "app.tenants");
    await assert.rejects(
      rolledBack(database.sql, async sql => sql.unsafe(`${gone}; select audit.require_isolation()`)),
      /^PostgresError: Tenants are not isolated: /,
    );
  });

  it("calls a pass over a table that has gone since it was planned a failure", async () => {
    await assert.rejects(
      async () => database.sql`select * from audit.examine('scan app.gone', null, 1)`,
      /scan app\.gone: the table is gone/,
    );
  });

  it("asks for lost tenants where the rows' own parents are, and not where another key of the column points", async () => {
    const plant = `
      create table app.profiles (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
      create table app.invoices (tenant_id uuid not null, id uuid not null default gen_random_uuid(), user_id uuid not null, primary key (tenant_id, id),
        constraint invoices_user foreign key (tenant_id, user_id) references app.users (tenant_id, id),
        constraint invoices_profile foreign key (tenant_id, user_id) references app.profiles (tenant_id, id));
      alter table app.profiles owner to tms_owner; alter table app.invoices owner to tms_owner;
      select app.isolate('app.profiles'), app.isolate('app.invoices');
      insert into app.profiles select tenant_id, id from app.users;
      insert into app.invoices (tenant_id, user_id) select tenant_id, id from app.users;
      analyze app.profiles, app.invoices, app.users;
      set local session_replication_role = replica;
      delete from app.tenants where id = '${a.tenant}'; delete from app.profiles where tenant_id = '${a.tenant}'`;
    const found = await planted(database.sql, plant, "tenant_missing");
    assert.equal(found.filter(({ relation }) => relation === "app.invoices").length, 2);
  });

  it("trusts no key that does not bind the rows of children", async () => {
    const plant = `create table app.users_old () inherits (app.users); alter table app.users_old owner to tms_owner;
      grant select on app.users_old to tms_auditor;
      insert into app.users_old select * from only app.users where tenant_id = '${a.tenant}'`;
    const found = await planted(database.sql, plant, "identity_twice_in_tenant");
    assert.match(found[0]!.detail, /rows stand for one identity/);
  });

  it("takes a user who stands in a child of users as well for no removed one", async () => {
    const twins = `create table app.leavers (primary key (tenant_id, id)) inherits (app.users); alter table app.leavers owner to tms_owner;
      insert into app.leavers select (jsonb_populate_record(u, '{"removed_at": "2099-01-01"}')).* from only app.users u
      where (tenant_id, id) in (select tenant_id, user_id from app.board_members)`;
    for (const check of ["board_member_outside_tenant", "removed_member_on_board"])
      assert.deepEqual(await planted(database.sql, twins, check), [], check);
  });

  it("answers a check once where its table is a child, and read for a constraint of its own", () =>
    rolledBack(database.sql, async sql => {
      await sql.unsafe(
        "create table app.kept (tenant_id uuid not null, id uuid not null); alter table app.kept owner to tms_owner; grant select on app.kept to tms_auditor",
      );
      const tables = {
        identity_twice_in_tenant: "app.users",
        provider_twice_in_tenant: "app.provider_configs",
        credit_balance: "app.credit_transactions",
      };
      for (const table of Object.values(tables))
        await sql.unsafe(
          `alter table ${table} inherit app.kept; alter table ${table} add constraint young check (created_at < '2099-01-01') not valid`,
        );
      for (const check of Object.keys(tables)) {
        const told = await sql`
          select p from audit.passes('data') p where ${check} in (select audit.pass_checks(p))`;
        const answers = await sql`
          select o.checked::int from audit.passes('data') p cross join lateral audit.examine(p, null, 0) o where o."check" = ${check}`;
        assert.deepEqual([told.map(({ p }) => p), answers.length], [[check], 1]);
        assert.ok(answers[0]!.checked > 0, check);
      }
    }));

  it("asks each row where its key no longer leads to one row of the id's name", async () => {
    const twins = `alter table app.generations drop constraint generations_pkey cascade;
      set local session_replication_role = replica;
      delete from app.media where generation_id = '${a.generation}';
      update app.generations set status = 'completed', completed_at = now() + interval '1 s' where id = '${a.generation}';
      insert into app.generations (tenant_id, id, board_id, user_id, artifact_type, status)
      select tenant_id, id, board_id, user_id, artifact_type, 'pending' from app.generations where id = '${a.generation}'`;
    const found = await planted(database.sql, twins, "completed_without_media");
    assert.deepEqual(
      found.map(({ row }) => row),
      [{ tenant_id: a.tenant, id: a.generation }],
    );
  });

  it("says of a table in a schema that it may not enter that it could not be read, and reads the others", async () => {
    const stray = "create schema legacy; create table legacy.customers (tenant_id uuid, name text)";
    const found = await planted(database.sql, stray, "tenant_missing");
    assert.deepEqual(
      found.map(({ relation, severity }) => [relation, severity]),
      [["legacy.customers", "error"]],
    );
    assert.match(found[0]!.detail, /could not run: legacy\.customers is owned by postgres/);
  });

  it("asks the tables' owner before it calls a table empty", async () => {
    // What a policy cannot hide from the catalog check, a rule or a fault of the server still could: a function that lies.
    const lie = `
      create or replace function audit.filter_of(p_table regclass) returns text language sql stable return null;
      drop policy auditor on app.boards`;
    const found = await planted(database.sql, lie, "tenant_missing");
    assert.match(
      found.find(f => f.relation === "app.boards")!.detail,
      /shows the auditor no row, and it has rows/,
    );
    const ofOne = await rolledBack(database.sql, async sql => {
      await sql.unsafe(lie);
      return sql<
        { detail: string }[]
      >`select detail from audit.run_check('tenant_missing', 't2') where relation = 'app.boards'`;
    });
    assert.match(ofOne[0]!.detail, /shows the auditor no row, and it has rows/);
  });

  it("does not take a tenant that it may not see for one that nobody has", async () => {
    await assert.rejects(
      rolledBack(database.sql, async sql =>
        sql.unsafe(
          "drop policy auditor on app.tenants; select * from audit.run_check('tenant_missing', 't2')",
        ),
      ),
      /app\.tenants: .*no policy lets it read every row/,
    );
  });

  it("finds nothing wrong with a tenant that has no row, and leaves the transaction as open as it was", async () => {
    for (const before of ["off", "on"])
      await rolledBack(database.sql, async sql => {
        await sql.unsafe(
          `insert into app.tenants (slug, name) values ('hollow', 'Hollow'); set local app.maintenance = '${before}'`,
        );
        assert.deepEqual([...(await sql`select * from audit.run_check('tenant_missing', 'hollow')`)], []);
        const [row] = await sql`select current_setting('app.maintenance') as now`;
        assert.equal(row!.now, before);
      });
  });

  it("examines one tenant only when asked to, and refuses a slug that nobody has", async () => {
    const { sql } = database;
    await assert.rejects(
      async () => sql`select * from audit.run_check('tenant_missing', 'nobody')`,
      /no tenant with the slug/,
    );
    await assert.rejects(
      async () => sql`select * from audit.run_check('tenant_mising')`,
      /there is no check 'tenant_mising'/,
    );
    const [scan] = await sql`select checked::int from audit.examine('scan app.boards', ${a.tenant!}, 1)`;
    assert.equal(scan!.checked, 1);
    await rolledBack(sql, async tx => {
      await tx.unsafe(
        "drop index app.tenants_one_default; update app.tenants set is_default = true, created_at = case slug when 't1' then '2001-01-01' else created_at end where slug in ('t1', 't5')",
      );
      const found = async (slug: string | null) =>
        (await tx`select * from audit.run_check('default_tenant_twice', ${slug})`).length;
      const counts = [await found(null), await found("t5"), await found("t2")];
      assert.deepEqual(counts, [1, 1, 0]);
    });
  });
});
