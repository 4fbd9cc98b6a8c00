import { Counts } from "./counts.ts";

/** How many requests may be in the room: in all, and of one address, identity and tenant. */
interface Limits {
  all: number;
  address: number;
  identity: number;
  tenant: number;
  /** Of one identity that are worked on at once; more wait for these. */
  atOnce: number;
}

interface Caller {
  inside: number;
  works: number;
  /** The oldest first. */
  readonly waiting: Set<Guest>;
}

/** A request in the room, and what it is counted under. */
export class Guest {
  /** Its place in the list; -1 outside. */
  at = -1;
  address: string | null = null;
  tenant: string | null = null;
  caller: string | null = null;
  /** Its body is here, its caller is known, and it has no answer yet: it counts against the limit of all. */
  works = false;
  /** Begins a request that waits for others of its caller. */
  begins: (() => void) | null = null;
}

/** Whether a request may begin. Every step takes as long, however many requests are inside. */
export class Room<T extends Guest> {
  readonly #limits: Limits;
  // An array, not a Set. V8 links the hash table that a Set outgrew to the next one; once it is in the old generation, all later
  // entries survive until a full collection: that took a tenth of the CPU time.
  readonly #guests: T[] = [];
  readonly #addresses = new Counts();
  readonly #tenants = new Counts();
  readonly #callers = new Map<string, Caller>();
  #works = 0;
  #waits = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get guests(): readonly T[] {
    return this.#guests;
  }

  enter(guest: T): void {
    guest.at = this.#guests.push(guest) - 1;
  }

  leave(guest: T): void {
    if (guest.at < 0) return;
    this.rest(guest);
    const last = this.#guests.pop()!;
    if (last !== guest) {
      last.at = guest.at;
      this.#guests[last.at] = last;
    }
    guest.at = -1;
    if (guest.address !== null) this.#addresses.remove(guest.address);
    if (guest.tenant !== null) this.#tenants.remove(guest.tenant);
    if (guest.caller === null) return;
    const caller = this.#callers.get(guest.caller)!;
    if (guest.begins) this.#stopWaiting(guest, caller);
    if (--caller.inside === 0) this.#callers.delete(guest.caller);
  }

  /** False when the address has more inside than its share. */
  countAddress(guest: T, address: string): boolean {
    guest.address = address;
    return this.#addresses.add(address) <= this.#limits.address;
  }

  /** False when the caller has more inside than its share. */
  countCaller(guest: T, name: string): boolean {
    let caller = this.#callers.get(name);
    if (!caller) {
      caller = { inside: 0, works: 0, waiting: new Set() };
      this.#callers.set(name, caller);
    }
    guest.caller = name;
    return ++caller.inside <= this.#limits.identity;
  }

  /** False when the tenant has more inside than its share. */
  countTenant(guest: T, tenant: string): boolean {
    if (guest.tenant !== tenant) {
      if (guest.tenant !== null) this.#tenants.remove(guest.tenant);
      guest.tenant = tenant;
      this.#tenants.add(tenant);
    }
    return this.#tenants.of(tenant) <= this.#limits.tenant;
  }

  /** A counted caller's request works, now or when others of the caller have their answers. False when the room is full. */
  begin(guest: T, begins: () => void): boolean {
    if (this.#works + this.#waits >= this.#limits.all) return false;
    const caller = this.#callers.get(guest.caller!)!;
    if (caller.works >= this.#limits.atOnce) {
      guest.begins = begins;
      caller.waiting.add(guest);
      this.#waits++;
    } else this.#work(guest, caller, begins);
    return true;
  }

  /** It works no more, and is still inside. */
  rest(guest: T): void {
    if (!guest.works) return;
    guest.works = false;
    this.#works--;
    const caller = this.#callers.get(guest.caller!)!;
    caller.works--;
    if (caller.waiting.size === 0) return;
    const next = caller.waiting.values().next().value!;
    const begins = next.begins!;
    this.#stopWaiting(next, caller);
    this.#work(next, caller, begins);
  }

  #stopWaiting(guest: Guest, caller: Caller): void {
    caller.waiting.delete(guest);
    guest.begins = null;
    this.#waits--;
  }

  #work(guest: Guest, caller: Caller, begins: () => void): void {
    guest.works = true;
    caller.works++;
    this.#works++;
    begins();
  }
}
