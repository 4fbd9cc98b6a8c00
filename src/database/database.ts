import postgres from "@fastify/postgres";
import type { FastifyInstance, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import pg from "pg";
import type { Config } from "../config/config.ts";
import { codeOf, takesNoWrites, toProblem } from "../errors/errors.ts";
import { tenantLog } from "../observability/log.ts";
import { Shares } from "./connection-shares.ts";
import { isOfStatement, Pipeline } from "./pipeline.ts";

/** One row of an `api` function: `body` is JSON text made by the database and sent as it is. */
export interface Row {
  body: string;
  etag?: string;
  next_cursor?: string | null;
  created?: boolean;
  status?: string;
}

const JSON_OIDS = new Set<number>([pg.types.builtins.JSON, pg.types.builtins.JSONB]);
const types = {
  getTypeParser: ((oid: number, format?: "text") =>
    JSON_OIDS.has(oid)
      ? (text: string) => text
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** After a failure the replica is left alone for so long, and the primary answers for it. */
const REPLICA_REST_MS = 5_000;

/** The one door to the database. */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    const options = {
      application_name: "tms",
      max: config.databasePoolSize,
      // Later than every time-out of the server's own: only a network that swallows packets gets here.
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
    // Without a listener on the pool and one on each client, a connection that dies ends the process.
    // The error itself carries the whole client, its key for cancelling too: not for a log.
    for (const pool of Object.values(pools)) {
      const lost = ({ message, code }: Error & { code?: string }) => {
        // At the end of the pool both sides close; an embedded Postgres may be first.
        if (!pool.ending) app.log.warn({ code, reason: message }, "database connection lost");
      };
      pool.on("error", () => {}); // the client's own listener has told of it
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
      shares: new Shares(config.databasePoolSize),
      prepared: config.prepareStatements,
      explicit: config.explicitTransactions,
      operatorRole: config.operator.role,
      replicaChecked: false,
      replicaRestsUntil: 0,
    });
  },
  { name: "database" },
);

type Pools = { primary: pg.Pool; replica?: pg.Pool };

/** By function and number of arguments, which is also the name that it is prepared under. */
const statements = new Map<string, string>();
function statementOf(called: string, parameters: number): { name: string; text: string } {
  const name = `${called}/${parameters}`;
  let text = statements.get(name);
  if (!text) {
    const list = Array.from({ length: parameters }, (_, i) => `$${i + 1}`).join(", ");
    // The alias names the column of functions that return one value; others keep their own names after the first.
    text = `select * from api.${called}(${list}) as f (body)`;
    statements.set(name, text);
  }
  return { name, text };
}

/** What a pooler answers that hands one server connection to many clients and keeps no statements for them. */
const STATEMENT_LOST = ["26000", "42P05"];

interface Statement {
  /** undefined: not kept by the server. */
  name: string | undefined;
  text: string;
  values: unknown[];
  /** In milliseconds; else the connection's. */
  query_timeout?: number;
}

/** As `client.query`, without its copies of the configuration and of the stack: every request passes here. */
function ask(client: pg.ClientBase, { text, values, ...options }: Statement): Promise<Row> {
  return new Promise((resolve, reject) => {
    const query = new pg.Query<Row>(text, values, (error, result) =>
      error ? reject(error) : resolve(result.rows[0]!),
    );
    client.query(Object.assign(query, options));
  });
}

/** All three are on the wire before the first is answered (`pipeline`); after an error the last one rolls back. */
async function askInTransaction(client: pg.ClientBase, statement: Statement, begin = "begin"): Promise<Row> {
  // What waits on the wire counts as well.
  const commit = { text: "commit", query_timeout: statement.query_timeout };
  const sent = [client.query(begin), ask(client, statement), client.query(commit)] as const;
  const [begun, called, ended] = await Promise.allSettled(sent);
  for (const { reason } of [begun, called, ended].filter(answer => answer.status === "rejected"))
    throw reason;
  return sent[1];
}

/** `pool.query` throws a connection away at every error, and each refusal is one: only those that end it may. */
async function onOwnConnection<T>(pool: pg.Pool, send: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    return await send(client);
  } catch (error) {
    if (!isOfStatement(error) || takesNoWrites(error)) broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}

/** What only reads, by an index and with no lock to wait for: requests may stand in line for each other's. */
const SHORT = new Set(["get_current_tenant", "get_tenant", "list_boards", "list_members"]);

function send({ database }: FastifyInstance, pool: pg.Pool, called: string, statement: Statement) {
  const how = database.explicit ? askInTransaction : ask;
  const pipeline = SHORT.has(called) ? database.pipelines.get(pool) : undefined;
  return pipeline
    ? pipeline.run(client => how(client, statement))
    : onOwnConnection(pool, client => how(client, statement));
}

async function callOn(app: FastifyInstance, pool: pg.Pool, called: string, values: unknown[]): Promise<Row> {
  const { database, log } = app;
  const { prepared } = database;
  const { name, text } = statementOf(called, values.length);
  try {
    return await send(app, pool, called, { name: prepared ? name : undefined, text, values });
  } catch (error) {
    // Nothing was executed: the statement is looked up before it is run.
    if (!prepared || !STATEMENT_LOST.includes(codeOf(error))) throw error;
    const row = await send(app, pool, called, { name: undefined, text, values });
    // Not before it worked: where the function itself is missing, those in line behind the first hear of a lost statement too.
    if (database.prepared)
      log.warn("a pooler loses prepared statements: going on without; set SERVICE_DATABASE_PREPARED=false");
    database.prepared = false;
    return row;
  }
}

/** Calls an `api` function in a transaction of its own: one statement, one round trip. */
export function callFunction(app: FastifyInstance, name: string, ...values: unknown[]): Promise<Row> {
  return callOn(app, app.database.pools.primary, name, values);
}

/** What only reads and asks for no membership: a replica that is behind may answer it, but never lets a removed member in. */
const OPERATOR_READS = ["list_tenants", "get_tenant", "get_setup_status"];

/** Why the login of a pool must not be used: it could look past row-level security. None when all is well. */
export async function loginFaults(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ fault: string }>("select * from api.get_login_faults() as f (fault)");
  return rows.map(({ fault }) => fault);
}

/** A replica that was away when the service started is asked for its login first. One that is unsafe stops nothing: it has no turn. */
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

/** Asks the replica. Whatever goes wrong there, also a row that has not arrived yet, the primary has the last word. */
async function callReplica(app: FastifyInstance, name: string, ...values: unknown[]): Promise<Row> {
  const { database, log } = app;
  if (performance.now() >= database.replicaRestsUntil) {
    try {
      if (await isReplicaSafe(app)) return await callOn(app, database.pools.replica!, name, values);
    } catch (err) {
      if ((toProblem(err)?.status ?? 500) >= 500) {
        database.replicaRestsUntil = performance.now() + REPLICA_REST_MS;
        log.warn({ err }, "the read replica fails; the primary answers");
      }
    }
  }
  return callFunction(app, name, ...values);
}

/** Calls a function without the server's statement timeout: for work that is as long as a tenant is large. */
async function callPatiently(app: FastifyInstance, name: string, ...values: unknown[]): Promise<Row> {
  const { text } = statementOf(name, values.length);
  const statement = { name: undefined, text, values, query_timeout: 2 ** 31 - 1 };
  const begin = "begin; set local statement_timeout = 0; set local lock_timeout = '10s'";
  const { pools, shares } = app.database;
  return shares.run(name, 5, () =>
    onOwnConnection(pools.primary, client => askInTransaction(client, statement, begin)),
  );
}

/** Two that wait for each other, and snapshots that do not fit: nothing was committed, and one of them may go on. */
const TRY_AGAIN = ["40P01", "40001"];

async function persistently<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (tries === 3 || !TRY_AGAIN.includes(codeOf(error))) throw error;
    }
  }
}

function asCaller(call: typeof callFunction) {
  return async (request: FastifyRequest, name: string, ...values: unknown[]): Promise<Row> => {
    const { identity, tenant, server } = request;
    const mayLag = identity.operator && server.database.pools.replica && OPERATOR_READS.includes(name);
    // What waits patiently has its own share: in the tenant's too, it would leave nothing to those who name the same one.
    const alone = tenant.slug === null || SHORT.has(name) || call === callPatiently;
    const inTurn = <T>(work: () => Promise<T>) =>
      alone ? work() : server.database.shares.run(`tenant ${tenant.slug}`, 2, work);
    const span = request.span?.call(name);
    try {
      const row = await inTurn(() =>
        persistently(() =>
          (mayLag ? callReplica : call)(
            server,
            name,
            tenant.slug,
            identity.provider,
            identity.subject,
            identity.email,
            identity.name,
            identity.operator ? null : server.database.operatorRole,
            ...values,
          ),
        ),
      );
      logResolved(request);
      return row;
    } catch (error) {
      const problem = toProblem(error);
      // Refused for another reason: the tenant itself was resolved.
      if (problem && problem.status < 500 && problem.reason !== "not_a_member") logResolved(request);
      throw problem ?? error;
    } finally {
      span?.end();
    }
  };
}

/** Calls an `api` function as the caller of a request, in the tenant of the request. */
export const callAsCaller = asCaller(callFunction);
export const callAsCallerPatiently = asCaller(callPatiently);

/** Once a request: GraphQL calls several functions for one. */
function logResolved(request: FastifyRequest): void {
  if (request.resolved) return;
  request.resolved = true;
  // A logger of one's own costs more than all else here; where no line of a good request is written, it waits for a bad one.
  if (!request.log.isLevelEnabled("info")) return;
  request.log = tenantLog(request);
  request.log.info({ tenant_source: request.tenant.source }, "tenant resolved");
}

declare module "fastify" {
  interface FastifyBaseLogger {
    isLevelEnabled(level: string): boolean;
  }
  interface FastifyInstance {
    database: {
      pools: Pools;
      /** Empty where each call has a connection of its own. */
      pipelines: ReadonlyMap<pg.Pool, Pipeline>;
      shares: Shares;
      prepared: boolean;
      explicit: boolean;
      /** What somebody lacks who is no operator. */
      operatorRole: string;
      /** Its login was found safe to use. */
      replicaChecked: boolean;
      /** By performance.now(). */
      replicaRestsUntil: number;
    };
  }
}
