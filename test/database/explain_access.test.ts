import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createDatabase, type Database, rolledBack, seedTenant, seedUser } from "../harness.ts";

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
    const read = async () => {
      const [row] = await tx`
        select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relid = 'app.boards'::regclass`;
      return row!.rows as number;
    };
    for (const slug of ["nowhere", "empty"]) {
      const before = await read();
      await tx`select api.explain_access(${slug}, 'jwt', 'ann')`;
      const rows = (await read()) - before;
      assert.ok(rows < 100, `${slug}: ${rows} rows`);
    }
  }));
