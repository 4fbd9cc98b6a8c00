import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase, rolledBack } from "../../harness.ts";
import { call, operator, refused, rowsRead, type Transaction } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

const list = (
  tx: Transaction,
  {
    limit = 1000,
    cursor = null as string | null,
    status = null as string | null,
    search = null as string | null,
    slug = null as string | null,
    order = "-created_at",
  } = {},
) => call(tx, "list_tenants", operator, limit, cursor, status, search, slug, order);
const slugs = ({ body }: { body: { tenants: { slug: string }[] } }) =>
  body.tenants.map(tenant => tenant.slug);

test("pages are sorted newest first, then by id, without gaps or repeats, also among equal times", () =>
  rolledBack(database.sql, async tx => {
    await tx`insert into app.tenants (name, slug, created_at, updated_at)
      select 'n', 's-' || i, t, t
      from generate_series(1, 57) i, lateral (select timestamptz '2026-01-01' + (i / 10) * interval '1 microsecond') x (t)`;
    const rows = await tx`select slug from app.tenants order by created_at desc, id`;
    const expected = rows.map(row => row.slug as string);
    for (const limit of [1, 7, 10, 57, 58, 1000, 11]) {
      // An index scan returns rows in this order by itself.
      if (limit === 11)
        await tx.unsafe("set local enable_indexscan = off; set local enable_bitmapscan = off; discard plans");
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof list>> = await list(tx, { limit, cursor });
        assert.equal(page.body.total_count, 57);
        assert.ok(page.body.tenants.length > 0, "no page is empty");
        seen.push(...slugs(page));
        cursor = page.next_cursor;
        if (cursor) assert.equal(page.body.tenants.length, limit);
      } while (cursor);
      assert.deepEqual(seen, expected);
    }
  }));

test("a page reads only a few of many tenants with the same time, as an import makes them", () =>
  rolledBack(database.sql, async tx => {
    await tx`insert into app.tenants (name, slug, created_at, updated_at)
      select 'n', 's-' || i, '2026-01-01', '2026-01-01' from generate_series(1, 5000) i`;
    await tx`analyze app.tenants`;
    const [late] =
      await tx`select app.cursor_of(created_at, id) as cursor from app.tenants order by id offset 4000 limit 1`;
    for (const cursor of [null, late!.cursor])
      for (const status of [null, "active"]) {
        const rows = await rowsRead(tx, "app.tenants", async () =>
          assert.equal(slugs(await list(tx, { limit: 10, cursor, status })).length, 10),
        );
        assert.ok(rows < 100, `${cursor} ${status}: ${rows} rows`);
      }
  }));

test("a cursor holds its row's time to the microsecond, also in other centuries", () =>
  rolledBack(database.sql, async tx => {
    const rows = await tx`
      select c.at = t as same from unnest(array['0001-01-01 00:00:00.000001Z',
          '2026-01-01 00:00:00.123457Z', '9999-12-31 23:59:59.123457Z']::timestamptz[]) t,
        lateral app.read_cursor(app.cursor_of(t, gen_random_uuid())) c`;
    assert.deepEqual(
      rows.map(row => row.same),
      [true, true, true],
    );
  }));

test("a cursor that this service did not make is refused", () =>
  rolledBack(database.sql, async tx => {
    for (const cursor of [
      "",
      "x",
      "AAAA",
      Buffer.from("1 2").toString("base64url"),
      Buffer.from("99999999999999999999 x").toString("base64url"),
      Buffer.from("9223372036854775807 5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10").toString("base64url"),
      Buffer.from("1").toString("base64url"),
      Buffer.from("1 5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10 ").toString("base64url"),
      Buffer.from("01 5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10").toString("base64url"),
      "____",
      "-".repeat(200),
    ])
      await refused(
        list(tx, { cursor }),
        422,
        "Validation failed",
        "The cursor was not made by this service",
      );
  }));

test("search matches the literal text in name and slug, in any case; the total of a filter is exact", () =>
  rolledBack(database.sql, async tx => {
    const names = ["100% Wool", "100 Wool", "snake_case", "snakeXcase", "back\\slash", "MÜLLER", "a%_\\b"];
    for (const [i, name] of names.entries())
      await tx`insert into app.tenants (name, slug, status, created_at, updated_at)
        values (${name}, ${`slug-${i}`}, ${i % 2 ? "pending" : "active"}, '2026-01-01', '2026-01-01')`;
    const found = async (search: string, status: string | null = null) => {
      const { body } = await list(tx, { search, status });
      assert.equal(body.total_count, body.tenants.length);
      return body.tenants.map((tenant: { name: string }) => tenant.name).sort();
    };
    assert.deepEqual(await found("100%"), ["100% Wool"]);
    assert.deepEqual(await found("%"), ["100% Wool", "a%_\\b"]);
    assert.deepEqual(await found("_"), ["a%_\\b", "snake_case"]);
    assert.deepEqual(await found("\\"), ["a%_\\b", "back\\slash"]);
    assert.deepEqual(await found("%_\\B"), ["a%_\\b"]);
    assert.deepEqual(await found("wOOL"), ["100 Wool", "100% Wool"]);
    // The case of letters outside ASCII depends on the database's locale; C knows none.
    const [locale] = await tx`select lower('Ü') = 'ü' as folds`;
    assert.deepEqual(await found("müller"), locale!.folds ? ["MÜLLER"] : []);
    assert.deepEqual(await found("MÜLLER"), ["MÜLLER"]);
    assert.deepEqual(await found("SLUG-3"), ["snakeXcase"]);
    assert.deepEqual(await found("slug-", "pending"), ["100 Wool", "MÜLLER", "snakeXcase"]);
    assert.deepEqual(await found("nothing"), []);
    const pending = await list(tx, { status: "pending", limit: 2 });
    assert.deepEqual(
      [pending.body.total_count, pending.body.tenants.length, pending.next_cursor !== null],
      [3, 2, true],
    );
  }));

test("each order has pages without gaps or repeats, among equal keys too, and cursors of its own", () =>
  rolledBack(database.sql, async tx => {
    await tx`insert into app.tenants (name, slug, created_at, updated_at)
      select (array['Zoë', 'acme', 'Acme', 'É', '名前', 'x y'])[1 + i % 6] || case when i % 4 = 0 then '' else i::text end, 's-' || i, t, t
      from generate_series(1, 60) i, lateral (select timestamptz '2026-01-01' + (i / 10) * interval '1 microsecond') x (t)`;
    const sql = {
      "-created_at": "created_at desc, id",
      created_at: "created_at, id desc",
      name: "name, id",
      "-name": "name desc, id desc",
    };
    const cursors: Record<string, string> = {};
    for (const [order, by] of Object.entries(sql)) {
      const rows = await tx.unsafe(`select slug from app.tenants order by ${by}`);
      for (const limit of [1, 7, 60]) {
        const seen: string[] = [];
        for (let cursor: string | null | undefined; cursor !== null; ) {
          const page: Awaited<ReturnType<typeof list>> = await list(tx, {
            limit,
            cursor: cursor ?? null,
            order,
          });
          assert.equal(page.body.total_count, 60);
          seen.push(...slugs(page));
          cursor = page.next_cursor;
          if (cursor) cursors[order] = cursor;
        }
        assert.deepEqual(
          seen,
          rows.map(row => row.slug as string),
          `${order} ${limit}`,
        );
      }
    }
    for (const [of, cursor] of Object.entries(cursors))
      for (const order of Object.keys(sql).filter(one => one !== of))
        await assert.rejects(list(tx, { cursor, order }), { code: "TM422" }, `${of} ${order}`);
    const one = await list(tx, { slug: "s-7", order: "name", status: "active", search: "acme" });
    assert.deepEqual([slugs(one), one.body.total_count], [["s-7"], 1]);
    assert.equal((await list(tx, { slug: "s-7", status: "pending" })).body.total_count, 0);
    assert.equal((await list(tx, { slug: "S-7" })).body.total_count, 0);
  }));

test("an index serves each order: a page reads only a few of many tenants", () =>
  rolledBack(database.sql, async tx => {
    await tx`insert into app.tenants (name, slug, created_at, updated_at)
      select 'n' || i / 3000, 's-' || i, t, t from generate_series(1, 5000) i, lateral (select timestamptz '2026-01-01' + (i / 3000) * interval '1 s') x (t)`;
    await tx`analyze app.tenants`;
    for (const order of ["created_at", "name", "-name"]) {
      const [late] = await tx`
        select app.tenant_cursor(${order}, t) as cursor from app.tenants t where slug = 's-2500'`;
      for (const cursor of [null, late!.cursor as string]) {
        const rows = await rowsRead(tx, "app.tenants", async () =>
          assert.equal(slugs(await list(tx, { limit: 10, cursor, order })).length, 10),
        );
        assert.ok(rows < 100, `${order} ${cursor}: ${rows} rows`);
      }
    }
    const rows = await rowsRead(tx, "app.tenants", () => list(tx, { slug: "s-2500" }));
    assert.ok(rows < 20, `slug: ${rows} rows`);
  }));
