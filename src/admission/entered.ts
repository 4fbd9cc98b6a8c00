import { Recent } from "../values/recent.ts";

/** For as long as a tenant's request after its last one counts as the tenant's, and for so many pairs. */
const REMEMBERED_MS = 600_000;
const MOST_REMEMBERED = 10_000;

/**
 * The callers that the database lately let into a tenant. The others' requests count under their own name: who only names a tenant
 * cannot use up its share.
 */
export class Entered {
  readonly #until = new Recent<number>(MOST_REMEMBERED);

  has(tenant: string, caller: string): boolean {
    return (this.#until.get(`${tenant}\n${caller}`) ?? 0) > performance.now();
  }

  add(tenant: string, caller: string): void {
    const pair = `${tenant}\n${caller}`;
    const until = this.#until.get(pair) ?? 0;
    const now = performance.now();
    if (until > now + REMEMBERED_MS / 2) return;
    this.#until.set(pair, now + REMEMBERED_MS);
  }

  delete(tenant: string, caller: string): void {
    this.#until.delete(`${tenant}\n${caller}`);
  }
}
