/** The sessions of docs/guides/psql.md, in psql where it is installed, else through the driver: then what they print is not compared. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import postgres from "postgres";
import { createDatabase, seedTenant, seedUser } from "../harness.ts";

const PAGE = readFileSync(new URL("../../docs/guides/psql.md", import.meta.url), "utf8");
const sessions = [...PAGE.matchAll(/\n## (.+?)\n|```sql\n([\s\S]*?)```\n+```text\n([\s\S]*?)```/g)];
const hasPsql = spawnSync("psql", ["--version"]).status === 0;

const database = await createDatabase();
for (const [slug, subject] of [
  ["acme", "alice"],
  ["globex", "bob"],
] as const) {
  const tenant = await seedTenant(database.sql, { slug });
  const user = await seedUser(database.sql, tenant, { subject, role: "owner" });
  await database.sql.begin(async sql => {
    await sql`select app.set_tenant(${tenant})`;
    await sql`select app.create_sample_data(${tenant}, ${user})`;
  });
}
after(() => database.drop());

/** As psql prints it, errors in their place. */
function inPsql(session: string): string {
  const { stdout, status } = spawnSync("sh", ["-c", 'psql --no-psqlrc "$0" 2>&1', database.urls.root], {
    input: session,
    encoding: "utf8",
    env: { ...process.env, PGOPTIONS: "-c client_min_messages=warning", LC_ALL: "C.UTF-8" },
  });
  assert.equal(status, 0, stdout);
  return stdout;
}

/** What psql does beyond SQL in these sessions: \gset and :'name'. Errors that the page shows must happen. */
async function throughDriver(session: string, printed: string): Promise<void> {
  const sql = postgres(database.urls.root, { max: 1, onnotice: () => {} });
  const variables = new Map<string, string>();
  const expected = [...printed.matchAll(/^ERROR: {2}(.+)$/gm)].map(([, message]) => message);
  const met: string[] = [];
  try {
    for (const statement of session
      .replaceAll(/^\\.*\n/gm, "")
      .split(/(?:;|(?<=\\gset))\s*\n/)
      .filter(text => text.trim())) {
      const text = statement.replaceAll(/:'(\w+)'/g, (_all, name: string) => `'${variables.get(name)}'`);
      const [query, gset] = text.split("\\gset");
      const rows = await sql
        .unsafe(query!)
        .simple()
        .catch((error: Error) => {
          met.push(error.message);
          return [];
        });
      if (gset !== undefined)
        for (const [name, value] of Object.entries(rows[0]!)) variables.set(name, String(value));
    }
  } finally {
    await sql.end();
  }
  assert.deepEqual(met, expected);
}

let title = "";
let number = 0;
for (const [, heading, session, printed] of sessions) {
  if (heading) {
    title = heading;
    number = 0;
    continue;
  }
  test(`docs/guides/psql.md, ${title} (${++number}), runs ${hasPsql ? "in psql and prints" : "through the driver as psql is not installed"}`, async () => {
    if (!hasPsql) return throughDriver(session!, printed!);
    assert.equal(inPsql(session!), printed);
  });
}

test("every session of the page is run", () => {
  assert.equal(sessions.filter(([, , session]) => session).length, PAGE.split("```sql\n").length - 1);
});
