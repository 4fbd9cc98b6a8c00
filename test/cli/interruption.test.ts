import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, long } from "../harness.ts";
import { until } from "../until.ts";
import { built, copyProject, makeFolder, outcome, projectRoot, tenancy } from "./command.ts";

const database = await createDatabase();
const folder = copyProject("create table app.first ();", "create table app.second (); select pg_sleep(600);");
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await database.drop();
});

const sleeping = async () => {
  const [found] = await database.sql`
    select from pg_stat_activity where datname = ${database.name} and query like '%pg_sleep%' and pid <> pg_backend_pid()`;
  return found !== undefined;
};

test("a migration that is interrupted is ended on the server too, and what was applied before it is named", async () => {
  const command = tenancy(["migrate"], { DATABASE_URL: database.urls.owner }, folder);
  await until("the migration sleeps", sleeping);
  command.child.kill("SIGTERM");
  const { code, stderr } = await outcome(command);
  assert.equal(
    stderr,
    "Interrupted: what was not committed is rolled back (applied before it, and stays: 999990-test.sql)",
  );
  assert.equal(code, 143);
  await until("it ends on the server", async () => !(await sleeping()));
  const [row] =
    await database.sql`select to_regclass('app.first') as first, to_regclass('app.second') as second`;
  assert.deepEqual({ ...row }, { first: "app.first", second: null });
});

long("a migrate that waits for its turn is interrupted as well, also where it makes the roles", async () => {
  const { owner: DATABASE_URL, root: ROOT_DATABASE_URL } = database.urls;
  for (const [lock, env] of [
    [8624367002, { DATABASE_URL }],
    [8624367001, { DATABASE_URL, ROOT_DATABASE_URL }],
  ] as const) {
    const holder = await database.sql.reserve();
    await holder`select pg_advisory_lock(${lock})`;
    const command = tenancy(["migrate"], env);
    await command.prints(/waiting for it to end/);
    command.child.kill("SIGINT");
    const { code, stderr } = await outcome(command);
    await holder`select pg_advisory_unlock(${lock})`;
    holder.release();
    assert.deepEqual([code, stderr], [130, "Interrupted: what was not committed is rolled back"]);
  }
});

long("a migrate whose server never answers is interrupted at once", async t => {
  const sockets: Socket[] = [];
  const silent = createServer(socket => sockets.push(socket.on("error", () => {})));
  t.after(() => {
    silent.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>(resolve => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as AddressInfo;
  const command = tenancy(["migrate"], { DATABASE_URL: `postgres://tms_owner:x@127.0.0.1:${port}/tms` });
  await until("it connects", () => sockets.length > 0);
  command.child.kill("SIGHUP");
  const { code, stderr } = await outcome(command);
  assert.deepEqual([code, stderr], [129, "Interrupted: what was not committed is rolled back"]);
});

for (const command of ["dist/cli.js events", "dist/cli/gm.js status"])
  long(
    `Ctrl-C, which a terminal sends to every process below it, is an interruption too while ${command} makes a cluster`,
    async () => {
      const data = makeFolder();
      const child = spawn(process.execPath, command.split(" "), {
        cwd: built,
        env: { PATH: process.env.PATH, HOME: process.env.HOME, SERVICE_DATA_DIR: data },
        detached: true,
        stdio: ["ignore", "ignore", "pipe"],
      });
      let said = "";
      child.stderr.setEncoding("utf8").on("data", text => {
        said += text;
      });
      const closed = once(child, "close");
      await until("initdb works", () => existsSync(path.join(data, "postgres.new", "global", "pg_control")));
      process.kill(-child.pid!, "SIGINT");
      assert.deepEqual([(await closed)[0], said], [130, "Interrupted\n"]);
      rmSync(data, { recursive: true });
    },
  );

long(
  "under npm, gm -- watch ends with npm's shell: no process and no Postgres stay",
  {
    skip: process.platform === "win32" && "Windows has no such shell",
  },
  async () => {
    const data = makeFolder();
    const shell = spawn("sh", ["-c", `"${process.execPath}" --import tsx src/cli/gm.ts watch; true`], {
      cwd: projectRoot,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        npm_lifecycle_event: "gm",
        SERVICE_DATA_DIR: data,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [shell.stdout, shell.stderr])
      stream.setEncoding("utf8").on("data", text => {
        said += text;
      });
    await until("gm watches", () => /Finished|done|[Cc]urrent migration/.test(said));
    const pidFile = path.join(data, "postgres", "postmaster.pid");
    const gm = Number(readFileSync(path.join(data, "lock"), "utf8").split(/\D/)[0]);
    assert.ok(existsSync(pidFile), said);
    // The pipes stay open for as long as anybody below holds them.
    const closed = new Promise(resolve => shell.on("close", resolve));
    shell.kill("SIGKILL");
    await Promise.race([closed, sleep(120_000, undefined, { ref: false })]);
    const left = existsSync(pidFile);
    if (left) process.kill(gm, "SIGTERM");
    assert.equal(left, false, said);
    assert.match(said, /Interrupted/);
    rmSync(data, { recursive: true, force: true });
  },
);
