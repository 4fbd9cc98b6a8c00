/** What the release says of itself is what db/install.sql makes. `UPDATE_DOCS=1` writes the manifests and db/release.json again. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, test } from "node:test";
import { MANIFESTS, manifestLines, toTsv } from "../../src/migrate/objects.ts";
import { RELEASE, RELEASE_JSON, releaseHash } from "../../src/migrate/release.ts";
import { createDatabase } from "../harness.ts";

const AGAIN = "write it again: npm run release";

const database = await createDatabase();
const core = await createDatabase({ sampleProduct: false });
after(() => Promise.all([database.drop(), core.drop()]));

test("the two manifests list what decides who sees what: in the core, and beside it in the sample product", async () => {
  const all = toTsv(await database.sql.begin(manifestLines)).split(/(?<=\n)/);
  const written = {
    core: toTsv(await core.sql.begin(manifestLines)).split(/(?<=\n)/),
    product: [] as string[],
  };
  written.product = all.filter(line => !written.core.includes(line));
  assert.ok(written.core.length > 600 && written.product.length > 100);
  assert.deepEqual(
    written.core.filter(line => !all.includes(line)),
    [],
    "the product changes nothing of the core",
  );
  for (const name of ["core", "product"] as const) {
    if (process.env.UPDATE_DOCS) await writeFile(MANIFESTS[name], written[name].join(""));
    else assert.equal(await readFile(MANIFESTS[name], "utf8"), written[name].join(""), AGAIN);
  }
});

test("db/release.json has the hash of the files, and a number that grows when they change", async () => {
  const hash = releaseHash();
  if (process.env.UPDATE_DOCS && hash !== RELEASE.hash)
    await writeFile(RELEASE_JSON, `{ "number": ${RELEASE.number + 1}, "hash": "${hash}" }\n`);
  else assert.equal(RELEASE.hash, hash, AGAIN);
});

test("no function of the release passes an untyped null to another, which an overload could take", async () => {
  const bodies = await database.sql<{ name: string; body: string }[]>`
    select oid::regproc::text as name, prosrc as body from pg_proc
    where pronamespace::regnamespace::text in ('app', 'api', 'control', 'audit') and prolang <> 13`;
  assert.ok(bodies.length > 200);
  const untyped = bodies.flatMap(({ name, body }) =>
    [...body.matchAll(/\b(?:app|api|control|audit)\.\w+\s*\(([^()]*)\)/g)]
      .filter(([, list]) => list!.split(",").some(value => /^\s*(\w+\s*=>\s*)?null\s*$/i.test(value)))
      .map(([call]) => `${name}: ${call}`),
  );
  assert.deepEqual(untyped, []);
});

test("every function, table and view of the service's schemas says what it is", async () => {
  const silent = await database.sql`
    select oid::regprocedure::text as name from pg_proc
    where pronamespace::regnamespace::text in ('app', 'api', 'control', 'audit') and obj_description(oid, 'pg_proc') is null
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = pg_proc.oid and d.deptype = 'e')
    union all
    select oid::regclass::text from pg_class
    where relnamespace::regnamespace::text in ('app', 'api', 'control', 'audit') and relkind in ('r', 'p', 'v')
      and obj_description(oid, 'pg_class') is null`;
  assert.deepEqual([...silent], []);
});
