/** What a test suite of one's own imports: docs/guides/product.md. Each assertion fails where it checked nothing. */
import { AssertionError } from "node:assert";
import type { Pool, PoolClient } from "pg";

export { assertIsolated, type IsolationOptions } from "./isolation.ts";

const LEFT = `
  select case when now() <> statement_timestamp() then 'is in a transaction' end as transaction,
    case when current_user <> session_user then 'is still ' || current_user end as role,
    (select 'has ' || string_agg(name || ' = ' || current_setting(name, true), ', ')
      from unnest('{app.tenant_id,app.proof,app.actor,app.maintenance}'::text[]) name where current_setting(name, true) <> '') as settings,
    (select 'has the temporary ' || string_agg(relname, ', ') from pg_class
      where relnamespace = pg_my_temp_schema() and relkind in ('r', 'v', 'm', 'S', 'p')) as tables,
    (select 'holds ' || count(*) || ' advisory locks' from pg_locks
      where locktype = 'advisory' and pid = pg_backend_pid() having count(*) > 0) as locks`;

/**
 * Fails if an idle connection of the pool still has a tenant, a role, an open transaction, a temporary table or an advisory lock,
 * which the next request would find. Call it after requests that failed, too; with a pool that connects directly.
 */
export async function assertPoolClean(pool: Pool): Promise<void> {
  const { totalCount, idleCount } = pool;
  if (totalCount === 0)
    fail("The pool has no connection, so nothing was checked: serve a request of your backend first");
  if (idleCount < totalCount) fail(`${totalCount - idleCount} connections of the pool were not released`);
  const clients: PoolClient[] = [];
  try {
    // The pool gives idle connections before it makes new ones.
    for (let i = 0; i < totalCount; i++) clients.push(await pool.connect());
    const found: string[] = [];
    for (const client of clients) {
      const { rows } = await client.query<Record<string, string | null>>(LEFT);
      found.push(...Object.values(rows[0]!).flatMap(left => (left ? `A connection ${left}` : [])));
    }
    if (found.length > 0) fail([...new Set(found)].join("; "));
  } finally {
    for (const client of clients) client.release();
  }
}

function fail(message: string): never {
  throw new AssertionError({ message, stackStartFn: fail });
}
