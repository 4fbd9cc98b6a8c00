import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedTenant } from "../harness.ts";
import { assertError, createWorld, operator, setupOf } from "./world.ts";

const world = await createWorld();
const { sql } = world.database;
const { create } = setupOf(world);
after(() => world.end());

test("names are stored in NFC; slugs and names have 1 to 255 characters, counted as code points", async () => {
  const long = "🙂".repeat(255);
  const { status, body } = await create({ name: long, slug: "s".repeat(255) });
  assert.deepEqual([status, body.name], [201, long]);
  assert.equal((await create({ name: "Mu\u0308ller", slug: "0" })).body.name, "M\u00fcller");
  assert.equal((await create({ name: "e\u0301".repeat(255), slug: "-" })).status, 201);
});

const refused: [what: string, body: unknown, field: string, message: string][] = [
  ["no name", { slug: "x" }, "name", "is required"],
  ["no slug", { name: "x" }, "slug", "is required"],
  [
    "a name of white space",
    { name: " \t\u3000\u00a0", slug: "x" },
    "name",
    "must have a character that shows",
  ],
  ["a name of U+0085", { name: "\u0085", slug: "x" }, "name", "must have a character that shows"],
  [
    "a name of format characters",
    { name: "\u200b\u2060", slug: "x" },
    "name",
    "must have a character that shows",
  ],
  ["a name of fillers", { name: "\u3164\u2800", slug: "x" }, "name", "must have a character that shows"],
  ["a name of tags", { name: "\u{e0041}", slug: "x" }, "name", "must have a character that shows"],
  ["an empty name", { name: "", slug: "x" }, "name", "must not be empty"],
  ["an empty slug", { name: "x", slug: "" }, "slug", "must not be empty"],
  ["a long name", { name: "x".repeat(256), slug: "x" }, "name", "must have at most 255 characters"],
  ["a number for a name", { name: 5, slug: "x" }, "name", "must be a string"],
  ["null for a name", { name: null, slug: "x" }, "name", "must be a string"],
  [
    "capitals in a slug",
    { name: "x", slug: "Acme" },
    "slug",
    "must contain only lowercase letters, numbers and hyphens",
  ],
  [
    "a line end after a slug",
    { name: "x", slug: "acme\n" },
    "slug",
    "must contain only lowercase letters, numbers and hyphens",
  ],
  ["a slug in a list", { name: "x", slug: ["acme"] }, "slug", "must be a string"],
  ["a long slug", { name: "x", slug: "x".repeat(256) }, "slug", "must have at most 255 characters"],
  ["settings that are a list", { name: "x", slug: "x", settings: [] }, "settings", "must be an object"],
  ["null for settings", { name: "x", slug: "x", settings: null }, "settings", "must be an object"],
  [
    "a text for a boolean",
    { name: "x", slug: "x", include_sample_data: "true" },
    "include_sample_data",
    "must be a boolean",
  ],
  ["an unknown field", { name: "x", slug: "x", colour: 1 }, "colour", "is not a known field"],
  ["a list", [], "body", "must be an object"],
  ["null", null, "body", "must be an object"],
  ["NUL", { name: "a\0b", slug: "x" }, "name", "contains a NUL character"],
  ["half a surrogate pair", { name: "a\ud800", slug: "x" }, "name", "contains half of a surrogate pair"],
  [
    "NUL deep in settings",
    { name: "x", slug: "x", settings: { a: [{ "k\0": 1 }] } },
    "settings.a.0",
    "contains a NUL character",
  ],
];

for (const [what, body, field, message] of refused) {
  test(`POST tenant refuses ${what}, naming the field`, async () => {
    assertError(await create(body as object), 422, {
      error: "Validation failed",
      detail: `${field} ${message}`,
      errors: [{ field, message }],
    });
  });
}

test("every fault of a body is reported, not only the first", async () => {
  const { status, body } = await create({ name: 5, slug: "X", colour: 1 });
  assert.equal(status, 422);
  assert.deepEqual(body.errors.map((error: { field: string }) => error.field).sort(), [
    "colour",
    "name",
    "slug",
  ]);
});

test("numbers, nesting and repeated keys that cannot be stored unchanged are refused", async () => {
  const raw = (settings: string) =>
    operator().then(token =>
      world.service.request({
        method: "POST",
        url: "/api/setup/tenant",
        token,
        body: `{"name":"n","slug":"raw","settings":${settings}}`,
      }),
    );
  const cases: [string, string][] = [
    ['{"n":1e400}', "settings.n is a number out of range"],
    [
      '{"n":12345678901234567890}',
      "body contains the number 12345678901234567890, which cannot be kept exactly",
    ],
    [
      '{"n":0.1234567890123456789}',
      "body contains the number 0.1234567890123456789, which cannot be kept exactly",
    ],
    ['{"n":1e-400}', "body contains the number 1e-400, which cannot be kept exactly"],
    [`{"n":[${"1e308,".repeat(325)}1]}`, "body contains powers of ten of more than 100000 digits together"],
    [`{"n":[${"1e-300,".repeat(400)}1]}`, "body contains powers of ten of more than 100000 digits together"],
    ['{"a":1,"a":2}', "body contains the field settings.a twice"],
    ['{"a":{"b":1,"\\u0062":1}}', "body contains the field settings.a.b twice"],
    [`${'{"a":'.repeat(33)}1${"}".repeat(33)}`, "settings is nested deeper than 32 levels"],
    [`${"[".repeat(5000)}${"]".repeat(5000)}`, "settings is nested deeper than 32 levels"],
  ];
  for (const [settings, detail] of cases) {
    const { status, body } = await raw(settings);
    assert.deepEqual([status, body.detail], [422, detail], settings.slice(0, 40));
  }
  const kept = [
    '{"n":1.0}',
    '{"n":-0}',
    '{"n":1E3}',
    '{"n":9007199254740992e0}',
    '{"n":1e308}',
    `{"n":[${"1e-308,".repeat(324)}1]}`,
    '{"a b":"1e400 \\" 12345678901234567890"}',
    '{"__proto__":{"x":1},"constructor":{"prototype":2}}',
    `${'{"a":'.repeat(32)}1${"}".repeat(32)}`,
  ];
  for (const [i, settings] of kept.entries()) {
    const token = await operator();
    const { status, body } = await world.service.request({
      method: "POST",
      url: "/api/setup/tenant",
      token,
      body: `{"name":"n","slug":"kept-${i}","settings":${settings}}`,
    });
    assert.equal(status, 201, settings);
    const [row] = await world.database
      .sql`select settings::text as text, settings = ${settings}::text::jsonb as same from app.tenants where id = ${body.tenant_id}`;
    assert.equal(row!.same, true, `${settings} became ${row!.text}`);
  }
});

test("an operation without a body refuses one, unless it is an empty object", async () => {
  const url = `/api/setup/tenant/${await seedTenant(sql, { slug: "no-body", status: "suspended" })}/resume`;
  const send = async (body: string) =>
    world.service.request({ method: "POST", url, body, token: await operator(), undocumented: true });
  for (const body of ["null", "5", "[]"]) {
    const { status, body: told } = await send(body);
    assert.deepEqual([status, told.errors], [422, [{ field: "body", message: "must be empty" }]], body);
  }
  assert.equal((await send("{}")).status, 200);
});

test("a media type that is not JSON is 415, a body beyond the limit of its route is 413", async () => {
  const post = async (type: string, body: string) =>
    world.service.request({
      method: "POST",
      url: "/api/setup/tenant",
      token: await operator(),
      headers: { "content-type": type },
      body,
    });
  for (const type of [
    "text/plain",
    "application/xml",
    "application/vnd.api+json",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
    "json",
    "x",
  ])
    assertError(await post(type, "{}"), 415, {
      error: "Unsupported media type",
      detail: "Send the body as application/json",
    });
  assert.equal(
    (await post("application/json; charset=utf-8", JSON.stringify({ name: "n", slug: "charset" }))).status,
    201,
  );
  const large = { error: "Payload too large", detail: "The body is larger than this service takes" };
  for (const size of [128 * 1024 + 1, 10 * 1024 * 1024])
    assertError(await post("application/json", `"${"x".repeat(size - 2)}"`), 413, large);
  assert.equal((await post("application/json", `"${"x".repeat(128 * 1024 - 2)}"`)).status, 422);
});
