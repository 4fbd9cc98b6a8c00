import { refusal } from "../errors/problems.ts";

/** As long as a request waits for a connection. */
const PATIENCE_MS = 3_000;

interface Share {
  held: number;
  waiting: (() => void)[];
}

/**
 * A request that waits for a lock holds a connection. Work under one name may hold a share of the connections; more of it
 * waits for that share, and the rest is free for other names.
 */
export class Shares {
  readonly #shares = new Map<string, Share>();
  constructor(readonly connections: number) {}

  /** How many names have work that runs or waits. */
  get size(): number {
    return this.#shares.size;
  }

  /** Runs `work` when its name holds less than `connections / parts`. @throws Problem 503 when that takes longer than 3 s */
  async run<T>(name: string, parts: number, work: () => Promise<T>): Promise<T> {
    const share = this.#shares.get(name) ?? { held: 0, waiting: [] };
    this.#shares.set(name, share);
    if (share.held < Math.ceil(this.connections / parts)) share.held++;
    else await turnOf(share);
    try {
      return await work();
    } finally {
      const next = share.waiting.shift();
      if (next) next();
      else if (--share.held === 0) this.#shares.delete(name);
    }
  }
}

function turnOf({ waiting }: Share): Promise<void> {
  return new Promise((resolve, reject) => {
    const turn = () => {
      clearTimeout(late);
      resolve();
    };
    const late = setTimeout(() => {
      waiting.splice(waiting.indexOf(turn), 1);
      reject(refusal("overloaded"));
    }, PATIENCE_MS);
    waiting.push(turn);
  });
}
