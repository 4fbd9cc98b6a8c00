import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase } from "../../harness.ts";

const database = await createDatabase();
after(() => database.drop());

/** Appendix A of RFC 7396, and what it leaves out. */
const EXAMPLES: [target: unknown, patch: unknown, result: unknown][] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  [{ a: 1 }, {}, { a: 1 }],
  [{ a: { b: 1, c: { d: null } } }, { a: { c: {} } }, { a: { b: 1, c: { d: null } } }],
  [{ a: null }, { a: { b: 1 } }, { a: { b: 1 } }],
  [
    { "": 1, "a.b": 2 },
    { "": null, "a/b": [null, { x: null }] },
    { "a.b": 2, "a/b": [null, { x: null }] },
  ],
];

test("every example of RFC 7396 has its result", async () => {
  for (const [target, patch, result] of EXAMPLES) {
    const [row] = await database.sql<{ found: string }[]>`
      select app.merge_patch(${JSON.stringify(target)}::text::jsonb, ${JSON.stringify(patch)}::text::jsonb)::text as found`;
    assert.deepEqual(JSON.parse(row!.found), result, `${JSON.stringify(target)} ${JSON.stringify(patch)}`);
  }
});
