/** The proofs of docs/guides/context.md, as a product's own backend makes them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import pg from "pg";
import postgres from "postgres";
import { withPg, withPostgres } from "../../examples/context/proof.ts";
import { storeSecret } from "../../src/migrate/tenant-context.ts";
import { createDatabase, seedTenant, seedUser } from "../harness.ts";

const root = path.resolve(import.meta.dirname, "../..");
const SECRET = "ein Geheimnis mit Umlauten: äöü, and of thirty-two bytes";
const database = await createDatabase();
let acme = "";

before(async () => {
  acme = await seedTenant(database.sql, { slug: "acme" });
  const user = await seedUser(database.sql, acme, { subject: "zoë" });
  await database.sql`insert into app.boards (tenant_id, owner_id, title) values (${acme}, ${user}, 'first')`;
  const owner = postgres(database.urls.owner, { max: 1, onnotice: () => {} });
  await storeSecret(owner, SECRET);
  await owner.end();
  process.env.SERVICE_TENANT_CONTEXT_SECRET = SECRET;
});
after(() => database.drop());

test("the page shows the code of the example", () => {
  const page = readFileSync(path.join(root, "docs/guides/context.md"), "utf8");
  const source = readFileSync(path.join(root, "examples/context/proof.ts"), "utf8");
  const [, shown = ""] = /```ts\n([\s\S]*?)```/.exec(page)!;
  assert.ok(shown.length > 200 && source.includes(shown));
});

test("a backend with node-postgres, and one with postgres.js, enters the tenant that it proves", async () => {
  const pool = new pg.Pool({ connectionString: database.urls.root, max: 1 });
  const sql = postgres(database.urls.root, { max: 1 });
  try {
    const { rows } = await withPg(pool, acme, client => client.query("select title from app.boards"));
    assert.deepEqual(rows, [{ title: "first" }]);
    const titles = await withPostgres(
      sql,
      ["acme", "jwt", "zoë", null, null],
      tx => tx`select title from app.boards`,
    );
    assert.deepEqual([...titles], [{ title: "first" }]);
    process.env.SERVICE_TENANT_CONTEXT_SECRET = `${SECRET}.`;
    await assert.rejects(
      withPg(pool, acme, client => client.query("select 1")),
      { code: "TM503" },
    );
  } finally {
    await pool.end();
    await sql.end();
  }
});
