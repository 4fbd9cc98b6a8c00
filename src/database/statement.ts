/** One statement on one connection. */
import pg from "pg";
import { takesNoWrites } from "../errors/errors.ts";
import { API_FUNCTIONS } from "./api-functions.ts";
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

/** The parameters of a function of `api` beside its caller, and their types; the SQL function has `p_` before each name. */
export type ApiFunction = keyof typeof API_FUNCTIONS;
type Parameters<F extends ApiFunction> = Exclude<keyof (typeof API_FUNCTIONS)[F], "caller">;
/** Arguments by name. What is undefined is null. */
export type Arguments<F extends ApiFunction> = { [P in Parameters<F>]: unknown };

/** In the order of the fields of the type app.caller. */
export type Caller = readonly (string | null)[];
const CALLER_FIELDS = 6;

const statements = new Map<string, { name: string; text: string }>();

interface Form {
  /** The first values are not the function's, but these settings of the transaction. */
  settings?: readonly string[];
  /** The row has two columns more: what app.enter_tenant() found for an API key. */
  byKey?: boolean;
}

/** Read after the function has returned. */
const OF_KEY =
  "current_setting('app.key_id', true) as key_id, current_setting('app.tenant_slug', true) as tenant_slug";

const parametersOf = (calls: ApiFunction) =>
  Object.entries(API_FUNCTIONS[calls] as Record<string, string>).filter(([name]) => name !== "caller");

/** In the order in which statementOf() numbers them. */
export const valuesOf = (calls: ApiFunction, caller: Caller, given: Record<string, unknown>): unknown[] => [
  ...caller,
  ...parametersOf(calls).map(([name]) => given[name]),
];

/** By function and form; the name is also the one that it is prepared under. */
export function statementOf(
  calls: ApiFunction,
  { settings = [], byKey = false }: Form,
): { name: string; text: string } {
  const name = [calls, ...settings, ...(byKey ? ["by key"] : [])].join(" ");
  let statement = statements.get(name);
  if (!statement) {
    let n = 0;
    const next = () => `$${++n}`;
    const columns = byKey ? `f.*, ${OF_KEY}` : "f.*";
    const set = settings.map(setting => `set_config('${setting}', ${next()}, true)`).join(" || ");
    const given: string[] = [];
    if ("caller" in API_FUNCTIONS[calls]) {
      const [slug, ...rest] = Array.from({ length: CALLER_FIELDS }, () => `${next()}::text`);
      // The first field depends on the settings, so that they are made before the call.
      const first = set ? `case when c.context is not null then ${slug} end` : slug;
      given.push(`p_caller => row(${[first, ...rest].join(", ")})`);
    }
    // With its type, so that no other function of the name can be the one that is called.
    for (const [parameter, type] of parametersOf(calls)) given.push(`p_${parameter} => ${next()}::${type}`);
    // The alias names the column of functions that return one value; the first column of others gets the same name.
    const call = `api.${calls}(${given.join(", ")}) as f (body)`;
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
