import { AsyncLocalStorage } from "node:async_hooks";
import type { Pool, PoolClient } from "pg";
import { environmentSecret, proof } from "./proof.ts";

/** Who asks, as the verified token says; or a tenant's id, for work without a token. */
export type Caller =
  | {
      /** The tenant that the request names. */
      slug: string;
      /** The issuer of the token, `jwt` without one. */
      provider?: string;
      /** The subject of the token. */
      subject: string;
      email?: string | null;
      name?: string | null;
    }
  | { tenantId: string };

/** What the database knows of the caller. Without a token there is no member. */
export interface Entered {
  tenantId: string;
  userId: string | null;
  role: "owner" | "admin" | "member" | null;
}

/** The transaction that the calling code runs in. `isOpen` because a promise that nobody awaits may outlive it. */
const current = new AsyncLocalStorage<{ isOpen: boolean }>();

/**
 * Runs `work` in one transaction of the pool, as `tms_app` in the caller's tenant; commits, or rolls back when `work` throws.
 * Raises SQLSTATE TM403 if the caller is no member or the tenant is not active. Do slow things between two calls, not inside one:
 * the transaction holds a connection. So a call inside another's `work` is refused.
 */
export async function inTenant<T>(
  pool: Pool,
  caller: Caller,
  work: (client: PoolClient, entered: Entered) => Promise<T>,
  { secret = environmentSecret() }: { secret?: string | undefined } = {},
): Promise<T> {
  if (current.getStore()?.isOpen)
    throw new Error("inTenant() is called inside inTenant(): use the client of the outer call");
  // node-postgres sends undefined as null, and a null slug means the default tenant.
  const missing = "tenantId" in caller ? !caller.tenantId : !caller.slug || !caller.subject;
  if (missing) throw new Error("inTenant() needs a slug and a subject, or a tenantId");
  const client = await pool.connect();
  const transaction = { isOpen: true };
  let broken: Error | undefined;
  try {
    await client.query("begin; set local role tms_app");
    const entered = await enter(client, caller, secret);
    const result = await current.run(transaction, () => work(client, entered));
    await commit(client);
    return result;
  } catch (fault) {
    await client.query("rollback").catch((error: Error) => {
      broken = error;
    });
    throw fault;
  } finally {
    transaction.isOpen = false;
    client.release(broken);
  }
}

async function enter(client: PoolClient, caller: Caller, secret: string | undefined): Promise<Entered> {
  const prove = async (kind: "caller" | "tenant", values: (string | null)[]) => {
    if (secret) await client.query("select set_config('app.proof', $1, true)", [proof(kind, values, secret)]);
  };
  if ("tenantId" in caller) {
    const { tenantId } = caller;
    await prove("tenant", [tenantId]);
    await client.query("select app.set_tenant($1)", [tenantId]);
    return { tenantId, userId: null, role: null };
  }
  const { slug, provider = "jwt", subject, email = null, name = null } = caller;
  const values = [slug, provider, subject, email, name];
  await prove("caller", values);
  const { rows } = await client.query<Entered>(
    `select tenant_id as "tenantId", user_id as "userId", role
    from app.enter_tenant(slug => $1, provider => $2, subject => $3, email => $4, name => $5)`,
    values,
  );
  return rows[0]!;
}

/** A transaction in which a statement failed, and `work` hid the error, answers COMMIT by rolling back. */
async function commit(client: PoolClient) {
  const { command } = await client.query("commit");
  if (command !== "COMMIT")
    throw new Error("A statement failed, so Postgres rolled the transaction back: nothing was written");
}
