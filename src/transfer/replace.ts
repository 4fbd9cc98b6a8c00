/** An import into a tenant that is there: one tenant back to yesterday. */
import type postgres from "postgres";
import { hasState } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { type Header, headerFrom } from "./file.ts";
import { type KeptKeys, readKeys } from "./kept-keys.ts";
import { countRows, enter, isDistributed, type Known, type tablesOf, useStandardText } from "./tables.ts";

interface Replaced {
  id: string;
  slug: string;
  /** As the import will count them: without its own in app.tenants, invitations and keys. */
  rows: number;
}

/** The tenant that the file was exported from. Throws StartupError if it is not here, or cannot be replaced. */
export async function findReplaced(sql: postgres.Sql, { tenant }: Header): Promise<Replaced> {
  return (await sql.begin(async transaction => {
    await useStandardText(transaction);
    if (await isDistributed(transaction))
      throw new StartupError(
        "--replace does not work on a distributed database: Citus lets one role alone write to a tenant in a transaction. " +
          "Import with --slug beside the tenant, and exchange the slugs",
      );
    const [found] = await transaction<{ id: string; slug: string; rows: string }[]>`
      select id, slug, (
        select coalesce(sum(d.rows), 0) from app.deletion_counts(t.id) d
        where d.relation not in ('app.tenants', 'app.invitations', 'app.api_keys', 'control.idempotency_keys')) as rows
      from app.tenants t where id = app.parse_uuid(${tenant.id})`;
    if (found) return { ...found, rows: Number(found.rows) };
    const [other] = await transaction<
      { id: string }[]
    >`select id from app.tenants t where slug = ${tenant.slug}`;
    throw new StartupError(
      other
        ? `The file is another tenant's: it was exported from ${tenant.id}, and ${tenant.slug} here is ${other.id}`
        : `This database has no tenant with the id ${tenant.id}; without --replace the file is imported as a new one`,
    );
  })) as Replaced;
}

/** Reads the header, and gives back all lines. */
export async function withHeader(lines: AsyncIterable<string>) {
  const iterator = lines[Symbol.asyncIterator]();
  const first = await iterator.next();
  const header = headerFrom(first.done ? "" : first.value);
  async function* all(): AsyncGenerator<string, void> {
    yield first.value as string;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { header, all: all() };
}

/** What an import replaced. */
export interface Emptied {
  rows: number;
  invitations: number;
  keys: KeptKeys;
}

/**
 * Deletes every row of a tenant but its own in app.tenants, children before parents, while nobody else is in it. Open invitations end.
 * Throws StartupError if a policy hides rows from tms_app, if a trigger keeps some, or if rows would go that the file does not have.
 */
export async function emptyTenant(
  sql: postgres.TransactionSql,
  { tenant: { id }, tables: inFile }: Header,
  {
    tables,
    keys,
    invitations,
  }: Pick<Awaited<ReturnType<typeof tablesOf>>, "tables" | "keys" | "invitations">,
  deletesUnknown: boolean,
  at: (place: string | undefined) => void,
): Promise<Emptied> {
  await sql`set local lock_timeout = '10s'`;
  await sql`select app.lock_tenant(${id})`.catch(error => {
    throw hasState(error, "lock_not_available")
      ? new StartupError("Others write to the tenant: suspend it and stop its writers, then replace it")
      : error;
  });
  const held = new Map<Known, number>();
  for (const table of tables) held.set(table, await countRows(sql, table, id));
  const unknown = tables.filter(
    table => held.get(table)! > 0 && !inFile.some(({ name }) => name === table.name),
  );
  if (unknown.length > 0 && !deletesUnknown)
    throw new StartupError(
      `The tenant has rows that the file does not have: ${unknown.map(table => `${held.get(table)} of ${table.name}`).join(", ")}. ` +
        "--delete-unknown deletes them",
    );
  const users = tables.find(({ name }) => name === "app.users")!;
  const kept = await readKeys(sql, keys, users, id);
  await enter(sql, id);
  // A closed table is a child by INHERITS, which its parent empties.
  const open = tables.filter(({ closed }) => !closed);
  for (const table of open) {
    const seen = await countRows(sql, table, id);
    if (seen !== held.get(table))
      throw new StartupError(
        `${table.name} cannot be emptied: tms_app sees ${seen} of its ${held.get(table)} rows of the tenant`,
      );
  }
  const ended = await sql`
    with ended as (delete from app.invitations where tenant_id = ${id} returning id, expires_at)
    select app.record_event('invitation.revoked', ${id}, id) from ended where expires_at > now()`;
  for (const { name } of [...open, keys].toReversed()) {
    at(`${name} cannot be emptied`);
    await sql.unsafe(`delete from ${name} where tenant_id = $1`, [id]);
  }
  at(undefined);
  await sql`reset role`;
  await requireNothingElse(sql, [...tables, keys, invitations]);
  for (const table of [...tables, keys, invitations]) {
    const left = await countRows(sql, table, id);
    if (left > 0)
      throw new StartupError(`${table.name} cannot be emptied: ${left} rows of the tenant are left`);
  }
  return { rows: [...held.values()].reduce((sum, n) => sum + n, 0), invitations: ended.length, keys: kept };
}

/** Rows of other tables that the deletion has deleted or changed, by a key's action or by a trigger: the file could not bring them back. */
async function requireNothingElse(sql: postgres.TransactionSql, emptied: Known[]): Promise<void> {
  const names = JSON.stringify(emptied.map(({ name }) => name));
  const reached = await sql<{ name: string; rows: string; keys: string | null }[]>`
    with emptied as (select name::regclass as relid from json_array_elements_text(${names}::text::json) name)
    select s.relid::regclass::text as name, s.n_tup_del + s.n_tup_upd as rows, (
      select string_agg(quote_ident(c.conname), ', ' order by c.conname) from pg_constraint c
      where c.conrelid = s.relid and c.contype = 'f' and c.confdeltype in ('c', 'n', 'd')) as keys
    from pg_stat_xact_user_tables s
    where s.n_tup_del + s.n_tup_upd > 0 and s.schemaname not in ('control', 'audit')
      and coalesce(pg_partition_root(s.relid), s.relid) not in (select relid from emptied)
    order by 1`;
  if (reached.length > 0)
    throw new StartupError(
      `Rows that the file does not have would be deleted or changed: ${reached
        .map(
          ({ name, rows, keys }) =>
            `${rows} of ${name} (${keys === null ? "by a trigger" : `foreign key ${keys}`})`,
        )
        .join(", ")}. docs/guides/export-import.md says how to keep them`,
    );
}
