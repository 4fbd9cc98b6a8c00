/** Brings a database to this build: roles, database, committed migrations, then the release with the gate. */

import type postgres from "postgres";
import { connect, UNHURRIED } from "../database/command-connection.ts";
import { explainDatabase, ownerHint } from "../database/connection-errors.ts";
import { refuseKeyword, requireAddress } from "../database/url.ts";
import { hasState } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { prepareDatabase } from "./administrator.ts";
import { endWorkers, graphileMigrate, INTERRUPTED, tellingBlockers } from "./graphile.ts";
import { appliedMigrations, checkHistory, committedMigrations } from "./history.ts";
import { install, refuseOlderBuild } from "./installer.ts";
import { migrateTurn, takeLock } from "./lock.ts";
import { refuseNeighbours } from "./neighbours.ts";
import { requireOwnerUrl } from "./owner-url.ts";
import { refuseOtherProduct } from "./product.ts";
import { RELEASE, releaseHash } from "./release.ts";
import { requireOwnFiles } from "./released.ts";
import { INSTALLER_SESSION } from "./session.ts";
import { storeSecret } from "./tenant-context.ts";

interface MigrateOptions {
  /** tms_owner's login on the database to migrate; a direct connection, not one through a transaction pooler. */
  ownerUrl: string;
  /** An administrator's login. With it, roles.sql is applied and the database is made when it is missing. */
  rootUrl?: string | undefined;
  /** The service's login; with `rootUrl`, a password that the server refuses is set on the role. */
  serviceUrl?: string | undefined;
  /** Also runs db/migrations/current.sql: for tests and development. */
  current?: boolean;
  /** Installs the release again although the database has it: repairs functions that somebody changed. */
  reinstall?: boolean;
  /** SERVICE_TENANT_CONTEXT_SECRET: stored where it is set. */
  contextSecret?: string | null;
  /** SERVICE_MULTI_TENANT_MODE: stored where it is set. */
  multiTenantMode?: boolean | null;
  /** SERVICE_SAMPLE_PRODUCT: whether a new database gets the sample product. Null: it does, and another keeps what it has. */
  sampleProduct?: boolean | null;
  log?: (line: string) => void;
  /** Aborted with the name of a signal: ends the work, and rolls back what is not committed. */
  signal?: AbortSignal;
}

const TURN = { connection: { ...UNHURRIED, application_name: "tms migrate (turn)" } };

export interface Migrated {
  /** File names of the migrations that this call applied. */
  applied: string[];
  /** Whether the release was installed; false: the database had it. */
  installed: boolean;
  /** The last migration in the database, such as `000002.sql`. */
  version: string;
  release: number;
  serverVersion: string;
}

/** Safe to call from several processes at once: one works, the others wait. Throws StartupError. */
export async function migrate(options: MigrateOptions): Promise<Migrated> {
  const { log = () => {}, signal, reinstall = false } = options;
  const rootUrl = options.rootUrl && requireAddress(options.rootUrl, "ROOT_DATABASE_URL");
  const serviceUrl =
    rootUrl && options.serviceUrl && requireAddress(options.serviceUrl, "SERVICE_DATABASE_URL");
  const ownerUrl = requireOwnerUrl(options.ownerUrl);
  requireOwnFiles();
  const unlessInterrupted = untilAborted(signal);
  if (rootUrl) await unlessInterrupted(prepareDatabase(rootUrl, { ownerUrl, serviceUrl, log }));
  const sql = connect(ownerUrl, TURN);
  const installer = connect(ownerUrl, { connection: INSTALLER_SESSION });
  let unlock: (() => Promise<void>) | undefined;
  try {
    await unlessInterrupted(refuseKeyword(sql, ownerUrl, "DATABASE_URL"));
    const serverVersion = await checkServer(sql);
    // graphile-migrate's own lock does not wait, so it is taken behind this one.
    unlock = await unlessInterrupted(takeLock(sql, migrateTurn(log)));
    const build = await committedMigrations();
    const before = await appliedMigrations(sql);
    checkHistory(build, before);
    await refuseOlderBuild(sql);
    const { sampleProduct = null } = options;
    await refuseOtherProduct(sql, before, sampleProduct);
    if (releaseHash() !== RELEASE.hash)
      log(`Files of db/ differ from release ${RELEASE.number}: the gate compares nothing with the manifest`);
    if (before.length === 0) await refuseNeighbours(sql);
    return await tellingBlockers(sql, log, async () => {
      if (options.current || build.length > before.length) {
        const command = options.current ? "current" : "migrate";
        await graphileMigrate(sql, { command, ownerUrl, build, log, signal, sampleProduct });
      }
      const after = await appliedMigrations(sql);
      const applied = build.slice(before.length, after.length).map(({ file }) => file);
      const installed = await unlessInterrupted(install(installer, { reinstall })).catch(fault => {
        throw explainInstaller(fault, applied, ownerUrl);
      });
      const { contextSecret = null, multiTenantMode = null } = options;
      if (contextSecret && (await unlessInterrupted(storeSecret(installer, contextSecret))) !== "unchanged")
        log("The tenant context secret is stored: the database enters no tenant without a proof");
      if (multiTenantMode !== null) await unlessInterrupted(storeMode(installer, multiTenantMode));
      return { applied, installed, version: after.at(-1)!.filename, release: RELEASE.number, serverVersion };
    });
  } catch (error) {
    throw explainDatabase(error, ownerUrl, "DATABASE_URL");
  } finally {
    // A statement of the installer's that waits for a lock goes on in the server when its client is gone.
    await installer.end({ timeout: signal?.aborted ? 0 : 5 });
    // Without the turn the sessions at work are those of another process.
    if (unlock && signal?.aborted) await endWorkers(sql).catch(() => {});
    await unlock?.().catch(() => {}); // what went wrong before is what counts
    await sql.end({ timeout: signal?.aborted ? 0 : 5 });
  }
}

/** From then on a null slug enters the default tenant, or none. */
const storeMode = (sql: postgres.Sql, multiTenant: boolean) => sql`select control.store_mode(${multiTenant})`;

/** The migrations stay, since graphile-migrate commits each by itself; the installer changed nothing. */
function explainInstaller(fault: unknown, applied: string[], url: string): unknown {
  if (fault instanceof StartupError) return fault;
  const { message, code = "", sqlFile, firstRelease } = fault as InstallFault;
  if (code === "") return fault;
  const stays = applied.length > 0 ? ` (applied before it, and stays: ${applied.join(", ")})` : "";
  if (hasState(fault, "object_not_in_prerequisite_state") && message.startsWith("Tenants are not isolated"))
    return new StartupError(
      firstRelease
        ? `${message}. The release is installed, and nothing may use it before this is fixed; then run this command again`
        : `${message}${stays}. The release was not installed`,
    );
  const cause = `${message}${ownerHint({ code, message }, url)}`;
  return new StartupError(
    `The release was not installed, and what it changed is rolled back: ${sqlFile ?? "at its commit"}: ${cause}${stays}`,
  );
}

interface InstallFault {
  message: string;
  code?: string;
  sqlFile?: string;
  firstRelease?: boolean;
}

/** Rejects when the signal is aborted; the abandoned work ends with the process. */
function untilAborted(signal: AbortSignal | undefined): <T>(work: Promise<T>) => Promise<T> {
  const aborted = new Promise<never>((_resolve, reject) => {
    const abort = () => reject(new StartupError(INTERRUPTED));
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort);
  });
  aborted.catch(() => {});
  return work => Promise.race([work, aborted]);
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
    throw new StartupError(
      `The database must be encoded in UTF8, and this one is ${encoding}: see *Install the service in your database* in docs/guides/adopt.md`,
    );
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
