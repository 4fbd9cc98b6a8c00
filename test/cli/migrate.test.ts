import assert from "node:assert/strict";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { RELEASE } from "../../src/migrate/release.ts";
import { createDatabase, long } from "../harness.ts";
import { copyProject, outcome, projectRoot, tenancy } from "./command.ts";

const committed = readdirSync(path.join(projectRoot, "db", "migrations", "committed")).sort();
const version = `${committed.at(-1)!.slice(0, 6)}.sql`;

// Databases of the harness have the schema; these begin without even the database.
const database = await createDatabase();
const at = (url: string) => Object.assign(new URL(url), { pathname: `/${database.name}_new` }).href;
const urls = { owner: at(database.urls.owner), root: database.urls.root, service: at(database.urls.service) };
after(async () => {
  await database.sql`drop database if exists ${database.sql(`${database.name}_new`)} with (force)`;
  await database.drop();
});

const migrate = (env: Record<string, string>, root?: string) => outcome(tenancy(["migrate"], env, root));

test("migrate without the administrator's login says that the database is missing", async () => {
  const { code, stdout, stderr } = await migrate({ DATABASE_URL: urls.owner });
  assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
  assert.match(
    stderr,
    /^The database tms_test_\w+ \(DATABASE_URL\) does not exist at .*: create it with owner tms_owner, or set ROOT_DATABASE_URL$/,
  );
});

test("migrate --only-roles asks for the administrator's login, and for no other", async () => {
  const roles = (env = {}) => outcome(tenancy(["migrate", "--only-roles"], env));
  assert.deepEqual(await roles(), {
    code: 1,
    stdout: "",
    stderr: "ROOT_DATABASE_URL, an administrator's login, is missing",
  });
  assert.deepEqual(await roles({ ROOT_DATABASE_URL: urls.root }), { code: 0, stdout: "", stderr: "" });
});

long("several migrate at once: one applies, the others wait for it and find nothing to do", async () => {
  await database.sql`create database ${database.sql(`${database.name}_new`)} owner tms_owner`;
  const holder = postgres(urls.owner, { max: 1 });
  await holder`select pg_advisory_lock(8624367002)`;
  const several = [1, 2, 3].map(() => tenancy(["migrate"], { DATABASE_URL: urls.owner }));
  await Promise.all(
    several.map(command =>
      command.prints(
        /Another process is migrating this database; waiting for it to end: process \d+ \(tms_owner, postgres\.js\)/,
      ),
    ),
  );
  await holder.end();
  const ends = await Promise.all(several.map(outcome));
  assert.deepEqual(
    ends.map(({ code, stderr }) => ({ code, stderr })),
    several.map(() => ({ code: 0, stderr: "" })),
  );
  const workers = ends.filter(({ stdout }) => stdout.includes("Applied"));
  assert.equal(workers.length, 1);
  for (const file of committed) assert.match(workers[0]!.stdout, new RegExp(`^Applied ${file}$`, "m"));
  assert.match(
    workers[0]!.stdout,
    new RegExp(`The schema is now at ${version}, release \\d+ \\(Postgres \\d+`),
  );
  const idle = ends.find(({ stdout }) => !stdout.includes("Applied"))!;
  assert.match(
    idle.stdout,
    new RegExp(`The schema is up to date at ${version}, release \\d+ \\(Postgres \\d+`),
  );
});

test("with the administrator's login the database is made from nothing", async () => {
  await database.sql`drop database if exists ${database.sql(`${database.name}_new`)} with (force)`;
  const env = { DATABASE_URL: urls.owner, ROOT_DATABASE_URL: urls.root, SERVICE_DATABASE_URL: urls.service };
  assert.equal((await migrate(env)).code, 0);
  const service = postgres(urls.service, { max: 1 });
  assert.deepEqual([...(await service`select api.get_release() as number`)], [{ number: RELEASE.number }]);
  await service.end();
});

test("a table of the tenants' without forced row-level security fails the pipeline and is named", async () => {
  const owner = postgres(urls.owner, { max: 1 });
  await owner`create table app.leaky (tenant_id uuid, id uuid, primary key (tenant_id, id)); grant select on app.leaky to tms_app`.simple();
  const { code, stderr } = await migrate({ DATABASE_URL: urls.owner });
  await owner`drop table app.leaky`;
  await owner.end();
  assert.equal(code, 1);
  assert.match(stderr, /^Tenants are not isolated: .*app\.leaky.*\. The release was not installed$/);
});

test("a migration that fails changes nothing, and one sentence names it", async () => {
  const folder = copyProject("create table app.half_done ();\nselect no_such_function();");
  const { code, stderr } = await migrate({ DATABASE_URL: urls.owner, FORCE_COLOR: "3" }, folder);
  rmSync(folder, { recursive: true, force: true });
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^999990-test\.sql \(line \d+ as compiled\) failed and was rolled back: function no_such_function\(\) does not exist: No function matches /,
  );
  const owner = postgres(urls.owner, { max: 1 });
  const [row] =
    await owner`select to_regclass('app.half_done') as half, max(filename) as last from graphile_migrate.migrations`;
  await owner.end();
  assert.deepEqual({ ...row }, { half: null, last: version });
});

test("a gate that fails leaves the migrations, which are committed, and installs nothing", async () => {
  const folder = copyProject(
    "create table app.leaky (tenant_id uuid, id uuid, primary key (tenant_id, id)); grant select on app.leaky to tms_app;",
  );
  writeFileSync(path.join(folder, "db", "drops.sql"), "drop function api.list_boards;\n");
  writeFileSync(
    path.join(folder, "db", "release.json"),
    JSON.stringify({ number: RELEASE.number + 1, hash: "" }),
  );
  const { code, stderr } = await migrate({ DATABASE_URL: urls.owner }, folder);
  rmSync(folder, { recursive: true, force: true });
  const owner = postgres(urls.owner, { max: 1 });
  const [found] = await owner`
    select to_regclass('app.leaky') is not null as table, count(*)::int as functions from pg_proc where proname = 'list_boards'`;
  await owner`drop table app.leaky`;
  await owner`delete from graphile_migrate.migrations where filename ~ '^99999'`;
  await owner.end();
  assert.deepEqual({ ...found, code }, { table: true, functions: 1, code: 1 });
  assert.match(
    stderr,
    /^Tenants are not isolated: .*app\.leaky.* \(applied before it, and stays: 999990-test\.sql\)\. The release was not installed$/,
  );
});

long("a migration that ends with the gate leaves no table behind that it forgot to isolate", async () => {
  const folder = copyProject(
    "create table app.leaky (tenant_id uuid, id uuid, primary key (tenant_id, id));\ngrant select on app.leaky to tms_app;\nselect control.gate();",
  );
  const { code, stderr } = await migrate({ DATABASE_URL: urls.owner }, folder);
  rmSync(folder, { recursive: true, force: true });
  const owner = postgres(urls.owner, { max: 1 });
  const [found] =
    await owner`select to_regclass('app.leaky') as table, max(filename) as last from graphile_migrate.migrations`;
  await owner.end();
  assert.deepEqual({ ...found, code }, { table: null, last: version, code: 1 });
  assert.match(
    stderr,
    /^999990-test\.sql failed and was rolled back: Tenants are not isolated: .*app\.leaky/,
  );
});

test("on a database that is newer than the build migrate refuses to work, and start says so and works", async () => {
  const owner = postgres(urls.owner, { max: 1 });
  await owner`insert into graphile_migrate.migrations (hash, filename) values ('sha1:later', '999999.sql')`;
  await owner`insert into control.release (number, hash) values (999, 'later')`;
  await owner.end();
  const migrated = await migrate({ DATABASE_URL: urls.owner });
  assert.equal(migrated.code, 1);
  assert.match(
    migrated.stderr,
    /^The database is newer than this build, which does not know 999999\.sql: deploy the newer build; a database of development is recreated by npm run gm -- reset --erase$/,
  );
  const secret = { SERVICE_JWT_SECRET: "a secret of at least thirty-two bytes for these tests" };
  const started = tenancy(["start"], { SERVICE_DATABASE_URL: urls.service, SERVICE_PORT: "0", ...secret });
  try {
    const [, address] = await started.prints(/Server listening at (http:\S+?)"/);
    const ready = await fetch(`${address}/ready`);
    assert.equal(ready.status, 200, await ready.text());
  } finally {
    started.child.kill("SIGTERM");
  }
  const { code, stdout } = await outcome(started);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /"installed":999,"build":\d+.*"msg":"the database has a newer release than this build"/,
  );
});

test("start refuses a database that nobody has migrated, and names the command", async () => {
  await database.sql`drop database ${database.sql(`${database.name}_new`)} with (force)`;
  await database.sql`create database ${database.sql(`${database.name}_new`)} owner tms_owner`;
  const env = {
    SERVICE_DATABASE_URL: urls.service,
    SERVICE_JWT_SECRET: "a secret of at least thirty-two bytes for these tests",
  };
  const { code, stderr } = await outcome(tenancy(["start"], env));
  assert.equal(code, 1);
  assert.match(
    stderr.replace(`${database.name}_new`, "new"),
    /^The schema is missing in the database new, and this build needs release \d+: run npm run migrate$/,
  );
});

long("start names the right that its login lacks on a database that was copied or restored", async () => {
  const { sql, name } = database;
  await sql`revoke connect on database ${sql(name)} from tms_service`;
  const env = {
    SERVICE_DATABASE_URL: database.urls.service,
    SERVICE_JWT_SECRET: "a secret of at least thirty-two bytes for these tests",
  };
  const { code, stderr } = await outcome(tenancy(["start"], env));
  await sql`grant connect on database ${sql(name)} to tms_service`;
  assert.equal(code, 1);
  assert.ok(stderr.endsWith(`: grant connect on database ${name} to tms_service;`), stderr);
});

test("migrate names the variable at fault when it cannot log in", async () => {
  const wrong = Object.assign(new URL(database.urls.owner), { password: "wrong" }).href;
  const cases: [Record<string, string>, RegExp][] = [
    [
      { DATABASE_URL: "postgres://tms_owner:x@127.0.0.1:1/tms" },
      /^The database at 127\.0\.0\.1:1 \(DATABASE_URL\) cannot be reached: /,
    ],
    [{ DATABASE_URL: wrong }, /refuses tms_owner's login \(DATABASE_URL\): password authentication failed/],
    [{ DATABASE_URL: database.urls.service }, /^DATABASE_URL must log in as tms_owner, not as tms_service/],
    [
      { ROOT_DATABASE_URL: urls.root },
      /^DATABASE_URL, tms_owner's login, is missing, and ROOT_DATABASE_URL is set$/,
    ],
    [
      { DATABASE_URL: Object.assign(new URL(urls.owner), { pathname: "/" }).href },
      /^DATABASE_URL names no database: expected postgres:/,
    ],
    [
      { DATABASE_URL: urls.owner.replace(/:[^:@]+@/, ":own%erpw@") },
      /^DATABASE_URL: expected postgres:.* See \*Addresses\* in docs\/reference\/configuration\.md$/,
    ],
    [
      {
        DATABASE_URL: urls.owner,
        ROOT_DATABASE_URL: urls.root,
        SERVICE_DATABASE_URL: "postgres://a:%zz@b/c",
      },
      /^SERVICE_DATABASE_URL: expected postgres:.* See \*Addresses\* in docs\/reference\/configuration\.md$/,
    ],
  ];
  for (const [env, sentence] of cases) {
    const { code, stdout, stderr } = await migrate(env);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
    assert.match(stderr, sentence);
    assert.equal(stderr.split("\n").length, 1);
  }
});

long("what the server advises is passed on, and of Azure's allow-list what it means here", async () => {
  const refusal = (message: string) => `
    do $$ begin
      raise exception '${message}' using errcode = '0A000', hint = 'This is the server''s advice.';
    end $$;`;
  const azure = 'extension "pg_trgm" is not allow-listed for users in Azure Database for PostgreSQL';
  for (const [message, advice] of [
    ["not here", "This is the server's advice"],
    [azure, "add PG_TRGM to the server's parameter azure.extensions, in the portal"],
  ] as const) {
    const folder = copyProject(refusal(message));
    const { stderr } = await migrate({ DATABASE_URL: database.urls.owner }, folder);
    rmSync(folder, { recursive: true, force: true });
    assert.ok(stderr.startsWith(`999990-test.sql failed and was rolled back: ${message}: ${advice}`), stderr);
  }
});

long("a database that tms_owner does not own: the words say how to give it away", async () => {
  const name = `${database.name}_new`;
  const advice =
    "the database must be tms_owner's; its owner, or a superuser, gives it away: grant tms_owner to current_user; " +
    `alter database ${name} owner to tms_owner; revoke tms_owner from current_user;`;
  const made = `create database ${name}`;
  const grant = `grant all on database ${name} to tms_owner with grant option`;
  const faults = [
    `permission denied for database ${name}`,
    'permission denied to set role "pg_database_owner"',
  ];
  for (const [i, statements] of [[made], [made, grant]].entries()) {
    await database.sql`drop database if exists ${database.sql(name)} with (force)`;
    for (const statement of statements) await database.sql.unsafe(statement);
    const { code, stderr } = await migrate({ DATABASE_URL: urls.owner });
    assert.equal(code, 1);
    assert.ok(stderr.endsWith(` rolled back: ${faults[i]}: ${advice}`), stderr);
  }
  await database.sql.unsafe(advice.slice(advice.indexOf("grant")));
  const left = await database.sql`
    select from pg_auth_members where roleid = 'tms_owner'::regrole and member = current_user::regrole`;
  assert.equal(left.length, 0);
  assert.equal((await migrate({ DATABASE_URL: urls.owner })).stderr, "");
});

test("a database that others use is refused before anything changes, until they are let in by name", async () => {
  const name = `${database.name}_new`;
  const [web, group, member, idle, admin] = ["web", "group", "Member", "idle", "admin"].map(
    role => `${role}_${name.slice(-12)}`,
  ) as [string, string, string, string, string];
  await database.sql`drop database if exists ${database.sql(name)} with (force)`;
  await database.sql`create database ${database.sql(name)} owner tms_owner`;
  await database.sql.unsafe(`
    create role ${web} login; create role ${group}; create role "${member}" login in role ${group};
    create role ${idle} login; create role ${admin} login superuser; grant usage on schema app to ${idle}`);
  const inside = postgres(Object.assign(new URL(urls.root), { pathname: `/${name}` }).href, { max: 1 });
  try {
    for (const more of [
      `create schema auth authorization ${web}; create schema shared authorization ${group};
       create schema admin authorization ${admin}; grant select on pg_database to ${idle};
       alter default privileges for role ${idle} revoke execute on functions from public`,
      `grant create on database ${name} to ${idle}, ${web};
       set role ${idle}; create extension citext schema admin; reset role`,
    ]) {
      await inside.unsafe(more);
      const { code, stderr } = await migrate({ DATABASE_URL: urls.owner });
      assert.equal(code, 1);
      assert.equal(
        stderr,
        `The first migration closes the database ${name} and its schema public, in which others have objects or rights: use a database of ` +
          "its own (with ROOT_DATABASE_URL migrate makes one), or let them in by name before: " +
          `grant connect on database ${name} to "${member}", ${web}; grant temporary on database ${name} to "${member}", ${web};`,
      );
    }
    assert.deepEqual([...(await inside`select from pg_namespace where nspname = 'app'`)], []);
    await inside.unsafe(`grant connect, temporary on database ${name} to ${group}, ${web}`);
    // Rights in public are lost with the schema's. Up to Postgres 14 everybody may create there.
    await inside.unsafe(
      `grant create on schema public to public; create table public.things (id int); alter table public.things owner to ${web}; grant select (id) on public.things to ${group}`,
    );
    const { stderr } = await migrate({ DATABASE_URL: urls.owner });
    const grants = `grant usage on schema public to "${member}", ${web}; grant create on schema public to "${member}", ${web};`;
    assert.ok(stderr.endsWith(`by name before: ${grants}`), stderr);
    await inside.unsafe(grants);
    assert.equal((await migrate({ DATABASE_URL: urls.owner })).stderr, "");
    for (const login of [`"${member}"`, web])
      await inside.unsafe(`set role ${login}; select id from public.things; reset role`);
  } finally {
    await inside.end();
    await database.sql`drop database ${database.sql(name)} with (force)`;
    await database.sql.unsafe(
      `drop owned by ${idle}; drop role ${web}, ${group}, "${member}", ${idle}, ${admin}`,
    );
  }
});

long("a database with a schema of the service's names is refused before anything changes", async () => {
  const name = `${database.name}_new`;
  for (const schema of ["app", "api", "audit", "control"]) {
    await database.sql`drop database if exists ${database.sql(name)} with (force)`;
    await database.sql`create database ${database.sql(name)} owner tms_owner`;
    const inside = postgres(Object.assign(new URL(urls.owner), { pathname: `/${name}` }).href, { max: 1 });
    try {
      await inside`create schema ${inside(schema)}`;
      const { code, stderr } = await migrate({ DATABASE_URL: urls.owner });
      assert.equal(code, 1);
      assert.match(
        stderr,
        new RegExp(
          `^The database ${name} has a schema ${schema} already, .* \\(alter schema ${schema} rename to …;\\)\\. .*restore the whole dump$`,
        ),
      );
      assert.equal(
        (await inside`select from pg_namespace where nspname ~ '^(app|api|audit|control)$'`).length,
        1,
      );
    } finally {
      await inside.end();
      await database.sql`drop database ${database.sql(name)} with (force)`;
    }
  }
});

/** A new database with these words after `alter database`, and what migrate says to it. */
async function onSettings(...settings: string[]) {
  const name = `${database.name}_new`;
  await database.sql`drop database if exists ${database.sql(name)} with (force)`;
  await database.sql`create database ${database.sql(name)} owner tms_owner`;
  for (const setting of settings) await database.sql.unsafe(`alter database ${name} set ${setting}`);
  // The service's address is not looked at where no administrator may set its password.
  return migrate({ DATABASE_URL: urls.owner, SERVICE_DATABASE_URL: "none" });
}

long("what a database sets for requests does not hold for migrations", async () => {
  const [newer] = await database.sql`select from pg_settings where name = 'transaction_timeout'`;
  const { code, stderr } = await onSettings(
    "statement_timeout = '100ms'",
    "lock_timeout = '1ms'",
    "idle_session_timeout = '1s'",
    "standard_conforming_strings = off",
    "quote_all_identifiers = on",
    "default_transaction_isolation = 'serializable'",
    "search_path = 'pg_temp, nowhere'",
    ...(newer ? ["transaction_timeout = '50ms'"] : []),
  );
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  await database.sql.unsafe(`alter database ${database.name}_new reset all`);
  const owner = postgres(urls.owner, { max: 1 });
  const [check] = await owner`
    select pg_get_constraintdef(oid) as text from pg_constraint where conname = 'tenants_name_not_blank'`;
  await owner.end();
  assert.match(check!.text, /~ E?'\[\^\\+u0001-/);
  // This one would hide rows from everybody else: the migration runs, and the gate refuses it.
  await database.sql.unsafe(`alter database ${database.name}_new set row_security = off`);
  const folder = copyProject("select 1;");
  const refused = await migrate({ DATABASE_URL: urls.owner }, folder);
  rmSync(folder, { recursive: true, force: true });
  assert.match(
    refused.stderr,
    /^Tenants are not isolated: .* reset row_security;.* stays: 999990-test\.sql\)\. The release was not installed$/,
  );
});

long("a database whose transactions only read is one sentence that names the setting", async () => {
  const { code, stderr } = await onSettings("default_transaction_read_only = on");
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^000001-schema\.sql.* failed and was rolled back: cannot execute .* in a read-only transaction: .*alter database \w+ reset default_transaction_read_only;/,
  );
});

long(
  "while a migration waits for a lock it is said whose, and when it gives up, which setting decides that",
  async () => {
    const holder = postgres(database.urls.owner, {
      max: 1,
      connection: { application_name: "somebody" },
    });
    const folder = copyProject("set local lock_timeout = '15s';\nalter table app.boards add column x int;");
    try {
      await holder`begin`;
      await holder`lock table app.boards in share mode`;
      const { code, stdout, stderr } = await migrate({ DATABASE_URL: database.urls.owner }, folder);
      assert.equal(code, 1);
      assert.match(stdout, /^A migration waits for a lock of process \d+ \(tms_owner, somebody\)$/m);
      assert.match(
        stderr,
        /^999990-test\.sql.* failed and was rolled back: canceling statement due to lock timeout: .* lock_timeout /,
      );
    } finally {
      await holder.end();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

long("while the gate waits for a lock, migrate names its holder", async () => {
  const holder = postgres(database.urls.owner, { max: 1, connection: { application_name: "somebody" } });
  try {
    await holder`begin`;
    await holder`lock table app.boards in access exclusive mode`;
    const migrated = migrate({ DATABASE_URL: database.urls.owner });
    const waiting = async () => {
      const [found] = await database.sql`
        select from pg_stat_activity where application_name = 'tms migrate' and datname = current_database() and wait_event_type = 'Lock'`;
      return found !== undefined;
    };
    while (!(await waiting())) await sleep(100);
    await sleep(5_500); // every five seconds it is looked
    await holder`rollback`;
    const { code, stdout } = await migrated;
    assert.match(stdout, /^A migration waits for a lock of process \d+ \(tms_owner, somebody\)$/m);
    assert.equal(code, 0);
  } finally {
    await holder.end();
  }
});

long(
  "pg_trgm in a schema of somebody's is refused until the words are pasted, and may go back afterwards",
  async () => {
    const name = `${database.name}_new`;
    await database.sql`drop database if exists ${database.sql(name)} with (force)`;
    await database.sql`create database ${database.sql(name)} owner tms_owner`;
    const admin = postgres(at(urls.root), { max: 1, onnotice: () => {} });
    try {
      await admin.unsafe(
        "create schema ext; create extension pg_trgm schema ext; create table ext.names (name text); create index on ext.names using gin (name ext.gin_trgm_ops)",
      );
      const { code, stderr } = await migrate({ DATABASE_URL: urls.owner });
      assert.equal(code, 1);
      const [, words] =
        /in the schema ext, where the first migration cannot use it\. As a superuser: (.*;) \(after/.exec(
          stderr,
        )!;
      await admin.unsafe(words!);
      const again = await migrate({ DATABASE_URL: urls.owner });
      assert.equal(again.code, 0, again.stderr);
      await admin.unsafe("alter extension pg_trgm set schema ext");
      const last = await migrate({ DATABASE_URL: urls.owner });
      assert.equal(last.code, 0, last.stderr);
    } finally {
      await admin.end();
    }
  },
);

long("start and audit, too, say that an address names no database", async () => {
  const bare = (url: string) => Object.assign(new URL(url), { pathname: "" }).href;
  const secret = { SERVICE_JWT_SECRET: "a secret of at least thirty-two bytes for these tests" };
  const ends = await Promise.all([
    outcome(tenancy(["start"], { SERVICE_DATABASE_URL: bare(urls.service), ...secret })),
    outcome(tenancy(["audit"], { DATABASE_URL: bare(urls.owner) })),
  ]);
  assert.deepEqual(
    ends.map(({ stderr }) => /^(\w+) names no database: expected postgres:/.exec(stderr)?.[1]),
    ["SERVICE_DATABASE_URL", "DATABASE_URL"],
  );
});

// The last one: the build that the others run does not know its migration.
long("migrate waits for a graphile-migrate that runs by hand", async () => {
  const folder = copyProject("select 1;");
  const holder = postgres(database.urls.owner, { max: 1 });
  await holder`select pg_advisory_lock(4727445306447283)`;
  const command = tenancy(["migrate"], { DATABASE_URL: database.urls.owner }, folder);
  await command
    .prints(/^graphile-migrate is at work on this database; waiting for it to end$/m)
    .finally(() => holder.end());
  const { code, stdout } = await outcome(command);
  rmSync(folder, { recursive: true, force: true });
  assert.equal(code, 0);
  assert.match(stdout, /^Applied 999990-test\.sql$/m);
});
