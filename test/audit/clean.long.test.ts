/** A database of 200 tenants as the service leaves it: no check, no row, no proof and no manifest has anything to say. */
import assert from "node:assert/strict";
import { after } from "node:test";
import { differences, manifestLines, shippedLines } from "../../src/migrate/objects.ts";
import { createDatabase, long, rolledBack } from "../harness.ts";
import { CHECKS, findings, openAudit, PRODUCT, read, rowFindings } from "./session.ts";
import { seedTenants } from "./tenants.ts";

const database = await createDatabase();
const sql = await openAudit(database);
after(async () => {
  await sql.end();
  await database.drop();
});

long("a clean database of 200 tenants has no finding", async () => {
  await seedTenants(database.sql, 200);
  await rolledBack(sql, async tx => {
    const found = await findings(tx, [...CHECKS, ...PRODUCT]);
    // The embedded Postgres may be an older release: a fact of the server, which docs/reference/audit.md tells.
    assert.deepEqual(
      found.filter(({ check }) => check !== "server_version"),
      [],
    );
    assert.deepEqual(await rowFindings(tx), []);
    assert.deepEqual(differences(shippedLines(), await manifestLines(tx)), []);
    await tx.unsafe(read("run.sql"));
    const proved = await tx`select * from pg_temp.prove(null, 5, true, true) where result <> 'proved'`;
    assert.deepEqual([...proved], []);
  });
});
