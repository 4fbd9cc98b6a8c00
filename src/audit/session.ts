/** A session that has the audit's own text in pg_temp, in a transaction that is rolled back. */
import type postgres from "postgres";
import { onConnection } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { hasState } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { SAMPLE_PRODUCT } from "../migrate/product.ts";
import { settle } from "../migrate/session.ts";
import { auditText, PRODUCT_CHECKS, SERVICE_CHECKS } from "./sql-text.ts";

const SESSION = { connection: { application_name: "tms audit" } };

class Rollback {
  constructor(readonly value: unknown) {}
}

/** `work` in a session that has the audit in pg_temp; the transaction is rolled back, whatever happens. */
export async function inSession<T>(
  url: string,
  what: string,
  work: (tx: postgres.TransactionSql, login: Login) => Promise<T>,
): Promise<T> {
  const run = (sql: postgres.Sql) =>
    sql
      .begin("isolation level repeatable read", async tx => {
        await settle(tx);
        await tx
          .unsafe(
            "set local search_path = pg_catalog, pg_temp; set local jit = off; set local client_min_messages = warning; set local lock_timeout = '30s'",
          )
          .simple();
        const login = await examineLogin(tx);
        const own = login.ours ? [SERVICE_CHECKS, ...(login.product ? [PRODUCT_CHECKS] : [])] : [];
        await tx.unsafe(auditText(own)).simple();
        throw new Rollback(await work(tx, login));
      })
      .catch(thrown => {
        if (thrown instanceof Rollback) return thrown.value as T;
        throw thrown;
      });
  return onConnection(url, run, SESSION).catch(error => {
    if (hasState(error, "no_data_found"))
      throw new StartupError(`The audit did not start: ${(error as Error).message}`);
    throw explainDatabase(error, url, what);
  });
}

interface Login {
  /** The database is this service's. */
  ours: boolean;
  /** It has the sample product. */
  product: boolean;
  superuser: boolean;
}

/** @throws StartupError where this login cannot audit */
async function examineLogin(tx: postgres.TransactionSql): Promise<Login> {
  const [found] = await tx<({ version: number; standby: boolean; temporary: boolean } & Login)[]>`
    select current_setting('server_version_num')::int as version, pg_is_in_recovery() as standby,
      has_database_privilege(current_database(), 'temp') as temporary,
      (select rolsuper from pg_roles where rolname = current_user) as superuser,
      exists (select from pg_class c join pg_namespace n on n.oid = relnamespace where nspname = 'control' and relname = 'release') as ours,
      ${tx.unsafe(SAMPLE_PRODUCT)} as product`;
  const { version, standby, temporary, ...login } = found!;
  if (version < 150_000) throw new StartupError("The audit needs Postgres 15 or newer");
  if (standby)
    throw new StartupError("The server is a standby, which makes no temporary tables: audit its primary");
  if (!temporary)
    throw new StartupError(
      "The audit works in temporary tables: grant temporary on this database to this login",
    );
  return login;
}
