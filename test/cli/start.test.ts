import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { SignJWT } from "jose";
import postgres from "postgres";
import { freePort } from "../../src/embedded/server.ts";
import { RELEASE } from "../../src/migrate/release.ts";
import { long, TEST_SECRET, token } from "../harness.ts";
import { lockWaiters, until } from "../until.ts";
import { built, type Command, makeFolder, outcome, projectRoot, tenancy } from "./command.ts";

// One data folder through the life of a service: made, refused to a second one, killed, started again, stopped.
const folder = makeFolder();
const dataDir = path.join(folder, "data");
const cluster = path.join(dataDir, "postgres");
const env = { SERVICE_DATA_DIR: dataDir, SERVICE_PORT: "0" };
let running: Command | undefined;

after(async () => {
  running?.child.kill("SIGKILL");
  await running?.ended;
  rmSync(folder, { recursive: true, force: true });
});

const listening = async (command: Command) => (await command.prints(/(http:\/\/127\.0\.0\.1:\d+)/))[1]!;
const postmaster = () => Number(readFileSync(path.join(cluster, "postmaster.pid"), "utf8").split("\n")[0]);

function asSuperuser(database: string): postgres.Sql {
  const { superuser } = JSON.parse(readFileSync(path.join(dataDir, "secrets.json"), "utf8")) as {
    superuser: string;
  };
  const port = readFileSync(path.join(cluster, "postmaster.pid"), "utf8").split("\n")[3]!;
  return postgres(`postgres://postgres:${superuser}@127.0.0.1:${port}/${database}`, { max: 2 });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The status of a request with a token of the environment's key, not of the data folder's. */
const currentTenant = async (address: string, token: string) =>
  (await fetch(`${address}/api/tenants/current`, { headers: { authorization: `Bearer ${token}` } })).status;

async function hasEnded(pid: number): Promise<boolean> {
  return until(`the process ${pid} ends`, () => !isAlive(pid)).catch(() => false);
}

long("initdb ends with a first start that is killed, and writes no more below the next one", async () => {
  const killed = tenancy(["start"], env);
  const draft = path.join(dataDir, "postgres.new");
  await until("initdb works", () => existsSync(path.join(draft, "global", "pg_control")));
  const processes = execFileSync("ps", ["-A", "-ww", "-o", "pid=", "-o", "args="], { encoding: "utf8" });
  const initdb = Number(new RegExp(`^ *(\\d+) \\S*bin/initdb -D ${draft} `, "m").exec(processes)![1]);
  process.kill(initdb, "SIGSTOP"); // it must not end because its work is done
  killed.child.kill("SIGKILL");
  assert.ok(await hasEnded(initdb));
  assert.ok(existsSync(draft));
});

test("the first start makes server, roles, schema and secrets, and serves, also where one before it was cut short", async () => {
  // As kills leave them.
  mkdirSync(path.join(dataDir, "postgres.new"), { recursive: true });
  const draft = path.join(dataDir, `secrets.json.${randomUUID()}`);
  writeFileSync(draft, "");
  utimesSync(draft, 0, 0);
  const shell = { PGTARGETSESSIONATTRS: "any", PGSSLNEGOTIATION: "direct", PGREPLICATION: "database" };
  running = tenancy(["start"], { ...env, ...shell, PGSSLMODE: "require" });
  const address = await listening(running);
  assert.equal((await fetch(`${address}/health`)).status, 200);
  assert.match(running.stdout, /"msg":"Applied 000001-/);
  assert.deepEqual(readdirSync(dataDir).sort(), ["lock", "postgres", "postgres.log", "secrets.json"]);
  for (const name of ["secrets.json", "postgres.log"])
    assert.equal(statSync(path.join(dataDir, name)).mode & 0o777, 0o600, name);
  const sql = asSuperuser("postgres");
  const [server] = await sql`
    select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
      (select count(*)::int from pg_hba_file_rules where auth_method <> 'scram-sha-256') as open`;
  const other = await sql`
    select datname from pg_database where has_database_privilege('tms_service', oid, 'connect, temporary, create') and datname <> 'tms' and datallowconn`;
  assert.deepEqual([...other], [], "the service's login may look into no other database");
  await sql.end();
  assert.deepEqual({ ...server }, { addresses: "127.0.0.1", sockets: "", open: 0 });
});

test("a second start on the same data folder says which process has it", async () => {
  const { code, stderr } = await outcome(tenancy(["start"], env));
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `The data folder ${dataDir} is in use by process ${running!.child.pid}; stop that one first, or set SERVICE_DATA_DIR`,
  );
});

long("migrate beside a running service uses the service's Postgres", async () => {
  const { code, stdout } = await outcome(tenancy(["migrate"], env));
  assert.equal(code, 0);
  assert.match(stdout, /^The schema is up to date at /);
  assert.ok(isAlive(postmaster()));
});

long("Postgres ends with a service that is killed, and the next start takes the data as it is", async () => {
  const server = postmaster();
  const { jwt } = JSON.parse(readFileSync(path.join(dataDir, "secrets.json"), "utf8")) as { jwt: string };
  running!.child.kill("SIGKILL");
  await running!.ended;
  running = tenancy(["start"], env);
  await listening(running);
  assert.ok(await hasEnded(server));
  assert.match(running.stdout, /"msg":"The schema is up to date at /);
  assert.equal(
    (JSON.parse(readFileSync(path.join(dataDir, "secrets.json"), "utf8")) as { jwt: string }).jwt,
    jwt,
  );
});

long("a Postgres that dies takes the service with it, and the words say where to look", async () => {
  process.kill(postmaster(), "SIGQUIT");
  const { code, stderr } = await outcome(running!);
  assert.equal(code, 1);
  assert.match(stderr, /The embedded Postgres stopped by itself; .*postgres\.log says why$/);
});

test("SIGTERM stops the service, then Postgres, and leaves nothing behind", async () => {
  running!.child.kill("SIGKILL");
  await running!.ended;
  running = tenancy(["start"], { ...env, SERVICE_JWT_SECRET: TEST_SECRET, SERVICE_PROT: "3000" });
  const address = await listening(running);
  assert.equal(await currentTenant(address, await token({ sub: "ann" })), 200);
  const server = postmaster();
  running.child.kill("SIGTERM");
  assert.equal((await outcome(running)).code, 0);
  assert.match(
    running.stdout,
    /^\{"level":40,.*"SERVICE_PROT is not a variable of this service; nothing reads it"\}$/m,
  );
  assert.ok(!isAlive(server));
  assert.ok(!existsSync(path.join(cluster, "postmaster.pid")));
  assert.ok(!existsSync(path.join(dataDir, "lock")));
});

long("a second signal ends it at once, and Postgres follows", async () => {
  running = tenancy(["start"], env);
  await listening(running);
  const pid = postmaster();
  running.child.kill("SIGINT");
  running.child.kill("SIGTERM");
  const code = await running.ended;
  assert.ok(code === 130 || code === 143, `the later one's: ${code}`);
  assert.ok(await hasEnded(pid));
});

long("commands that use its Postgres say, when it stops, that this is why they end", async () => {
  running = tenancy(["start"], env);
  await listening(running);
  const sql = asSuperuser("tms");
  const commands: Command[] = [];
  try {
    const blocker = await sql.reserve();
    await blocker`begin`;
    await blocker`lock table app.boards`;
    const following = tenancy(["events", "--follow"], env);
    const auditing = tenancy(["audit", "--only", "data"], env);
    const file = path.join(folder, "boards.sql");
    writeFileSync(file, "select from app.boards;");
    const developing = tenancy(["run", file], env, built, "dist/cli/gm.js");
    commands.push(following, auditing, developing);
    await following.prints(/created/);
    await lockWaiters(sql, 2);
    running.child.kill("SIGTERM");
    const { pid } = running.child;
    const why = `Process ${pid}, which had started the Postgres in ${dataDir}, has ended, and Postgres with it: run this again`;
    for (const [command, status] of [
      [following, 1],
      [auditing, 2],
      [developing, 1],
    ] as const) {
      await until("it says why", () => command.stderr.endsWith(`${why}\n`));
      if (command !== developing) assert.equal(command.stderr, `${why}\n`); // graphile-migrate has words of its own
      assert.equal(await command.ended, status);
    }
  } finally {
    for (const { child } of commands) child.kill("SIGKILL");
    await sql.end({ timeout: 0 });
  }
});

long(
  "under an npm script it stops with the shell that npm runs it in",
  {
    skip: process.platform === "win32" && "Windows has no such shell",
  },
  async () => {
    const line = `"${process.execPath}" --import tsx src/cli.ts start; true`;
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const shell = spawn("sh", ["-c", line], {
      cwd: projectRoot,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        npm_lifecycle_event: "start",
        SERVICE_JWT_PUBLIC_KEY: publicKey.export({ type: "spki", format: "pem" }).toString(),
        ...env,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    shell.stdout.setEncoding("utf8").on("data", text => {
      said += text;
    });
    const address = await until("the service listens", () => {
      assert.equal(shell.exitCode, null, said);
      return /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
    });
    const claims = new SignJWT({ sub: "ann", exp: Math.floor(Date.now() / 1000) + 3600 });
    const signed = await claims.setProtectedHeader({ alg: "EdDSA" }).sign(privateKey);
    assert.equal(await currentTenant(address, signed), 200);
    const service = Number(/"pid":(\d+)/.exec(said)![1]);
    assert.notEqual(service, shell.pid);
    const server = postmaster();
    shell.kill("SIGTERM");
    const ended = await hasEnded(service);
    if (!ended) process.kill(service, "SIGKILL");
    assert.ok(ended, said);
    assert.match(said, /"msg":"stopping"/);
    assert.ok(!isAlive(server));
    assert.ok(!existsSync(path.join(dataDir, "lock")));
    await assert.rejects(fetch(`${address}/health`));
  },
);

long(
  "a first start ends at a signal among its migrations; the next one says how it is set up, and which port is not to be had",
  async () => {
    const data = path.join(folder, "interrupted");
    const wanted = await freePort();
    const first = { SERVICE_DATA_DIR: data, SERVICE_PORT: "0", SERVICE_EMBEDDED_PORT: String(wanted) };
    const interrupted = tenancy(["start"], first);
    await interrupted.prints(new RegExp(`"Embedded Postgres in .*, at 127\\.0\\.0\\.1:${wanted}"`));
    interrupted.child.kill("SIGTERM");
    const { code, stdout, stderr } = await outcome(interrupted);
    assert.equal(code, 143);
    assert.match(stderr, /^Interrupted: what was not committed is rolled back/);
    assert.doesNotMatch(stdout, /"started"/);
    assert.ok(!existsSync(path.join(data, "postgres", "postmaster.pid")));

    const other = createServer();
    await new Promise<void>(resolve => other.listen(wanted, "127.0.0.1", resolve));
    running = tenancy(["start"], first);
    const [, port] = await running.prints(
      new RegExp(`"Embedded Postgres in .*, at 127\\.0\\.0\\.1:(\\d+): the port ${wanted} is taken"`),
    );
    const [line] = await running.prints(/^.*"msg":"started".*$/m);
    other.close();
    running.child.kill("SIGTERM");
    assert.equal((await outcome(running)).code, 0);
    const {
      mode,
      database,
      postgres,
      release,
      version: built,
      key,
      bounds,
    } = JSON.parse(line) as Record<string, unknown>;
    const { version } = JSON.parse(readFileSync(path.join(projectRoot, "package.json"), "utf8")) as {
      version: string;
    };
    assert.deepEqual(
      [mode, database, release, built],
      ["single-tenant", `127.0.0.1:${port}/tms`, RELEASE.number, version],
    );
    assert.deepEqual(
      [key, bounds],
      [
        path.join(data, "secrets.json"),
        {
          connections: 10,
          pipeline_depth: 8,
          requests_in_flight: 1000,
          tenants_per_user: null,
          shutdown_ms: 10_000,
        },
      ],
    );
    assert.match(postgres as string, /^\d+\.\d+/);
  },
);

long("a port that is taken is one sentence, and Postgres does not stay", async () => {
  const other = createServer();
  await new Promise<void>(resolve => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as { port: number };
  const taken = { SERVICE_PORT: String(port), SERVICE_LOG_LEVEL: "warn" };
  const { code, stdout, stderr } = await outcome(tenancy(["start"], { ...env, ...taken }));
  other.close();
  assert.deepEqual([code, stdout], [1, ""]);
  assert.equal(
    stderr,
    `127.0.0.1 port ${port} is taken by another program; set SERVICE_PORT to another port`,
  );
  assert.ok(!existsSync(path.join(cluster, "postmaster.pid")));
});

long(
  "a data folder of another Postgres, without its passwords, or not to be written is one sentence",
  async () => {
    const fault = async (more: Record<string, string> = {}) => {
      const { code, stderr } = await outcome(tenancy(["start"], { ...env, ...more }));
      assert.equal(code, 1);
      return stderr;
    };
    const versionFile = path.join(cluster, "PG_VERSION");
    const version = readFileSync(versionFile, "utf8");
    writeFileSync(versionFile, "99\n");
    assert.match(
      await fault(),
      /^.* was written by Postgres 99 and this is Postgres \d+; update the project, or set SERVICE_DATA_DIR$/,
    );
    writeFileSync(versionFile, version);
    const file = path.join(folder, "file");
    writeFileSync(file, "");
    assert.match(
      await fault({ SERVICE_DATA_DIR: file }),
      /^The data folder .* cannot be written \((EEXIST|ENOTDIR).*; set SERVICE_DATA_DIR to another$/,
    );
    const long = path.join(folder, "x".repeat(300));
    assert.match(
      await fault({ SERVICE_DATA_DIR: long }),
      /^The data folder .* cannot be written \(ENAMETOOLONG/,
    );
    // A file system that takes no folders; Node's own recursive mkdir would never come back from it.
    if (process.platform === "linux")
      assert.match(
        await fault({ SERVICE_DATA_DIR: "/proc/x" }),
        /^The data folder \/proc\/x cannot be written/,
      );
    rmSync(path.join(dataDir, "secrets.json"));
    assert.match(
      await fault(),
      /^.* holds a database, but .*secrets\.json with its passwords is missing: restore it, or remove /,
    );
  },
);

long("a disk that is full is one sentence, wherever the first start meets that", async t => {
  const disk = path.join(folder, "disk");
  mkdirSync(disk);
  for (const [megabytes, command] of [
    [5, "start"], // initdb
    [41, "start"], // the databases
    [52, "start"], // the server restarts amid the migrations
    [52, "migrate"],
  ] as const) {
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=755`, "tmpfs", disk]);
    if (mounted.status !== 0) return t.skip("nothing can be mounted here");
    try {
      const { code, stderr } = await outcome(
        tenancy([command], { ...env, SERVICE_DATA_DIR: `${disk}/data` }),
      );
      assert.deepEqual([code, stderr], [1, `The disk is full: ${disk}/data`]);
    } finally {
      spawnSync("umount", [disk]);
    }
  }
});

long(
  "a machine whose 127.0.0.1 cannot be used is one sentence",
  {
    skip: spawnSync("unshare", ["-n", "true"]).status !== 0 && "no network can be taken away here",
  },
  () => {
    const { status, stderr } = spawnSync("unshare", ["-n", process.execPath, "dist/cli.js", "migrate"], {
      cwd: built,
      env: { PATH: process.env.PATH, SERVICE_DATA_DIR: path.join(folder, "alone") },
      encoding: "utf8",
    });
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^The embedded Postgres needs the address 127\.0\.0\.1, .* or use a server of your own$/m,
    );
  },
);

test("the start names every fault of the environment at once", async () => {
  const { code, stdout, stderr } = await outcome(
    tenancy(["start"], { SERVICE_PORT: "no", SERVICE_MULTI_TENANT_MODE: "maybe" }),
  );
  assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
  assert.match(stderr, /SERVICE_PORT: .*/);
  assert.match(stderr, /SERVICE_MULTI_TENANT_MODE: .*/);
});
