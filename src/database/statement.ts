/** One statement on one connection. */
import pg from "pg";
import { takesNoWrites } from "../errors/errors.ts";
import { parametersOf } from "../migrate/manifest.ts";
import { isOfStatement } from "./pipeline.ts";

/** One row of an `api` function: `body` is JSON text made by the database and sent as it is. */
export interface Row {
  body: string;
  etag?: string;
  next_cursor?: string | null;
  created?: boolean;
  status?: string;
  tenant_id?: string;
  /** Of the API key of the request. */
  key_id?: string | null;
  tenant_slug?: string | null;
}

const statements = new Map<string, { name: string; text: string }>();

export interface Form {
  /** The first values are not the function's, but these settings of the transaction. */
  settings?: readonly string[];
  /** The row has two columns more: what app.enter_tenant() found for an API key. */
  byKey?: boolean;
}

/** Read after the function has returned. */
const OF_KEY =
  "current_setting('app.key_id', true) as key_id, current_setting('app.tenant_slug', true) as tenant_slug";

/** By function, number of arguments and form; the name is also the one that it is prepared under. */
export function statementOf(
  calls: string,
  parameters: number,
  { settings = [], byKey = false }: Form,
): { name: string; text: string } {
  const name = [`${calls}/${parameters}`, ...settings, ...(byKey ? ["by key"] : [])].join(" ");
  let statement = statements.get(name);
  if (!statement) {
    // Without its type a value could mean another function of the same name, whoever made that.
    const types = parametersOf(`api.${calls}`);
    const typed = (i: number) => (types?.[i] ? `::${types[i]}` : "");
    const values = Array.from(
      { length: settings.length + parameters },
      (_, i) => `$${i + 1}${typed(i - settings.length)}`,
    );
    const columns = byKey ? `f.*, ${OF_KEY}` : "f.*";
    // The alias names the column of functions that return one value; the first column of others gets the same name.
    const set = settings.map(setting => `set_config('${setting}', ${values.shift()}, true)`).join(" || ");
    // The first argument depends on the settings, so that they are made before the call.
    if (set) values[0] = `case when c.context is not null then ${values[0]} end`;
    const call = `api.${calls}(${values.join(", ")}) as f (body)`;
    const from = set ? `(select ${set}) as c (context) cross join lateral ${call}` : call;
    statement = { name, text: `select ${columns} from ${from}` };
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
