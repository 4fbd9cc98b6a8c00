import { setTimeout as sleep } from "node:timers/promises";
import type postgres from "postgres";

interface Lock {
  key: number;
  /** For the log of a process that waits. */
  holder: string;
  log: (line: string) => void;
}

/** Held while the schema is read and changed, so that no other migration changes it in between. */
export const migrateTurn = (log: Lock["log"]): Lock => ({
  key: 8624367002,
  holder: "Another process is migrating this database",
  log,
});

/** Waits for an advisory lock of the session, and says whose it is. Returns what gives it back. */
export async function takeLock(sql: postgres.Sql, lock: Lock): Promise<() => Promise<void>> {
  const { key, holder, log } = lock;
  const take = async () => {
    const [turn] = await sql<{ mine: boolean; pid: number }[]>`
      select pg_catalog.pg_try_advisory_lock(${key}) as mine, pg_catalog.pg_backend_pid() as pid`;
    return turn!;
  };
  let { mine, pid } = await take();
  if (!mine) {
    const other = await holderOf(sql, key);
    log(`${holder}; waiting for it to end${other ? `: process ${other.pid} (${other.who})` : ""}`);
    // A statement that waits would hold a snapshot, which CREATE INDEX CONCURRENTLY waits for in its turn.
    while (!mine) {
      await sleep(500);
      ({ mine, pid } = await take());
    }
  }
  return async () => {
    // Behind a pooler a session outlives its client, and keeps the lock.
    const [gone] = await sql<{ mine: boolean }[]>`select pg_catalog.pg_advisory_unlock(${key}) as mine`;
    if (!gone!.mine && (await holderOf(sql, key))?.pid === pid) {
      log(
        `A pooler keeps a lock that the next migrate waits for: select pg_terminate_backend(${pid}); and address the server itself`,
      );
    }
  };
}

async function holderOf(sql: postgres.Sql, key: number): Promise<{ pid: number; who: string } | undefined> {
  const [found] = await sql<{ pid: number; who: string }[]>`
    select l.pid, concat_ws(', ', a.usename, nullif(a.application_name, '')) as who
    from pg_catalog.pg_locks l left join pg_catalog.pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
      and (l.classid::bigint << 32) + l.objid::bigint = ${key}`;
  return found;
}
