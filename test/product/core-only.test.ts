/** A database without the sample product, and one that drops it: what is left is whole. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { isOfAnotherTest } from "../audit/tenants.ts";
import { outcome, tenancy } from "../cli/command.ts";
import { createDatabase, createService, type Database, seedTenant, seedUser } from "../harness.ts";
import { operator, person } from "../http/world.ts";
import { catalogOf } from "../migrations/catalog.ts";
import { until } from "../until.ts";

const OF_THE_PRODUCT = /\bboards?\b|\bboard_|generation|\bmedia|provider_config|credit/i;

const core = await createDatabase({ sampleProduct: false });
const service = await createService(core);
const full = await createDatabase();
after(async () => {
  await service.close();
  await core.drop();
  await full.drop();
});

const run = (args: string[], { urls }: Database, env: Record<string, string> = {}) =>
  outcome(tenancy(args, { DATABASE_URL: urls.owner, ...env }));

async function ask(method: "GET" | "POST" | "PATCH" | "DELETE", url: string, token: string, body?: object) {
  const answer = await service.request({ method, url, token, body, undocumented: url === "/api/boards" });
  return { status: answer.status, body: answer.body };
}

test("no table, function or view of it is there, and no text of a function speaks of it", async () => {
  assert.deepEqual(
    (await catalogOf(core.sql)).filter(line => OF_THE_PRODUCT.test(line)),
    [],
  );
  const bodies = await core.sql<{ name: string; body: string }[]>`
    select oid::regprocedure::text as name, pg_get_functiondef(oid) as body from pg_proc
    where pronamespace::regnamespace::text in ('app', 'api', 'control') and prokind = 'f'`;
  assert.deepEqual(
    bodies.filter(({ body }) => OF_THE_PRODUCT.test(body.replaceAll(/--.*$/gm, ""))).map(({ name }) => name),
    [],
  );
});

test("a tenant lives there: created, joined, asked by GraphQL, left, and deleted", async () => {
  const made = await ask("POST", "/api/setup/tenant", await operator(), {
    name: "Acme",
    slug: "acme",
    include_sample_data: true,
    owner: { auth_subject: "alice" },
  });
  assert.equal(made.status, 201);
  const alice = await person("alice", "acme");
  const joined = await ask("POST", "/api/tenants/members", alice, { auth_subject: "bob", role: "member" });
  assert.equal(joined.status, 201);
  const registered = await ask("POST", "/api/tenants/register", await person("carol", "hooli"), {
    organization_name: "Hooli",
    organization_slug: "hooli",
    admin_email: "carol@hooli.example",
  });
  assert.equal(registered.status, 201);
  assert.deepEqual(
    (await ask("POST", "/graphql", alice, { query: "{ tenant { slug } membership { role } }" })).body,
    { data: { tenant: { slug: "acme" }, membership: { role: "owner" } } },
  );
  const query = await ask("POST", "/graphql", alice, { query: "{ boards { title } }" });
  assert.deepEqual(
    [query.status, query.body.errors[0].message],
    [400, 'Cannot query field "boards" on type "Query".'],
  );
  assert.equal((await ask("GET", "/api/boards", alice)).status, 404);
  const bob = joined.body.user_id as string;
  assert.equal((await ask("DELETE", `/api/tenants/members/${bob}`, alice)).status, 200);
  const deleted = await ask("DELETE", `/api/setup/tenant/${made.body.tenant_id}`, await operator());
  assert.equal(
    deleted.body.warning,
    "All related data has been permanently deleted: api keys, invitations, users",
  );
  assert.equal((await ask("GET", "/api/tenants/current", alice)).status, 403);
});

test("its document has nothing of the product, and every example of a body in it is taken", async () => {
  const { body: document } = await service.request({ url: "/openapi.json" });
  const text = JSON.stringify(document);
  const found = text.match(
    /.{30}(?:\bboards?\b|generations|\bmedia\b(?! type)|credits|provider conf).{30}/gi,
  );
  assert.equal(found, null);
  const tenant = await seedTenant(core.sql, { slug: "shown" });
  await seedUser(core.sql, tenant, { subject: "dora", role: "owner" });
  const { example } = document.paths["/graphql"].post.requestBody.content["application/json"];
  const answer = await ask("POST", "/graphql", await person("dora", "shown"), example);
  assert.deepEqual(answer.body, { data: { tenant: { name: "shown", slug: "shown" } } });
});

test("the console does not offer sample data", async () => {
  const { body } = await service.request({ url: "/console/", undocumented: true });
  assert.match(body as string, /&#34;sampleData&#34;:false/);
});

test("the audit finds nothing, and asks nothing of the product", async () => {
  const { code, stdout, stderr } = await run(["audit", "--format", "json"], core);
  assert.equal(stderr, "");
  const { checks, findings } = JSON.parse(stdout) as {
    checks: { check: string }[];
    findings: { check: string; severity: string; row: { object?: string } }[];
  };
  // A given server may be an older minor release, which is an error.
  assert.ok(code === 0 || findings.some(({ check }) => check === "server_version"));
  assert.deepEqual(
    findings.filter(
      ({ check, severity, row }) =>
        severity === "error" && check !== "server_version" && !isOfAnotherTest(row.object ?? null),
    ),
    [],
  );
  const names = checks.map(({ check }) => check);
  assert.ok(names.includes("slug_twice") && names.includes("not_as_released"));
  assert.deepEqual(
    names.filter(name => /board|content_|credit/.test(name)),
    [],
  );
});

test("a table of one's own may have the name of one of the product's", async () => {
  const owner = postgres(core.urls.owner, { max: 1, onnotice: () => {} });
  await owner.unsafe(
    "create table app.boards (tenant_id uuid not null, id int not null, primary key (tenant_id, id)); select app.isolate('app.boards')",
  );
  const migrated = await run(["migrate", "--reinstall"], core);
  await owner`drop table app.boards`;
  await owner.end();
  assert.deepEqual([migrated.code, migrated.stderr], [0, ""]);
});

test("migrate keeps what a database has, says what that is, and refuses a variable that contradicts it", async () => {
  const lines = async (database: Database, env = {}) =>
    (await run(["migrate", "--status"], database, env)).stdout.match(/^.*the sample product.*$/m)?.[0];
  const what = "the sample product: boards and what belongs to them";
  assert.deepEqual([await lines(core), await lines(full)], [`left out  ${what}`, `installed  ${what}`]);
  for (const [database, value] of [
    [core, "false"],
    [full, "true"],
  ] as const)
    assert.equal((await run(["migrate"], database, { SERVICE_SAMPLE_PRODUCT: value })).stderr, "");
  for (const command of [["migrate"], ["migrate", "--dry-run"]]) {
    const refused = await run(command, full, { SERVICE_SAMPLE_PRODUCT: "false" });
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^SERVICE_SAMPLE_PRODUCT is false, and the database has the sample product\. Unset .*--drop-sample-product --dry-run/,
    );
    const other = await run(command, core, { SERVICE_SAMPLE_PRODUCT: "true" });
    assert.equal(other.code, 1);
    assert.match(other.stderr, /^SERVICE_SAMPLE_PRODUCT is true, and the database was made without /);
  }
  assert.equal((await full.sql`select from pg_class where oid = to_regclass('app.boards')`).length, 1);
});

test("a dry run on a new database says whether it would get the product", async () => {
  const name = `${core.name}_new`;
  await core.sql`create database ${core.sql(name)} owner tms_owner`;
  const url = Object.assign(new URL(core.urls.owner), { pathname: `/${name}` }).href;
  const planned = async (env: Record<string, string>) => {
    const { stdout, stderr } = await outcome(
      tenancy(["migrate", "--dry-run"], { DATABASE_URL: url, ...env }),
    );
    return stdout + stderr;
  };
  const [kept, left] = [await planned({}), await planned({ SERVICE_SAMPLE_PRODUCT: "false" })];
  await core.sql`drop database ${core.sql(name)} with (force)`;
  assert.match(kept, /^pending {2}the sample product/m);
  assert.match(left, /^left out {2}the sample product/m);
  for (const text of [kept, left]) assert.match(text, /^The gate passes\. Nothing was changed$/m);
});

test("a file of a tenant with boards is refused where there are none", async () => {
  const id = await seedTenant(full.sql, { slug: "moved" });
  const user = await seedUser(full.sql, id, { subject: "ada", role: "owner" });
  await full.sql.begin(async tx => {
    await tx`select set_config('app.tenant_id', ${id}, true)`;
    await tx`select app.create_sample_data(${id}, ${user})`;
  });
  const { stdout, stderr: fault } = await run(["export", "--tenant", "moved"], full);
  assert.equal(fault, "");
  const file = `${process.env.TMPDIR ?? "/tmp"}/${core.name}.ndjson`;
  const { writeFileSync, rmSync } = await import("node:fs");
  writeFileSync(file, stdout);
  const { code, stderr } = await run(["import", file], core);
  rmSync(file);
  assert.equal(code, 1);
  assert.match(stderr, /^This database has no table app\.\w+, and the file .* has one$/);
});

test("the product is dropped once it is confirmed, with what it counts, and leaves the catalog of a core", async () => {
  const drop = (...flags: string[]) => run(["migrate", "--drop-sample-product", ...flags], full);
  const would =
    /^\d+ rows would be deleted, for good: app\.boards 1, app\.board_members 0, app\.generations 3, /;
  const before = await catalogOf(full.sql);
  const holder = await full.sql.reserve();
  await holder.unsafe(
    "select pg_advisory_lock(8624367002); begin; lock table app.media in row exclusive mode",
  );
  const unconfirmed = await drop();
  assert.equal(unconfirmed.code, 1);
  assert.match(unconfirmed.stdout, would);
  assert.equal(unconfirmed.stderr, "Nothing was changed: take a backup, then add --yes");
  await holder`commit`;
  const waits = tenancy(["migrate", "--drop-sample-product", "--dry-run"], { DATABASE_URL: full.urls.owner });
  const turn = /^Another process is migrating this database; waiting for it to end: process/;
  await until("it waits for the turn of migrate", () => turn.test(waits.stderr));
  await holder`select pg_advisory_unlock(8624367002)`;
  holder.release();
  assert.equal(await waits.ended, 0);

  const dry = await drop("--dry-run");
  assert.deepEqual([dry.code, dry.stdout.split("\n").length], [0, 2]);
  assert.match(dry.stdout, would);
  const owner = postgres(full.urls.owner, { max: 1, onnotice: () => {} });
  await owner.unsafe(`create table app.pins (tenant_id uuid not null, board_id uuid not null, primary key (tenant_id, board_id),
    foreign key (tenant_id, board_id) references app.boards (tenant_id, id)); select app.isolate('app.pins')`);
  const built = await drop("--yes");
  assert.match(
    built.stdout + built.stderr,
    /^The sample product was not dropped, and nothing was changed: cannot drop desired object\(s\) .*pins/,
  );
  await owner`drop table app.pins`;
  await owner.end();
  assert.deepEqual(await catalogOf(full.sql), before);

  const done = await drop("--yes");
  assert.deepEqual([done.code, done.stderr], [0, ""]);
  assert.match(done.stdout, /^10 rows are deleted, for good: app\.boards 1, /);
  assert.deepEqual(await catalogOf(full.sql), await catalogOf(core.sql));
  assert.match((await drop("--dry-run")).stderr, /^The database has no sample product$/);
  assert.equal((await run(["migrate", "--status"], full)).code, 0);
  const after = await createService(full);
  assert.equal((await after.request({ url: "/ready" })).status, 200);
  await after.close();
});
