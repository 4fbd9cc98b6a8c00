import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isVisible } from "../../src/values/visible.ts";
import { createDatabase } from "../harness.ts";

const database = await createDatabase();
after(() => database.drop());

/** Surrogates are no characters. */
const isCharacter = (point: number) => point < 0xd800 || point > 0xdfff;

test("the database and the API call the same characters blank, of all that there are", async () => {
  const { sql } = database;
  const constraints = await sql<{ name: string; column: string; holds: string; literal: string }[]>`
    select c.conname as name, a.attname as column, pg_get_expr(c.conbin, c.conrelid) as holds,
      substring(pg_get_expr(c.conbin, c.conrelid) from '''(.+)''') as literal
    from pg_constraint c
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.conname like '%\\_not\\_blank'
    order by 1`;
  assert.deepEqual(
    constraints.map(({ name }) => name),
    ["api_keys_name_not_blank", "tenants_name_not_blank", "users_display_name_not_blank"],
  );
  const blank = Array.from({ length: 0x10ffff }, (_, i) => i + 1).filter(
    point => isCharacter(point) && !isVisible(String.fromCodePoint(point)),
  );
  const [first] = constraints;
  const [found] = await sql.unsafe<{ points: number[] }[]>(
    `select array_agg(i order by i) as points
    from generate_series(1, 1114111) i, lateral (select chr(i) as ${first!.column}) c
    where i not between 55296 and 57343 and not (${first!.holds})`,
  );
  assert.deepEqual(found!.points, blank);
  // The others have the same text.
  for (const { name, literal } of constraints) assert.equal(literal, first!.literal, name);
});

test("a name with one character that shows is a name, beside any that do not", async () => {
  for (const name of ["\u200d\u{1f469}", "\u{e0041}a", "\u3164\u3131", "\u2800."]) {
    assert.ok(isVisible(name));
    await database.sql`insert into app.tenants (name, slug) values (${name}, ${`t${name.codePointAt(0)}`})`;
  }
});
