/** The progress of `npm run audit`: in one line, whatever the terminal's width, and nothing in it is half of something. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { progressLine } from "../../src/audit/progress.ts";

const PROGRESS = {
  done: 11,
  of: 73,
  pass: "board_inviter_outside_tenant",
  rows: 1_080_915,
  findings: 12,
  share: 0.5,
};

test("a wide terminal gets everything, also where it just fits", () => {
  const whole =
    "████████████░░░░░░░░░░░░ 11/73  1,080,915 rows  12 found  about 4 s left  board_inviter_outside_tenant";
  for (const columns of [whole.length + 1, 120])
    assert.equal(progressLine(PROGRESS, 3.5, columns), whole, String(columns));
});

test("a usual one a shorter bar, and the beginning of a long name", () => {
  assert.equal(
    progressLine(PROGRESS, 4, 80),
    "████████░░░░░░░░ 11/73  1,080,915 rows  12 found  about 4 s left  board_invite…",
  );
});

test("a narrow one what matters most", () => {
  assert.equal(progressLine(PROGRESS, 4, 42), "████░░░░ 11/73  12 found  about 4 s left");
  assert.equal(progressLine(PROGRESS, 4, 40), "████░░░░ 11/73  about 4 s left");
  assert.equal(progressLine(PROGRESS, 4, 20), "11/73  board_invit…");
  assert.equal(progressLine(PROGRESS, 4, 6), "11/73");
  assert.equal(progressLine(PROGRESS, 4, 5), "");
});

test("before there is any work to go by, the time is no infinity", () => {
  assert.match(progressLine({ ...PROGRESS, share: 0 }, 4, 60), / about 0 s left /);
});

test("the end names no check, and how long it was", () => {
  assert.equal(
    progressLine({ ...PROGRESS, done: 73, share: 1 }, 61.04, 80),
    "████████████████ 73/73  1,080,915 rows  12 found  61.0 s",
  );
});

test("no line wraps, at any width", () => {
  for (let columns = 1; columns < 200; columns++)
    for (const share of [0, 0.03, 0.999, 1])
      assert.ok(progressLine({ ...PROGRESS, share }, 123_456, columns).length < columns);
});
