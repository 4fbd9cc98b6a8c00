/** The recipes of examples/orm, each with its library, directly and through PgBouncer. Their packages are not ours. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { built } from "../cli/command.ts";
import { type Pooler, startPgbouncer, withoutPgbouncer } from "../faults/pgbouncer.ts";
import { ALL, CONTEXT_SECRET, createDatabase, requireProofs, seedTenant, seedUser } from "../harness.ts";

const source = path.join(built, "examples/orm");
const folder = mkdtempSync(path.join(tmpdir(), "tms-orm-"));
const database = await createDatabase();
const shop = `shop_${database.name.slice(-8)}`;
const url = Object.assign(new URL(database.urls.root), { username: shop, password: "shop" }).href;
let pooler: Pooler | undefined;

/** Why the packages cannot be there. */
const npm = ALL && spawnSync("npm", ["ping", "--fetch-retries=0", "--fetch-timeout=5000"]).status !== 0;
const withoutNpm = npm && "npm's registry is out of reach";
const python = ["/usr/bin/python3", "python3"].find(
  one => spawnSync(one, ["-c", "import sqlalchemy, django, psycopg2"]).status === 0,
);
const withoutPython =
  !python &&
  "no Python with the packages (Debian: apt-get install python3-sqlalchemy python3-django python3-psycopg2)";

before(async () => {
  const { sql } = database;
  for (const slug of ["acme", "beta"])
    await seedUser(sql, await seedTenant(sql, { slug }), { subject: `ann of ${slug}` });
  await sql.unsafe(`create role ${shop} login noinherit password 'shop'; grant tms_app to ${shop};
    grant connect on database ${database.name} to ${shop}; alter role ${shop} set app.require_tenant = on`);
  await requireProofs(database);
  process.env.SERVICE_TENANT_CONTEXT_SECRET = CONTEXT_SECRET;
  if (!withoutPgbouncer) pooler = await startPgbouncer(url);
  if (withoutNpm) return;
  // `process.env.ORM_PACKAGES`: a folder where they are installed already.
  cpSync(source, folder, { recursive: true, dereference: true });
  if (process.env.ORM_PACKAGES)
    symlinkSync(path.join(process.env.ORM_PACKAGES, "node_modules"), path.join(folder, "node_modules"));
  else execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: folder });
  mkdirSync(path.join(folder, "node_modules"), { recursive: true });
  rmSync(path.join(folder, "node_modules/tenant-management-service"), { force: true });
  symlinkSync(built, path.join(folder, "node_modules/tenant-management-service"));
});
after(async () => {
  delete process.env.SERVICE_TENANT_CONTEXT_SECRET;
  await pooler?.stop();
  await database.sql.unsafe(`drop owned by ${shop}; drop role ${shop}`);
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Recipe<Db, Tx> {
  connect(url: string): Db | Promise<Db>;
  end(db: Db): Promise<void>;
  inTenant<T>(db: Db, caller: { slug: string; subject: string }, work: (tx: Tx) => Promise<T>): Promise<T>;
  members(tx: Tx): Promise<string[]>;
  renameSlowly(
    db: Db,
    caller: { slug: string; subject: string },
    slow: (seen: string[]) => Promise<string>,
  ): Promise<void>;
}

const ann = (slug: string) => ({ slug, subject: `ann of ${slug}` });
const names = async () =>
  (
    await database.sql<{ name: string }[]>`
      select coalesce(display_name, '-') as name from app.users order by auth_subject`
  ).map(({ name }) => name);
const addresses = () => [url, ...(pooler ? [pooler.url] : [])];
const codeOf = (error: unknown): string =>
  JSON.stringify(error, Object.getOwnPropertyNames(error)) + String((error as Error).cause ?? "");

async function tryRecipe<Db, Tx>(recipe: Recipe<Db, Tx>) {
  for (const address of addresses()) {
    await database.sql`update app.users set display_name = null`;
    const db = await recipe.connect(address);
    try {
      const seen = await Promise.all(
        Array.from({ length: 12 }, (_, i) => (i % 2 ? "acme" : "beta")).map(slug =>
          recipe.inTenant(db, ann(slug), async tx => [slug, await recipe.members(tx)]),
        ),
      );
      for (const [slug, subjects] of seen) assert.deepEqual(subjects, [`ann of ${String(slug)}`]);
      await assert.rejects(recipe.inTenant(db, { slug: "acme", subject: "mallory" }, recipe.members), error =>
        /does not belong to tenant/.test(codeOf(error)),
      );
      await assert.rejects(
        recipe.inTenant(db, ann("acme"), () => recipe.inTenant(db, ann("beta"), recipe.members)),
        /open already/,
      );
      await recipe.renameSlowly(db, ann("acme"), async subjects => {
        // No transaction is open meanwhile.
        assert.deepEqual(await recipe.inTenant(db, ann("beta"), recipe.members), ["ann of beta"]);
        return `once ${subjects.join()}`;
      });
      assert.deepEqual(await names(), ["once ann of acme", "-"]);
    } finally {
      await recipe.end(db);
    }
  }
}

for (const name of ["kysely", "knex", "drizzle", "typeorm", "prisma"])
  test(`${name}: in the caller's tenant only, not nested, and not during a slow call`, {
    skip: withoutNpm,
  }, async () => {
    if (name === "prisma")
      execFileSync("npx", ["--no", "prisma", "generate", "--schema", "prisma/schema.prisma"], {
        cwd: folder,
        // Else it is downloaded. Only migrations use it.
        env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true" },
        stdio: "pipe",
      });
    const file = pathToFileURL(path.join(folder, name, "in-tenant.mjs")).href;
    await tryRecipe((await import(file)) as Recipe<unknown, unknown>);
  });

const PYTHON: Record<string, string> = {
  sqlalchemy: `
from in_tenant import connect, in_tenant
from sqlalchemy import text
engine = connect(url.replace("postgres://", "postgresql://", 1))
def members(slug):
    with in_tenant(engine, slug, "ann of " + slug) as tx:
        return [row[0] for row in tx.execute(text("select auth_subject from app.users"))]
def stranger():
    with in_tenant(engine, "acme", "mallory"): pass
def nested():
    with in_tenant(engine, "acme", "ann of acme"): members("beta")
`,
  django: `
from urllib.parse import urlparse
import django
from django.conf import settings
u = urlparse(url)
settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": u.path[1:], "USER": u.username,
    "PASSWORD": u.password, "HOST": u.hostname, "PORT": u.port, "DISABLE_SERVER_SIDE_CURSORS": True}})
django.setup()
from django.db import connection
from in_tenant import in_tenant
def members(slug):
    with in_tenant(slug, "ann of " + slug), connection.cursor() as cursor:
        cursor.execute("select auth_subject from app.users")
        return [row[0] for row in cursor.fetchall()]
def stranger():
    with in_tenant("acme", "mallory"): pass
def nested():
    with in_tenant("acme", "ann of acme"): members("beta")
`,
};
const SCENARIO = `
for slug in ("acme", "beta", "acme"):
    assert members(slug) == ["ann of " + slug], members(slug)
for attempt, words in ((stranger, "does not belong to tenant"), (nested, REFUSED), (lambda: members(""), "no tenant")):
    try:
        attempt()
    except Exception as error:
        assert words in str(error), repr(error)
    else:
        raise AssertionError(words)
assert members("beta") == ["ann of beta"]
print("passed")
`;

for (const [name, code] of Object.entries(PYTHON))
  test(`${name}: in the caller's tenant only, and not nested`, { skip: withoutPython }, () => {
    const refused = name === "django" ? "durable" : "open already";
    for (const address of addresses()) {
      const script = `url = ${JSON.stringify(address)}\nREFUSED = "${refused}"\n${code}\n${SCENARIO}`;
      const { status, stdout, stderr } = spawnSync(python!, ["-c", script], {
        cwd: path.join(source, name),
        env: { ...process.env, PYTHONPATH: path.join(source, name), PYTHONDONTWRITEBYTECODE: "1" },
        encoding: "utf8",
      });
      assert.deepEqual([status, stdout], [0, "passed\n"], stderr);
    }
  });

test("no recipe is longer than 40 lines", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(name =>
    /\.(mjs|py)$/.test(name),
  );
  assert.equal(files.length, 7);
  for (const file of files)
    assert.ok(readFileSync(path.join(source, file), "utf8").trim().split("\n").length <= 40, file);
});
