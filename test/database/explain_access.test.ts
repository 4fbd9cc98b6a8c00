import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createDatabase, type Database, rolledBack, seedTenant, seedUser } from "../harness.ts";
import { rowsRead } from "./support.ts";

let database: Database;
before(async () => {
  database = await createDatabase();
});
after(() => database.drop());

test("rows of other tenants are not read for one that has none, be they all that there are", () =>
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

test("whom a suspended tenant or a missing default one refuses is told so, and shown nothing", () =>
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
