/** A login that asks for it is told that app.maintenance is off, where the owner would see no row and change nothing. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { migrate } from "../../../src/migrate/migrate.ts";
import { tenancy } from "../../cli/command.ts";
import { createDatabase, rolledBack, seedTenant } from "../../harness.ts";
import { as } from "../support.ts";

const database = await createDatabase();
const { sql } = database;
const login = postgres(database.urls.owner, { max: 1, onnotice: () => {} });

before(async () => {
  await seedTenant(sql, { slug: "acme" });
  // In this database: the role is the cluster's.
  await sql.unsafe(`alter role tms_owner in database ${database.name} set app.require_maintenance = on`);
});
after(async () => {
  await login.end();
  await database.drop();
});

const STATEMENTS = [
  "table app.tenants",
  "select count(*) from app.tenants t left join app.users u on u.tenant_id = t.id",
  "select from app.tenants where slug = 'acme'",
  "update app.tenants set name = 'x'",
  "delete from app.tenants",
  "insert into app.tenants (slug, name) values ('x', 'x')",
];

test("with app.require_maintenance a migration that would touch nothing raises TM428", async () => {
  for (const setting of ["", "set local app.maintenance = off", "set local app.maintenance = ''"])
    for (const statement of STATEMENTS)
      await assert.rejects(
        rolledBack(login, tx => tx.unsafe(`${setting}; ${statement}`)),
        {
          code: "TM428",
          message: "app.maintenance is off, so the owner would see no row",
          constraint_name: "no_maintenance",
        },
        `${setting}; ${statement}`,
      );
  // Nothing is hidden in a table without rows.
  assert.equal((await login`delete from app.boards`).count, 0);
  await rolledBack(login, async tx => {
    await tx`set local app.maintenance = on`;
    assert.equal((await tx`update app.tenants set name = 'x'`).count, 1);
  });
});

test("without the setting, or with off, the owner sees no row", async () => {
  for (const setting of ["off", "''"])
    await rolledBack(login, async tx => {
      await tx.unsafe(`set local app.require_maintenance = ${setting}`);
      assert.equal((await tx`table app.tenants`).count, 0);
      assert.equal((await tx`update app.tenants set name = 'x'`).count, 0);
    });
});

test("migrate, the gate, the audit and the owner's commands work with app.require_maintenance", async () => {
  const ownerUrl = database.urls.owner;
  assert.equal((await migrate({ ownerUrl, reinstall: true })).installed, true);
  for (const args of [
    ["migrate", "--dry-run"],
    ["audit", "--only", "data"],
    ["events"],
    ["purge"],
    ["export", "--tenant", "acme"],
    ["each", "--", "true"],
  ]) {
    const command = tenancy(args, { DATABASE_URL: ownerUrl });
    assert.equal(await command.ended, 0, `${args.join(" ")}: ${command.stdout}${command.stderr}`);
  }
});

test("requests do not ask it, and the owner asks it once a statement", async () => {
  const plan = async (role: string) =>
    rolledBack(sql, tx =>
      as(tx, role, async sp => {
        await sp`set local app.maintenance = on`;
        const lines = await sp.unsafe("explain (verbose, costs off) select title from app.boards");
        return lines.map(row => row["QUERY PLAN"]).join("\n");
      }),
    );
  assert.doesNotMatch(await plan("tms_app"), /maintenance/);
  assert.match(
    await plan("tms_owner"),
    /InitPlan[\s\S]*Output: CASE current_setting\('app\.maintenance'.*app\.no_maintenance\(\) END/,
  );
});
