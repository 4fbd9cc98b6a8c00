import assert from "node:assert/strict";
import { test } from "node:test";
import { LONGEST_MS, Turns } from "../../src/admission/turns.ts";

test("what is due at once goes, the rest waits in turn, and what would wait too long takes no turn", () => {
  const turns = new Turns(10);
  const waits = Array.from({ length: 5 }, () => turns.take("one", 100, 1_000));
  assert.deepEqual(waits, [-200, -100, 0, 100, 200]);
  assert.equal(turns.take("other", 100, 1_000), -200);
  assert.equal(turns.take("one", 2 * LONGEST_MS, 1_000), 300);
  const late = turns.take("one", 100, 1_000);
  assert.ok(late > LONGEST_MS);
  assert.equal(turns.take("one", 100, 1_000), late);
  assert.equal(turns.take("one", 100, 1_000 + late), 0);
});

test("a flood is not forgiven when more addresses come than are remembered", () => {
  const turns = new Turns(100);
  const flood = () => turns.take("flood", 10, 1_000);
  for (let i = 0; i < 50; i++) flood();
  const waits = flood();
  assert.ok(waits > 0);
  for (let i = 0; i < 1_000; i++) {
    assert.ok(turns.take(`one ${i}`, 1, 1_000) < 0);
    if (i % 50 === 0) assert.ok(flood() > waits);
  }
});
