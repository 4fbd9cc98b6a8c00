/** What the release says of itself is what db/install.sql makes. `UPDATE_DOCS=1` writes db/audit/manifest.sql and db/release.json again. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, test } from "node:test";
import { MANIFEST_SQL, writtenManifest } from "../../src/migrate/manifest.ts";
import { MANIFEST_TSV, manifestLines, toTsv } from "../../src/migrate/objects.ts";
import { RELEASE, RELEASE_JSON, releaseHash } from "../../src/migrate/release.ts";
import { createDatabase } from "../harness.ts";

const AGAIN = "write it again: npm run release";

const database = await createDatabase();
after(() => database.drop());

test("audit.manifest() lists every function and trigger that the release makes", async () => {
  const written = await writtenManifest(database.sql);
  assert.ok(written.split("\n").length > 150);
  if (process.env.UPDATE_DOCS) await writeFile(MANIFEST_SQL, written);
  else assert.equal(await readFile(MANIFEST_SQL, "utf8"), written, AGAIN);
});

test("db/audit/next/manifest.tsv lists what decides who sees what", async () => {
  const written = toTsv(await database.sql.begin(manifestLines));
  assert.ok(written.split("\n").length > 700);
  if (process.env.UPDATE_DOCS) await writeFile(MANIFEST_TSV, written);
  else assert.equal(await readFile(MANIFEST_TSV, "utf8"), written, AGAIN);
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

test("audit.template_rights() lists what the migrations grant, but for what app.isolate() does", async () => {
  const differences = await database.sql`
    with template as (
      select role, kind, object, upper(p) as privilege
      from audit.template_rights() cross join lateral string_to_table(rights, ', ') p
    ), granted as (
      select audit.role_name(a.grantee) as role, 'schema' as kind, n.nspname::text as object, a.privilege_type
      from pg_namespace n cross join lateral aclexplode(n.nspacl) a
      where n.nspname in ('app', 'api', 'control', 'audit') and a.grantee <> n.nspowner
      union all
      select audit.role_name(a.grantee), case c.relkind when 'v' then 'view' else 'table' end, c.oid::regclass::text, a.privilege_type
      from pg_class c cross join lateral aclexplode(c.relacl) a
      where c.relnamespace::regnamespace::text in ('app', 'control', 'audit') and a.grantee <> c.relowner
        and not (c.relnamespace = 'app'::regnamespace and c.relname <> 'tenants'
          and a.grantee in ('tms_app'::regrole, 'tms_auditor'::regrole))
    )
    select 'missing' as fault, * from (select * from template except select * from granted) m
    union all
    select 'unlisted', * from (select * from granted except select * from template) u`;
  assert.deepEqual([...differences], []);
});

test("every function, table and view of the service's schemas says what it is", async () => {
  const silent = await database.sql`
    select oid::regprocedure::text as name from pg_proc
    where pronamespace::regnamespace::text in ('app', 'api', 'control', 'audit') and obj_description(oid, 'pg_proc') is null
      and oid not in (select audit.of_extensions('pg_proc'))
    union all
    select oid::regclass::text from pg_class
    where relnamespace::regnamespace::text in ('app', 'api', 'control', 'audit') and relkind in ('r', 'p', 'v')
      and obj_description(oid, 'pg_class') is null`;
  assert.deepEqual([...silent], []);
});
