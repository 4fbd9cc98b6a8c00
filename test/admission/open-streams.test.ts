import assert from "node:assert/strict";
import { test } from "node:test";
import { OpenStreams } from "../../src/admission/open-streams.ts";
import { passASecond } from "../http/world.ts";

/** Streams of a tenant, each by an identity of its own. */
function open(streams: OpenStreams, tenant: string | null, count: number) {
  return Array.from({ length: count }, (_, i) => streams.add(`${tenant} ${i}`, tenant));
}
const refused = (status: number) => (error: Error) => (error as { status?: number }).status === status;

test("an identity has five streams, a tenant twenty", () => {
  const streams = new OpenStreams();
  for (let i = 0; i < 5; i++) streams.add("ann", "acme");
  assert.throws(() => streams.add("ann", "globex"), refused(429));
  const more = open(streams, "acme", 15);
  assert.throws(() => streams.add("bob", "acme"), refused(429));
  more[0]!.abort();
  streams.add("bob", "acme");
  assert.equal(streams.size, 20);
});

test("the tenants of one customer never keep an operator or another tenant out", () => {
  const streams = new OpenStreams();
  const taken = Array.from({ length: 9 }, (_, i) => open(streams, `evil-${i}`, 20)).flat();
  assert.equal(streams.size, 180);
  const operators = open(streams, null, 20);
  // The tenant with the most loses its oldest, up to an equal share.
  const acme = open(streams, "acme", 18);
  assert.equal(streams.size, 200);
  assert.deepEqual(
    [taken.filter(({ signal }) => signal.aborted).length, taken[0]!.signal.aborted],
    [18, true],
  );
  assert.ok([...operators, ...acme].every(({ signal }) => !signal.aborted));
  assert.throws(() => open(streams, "acme", 1), refused(429), "as many as the others");
  assert.throws(() => streams.add("evil", "evil-0"), refused(429), "who lost one does not take it back");
  assert.ok(!streams.add("boss", null).signal.aborted, "an operator beyond the reserve");
  assert.equal(streams.size, 200);
});

test("a tenant without a stream gets one while another has two", () => {
  const streams = new OpenStreams();
  for (let i = 0; i < 178; i++) streams.add(`${i}`, `t${i}`);
  open(streams, "evil", 2);
  streams.add("ann", "acme");
  assert.equal(streams.size, 180);
  assert.throws(() => streams.add("bob", "globex"), refused(503), "everybody has one");
});

test("where all have one, who has none takes the oldest once it is a minute old", () => {
  const streams = new OpenStreams();
  const first = streams.add("0", "t0");
  for (let i = 0; i < 59; i++) passASecond();
  for (let i = 1; i < 180; i++) streams.add(`${i}`, `t${i}`);
  assert.throws(() => streams.add("ann", "acme"), refused(503));
  passASecond();
  streams.add("ann", "acme");
  assert.ok(first.signal.aborted);
  assert.throws(() => streams.add("0", "t0"), refused(503), "the next one has had a second");
  assert.equal(streams.size, 180);
});

test("all end when the service stops", () => {
  const streams = new OpenStreams();
  const all = open(streams, "acme", 3);
  streams.endAll();
  assert.ok(all.every(({ signal }) => signal.aborted));
  assert.equal(streams.size, 0);
});
