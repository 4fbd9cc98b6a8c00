/** How many there are of each name. */
export class Counts {
  readonly #counts = new Map<string, number>();

  /** How many names there are. */
  get size(): number {
    return this.#counts.size;
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** How many there are with this one. */
  add(name: string): number {
    const count = this.of(name) + 1;
    this.#counts.set(name, count);
    return count;
  }

  remove(name: string): void {
    const count = this.of(name);
    if (count > 1) this.#counts.set(name, count - 1);
    else this.#counts.delete(name);
  }
}
