/** What only an administrator's login can do before the migrations: roles, the database, passwords. */

import { readFile } from "node:fs/promises";
import type postgres from "postgres";
import { LARGE_OBJECTS_SQL, ROLES_SQL } from "../config/paths.ts";
import { onConnection } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { scramVerifier } from "../database/scram-verifier.ts";
import { databaseOf, refuseKeyword, userOf } from "../database/url.ts";
import { NO_CONNECT } from "../errors/network.ts";
import { hasState, SQLSTATE } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { takeLock } from "./lock.ts";

const LOGIN_ROLES = ["tms_owner", "tms_service"];

/** Applies db/roles.sql with an administrator's login. */
export const applyRoles = (rootUrl: string) => asAdministrator(rootUrl, runRoles);

export const runRoles = async (sql: postgres.Sql) => {
  await sql.unsafe(await readFile(ROLES_SQL, "utf8")).simple();
};

async function asAdministrator(rootUrl: string, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const options = { connection: { application_name: "tms migrate (roles)" } };
  await onConnection(rootUrl, work, options).catch(error => {
    throw explainAdministrator(error, rootUrl);
  });
}

function explainAdministrator(error: unknown, rootUrl: string): unknown {
  const explained = explainDatabase(error, rootUrl, "ROOT_DATABASE_URL");
  const { routine, detail } = error as { routine?: string; detail?: string };
  if (!hasState(error, "insufficient_privilege") || routine === NO_CONNECT) return explained;
  return new StartupError(
    `${(explained as Error).message}${detail ? ` (${detail.replace(/\.$/, "")})` : ""}: the administrator must be a superuser, or ` +
      "have CREATEROLE and CREATEDB, and since Postgres 16 have made the tms_ roles or hold ADMIN on them " +
      "(those that a provider's console made: drop them there, migrate makes them)",
  );
}

/** Applies db/large_objects.sql to a database, with a superuser's login. */
export async function closeLargeObjects(rootUrl: string, database: string): Promise<void> {
  const url = Object.assign(new URL(rootUrl), { pathname: `/${database}` }).href;
  await onConnection(url, async sql => sql.unsafe(await readFile(LARGE_OBJECTS_SQL, "utf8")).simple());
}

interface Preparation {
  ownerUrl: string;
  serviceUrl: string | undefined;
  log: (line: string) => void;
}

export async function prepareDatabase(rootUrl: string, preparation: Preparation): Promise<void> {
  const { ownerUrl, serviceUrl, log } = preparation;
  await asAdministrator(rootUrl, async sql => {
    const database = databaseOf(ownerUrl);
    await refuseKeyword(sql, ownerUrl, "DATABASE_URL");
    await sql`set statement_timeout = 0`;
    await sql`set lock_timeout = 0`;
    // Over all that follows. roles.sql waits for the same lock, so it must run on this connection.
    const holder = "Another process makes the roles and the database";
    const unlock = await takeLock(sql, { key: 8624367001, holder, log });
    try {
      const unset = await withoutPassword(sql);
      await runRoles(sql);
      await setPassword(sql, ownerUrl, "DATABASE_URL", unset, database);
      if (serviceUrl) await setPassword(sql, serviceUrl, "SERVICE_DATABASE_URL", unset, database);
      const [admin] = await sql<{ rolsuper: boolean }[]>`
        select rolsuper from pg_catalog.pg_roles where rolname = current_user`;
      const [found] = await sql`select from pg_catalog.pg_database where datname = ${database}`;
      if (!found) await createDatabase(sql, database, admin!.rolsuper);
      // The database is empty: new, left by an interrupted run, or created by hand.
      const [blank] = await sql<{ own: boolean }[]>`
        select pg_catalog.pg_get_userbyid(datdba) = current_user as own from pg_catalog.pg_database d
        where datname = ${database} and not exists (select from pg_catalog.pg_shdepend where dbid = d.oid)`;
      if (blank && admin!.rolsuper) await closeLargeObjects(rootUrl, database);
      else if (blank?.own) await giveDatabase(sql, database);
    } finally {
      await undo(sql, unlock);
    }
  });
}

/** Behind a pooler the session goes on, as somebody else's. */
async function undo(sql: postgres.Sql, unlock: () => Promise<void>): Promise<void> {
  try {
    await unlock();
    await sql`reset statement_timeout`;
    await sql`reset lock_timeout`;
  } catch {} // what went wrong before is what counts
}

/** The logins that are not there yet and, where one may look, those that have no password. */
async function withoutPassword(sql: postgres.Sql): Promise<string[]> {
  const [admin] = await sql<{ looks: boolean }[]>`
    select pg_catalog.has_column_privilege('pg_catalog.pg_authid', 'rolpassword', 'select') as looks`;
  const having = admin!.looks
    ? await sql<{ rolname: string }[]>`select rolname from pg_catalog.pg_authid where rolpassword is not null`
    : await sql<{ rolname: string }[]>`select rolname from pg_catalog.pg_roles`;
  return LOGIN_ROLES.filter(role => !having.some(({ rolname }) => rolname === role));
}

/** What an address says becomes the password of a login that has none, or that no other database relies on. */
async function setPassword(
  sql: postgres.Sql,
  url: string,
  variable: string,
  unset: string[],
  database: string,
): Promise<void> {
  const role = userOf(url);
  if (!LOGIN_ROLES.includes(role) || !(await refusesPassword(url))) return;
  const others = unset.includes(role) ? [] : await otherDatabases(sql, database);
  if (others.length > 0) {
    throw new StartupError(
      `The password in ${variable} is refused for ${role}, and is not set, because ${others.join(", ")} in the same ` +
        `cluster may rely on the old one: change the address, or the password: alter role ${role} password '…';`,
    );
  }
  const verifier = scramVerifier(decodeURIComponent(new URL(url).password));
  try {
    await sql.unsafe(`alter role ${role} password '${verifier}'`);
  } catch (error) {
    if (!(error as Error).message.includes("plaintext password")) throw error;
    throw new StartupError(
      `The server takes only a password itself, and migrate sends what is derived from it: set that of ${variable} ` +
        `yourself, once, and run this again: alter role ${role} password '…';`,
    );
  }
}

/** Roles are the cluster's: these belong to another service's logins of the same names, or serve them. */
async function otherDatabases(sql: postgres.Sql, database: string): Promise<string[]> {
  const rows = await sql<{ datname: string }[]>`
    select datname from pg_catalog.pg_database
    where datname <> ${database}
      and (datdba = 'tms_owner'::regrole
        or exists (select from pg_catalog.aclexplode(datacl) where grantee = 'tms_service'::regrole))
    order by datname`;
  return rows.map(({ datname }) => datname);
}

async function createDatabase(sql: postgres.Sql, name: string, isSuperuser: boolean): Promise<void> {
  const owner = isSuperuser ? sql`tms_owner` : sql`default`;
  try {
    await sql`create database ${sql(name)} owner ${owner} template template0 encoding 'UTF8'`.simple();
  } catch (error) {
    const { code = "", message } = error as { code?: string; message: string };
    // Its own locale is for its own encoding.
    if (code === SQLSTATE.invalid_parameter_value)
      throw new StartupError(
        `The database ${name} cannot be made in UTF8 as this server makes databases (${message}); make it with another locale, and run this again: ` +
          `create database ${name} owner tms_owner template template0 encoding 'UTF8' locale 'C';`,
      );
    // Somebody made it just now, past the lock: by hand, or with an administrator's login on another database.
    if (!hasState(error, "duplicate_database", "unique_violation")) throw error;
  }
}

/** Takes membership in the new owner, for that moment. Statements sent as one are one transaction: nobody stays a member where we are killed. */
async function giveDatabase(sql: postgres.Sql, name: string): Promise<void> {
  await sql`
    grant tms_owner to current_user;
    alter database ${sql(name)} owner to tms_owner;
    revoke tms_owner from current_user`.simple();
}

/** Does the server know the login but not this password? A role that roles.sql has just made has none. */
const refusesPassword = (url: string): Promise<boolean> =>
  onConnection(url, async sql => sql`select`).then(
    () => false,
    error => hasState(error, "invalid_password"),
  );
