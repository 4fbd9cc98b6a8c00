import assert from "node:assert/strict";
import { test } from "node:test";
import { Entered } from "../../src/admission/entered.ts";

test("a caller counts as a tenant's for ten minutes after the tenant let it in, and 10,000 of them do", t => {
  const entered = new Entered();
  let now = 0;
  t.mock.method(performance, "now", () => now);
  entered.add("acme", "jwt\nann");
  assert.deepEqual([entered.has("acme", "jwt\nann"), entered.has("beta", "jwt\nann")], [true, false]);
  now += 400_000;
  entered.add("acme", "jwt\nann");
  now += 400_000;
  assert.ok(entered.has("acme", "jwt\nann"));
  now += 300_000;
  assert.ok(!entered.has("acme", "jwt\nann"));
  entered.add("acme", "jwt\nann");
  entered.delete("acme", "jwt\nann");
  assert.ok(!entered.has("acme", "jwt\nann"));
  for (let i = 0; i <= 10_000; i++) entered.add("acme", `jwt\n${i}`);
  assert.deepEqual([entered.has("acme", "jwt\n0"), entered.has("acme", "jwt\n1")], [false, true]);
});
