import postgres from "@fastify/postgres";
import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import pg from "pg";
import { Entered } from "../admission/entered.ts";
import { Shares } from "../admission/shares.ts";
import type { Config } from "../config/config.ts";
import { type Problem, toProblem } from "../errors/errors.ts";
import { isUnresolved } from "../errors/problems.ts";
import { hasState } from "../errors/sqlstates.ts";
import { Pipeline } from "./pipeline.ts";
import { proofOf } from "./proof.ts";
import {
  type ApiFunction,
  type Arguments,
  type Caller,
  execute,
  onOwnConnection,
  type Row,
  statementOf,
  valuesOf,
} from "./statement.ts";

export type { Row };

const JSON_OIDS = new Set<number>([pg.types.builtins.JSON, pg.types.builtins.JSONB]);
const types = {
  getTypeParser: ((oid: number, format?: "text") =>
    JSON_OIDS.has(oid)
      ? (text: string) => text
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** After a failure of the replica the primary answers for so long. */
const REPLICA_REST_MS = 5_000;

/** The one door to the database. */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    const options = {
      application_name: "tms",
      max: config.databasePoolSize,
      // Longer than every time-out of the server: it ends only what a network has lost.
      query_timeout: 45_000,
      keepAlive: true,
      idleTimeoutMillis: 30_000,
      maxLifetimeSeconds: 1_800,
      types,
      pipeline: config.explicitTransactions || config.databasePipelineDepth > 1,
    };
    const primary = { ...options, connectionString: config.databaseUrl!, connectionTimeoutMillis: 3_000 };
    await app.register(postgres, primary);
    const pools: Pools = { primary: app.pg.pool };
    if (config.databaseReadUrl !== null) {
      const replica = { connectionString: config.databaseReadUrl, connectionTimeoutMillis: 1_000 };
      await app.register(postgres, { ...options, ...replica, name: "replica" });
      pools.replica = app.pg.replica!.pool;
    }
    // Without a listener on the pool and one on each client, a lost connection ends the process.
    // The error holds the whole client, with the key that cancels its queries: it must not be logged.
    for (const pool of Object.values(pools)) {
      const lost = ({ message, code }: Error & { code?: string }) => {
        // While the pool ends, the embedded Postgres may close the connection before we do.
        if (!pool.ending) app.log.warn({ code, reason: message }, "database connection lost");
      };
      pool.on("error", () => {}); // the client's listener has logged it
      pool.on("connect", client => client.on("error", lost));
    }
    const pipelines = new Map<pg.Pool, Pipeline>();
    if (config.databasePipelineDepth > 1) {
      for (const pool of Object.values(pools))
        pipelines.set(pool, new Pipeline(pool, config.databasePipelineDepth));
    }
    app.decorate("database", {
      pools,
      pipelines,
      shares: new Shares(config.databasePoolSize * config.databasePipelineDepth),
      entered: new Entered(),
      depth: config.databasePipelineDepth,
      prepared: config.prepareStatements,
      explicit: config.explicitTransactions,
      operatorRole: config.operator.role,
      contextSecret: config.tenantContextSecret,
      replicaChecked: false,
      replicaRestsUntil: 0,
    });
  },
  { name: "database" },
);

type Pools = { primary: pg.Pool; replica?: pg.Pool };

/** A function of the schema `api`, and how to call it. Each operation of src/http/operations.ts has one. */
export interface Call {
  calls: ApiFunction;
  /**
   * Changes nothing. `short`: by an index and without waiting for a lock, so that several requests may share a connection.
   * `replica`: and asks for no membership. A replica that lags may answer it, but must never let a removed member in.
   */
  reads?: { short?: true; replica?: true };
  /** False: the tenant that the request names need not exist, or have the caller as a member. */
  needsMembership?: false;
  /** Takes as long as a tenant is large: without the server's statement timeout, and with a share of the connections of its own. */
  long?: true;
}

/** Who asks. */
export interface Asking {
  caller: Caller;
  /** The caller's name in the shares, until it has entered a tenant. */
  name: string;
  /** The slug of the tenant that the call enters; undefined for the default one, and for that of a key which is not known yet. */
  tenant: string | undefined;
  byKey: boolean;
  operator: boolean;
  /** Events name the request. */
  requestId: string;
}

/** Calls a function for a caller. Of an API key the row tells the id, and the slug of its tenant. @throws Problem */
export async function callAs<F extends ApiFunction>(
  app: FastifyInstance,
  asking: Asking,
  call: Call & { calls: F },
  given: Arguments<F>,
): Promise<Row> {
  const { entered } = app.database;
  const { caller, name, byKey } = asking;
  const mayLag = asking.operator && call.reads?.replica;
  // A search reads all rows of the tenant, and a large page brings many.
  const large = ("limit" in given && Number(given.limit) > SHORT_PAGE) || ("q" in given && given.q != null);
  const short = call.reads?.short && !large;
  const context = contextOf(app, call, asking);
  const values = valuesOf(call.calls, caller, given);
  const work = async () =>
    (mayLag && (await askReplica(app, call, values, { context, short }))) ||
    send(app, "primary", call, values, { context, byKey, short });
  // Only these put the transaction into the tenant that the request names.
  const enters = call.needsMembership === false ? undefined : asking.tenant;
  try {
    const share = enters !== undefined && entered.has(enters, name) ? `tenant ${enters}` : name;
    const row = await inShare(app, share, call, large, () => retried(work));
    if (!byKey && enters !== undefined) entered.add(enters, name);
    else if (row.key_id && row.tenant_slug && call.needsMembership !== false)
      entered.add(row.tenant_slug, callerName({ provider: "key", subject: row.key_id }));
    return row;
  } catch (error) {
    const problem = toProblem(error);
    if (problem && isDenied(problem) && enters !== undefined) entered.delete(enters, name);
    throw problem ?? error;
  }
}

/** The caller is not who they say, or is in no such tenant. A refusal for another reason comes after the tenant was resolved. */
export const isDenied = (problem: Problem): boolean => problem.status === 401 || isUnresolved(problem);

/** Settings of the transaction, made when the statement is sent. */
type Context = Record<string, () => string>;

/** The proof covers what decides about the caller. */
function contextOf(
  { database }: FastifyInstance,
  call: Call,
  { caller, operator, requestId }: Asking,
): Context {
  const { contextSecret } = database;
  const kind = operator ? "operator" : "caller";
  return {
    // What writes may write an event, which names the request.
    ...(!call.reads && { "app.request_id": () => requestId }),
    ...(contextSecret !== null && { "app.proof": () => proofOf(contextSecret, kind, caller.slice(0, 5)) }),
  };
}

/** Calls a function for the service itself. */
export function callFunction<F extends ApiFunction>(
  app: FastifyInstance,
  calls: F,
  given: Arguments<F>,
): Promise<Row> {
  return send(app, "primary", { calls }, valuesOf(calls, [], given));
}

/** The name of a caller who entered no tenant; neither part can contain a line feed. */
export const callerName = ({ provider, subject }: { provider: string; subject: string }) =>
  `${provider}\n${subject}`;

/** A longer page brings a hundred kilobytes and more, for which others would wait on its connection. */
const SHORT_PAGE = 100;

/**
 * A short read takes one slot, other work as many as share a connection. A large page takes twice as many: the event loop has as much
 * work with it as the database. Short reads of one name may take every slot, since they end soon, and do not
 * stand behind its other work, which may hold half of the slots. Calls of one long function hold a fifth of the connections.
 */
function inShare<T>(
  { database: { shares, depth } }: FastifyInstance,
  name: string,
  { calls, reads, long }: Call,
  large: boolean,
  work: () => Promise<T>,
): Promise<T> {
  const partOf = (parts: number) => Math.ceil(shares.slots / depth / parts) * depth;
  // Not in the tenant's share too: the long calls would leave nothing of it to the tenant's requests.
  if (long) return shares.run(calls, depth, partOf(5), work);
  if (reads?.short && !large) return shares.run(`reads of ${name}`, 1, shares.slots, work);
  return shares.run(name, large ? 2 * depth : depth, partOf(2), work);
}

/** As callFunction(), in the share of a caller. */
export const callInShare = <F extends ApiFunction>(
  app: FastifyInstance,
  name: string,
  calls: F,
  given: Arguments<F>,
) => inShare(app, name, { calls }, false, () => callFunction(app, calls, given));

/** After a deadlock or a serialization failure nothing was committed, and another try may succeed. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === 3 || !hasState(error, "deadlock_detected", "serialization_failure")) throw error;
    }
  }
}

/** Undefined where the primary has the last word: on every failure of the replica, also for a row that it does not have yet. */
async function askReplica(
  app: FastifyInstance,
  call: Call,
  values: unknown[],
  way: Way,
): Promise<Row | undefined> {
  const { database, log } = app;
  if (!database.pools.replica || performance.now() < database.replicaRestsUntil) return undefined;
  try {
    return (await isReplicaSafe(app)) ? await send(app, "replica", call, values, way) : undefined;
  } catch (err) {
    if ((toProblem(err)?.status ?? 500) < 500) return undefined;
    database.replicaRestsUntil = performance.now() + REPLICA_REST_MS;
    log.warn({ err }, "the read replica fails; the primary answers");
    return undefined;
  }
}

/** Checks the login of a replica that could not be reached at the start. An unsafe one is not used, and stops nothing. */
async function isReplicaSafe({ database, log }: FastifyInstance): Promise<boolean> {
  if (database.replicaChecked) return true;
  const faults = await loginFaults(database.pools.replica!);
  database.replicaChecked = faults.length === 0;
  if (!database.replicaChecked) {
    database.replicaRestsUntil = Number.POSITIVE_INFINITY;
    log.error(
      { faults },
      "the login of SERVICE_DATABASE_READ_URL is not safe to use; until a restart the primary answers",
    );
  }
  return database.replicaChecked;
}

/** Why the login of a pool must not be used: it could look past row-level security. None when all is well. */
export async function loginFaults(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ fault: string }>("select * from api.get_login_faults() as f (fault)");
  return rows.map(({ fault }) => fault);
}

/** Why the database would refuse the proofs of callers, or asks for them in vain. None when all is well. */
export async function contextFaults({ pg, database: { contextSecret } }: FastifyInstance): Promise<string[]> {
  const proof = contextSecret === null ? null : proofOf(contextSecret, "start", []);
  const { rows } = await pg.pool.query<{ fault: string }>(
    "select * from api.get_context_faults($1) as f (fault)",
    [proof],
  );
  return rows.map(({ fault }) => fault);
}

interface Way {
  context?: Context;
  /** The caller has an API key. */
  byKey?: boolean;
  /** Shares a connection with other short reads. */
  short?: boolean | undefined;
}

/** One call, in a transaction of its own: one statement, one round trip. */
async function send(
  app: FastifyInstance,
  at: keyof Pools,
  call: Call,
  values: unknown[],
  { context = {}, byKey = false, short = call.reads?.short }: Way = {},
): Promise<Row> {
  const { database, log } = app;
  const pool = database.pools[at]!;
  const { name, text } = statementOf(call.calls, { settings: Object.keys(context), byKey });
  const pipeline = short ? database.pipelines.get(pool) : undefined;
  const begin = call.long ? BEGIN_LONG : database.explicit ? "begin" : undefined;
  const attempt = (options: { name?: string; query_timeout?: number }) => {
    const work = (client: pg.ClientBase) =>
      execute(client, text, [...Object.values(context).map(made => made()), ...values], options, begin);
    return pipeline ? pipeline.run(work) : onOwnConnection(pool, work);
  };
  if (call.long) return attempt({ query_timeout: LONGEST_TIMER_MS });
  if (!database.prepared) return attempt({});
  try {
    return await attempt({ name });
  } catch (error) {
    // A pooler that hands one server connection to many clients, and keeps no statements for them. Postgres looks the statement
    // up before it runs it, so nothing was done.
    if (!hasState(error, "invalid_sql_statement_name", "duplicate_prepared_statement")) throw error;
    const row = await attempt({});
    // Only now: where the function itself is missing, the calls behind the first in a pipeline get these errors too.
    if (database.prepared)
      log.warn("a pooler loses prepared statements: going on without; set SERVICE_DATABASE_PREPARED=false");
    database.prepared = false;
    return row;
  }
}

const BEGIN_LONG = "begin; set local statement_timeout = 0; set local lock_timeout = '10s'";
const LONGEST_TIMER_MS = 2 ** 31 - 1;

declare module "fastify" {
  interface FastifyBaseLogger {
    isLevelEnabled(level: string): boolean;
  }
  interface FastifyInstance {
    database: {
      pools: Pools;
      /** Empty when each call takes a connection of its own. */
      pipelines: ReadonlyMap<pg.Pool, Pipeline>;
      shares: Shares;
      entered: Entered;
      /** How many short reads share a connection. */
      depth: number;
      prepared: boolean;
      explicit: boolean;
      /** The role that a refusal of a caller who is not an operator names. */
      operatorRole: string;
      /** Null: the database asks for no proofs. */
      contextSecret: string | null;
      /** The replica's login is safe to use. */
      replicaChecked: boolean;
      /** By performance.now(). */
      replicaRestsUntil: number;
    };
  }
}
