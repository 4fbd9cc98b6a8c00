/** A body costs little before its route knows that it wants it. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { faultOf } from "../../src/values/json-text.ts";
import type { Service } from "../harness.ts";
import { createWorld, operator } from "./world.ts";

const world = await createWorld();
after(() => world.end());

type Method = "POST" | "PUT" | "PATCH";
interface Body {
  content: Record<string, { schema: { $ref?: string } }>;
}
type Document = {
  paths: Record<string, Record<string, { requestBody?: Body }>>;
  components: { schemas: Record<string, { properties?: object }> };
};

/** Every operation that takes a body, by its description. */
function bodies({ app }: Service) {
  const { paths, components } = app.swagger() as unknown as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) => {
      if (!requestBody) return [];
      const [[type, { schema }]] = Object.entries(requestBody.content) as [
        [string, { schema: { $ref?: string } }],
      ];
      const fields = Object.keys(components.schemas[schema.$ref!.split("/").at(-1)!]!.properties ?? {});
      return { url: path.replaceAll(/\{\w+\}/g, "x"), method: method.toUpperCase() as Method, type, fields };
    }),
  );
}

test("a body has 8 KiB at most, and 128 KiB where it has settings or metadata", async () => {
  const all = bodies(world.service);
  assert.ok(all.length > 15);
  let large = 0;
  for (const { url, method, type, fields } of all) {
    const most = fields.some(field => /^(settings|metadata)$/.test(field)) ? 128 * 1024 : 8 * 1024;
    if (most > 8 * 1024) large++;
    for (const size of [most, most + 1]) {
      const body = `{"a":"${"x".repeat(size - 8)}"}`;
      const { status } = await world.service.request({
        method,
        url,
        token: await operator(),
        headers: { "content-type": type },
        body,
        undocumented: true,
      });
      assert.equal(status === 413, size > most, `${method} ${url}: ${size} bytes are ${status}`);
    }
  }
  assert.equal(large, 5);
});

test("a body has ten thousand values at most", async () => {
  const send = async (settings: object) =>
    world.service.request({
      method: "POST",
      url: "/api/setup/tenant",
      token: await operator(),
      body: { name: "n", slug: "many", settings },
    });
  const { status, body } = await send({ a: Array.from({ length: 9_996 }, () => 1) });
  assert.deepEqual(
    [status, body.errors],
    [422, [{ field: "body", message: "contains more than 10000 values" }]],
  );
  assert.equal((await send({ a: Array.from({ length: 9_995 }, () => 1) })).status, 201);
});

test("one pass over a text finds what JSON.parse or Postgres would change", () => {
  for (const [text, field, message] of [
    ['{"a":{"b":[1,{"c":"\\u0000"}]}}', "a.b.1.c", "contains a NUL character"],
    ['{"a":[0,"\\ud800"]}', "a.1", "contains half of a surrogate pair"],
    ['{"a":[{"\\u0000":1}]}', "a.0", "contains a NUL character"],
    ['{"\\udc00":1}', "body", "contains half of a surrogate pair"],
    ["[[],{},1e400]", "2", "is a number out of range"],
    ['{"a":1,"\\u0061":2}', "body", "contains the field a twice"],
    ['{"a":{"b":1,"c":{},"b":1}}', "body", "contains the field a.b twice"],
    [
      "[0.1,12345678901234567890]",
      "body",
      "contains the number 12345678901234567890, which cannot be kept exactly",
    ],
    [`{"a":${"[".repeat(33)}${"]".repeat(33)}}`, "a", "is nested deeper than 32 levels"],
    [`[${"1e300,".repeat(400)}1]`, "body", "contains powers of ten of more than 100000 digits together"],
  ] as const)
    assert.deepEqual(faultOf(text), { field, message }, text.slice(0, 100));
  for (const text of [
    '{"a":{"b":1},"b":{"a":[{"a":1},{"a":1}]}}',
    '{"a":"\\ud83d\\ude42 \\" , { } [ ] : \\\\","b":"\\\\"}',
    '"{\\"a\\":1,\\"a\\":2}"',
    "[1.50,-0,1e2,0.1e-7,true,false,null,{},[]]",
    '{"__proto__":1,"":{"":2}}',
    `${"[".repeat(33)}${"]".repeat(33)}`,
    " 5 ",
  ])
    assert.equal(faultOf(text), undefined, text);
});
