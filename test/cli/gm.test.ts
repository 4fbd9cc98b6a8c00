import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { createDatabase, long, some } from "../harness.ts";
import { until } from "../until.ts";
import { built, copyProject, projectRoot } from "./command.ts";

// Nothing listens there: what gets as far as a connection says so.
const DATABASE_URL = "postgres://tms_owner:x@127.0.0.1:1/tms";
const gm = (line: string, env: Record<string, string> = { DATABASE_URL }, cwd = built) =>
  spawnSync(process.execPath, ["dist/cli/gm.js", ...(line.match(/\S+/g) ?? [])], {
    cwd,
    env: { PATH: process.env.PATH, NO_COLOR: "1", ...env },
    encoding: "utf8",
  });

test("what a command needs and the environment lacks is one sentence, and nothing is begun", () => {
  const shadow = "SHADOW_DATABASE_URL is missing: tms_owner's login on an empty database that may be wiped";
  const root = "ROOT_DATABASE_URL is missing: the login of an administrator, who drops and makes databases";
  const cases: [string, Record<string, string>, string | RegExp][] = [
    ["commit -m later", { DATABASE_URL }, shadow],
    ["uncommit", { DATABASE_URL }, shadow],
    ["status", { DATABASE_URL }, shadow],
    ["reset --shadow --erase", { DATABASE_URL }, shadow],
    ["migrate --shadow", { DATABASE_URL }, shadow],
    ["migrate --shadow=true", { DATABASE_URL }, shadow],
    ["reset --erase", { DATABASE_URL }, root],
    ["commit -m later", { DATABASE_URL, SHADOW_DATABASE_URL: `${DATABASE_URL}_shadow` }, root],
    ["uncommit", { DATABASE_URL, SHADOW_DATABASE_URL: `${DATABASE_URL}_shadow` }, root],
    ["reset --erase", { DATABASE_URL: "" }, "DATABASE_URL is empty: set it, or unset it"],
    [
      "reset --erase",
      { DATABASE_URL, ROOT_DATABASE_URL: "" },
      "ROOT_DATABASE_URL is empty: set it, or unset it",
    ],
    [
      "migrate",
      { SHADOW_DATABASE_URL: DATABASE_URL },
      "DATABASE_URL is missing: tms_owner's login on the database to work on",
    ],
    ["migrate", { DATABASE_URL: "garbage" }, /^DATABASE_URL: expected postgres:/],
    ["migrate", { DATABASE_URL: `${DATABASE_URL}X` }, /^DATABASE_URL: the database's name must be /],
  ];
  for (const [line, env, sentence] of some(cases)) {
    const { status, stdout, stderr } = gm(line, env);
    assert.deepEqual([status, stdout, stderr.split("\n").length], [1, "", 2], line);
    if (typeof sentence === "string") assert.equal(stderr, `${sentence}\n`);
    else assert.match(stderr, sentence);
  }
});

test("an include that graphile-migrate would pass over is refused, with its line", t => {
  const folder = copyProject();
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const current = path.join(folder, "db", "migrations", "current.sql");
  for (const line of [
    "--! include try/f",
    "--! include: try/f.sql",
    "--! include try/f.sql -- why",
    "--!includetry/f.sql",
    "-- ! include try/f.sql",
    "--! INCLUDE try/f.sql",
    "  --! include try/f.sql",
  ]) {
    writeFileSync(current, `select 1;\n${line}\n`);
    for (const command of line.endsWith("/f")
      ? ["compile", "watch --once", "commit -m later"]
      : ["compile"]) {
      const { status, stdout, stderr } = gm(command, { DATABASE_URL }, folder);
      assert.deepEqual([status, stdout], [1, ""], `${command} ${line}`);
      assert.equal(
        stderr,
        `db/migrations/current.sql, line 2: "${line.trim()}" includes nothing. Write "--! include <name>.sql", the name of a file in db/migrations/fixtures, with nothing behind it\n`,
      );
    }
  }
  const fixtures = path.join(folder, "db", "migrations", "fixtures");
  mkdirSync(fixtures);
  writeFileSync(path.join(fixtures, "f.sql"), "select 2;\n");
  writeFileSync(current, "--! include f.sql\n-- includes f.sql\n");
  const { status, stdout } = gm("compile db/migrations/current.sql", { DATABASE_URL }, folder);
  assert.deepEqual([status, /select 2;/.test(stdout)], [0, true]);
});

test("a command that does without the shadow database asks for none, and a database that is away is one sentence", t => {
  const folder = copyProject();
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const committed = path.join(folder, "db", "migrations", "committed");
  const before = readdirSync(committed);
  const env = {
    DATABASE_URL,
    SHADOW_DATABASE_URL: `${DATABASE_URL}_shadow`,
    ROOT_DATABASE_URL: "postgres://postgres:x@127.0.0.1:1/postgres",
  };
  for (const [line, variable, given] of [
    ["migrate", "DATABASE_URL", { DATABASE_URL }],
    ["current", "DATABASE_URL", { DATABASE_URL }],
    ["run /dev/null", "DATABASE_URL", { DATABASE_URL }],
    ["run --shadow /dev/null", "SHADOW_DATABASE_URL", env],
    ["run --root /dev/null", "ROOT_DATABASE_URL", env],
    ["run --rootDatabase /dev/null", "ROOT_DATABASE_URL", env],
    ["commit -m later", "DATABASE_URL", env],
    ["uncommit", "DATABASE_URL", env],
    ["reset --erase", "ROOT_DATABASE_URL", env],
    ["reset --shadow --erase", "ROOT_DATABASE_URL", env],
  ] as const) {
    const { status, stdout, stderr } = gm(line, given, folder);
    const away = `The database at 127.0.0.1:1 (${variable}) cannot be reached: connect ECONNREFUSED 127.0.0.1:1\n`;
    assert.deepEqual([status, stdout, stderr], [1, "", away], line);
  }
  // graphile-migrate's uncommit begins with the file.
  assert.deepEqual(readdirSync(committed), before);
});

test("help needs no database, and without a command the error says which there are", () => {
  const embedded = { SERVICE_DATA_DIR: "/proc/none" };
  for (const [line, env, status, said] of [
    ["--help", embedded, 0, /^ {2}graphile-migrate watch /m],
    ["watch --help", { SHADOW_DATABASE_URL: DATABASE_URL }, 0, /^ +--once /m],
    ["--version", embedded, 0, /^\d/],
    ["", embedded, 1, /Please select a command/],
  ] as const) {
    const { status: ended, stdout, stderr } = gm(line, env);
    assert.equal(ended, status, line);
    assert.match(stdout + stderr, said);
  }
});

long(
  "watch applies current.sql and a changed function, commit makes a migration of it, and uncommit undoes that",
  async () => {
    const database = await createDatabase();
    const shadow = `${database.name}_shadow`;
    const folder = copyProject();
    cpSync(path.join(projectRoot, "src"), path.join(folder, "src"), { recursive: true }); // .gmrc runs a command of it
    const { owner, root } = database.urls;
    const env = {
      DATABASE_URL: owner,
      ROOT_DATABASE_URL: Object.assign(new URL(root), { pathname: "/postgres" }).href,
      SHADOW_DATABASE_URL: Object.assign(new URL(owner), { pathname: `/${shadow}` }).href,
    };
    const current = path.join(folder, "db", "migrations", "current.sql");
    const migrations = () => readdirSync(path.join(folder, "db", "migrations", "committed"));
    const runs = (line: string) => {
      const { status, stdout, stderr } = gm(line, env, folder);
      assert.equal(status, 0, `${line}: ${stdout}${stderr}`);
    };
    try {
      const before = migrations();
      writeFileSync(current, "-- Nothing yet.\n\n");
      const nothing = gm("commit -m nothing", env, folder);
      assert.deepEqual(
        [nothing.status, nothing.stderr],
        [1, "db/migrations/current.sql contains no statement: write the migration there first\n"],
      );
      writeFileSync(current, "comment on table app.boards is 'of a test';\n");
      assert.match(
        gm("commit -m ungated", env, folder).stderr,
        /^The last line of db\/migrations\/current\.sql must be "select control\.gate\(\);": /,
      );
      writeFileSync(current, "comment on table app.boards is 'of a test';\nselect control.gate();\n");
      const watch = spawn(process.execPath, ["dist/cli/gm.js", "watch"], {
        cwd: folder,
        env: { PATH: process.env.PATH, ...env },
        stdio: ["ignore", "pipe", "ignore"],
      });
      const ended = once(watch, "close");
      let printed = "";
      watch.stdout.on("data", data => {
        printed += data;
      });
      await until("it says that it is ready", async () =>
        /^Ready: save db\/migrations\/current\.sql/m.test(printed),
      );
      await until("it is applied", async () => {
        const [said] = await database.sql`select obj_description('app.boards'::regclass) as comment`;
        return said!.comment === "of a test";
      });
      const page = path.join(folder, "db", "functions", "app", "etag.sql");
      appendFileSync(page, "comment on function app.etag(text,text) is 'of a test';\n");
      await until("it is installed", async () => {
        const [said] =
          await database.sql`select obj_description('app.etag(text,text)'::regprocedure) as comment`;
        return said!.comment === "of a test";
      });
      appendFileSync(current, "-- Edited since.\n");
      watch.kill("SIGTERM");
      assert.deepEqual(await ended, [143, null]);
      assert.match(readFileSync(current, "utf8"), /Edited since/);
      runs("commit -m later");
      const [made] = migrations().filter(name => !before.includes(name));
      assert.match(made!, /^\d{6}-later\.sql$/);
      assert.doesNotMatch(readFileSync(current, "utf8"), /of a test/);
      runs("uncommit");
      assert.deepEqual(migrations(), before);
      assert.match(readFileSync(current, "utf8"), /of a test/);
      // The gate refuses it on the shadow database.
      const careless =
        "create table app.careless (tenant_id uuid not null, id int, primary key (tenant_id, id));\ngrant select on app.careless to tms_app;\nselect control.gate();\n";
      writeFileSync(current, careless);
      const { status, stderr } = gm("commit -m careless", env, folder);
      assert.equal(status, 1);
      assert.match(stderr, /app\.careless: is not isolated: row-level security is off/);
      assert.deepEqual(migrations(), before);
      assert.equal(readFileSync(current, "utf8"), careless);
      const text = "select 1;\nselect control.gate();\n";
      writeFileSync(current, text);
      const commitUntilWritten = async (end: (pid: number) => void) => {
        const commit = spawn(process.execPath, ["dist/cli/gm.js", "commit", "-m", "interrupted"], {
          cwd: folder,
          env: { PATH: process.env.PATH, ...env },
          detached: true,
          stdio: "ignore",
        });
        const stopped = once(commit, "close");
        await until("the file is written", () =>
          migrations().some(
            name =>
              !before.includes(name) &&
              readFileSync(path.join(folder, "db", "migrations", "committed", name), "utf8") !== "",
          ),
        );
        end(commit.pid!);
        return stopped;
      };
      assert.deepEqual(await commitUntilWritten(pid => process.kill(pid, "SIGINT")), [130, null]);
      assert.deepEqual([migrations(), readFileSync(current, "utf8")], [before, text]);
      // All its processes at once: nobody is left to remove the file.
      await commitUntilWritten(pid => process.kill(-pid, "SIGKILL"));
      const [left] = migrations().filter(name => !before.includes(name));
      assert.deepEqual(
        [gm("commit -m again", env, folder).stderr, readFileSync(current, "utf8")],
        [
          `db/migrations/committed/${left} has the text of db/migrations/current.sql, as a killed commit leaves it: remove that file, and commit again\n`,
          text,
        ],
      );
      const file = path.join(folder, "db", "migrations", "committed", left!);
      rmSync(file); // nobody but root may write a committed one
      writeFileSync(file, "");
      for (const line of ["commit -m again", "watch --once", "status", "migrate"])
        assert.equal(
          gm(line, env, folder).stderr,
          `db/migrations/committed/${left} is no migration: it has no hash, as a commit leaves it that is killed while it writes. Remove that file, and commit again\n`,
          line,
        );
      rmSync(file);
      const away = { ...env, ROOT_DATABASE_URL: "postgres://postgres:x@127.0.0.1:1/postgres" };
      for (const line of ["commit -m away", "uncommit"])
        assert.match(
          gm(line, away, folder).stderr,
          /^The database at \S+ \(ROOT_DATABASE_URL\) cannot be reached: .*\n$/,
          line,
        );
      assert.deepEqual(migrations(), before);
      // Another branch's migration of the same number.
      await database.sql`
      update graphile_migrate.migrations set hash = 'sha1:0' where filename = (select max(filename) from graphile_migrate.migrations)`;
      for (const line of ["watch --once", "current", "status", "migrate", "commit -m other", "uncommit"]) {
        const { status, stderr } = gm(line, env, folder);
        assert.equal(status, 1, line);
        assert.match(
          stderr,
          /^db\/migrations\/committed\/\d{6}-.*\.sql is not the migration that was applied/,
        );
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
      await database.sql`drop database if exists ${database.sql(shadow)} with (force)`;
      await database.drop();
    }
  },
);
