/** Stores SERVICE_TENANT_CONTEXT_SECRET in the database, and removes it. */
import path from "node:path";
import { finished } from "node:stream/promises";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { keyOf } from "../database/proof.ts";
import { hasState } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { WITH_SECRET } from "./objects.ts";
import { settle } from "./session.ts";
import { readSqlFile } from "./sql-files.ts";

export type Stored = "stored" | "replaced" | "unchanged";

/**
 * From then on the database asks for proofs. A secret that it had before stays valid until dropOldSecret().
 * @throws StartupError on Citus
 */
export function storeSecret(sql: postgres.Sql, secret: string): Promise<Stored> {
  return inTransaction(sql, async tx => {
    await tx`create temporary table given (inner_key bytea, outer_key bytea) on commit drop`;
    // COPY, because a server may log the parameters of a statement, and logs no rows of a COPY.
    const rows = await tx`copy given from stdin`.writable();
    rows.end(`${padded(secret, 0x36)}\t${padded(secret, 0x5c)}\n`);
    await finished(rows);
    const [row] = await tx<[{ outcome: Stored }]>`
      select control.store_tenant_context(inner_key, outer_key) as outcome from pg_temp.given`;
    return row.outcome;
  });
}

/** Whether there was one. */
export function dropOldSecret(sql: postgres.Sql): Promise<boolean> {
  return inTransaction(sql, async tx => {
    const found = await tx`
      update control.tenant_context set previous_inner_key = null, previous_outer_key = null where previous_inner_key is not null`;
    return found.count > 0;
  });
}

/** The database asks for no proofs any more. Whether it did before. */
export function removeSecret(sql: postgres.Sql): Promise<boolean> {
  return inTransaction(sql, async tx => {
    const found = await tx`delete from control.tenant_context`;
    for (const file of Object.keys(WITH_SECRET).map(name => `${name.slice(0, -2).replace(".", "/")}.sql`))
      for (const { text } of readSqlFile(path.join(PACKAGE_ROOT, "db", "functions", file)))
        await tx.unsafe(text).simple();
    return found.count > 0;
  });
}

const inTransaction = <T>(sql: postgres.Sql, work: (tx: postgres.TransactionSql) => Promise<T>) =>
  sql
    .begin(async tx => {
      await settle(tx);
      await tx`set local search_path = pg_catalog, pg_temp`;
      return work(tx);
    })
    .catch(error => {
      if (hasState(error, "feature_not_supported")) throw new StartupError((error as Error).message);
      throw error;
    }) as Promise<T>;

/** The key of HMAC-SHA256 exclusive-ored with a pad, as COPY takes a bytea. */
function padded(secret: string, pad: number): string {
  const key = Buffer.alloc(64);
  keyOf(secret).copy(key);
  return `\\\\x${Buffer.from(key.map(byte => byte ^ pad)).toString("hex")}`;
}
