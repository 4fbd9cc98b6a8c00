/** How tests wait: for a condition, not for a time. */
import { setTimeout as sleep } from "node:timers/promises";
import type postgres from "postgres";

type Nothing = false | null | undefined;

/** What `look` finds, once that is something; `what` is said when it never is, long after a slow machine would be there. */
export async function until<T>(what: string, look: () => T | Promise<T>): Promise<Exclude<T, Nothing>> {
  for (const end = performance.now() + 180_000; performance.now() < end; await sleep(10)) {
    const found = await look();
    if (found) return found as Exclude<T, Nothing>;
  }
  throw new Error(`Waited for three minutes, but never: ${what}`);
}

/**
 * Until so many sessions of the database wait for a lock; their process ids. Not for a transaction to ask: it would see
 * no session that began after its own first look.
 */
export const lockWaiters = (sql: postgres.Sql, count = 1): Promise<number[]> =>
  until(`${count} sessions wait for a lock`, async () => {
    const rows = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and wait_event_type = 'Lock'`;
    return rows.length >= count && rows.map(row => row.pid);
  });
