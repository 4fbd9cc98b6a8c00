import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, createWorld, operator, person } from "./world.ts";

const world = await createWorld();
await world.database.sql`
  insert into app.tenants (name, slug, status, created_at, updated_at)
  select case when i % 5 = 0 then '100% Wool' else 'Müller & Söhne' end || i, 's-' || i, (array['active', 'pending', 'suspended'])[1 + i % 3], t, t
  from generate_series(1, 41) i, lateral (select timestamptz '2026-01-01' + (i / 10) * interval '1 microsecond') x (t)`;
after(() => world.end());

const list = async (query = "") =>
  world.service.request({ url: `/api/setup/tenants${query}`, token: await operator() });
const next = (link: unknown) => /^<\/api\/setup\/tenants(\?[^>]+)>; rel="next"$/.exec(String(link))?.[1];

test("the list has the fields of the specification, newest first, without a Link when it is whole", async () => {
  const { status, headers, body } = await list();
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), ["tenants", "total_count"]);
  assert.deepEqual([body.total_count, body.tenants.length, headers.link], [42, 42, undefined]);
  assert.deepEqual(Object.keys(body.tenants[0]), [
    "tenant_id",
    "name",
    "slug",
    "status",
    "settings",
    "created_at",
    "updated_at",
  ]);
  assert.equal(body.tenants[0].slug, "default");
  assert.deepEqual(
    [headers["content-type"], headers["cache-control"], headers["x-content-type-options"]],
    ["application/json; charset=utf-8", "private, no-cache", "nosniff"],
  );
});

test("a client that follows Link sees every tenant once, among equal times too, and keeps its filter", async () => {
  for (const query of [
    "?limit=7",
    "?limit=1",
    "?limit=6&status=pending",
    "?limit=4&search=100%25",
    "?search=m%C3%BCLLer%20%26&limit=5",
  ]) {
    const filter = new URLSearchParams(query);
    filter.set("limit", "1000");
    const whole = (await list(`?${filter.toString()}`)).body;
    const seen: string[] = [];
    for (let at: string | undefined = query; at; ) {
      const { body, headers }: Awaited<ReturnType<typeof list>> = await list(at);
      assert.equal(body.total_count, whole.total_count);
      seen.push(...body.tenants.map((tenant: { tenant_id: string }) => tenant.tenant_id));
      at = next(headers.link);
      assert.equal(headers.link === undefined, at === undefined, String(headers.link));
    }
    assert.deepEqual(
      seen,
      whole.tenants.map((tenant: { tenant_id: string }) => tenant.tenant_id),
      query,
    );
    assert.ok(seen.length > 5);
  }
});

test("status and search filter together, search has no wildcards, and total_count counts the matches", async () => {
  const found = async (query: string) => {
    const { body } = await list(`${query}&limit=3`);
    return body.total_count as number;
  };
  const [row] = await world.database.sql`
    select count(*)::int as all, count(*) filter (where status = 'pending')::int as pending, count(*) filter (where name like '100%')::int as wool,
      count(*) filter (where name like '100%' and status = 'pending')::int as both from app.tenants`;
  assert.deepEqual(
    [
      await found("?status=pending"),
      await found("?search=100%25"),
      await found("?search=100%25&status=pending"),
      await found("?search="),
      await found("?search=&status=pending"),
    ],
    [row!.pending, row!.wool, row!.both, row!.all, row!.pending],
  );
  assert.deepEqual(
    await Promise.all(
      ["?search=%25%25", "?search=_", "?search=%5C", "?search=S-1", "?search=mu%CC%88ller"].map(found),
    ),
    [0, 0, 0, 11, 33],
  );
});

test("a query that breaks a rule is 422 with the parameter's name", async () => {
  for (const [query, field] of [
    ["?limit=0", "limit"],
    ["?limit=1001", "limit"],
    ["?limit=-1", "limit"],
    ["?limit=1.5", "limit"],
    ["?limit=", "limit"],
    ["?limit=x", "limit"],
    ["?limit=99999999999999999999", "limit"],
    ["?limit=Infinity", "limit"],
    ["?limit=-Infinity", "limit"],
    ["?limit=1e309", "limit"],
    [`?limit=${"9".repeat(400)}`, "limit"],
    ["?limit=1e2", "limit"],
    ["?limit=0x10", "limit"],
    ["?limit=+5", "limit"],
    ["?limit=5%20", "limit"],
    ["?limit=1&limit=2", "limit"],
    ["?status=gone", "status"],
    ["?status=", "status"],
    [`?search=${"x".repeat(256)}`, "search"],
    ["?search=%00", "search"],
    ["?cursor=", "cursor"],
    ["?cursor=not+ours", "cursor"],
    ["?cursor=bm90IG91cnM", "cursor"],
    ["?page=2", "page"],
    ["?__proto__=1", "__proto__"],
  ] as const) {
    const { status, body } = await list(query);
    assert.deepEqual([status, body.error, body.errors?.[0].field], [422, "Validation failed", field], query);
  }
});

test("the message for a parameter says in words what it may be", async () => {
  for (const [query, field, message] of [
    ["?status=gone", "status", "must be one of active, pending, suspended, deleted"],
    ["?limit=ten", "limit", "must be an integer"],
    ["?status=active&status=pending", "status", "must be given only once"],
    [`?search=${"x".repeat(256)}`, "search", "must have at most 255 characters"],
    ["?search=%00", "search", "contains a NUL character or half of a surrogate pair"],
    ["?cursor=not+ours", "cursor", "was not made by this service"],
  ])
    assert.deepEqual((await list(query!)).body.errors, [{ field, message }]);
});

test("an invented cursor is refused with the usual body", async () => {
  const message = "was not made by this service";
  assertError(await list("?cursor=bm90IG91cnM"), 422, {
    error: "Validation failed",
    detail: "The cursor was not made by this service",
    errors: [{ field: "cursor", message }],
  });
});

test("a question mark in a search stays in it on the next page", async () => {
  await world.database.sql`
    insert into app.tenants (name, slug) values ('What? now', 'what-1'), ('What? then', 'what-2'), ('Whatever', 'what-3')`;
  const first = await list("?search=what?&limit=1");
  assert.equal(first.body.total_count, 2);
  const second = await list(next(first.headers.link));
  const slugs = [first, second].flatMap(({ body }) => body.tenants.map((one: { slug: string }) => one.slug));
  assert.deepEqual(new Set(slugs), new Set(["what-1", "what-2"]));
  assert.equal(slugs.length, 2);
  assert.equal(second.headers.link, undefined);
});

test("a page of large rows is shorter, has a Link, and a client that follows it sees every row once", async () => {
  const { sql } = world.database;
  const pages = async (url: string, token: string, list: string) => {
    const sizes: number[] = [];
    const seen: string[] = [];
    for (let at: string | undefined = url; at; ) {
      const { status, body, headers } = await world.service.request({ url: at, token });
      assert.equal(status, 200);
      sizes.push(Buffer.byteLength(JSON.stringify(body)));
      seen.push(...body[list].map((one: { title?: string; slug?: string }) => one.title ?? one.slug));
      at = /^<([^>]+)>; rel="next"$/.exec(String(headers.link))?.[1];
    }
    assert.ok(Math.max(...sizes) <= 2 * 1024 * 1024 + 200, String(sizes));
    assert.deepEqual([sizes.length > 1, new Set(seen).size], [true, seen.length]);
    return seen.length;
  };
  const [tenant] = await sql`insert into app.tenants (name, slug) values ('Wide', 'wide') returning id`;
  await sql`
    with u as (insert into app.users (tenant_id, auth_provider, auth_subject) values (${tenant!.id}, 'jwt', 'wendy') returning tenant_id, id)
    insert into app.boards (tenant_id, owner_id, title, description, created_at, updated_at)
    select tenant_id, id, 't' || n, repeat(case when n % 2 = 0 then 'ä' else '\n' end, 10000), at, at
    from u, generate_series(1, 250) n, lateral (select timestamptz '2026-01-01' - n / 60 * interval '1 s') x (at)`;
  const wendy = await person("wendy", "wide");
  assert.equal(await pages("/api/boards?limit=1000", wendy, "boards"), 250);
  const { body, headers } = await world.service.request({ url: "/api/boards?limit=50", token: wendy });
  assert.deepEqual([body.boards.length, typeof headers.link], [50, "string"]);
  await sql`
    insert into app.tenants (name, slug, settings, created_at, updated_at)
    select 'Heavy', 'heavy-' || n, jsonb_build_object('x', repeat('y', 900000)), at, at
    from generate_series(1, 7) n, lateral (select timestamptz '2026-02-01') x (at)`;
  assert.equal(await pages("/api/setup/tenants?limit=1000&search=Heavy", await operator(), "tenants"), 7);
  await sql`delete from app.tenants where slug = 'wide' or slug like 'heavy-%'`;
});

test("texts and JSON beyond their size are refused", async () => {
  const { sql } = world.database;
  const [tenant] = await sql`insert into app.tenants (name, slug) values ('Sized', 'sized') returning id`;
  const settings = (size: number) =>
    sql`update app.tenants set settings = jsonb_build_object('x', repeat('y', ${size})) where id = ${tenant!.id}`;
  await settings(1_048_576 - 9);
  await assert.rejects(settings(1_048_576 - 8), /tenants_settings_size/);
  // 1e308 is six characters of a body and three hundred of jsonb.
  const { status } = await world.service.request({
    method: "PUT",
    url: `/api/setup/tenant/${tenant!.id}`,
    token: await operator(),
    body: `{"settings": {"x": [${"1e308,".repeat(20_000)}1]}}`,
  });
  assert.equal(status, 422);
  await sql`delete from app.tenants where id = ${tenant!.id}`;
});

test("a page of boards ends where it should, whatever the boards' texts look like", async () => {
  const id = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
  await world.database.sql`
    with t as (insert into app.tenants (name, slug) values ('Acme', 'acme') returning id),
    u as (insert into app.users (tenant_id, auth_provider, auth_subject) select id, 'jwt', 'ann' from t returning tenant_id, id)
    insert into app.boards (tenant_id, id, owner_id, title, description, created_at, updated_at)
    select u.tenant_id, ('00000000-0000-4000-8000-00000000000' || n)::uuid, u.id, 'Ä "' || n || '"\\',
           case when n % 2 = 0 then 'x"},{"board_id":"00000000-0000-4000-8000-00000000000' || n + 1 || '","title":"' || chr(10) end, t, t
    from u, generate_series(1, 5) n, lateral (select timestamptz '2026-01-01 12:00:00.5+05' - n / 2 * interval '1 s' as t) at`;
  const token = await person("ann", "acme");
  const page = async (url: string) => world.service.request({ url, token });
  const whole = (await page("/api/boards")).body.boards;
  assert.deepEqual(
    whole.map((board: { board_id: string }) => board.board_id),
    [1, 2, 3, 4, 5].map(id),
  );
  assert.deepEqual(
    [whole[1].title, whole[1].description, whole[0].description, whole[0].created_at],
    ['Ä "2"\\', `x"},{"board_id":"${id(3)}","title":"\n`, null, "2026-01-01T07:00:00.500000Z"],
  );
  for (const limit of [1, 2, 3, 4, 5]) {
    const sizes: number[] = [];
    const seen: object[] = [];
    for (let at: string | undefined = `/api/boards?limit=${limit}`; at; ) {
      const { body, headers }: Awaited<ReturnType<typeof page>> = await page(at);
      sizes.push(body.boards.length);
      seen.push(...body.boards);
      at = /^<([^>]+)>; rel="next"$/.exec(String(headers.link))?.[1];
    }
    assert.deepEqual(seen, whole);
    assert.deepEqual([Math.max(...sizes), sizes.length], [limit, Math.ceil(5 / limit)]);
  }
  await world.database
    .sql`delete from app.boards where tenant_id = (select id from app.tenants where slug = 'acme')`;
  assert.deepEqual((await page("/api/boards")).body, { boards: [] });
});
