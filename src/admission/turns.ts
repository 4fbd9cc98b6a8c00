import { Recent } from "../values/recent.ts";

/** So much at once goes before one waits for a turn. */
const AT_ONCE_MS = 200;
/** An answer waits for so long at most, which costs less than a client that connects again. Beyond it the connection ends. */
export const LONGEST_MS = 10_000;

/** When the next answer to an address is due. Of too many addresses it forgets the one that has asked for nothing for the longest time. */
export class Turns {
  readonly #due: Recent<number>;

  constructor(most: number) {
    this.#due = new Recent(most);
  }

  /** For how long this answer waits. One that would wait too long takes no turn. */
  take(who: string, cost: number, now: number): number {
    const turn = Math.max(this.#due.get(who) ?? 0, now - AT_ONCE_MS);
    const wait = turn - now;
    this.#due.set(who, wait > LONGEST_MS ? turn : turn + cost);
    return wait;
  }
}
