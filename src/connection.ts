/** A command's connection to the database, and what goes wrong with it in one sentence. */
import postgres from "postgres";
import { StartupError } from "./startup-error.ts";
import { KINDS } from "./variables.ts";

export const connect = (url: string) =>
  postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10, fetch_types: false });

function parseUrl(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}
export const userOf = (url: string) => decodeURIComponent(parseUrl(url)?.username ?? "");
export const databaseOf = (url: string) => decodeURIComponent(parseUrl(url)?.pathname.slice(1) ?? "");

/** @throws StartupError when the variable holds no address of a database */
export function requireAddress(text: string, variable: string): string {
  const { expects, parse } = KINDS.database;
  if (parse(text) === undefined) throw new StartupError(`${variable}: expected ${expects}`);
  return text;
}

/** A fault of connecting becomes one sentence that names the variable to look at; a password never appears in it. */
export function explainDatabase(error: unknown, url: string, variable: string): unknown {
  if (error instanceof StartupError) return error;
  const { code = "", message } = error as { code?: string; message: string };
  const { host = "?" } = parseUrl(url) ?? {};
  if (
    /^(ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT|CONNECTION_|57P03)/.test(
      code,
    ) ||
    /^(timeout e|Connection terminated)/.test(message) // the driver gives these no code
  ) {
    return new StartupError(`The database at ${host} (${variable}) cannot be reached: ${message || code}`);
  }
  if (code === "28P01" || code === "28000") {
    return new StartupError(
      `The database at ${host} refuses ${userOf(url)}'s login (${variable}): ${message}`,
    );
  }
  if (code === "3D000" && databaseOf(url) === "") return new StartupError(noDatabase(variable));
  if (code === "3D000") {
    return new StartupError(
      `The database ${databaseOf(url)} (${variable}) does not exist at ${host}: ${
        variable === "SERVICE_DATABASE_URL"
          ? "npm run migrate makes it"
          : "create it with owner tms_owner, or set ROOT_DATABASE_URL"
      }`,
    );
  }
  if (/^[0-9A-Z]{5}$/.test(code)) {
    const hint = userOf(url) === "tms_owner" ? ownerHint(message, url) : "";
    return new StartupError(`The database at ${host} (${variable}) refused: ${message}${hint}`);
  }
  return error;
}

const noDatabase = (variable: string) => `${variable} names no database: expected ${KINDS.database.expects}`;

/** @throws StartupError where the address leaves the database to the driver's guess */
export function requireDatabase(url: string, variable: string): void {
  if (databaseOf(url) === "") throw new StartupError(noDatabase(variable));
}

/** What helps tms_owner where it may not do its work; "" where the words do not tell. */
export function ownerHint(message: string, url: string): string {
  if (message.startsWith("permission denied for database")) {
    const database = databaseOf(url);
    const name = /^[a-z_][a-z0-9_]*$/.test(database) ? database : `"${database.replaceAll('"', '""')}"`;
    return `: the database must be tms_owner's: alter database ${name} owner to tms_owner;`;
  }
  if (/^(permission denied to set role|must be able to SET ROLE|must be member of role)/.test(message))
    return ": run db/roles.sql as a superuser, which gives tms_owner its roles";
  return "";
}
