import { refusal } from "../errors/problems.ts";

/** As long as a request waits for its turn. */
const PATIENCE_MS = 3_000;

interface Turn {
  weight: number;
  limit: number;
  begin: () => void;
}

interface Share {
  held: number;
  /** In their order. */
  readonly waiting: Set<Turn>;
  /** Those that hold as many and can go on, where this one stands in line. */
  line: Set<Share> | null;
}

/**
 * One queue in front of the pool. Work has a name, mostly that of the tenant it is in, and a weight in slots. Free slots go to the
 * name that holds the fewest, and in turn where several hold as few; under one name, work begins in its order. No name may hold more
 * than its limit, so that a tenant whose requests wait for locks leaves connections to others.
 */
export class Shares {
  readonly #shares = new Map<string, Share>();
  /** By how many slots they hold, those whose next work fits their own limit. */
  readonly #lines: Set<Share>[] = [];
  #held = 0;
  #waiting = 0;

  constructor(readonly slots: number) {}

  /** How many names have work that runs or waits. */
  get size(): number {
    return this.#shares.size;
  }

  /** How much work waits for its turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Runs `work` when its name holds less than `limit` slots, and its turn has come.
   * @throws Problem 503 when that takes longer than 3 s
   */
  async run<T>(name: string, weight: number, limit: number, work: () => Promise<T>): Promise<T> {
    let share = this.#shares.get(name);
    if (!share) {
      share = { held: 0, waiting: new Set(), line: null };
      this.#shares.set(name, share);
    }
    if (this.#waiting === 0 && fits(share.held, weight, limit) && fits(this.#held, weight, this.slots))
      this.#hold(share, weight);
    else await this.#turnOf(name, share, weight, limit);
    try {
      return await work();
    } finally {
      this.#hold(share, -weight);
      this.#forget(name, share);
      this.#next();
    }
  }

  #hold(share: Share, weight: number): void {
    share.held += weight;
    this.#held += weight;
    if (share.waiting.size > 0) this.#lineUp(share);
  }

  #forget(name: string, share: Share): void {
    if (share.held === 0 && share.waiting.size === 0) this.#shares.delete(name);
  }

  #turnOf(name: string, share: Share, weight: number, limit: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#waiting--;
        share.waiting.delete(turn);
        this.#lineUp(share);
        this.#forget(name, share);
        reject(refusal("overloaded"));
        this.#next(); // those behind a heavy one may fit
      }, PATIENCE_MS);
      const begin = () => {
        clearTimeout(late);
        resolve();
      };
      const turn: Turn = { weight, limit, begin };
      this.#waiting++;
      share.waiting.add(turn);
      if (share.waiting.size === 1) this.#lineUp(share);
      this.#next();
    });
  }

  /** Puts a name in the line where it belongs. It keeps its place in a line that it stands in. */
  #lineUp(share: Share): void {
    const next = first(share.waiting);
    const stands = next !== undefined && fits(share.held, next.weight, next.limit);
    const line = stands ? this.#lineOf(share.held) : null;
    if (line === share.line) return;
    share.line?.delete(share);
    line?.add(share);
    share.line = line;
  }

  #lineOf(held: number): Set<Share> {
    this.#lines[held] ??= new Set();
    return this.#lines[held];
  }

  /** Begins what has its turn. What does not fit yet keeps its turn: light work does not slip past heavy work for ever. */
  #next(): void {
    while (this.#waiting > 0) {
      const line = this.#lines.find(one => one !== undefined && one.size > 0);
      if (!line) return;
      const share = first(line)!;
      const turn = first(share.waiting)!;
      const { weight, begin } = turn;
      if (!fits(this.#held, weight, this.slots)) return;
      share.waiting.delete(turn);
      this.#waiting--;
      line.delete(share); // where it still stands in line, it is the last
      share.line = null;
      this.#hold(share, weight);
      begin();
    }
  }
}

const first = <T>(set: Set<T>): T | undefined => set.values().next().value;

/** Work that is heavier than the limit runs alone. */
const fits = (held: number, weight: number, limit: number) => held === 0 || held + weight <= limit;
