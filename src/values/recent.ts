/** A map of at most so many entries: beyond it the one that was set the longest time ago goes. */
export class Recent<V> {
  readonly #entries = new Map<string, V>();

  constructor(readonly most: number) {}

  get(key: string): V | undefined {
    return this.#entries.get(key);
  }

  set(key: string, value: V): void {
    this.#entries.delete(key); // its place is that of the older value
    if (this.#entries.size >= this.most) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(key, value);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
