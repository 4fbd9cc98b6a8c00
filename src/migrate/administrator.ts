/** What only an administrator's login can do before the migrations: roles, the database, passwords. */
import { readFile } from "node:fs/promises";
import type postgres from "postgres";
import { connect, databaseOf, explainDatabase, userOf } from "../connection.ts";
import { LARGE_OBJECTS_SQL, ROLES_SQL } from "../paths.ts";
import { scramVerifier } from "../scram.ts";

const LOGIN_ROLES = ["tms_owner", "tms_service"];

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

/** Applies db/large_objects.sql to a database, with a superuser's login. */
export async function closeLargeObjects(rootUrl: string, database: string): Promise<void> {
  const sql = connect(Object.assign(new URL(rootUrl), { pathname: `/${database}` }).href);
  try {
    await sql.unsafe(await readFile(LARGE_OBJECTS_SQL, "utf8")).simple();
  } finally {
    await sql.end({ timeout: 5 });
  }
}

export async function prepareDatabase(rootUrl: string, ownerUrl: string, serviceUrl: string | undefined) {
  await applyRoles(rootUrl);
  const sql = connect(rootUrl);
  try {
    const database = databaseOf(ownerUrl);
    const [found] = await sql`select from pg_catalog.pg_database where datname = ${database}`;
    if (!found && (await createDatabase(sql, database))) await closeLargeObjects(rootUrl, database);
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

/** Whether the login is a superuser, who may do more in it. */
async function createDatabase(sql: postgres.Sql, name: string): Promise<boolean> {
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
  return admin!.rolsuper;
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
