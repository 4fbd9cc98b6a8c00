import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import { networkOf } from "../values/network.ts";
import { Recent } from "../values/recent.ts";

/** Without a valid token an address has so much time of the processor, by estimate, after so much at once: a thousand small answers a second. */
const SMALL_MS = 1;
const LARGE_MS = 20;
const CHARACTERS_A_MS = 5_000;
const AT_ONCE_MS = 200;
/** An answer waits for so long at most, which costs less than a client that connects again. Beyond it the connection ends. */
const LONGEST_MS = 10_000;
const MOST_ADDRESSES = 10_000;

/**
 * Answers to callers without a valid token, and to those who have more open than their share, wait for their turn, each address and
 * identity for its own. So a flood of them leaves the processor to those
 * with one: its clients wait for their answers before they send more, or have their connections ended.
 */
export default fp(
  async (app: FastifyInstance) => {
    const turns = new Turns(MOST_ADDRESSES);
    app.addHook("onSend", (request, _reply, payload, done) => {
      const { refusal } = request;
      // An API key is an identity before the database has refused it.
      const identity = refusal?.status === 401 ? undefined : request.identity;
      const mayPass = identity && refusal?.reason !== "too_many_at_once";
      if (mayPass) return done();
      // Probes have turns of their own: a load balancer may ask from the address that a flood comes through.
      const who = identity
        ? `${identity.provider}\n${identity.subject}`
        : `${networkOf(request.ip)}${request.routeOptions.config.probe ? " probes" : ""}`;
      const wait = turns.take(who, costOf(payload), performance.now());
      const { socket } = request.raw;
      // A proxy would take the end of a connection for a fault of the service, and connections of its do not carry one client only.
      if (wait > LONGEST_MS && request.ip === socket.remoteAddress) socket.destroy();
      if (wait <= 0 || socket.destroyed) done();
      else setTimeout(done, Math.min(wait, LONGEST_MS));
    });
  },
  { name: "strangers" },
);

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

function costOf(payload: unknown): number {
  if (typeof payload === "string") return Math.min(LARGE_MS, SMALL_MS + payload.length / CHARACTERS_A_MS);
  return payload ? LARGE_MS : SMALL_MS;
}
