/** Every data check finds its violation, planted the way life plants it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createDatabase, type Database } from "../harness.ts";
import { assertFinding, idsOf, planted, seedTenants } from "./world.ts";

type Ids = Record<string, string>;
interface Plant {
  check: string;
  category: string;
  severity?: string;
  how: string;
  sql: (a: Ids, b: Ids) => string;
  relation: string;
  row: (a: Ids) => Record<string, unknown>;
  tenant?: null;
}

const REPLICA = "set local session_replication_role = replica;";
const key = (name: string) => (a: Ids) => ({ tenant_id: a.tenant, id: a[name] });
const membership = (a: Ids) => ({ tenant_id: a.tenant, board_id: a.board, user_id: a.member });
const tenant = (a: Ids) => ({ id: a.tenant });

/** Tables that pass for large are read in slices of the tenants, by merges of indexes; small ones whole. */
const SIZES = {
  small: "",
  large: "update pg_class set reltuples = 1e7 where relnamespace = 'app'::regnamespace and relkind = 'r'",
};

const PLANTS: Plant[] = [
  {
    check: "user_of_other_tenant",
    category: "cross_tenant_access",
    how: "a load with triggers off",
    sql: (a, b) =>
      `${REPLICA} update app.generations set user_id = '${b.owner}' where id = '${a.generation}'`,
    relation: "app.generations",
    row: key("generation"),
  },
  {
    check: "user_of_other_tenant",
    category: "cross_tenant_access",
    how: "a dropped foreign key of the ledger",
    sql: (a, b) =>
      `alter table app.credit_transactions drop constraint credit_transactions_user; update app.credit_transactions set user_id = '${b.owner}' where id = '${a.credit}'`,
    relation: "app.credit_transactions",
    row: key("credit"),
  },
  {
    check: "parent_of_other_tenant",
    category: "cross_tenant_access",
    how: "a foreign key of the past, on id alone",
    sql: (a, b) =>
      `alter table app.media drop constraint media_generation; create unique index on app.generations (id);
       alter table app.media add foreign key (generation_id) references app.generations (id);
       update app.media set generation_id = '${b.generation}' where id = '${a.medium}'`,
    relation: "app.media",
    row: key("medium"),
  },
  {
    check: "parent_of_other_tenant",
    category: "cross_tenant_access",
    how: "a row moved between tenants with triggers off",
    sql: (a, b) =>
      `${REPLICA} update app.generations set board_id = '${b.board}' where id = '${a.generation}'`,
    relation: "app.generations",
    row: key("generation"),
  },
  {
    check: "storage_of_other_tenant",
    category: "cross_tenant_access",
    how: "an upload to the wrong folder",
    sql: (a, b) =>
      `update app.media set storage_url = 's3://media/${b.tenant}/x.png' where id = '${a.medium}'`,
    relation: "app.media",
    row: key("medium"),
  },
  {
    check: "tenant_missing",
    category: "orphaned_record",
    how: "a tenant deleted with triggers off",
    sql: a => `${REPLICA} delete from app.tenants where id = '${a.tenant}'`,
    relation: "app.boards",
    row: key("board"),
  },
  {
    check: "parent_missing",
    category: "orphaned_record",
    how: "a generation deleted with triggers off",
    sql: a => `${REPLICA} delete from app.generations where id = '${a.generation}'`,
    relation: "app.media",
    row: key("medium"),
  },
  {
    check: "parent_missing",
    category: "orphaned_record",
    how: "a NOT VALID foreign key over rows that it never saw",
    sql: a =>
      `alter table app.credit_transactions drop constraint credit_transactions_generation;
       update app.credit_transactions set generation_id = gen_random_uuid() where id = '${a.credit}';
       alter table app.credit_transactions add constraint credit_transactions_generation
         foreign key (tenant_id, generation_id) references app.generations (tenant_id, id) not valid`,
    relation: "app.credit_transactions",
    row: key("credit"),
  },
  {
    check: "board_owner_outside_tenant",
    category: "board_membership",
    how: "a dropped foreign key",
    sql: (a, b) =>
      `alter table app.boards drop constraint boards_owner; update app.boards set owner_id = '${b.owner}' where id = '${a.board}'`,
    relation: "app.boards",
    row: key("board"),
  },
  {
    check: "board_member_outside_tenant",
    category: "board_membership",
    how: "an invitation by hand",
    sql: (a, b) =>
      `${REPLICA} insert into app.board_members (tenant_id, board_id, user_id) values ('${a.tenant}', '${a.board}', '${b.member}')`,
    relation: "app.board_members",
    row: a => ({ ...membership(a), user_id: "of b" }),
  },
  {
    check: "membership_without_board",
    category: "board_membership",
    how: "a board deleted with triggers off",
    sql: a => `${REPLICA} delete from app.boards where id = '${a.board}'`,
    relation: "app.board_members",
    row: membership,
  },
  {
    check: "board_inviter_outside_tenant",
    category: "board_membership",
    how: "a superuser's hand",
    sql: (a, b) =>
      `${REPLICA} update app.board_members set invited_by = '${b.owner}' where board_id = '${a.board}'`,
    relation: "app.board_members",
    row: membership,
  },
  {
    check: "removed_member_on_board",
    category: "board_membership",
    how: "an update past api.remove_member",
    sql: a => `update app.users set removed_at = now() where id = '${a.member}'`,
    relation: "app.board_members",
    row: membership,
  },
  {
    check: "board_role_unknown",
    category: "board_membership",
    how: "a dropped check",
    sql: a =>
      `alter table app.board_members drop constraint board_members_role_known; update app.board_members set role = 'god' where board_id = '${a.board}'`,
    relation: "app.board_members",
    row: membership,
  },
  {
    check: "board_owner_as_member",
    category: "board_membership",
    severity: "info",
    how: "an owner who invited themselves",
    sql: a => `update app.board_members set user_id = '${a.owner}' where board_id = '${a.board}'`,
    relation: "app.board_members",
    row: a => ({ ...membership(a), user_id: a.owner }),
  },
  {
    check: "identity_twice_in_tenant",
    category: "data_consistency",
    how: "a dropped unique constraint",
    sql: a =>
      `alter table app.users drop constraint users_tenant_identity_key;
       insert into app.users (tenant_id, id, auth_provider, auth_subject) values ('${a.tenant}', 'ffffffff-ffff-4fff-bfff-ffffffffffff', 'jwt', 'alice')`,
    relation: "app.users",
    row: a => ({ tenant_id: a.tenant, id: "ffffffff-ffff-4fff-bfff-ffffffffffff" }),
  },
  {
    check: "provider_twice_in_tenant",
    category: "data_consistency",
    how: "a dropped unique constraint",
    sql: a =>
      `alter table app.provider_configs drop constraint provider_configs_name_key;
       insert into app.provider_configs (tenant_id, id, provider_name) values ('${a.tenant}', 'ffffffff-ffff-4fff-bfff-ffffffffffff', 'sample-provider')`,
    relation: "app.provider_configs",
    row: a => ({ tenant_id: a.tenant, id: "ffffffff-ffff-4fff-bfff-ffffffffffff" }),
  },
  {
    check: "slug_twice",
    category: "data_consistency",
    how: "a dropped unique constraint",
    sql: a =>
      `alter table app.tenants drop constraint tenants_slug_key; update app.tenants set id = id, slug = (select slug from app.tenants where id = '${a.tenant}') where slug = 't9'`,
    relation: "app.tenants",
    row: () => ({ id: "the later of both" }),
  },
  {
    check: "default_tenant_twice",
    category: "data_consistency",
    how: "a dropped index",
    sql: a =>
      `drop index app.tenants_one_default; update app.tenants set is_default = true, created_at = created_at + interval '1 s', updated_at = updated_at + interval '1 s' where id = '${a.tenant}'`,
    relation: "app.tenants",
    row: tenant,
  },
  {
    check: "tenant_malformed",
    category: "data_consistency",
    how: "a dropped check",
    sql: a =>
      `alter table app.tenants drop constraint tenants_slug_format; update app.tenants set slug = 'Böse Slug' where id = '${a.tenant}'`,
    relation: "app.tenants",
    row: tenant,
  },
  {
    check: "tenant_count_wrong",
    category: "data_consistency",
    how: "a tenant inserted with triggers off",
    sql: () => `${REPLICA} insert into app.tenants (slug, name) values ('smuggled', 'Smuggled')`,
    relation: "app.tenants",
    row: () => ({ status: "active" }),
    tenant: null,
  },
  {
    check: "tenant_without_owner",
    category: "data_consistency",
    severity: "warning",
    how: "an update past the api",
    sql: a => `update app.users set role = 'member' where tenant_id = '${a.tenant}'`,
    relation: "app.tenants",
    row: tenant,
  },
  {
    check: "credit_balance",
    category: "data_consistency",
    how: "an amount corrected by hand",
    sql: a => `update app.credit_transactions set amount = amount - 5 where id = '${a.credit}'`,
    relation: "app.credit_transactions",
    row: key("credit"),
  },
  {
    check: "generation_state",
    category: "data_consistency",
    how: "a worker that died between two updates",
    sql: a => `update app.generations set completed_at = null where id = '${a.generation}'`,
    relation: "app.generations",
    row: key("generation"),
  },
  {
    check: "completed_without_media",
    category: "data_consistency",
    severity: "warning",
    how: "media swept by hand",
    sql: a => `delete from app.media where id = '${a.medium}'`,
    relation: "app.generations",
    row: key("generation"),
  },
  {
    check: "value_unknown",
    category: "data_consistency",
    how: "a dropped check",
    sql: a =>
      `alter table app.users drop constraint users_role_known; update app.users set role = 'root' where id = '${a.member}'`,
    relation: "app.users",
    row: key("member"),
  },
  {
    check: "times_out_of_order",
    category: "data_consistency",
    how: "a dropped check",
    sql: a =>
      `alter table app.boards drop constraint boards_times_in_order; update app.boards set updated_at = '2001-01-01' where id = '${a.board}'`,
    relation: "app.boards",
    row: key("board"),
  },
  {
    check: "time_in_future",
    category: "data_consistency",
    severity: "warning",
    how: "a clock that is wrong",
    sql: a =>
      `update app.credit_transactions set created_at = now() + interval '2 days' where id = '${a.credit}'`,
    relation: "app.credit_transactions",
    row: key("credit"),
  },
  {
    check: "not_an_object",
    category: "data_consistency",
    how: "a dropped check",
    sql: a =>
      `alter table app.boards drop constraint boards_settings_is_object; update app.boards set settings = '[]' where id = '${a.board}'`,
    relation: "app.boards",
    row: key("board"),
  },
  {
    check: "constraint_broken",
    category: "data_consistency",
    how: "a check added NOT VALID",
    sql: a =>
      `update app.boards set title = 'x' where id = '${a.board}'; alter table app.boards add constraint boards_titled check (char_length(title) > 3) not valid`,
    relation: "app.boards",
    row: key("board"),
  },
  {
    check: "constraint_broken",
    category: "data_consistency",
    how: "a check of the whole row",
    sql: a =>
      `update app.boards set title = 'x' where id = '${a.board}'; alter table app.boards add constraint boards_whole check (to_jsonb(boards) ->> 'title' <> 'x') not valid`,
    relation: "app.boards",
    row: key("board"),
  },
];

void describe("the data checks", () => {
  let database: Database;
  let a: Ids;
  let b: Ids;
  before(async () => {
    database = await createDatabase();
    await seedTenants(database.sql, 10);
    a = await idsOf(database.sql, "t2");
    b = await idsOf(database.sql, "t5");
  });
  after(() => database.drop());

  for (const [size, resize] of Object.entries(SIZES))
    for (const plant of PLANTS) {
      it(`${plant.check} finds ${plant.how} in ${plant.relation}, a ${size} table`, async () => {
        const { sql } = database;
        assert.deepEqual(await planted(sql, `${resize};`, plant.check), [], "clean before");
        const found = await planted(sql, `${plant.sql(a, b)}; ${resize}`, plant.check);
        const row = plant.row(a);
        if (row.user_id === "of b") row.user_id = b.member;
        let tenantId: string | null | undefined = plant.tenant === null ? null : a.tenant;
        if (plant.check === "slug_twice") {
          row.id = found[0]?.row.id;
          tenantId = row.id as string;
        }
        assertFinding(found, {
          check: plant.check,
          category: plant.category,
          severity: plant.severity ?? "error",
          tenant_id: tenantId!,
          relation: plant.relation,
          row,
        });
      });
    }

  it("has a plant for every data check of the catalog", async () => {
    const checks = await database.sql`select "check" from audit.checks() where family = 'data'`;
    const missing = checks
      .map(row => row.check as string)
      .filter(name => !PLANTS.some(plant => plant.check === name));
    assert.deepEqual(missing, []);
  });

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
    const blind =
      "create policy quiet on app.media as restrictive for select to public using (tenant_id is not null)";
    const [found] = await planted(database.sql, blind, "tenant_missing");
    assert.match(found!.detail, /restrictive policy quiet applies/);
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
  });

  it("examines one tenant only when asked to, and refuses a slug that nobody has", async () => {
    const { sql } = database;
    await assert.rejects(
      async () => sql`select * from audit.run_check('tenant_missing', 'nobody')`,
      /no tenant with the slug/,
    );
    const [scan] = await sql`select checked::int from audit.examine('scan app.boards', ${a.tenant!}, 1)`;
    assert.equal(scan!.checked, 1);
  });
});
