/** The helpers of examples/testing, in the suites that they are for: pytest and pgTAP. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { built } from "../cli/command.ts";
import { temporaryFolder } from "../folder.ts";
import { createDatabase, seedTenant } from "../harness.ts";

const source = path.join(built, "examples/testing");
const folder = temporaryFolder("testing");
const database = await createDatabase();
const { sql } = database;
const url = database.urls.root;
const at = new URL(url);
const env = {
  ...process.env,
  TENANCY: `${process.execPath} ${path.join(built, "dist/cli.js")}`,
  AUDIT_URL: url,
  AUDIT_OPTIONS: "--as-superuser",
  PGHOST: at.hostname,
  PGPORT: at.port,
  PGUSER: at.username,
  PGPASSWORD: at.password,
  PGDATABASE: database.name,
  PYTHONPATH: source,
  PYTHONDONTWRITEBYTECODE: "1",
};

const DRIVERS = ["psycopg", "psycopg2"];
const python = ["/usr/bin/python3", "python3"].find(one =>
  DRIVERS.some(driver => spawnSync(one, ["-c", `import pytest, ${driver}`]).status === 0),
);
const withoutPython =
  !python && "no Python with pytest and psycopg (Debian: apt-get install python3-pytest python3-psycopg)";
const PGTAP = "/usr/share/postgresql";
const pgtap = readdirSync("/usr/share", { withFileTypes: true }).some(({ name }) => name === "postgresql")
  ? readdirSync(PGTAP).flatMap(version => {
      const extension = path.join(PGTAP, version, "extension");
      return readdirSync(extension)
        .filter(name => /^pgtap--[\d.]+\.sql$/.test(name))
        .map(name => path.join(extension, name));
    })[0]
  : undefined;
const withoutPgtap =
  (!pgtap || spawnSync("pg_prove", ["--version"]).status !== 0) &&
  "no pgTAP with pg_prove (Debian: apt-get install postgresql-15-pgtap)";

before(async () => {
  for (const slug of ["acme", "beta"]) await seedTenant(sql, { slug });
  await sql.unsafe(`create schema shop; grant usage on schema shop to tms_app, tms_auditor;
    create table shop.invoices (tenant_id uuid not null, number text not null, primary key (tenant_id, number));
    create table shop.drafts (like shop.invoices including all);
    create table shop.countries (code text primary key);
    alter table shop.invoices owner to tms_owner; alter table shop.drafts owner to tms_owner;
    select app.isolate('shop.invoices'), app.isolate('shop.drafts');
    alter policy tenant_only on shop.drafts using (tenant_id = (select app.tenant_id()) and number <> '');
    insert into shop.invoices select id, n from app.tenants, unnest(array['1', '2']) n`);
});
after(async () => {
  await database.drop();
});

/** While the policy of the invoices shows every row. */
async function whileOpen(work: () => void) {
  await sql`alter policy tenant_only on shop.invoices using (true)`;
  try {
    work();
  } finally {
    await sql`select app.isolate('shop.invoices')`;
  }
}

function pytest(body: string): string {
  const file = path.join(folder, "test_shop.py");
  writeFileSync(
    file,
    `from tenancy_checks import assert_isolated, assert_pool_clean\nURL = ${JSON.stringify(url)}\n${body}`,
  );
  const args = ["-m", "pytest", "-q", "-p", "no:cacheprovider", file];
  const { stdout, stderr } = spawnSync(python!, args, { cwd: folder, env, encoding: "utf8" });
  return stdout + stderr;
}
const isolated = (relation: string) =>
  pytest(`def test_isolated(): assert_isolated(URL, ${relation}, "--as-superuser")`);

test("pytest: assert_isolated passes for an isolated table only, and fails if it could prove nothing", {
  skip: withoutPython,
}, async () => {
  assert.match(isolated(`"shop.invoices"`), /\b1 passed/);
  assert.match(isolated(`"shop.drafts"`), /# SKIP not proved.*[\s\S]*1 failed/);
  assert.match(isolated(`"shop.countries"`), /Nothing was proved[\s\S]*1 failed/);
  assert.match(isolated("None"), /shop\.drafts[\s\S]*1 failed/);
  await whileOpen(() => assert.match(isolated(`"shop.invoices"`), /not ok[\s\S]*1 failed/));
});

for (const driver of DRIVERS)
  test(`pytest: assert_pool_clean names what a connection of ${driver} kept, and fails for an empty pool`, {
    skip:
      withoutPython ||
      (spawnSync(python!, ["-c", `import ${driver}`]).status !== 0 && `no ${driver} for ${python}`),
  }, () => {
    const output = pytest(`
import pytest, ${driver}
@pytest.fixture
def connection():
    c = ${driver}.connect(URL)
    yield c
    c.close()
def run(c, statement):
    c.cursor().execute(statement)
    return c
def committed(c, statement):
    run(c, statement).commit()
    return c
def test_clean(connection): assert_pool_clean([committed(connection, "set local app.tenant_id = 'x'")])
def test_none(): assert_pool_clean([])
def test_tenant(connection): assert_pool_clean([committed(connection, "set app.tenant_id = 'x'")])
def test_role(connection): assert_pool_clean([committed(connection, "set role tms_app")])
def test_transaction(connection): assert_pool_clean([run(connection, "select 1")])
def test_table(connection): assert_pool_clean([committed(connection, "create temporary table kept ()")])
def test_lock(connection): assert_pool_clean([committed(connection, "select pg_advisory_lock(1)")])
`);
    assert.match(output, /6 failed, 1 passed/, output);
    for (const words of [
      "the pool has no connection",
      "has app.tenant_id = x",
      "is still tms_app",
      "is in a transaction",
      "has the temporary kept",
      "holds 1 advisory locks",
    ])
      assert.match(output, new RegExp(words, "i"));
  });

test("pgTAP: isolated.sql passes for an isolated table only, and fails if it could prove nothing", {
  skip: withoutPgtap,
}, async () => {
  // Functions only, so that any server can have it.
  await sql.unsafe("create schema tap");
  await sql.begin(async tx => {
    await tx.unsafe(
      `set local search_path = tap; ${readFileSync(pgtap!, "utf8").replaceAll(/^\\.*$/gm, "")}`,
    );
  });
  const prove = (relation: string, tests = 3) => {
    const file = path.join(folder, "shop.sql");
    writeFileSync(
      file,
      `begin;\nset local search_path = tap, public;\nselect plan(${tests});\n\\setenv RELATION ${relation}\n\\ir ${path.join(source, "isolated.sql")}\nselect * from finish();\nrollback;\n`,
    );
    const { stdout, stderr } = spawnSync("pg_prove", ["--verbose", file], {
      env,
      encoding: "utf8",
    });
    return stdout + stderr;
  };
  assert.match(prove("shop.invoices"), /Result: PASS/);
  assert.match(prove("shop.drafts"), /not ok 2 - no claim is left unproved[\s\S]*Result: FAIL/);
  assert.match(
    prove("shop.countries"),
    /not ok 3 - there is a relation of tenants to prove[\s\S]*Result: FAIL/,
  );
  await whileOpen(() =>
    assert.match(
      prove("shop.invoices"),
      /not ok 1 - each caller sees and writes the rows of their own tenants only[\s\S]*Result: FAIL/,
    ),
  );
});
