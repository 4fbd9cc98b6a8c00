/** Each check finds its plant, planted as it happens in life, and that alone; and leaves its near miss alone. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase, rolledBack } from "../harness.ts";
import { ALL_PLANTS, definer, PLANTS, SHOP, vouch } from "./plants.ts";
import { CHECKS, type Finding, findings, openAudit, plant, read } from "./session.ts";
import { DAMAGE, SHARDED } from "./shard-plants.ts";
import { seedTenants } from "./tenants.ts";

const database = await createDatabase();
await seedTenants(database.sql, 10);
const sql = await openAudit(database);
after(async () => {
  await sql.end();
  await database.drop();
});

/** What no transaction can plant, or what would hide other plants. */
const ELSEWHERE = ["server_version", "shard_differs"];

const named = (f: Pick<Finding, "check" | "severity" | "relation" | "object">) =>
  `${f.check}: ${f.severity} ${f.relation ?? "-"} ${f.object ?? "-"}`;
const CATALOG = CHECKS.filter(check => check !== "server_version");

void describe("the checks of the catalog", () => {
  it("find nothing in a database as the release made it", () =>
    rolledBack(sql, async tx => assert.deepEqual((await findings(tx, CATALOG)).map(named), [])));

  it("have a plant each", () => {
    assert.deepEqual([...Object.keys(PLANTS), ...ELSEWHERE].sort(), CHECKS);
  });

  it("find each its plant, once", () =>
    rolledBack(sql, async tx => {
      await plant(tx, ALL_PLANTS);
      const expected = Object.entries(PLANTS).map(([check, { severity, relation, object }]) =>
        named({ check, severity, relation: relation ?? null, object: object ?? null }),
      );
      const found = await findings(tx, CATALOG);
      assert.deepEqual(found.map(named).sort(), expected.sort());
      for (const { check, detail, remedy } of found) {
        assert.ok(detail.length > 10, `${check}: ${detail}`);
        assert.ok(remedy.length > 10, `${check}: ${remedy}`);
      }
    }));

  for (const [check, { nearly }] of Object.entries(PLANTS))
    it(`${check} leaves its near miss alone`, () =>
      rolledBack(sql, async tx => {
        await plant(tx, `${SHOP} ${nearly}`);
        assert.deepEqual((await findings(tx, [check])).map(named), []);
      }));

  it("rls_disabled is one line where nothing is isolated at all", () =>
    rolledBack(sql, async tx => {
      await plant(
        tx,
        `do $$ declare t regclass; begin for t in select oid from pg_class where relrowsecurity and relkind = 'r' loop
        execute format('alter table %s disable row level security', t); end loop; end $$`,
      );
      const [found, ...more] = await findings(tx, ["rls_disabled"]);
      assert.deepEqual([found?.severity, found?.relation, more], ["error", null, []]);
      assert.match(found!.detail, /^nothing is isolated here: none of the 10 tables/);
      assert.match(found!.remedy, /adopt --plan/);
    }));

  it("function_unknown takes a function that changed since it was vouched for as unknown again", () =>
    rolledBack(sql, async tx => {
      const told = async () => (await findings(tx, ["function_unknown"])).map(named);
      await plant(tx, `${SHOP} ${definer("find", "set search_path = pg_catalog, pg_temp")} ${vouch("find")}`);
      assert.deepEqual(await told(), []);
      for (const change of [
        "create or replace function shop.find() returns int language sql security definer set search_path = pg_catalog, pg_temp as 'select 2'",
        "grant execute on function shop.find() to pg_monitor",
        "alter function shop.find() owner to tms_owner",
      ])
        await tx
          .savepoint(async savepoint => {
            await plant(savepoint, change);
            assert.equal((await findings(savepoint, ["function_unknown"])).length, 1, change);
            throw new Error("undo");
          })
          .catch((error: Error) => assert.equal(error.message, "undo"));
      assert.deepEqual(await told(), []);
    }));

  it("server_version knows the floor of each branch, and what it does not know", async () => {
    const found = async (version: number, embedded: boolean) =>
      rolledBack(sql, async tx => {
        const text = read("checks/server_version.sql")
          .replaceAll("current_setting('server_version_num')", `'${version}'`)
          .replaceAll("current_setting('cluster_name')", embedded ? "'tenancy embedded'" : "''");
        await tx.unsafe(`drop view pg_temp.server_version; ${text}`);
        const rows = await tx<Finding[]>`select * from pg_temp.server_version`;
        return rows.map(row => row.severity).join();
      });
    for (const [version, embedded, expected] of [
      [150019, false, "error"],
      [150020, false, ""],
      [160014, false, "error"],
      [160015, false, ""],
      [170010, false, "error"],
      [170011, false, ""],
      [180004, false, "error"],
      [180004, true, "warning"],
      [180006, false, ""],
      [190001, false, "warning"],
    ] as const)
      assert.equal(await found(version, embedded), expected, `${version} ${embedded}`);
  });

  it("shard_differs has nothing to ask on plain Postgres, and nothing against a shard that is as its table", () =>
    rolledBack(sql, async tx => {
      assert.deepEqual(await findings(tx, ["shard_differs"]), []);
      await plant(tx, SHARDED);
      assert.deepEqual(await findings(tx, ["shard_differs"]), []);
    }));

  for (const [what, [harm, detail]] of Object.entries(DAMAGE))
    it(`shard_differs finds ${what}`, () =>
      rolledBack(sql, async tx => {
        await plant(tx, `${SHARDED} ${harm}`);
        const [found, ...more] = await findings(tx, ["shard_differs"]);
        assert.deepEqual(
          [found?.severity, found?.relation, found?.object, more],
          ["error", "app.users", "app.users_102009 on worker:5432", []],
        );
        assert.match(found!.detail, detail);
      }));
});
