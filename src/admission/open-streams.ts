import { refusal } from "../errors/problems.ts";

/** Streams that may be open at once. */
const MOST = { identity: 5, tenant: 20, instance: 200 };
/** Of these only operators have the last ones. */
const OF_OPERATORS = 20;

/** If every tenant has one stream, a tenant without one ends the oldest after this time: tenants that fill the instance keep nobody out. */
const TURN_MS = 60_000;

interface Open {
  readonly who: string;
  /** Null: an operator's. */
  readonly tenant: string | null;
  readonly end: AbortController;
  readonly since: number;
}

/**
 * The event streams of an instance. When it is full, the tenant with the most streams loses its oldest to one with fewer; the client
 * that lost it goes on later from its last event. So no number of tenants keeps another one out.
 */
export class OpenStreams {
  /** The oldest first. */
  readonly #open = new Set<Open>();

  get size(): number {
    return this.#open.size;
  }

  /**
   * The stream counts until it is aborted.
   * @throws Problem 429 beyond the share of the identity or its tenant, 503 when the instance is full of streams of others, who have no more
   */
  add(who: string, tenant: string | null): AbortController {
    const streams = [...this.#open];
    const own = streams.filter(one => one.tenant === tenant).length;
    if (streams.filter(one => one.who === who).length >= MOST.identity) throw tooMany();
    if (tenant !== null && own >= MOST.tenant) throw tooMany();
    const ofTenants = streams.filter(one => one.tenant !== null);
    const isFull =
      streams.length >= MOST.instance ||
      (tenant !== null && ofTenants.length >= MOST.instance - OF_OPERATORS);
    if (isFull) this.#makeRoom(ofTenants, tenant === null ? -1 : own);
    const one: Open = { who, tenant, end: new AbortController(), since: performance.now() };
    one.end.signal.addEventListener("abort", () => this.#open.delete(one));
    this.#open.add(one);
    return one.end;
  }

  /** A tenant with one stream more than the other keeps it: they would take it from each other for ever. */
  #makeRoom(ofTenants: Open[], own: number): void {
    const counts = new Map<string | null, number>();
    for (const { tenant } of ofTenants) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    const most = Math.max(0, ...counts.values());
    let loser = ofTenants.find(({ tenant }) => counts.get(tenant) === most);
    if (most <= own + 1) {
      loser = own === 0 ? ofTenants[0] : undefined;
      if (!loser || performance.now() - loser.since < TURN_MS)
        throw own > 0 ? tooMany() : refusal("overloaded");
    }
    loser!.end.abort();
  }

  endAll(): void {
    for (const { end } of this.#open) end.abort();
  }
}

const tooMany = () =>
  refusal("too_many_at_once", {
    detail: "Too many event streams of yours are open at once; close one, then send the request again",
    headers: { "retry-after": "1" },
  });
