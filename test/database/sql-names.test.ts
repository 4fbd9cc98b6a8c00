/** Names and texts as the server itself would quote them. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ident, literal } from "../../src/values/sql-names.ts";
import { createDatabase } from "../harness.ts";

const { sql, drop } = await createDatabase();
after(drop);

test("a name is quoted where quote_ident() quotes it, each keyword of the server included", async () => {
  const odd = ["plain", "_1", "1a", "a$$", "a.b", 'a"b', "a'b", "a\\b", "Mixed", "ä", "a b", ""];
  const names = await sql<{ name: string; quoted: string }[]>`
      select name, quote_ident(name) as quoted from (select word from pg_get_keywords()
        union select jsonb_array_elements_text(${JSON.stringify(odd)}::text::jsonb)) n (name)`;
  assert.ok(names.length > 400);
  // What only a newer server reserves is quoted for an older one, too.
  for (const { name, quoted } of names)
    if (odd.includes(name) || quoted !== name) assert.equal(ident(name), quoted);
});

test("a text is quoted as quote_literal() quotes it", async () => {
  const texts = ["", "it's", "a\\b", "\\'", "$$", "line\nbreak"];
  const rows = await sql<{ text: string; quoted: string }[]>`
      select text, quote_literal(text) as quoted from jsonb_array_elements_text(${JSON.stringify(texts)}::text::jsonb) text`;
  for (const { text, quoted } of rows) assert.equal(literal(text), quoted);
});
