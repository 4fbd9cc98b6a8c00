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
  waiting: Turn[];
}

/**
 * One queue in front of the pool. Work has a name, mostly that of the tenant it is in, and a weight in slots. Free slots go to the
 * name that holds the fewest, and in turn where several hold as few; under one name, work begins in its order. No name may hold more
 * than its limit, so that a tenant whose requests wait for locks leaves connections to others.
 */
export class Shares {
  readonly #shares = new Map<string, Share>();
  /** In the order of their turns. */
  readonly #waiting = new Map<string, Share>();
  #held = 0;

  constructor(
    readonly slots: number,
    /** Under one name. */
    readonly mostWaiting: number,
  ) {}

  /** How many names have work that runs or waits. */
  get size(): number {
    return this.#shares.size;
  }

  /** How much work waits for its turn. */
  get waiting(): number {
    let sum = 0;
    for (const { waiting } of this.#waiting.values()) sum += waiting.length;
    return sum;
  }

  /**
   * Runs `work` when its name holds less than `limit` slots, and its turn has come.
   * @throws Problem 503 when that takes longer than 3 s, or when too much work waits under the name
   */
  async run<T>(name: string, weight: number, limit: number, work: () => Promise<T>): Promise<T> {
    const share = this.#shares.get(name) ?? { held: 0, waiting: [] };
    this.#shares.set(name, share);
    if (this.#waiting.size === 0 && fits(share.held, weight, limit) && fits(this.#held, weight, this.slots))
      this.#take(share, weight);
    else await this.#turnOf(name, share, weight, limit);
    try {
      return await work();
    } finally {
      share.held -= weight;
      this.#held -= weight;
      this.#forget(name, share);
      this.#next();
    }
  }

  #take(share: Share, weight: number): void {
    share.held += weight;
    this.#held += weight;
  }

  #forget(name: string, share: Share): void {
    if (share.waiting.length > 0) return;
    this.#waiting.delete(name);
    if (share.held === 0) this.#shares.delete(name);
  }

  #turnOf(name: string, share: Share, weight: number, limit: number): Promise<void> {
    if (share.waiting.length >= this.mostWaiting) throw refusal("overloaded");
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        share.waiting.splice(share.waiting.indexOf(turn), 1);
        this.#forget(name, share);
        reject(refusal("overloaded"));
        this.#next(); // those behind a heavy one may fit
      }, PATIENCE_MS);
      const begin = () => {
        clearTimeout(late);
        resolve();
      };
      const turn: Turn = { weight, limit, begin };
      share.waiting.push(turn);
      this.#waiting.set(name, share);
      this.#next();
    });
  }

  /** Begins what has its turn. What does not fit yet keeps its turn: light work does not slip past heavy work for ever. */
  #next(): void {
    for (;;) {
      let first: [name: string, share: Share] | undefined;
      for (const [name, share] of this.#waiting) {
        const { weight, limit } = share.waiting[0]!;
        if (fits(share.held, weight, limit) && share.held < (first?.[1].held ?? Number.POSITIVE_INFINITY))
          first = [name, share];
      }
      if (!first) return;
      const [name, share] = first;
      const { weight, begin } = share.waiting[0]!;
      if (!fits(this.#held, weight, this.slots)) return;
      share.waiting.shift();
      this.#waiting.delete(name);
      if (share.waiting.length > 0) this.#waiting.set(name, share);
      this.#take(share, weight);
      begin();
    }
  }
}

/** Work that is heavier than the limit runs alone. */
const fits = (held: number, weight: number, limit: number) => held === 0 || held + weight <= limit;

/** For as long as a tenant's request after its last one counts as the tenant's, and for so many pairs. */
const REMEMBERED_MS = 600_000;
const MOST_REMEMBERED = 10_000;

/**
 * The callers that the database lately let into a tenant. The others' requests count under their own name: who only names a tenant
 * cannot use up its share.
 */
export class Entered {
  readonly #until = new Map<string, number>();

  has(tenant: string, caller: string): boolean {
    return (this.#until.get(`${tenant}\n${caller}`) ?? 0) > performance.now();
  }

  add(tenant: string, caller: string): void {
    const pair = `${tenant}\n${caller}`;
    const until = this.#until.get(pair) ?? 0;
    const now = performance.now();
    if (until > now + REMEMBERED_MS / 2) return;
    this.#until.delete(pair); // its place is that of the older one
    if (this.#until.size >= MOST_REMEMBERED) this.#until.delete(this.#until.keys().next().value!);
    this.#until.set(pair, now + REMEMBERED_MS);
  }

  delete(tenant: string, caller: string): void {
    this.#until.delete(`${tenant}\n${caller}`);
  }
}
