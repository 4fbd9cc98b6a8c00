/** Brings a database to this build's schema: roles, database, committed migrations, isolation check. */
import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { PACKAGE_ROOT, ROLES_SQL } from "./paths.ts";
import { scramVerifier } from "./scram.ts";
import { StartupError } from "./startup-error.ts";

export interface MigrateOptions {
  /** tms_owner's login on the database to migrate; a direct connection, not one through a transaction pooler. */
  ownerUrl: string;
  /** An administrator's login. With it, roles.sql is applied and the database is made when it is missing. */
  rootUrl?: string | undefined;
  /** The service's login; with `rootUrl`, a password that the server refuses is set on the role. */
  serviceUrl?: string | undefined;
  /** Also runs db/current.sql: for tests and development. */
  current?: boolean;
  log?: (line: string) => void;
}

export interface Migrated {
  /** File names of the migrations that this call applied. */
  applied: string[];
  /** The last migration in the database, such as `000003.sql`; null when there is none. */
  version: string | null;
  serverVersion: string;
}

const COMMITTED = path.join(PACKAGE_ROOT, "db", "committed");
const LOGIN_ROLES = ["tms_owner", "tms_service"];

/** Safe to call from several processes at once: one works, the others wait. Throws StartupError. */
export async function migrate(options: MigrateOptions): Promise<Migrated> {
  const { ownerUrl, rootUrl, log = () => {} } = options;
  if (userOf(ownerUrl) !== "tms_owner") {
    throw new StartupError(
      `DATABASE_URL must log in as tms_owner, not as ${userOf(ownerUrl) || "anybody else"}: postgres://tms_owner:password@host/database`,
    );
  }
  if (rootUrl) await prepareDatabase(rootUrl, ownerUrl, options.serviceUrl);
  const sql = connect(ownerUrl);
  try {
    const serverVersion = await checkServer(sql);
    await waitForTurn(sql, log);
    const build = await committedMigrations();
    const before = await appliedMigrations(sql);
    checkHistory(build, before);
    if (options.current || build.length > before.length) {
      await graphileMigrate(options.current ? "current" : "migrate", ownerUrl, log);
    }
    const after = await appliedMigrations(sql);
    await checkIsolation(ownerUrl);
    const applied = build.slice(before.length).map(migration => migration.file);
    return { applied, version: after.at(-1)?.filename ?? null, serverVersion };
  } catch (error) {
    throw explainDatabase(error, ownerUrl, "DATABASE_URL");
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The last migration that this build carries, such as `000003.sql`; null when it carries none. */
export async function buildVersion(): Promise<string | null> {
  return (await committedMigrations()).at(-1)?.filename ?? null;
}

/** Applies db/roles.sql with an administrator's login. */
export async function applyRoles(rootUrl: string): Promise<void> {
  const sql = connect(rootUrl);
  try {
    await sql.unsafe(await readFile(ROLES_SQL, "utf8")).simple();
  } catch (error) {
    throw explainDatabase(error, rootUrl, "ROOT_DATABASE_URL");
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * What a migration must not leave behind: anything that the audit's schema checks call an error. Asked after every
 * migration, whether or not there was one to apply. Throws StartupError naming the object and the remedy.
 */
export async function checkIsolation(ownerUrl: string): Promise<void> {
  const sql = connect(ownerUrl);
  try {
    await sql`select audit.require_isolation()`;
  } catch (error) {
    if ((error as { code?: string }).code !== "55000") throw error;
    throw new StartupError(`Migrated, but ${lowerFirst((error as Error).message)}`);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

// ---- before the migrations ------------------------------------------------------------------------------------

async function prepareDatabase(rootUrl: string, ownerUrl: string, serviceUrl: string | undefined) {
  await applyRoles(rootUrl);
  const sql = connect(rootUrl);
  try {
    const database = databaseOf(ownerUrl);
    const [found] = await sql`select from pg_catalog.pg_database where datname = ${database}`;
    if (!found) await createDatabase(sql, database);
    for (const url of [ownerUrl, serviceUrl]) {
      const role = url && userOf(url);
      if (!role || !LOGIN_ROLES.includes(role) || !(await refusesPassword(url))) continue;
      await sql.unsafe(
        `alter role ${role} password '${scramVerifier(decodeURIComponent(new URL(url).password))}'`,
      );
    }
  } catch (error) {
    throw explainDatabase(error, rootUrl, "ROOT_DATABASE_URL");
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function createDatabase(sql: postgres.Sql, name: string) {
  const [admin] = await sql<
    { rolsuper: boolean }[]
  >`select rolsuper from pg_catalog.pg_roles where rolname = current_user`;
  // Without superuser, giving a database away takes membership in its new owner, for that moment.
  if (!admin!.rolsuper) await sql`grant tms_owner to current_user`;
  try {
    await sql`create database ${sql(name)} owner tms_owner template template0 encoding 'UTF8'`;
  } catch (error) {
    if ((error as { code?: string }).code !== "42P04") throw error; // somebody else's pipeline made it just now
  } finally {
    if (!admin!.rolsuper) await sql`revoke tms_owner from current_user`;
  }
}

/** Does the server know the login but not this password? A role that roles.sql has just made has none. */
async function refusesPassword(url: string): Promise<boolean> {
  const sql = connect(url);
  try {
    await sql`select`;
    return false;
  } catch (error) {
    return (error as { code?: string }).code === "28P01";
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function checkServer(sql: postgres.Sql): Promise<string> {
  const [server] = await sql<{ version: string; number: number; encoding: string; missing: string | null }[]>`
    select
      current_setting('server_version') as version,
      current_setting('server_version_num')::int as number,
      current_setting('server_encoding') as encoding,
      (select string_agg(name, ', ')
       from unnest(array['tms_service', 'tms_app', 'tms_registrar', 'tms_auditor']) as name
       where to_regrole(name) is null) as missing`;
  const { version, number, encoding, missing } = server!;
  if (number < 150_000)
    throw new StartupError(`Postgres 15 or newer is needed, and this server is ${version}`);
  if (encoding !== "UTF8")
    throw new StartupError(`The database must be encoded in UTF8, and this one is ${encoding}`);
  if (missing) {
    throw new StartupError(
      `The roles ${missing} are missing: run db/roles.sql as an administrator, or set ROOT_DATABASE_URL`,
    );
  }
  return version;
}

/** Held until the connection ends. graphile-migrate's own lock does not wait, so it is taken behind this one. */
async function waitForTurn(sql: postgres.Sql, log: (line: string) => void) {
  await sql`set statement_timeout = 0`;
  await sql`set lock_timeout = 0`;
  const [turn] = await sql<{ mine: boolean }[]>`select pg_catalog.pg_try_advisory_lock(8624367002) as mine`;
  if (turn!.mine) return;
  log("Another process is migrating this database; waiting for it to end");
  await sql`select pg_catalog.pg_advisory_lock(8624367002)`;
}

interface Migration {
  /** As Postgres records it: `000001.sql`. */
  filename: string;
  /** As it lies in db/committed, slug included. */
  file: string;
  hash: string;
}

async function committedMigrations(): Promise<Migration[]> {
  const files = (await readdir(COMMITTED).catch(() => [])).filter(name => /^\d{6}.*\.sql$/.test(name)).sort();
  return Promise.all(
    files.map(async file => {
      const hash = /^--! Hash: *(\S+)/m.exec(await readFile(path.join(COMMITTED, file), "utf8"))?.[1] ?? "";
      return { filename: `${file.slice(0, 6)}.sql`, file, hash };
    }),
  );
}

async function appliedMigrations(sql: postgres.Sql): Promise<{ filename: string; hash: string }[]> {
  const [table] = await sql`select to_regclass('graphile_migrate.migrations') as name`;
  if (!table!.name) return [];
  return sql<
    { filename: string; hash: string }[]
  >`select filename, hash from graphile_migrate.migrations order by filename`;
}

function checkHistory(build: Migration[], applied: { filename: string; hash: string }[]) {
  const newer = applied.slice(build.length).map(migration => migration.filename);
  if (newer.length > 0) {
    throw new StartupError(
      `The database is newer than this build, which does not know ${newer.join(", ")}: deploy the newer build`,
    );
  }
  const changed = applied.findIndex((migration, i) => migration.hash !== build[i]!.hash);
  if (changed >= 0) {
    throw new StartupError(
      `db/committed/${build[changed]!.file} is not the migration that was applied to this database under its name`,
    );
  }
}

// ---- the migrations -------------------------------------------------------------------------------------------

/** As a process of its own: the library would end ours when its pool loses a connection. */
async function graphileMigrate(
  command: "migrate" | "current",
  ownerUrl: string,
  log: (line: string) => void,
) {
  const cli = path.join(
    path.dirname(createRequire(import.meta.url).resolve("graphile-migrate/package.json")),
    "dist",
    "cli.js",
  );
  for (let waited = 0; ; waited++) {
    const { code, output } = await new Promise<{ code: number | null; output: string }>((resolve, reject) => {
      const child = spawn(process.execPath, [cli, command], {
        cwd: PACKAGE_ROOT,
        env: { ...process.env, DATABASE_URL: ownerUrl, NO_COLOR: "1", FORCE_COLOR: "0" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", text => (output += text));
      child.on("error", reject).on("close", code => resolve({ code, output }));
    });
    if (code === 0) return;
    // Somebody runs graphile-migrate by hand, past our lock.
    if (output.includes("Failed to get exclusive lock") && waited < 600) {
      if (waited === 0) log("graphile-migrate is at work on this database; waiting for it to end");
      await sleep(1000);
      continue;
    }
    if (code === null) throw new StartupError("The migrations were interrupted; run them again to finish");
    const at = /Error occurred at line (\d+), column \d+ of "(.+?)"/.exec(output);
    const running =
      /.*Running migration '(.+?)'/s.exec(output)?.[1] ?? (command === "current" ? "current.sql" : undefined);
    const message = /^\s*\w*[eE]rror: *(.+)$/m.exec(output)?.[1] ?? output.trim().split("\n").pop();
    const place = running ? `${running}${at ? ` (line ${at[1]} as compiled)` : ""}` : "The migrations";
    throw new StartupError(`${place} failed and was rolled back: ${message}`);
  }
}

// ---- connections ----------------------------------------------------------------------------------------------

const connect = (url: string) =>
  postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10, fetch_types: false });

function parseUrl(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}
const userOf = (url: string) => decodeURIComponent(parseUrl(url)?.username ?? "");
const databaseOf = (url: string) => decodeURIComponent(parseUrl(url)?.pathname.slice(1) ?? "");

/** A fault of connecting becomes one sentence that names the variable to look at; a password never appears in it. */
export function explainDatabase(error: unknown, url: string, variable: string): unknown {
  if (error instanceof StartupError) return error;
  const { code = "", message } = error as { code?: string; message: string };
  const { host = "?" } = parseUrl(url) ?? {};
  if (
    /^(ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT|CONNECTION_|57P03)/.test(
      code,
    )
  ) {
    return new StartupError(`The database at ${host} (${variable}) cannot be reached: ${message || code}`);
  }
  if (code === "28P01" || code === "28000") {
    return new StartupError(
      `The database at ${host} refuses ${userOf(url)}'s login (${variable}): ${message}`,
    );
  }
  if (code === "3D000") {
    return new StartupError(
      `The database ${databaseOf(url)} does not exist at ${host}: create it with owner tms_owner, or set ROOT_DATABASE_URL`,
    );
  }
  if (/^[0-9A-Z]{5}$/.test(code))
    return new StartupError(`The database at ${host} (${variable}) refused: ${message}`);
  return error;
}
