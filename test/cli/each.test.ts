/** `tenancy each`: a command in each tenant, and what becomes of those that fail. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, test } from "node:test";
import { createDatabase, requireProofs, seedTenant, seedUser } from "../harness.ts";
import { outcome, tenancy } from "./command.ts";

const database = await createDatabase();
const { sql } = database;
const ids: Record<string, string> = {};
after(() => database.drop());
before(async () => {
  for (const slug of ["beta", "acme"]) {
    ids[slug] = await seedTenant(sql, { slug });
    await seedUser(sql, ids[slug], { subject: `ann of ${slug}` });
  }
  await seedTenant(sql, { slug: "suspended", status: "suspended" });
});
const run = (...command: string[]) =>
  outcome(
    tenancy(["each", "--", ...command], { DATABASE_URL: database.urls.owner, PGOPTIONS: "-c jit=off" }),
  );

test("each runs the command once in each active tenant, with the tenant in its environment", async () => {
  const { code, stdout, stderr } = await run(
    process.execPath,
    "-p",
    "[process.env.TENANT_SLUG, process.env.TENANT_ID, process.env.PGOPTIONS].join()",
  );
  assert.equal(code, 0, stderr);
  const options = (id: string) =>
    `-c jit=off -c app.require_tenant=on -c role=tms_app -c app.tenant_id=${id}`;
  assert.deepEqual(
    stdout.split("\n"),
    ["acme", "beta"].map(slug => `${slug},${ids[slug]},${options(ids[slug]!)}`),
  );
  assert.equal(stderr, "tenant acme\ntenant beta\nDone in 2 tenants");
});

test("a tenant whose command fails is named, the others go on, and each fails", async () => {
  const { code, stdout, stderr } = await run("sh", "-c", 'echo "$TENANT_SLUG"; test "$TENANT_SLUG" != acme');
  assert.deepEqual([code, stdout], [1, "acme\nbeta"]);
  assert.match(stderr, /^Failed in 1 of 2 tenants: acme \(status 1\)$/m);
  const missing = await run("no-such-program");
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /no-such-program does not start: /);
});

const hasPsql = spawnSync("psql", ["--version"]).status === 0;
const psql = [database.urls.owner, "-XAtc", "select current_user, auth_subject from app.users"];

test("psql works as tms_app in the tenant", { skip: !hasPsql && "psql is not installed" }, async () => {
  const { code, stdout, stderr } = await run("psql", ...psql);
  assert.deepEqual([code, stdout], [0, "tms_app|ann of acme\ntms_app|ann of beta"], stderr);
});

test("where the database asks for proofs, psql that enters no tenant fails", {
  skip: !hasPsql && "psql is not installed",
}, async () => {
  await requireProofs(database);
  const forgot = await run("psql", database.urls.owner, "-XAtc", "set role tms_app", "-c", "table app.users");
  assert.equal(forgot.code, 1);
  assert.match(forgot.stderr, /no tenant was entered/);
  const entered = await run(
    "sh",
    "-c",
    `psql '${database.urls.owner}' -XAtq <<'end'
    \\set ON_ERROR_STOP on
    \\getenv id TENANT_ID
    begin; select from app.set_tenant(:'id'); set local role tms_app; select auth_subject from app.users; commit;
end`,
  );
  assert.deepEqual([entered.code, entered.stdout], [0, "ann of acme\nann of beta"], entered.stderr);
});
