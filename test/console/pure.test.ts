/** What the console computes without a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { diff, mergePatch } from "../../src/console/diff.ts";
import { type Json, onto, parseSettings } from "../../src/console/pages/settings/json.ts";
import { relative } from "../../src/console/parts/time.ts";
import { visible } from "../../src/console/parts/visible.ts";
import { parse, path } from "../../src/console/router.ts";
import { createStore } from "../../src/console/store.ts";

/** RFC 7396, as its text has it. */
function mergedBy(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const isPlain = typeof target === "object" && target !== null && !Array.isArray(target);
  const found: Record<string, unknown> = isPlain ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete found[key];
    else found[key] = mergedBy(Object.hasOwn(found, key) ? found[key] : undefined, value);
  }
  return found;
}

test("a diff has every line of both texts, those of both once", () => {
  const lines = diff("a\nb\nc", "a\nx\nc\nd");
  const of = (...kinds: string[]) => lines.filter(({ kind }) => kinds.includes(kind)).map(({ text }) => text);
  assert.deepEqual(of("same", "gone"), ["a", "b", "c"]);
  assert.deepEqual(of("same", "new"), ["a", "x", "c", "d"]);
  assert.deepEqual(of("same"), ["a", "c"]);
  assert.ok(diff("a\n".repeat(3_000), "b\n".repeat(3_000)).every(({ kind }) => kind !== "same"));
});

test("a merge patch makes one object into the other; one that needs a null cannot be said", () => {
  const pairs: [object, object][] = [
    [{}, { a: 1 }],
    [{ a: 1, b: { c: 1, d: [1] } }, { b: { c: 2, d: [1, 2] } }],
    [{ a: { b: 1 } }, { a: "text" }],
    [{ constructor: 1 }, { toString: 2 }],
  ];
  for (const [before, after] of pairs as [Json, Json][])
    assert.deepEqual(mergedBy(before, mergePatch(before, after)!), after);
  assert.deepEqual(mergePatch({ a: { b: 1 } }, { a: { b: 1 } }), {});
  assert.equal(mergePatch({}, { a: null }), undefined);
  assert.equal(mergePatch({ a: { b: 1 } }, { a: { b: null } }), undefined);
});

test("my changes go onto theirs, key by key", () => {
  const base = { plan: "free", seats: 5, limits: { boards: 1, media: 1 } };
  const mine = { plan: "free", seats: 50, limits: { boards: 1 } };
  const theirs = { plan: "team", seats: 5, limits: { boards: 9, media: 1 }, beta: true };
  assert.deepEqual(onto(theirs, base, mine), { plan: "team", seats: 50, limits: { boards: 9 }, beta: true });
});

test("settings that JSON.parse would round or halve are no settings", () => {
  assert.deepEqual(parseSettings('{"a": 0.1, "b": 1e3}'), { a: 0.1, b: 1000 });
  for (const text of [
    '{"n": 12345678901234567890}',
    '{"n": 0.1000000000000000055511151231257827}',
    '{"a": 1, "a": 2}',
  ])
    assert.match(parseSettings(text) as string, /^The text contains /);
  assert.match(parseSettings("[1]") as string, /one object/);
  assert.match(parseSettings("{") as string, /no JSON/);
});

test("a route and its address are one and the same, whatever stands in it", () => {
  for (const parts of [[], ["org", "acme", "members"], ["tenant", "a/b?c#d", "ü %"]]) {
    const { parts: found, query } = parse(path(parts, { search: "a&b=c", empty: "" }));
    assert.deepEqual([found, [...query]], [parts, [["search", "a&b=c"]]]);
  }
  assert.deepEqual(parse("#/%zz").parts, ["%zz"]);
});

test("a store tells its followers until they stop", () => {
  const store = createStore(1);
  const seen: number[] = [];
  const stop = store.follow(() => seen.push(store.get()));
  store.set(2);
  stop();
  store.set(3);
  assert.deepEqual([seen, store.get()], [[2], 3]);
});

test("days are rounded, not cut: seven days end in seven days, thirty in thirty", () => {
  const now = Date.parse("2026-11-28T12:00:00Z");
  const after = (seconds: number) => relative(new Date(now + seconds * 1000).toISOString(), now);
  assert.deepEqual(
    [7 * 86_400 - 1, 30 * 86_400 - 1, 86_400 - 1, -90, -20, 20, 365 * 86_400, -61 * 86_400].map(after),
    [
      "in 7 days",
      "in 30 days",
      "tomorrow",
      "1 minute ago",
      "just now",
      "in a moment",
      "next year",
      "2 months ago",
    ],
  );
});

test("what is hidden in a text is shown; line breaks, tabs, emoji, and letters that need a joiner stay", () => {
  const flag = (letters: string) =>
    `\u{1F3F4}${letters.replace(/./g, one => String.fromCodePoint(0xe0000 + one.charCodeAt(0)))}\u{E007F}`;
  for (const same of [
    "a\nb\tc",
    "می\u200cخواهم",
    "مَ\u200cخ",
    "क्\u200dष",
    "👩‍👩‍👧‍👦 ❤️ 👩🏽‍🚀 1\ufe0f\u20e3",
    flag("gbsct"),
    "葛\u{E0100}城",
    "ᠠ\u180b",
    "Zoë",
  ])
    assert.equal(visible(same), same);
  assert.equal(visible("a\u200cb"), "a⟨200C⟩b");
  // What could carry a text that nobody sees.
  assert.equal(visible("❤️\ufe0f\ufe0f"), "❤️⟨FE0F⟩⟨FE0F⟩");
  assert.equal(visible("❤\u200d"), "❤⟨200D⟩");
  assert.match(visible(flag("secret")), /^🏴⟨E0073⟩/u);
  assert.equal(visible("\u202eemcA\u0007"), "⟨202E⟩emcA⟨0007⟩");
  assert.equal(visible("one\r\ntwo"), "one\ntwo");
});
