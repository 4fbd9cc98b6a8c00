import assert from "node:assert/strict";
import { test } from "node:test";
import { Shares } from "../../src/admission/shares.ts";
import { Problem } from "../../src/errors/errors.ts";

const isOverloaded = (error: unknown) => error instanceof Problem && error.reason === "overloaded";

/** Work that ends when the test says so. */
function open(shares: Shares, name: string, weight = 1, limit = shares.slots) {
  let end = () => {};
  let begun = false;
  const ended = shares.run(name, weight, limit, () => {
    begun = true;
    return new Promise<void>(resolve => (end = resolve));
  });
  ended.catch(() => {}); // of what nobody waits for any more
  return { ended, isOpen: () => begun, end: () => end() };
}
const settled = () => new Promise(setImmediate);

test("a name is forgotten when its last work has ended, failed or timed out", async () => {
  const shares = new Shares(2);
  assert.equal(await shares.run("done", 1, 1, async () => shares.size), 1);
  assert.equal(shares.size, 0);
  const fails = shares.run("fails", 1, 1, async () => {
    throw new Error("no");
  });
  await assert.rejects(fails, /no/);
  assert.equal(shares.size, 0);
  const long = open(shares, "long", 1, 1);
  await assert.rejects(
    shares.run("long", 1, 1, async () => {}),
    (error: Problem) => error instanceof Problem && error.status === 503,
  );
  assert.equal(shares.size, 1);
  const next = shares.run("long", 1, 1, async () => {});
  long.end();
  await Promise.all([long.ended, next]);
  assert.equal(shares.size, 0);
});

test("a free slot goes to the name that holds the fewest, not to the one that came first", async () => {
  const shares = new Shares(3);
  const busy = Array.from({ length: 50 }, () => open(shares, "busy"));
  const [quiet, third] = [open(shares, "quiet"), open(shares, "third")];
  const beginnings = () => [busy.filter(one => one.isOpen()).length, quiet.isOpen(), third.isOpen()];
  assert.deepEqual(beginnings(), [3, false, false]);
  busy[1]!.end();
  await settled();
  assert.deepEqual(beginnings(), [3, true, false]);
  busy[0]!.end();
  await settled();
  assert.deepEqual(beginnings(), [3, true, true]);
  quiet.end();
  await settled();
  assert.deepEqual(beginnings(), [4, true, true]);
  assert.ok(busy[3]!.isOpen(), "under one name, in its order");
});

test("names that hold as few take turns, whatever waits under each", async () => {
  const shares = new Shares(1);
  const order: string[] = [];
  const ended = ["a", "a", "a", "b", "b", "c"].map(name =>
    shares.run(name, 1, 1, async () => void order.push(name)),
  );
  await Promise.all(ended);
  assert.deepEqual(order, ["a", "b", "c", "a", "b", "a"]);
  assert.deepEqual([shares.size, shares.waiting], [0, 0]);
});

test("heavy work takes several slots, keeps its turn, and runs alone where it never fits", async () => {
  const shares = new Shares(4);
  const light = [open(shares, "a"), open(shares, "b")];
  const heavy = open(shares, "c", 3);
  const later = open(shares, "d");
  assert.deepEqual([heavy.isOpen(), later.isOpen()], [false, false]);
  light[0]!.end();
  await settled();
  assert.deepEqual([heavy.isOpen(), later.isOpen()], [true, false]);
  light[1]!.end();
  await settled();
  assert.ok(later.isOpen());
  heavy.end();
  later.end();
  await settled();
  const giant = open(shares, "e", 9, 2);
  assert.ok(giant.isOpen());
  const beside = open(shares, "f");
  assert.ok(!beside.isOpen());
  giant.end();
  await settled();
  assert.ok(beside.isOpen());
});

test("a name at its limit keeps nobody else waiting", async () => {
  const shares = new Shares(4);
  const held = [open(shares, "stuck", 1, 2), open(shares, "stuck", 1, 2)];
  const waiting = [open(shares, "stuck", 1, 2), open(shares, "stuck", 1, 2)];
  assert.equal(await shares.run("other", 2, 2, async () => "served"), "served");
  assert.ok(!waiting[0]!.isOpen());
  const late = await Promise.allSettled(waiting.map(({ ended }) => ended));
  assert.ok(late.every(one => one.status === "rejected" && isOverloaded(one.reason)));
  for (const one of held) one.end();
  await settled();
  assert.equal(shares.size, 0);
});
