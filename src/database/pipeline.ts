import type { Socket } from "node:net";
import pg from "pg";
import { codeOf } from "../errors/errors.ts";
import { hasState } from "../errors/sqlstates.ts";

/** After so long a connection goes back to the pool: others may wait for it, or the pool may want to renew it. */
const LONGEST_MS = 10_000;
/** A connection without an answer for so long takes no more statements: it waits for a lock, or for the network. */
const STALLED_MS = 50;
interface Lane {
  connecting: Promise<pg.PoolClient>;
  /** Once it is connected. */
  client?: pg.PoolClient;
  corked: boolean;
  inFlight: number;
  /** By performance.now(), as a clock may be set back. */
  movedAt: number;
  closesAt: number;
  broken: boolean;
  /** The error of the statement that waited in vain, for all that stand behind it. */
  stuck?: unknown;
}

const streamOf = (client: pg.PoolClient) =>
  (client as unknown as { connection: { stream: Socket } }).connection.stream;

/**
 * Short statements of several requests share a connection: they are sent together and answered in order, each in a
 * transaction of its own. Most of what such a statement costs, here and in the server, is its system calls; up to
 * `depth` statements share those. The pool lends the connections, and gets them back when they are idle.
 */
export class Pipeline {
  readonly #pool: pg.Pool;
  readonly #depth: number;
  readonly #lanes: Lane[] = [];

  constructor(pool: pg.Pool, depth: number) {
    this.#pool = pool;
    this.#depth = depth;
  }

  /** `send` must hand all its statements to the client at once: later ones may mix with the statements of other requests. */
  async run<T>(send: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const lane = this.#lanes.find(one => this.#takesMore(one)) ?? this.#open();
    lane.inFlight++;
    try {
      const client = lane.client ?? (await lane.connecting);
      cork(lane, client);
      const answer = await send(client);
      lane.movedAt = performance.now();
      return answer;
    } catch (error) {
      throw fail(lane, error);
    } finally {
      if (--lane.inFlight === 0) this.#close(lane);
    }
  }

  #takesMore(lane: Lane): boolean {
    if (lane.inFlight >= this.#depth || lane.broken) return false;
    const now = performance.now();
    if (now - lane.movedAt >= STALLED_MS) return false;
    return !lane.client || (this.#pool.waitingCount === 0 && now < lane.closesAt);
  }

  #open(): Lane {
    const lane: Lane = {
      connecting: this.#pool.connect().then(client => {
        lane.client = client;
        lane.movedAt = performance.now();
        lane.closesAt = lane.movedAt + LONGEST_MS;
        return client;
      }),
      corked: false,
      inFlight: 0,
      movedAt: performance.now(),
      closesAt: 0,
      broken: false,
    };
    this.#lanes.push(lane);
    return lane;
  }

  #close(lane: Lane): void {
    this.#lanes.splice(this.#lanes.indexOf(lane), 1);
    lane.connecting.then(
      client => client.release(lane.broken),
      () => {}, // run() has thrown it
    );
  }
}

/**
 * A statement's own error leaves the connection as it was; anything else ends it for all. So does a statement that waited for a
 * lock or ran out of time: those behind it would wait in their turn. Returns the caller's error.
 */
function fail(lane: Lane, error: unknown): unknown {
  lane.movedAt = performance.now();
  const stuck = lane.inFlight > 1 && hasState(error, "lock_not_available", "query_canceled");
  if (isOfStatement(error) && !stuck) return error;
  lane.broken = true;
  if (stuck && lane.client) {
    lane.stuck = error;
    streamOf(lane.client).destroy();
  }
  return lane.stuck ?? error;
}

/** Whether the connection survives this error. Not by the severity, which servers send in their own language. */
export function isOfStatement(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !/^(08|57P|25P0[34])/.test(codeOf(error));
}

/** Everything that is sent before the event loop has read all its input leaves in one piece. */
function cork(lane: Lane, client: pg.PoolClient): void {
  if (lane.corked) return;
  lane.corked = true;
  const stream = streamOf(client);
  stream.cork();
  setImmediate(() => {
    lane.corked = false;
    stream.uncork();
  });
}
