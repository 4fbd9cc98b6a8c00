/** Every reference between tenants' rows is followed, whoever's table it is in and however its key compares. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase, rolledBack } from "../harness.ts";
import { CONTACT, REPLICA } from "./plants/data.ts";
import { idsOf, passForLarge, planted, SIZES, seedTenants } from "./world.ts";

const database = await createDatabase();
await seedTenants(database.sql, 5);
const a = await idsOf(database.sql, "t2");
const b = await idsOf(database.sql, "t5");
after(() => database.drop());

/** SQL that gives tables to the service. */
const isolated = (...tables: string[]) =>
  tables.map(table => `alter table ${table} owner to tms_owner; select app.isolate('${table}');`).join("");

void describe("the references of the data checks", () => {
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
    const lost = `${tables} ${REPLICA} insert into app.uses values ('${a.tenant}', 3, 1, '[2026-02-10,2026-03-10)'), ('${b.tenant}', 1, 1, '[2026-01-10,2026-02-10)')`;
    for (const [check, expected] of [
      ["parent_missing", `${a.tenant} 3`],
      ["parent_of_other_tenant", `${b.tenant} 1`],
    ] as const) {
      const found = await planted(database.sql, lost, check);
      assert.deepEqual(
        found.map(one => `${one.tenant_id} ${String(one.row.id)}`),
        [expected],
        check,
      );
    }
  });

  it("a tenant may refer to one of its users, whatever its size", async () => {
    for (const resize of Object.values(SIZES)) {
      const plant = `${CONTACT} update app.tenants set contact_id = '${a.owner}' where id = '${a.tenant}'; ${resize}`;
      for (const check of ["user_of_other_tenant", "parent_missing", "value_unknown"])
        assert.deepEqual(await planted(database.sql, plant, check), [], check);
    }
  });

  it("a reference is compared as its key does, with the operators of an extension's types", async () => {
    const tables = `
      create schema shop authorization tms_owner; grant usage on schema shop to tms_app, tms_auditor;
      create extension citext schema shop; create extension ltree schema shop;
      create table shop.tags (tenant_id uuid not null, n int, name shop.citext, path shop.ltree, primary key (tenant_id, n, name, path));
      create table shop.tagged (tenant_id uuid not null, id int, n bigint, tag shop.citext, path shop.ltree, primary key (tenant_id, id),
        foreign key (tenant_id, tag, path, n) references shop.tags (tenant_id, name, path, n));
      alter table shop.tags owner to tms_owner; alter table shop.tagged owner to tms_owner;
      select app.isolate('shop.tags'), app.isolate('shop.tagged');
      insert into shop.tags values ('${a.tenant}', 1, 'Red', 'a.b'), ('${b.tenant}', 1, 'Blue', 'a.b');
      insert into shop.tagged values ('${a.tenant}', 1, 1, 'RED', 'a.b'), ('${a.tenant}', 2, 1, null, 'a.b');`;
    for (const resize of ["", passForLarge("relname = 'tagged'")]) {
      assert.deepEqual(await planted(database.sql, `${tables} ${resize}`, "parent_missing"), []);
      const lost = `${tables} ${REPLICA} insert into shop.tagged values ('${a.tenant}', 3, 1, 'green', 'a.b'), ('${a.tenant}', 4, 1, 'blue', 'a.b'); ${resize}`;
      for (const [check, id] of [
        ["parent_missing", 3],
        ["parent_of_other_tenant", 4],
      ] as const) {
        const found = await planted(database.sql, lost, check);
        assert.deepEqual(
          found.map(one => one.row),
          [{ tenant_id: a.tenant, id }],
          check,
        );
      }
    }
  });

  it("a reference to blank-padded text is compared without the blanks at its end", async () => {
    const tables = `
      create table app.codes (tenant_id uuid not null, code char(5), primary key (tenant_id, code));
      create table app.coded (tenant_id uuid not null, id int, code text, primary key (tenant_id, id), foreign key (tenant_id, code) references app.codes);
      alter table app.codes owner to tms_owner; alter table app.coded owner to tms_owner; select app.isolate('app.codes'), app.isolate('app.coded');
      insert into app.codes values ('${a.tenant}', 'ab'), ('${b.tenant}', 'cd'); insert into app.coded values ('${a.tenant}', 1, 'ab'), ('${a.tenant}', 2, 'ab  ');`;
    for (const resize of ["", passForLarge("relname = 'coded'")]) {
      assert.deepEqual(await planted(database.sql, `${tables} ${resize}`, "parent_missing"), []);
      const lost = `${tables} ${REPLICA} insert into app.coded values ('${a.tenant}', 3, 'ef '), ('${a.tenant}', 4, 'cd '); ${resize}`;
      for (const [check, id] of [
        ["parent_missing", 3],
        ["parent_of_other_tenant", 4],
      ] as const)
        assert.deepEqual(
          (await planted(database.sql, lost, check)).map(one => one.row.id),
          [id],
          check,
        );
    }
  });

  it("references and tests that only a partition has, or a child, are followed there", async () => {
    const tables = `
      create table app.events (tenant_id uuid not null, id int, board_id uuid, primary key (tenant_id, id)) partition by hash (tenant_id);
      create table app.events_0 partition of app.events for values with (modulus 1, remainder 0);
      create table app.places (tenant_id uuid not null, id int, primary key (tenant_id, id));
      create table app.far_places (board_id uuid, primary key (tenant_id, id)) inherits (app.places);
      alter table app.events owner to tms_owner; alter table app.events_0 owner to tms_owner;
      alter table app.places owner to tms_owner; alter table app.far_places owner to tms_owner;
      alter table app.events_0 add foreign key (tenant_id, board_id) references app.boards (tenant_id, id);
      alter table app.far_places add foreign key (tenant_id, board_id) references app.boards (tenant_id, id);
      select app.isolate('app.events'), app.isolate('app.places');
      insert into app.events values ('${a.tenant}', 1, '${a.board}'); insert into app.far_places values ('${a.tenant}', 1, '${a.board}');`;
    assert.deepEqual(await planted(database.sql, tables, "parent_of_other_tenant"), []);
    const across = `${tables} ${REPLICA} update app.events set board_id = '${b.board}'; update app.far_places set board_id = '${b.board}';
      insert into app.far_places values (gen_random_uuid(), 2, null);
      alter table app.events_0 add constraint few check (id > 1) not valid; alter table app.far_places add constraint few check (id > 1) not valid`;
    const found = async (check: string) =>
      (await planted(database.sql, across, check)).map(one => `${one.relation} ${String(one.row.id)}`).sort();
    assert.deepEqual(await found("parent_of_other_tenant"), ["app.events_0 1", "app.far_places 1"]);
    assert.deepEqual(await found("constraint_broken"), ["app.events_0 1", "app.far_places 1"]);
    assert.deepEqual(await found("tenant_missing"), ["app.places 2"], "once, with the table");
  });

  it("a column with two keys is followed once to each table, and the service's own tests mean the key that they came with", async () => {
    const tables = `
      create table app.profiles (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
      create table app.places (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
      alter table app.profiles owner to tms_owner; alter table app.places owner to tms_owner;
      select app.isolate('app.profiles'), app.isolate('app.places');
      insert into app.profiles select tenant_id, id from app.users; insert into app.places select tenant_id, id from app.boards;
      alter table app.boards add constraint twin foreign key (tenant_id, owner_id) references app.users (tenant_id, id),
        add foreign key (tenant_id, owner_id) references app.profiles;
      alter table app.board_members add foreign key (tenant_id, user_id) references app.profiles, add foreign key (tenant_id, board_id) references app.places;
      alter table app.credit_transactions add foreign key (tenant_id, user_id) references app.profiles;
      alter table app.media add foreign key (tenant_id, generation_id) references app.generations (tenant_id, id) on delete cascade;`;
    for (const resize of Object.values(SIZES)) {
      const found = (plant: string) =>
        rolledBack(database.sql, async sql => {
          await sql.unsafe(`${tables} ${plant}; ${resize}`);
          return (await sql`select "check", relation from audit.run_family('data') order by 1, 2`).map(
            one => `${one.check} ${one.relation}`,
          );
        });
      assert.deepEqual(await found(""), []);
      for (const [plant, ...expected] of [
        [
          `${REPLICA} delete from app.profiles where id = '${a.owner}'`,
          "parent_missing app.boards",
          "parent_missing app.credit_transactions",
          "parent_missing app.credit_transactions",
        ],
        [
          `${REPLICA} update app.boards set owner_id = '${b.owner}' where id = '${a.board}'`,
          "board_owner_outside_tenant app.boards",
          "parent_of_other_tenant app.boards",
        ],
        [
          `update app.users set removed_at = now() where id = '${a.member}'`,
          "removed_member_on_board app.board_members",
        ],
        [
          `update app.credit_transactions set created_at = now() + interval '2 days' where id = '${a.credit}'`,
          "time_in_future app.credit_transactions",
        ],
        [`delete from app.media where id = '${a.medium}'`, "completed_without_media app.generations"],
      ])
        assert.deepEqual(await found(plant!), expected, plant);
    }
    assert.deepEqual(
      await planted(database.sql, tables, "foreign_key_missing"),
      [],
      "each has its own action",
    );
  });

  it("a key with MATCH FULL allows no row that is null in part", async () => {
    const table = `
      create table app.notes (tenant_id uuid not null, id int, board_id uuid, user_id uuid, primary key (tenant_id, id),
        foreign key (tenant_id, board_id) references app.boards (tenant_id, id),
        foreign key (tenant_id, board_id) references app.boards (tenant_id, id) match full,
        foreign key (tenant_id, user_id) references app.users (tenant_id, id));
      ${isolated("app.notes")} insert into app.notes values ('${a.tenant}', 1, '${a.board}', null);`;
    for (const resize of ["", passForLarge("relname = 'notes'")]) {
      assert.deepEqual(await planted(database.sql, `${table} ${resize}`, "parent_missing"), []);
      const lost = `${table} ${REPLICA} insert into app.notes values ('${a.tenant}', 2, null, null), ('${a.tenant}', 3, '${b.board}', null); ${resize}`;
      for (const [check, id, detail] of [
        ["parent_missing", 2, "board_id null is not in app.boards"],
        ["parent_of_other_tenant", 3, `board_id ${b.board} is in app.boards, but in another tenant`],
      ] as const)
        assert.deepEqual(
          (await planted(database.sql, lost, check)).map(one => [one.row.id, one.detail]),
          [[id, detail]],
        );
    }
  });

  it("a key to a column that may be null is followed beside a parent's row where it is", async () => {
    const tables = `
      create table app.kinds (tenant_id uuid not null, id int, code text, primary key (tenant_id, id), unique (tenant_id, code));
      create table app.things (tenant_id uuid not null, id int, code text, primary key (tenant_id, id),
        foreign key (tenant_id, code) references app.kinds (tenant_id, code));
      ${isolated("app.kinds", "app.things")} insert into app.kinds values ('${a.tenant}', 1, null), ('${a.tenant}', 2, 'x');
      ${REPLICA} insert into app.things values ('${a.tenant}', 1, 'x'), ('${a.tenant}', 2, 'lost');`;
    const found = await planted(database.sql, tables, "parent_missing");
    assert.deepEqual(
      found.map(one => one.row.id),
      [2],
    );
  });

  it("what is counted and then not found is no pass: the check could not run", async () => {
    const blind = `alter function audit.row_tests(regclass) rename to tests;
      create function audit.row_tests(p_table regclass)
        returns table (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text, child_column name, parent regclass)
        language sql begin atomic select check_name, check_elsewhere, joins, 'false', elsewhere, detail, question, child_column, parent from audit.tests(p_table); end;`;
    const found = await planted(
      database.sql,
      `${blind} ${REPLICA} update app.boards set owner_id = gen_random_uuid() where id = '${a.board}'`,
      "board_owner_outside_tenant",
    );
    assert.deepEqual(
      found.map(one => one.detail),
      ["the check could not run: rows of app.boards look wrong, and no test tells which (SQLSTATE 22000)"],
    );
  });

  it("a key between columns of two collations is followed in that of the parent", async () => {
    const tables = `
      create table app.labels (tenant_id uuid not null, name text collate "C", primary key (tenant_id, name));
      create table app.labelled (tenant_id uuid not null, id int, label text collate "POSIX", primary key (tenant_id, id),
        foreign key (tenant_id, label) references app.labels);
      ${isolated("app.labels", "app.labelled")}
      insert into app.labels values ('${a.tenant}', 'red'), ('${b.tenant}', 'blue'); insert into app.labelled values ('${a.tenant}', 1, 'red');`;
    for (const resize of ["", passForLarge("relname = 'labelled'")]) {
      assert.deepEqual(await planted(database.sql, `${tables} ${resize}`, "parent_missing"), []);
      const lost = `${tables} ${REPLICA} insert into app.labelled values ('${a.tenant}', 2, 'green'), ('${a.tenant}', 3, 'blue'); ${resize}`;
      for (const [check, id] of [
        ["parent_missing", 2],
        ["parent_of_other_tenant", 3],
      ] as const)
        assert.deepEqual(
          (await planted(database.sql, lost, check)).map(one => one.row.id),
          [id],
        );
    }
  });

  it("keys to app.tenants are followed: to another tenant, of several columns, and of one partition or child alone", async () => {
    const tables = `
      alter table app.tenants add region text not null default 'eu', add unique (id, region);
      create table app.sites (tenant_id uuid not null, id int, region text, reseller uuid references app.tenants on delete cascade, primary key (tenant_id, id));
      create table app.orders (tenant_id uuid not null, id int, buyer uuid, primary key (tenant_id, id)) partition by hash (tenant_id);
      create table app.orders_0 partition of app.orders for values with (modulus 1, remainder 0);
      create table app.shops (tenant_id uuid not null, id int, primary key (tenant_id, id));
      create table app.far_shops (owner uuid references app.tenants on delete cascade, primary key (tenant_id, id)) inherits (app.shops);
      alter table app.orders_0 owner to tms_owner; alter table app.far_shops owner to tms_owner;
      alter table app.orders_0 add foreign key (buyer) references app.tenants on delete cascade;
      ${isolated("app.sites", "app.orders", "app.shops")}
      alter table app.sites add foreign key (tenant_id, region) references app.tenants (id, region); -- a rule forbids it, and it is followed
      insert into app.sites values ('${a.tenant}', 1, 'eu', '${b.tenant}'), ('${a.tenant}', 2, null, null);
      insert into app.orders values ('${a.tenant}', 1, '${b.tenant}'); insert into app.far_shops values ('${a.tenant}', 1, '${b.tenant}');`;
    assert.deepEqual(await planted(database.sql, tables, "parent_missing"), []);
    const nobody = "00000000-0000-4000-8000-000000000000";
    const found = await planted(
      database.sql,
      `${tables} ${REPLICA} insert into app.sites values ('${a.tenant}', 3, 'us', null), ('${a.tenant}', 4, 'eu', '${nobody}');
       insert into app.orders values ('${a.tenant}', 2, '${nobody}'); insert into app.far_shops values ('${a.tenant}', 2, '${nobody}')`,
      "parent_missing",
    );
    assert.deepEqual(found.map(one => `${one.relation} ${String(one.row.id)}: ${one.detail}`).sort(), [
      `app.far_shops 2: owner ${nobody} is not in app.tenants`,
      `app.orders_0 2: buyer ${nobody} is not in app.tenants`,
      `app.sites 3: region us, tenant_id ${a.tenant} is not in app.tenants`,
      `app.sites 4: reseller ${nobody} is not in app.tenants`,
    ]);
  });

  it("a CHECK that children do not inherit is asked of the table's own rows", async () => {
    const tables = `
      create table app.places (tenant_id uuid not null, id int, primary key (tenant_id, id));
      create table app.far_places (primary key (tenant_id, id)) inherits (app.places); alter table app.far_places owner to tms_owner;
      ${isolated("app.places")}
      insert into app.places values ('${a.tenant}', 1), ('${a.tenant}', 2); insert into app.far_places values ('${a.tenant}', 1);
      alter table app.places add constraint few check (id > 1) no inherit not valid;`;
    assert.deepEqual(
      (await planted(database.sql, tables, "constraint_broken")).map(one => [one.relation, one.row.id]),
      [["app.places", 1]],
    );
  });
});
