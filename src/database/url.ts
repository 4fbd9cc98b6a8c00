/** Addresses of databases: their parts, and which names the service accepts. */
import type postgres from "postgres";
import { KINDS } from "../config/kinds.ts";
import { StartupError } from "../errors/startup-error.ts";

export function parseUrl(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}
export const userOf = (url: string) => decodeURIComponent(parseUrl(url)?.username ?? "");
export const databaseOf = (url: string) => decodeURIComponent(parseUrl(url)?.pathname.slice(1) ?? "");

/** @throws StartupError if the variable is not a valid database address */
export function requireAddress(text: string, variable: string): string {
  const { expects, parse } = KINDS.database;
  const address = parse(text);
  if (address === undefined) throw new StartupError(`${variable}: expected ${expects}`);
  return address;
}

export const noDatabase = (variable: string) =>
  `${variable} names no database: expected ${KINDS.database.expects}`;

/**
 * The first migration writes the database's name without quotes, where `TMS` would be another database.
 * Which words are reserved, only the server knows.
 */
const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/;
const notPlain = (variable: string) =>
  new StartupError(
    `${variable}: the database's name must be of lowercase letters, digits and _, begin with no digit, and be no word of SQL`,
  );

/** @throws StartupError if the address names no database, or one that the migrations could not write */
export function requireDatabase(url: string, variable: string): void {
  if (databaseOf(url) === "") throw new StartupError(noDatabase(variable));
  if (!PLAIN_NAME.test(databaseOf(url))) throw notPlain(variable);
}

/** @throws StartupError if the database's name is a reserved word on this server */
export async function refuseKeyword(sql: postgres.Sql, url: string, variable: string): Promise<void> {
  const found = await sql`
    select from pg_catalog.pg_get_keywords()
    where word operator(pg_catalog.=) ${databaseOf(url)} and catcode operator(pg_catalog.<>) 'U'`;
  if (found.length > 0) throw notPlain(variable);
}
