/** Every data check finds its violation, planted the way life plants it. */
import assert from "node:assert/strict";
import { after, describe, it, test } from "node:test";
import { createDatabase, long, rolledBack } from "../harness.ts";
import { data, REPLICA } from "./plants/data.ts";
import { assertFinding, idsOf, planted, runCheck, SIZES, seedTenants } from "./world.ts";

/** What is not named here is of `data_consistency`. */
const CATEGORIES: Record<string, string[]> = {
  cross_tenant_access: ["user_of_other_tenant", "parent_of_other_tenant", "storage_of_other_tenant"],
  orphaned_record: ["tenant_missing", "parent_missing"],
  board_membership: [
    "board_owner_outside_tenant",
    "board_member_outside_tenant",
    "board_inviter_outside_tenant",
    "membership_without_board",
    "removed_member_on_board",
    "board_role_unknown",
    "board_owner_as_member",
  ],
};
const categoryOf = (check: string) =>
  Object.keys(CATEGORIES).find(name => CATEGORIES[name]!.includes(check)) ?? "data_consistency";

const database = await createDatabase();
await seedTenants(database.sql, 10);
const a = await idsOf(database.sql, "t2");
const b = await idsOf(database.sql, "t5");
const other = await idsOf(database.sql, "t9");
const ofMedia = (await database.sql`select audit.pass_checks('scan app.media') as check`).map(
  row => row.check,
);
after(() => database.drop());

void describe("the data checks", () => {
  for (const [size, resize] of Object.entries(SIZES)) {
    const it = size === "small" ? test : long;
    void it(`find nothing before in ${size} tables`, async () => {
      for (const check of new Set(data.map(plant => plant.check)))
        assert.deepEqual(await planted(database.sql, `${resize};`, check), [], check);
    });

    void it(`count each row of ${size} tables once`, () =>
      rolledBack(database.sql, async sql => {
        await sql.unsafe(resize);
        for (const table of ["app.boards", "app.generations", "app.media", "app.credit_transactions"]) {
          const [row] = await sql<{ checked: string[]; rows: string }[]>`
            select array(select distinct checked from audit.scan(${table}::regclass, null) where relation = ${table}) as checked,
              (select count(*) from ${sql(table)}) as rows`;
          assert.deepEqual(row!.checked, [row!.rows], table);
        }
      }));

    // Sums of keys are asked for in the pass over media alone: any other check would run the statements of large tables again.
    const asked = data.filter(({ check }) => size !== "paired" || ofMedia.includes(check));
    for (const plant of asked) {
      void it(`${plant.check} finds ${plant.how} in ${plant.relation}, a ${size} table`, async () => {
        const found = await planted(database.sql, `${plant.sql(a, b)}; ${resize}`, plant.check);
        const row = plant.row(a);
        if (row.user_id === "of b") row.user_id = b.member;
        let tenantId: string | null | undefined = plant.tenant === null ? null : a.tenant;
        if (plant.check === "slug_twice") {
          row.id = found[0]?.row.id;
          tenantId = row.id as string;
        }
        assertFinding(found, {
          check: plant.check,
          category: categoryOf(plant.check),
          severity: plant.severity ?? "error",
          tenant_id: tenantId!,
          relation: plant.relation,
          row,
        });
      });
    }
  }

  it("count what they find under its severity", () =>
    rolledBack(database.sql, async sql => {
      const checks = [
        "board_owner_as_member",
        "tenant_without_owner",
        "time_in_future",
        "user_of_other_tenant",
      ];
      for (const check of checks) await sql.unsafe(data.find(plant => plant.check === check)!.sql(a, b));
      const counts = await sql`
        select "check", sum(errors)::int as errors, sum(warnings)::int as warnings, sum(infos)::int as infos
        from audit.passes('data') p cross join lateral audit.examine(p, null, 0)
        where "check" = any (${checks}) group by 1 order by 1`;
      assert.deepEqual(
        counts.map(row => Object.values(row)),
        [
          ["board_owner_as_member", 0, 0, 1],
          ["tenant_without_owner", 0, 1, 0],
          ["time_in_future", 0, 1, 0],
          ["user_of_other_tenant", 1, 0, 0],
        ],
      );
    }));

  // One is about a tenant that is gone, one about a slug that two have.
  const apart = ["tenant_missing", "slug_twice"];
  for (const [i, plant] of data.filter(one => one.tenant !== null && !apart.includes(one.check)).entries())
    void (i < 3 ? test : long)(
      `${plant.check} finds ${plant.how} in ${plant.relation} in the audit of its tenant, and in no other's`,
      () =>
        rolledBack(database.sql, async sql => {
          await sql.unsafe(plant.sql(a, b));
          const [all] = await runCheck(sql, plant.check);
          const found = async (id: string) =>
            (
              await sql`
              select c.tenant_id from app.tenants t cross join lateral audit.run_check(${plant.check}, t.slug) c where t.id = ${id}`
            ).map(row => row.tenant_id);
          assert.ok((await found(all!.tenant_id!)).includes(all!.tenant_id));
          assert.deepEqual(await found(other.tenant!), []);
        }),
    );

  it("slug_twice finds nothing in the audit of a tenant whose slug nobody else has", () =>
    rolledBack(database.sql, async sql => {
      await sql.unsafe(data.find(plant => plant.check === "slug_twice")!.sql(a, b));
      assert.equal((await runCheck(sql, "slug_twice")).length, 1);
      const found = await sql`
        select c.* from (select slug from app.tenants group by slug having count(*) = 1 limit 3) t
        cross join lateral audit.run_check('slug_twice', t.slug) c`;
      assert.deepEqual([...found], []);
    }));

  it("storage_of_other_tenant has nothing against an address with the tenant's own id, in capitals or without hyphens too", async () => {
    const bare = a.tenant!.replaceAll("-", "");
    for (const address of [
      `s3://${a.tenant}/${b.tenant}`,
      `S3://${a.tenant!.toUpperCase()}/${b.tenant}`,
      `s3://${bare}/${b.tenant}`,
    ]) {
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
      "that comes back to where it was, and goes on from where it was not",
      false,
      () => entries([3, 100, 100], [1, -100, 0], [4, 5, 105, LATER]),
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

  long("rows of no tenant are found in every table, with their parents or without", async () => {
    const tables = [
      "api_keys",
      "board_members",
      "boards",
      "credit_transactions",
      "generations",
      "invitations",
      "media",
      "provider_configs",
      "users",
    ];
    const lost = (table: string, and = "", id = "gen_random_uuid()") =>
      `update app.${table} set tenant_id = ${id} ${and} where tenant_id = '${a.tenant}'`;
    // In the order of the ids a lost one may be anywhere.
    const ids = ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"];
    const plants: [sql: string, ...found: string[]][] = [
      [`delete from app.tenants where id = '${a.tenant}'`, ...tables],
      ["delete from app.tenants", ...tables],
      ...tables.map((table): [string, string] => [lost(table), table]),
      ...ids.map((id): [string, string] => [lost("media", "", id), "media"]),
      [
        `alter table app.media drop constraint media_pkey, alter tenant_id drop not null; ${lost("media", "", "null")}`,
        "media",
      ],
      [
        `alter table app.generations alter board_id drop not null, alter user_id drop not null; ${lost("generations", ", board_id = null, user_id = null")}`,
        "generations",
      ],
    ];
    for (const resize of Object.values(SIZES))
      for (const [sql, ...expected] of plants) {
        const found = await planted(database.sql, `${REPLICA} ${sql}; ${resize}`, "tenant_missing");
        assert.deepEqual(
          [...new Set(found.map(one => String(one.relation)))].sort(),
          expected.map(table => `app.${table}`),
          sql,
        );
      }
  });

  it("every time and every object of the service's own tables is looked at, and nobody else's", async () => {
    const own = {
      not_an_object: [
        ["boards", "settings"],
        ["generations", "input"],
        ["provider_configs", "config"],
        ["tenants", "registration"],
        ["tenants", "settings"],
      ],
      times_out_of_order: [
        ["boards", "updated_at"],
        ["generations", "completed_at"],
        ["provider_configs", "updated_at"],
        ["tenants", "updated_at"],
        ["users", "removed_at"],
        ["users", "updated_at"],
      ],
    };
    for (const [check, columns] of Object.entries(own)) {
      const found = await planted(
        database.sql,
        `${REPLICA} create schema shop authorization tms_owner; grant usage on schema shop to tms_auditor; create table shop.notes (tenant_id uuid not null, id int,
           settings jsonb default '[]', created_at timestamptz default now(), updated_at timestamptz default '2001-01-01', primary key (tenant_id, id));
         alter table shop.notes owner to tms_owner; select app.isolate('shop.notes'); insert into shop.notes values ('${a.tenant}', 1);
         ${columns
           .map(
             ([
               table,
               column,
             ]) => `alter table app.${table} drop constraint if exists ${table}_times_in_order, drop constraint if exists ${table}_${column}_is_object;
             update app.${table} set ${column} = '${check === "not_an_object" ? "[]" : "2001-01-01"}';`,
           )
           .join("")}`,
        check,
      );
      assert.deepEqual(
        [...new Set(found.map(({ relation, detail }) => `${relation} ${detail.split(" ")[0]}`))].sort(),
        columns.map(([table, column]) => `app.${table} ${column}`),
      );
    }
  });

  it("values that are blank, too long or missing are found as those that are wrong", async () => {
    for (const [check, table, column, value] of [
      ["tenant_malformed", "tenants", "name", "E' \\t'"],
      ["tenant_malformed", "tenants", "name", "chr(8203)"],
      ["tenant_malformed", "tenants", "name", "repeat('x', 256)"],
      ["tenant_malformed", "tenants", "name", "null"],
      ["tenant_malformed", "tenants", "slug", "null"],
      ["value_unknown", "tenants", "status", "null"],
      ["value_unknown", "users", "role", "null"],
      ["value_unknown", "generations", "status", "null"],
      ["board_role_unknown", "board_members", "role", "null"],
    ]) {
      const open = `alter table app.${table} alter ${column} drop not null, drop constraint if exists tenants_name_length,
        drop constraint if exists tenants_name_not_blank`;
      const one = `update app.${table} set ${column} = ${value} where ctid = (select min(ctid) from app.${table})`;
      const found = await planted(database.sql, `${open}; ${REPLICA} ${one}`, check!);
      assert.deepEqual(
        found.map(({ relation }) => relation),
        [`app.${table}`],
        `${table}.${column} ${value}`,
      );
    }
  });

  it("rows are held against a check that is not enforced, from Postgres 18 on", async test => {
    const [server] = await database.sql`select current_setting('server_version_num')::int as version`;
    if (server!.version < 180000) return test.skip("every constraint is enforced before Postgres 18");
    const plant = `update app.boards set title = 'x' where id = '${a.board}'; alter table app.boards add check (title <> 'x') not enforced`;
    const found = await planted(database.sql, plant, "constraint_broken");
    assert.deepEqual(
      found.map(({ row }) => row.id),
      [a.board],
    );
  });

  long(
    "find the rows of every tenant, of the first and the last too, and those of none, in large tables as in small ones",
    async () => {
      const tenants = await database.sql<{ id: string }[]>`select id from app.tenants order by id`;
      const lost = (where: string) =>
        `${REPLICA} update app.generations set board_id = gen_random_uuid() where ${where};`;
      for (const { id } of tenants) {
        const found = await planted(
          database.sql,
          `${lost(`tenant_id = '${id}'`)} ${SIZES.large}`,
          "parent_missing",
        );
        assert.deepEqual(
          found.map(({ tenant_id }) => tenant_id),
          [id, id, id],
        );
      }
      // Of no tenant, and of one that does not exist, before all that do.
      for (const nobody of [null, "00000000-0000-0000-0000-000000000000"])
        for (const resize of Object.values(SIZES)) {
          const nobodys = `alter table app.generations drop constraint generations_pkey cascade, alter tenant_id drop not null;
          ${REPLICA} update app.generations set board_id = gen_random_uuid(), tenant_id = ${nobody ? `'${nobody}'` : "null"}
          where id = '${a.generation}';`;
          const found = await planted(database.sql, `${nobodys} ${resize}`, "parent_missing");
          assert.deepEqual(
            found.filter(({ relation }) => relation === "app.generations").map(({ tenant_id }) => tenant_id),
            [nobody],
          );
        }
      const none = `${REPLICA} delete from app.tenants; ${lost("true")} ${SIZES.large}`;
      assert.ok((await planted(database.sql, none, "parent_missing")).length > 0, "of no tenants at all");
    },
  );

  it("has a plant for every data check of the catalog", async () => {
    const checks = await database.sql`select "check" from audit.checks() where family = 'data'`;
    const missing = checks
      .map(row => row.check as string)
      .filter(name => !data.some(plant => plant.check === name));
    assert.deepEqual(missing, []);
  });
});
