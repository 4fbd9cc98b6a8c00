/** The recipes of examples/orm, each with its library, directly and through PgBouncer. Their packages are not ours. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { built } from "../cli/command.ts";
import { type Pooler, startPgbouncer, withoutPgbouncer } from "../faults/pgbouncer.ts";
import { temporaryFolder } from "../folder.ts";
import { ALL, CONTEXT_SECRET, createDatabase, requireProofs, seedTenant, seedUser } from "../harness.ts";

const source = path.join(built, "examples/orm");
const folder = temporaryFolder("orm");
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
  // The JDBC driver sends this parameter.
  if (!withoutPgbouncer)
    pooler = await startPgbouncer(url, { ignore_startup_parameters: "extra_float_digits" });
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
});

interface Caller {
  slug: string;
  subject: string;
}
interface Recipe<Db, Tx> {
  connect: (url: string) => Db | Promise<Db>;
  end: (db: Db) => Promise<void>;
  inTenant: <T>(db: Db, caller: Caller, work: (tx: Tx) => Promise<T>) => Promise<T>;
  members: (tx: Tx) => Promise<string[]>;
  renameSlowly: (db: Db, caller: Caller, slow: (seen: string[]) => Promise<string>) => Promise<void>;
}

const ann = (slug: string) => ({ slug, subject: `ann of ${slug}` });
const names = async () =>
  (
    await database.sql<{ name: string }[]>`
      select coalesce(display_name, '-') as name from app.users order by auth_subject`
  ).map(({ name }) => name);
const addresses = () => [url, ...(pooler ? [pooler.url] : [])];
/** Some libraries wrap the error of the database. */
const messagesOf = (error: Error): string =>
  error.message + (error.cause instanceof Error ? messagesOf(error.cause) : "");

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
        /does not belong to tenant/.test(messagesOf(error as Error)),
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
const JAR = "/usr/share/java/postgresql.jar";
const withoutJava =
  (spawnSync("javac", ["-version"]).status !== 0 || !existsSync(JAR)) &&
  "no JDK with the driver (Debian: apt-get install default-jdk-headless libpostgresql-jdbc-java)";
const JAVA = `
import java.sql.*;
import java.util.*;
class Main {
  static List<String> members(Connection c) throws SQLException {
    var found = new ArrayList<String>();
    try (var s = c.createStatement(); var rows = s.executeQuery("select auth_subject from app.users")) {
      while (rows.next()) found.add(rows.getString(1));
    }
    return found;
  }
  static void refused(String words, java.util.concurrent.Callable<?> attempt) {
    try { attempt.call(); } catch (Exception e) {
      if (e.getMessage().contains(words)) return;
      throw new AssertionError(e);
    }
    throw new AssertionError(words);
  }
  public static void main(String[] args) throws Exception {
    try (var c = DriverManager.getConnection(args[0], args[1], "shop")) {
      for (var slug : List.of("acme", "beta", "acme")) {
        var seen = InTenant.inTenant(c, slug, "jwt", "ann of " + slug, Main::members);
        if (!seen.equals(List.of("ann of " + slug))) throw new AssertionError(seen);
      }
      refused("does not belong to tenant", () -> InTenant.inTenant(c, "acme", "jwt", "mallory", Main::members));
      refused("open already", () -> InTenant.inTenant(c, "acme", "jwt", "ann of acme",
        d -> InTenant.inTenant(d, "beta", "jwt", "ann of beta", Main::members)));
      refused("no tenant", () -> InTenant.inTenant(c, null, "jwt", "ann of acme", Main::members));
      System.out.println(InTenant.inTenant(c, "beta", "jwt", "ann of beta", Main::members));
    }
  }
}
`;

test("jdbc: in the caller's tenant only, and not nested", { skip: withoutJava }, () => {
  const work = temporaryFolder("jdbc");
  writeFileSync(path.join(work, "Main.java"), JAVA);
  cpSync(path.join(source, "jdbc/InTenant.java"), path.join(work, "InTenant.java"), { dereference: true });
  execFileSync("javac", ["-cp", JAR, "Main.java", "InTenant.java"], { cwd: work, stdio: "pipe" });
  for (const address of addresses()) {
    const { hostname, port, pathname } = new URL(address);
    // Before PgBouncer 1.21 a prepared statement may be on another connection.
    const jdbc = `jdbc:postgresql://${hostname}:${port}${pathname}?prepareThreshold=0`;
    const { status, stdout, stderr } = spawnSync("java", ["-cp", `${JAR}:.`, "Main", jdbc, shop], {
      cwd: work,
      encoding: "utf8",
    });
    assert.deepEqual([status, stdout], [0, "[ann of beta]\n"], stderr);
  }
});

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
    /\.(mjs|py|java)$/.test(name),
  );
  assert.equal(files.length, 8);
  for (const file of files)
    assert.ok(readFileSync(path.join(source, file), "utf8").trim().split("\n").length <= 40, file);
});
