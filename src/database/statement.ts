/** One statement on one connection. */
import pg from "pg";
import { takesNoWrites } from "../errors/errors.ts";
import { isOfStatement } from "./pipeline.ts";

/** One row of an `api` function: `body` is JSON text made by the database and sent as it is. */
export interface Row {
  body: string;
  etag?: string;
  next_cursor?: string | null;
  created?: boolean;
  status?: string;
  tenant_id?: string;
}

const statements = new Map<string, { name: string; text: string }>();

/**
 * By function and number of arguments; the name is also the one that it is prepared under. `inContext`: the first value is not the
 * function's but the setting app.request_id of the transaction.
 */
export function statementOf(
  calls: string,
  parameters: number,
  inContext = false,
): { name: string; text: string } {
  const name = inContext ? `${calls}/${parameters} in context` : `${calls}/${parameters}`;
  let statement = statements.get(name);
  if (!statement) {
    const values = Array.from({ length: parameters }, (_, i) => `$${i + 1}`);
    // The alias names the column of functions that return one value; the first column of others gets the same name.
    const call = () => `api.${calls}(${values.join(", ")}) as f (body)`;
    if (inContext) {
      const context = `select set_config('app.request_id', ${values.shift()}, true)`;
      // The first argument depends on the setting, so that it is made before the call.
      values[0] = `case when c.request_id is not null then ${values[0]} end`;
      statement = {
        name,
        text: `select f.* from (${context}) as c (request_id) cross join lateral ${call()}`,
      };
    } else statement = { name, text: `select * from ${call()}` };
    statements.set(name, statement);
  }
  return statement;
}

/** Everything is on the wire before the first answer (`pipeline`); after an error the commit rolls back. */
export async function execute(
  client: pg.ClientBase,
  text: string,
  values: unknown[],
  options: { name?: string; query_timeout?: number },
  begin: string | undefined,
): Promise<Row> {
  const begun = begin && client.query(begin);
  // As `client.query`, without its copies of the configuration and of the stack: every request passes here.
  const row = new Promise<Row>((resolve, reject) => {
    const query = new pg.Query<Row>(text, values, (error, result) =>
      error ? reject(error) : resolve(result.rows[0]!),
    );
    client.query(Object.assign(query, options));
  });
  if (!begun) return row;
  // The time that it waits for its turn counts as well.
  const commit = { text: "commit", query_timeout: options.query_timeout };
  const ended = client.query(commit);
  for (const { reason } of (await Promise.allSettled([begun, row, ended])).filter(isRejected)) throw reason;
  return row;
}

const isRejected = (result: PromiseSettledResult<unknown>) => result.status === "rejected";

/** `pool.query` closes a connection after every error, and each refusal is one: only those that end it may. */
export async function onOwnConnection<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    return await work(client);
  } catch (error) {
    if (!isOfStatement(error) || takesNoWrites(error)) broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}
