/** What a person must answer, or change in the database, before a table can be adopted. */
import { ident } from "../values/sql-names.ts";
import { type Answers, KEY_ANSWERS } from "./answers.ts";
import { overwritten } from "./foreign-key.ts";
import { globalKeys } from "./keys.ts";
import type { Living, Table } from "./living.ts";

export interface Question {
  /** The place of the answer in adopt.json: adopt.tables or adopt.keys. Null: a person changes the database instead. */
  in: "tables" | "keys" | null;
  about: string;
  asks: string;
  /** The possible answers. */
  answers: string[];
}

export const askTable = ({ relation }: Table, asks: string, ...answers: string[]): Question => ({
  in: "tables",
  about: relation,
  asks,
  answers,
});

export const inDatabase = ({ relation }: Table, asks: string): Question => ({
  in: null,
  about: relation,
  asks,
  answers: [],
});

/** The table does not wait for the answers. */
export const askKeys = ({ keys = {} }: Answers, table: Table): Question[] =>
  globalKeys(table)
    .filter(({ name }) => !keys[name])
    .map(({ name, keys: columns }) => ({
      in: "keys",
      about: name,
      asks: `of ${table.relation} is unique across all tenants: ${columns}`,
      answers: Object.keys(KEY_ANSWERS),
    }));

/** Privileges on a table that requests have, and that its treatment does not give them. */
export function reachedByRequests({ role }: Living, treatment: string, table: Table): Question | null {
  const { relation, granted, writers } = table;
  const isShared = treatment === "shared";
  const requests = treatment === "closed" || isShared ? ["", "tms_app", role] : [""];
  const found = (isShared ? writers : granted).filter(name => requests.includes(name));
  if (found.length === 0) return null;
  const names = found.map(name => (name === "" ? "public" : ident(name))).join(", ");
  return inDatabase(
    table,
    `gives ${isShared ? "privileges to write" : "privileges"} to ${names.replace("public", "PUBLIC")}, and so to requests. ` +
      "Grant them to the logins that need them, then revoke them:\n" +
      `    grant … on table ${relation} to …; revoke ${isShared ? "insert, update, delete, truncate" : "all"} on table ${relation} from ${names};`,
  );
}

export function nullable({ tenants }: Living, { keys, column, homeless }: Table): string {
  const pointer = keys.some(key => key.parent === tenants.relation && overwritten(key).includes(column!));
  return (
    `has ${column}, which may be null and is null in ${homeless} rows` +
    (pointer ? "; deleting a tenant sets it to null, so it may only be a reference" : "")
  );
}

export const stranded = (table: Table, logins: string[]) =>
  inDatabase(
    table,
    `gives privileges to ${logins.join(", ")}, and no bridge is open for ${logins.length > 1 ? "them" : "it"}. ` +
      'Name a last day in "adopt": {"bridges": …}, or revoke:\n' +
      `    revoke all on table ${table.relation} from ${logins.map(ident).join(", ")};`,
  );

export const shut = (table: Table, logins: string[]) =>
  inDatabase(
    table,
    `has row-level security already, and no policy for ${logins.join(", ")}: a bridge would show every row. ` +
      "Add a policy, or revoke:\n" +
      `    revoke all on table ${table.relation} from ${logins.map(ident).join(", ")};`,
  );

export const cannotFill = (table: Table, logins: string[]) =>
  inDatabase(
    table,
    `gets its tenant from ${table.parent!.relation}, which ${logins.join(", ")} may not read: inserts would fail (42501). Grant it:\n` +
      `    grant select on table ${table.parent!.relation} to ${logins.map(ident).join(", ")};`,
  );
