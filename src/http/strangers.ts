import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import { LONGEST_MS, Turns } from "../admission/turns.ts";
import { networkOf } from "../values/network.ts";

/** What an answer costs of the processor's time, by estimate. */
const SMALL_MS = 1;
const LARGE_MS = 20;
const CHARACTERS_A_MS = 5_000;
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

function costOf(payload: unknown): number {
  if (typeof payload === "string") return Math.min(LARGE_MS, SMALL_MS + payload.length / CHARACTERS_A_MS);
  return payload ? LARGE_MS : SMALL_MS;
}
