/** Proofs of the tenant context, as a product's own backend makes them (docs/guides/context.md). */
import { createHash, createHmac } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import type { Sql, TransactionSql } from "postgres";

// proof
export function proof(kind: "caller" | "tenant", values: (string | null)[]): string {
  const head = `${kind}.${Math.floor(Date.now() / 1000) + 30}`;
  const list = values.map(value => (value === null ? "-" : `${Buffer.byteLength(value)}:${value}`));
  const key = createHash("sha256").update(process.env.SERVICE_TENANT_CONTEXT_SECRET!).digest();
  return `${head}.${createHmac("sha256", key)
    .update([head, ...list].join())
    .digest("hex")}`;
}

// node-postgres
export async function withPg<T>(pool: Pool, tenantId: string, work: (client: PoolClient) => Promise<T>) {
  const client = await pool.connect();
  try {
    await client.query("begin; set local role tms_app");
    await client.query("select set_config('app.proof', $1, true)", [proof("tenant", [tenantId])]);
    await client.query("select app.set_tenant($1)", [tenantId]);
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (fault) {
    await client.query("rollback").catch(() => {});
    throw fault;
  } finally {
    client.release();
  }
}

// postgres.js
export const withPostgres = <T>(
  sql: Sql,
  caller: (string | null)[],
  work: (tx: TransactionSql) => Promise<T>,
) =>
  sql.begin(async tx => {
    await tx`set local role tms_app`;
    await tx`select set_config('app.proof', ${proof("caller", caller)}, true)`;
    const [slug, provider, subject, email, name] = caller;
    await tx`
      select from app.enter_tenant(
        slug => ${slug!}, provider => ${provider!}, subject => ${subject!}, email => ${email!}, name => ${name!})`;
    return work(tx);
  });
