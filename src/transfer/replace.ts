/** An import into a tenant that is there: one tenant back to yesterday. */
import type postgres from "postgres";
import { hasState } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { type Header, headerFrom } from "./file.ts";
import { countRows, enter, isDistributed, type Known, settle } from "./tables.ts";

export interface Replaced {
  id: string;
  slug: string;
  /** Of all its tables. */
  rows: number;
}

/** The tenant that the file was exported from. Throws StartupError if it is not here, or cannot be replaced. */
export async function findReplaced(sql: postgres.Sql, { tenant }: Header): Promise<Replaced> {
  return (await sql.begin(async transaction => {
    await settle(transaction);
    if (await isDistributed(transaction))
      throw new StartupError(
        "--replace does not work on a distributed database: Citus lets one role alone write to a tenant in a transaction. " +
          "Import with --slug beside the tenant, and exchange the slugs",
      );
    const [found] = await transaction<{ id: string; slug: string; rows: string }[]>`
      select id, slug, (select coalesce(sum(d.rows), 0) from app.deletion_counts(t.id) d) as rows
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

/**
 * Deletes every row of a tenant but its own in app.tenants, children before parents, while nobody else is in it. Throws StartupError
 * if a policy hides rows from tms_app, or a trigger keeps some.
 */
export async function emptyTenant(
  sql: postgres.TransactionSql,
  id: string,
  tables: Known[],
  at: (place: string | undefined) => void,
): Promise<void> {
  await sql`set local lock_timeout = '10s'`;
  await sql`select app.lock_tenant(${id})`.catch(error => {
    throw hasState(error, "lock_not_available")
      ? new StartupError("Others write to the tenant: suspend it and stop its writers, then replace it")
      : error;
  });
  const held = new Map<Known, number>();
  for (const table of tables) held.set(table, await countRows(sql, table, id));
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
  for (const { name } of open.toReversed()) {
    at(`${name} cannot be emptied`);
    await sql.unsafe(`delete from ${name} where tenant_id = $1`, [id]);
  }
  at(undefined);
  await sql`reset role`;
  for (const table of tables) {
    const left = await countRows(sql, table, id);
    if (left > 0)
      throw new StartupError(`${table.name} cannot be emptied: ${left} rows of the tenant are left`);
  }
}
