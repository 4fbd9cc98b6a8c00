/** What TypeScript knows of the functions of `api` is what the catalog has. `UPDATE_DOCS=1` writes src/database/api-functions.ts again. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { API_FUNCTIONS } from "../../src/database/api-functions.ts";
import * as operations from "../../src/http/operations.ts";
import * as product from "../../src/product/operations.ts";
import { createDatabase } from "../harness.ts";

const FILE = path.resolve(import.meta.dirname, "../../src/database/api-functions.ts");
const AGAIN = "write it again: npm run release";

const database = await createDatabase();
after(() => database.drop());

const inCatalog = await database.sql<{ name: string; parameters: Record<string, string> }[]>`
  select p.proname as name,
         coalesce(json_object_agg(regexp_replace(a.name, '^p_', ''), a.type order by a.n) filter (where a.name is not null), '{}') as parameters
  from pg_proc p
  left join lateral (
    select p.proargnames[n] as name, format_type(t, null) as type, n
    from unnest(p.proargtypes) with ordinality as i (t, n)) a on true
  where p.pronamespace = 'api'::regnamespace and has_function_privilege('tms_service', p.oid, 'execute')
  group by p.oid, p.proname
  order by p.proname`;

test("every function that the service may call is known by its parameters and their types", async () => {
  if (process.env.UPDATE_DOCS) {
    const lines = inCatalog.map(({ name, parameters }) => `  ${name}: ${JSON.stringify(parameters)},`);
    await writeFile(
      FILE,
      `/**
 * The functions of the schema \`api\`: their parameters without \`p_\`, and the types of those. From the catalog:
 * \`npm run release\` writes it again.
 */
export const API_FUNCTIONS = {
${lines.join("\n")}
} as const;
`,
    );
    execFileSync("npx", ["biome", "format", "--write", realpathSync(FILE)]);
  } else
    assert.deepEqual(
      API_FUNCTIONS,
      Object.fromEntries(inCatalog.map(({ name, parameters }) => [name, { ...parameters }])),
      AGAIN,
    );
  assert.ok((await readFile(FILE, "utf8")).includes("list_boards"));
});

test("a function of a name has no other of the same name beside it", () => {
  const names = inCatalog.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
});

test("every operation calls a function that takes its caller", () => {
  const all = [operations, operations.moves, product].flatMap(entries => Object.values(entries)) as {
    config?: { calls?: string; dryRun?: { calls: string }; purge?: { calls: string } };
  }[];
  const called = all
    .flatMap(({ config }) => [config?.calls, config?.dryRun?.calls, config?.purge?.calls])
    .filter(calls => calls);
  assert.ok(called.length > 40);
  const inDatabase = new Map(inCatalog.map(({ name, parameters }) => [name, parameters.caller]));
  for (const calls of called) assert.equal(inDatabase.get(calls!), "app.caller", calls);
});

test("every function that a request calls sets row_security itself, whatever another client of a pooler left behind", async () => {
  const without = await database.sql<{ name: string }[]>`
    select p.proname as name from pg_proc p
    where p.pronamespace = 'api'::regnamespace and 'row_security=on' <> all (coalesce(p.proconfig, '{}'))`;
  // These the service calls for itself: it does not start, and is not ready, where row_security is off.
  assert.deepEqual(without.map(({ name }) => name).toSorted(), [
    "ensure_default_tenant",
    "get_context_faults",
    "get_login_faults",
    "get_readiness",
    "get_release",
  ]);
});
