/** A page under db/fixtures that was edited and not included in a migration is on no database: graphile-migrate says nothing. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

const db = path.resolve(import.meta.dirname, "../../db");
const read = (...parts: string[]) => readFileSync(path.join(db, ...parts), "utf8");
const sql = (folder: string) =>
  readdirSync(path.join(db, folder), { recursive: true, encoding: "utf8" })
    .filter(name => name.endsWith(".sql"))
    .sort();

test("every page under db/fixtures is what the last migration made of it, or is in db/current.sql", () => {
  const committed = new Map<string, string>();
  for (const file of sql("committed")) {
    const included = /^--! Included (\S+)\n([\s\S]*?)^--! EndIncluded \1$/gm;
    for (const [, page, text] of read("committed", file).matchAll(included))
      committed.set(page!, text!.trim());
  }
  const next = [...read("current.sql").matchAll(/^--! ?include (\S+)$/gm)].map(([, page]) => page);
  assert.ok(committed.size > 50, "the committed migrations tell what they include");
  const drifted = sql("fixtures").filter(
    page => !next.includes(page) && committed.get(page) !== read("fixtures", page).trim(),
  );
  assert.deepEqual(drifted, [], "edit db/current.sql: --! include these");
});
