import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { createDatabase, type Database, seedTenant, seedUser, token } from "../harness.ts";
import { outcome, tenancy } from "./command.ts";

let database: Database;
let env: Record<string, string>;
const folder = mkdtempSync(path.join(tmpdir(), "tms-tools-"));
before(async () => {
  database = await createDatabase();
  env = { DATABASE_URL: database.urls.owner, SERVICE_MULTI_TENANT_MODE: "true" };
  const acme = await seedTenant(database.sql, { slug: "acme", name: "Acme" });
  await seedUser(database.sql, acme, { subject: "alice", role: "owner" });
});
after(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});
const run = (...args: string[]) => outcome(tenancy(args, env));

test("export writes a file that only its owner reads; import makes the tenant anew, under another slug", async () => {
  const file = path.join(folder, "acme.jsonl");
  const exported = await run("export", "--tenant", "acme", "--output", file);
  assert.equal(exported.code, 0, exported.stderr);
  assert.match(exported.stderr, /^Wrote acme to .*acme\.jsonl, \d+ bytes$/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const again = await run("export", "--tenant", "acme", "--output", file);
  assert.deepEqual([again.code, /EEXIST/.test(again.stderr)], [1, true]);
  const imported = await run("import", file, "--slug", "acme-2", "--json");
  assert.equal(imported.code, 0, imported.stderr);
  const { slug, counts } = JSON.parse(imported.stdout) as { slug: string; counts: Record<string, number> };
  assert.deepEqual([slug, counts["app.users"]], ["acme-2", 1]);
});

test("export to standard output is the file and nothing else", async () => {
  const { code, stdout } = await run("export", "--tenant", "acme");
  assert.equal(code, 0);
  assert.equal(JSON.parse(stdout.trim().split("\n").at(-1)!).end, true);
});

test("a tenant that is not there leaves no file; a broken file changes nothing", async () => {
  const file = path.join(folder, "nobody.jsonl");
  const { code, stderr } = await run("export", "--tenant", "nobody", "--output", file);
  assert.deepEqual([code, stderr], [1, "There is no tenant with the slug nobody"]);
  assert.throws(() => readFileSync(file), /ENOENT/);
  writeFileSync(file, "{}\n");
  const imported = await run("import", file);
  assert.deepEqual([imported.code, imported.stderr], [1, "The file is not a tenant's export"]);
  assert.equal((await run("import", path.join(folder, "missing"))).code, 1);
  assert.match((await run("import", file, "--slug", "Not A Slug")).stderr, /lowercase letters/);
});

test("explain says why, by slug and identity, by claims and by token", async () => {
  const refused = await run("explain", "--tenant", "acme", "--subject", "bob");
  assert.equal(refused.code, 0, refused.stderr);
  assert.match(refused.stdout, /^Refused: bob of jwt is not a member of the tenant\n/);
  assert.match(refused.stdout, /app\.users +forced +1 +0/);
  const claims = await run("explain", "--claims", '{"sub":"alice","org":"Acme"}');
  assert.match(
    claims.stdout,
    /^Allowed: alice is a member of the tenant, as owner\n(.*\n)*.*named by organization/,
  );
  const signed = await token({ sub: "alice", tenant: "acme" });
  const byToken = await run("explain", "--token", signed, "--json");
  assert.equal(JSON.parse(byToken.stdout).tenant.source, "tenant");
  const nowhere = await run("explain", "--claims", '{"sub":"alice"}');
  assert.match(
    nowhere.stdout,
    /^Refused: The X-Tenant header is required .* \(400 Missing X-Tenant header\)$/m,
  );
  const header = await run("explain", "--claims", '{"sub":"alice"}', "--tenant", "acme", "--json");
  assert.deepEqual(JSON.parse(header.stdout).allowed, true);
  assert.match((await run("explain", "--claims", "[1]")).stderr, /--claims takes a JSON object/);
});

test("events prints what happened, of one tenant on request, and follows", async () => {
  const { sql } = database;
  const all = await run("events", "--tenant", "acme");
  assert.match(
    all.stdout,
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}created {5}acme \(Acme\) {2}by the login postgres$/m,
  );
  assert.doesNotMatch(all.stdout, /acme-2/);
  const json = await run("events", "--last", "1", "--json");
  assert.equal(json.stdout.trim().split("\n").length, 1);
  assert.equal(JSON.parse(json.stdout).event, "imported");
  const following = tenancy(["events", "--follow", "--last", "1", "--tenant", "globex"], env);
  await seedTenant(sql, { slug: "other" });
  await seedTenant(sql, { slug: "globex", name: "Globex" });
  await following.prints(/created {5}globex/);
  await sql`update app.tenants set slug = 'globex-2' where slug = 'globex'`;
  await sql`delete from app.tenants where slug = 'globex-2'`;
  await following.prints(/updated {5}globex-2 \(Globex\) slug .*\n.*deleted {5}globex-2/);
  assert.doesNotMatch(following.stdout, /other|acme/);
  following.child.kill("SIGTERM");
  await following.ended;
});

test("a database that is not named says which variable is missing", async () => {
  env = { SERVICE_DATABASE_URL: database.urls.service };
  const { code, stderr } = await run("events");
  assert.equal(code, 1);
  assert.match(stderr, /^DATABASE_URL, tms_owner's login, is missing/);
  for (const command of ["events", "audit", "migrate"]) {
    env = { DATABASE_URL: "nonsense", SERVICE_DEBUG: "false" };
    const { stderr } = await run(command);
    assert.match(stderr, /DATABASE_URL\b.*postgres:\/\//, command);
    assert.doesNotMatch(stderr, /^ +at /m, "no stack");
  }
  env = { DATABASE_URL: database.urls.owner, ROOT_DATABASE_URL: "nonsense" };
  assert.match((await run("migrate")).stderr, /^ROOT_DATABASE_URL: expected an address/);
});

test("completion prints a script, and completes commands", async () => {
  env = {};
  const { code, stdout } = await run("completion");
  assert.equal(code, 0);
  assert.match(stdout, /complete .* tenancy/);
  const { stdout: words } = await run("--get-yargs-completions", "tenancy", "ex");
  assert.match(words, /explain/);
  assert.match(words, /export/);
});
