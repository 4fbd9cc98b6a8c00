/** Brings a database to this build's schema: roles, database, committed migrations, isolation check. */
import type postgres from "postgres";
import { connect, onConnection } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { refuseKeyword, requireAddress, requireDatabase, userOf } from "../database/url.ts";
import { StartupError } from "../errors/startup-error.ts";
import { prepareDatabase } from "./administrator.ts";
import { APPLICATION, graphileMigrate, INTERRUPTED, RolledBack, tellingBlockers } from "./graphile.ts";
import { appliedMigrations, checkHistory, committedMigrations } from "./history.ts";
import { takeLock } from "./lock.ts";
import { refuseNeighbours } from "./neighbours.ts";

interface MigrateOptions {
  /** tms_owner's login on the database to migrate; a direct connection, not one through a transaction pooler. */
  ownerUrl: string;
  /** An administrator's login. With it, roles.sql is applied and the database is made when it is missing. */
  rootUrl?: string | undefined;
  /** The service's login; with `rootUrl`, a password that the server refuses is set on the role. */
  serviceUrl?: string | undefined;
  /** Also runs db/current.sql: for tests and development. */
  current?: boolean;
  log?: (line: string) => void;
  /** Aborted with the name of a signal: ends the work, and rolls back what is not committed. */
  signal?: AbortSignal;
}

/** What a database may set for its logins is for requests. */
const UNHURRIED = {
  connection: {
    application_name: "tms migrate (turn)",
    statement_timeout: 0,
    lock_timeout: 0,
    idle_session_timeout: 0,
    row_security: true,
  },
};

/** Each check that a lock keeps waiting gives up, and is an error then. */
const GATE = {
  connection: { ...UNHURRIED.connection, application_name: APPLICATION, lock_timeout: 10_000 },
};

export interface Migrated {
  /** File names of the migrations that this call applied. */
  applied: string[];
  /** The last migration in the database, such as `000003.sql`. */
  version: string;
  serverVersion: string;
}

/** Safe to call from several processes at once: one works, the others wait. Throws StartupError. */
export async function migrate(options: MigrateOptions): Promise<Migrated> {
  const { log = () => {}, signal } = options;
  const ownerUrl = requireAddress(options.ownerUrl, "DATABASE_URL");
  const rootUrl = options.rootUrl && requireAddress(options.rootUrl, "ROOT_DATABASE_URL");
  const serviceUrl =
    rootUrl && options.serviceUrl && requireAddress(options.serviceUrl, "SERVICE_DATABASE_URL");
  if (userOf(ownerUrl) !== "tms_owner") {
    throw new StartupError(
      `DATABASE_URL must log in as tms_owner, not as ${userOf(ownerUrl) || "anybody else"}: postgres://tms_owner:password@host/database`,
    );
  }
  requireDatabase(ownerUrl, "DATABASE_URL");
  const unlessInterrupted = untilAborted(signal);
  if (rootUrl) await unlessInterrupted(prepareDatabase(rootUrl, { ownerUrl, serviceUrl, log }));
  const sql = connect(ownerUrl, UNHURRIED);
  let unlock = async () => {};
  try {
    await unlessInterrupted(refuseKeyword(sql, ownerUrl, "DATABASE_URL"));
    const serverVersion = await checkServer(sql);
    // graphile-migrate's own lock does not wait, so it is taken behind this one.
    const turn = { key: 8624367002, holder: "Another process is migrating this database", log };
    unlock = await unlessInterrupted(takeLock(sql, turn));
    const build = await committedMigrations();
    const before = await appliedMigrations(sql);
    checkHistory(build, before);
    if (before.length === 0) await refuseNeighbours(sql);
    if (options.current || build.length > before.length) {
      const command = options.current ? "current" : "migrate";
      await graphileMigrate(sql, { command, ownerUrl, log, signal }).catch(async fault => {
        throw withApplied(fault, (await appliedMigrations(sql)).slice(before.length), build);
      });
    }
    const after = await appliedMigrations(sql);
    await tellingBlockers(sql, log, () => checkIsolation(ownerUrl));
    const applied = build.slice(before.length).map(migration => migration.file);
    return { applied, version: after.at(-1)!.filename, serverVersion };
  } catch (error) {
    throw explainDatabase(error, ownerUrl, "DATABASE_URL");
  } finally {
    await unlock().catch(() => {}); // what went wrong before is what counts
    await sql.end({ timeout: signal?.aborted ? 0 : 5 });
  }
}

/** What it leaves behind ends with the process. */
function untilAborted(signal: AbortSignal | undefined): <T>(work: Promise<T>) => Promise<T> {
  const aborted = new Promise<never>((_resolve, reject) => {
    const abort = () => reject(new StartupError(INTERRUPTED));
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort);
  });
  aborted.catch(() => {});
  return work => Promise.race([work, aborted]);
}

/** Each migration is a transaction of its own. */
function withApplied(fault: unknown, applied: { filename: string }[], build: { file: string }[]): unknown {
  if (!(fault instanceof RolledBack) || applied.length === 0) return fault;
  const files = applied.map(
    ({ filename }) => build.find(({ file }) => file.startsWith(filename.slice(0, 6)))?.file,
  );
  const { unlessApplied } = fault;
  if (unlessApplied && files.at(-1) === unlessApplied.file) return new StartupError(unlessApplied.message);
  return new StartupError(`${fault.message} (applied before it, and stays: ${files.join(", ")})`);
}

interface Server {
  version: string;
  number: number;
  encoding: string;
  trigrams: boolean;
  misplaced: string | null;
  missing: string | null;
}

async function checkServer(sql: postgres.Sql): Promise<string> {
  const [server] = await sql<Server[]>`
    select
      current_setting('server_version') as version,
      current_setting('server_version_num')::int as number,
      current_setting('server_encoding') as encoding,
      exists (select from pg_available_extensions where name = 'pg_trgm') as trigrams,
      -- The first migration finds it in public, too, where the owner may use that after everybody else may not.
      (select e.extnamespace::regnamespace::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace
       where e.extname = 'pg_trgm' and to_regnamespace('control') is null and not (n.nspname = 'public' and exists (
         select from aclexplode(n.nspacl) where grantee = to_regrole('tms_owner') and privilege_type = 'USAGE'))) as misplaced,
      (select string_agg(name, ', ')
       from unnest(array['tms_service', 'tms_app', 'tms_registrar', 'tms_auditor']) as name
       where to_regrole(name) is null) as missing`;
  const { version, number, encoding, trigrams, misplaced, missing } = server!;
  if (number < 150_000)
    throw new StartupError(`Postgres 15 or newer is needed, and this server is ${version}`);
  if (encoding !== "UTF8")
    throw new StartupError(`The database must be encoded in UTF8, and this one is ${encoding}`);
  if (missing) {
    throw new StartupError(
      `The roles ${missing} are missing: run db/roles.sql as an administrator, or set ROOT_DATABASE_URL`,
    );
  }
  if (!trigrams) {
    throw new StartupError(
      "The server does not have the extension pg_trgm: install PostgreSQL's contrib package there",
    );
  }
  if (misplaced) {
    throw new StartupError(
      `The extension pg_trgm is in the schema ${misplaced}, where the first migration cannot use it. As a superuser: alter extension pg_trgm ` +
        "set schema public; grant usage on schema public to tms_owner; (after the migrations it may go back). Or use a database of its own: " +
        "with ROOT_DATABASE_URL migrate makes one.",
    );
  }
  return version;
}

/**
 * What a migration must not leave behind: anything that the audit's schema checks call an error. Asked after every
 * migration, whether or not there was one to apply. Throws StartupError naming the object and the remedy.
 */
export async function checkIsolation(ownerUrl: string): Promise<void> {
  await onConnection(ownerUrl, async sql => sql`select audit.require_isolation()`, GATE).catch(error => {
    if (error.code !== "55000") throw error;
    throw new StartupError(`Migrated, but ${lowerFirst(error.message)}`);
  });
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
