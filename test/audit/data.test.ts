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
    check: "storage_of_other_tenant",
    category: "cross_tenant_access",
    how: "a folder below one that is nobody's",
    sql: (a, b) =>
      `update app.media set storage_url = 's3://' || gen_random_uuid() || '/' || '${b.tenant}' || '/x.png' where id = '${a.medium}'`,
    relation: "app.media",
    row: key("medium"),
  },
  {
    check: "storage_of_other_tenant",
    category: "cross_tenant_access",
    how: "a store that writes ids in capitals",
    sql: (a, b) =>
      `update app.media set storage_url = upper('s3://media/${b.tenant}/x.png') where id = '${a.medium}'`,
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
    check: "credit_balance",
    category: "data_consistency",
    how: "an amount beside which no balance fits into a bigint",
    sql: a =>
      `update app.credit_transactions set amount = -9223372036854775808, balance_after = 9223372036854775807 where id = '${a.credit}'`,
    relation: "app.credit_transactions",
    row: key("credit"),
  },
  {
    check: "credit_balance",
    category: "data_consistency",
    how: "an entry without an amount",
    sql: a =>
      `alter table app.credit_transactions alter amount drop not null; update app.credit_transactions set amount = null where id = '${a.credit}'`,
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

  it("storage_of_other_tenant has nothing against an address with the tenant's own id, in capitals too", async () => {
    for (const address of [`s3://${a.tenant}/${b.tenant}`, `S3://${a.tenant!.toUpperCase()}/${b.tenant}`]) {
      const plant = `update app.media set storage_url = '${address}' where id = '${a.medium}'`;
      assert.deepEqual(await planted(database.sql, plant, "storage_of_other_tenant"), [], address);
    }
  });

  const AT = "2030-01-01";
  const entries = (...rows: [id: number, amount: number, balance: number, at?: string][]) =>
    rows
      .map(
        ([id, amount, balance, at = AT]) => `
      insert into app.credit_transactions (tenant_id, id, user_id, type, amount, balance_after, created_at)
      values ('${a.tenant}', '${"0".repeat(8)}-0000-4000-8000-${String(id).padStart(12, "0")}', '${a.member}', 'test', ${amount}, ${balance}, '${at}');`,
      )
      .join("");
  const LATER = "2030-01-02";
  const ledgers: [what: string, right: boolean, plant: () => string][] = [
    ["written at one moment, in the order of its ids", true, () => entries([1, 100, 100], [2, -30, 70])],
    ["written at one moment, in another order", true, () => entries([2, 100, 100], [1, -30, 70])],
    [
      "that comes back to where it was, and goes on",
      true,
      () => entries([3, 100, 100], [2, -30, 70], [1, -70, 0], [4, 5, 5, LATER]),
    ],
    [
      "that goes on from the last of a moment, and not from its highest id",
      true,
      () => entries([2, 100, 100], [1, -30, 70], [3, 1, 71, LATER]),
    ],
    ["with the same entry twice", false, () => entries([1, 100, 100], [2, 100, 100])],
    ["that begins with what it does not have", false, () => entries([1, 100, 130], [2, -30, 100])],
    [
      "that goes on from the highest id of a moment, and not from its last",
      false,
      () => entries([2, 100, 100], [1, -30, 70], [3, 1, 101, LATER]),
    ],
    [
      "two moments of which the later is wrong",
      false,
      () => entries([2, 100, 100], [1, -30, 70], [4, 5, 75, LATER], [3, 5, 85, LATER]),
    ],
  ];
  for (const [what, right, plant] of ledgers) {
    it(`credit_balance ${right ? "has nothing against" : "finds"} a ledger ${what}`, async () => {
      const found = await planted(database.sql, plant(), "credit_balance");
      assert.deepEqual(
        found.map(one => one.tenant_id),
        right ? [] : [a.tenant],
        JSON.stringify(found, null, 1),
      );
    });
  }

  it("a foreign key with a period asks whether the parent's rows cover it together, from Postgres 18 on", async test => {
    const [server] =
      await database.sql`select current_setting('server_version_num')::int >= 180000 as temporal`;
    if (!server!.temporal) return test.skip("no temporal keys before Postgres 18");
    const tables = `
      create extension if not exists btree_gist;
      create table app.rates (tenant_id uuid not null, id int, valid daterange, primary key (tenant_id, id, valid without overlaps));
      create table app.uses (tenant_id uuid not null, id int, rate int, valid daterange, primary key (tenant_id, id),
        foreign key (tenant_id, rate, period valid) references app.rates (tenant_id, id, period valid));
      alter table app.rates owner to tms_owner; alter table app.uses owner to tms_owner;
      select app.isolate('app.rates'), app.isolate('app.uses');
      insert into app.rates values ('${a.tenant}', 1, '[2026-01-01,2026-02-01)'), ('${a.tenant}', 1, '[2026-02-01,2026-03-01)');
      insert into app.uses values ('${a.tenant}', 1, 1, '[2026-01-10,2026-02-10)'), ('${a.tenant}', 2, null, '[2020-01-01,2030-01-01)');`;
    assert.deepEqual(await planted(database.sql, tables, "parent_missing"), []);
    const found = await planted(
      database.sql,
      `${tables} ${REPLICA} insert into app.uses values ('${a.tenant}', 3, 1, '[2026-02-10,2026-03-10)'), ('${b.tenant}', 1, 1, '[2026-01-10,2026-02-10)')`,
      "parent_missing",
    );
    assert.deepEqual(
      found.map(one => `${one.tenant_id} ${String(one.row.id)}`).sort(),
      [`${a.tenant} 3`, `${b.tenant} 1`].sort(),
    );
  });

  it("has a plant for every data check of the catalog", async () => {
    const checks = await database.sql`select "check" from audit.checks() where family = 'data'`;
    const missing = checks
      .map(row => row.check as string)
      .filter(name => !PLANTS.some(plant => plant.check === name));
    assert.deepEqual(missing, []);
  });
});
