/** The installer: one release replaces another whole, or not at all. */
import assert from "node:assert/strict";
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { RELEASE, releaseHash } from "../../src/migrate/release.ts";
import { settle } from "../../src/migrate/session.ts";
import { readSqlFile } from "../../src/migrate/sql-files.ts";
import { built, copyProject, outcome, projectRoot, tenancy } from "../cli/command.ts";
import { createDatabase, long, seedTenant, seedUser } from "../harness.ts";
import { catalogOf, tablesOf } from "./catalog.ts";

const database = await createDatabase();
const folders: string[] = [];
after(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  await database.drop();
});

test("what the installer sets for itself leaves the caller's limit for locks", () =>
  database.sql.begin(async tx => {
    await tx`set local lock_timeout = '7s'`;
    await settle(tx);
    const [{ lock_timeout }] = await tx<[{ lock_timeout: string }]>`show lock_timeout`;
    assert.equal(lock_timeout, "7s");
  }));

const NOTES = `
create table app.notes (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
select app.isolate('app.notes');
select control.gate();`;

/** A build with this number, these migrations after ours, and these texts at the end of files of db/. */
function build(number: number, migrations: string[], added: Record<string, string>, hash = ""): string {
  const folder = copyProject(...migrations);
  folders.push(folder);
  for (const [file, text] of Object.entries(added)) appendFileSync(path.join(folder, "db", file), text);
  writeFileSync(path.join(folder, "db", "release.json"), JSON.stringify({ number, hash }));
  return folder;
}

const etag = (comment: string) => `comment on function app.etag(text,text) is '${comment}';\n`;
const gone =
  "create function app.gone() returns int language sql set search_path = pg_catalog, pg_temp return 1;\n";
const before = build(1001, [], { "functions/app/etag.sql": etag("before") + gone });
const next = build(1002, [NOTES], {
  "functions/app/etag.sql": etag("next"),
  "drops.sql": "drop function if exists app.gone();\n",
});

const migrate = (folder: string, url: string, ...flags: string[]) =>
  outcome(tenancy(["migrate", ...flags], { DATABASE_URL: url }, folder));

/** An empty database of tms_owner's, for as long as `work` takes. */
async function onEmpty<T>(work: (sql: postgres.Sql, url: string) => Promise<T>): Promise<T> {
  const name = `${database.name}_empty`;
  await database.sql`create database ${database.sql(name)} owner tms_owner`;
  const url = Object.assign(new URL(database.urls.owner), { pathname: `/${name}` }).href;
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await work(sql, url);
  } finally {
    await sql.end();
    await database.sql`drop database ${database.sql(name)} with (force)`;
  }
}

/** Line by line: a difference is an object. */
const differences = (left: string[], right: string[]) => [
  ...left.filter(line => !right.includes(line)).map(line => `- ${line}`),
  ...right.filter(line => !left.includes(line)).map(line => `+ ${line}`),
];

test("db/tables.sql alone makes the tables that the migrations make", () =>
  onEmpty(async sql => {
    const name = `${database.name}_empty`;
    await sql.begin(async tx => {
      for (const { text } of readSqlFile(path.join(projectRoot, "db", "tables.sql")))
        await tx.unsafe(text.replaceAll(":DATABASE_NAME", name)).simple();
    });
    assert.deepEqual(differences(await tablesOf(database.sql), await tablesOf(sql)), []);
  }));

long(
  "an upgrade release by release gives the catalog of a fresh install, and a reinstall changes nothing",
  async () => {
    const upgraded = await onEmpty(async (sql, url) => {
      assert.equal((await migrate(before, url)).stderr, "");
      assert.equal((await sql`select from pg_proc where proname = 'gone'`).length, 1);
      assert.equal((await migrate(next, url)).stderr, "");
      const catalog = await catalogOf(sql);
      assert.match(
        (await migrate(next, url)).stdout,
        /^The schema is up to date at 999990\.sql, release 1002 /m,
      );
      assert.equal((await migrate(next, url, "--reinstall")).stderr, "");
      assert.deepEqual(differences(catalog, await catalogOf(sql)), []);
      const releases = await sql`select number from control.release order by installed_at`;
      assert.deepEqual(
        releases.map(row => row.number),
        [1001, 1002, 1002],
      );
      return catalog;
    });
    const fresh = await onEmpty(async (sql, url) => {
      assert.equal((await migrate(next, url)).stderr, "");
      return catalogOf(sql);
    });
    assert.ok(fresh.length > 500);
    assert.deepEqual(differences(fresh, upgraded), []);
  },
);

long("an installer that is killed at any moment leaves the release before it whole, or its own", () =>
  onEmpty(async (sql, url) => {
    assert.equal((await migrate(before, url)).stderr, "");
    const old = await catalogOf(sql);
    const after = build(1003, [], { "functions/app/etag.sql": etag("after") });
    // Kills in the first half of a whole run's time, which the last round measures.
    let killed = 0;
    for (let wait = 300; ; wait += 400) {
      const command = tenancy(["migrate"], { DATABASE_URL: url }, after);
      const ended = await Promise.race([command.ended, sleep(wait, "late" as const)]);
      if (ended !== "late") {
        assert.equal(ended, 0);
        break;
      }
      command.child.kill("SIGKILL");
      await command.ended;
      // What its session still does, it does before the lock is free.
      await sql.begin(tx => tx`select pg_advisory_xact_lock(8624367003)`);
      const [last] = await sql`select number from control.release order by installed_at desc limit 1`;
      if (last!.number === 1003) continue;
      killed++;
      assert.deepEqual(differences(old, await catalogOf(sql)), []);
    }
    assert.ok(killed >= 2, `${killed} were killed before their commit`);
    assert.deepEqual(
      differences(old, await catalogOf(sql)).map(line => /^([-+]) function (\S+)/.exec(line)?.slice(1)),
      [
        ["-", "app.etag(text,text)"],
        ["+", "app.etag(text,text)"],
      ],
    );
  }),
);

test("two installers at once: one installs, the other waits and finds nothing to do", async () => {
  const hook = () =>
    outcome(tenancy([], { GM_DBURL: database.urls.owner }, next, path.join("dist", "cli", "install.js")));
  const [one, two] = await Promise.all([hook(), hook()]);
  assert.deepEqual([one.code, two.code, one.stderr, two.stderr], [0, 0, "", ""]);
  assert.deepEqual([one.stdout, two.stdout].sort(), ["", "Installed the release"]);
});

test("a build that is older than the database is refused, and changes nothing", async () => {
  const catalog = await catalogOf(database.sql);
  for (const flags of [[], ["--dry-run"], ["--reinstall"]]) {
    const { code, stderr } = await migrate(before, database.urls.owner, ...flags);
    assert.equal(code, 1);
    assert.equal(
      stderr,
      "The database is newer than this build: it has release 1002, and this is release 1001. Deploy the newer build",
    );
  }
  assert.deepEqual(differences(catalog, await catalogOf(database.sql)), []);
});

long("requests are answered while a release is installed over theirs", async () => {
  const other = await createDatabase();
  const service = postgres(other.urls.service, { max: 4 });
  try {
    const acme = await seedTenant(other.sql, { slug: "acme" });
    await seedUser(other.sql, acme, { subject: "alice" });
    let installing = true;
    let calls = 0;
    const client = async () => {
      while (installing) {
        await service`select * from api.list_boards(row('acme', 'jwt', 'alice', null, null, null), 10, null)`;
        calls++;
      }
    };
    const clients = [1, 2, 3, 4].map(client);
    for (let turn = 0; turn < 2; turn++)
      assert.equal((await migrate(built, other.urls.owner, "--reinstall")).code, 0);
    installing = false;
    await Promise.all(clients);
    assert.ok(calls > 20, `${calls} calls`);
  } finally {
    await service.end();
    await other.drop();
  }
});

test("--status and --dry-run say what would run, and leave the database as it was", () =>
  onEmpty(async (sql, url) => {
    const nothing = await migrate(next, url, "--status");
    assert.equal(nothing.code, 2);
    assert.match(nothing.stdout, /^pending +000001-schema\.sql\n/);
    assert.match(
      nothing.stdout,
      /\npending +999990-test\.sql\npending +release 1002 \(the database has no release\)\npending +the sample product: /,
    );
    const dry = await migrate(next, url, "--dry-run");
    assert.deepEqual([dry.code, dry.stderr], [2, ""]);
    assert.match(dry.stdout, /\nThe gate passes\. Nothing was changed$/);
    assert.deepEqual(
      [...(await sql`select from pg_namespace where nspname in ('app', 'graphile_migrate')`)],
      [],
    );

    assert.equal((await migrate(before, url)).stderr, "");
    const catalog = await catalogOf(sql);
    const careless = build(
      1004,
      [
        `create table app.leaky (tenant_id uuid, id uuid, primary key (tenant_id, id)); grant select on app.leaky to tms_app;
        create function app.read() returns int language sql security definer set search_path = pg_catalog, pg_temp as 'select 1';
        grant execute on function app.read() to tms_app;`,
      ],
      {},
    );
    const refused = await migrate(careless, url, "--dry-run");
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /^Would fail, and was rolled back: .*Tenants are not isolated: app\.(leaky|read).*\(and 1 more\)/,
    );
    assert.deepEqual(differences(catalog, await catalogOf(sql)), []);
    for (const flag of ["--status", "--dry-run"]) {
      const upToDate = await migrate(before, url, flag);
      assert.equal(upToDate.code, 0);
      assert.match(
        upToDate.stdout,
        /\ninstalled +release 1001\ninstalled +the sample product: .*(\nThe gate passes\. Nothing was changed)?$/,
      );
    }
    assert.match(
      (await migrate(before, url, "--status", "--dry-run")).stderr,
      /^--status and --dry-run exclude each other$/,
    );
  }));

test("--status says which function of the release was replaced, and its exit status tells a pipeline", async () => {
  const { sql, urls, drop } = await createDatabase();
  try {
    const status = () => outcome(tenancy(["migrate", "--status"], { DATABASE_URL: urls.owner }));
    assert.equal((await status()).code, 0);
    await sql`
      update pg_proc set prosrc = prosrc || ' ' where oid = 'app.enter_tenant(app.caller)'::regprocedure`;
    const replaced = await status();
    assert.equal(replaced.code, 2);
    assert.match(
      replaced.stdout,
      /\nchanged +function app\.enter_tenant\(.*\) is not as the release made it\. .* To mend it: install the release again: npm run migrate -- --reinstall$/,
    );
  } finally {
    await drop();
  }
});

test("a build whose files are not those of its release is an error", async () => {
  const tampered = copyProject();
  folders.push(tampered);
  appendFileSync(path.join(tampered, "db", "drops.sql"), "-- one line more\n");
  await onEmpty(async (_sql, url) => {
    const { code, stderr } = await migrate(tampered, url);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^The files of db\/ are not those of release \d+, so nothing tells what was changed: build from a tree/,
    );
  });
});

test("in a database without a release the first one stays when its gate fails, for the remedies that the gate prints", () =>
  onEmpty(async (sql, url) => {
    const careless = build(
      1005,
      [
        "create table app.leaky (tenant_id uuid, id uuid, primary key (tenant_id, id)); grant select on app.leaky to tms_app;",
      ],
      {},
    );
    const { code, stderr } = await migrate(careless, url);
    assert.equal(code, 1);
    const [, remedy] =
      /^Tenants are not isolated: app\.leaky: .* Fix it with: (.*;)(?: \(and \d+ more\))?\. The release is installed, and nothing /.exec(
        stderr,
      )!;
    await sql.unsafe(remedy!);
    await sql`select app.isolate('app.leaky')`;
    const again = await migrate(careless, url);
    assert.deepEqual([again.code, again.stderr], [0, ""]);
  }));

test("files that were installed under the number before get their own", async () => {
  const other = await createDatabase();
  const later = build(RELEASE.number + 1, [], {}, RELEASE.hash);
  try {
    assert.equal((await migrate(later, other.urls.owner, "--status")).code, 2);
    assert.equal((await migrate(later, other.urls.owner)).code, 0);
    assert.equal((await migrate(later, other.urls.owner, "--status")).code, 0);
  } finally {
    await other.drop();
  }
});

test("only --reinstall repairs a changed function", async () => {
  const other = await createDatabase();
  try {
    const catalog = await catalogOf(other.sql);
    await other.sql`alter function app.etag(text,text) volatile`;
    assert.match(
      (await migrate(built, other.urls.owner)).stderr,
      /^Tenants are not isolated: .*app\.etag\(text,text\).*--reinstall/,
    );
    assert.equal(differences(catalog, await catalogOf(other.sql)).length, 2);
    assert.equal((await migrate(built, other.urls.owner, "--reinstall")).code, 0);
    assert.deepEqual(differences(catalog, await catalogOf(other.sql)), []);
  } finally {
    await other.drop();
  }
});

test("the hash of a release covers every file that db/install.sql names", () => {
  assert.match(releaseHash(), /^[0-9a-f]{64}$/);
  const names = readSqlFile(path.join(projectRoot, "db", "install.sql")).map(({ name }) => name);
  for (const file of ["db/functions/app/etag.sql", "db/gate.sql"])
    assert.ok(
      names.some(name => name.endsWith(file)),
      file,
    );
  assert.ok(RELEASE.number > 0);
});
