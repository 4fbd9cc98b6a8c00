import { AsyncLocalStorage } from "node:async_hooks";
import type { Pool, PoolClient } from "pg";
import { ident } from "../values/sql-names.ts";
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

/** Where `work` runs. `isOpen` because a promise that nobody awaits may outlive it. */
const current = new AsyncLocalStorage<{ isOpen: boolean }>();

/** Runs `work`; a call inside another's work throws before it waits for a connection that the outer one may hold. */
export async function refuseNested<T>(work: () => Promise<T>): Promise<T> {
  if (current.getStore()?.isOpen)
    throw new Error("A tenant's transaction is open already: use the one of the outer call");
  const transaction = { isOpen: true };
  try {
    return await current.run(transaction, work);
  } finally {
    transaction.isOpen = false;
  }
}

/** node-postgres sends undefined as null, and a null slug means the default tenant. */
function requireNamed(caller: Caller) {
  const missing = "tenantId" in caller ? !caller.tenantId : !caller.slug || !caller.subject;
  if (missing) throw new Error("A slug and a subject are needed, or a tenantId");
}

export interface Statement {
  text: string;
  values: (string | null)[];
}

/**
 * What a transaction sends first, with any library: it becomes `as` and enters the caller's tenant. The last statement returns
 * `tenant_id`, `user_id` and `role`. Make the list just before you send it: a proof in it is valid for 30 s. `as` is a member of tms_app,
 * such as the role that `tenancy adopt` made.
 */
export function entryStatements(
  caller: Caller,
  secret = environmentSecret(),
  as: string = "tms_app",
): Statement[] {
  requireNamed(caller);
  const prove = (kind: "caller" | "tenant", values: (string | null)[]): Statement[] =>
    secret
      ? [{ text: "select set_config('app.proof', $1, true)", values: [proof(kind, values, secret)] }]
      : [];
  const role = { text: `set local role ${ident(as)}`, values: [] };
  if ("tenantId" in caller) {
    const { tenantId } = caller;
    const text = "select app.tenant_id() as tenant_id, null as user_id, null as role from app.set_tenant($1)";
    return [role, ...prove("tenant", [tenantId]), { text, values: [tenantId] }];
  }
  const { slug, provider = "jwt", subject, email = null, name = null } = caller;
  const values = [slug, provider, subject, email, name];
  const text = `select tenant_id, user_id, role
    from app.enter_tenant(slug => $1, provider => $2, subject => $3, email => $4, name => $5)`;
  return [role, ...prove("caller", values), { text, values }];
}

/**
 * Runs `work` in one transaction of the pool, as `tms_app`, or `as`, in the caller's tenant; commits, or rolls back when `work` throws.
 * Raises SQLSTATE TM403 if the caller is no member or the tenant is not active. Do slow things between two calls, not inside one:
 * the transaction holds a connection. So a call inside another's `work` is refused.
 */
export function inTenant<T>(
  pool: Pool,
  caller: Caller,
  work: (client: PoolClient, entered: Entered) => Promise<T>,
  { secret, as }: { secret?: string | undefined; as?: string | undefined } = {},
): Promise<T> {
  return refuseNested(async () => {
    requireNamed(caller); // before a connection is made
    const client = await pool.connect();
    let broken: Error | undefined;
    const lost = (error: Error) => {
      broken = error;
    };
    // The pool takes its own listener off a client that is out. Without one a lost connection ends the process.
    client.on("error", lost);
    try {
      const [role, ...entry] = entryStatements(caller, secret, as);
      await client.query(`begin; ${role!.text}`);
      const entered = await enter(client, entry);
      const result = await work(client, entered);
      await commit(client);
      return result;
    } catch (fault) {
      await client.query("rollback").catch(lost);
      throw fault;
    } finally {
      client.off("error", lost);
      client.release(broken);
    }
  });
}

async function enter(client: PoolClient, statements: Statement[]): Promise<Entered> {
  let row: { tenant_id: string; user_id: string | null; role: Entered["role"] } | undefined;
  for (const statement of statements) [row] = (await client.query(statement)).rows;
  return { tenantId: row!.tenant_id, userId: row!.user_id, role: row!.role };
}

/** A transaction in which a statement failed, and `work` hid the error, answers COMMIT by rolling back. */
async function commit(client: PoolClient) {
  const { command } = await client.query("commit");
  if (command !== "COMMIT")
    throw new Error("A statement failed, so Postgres rolled the transaction back: nothing was written");
}
