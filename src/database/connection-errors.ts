/** Explains errors of a connection to the database, for a person. */

import { isUnreachable, NO_CONNECT, UNTRUSTED } from "../errors/network.ts";
import { hasState, SQLSTATE } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { databaseOf, noDatabase, parseUrl, userOf } from "./url.ts";

export const CLOSED = "it closed the connection";
export const FOREIGN = "it does not answer as Postgres does";

/** Turns a connection error into one sentence that names the variable to check. It never contains a password. */
export function explainDatabase(error: unknown, url: string, variable: string): unknown {
  if (error instanceof StartupError) return error;
  const { code = "", message, routine } = error as { code?: string; message: string; routine?: string };
  const { host = "?" } = parseUrl(url) ?? {};
  if (/does not support SSL|before secure TLS connection/.test(message)) {
    return new StartupError(
      `The database at ${host} (${variable}) offers no TLS: switch ssl on in the server, or leave sslmode out of the address`,
    );
  }
  if (UNTRUSTED.test(code)) {
    return new StartupError(
      `The certificate of the database at ${host} (${variable}) cannot be trusted: ${message}: ${
        code === "CERT_HAS_EXPIRED"
          ? "renew it in the server, and reload its configuration (select pg_reload_conf();)"
          : "address the host by the name in its certificate, and name a private CA's file in NODE_EXTRA_CA_CERTS"
      }`,
    );
  }
  if (message.startsWith("unsupported startup parameter")) {
    return new StartupError(
      `The database at ${host} (${variable}) is behind a pooler (${message}): name the server's own address, which migrations and commands need`,
    );
  }
  const isForeign = message.startsWith("received invalid response"); // node-postgres says so
  if (isForeign || isUnreachable(error)) {
    const fault = isForeign ? FOREIGN : code === "CONNECTION_CLOSED" ? CLOSED : message || code;
    return new StartupError(`The database at ${host} (${variable}) cannot be reached: ${fault}`);
  }
  if (hasState(error, "invalid_password", "invalid_authorization_specification")) {
    return new StartupError(
      `The database at ${host} refuses ${userOf(url)}'s login (${variable}): ${message}${
        message.endsWith("no encryption") ? ": add ?sslmode=verify-full to the address" : ""
      }`,
    );
  }
  if (code === SQLSTATE.invalid_catalog_name) {
    if (databaseOf(url) === "") return new StartupError(noDatabase(variable));
    return new StartupError(
      `The database ${databaseOf(url)} (${variable}) does not exist at ${host}: ${
        variable === "SERVICE_DATABASE_URL"
          ? "npm run migrate makes it"
          : "create it with owner tms_owner, or set ROOT_DATABASE_URL"
      }`,
    );
  }
  if (/^[0-9A-Z]{5}$/.test(code)) {
    const hint =
      code === SQLSTATE.read_only_sql_transaction || userOf(url) === "tms_owner"
        ? ownerHint({ code, message }, url)
        : connectHint(routine, url, variable);
    return new StartupError(`The database at ${host} (${variable}) refused: ${message}${hint}`);
  }
  return error;
}

const connectHint = (routine: string | undefined, url: string, variable: string) =>
  routine === NO_CONNECT
    ? `: ${variable === "ROOT_DATABASE_URL" ? "name another database there, such as postgres, or " : ""}` +
      `grant connect on database ${databaseOf(url)} to ${userOf(url)};`
    : "";

/** What to do when a login, usually tms_owner, lacks a right; "" if the message does not tell. */
export function ownerHint({ code, message }: { code?: string; message: string }, url: string): string {
  if (/^permission denied (for database|to set role "pg_database_owner")/.test(message)) {
    return (
      ": the database must be tms_owner's; its owner, or a superuser, gives it away: grant tms_owner to current_user; " +
      `alter database ${databaseOf(url)} owner to tms_owner; revoke tms_owner from current_user;`
    );
  }
  if (/^permission denied for schema (app|api|audit|control|graphile_migrate)$/.test(message))
    return ": the dump was probably restored without owners or privileges; see Backup and restore in docs/operations.md";
  if (/^extension \S+ is not allow-listed/.test(message))
    return ": add PG_TRGM to the server's parameter azure.extensions, in the portal";
  if (/^(permission denied to set role|must be able to SET ROLE|must be member of role)/.test(message))
    return ": run db/roles.sql as an administrator, which gives tms_owner its roles";
  const reset = (setting: string) =>
    `${setting} may be set on the database (alter database ${databaseOf(url)} reset ${setting};), on ${userOf(url)} or in postgresql.conf`;
  if (code === SQLSTATE.read_only_sql_transaction)
    return `: the server is a standby, or its settings make transactions read only; ${reset("default_transaction_read_only")}`;
  if (code === SQLSTATE.lock_not_available)
    return ": somebody holds the lock for longer than lock_timeout (of migrations: 60s, in .gmrc); try again when that transaction has ended";
  if (code !== SQLSTATE.query_canceled) return "";
  return message.includes("statement timeout")
    ? `: ${reset("statement_timeout")}`
    : ": an administrator cancelled it; run it again";
}
