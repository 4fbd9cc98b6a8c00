/**
 * A replaced tenant keeps the API keys that it has today: its programs go on, and what was revoked stays revoked. A key needs the
 * rows of its user and of its maker, which the file may lack or have as they were.
 */
import type postgres from "postgres";
import { insertRows } from "./insert.ts";
import { asTexts, type Known } from "./tables.ts";

/** Every value a text, or JSON for a column of a domain over json. */
type Row = Record<string, string | null>;

export interface KeptKeys {
  keys: Row[];
  users: Row[];
}

/** Neither revoked nor expired. */
export const isValid = ({ revoked_at, expires_at }: Row): boolean =>
  revoked_at === null && !(expires_at && new Date(expires_at) <= new Date());

/** To be read as tms_owner. */
export async function readKeys(
  sql: postgres.TransactionSql,
  keys: Known,
  users: Known,
  id: string,
): Promise<KeptKeys> {
  const rows = async ({ from, columns, json_domains }: Known, where: string) => {
    const found = await sql.unsafe<{ row: string }[]>(
      `select to_json(t.*)::text as row from (select ${asTexts(columns, json_domains)} from ${from} r where tenant_id = $1 and ${where}) t`,
      [id],
    );
    return found.map(({ row }) => JSON.parse(row) as Row);
  };
  return {
    keys: await rows(keys, "true"),
    users: await rows(
      users,
      "exists (select from app.api_keys k where k.tenant_id = $1 and r.id in (k.user_id, k.created_by))",
    ),
  };
}

/** To be called as tms_app inside the tenant, once the file's rows are there. */
export async function putKeys(
  sql: postgres.TransactionSql,
  keys: Known,
  users: Known,
  id: string,
  kept: KeptKeys,
): Promise<void> {
  const insert = (table: Known, rows: Row[]) =>
    insertRows(
      sql,
      table,
      table.json,
      id,
      rows.map(row => JSON.stringify(row)),
    );
  const given = JSON.stringify(kept.users);
  const found = await sql<{ kept: string; here: string | null; now: string }[]>`
    select k.id::text as kept, now()::text as now, (
      select u.id::text from app.users u
      where tenant_id = ${id} and (u.id = k.id or (u.auth_provider, u.auth_subject) = (k.auth_provider, k.auth_subject))
      order by u.id = k.id desc limit 1) as here
    from json_to_recordset(${given}::text::json) k (id uuid, auth_provider text, auth_subject text)`;
  const placeOf = new Map(found.map(({ kept, here }) => [kept, here]));
  // A maker whom the file does not know is no member any more.
  const missing = kept.users
    .filter(user => placeOf.get(user.id!) === null)
    .map(user =>
      user.auth_provider === "key" ? user : { ...user, removed_at: user.removed_at ?? found[0]!.now },
    );
  if (missing.length > 0) await insert(users, missing);
  await sql`
    update app.users u set role = k.role, display_name = k.display_name, removed_at = k.removed_at,
      updated_at = greatest(u.updated_at, k.updated_at)
    from json_to_recordset(${given}::text::json) k (
      id uuid, auth_provider text, role text, display_name text, removed_at timestamptz, updated_at timestamptz)
    where u.tenant_id = ${id} and u.id = k.id and u.auth_provider = 'key' and k.auth_provider = 'key'`;
  const at = (user: string) => placeOf.get(user) ?? user;
  if (kept.keys.length > 0)
    await insert(
      keys,
      kept.keys.map(key => ({ ...key, user_id: at(key.user_id!), created_by: at(key.created_by!) })),
    );
}
