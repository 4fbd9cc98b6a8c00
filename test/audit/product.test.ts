/** Each check of this service's rows finds its plant, in the tenant that it is of, and leaves its near miss alone. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase, rolledBack } from "../harness.ts";
import { data, type Ids, REPLICA } from "./data-plants.ts";
import { type Finding, findings, openAudit, PRODUCT, pageOf, plant, read } from "./session.ts";
import { idsOf, seedTenants } from "./tenants.ts";

const database = await createDatabase();
await seedTenants(database.sql, 70);
const sql = await openAudit(database);
after(async () => {
  await sql.end();
  await database.drop();
});

/** The plants of these checks have a tenant each, and one beside it; of an even number, so that a person registered it. */
const first = (check: string) => data.find(one => one.check === check)!;
const plants = await Promise.all(
  PRODUCT.map(async (check, i) => ({
    ...first(check),
    a: await idsOf(database.sql, `t${10 + 2 * i}`),
    b: await idsOf(database.sql, `t${11 + 2 * i}`),
  })),
);
const named = ({ check, severity, tenant_id, relation, row }: Finding) =>
  [
    check,
    severity,
    tenant_id,
    relation,
    Object.keys(row!)
      .sort()
      .map(key => `${key} ${row![key] as string}`)
      .join(" "),
  ].join("|");

/** A near miss of each check. */
const NEARLY: Record<string, (a: Ids, b: Ids) => string> = {
  board_owner_as_member: a => `update app.board_members set role = 'admin' where board_id = '${a.board}'`,
  board_owner_outside_tenant: a =>
    `update app.boards set owner_id = '${a.member}' where id = '${a.board}'; delete from app.board_members where board_id = '${a.board}'`,
  board_role_unknown: a => `update app.board_members set role = 'editor' where board_id = '${a.board}'`,
  completed_without_media: a =>
    `insert into app.generations (tenant_id, board_id, user_id, artifact_type, status) values ('${a.tenant}', '${a.board}', '${a.owner}', 'image', 'processing')`,
  content_not_an_object: a => `update app.boards set settings = '{"a": []}' where id = '${a.board}'`,
  content_times_out_of_order: a => `update app.boards set updated_at = created_at where id = '${a.board}'`,
  content_value_unknown: a => `update app.generations set status = 'failed' where id = '${a.generation}'`,
  credit_balance: a =>
    `insert into app.credit_transactions (tenant_id, id, user_id, type, amount, balance_after, created_at)
     values ('${a.tenant}', '00000000-0000-0000-0000-000000000002', '${a.member}', 'grant', 100, 100, '2020-01-01'),
       ('${a.tenant}', '00000000-0000-0000-0000-000000000001', '${a.member}', 'usage', -30, 70, '2020-01-01')`,
  default_tenant_twice: a =>
    `update app.tenants set is_default = false where is_default; update app.tenants set is_default = true where id = '${a.tenant}'`,
  generation_state: a =>
    `update app.generations set status = 'failed', completed_at = null where id = '${a.generation}'`,
  identity_twice_in_tenant: (a, b) =>
    `insert into app.users (tenant_id, auth_provider, auth_subject) values ('${a.tenant}', 'jwt', 'carol'), ('${b.tenant}', 'jwt', 'carol'), ('${a.tenant}', 'JWT', 'carol')`,
  not_an_object: a =>
    `update app.tenants set settings = '{"a": []}', registration = null where id = '${a.tenant}'`,
  provider_twice_in_tenant: a =>
    `insert into app.provider_configs (tenant_id, provider_name) values ('${a.tenant}', 'Sample-provider')`,
  removed_member_on_board: a =>
    `delete from app.board_members where board_id = '${a.board}'; update app.users set removed_at = now() where id = '${a.member}'`,
  slug_twice: a => `update app.tenants set slug = 't-9' where id = '${a.tenant}'`,
  storage_of_other_tenant: (a, b) =>
    `update app.media set storage_url = 'S3://${a.tenant!.toUpperCase()}/${b.tenant}' where id = '${a.medium}'`,
  tenant_count_wrong: a =>
    `update app.tenants set status = 'suspended' where id = '${a.tenant}'; insert into app.tenants (slug, name) values ('added', 'Added')`,
  tenant_malformed: a =>
    `update app.tenants set name = '🙂', slug = repeat('-', 255) where id = '${a.tenant}'`,
  tenant_without_owner: a =>
    `update app.tenants set registration = null where id = '${a.tenant}'; update app.users set role = 'admin' where tenant_id = '${a.tenant}'`,
  time_in_future: a =>
    `update app.credit_transactions set created_at = now() + interval '50 minutes' where id = '${a.credit}'`,
  times_out_of_order: a => `update app.users set updated_at = created_at where id = '${a.member}'`,
  value_unknown: a => `update app.users set role = 'admin' where id = '${a.member}'`,
};

void describe("the checks of this service's rows", () => {
  it("find nothing before", () =>
    rolledBack(sql, async tx => assert.deepEqual((await findings(tx, PRODUCT)).map(named), [])));

  it("have a plant and a near miss each", () => {
    assert.deepEqual(
      plants.map(({ check }) => check),
      PRODUCT,
    );
    assert.deepEqual(Object.keys(NEARLY), PRODUCT);
  });

  it("find each its plant, in its tenant, and nothing else", () =>
    rolledBack(sql, async tx => {
      const slug = plants.find(({ check }) => check === "slug_twice")!;
      const [nine] = await tx<{ id: string }[]>`select id from app.tenants where slug = 't9'`;
      const later = [nine!.id, slug.a.tenant!].sort()[1]!;
      const expected = plants.map(({ check, severity, relation, row, tenant, a }) => {
        const key = row(a);
        if (check === "slug_twice") key.id = later;
        const tenantId = tenant === null ? null : check === "slug_twice" ? later : a.tenant!;
        return named({
          check,
          severity: severity ?? "error",
          tenant_id: tenantId,
          relation,
          row: key,
        } as Finding);
      });
      for (const one of plants) await plant(tx, one.sql(one.a, one.b));
      const found = await findings(tx, PRODUCT);
      assert.deepEqual(found.map(named).sort(), expected.sort());
      for (const { check, detail, remedy } of found) {
        assert.ok(detail.length > 10 && remedy.length > 10, check);
        // What a remedy lists or changes is this row.
        if (!remedy.startsWith("--")) await tx.unsafe(remedy.replaceAll(/^(begin|commit);$/gm, ""));
      }
    }));

  it("leave each its near miss alone", () =>
    rolledBack(sql, async tx => {
      for (const { check, a, b } of plants) await plant(tx, NEARLY[check]!(a, b));
      assert.deepEqual((await findings(tx, PRODUCT)).map(named), []);
    }));

  it("tenant_count_wrong, default_tenant_twice, board_owner_as_member and the like are mended by their remedies, as printed", () =>
    rolledBack(sql, async tx => {
      const mended = [
        "board_owner_as_member",
        "default_tenant_twice",
        "removed_member_on_board",
        "tenant_count_wrong",
      ];
      for (const one of plants.filter(({ check }) => mended.includes(check)))
        await plant(tx, one.sql(one.a, one.b));
      const found = await findings(tx, mended);
      assert.deepEqual([...new Set(found.map(({ check }) => check))], mended);
      for (const { remedy } of found) await tx.unsafe(remedy.replaceAll(/^(begin|commit);$/gm, ""));
      assert.deepEqual((await findings(tx, mended)).map(named), []);
    }));

  const LATER = "2030-01-02";
  type Entry = [id: number, amount: number, balance: number, at?: string];
  const LEDGERS: [what: string, right: boolean, entries: Entry[]][] = [
    [
      "of one moment, in the order of its ids",
      true,
      [
        [1, 100, 100],
        [2, -30, 70],
      ],
    ],
    [
      "of one moment, in another order",
      true,
      [
        [2, 100, 100],
        [1, -30, 70],
      ],
    ],
    [
      "that comes back to where it was, and goes on",
      true,
      [
        [3, 100, 100],
        [2, -30, 70],
        [1, -70, 0],
        [4, 5, 5, LATER],
      ],
    ],
    [
      "that goes on from the last of a moment, and not from its highest id",
      true,
      [
        [2, 100, 100],
        [1, -30, 70],
        [3, 1, 71, LATER],
      ],
    ],
    [
      "with the same entry twice",
      false,
      [
        [1, 100, 100],
        [2, 100, 100],
      ],
    ],
    [
      "that begins with what it does not have",
      false,
      [
        [1, 100, 130],
        [2, -30, 100],
      ],
    ],
    [
      "that goes round without what it has",
      false,
      [
        [1, 30, 130],
        [2, -30, 100],
      ],
    ],
    [
      "that goes on from the highest id of a moment, and not from its last",
      false,
      [
        [2, 100, 100],
        [1, -30, 70],
        [3, 1, 101, LATER],
      ],
    ],
    [
      "that comes back to where it was, and goes on from where it was not",
      false,
      [
        [3, 100, 100],
        [1, -100, 0],
        [4, 5, 105, LATER],
      ],
    ],
    [
      "two moments of which the later is wrong",
      false,
      [
        [2, 100, 100],
        [1, -30, 70],
        [4, 5, 75, LATER],
        [3, 5, 85, LATER],
      ],
    ],
  ];

  it("credit_balance knows a right ledger from a wrong one, whatever the order of its ids", () =>
    rolledBack(sql, async tx => {
      for (const [i, [, , entries]] of LEDGERS.entries())
        for (const [id, amount, balance, at = "2030-01-01"] of entries)
          await tx.unsafe(`insert into app.credit_transactions (tenant_id, id, user_id, type, amount, balance_after, created_at)
            values ('${plants[i]!.a.tenant}', '00000000-0000-4000-8000-00000000000${id}', '${plants[i]!.a.member}', 'test', ${amount}, ${balance}, '${at}')`);
      const found = (await findings(tx, ["credit_balance"])).map(({ tenant_id }) => tenant_id);
      for (const [i, [what, right]] of LEDGERS.entries())
        assert.equal(found.filter(id => id === plants[i]!.a.tenant).length, right ? 0 : 1, what);
    }));

  it("every address in the wrong folder is found, however it writes the id", () =>
    rolledBack(sql, async tx => {
      const misplaced = data.filter(({ check }) => check === "storage_of_other_tenant");
      assert.ok(misplaced.length > 4);
      for (const [i, { sql: text }] of misplaced.entries()) await plant(tx, text(plants[i]!.a, plants[i]!.b));
      const found = (await findings(tx, ["storage_of_other_tenant"])).map(({ tenant_id }) => tenant_id);
      assert.deepEqual(new Set(found), new Set(misplaced.map((_, i) => plants[i]!.a.tenant!)));
    }));

  it("every time, every object and every known value of the service's own tables is looked at", () =>
    rolledBack(sql, async tx => {
      const all = (value: string, ...names: string[]) =>
        names.map(name => [...name.split("."), value] as [string, string, string]);
      const broken: Record<string, [table: string, column: string, value: string][]> = {
        content_not_an_object: all("'[]'", "boards.settings", "generations.input", "provider_configs.config"),
        not_an_object: all("'[]'", "tenants.registration", "tenants.settings"),
        content_times_out_of_order: all(
          "'2001-01-01'",
          "boards.updated_at",
          "generations.completed_at",
          "provider_configs.updated_at",
        ),
        times_out_of_order: all("'2001-01-01'", "tenants.updated_at", "users.removed_at", "users.updated_at"),
        content_value_unknown: all("null", "generations.status"),
        value_unknown: all("null", "invitations.role", "tenants.status", "users.role"),
      };
      for (const [check, columns] of Object.entries(broken)) {
        for (const [table, column, value] of columns)
          await plant(
            tx,
            `alter table app.${table} drop constraint if exists ${table}_times_in_order, drop constraint if exists ${table}_${column}_is_object, alter ${column} drop not null;
             ${REPLICA} update app.${table} set ${column} = ${value}`,
          );
        const found = await findings(tx, [check]);
        assert.deepEqual(
          [...new Set(found.map(({ relation, detail }) => `${relation}.${detail.split(" ")[0]}`))].sort(),
          columns.map(([table, column]) => `app.${table}.${column}`),
          check,
        );
      }
    }));

  it("read no table whose valid constraint says the same: Postgres leaves it out of the plan", () =>
    rolledBack(sql, async tx => {
      await tx`set local constraint_exclusion = on`; // as audit.find() has it
      for (const check of [
        "not_an_object",
        "times_out_of_order",
        "content_not_an_object",
        "content_times_out_of_order",
      ]) {
        await tx.unsafe(read(pageOf(check)));
        const plan = await tx.unsafe(`explain select * from pg_temp.${check}`);
        const scans = plan.filter(line => /(?:Seq|Heap|Index|Only) Scan /.test(String(line["QUERY PLAN"])));
        assert.ok(
          scans.length <= (check === "times_out_of_order" ? 1 : 0),
          scans.map(line => line["QUERY PLAN"]).join("\n"),
        );
      }
    }));
});
