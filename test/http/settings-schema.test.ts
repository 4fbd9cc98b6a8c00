/** What a settings schema may cost: the operator chooses it, a tenant's admins choose what it works on. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Row } from "../../src/database/database.ts";
import { loadSettingsSchema, writeValidated } from "../../src/http/settings-schema.ts";
import { isMultiple } from "../../src/http/settings-validator.ts";
import { temporaryFolder } from "../folder.ts";
import { seedTenant, seedUser } from "../harness.ts";
import { assertError, createWorld, person } from "./world.ts";

const writable = { "x-tenant-writable": true };
const node = (key: string) => ({
  allOf: [{ properties: { a: { $ref: "#/$defs/node" } } }, { required: [key] }],
});
const SCHEMA = {
  $defs: { node: { type: "object", anyOf: [node("b"), node("c")] } },
  properties: {
    price: { type: "number", multipleOf: 0.01, ...writable },
    words: { type: "string", pattern: "^(\\w+\\s?)*$", ...writable },
    code: { pattern: "^([a-zA-Z0-9]+)*$", ...writable },
    named: { patternProperties: { "^(a+)+$": { type: "string" } }, ...writable },
    keys: { propertyNames: { pattern: "^(a|a)*$" }, ...writable },
    deep: { $ref: "#/$defs/node", ...writable },
    unique: { uniqueItems: true, ...writable },
    numbers: { items: { type: "string" }, ...writable },
  },
};
const folder = temporaryFolder("schema");
const file = join(folder, "schema.json");
writeFileSync(file, JSON.stringify(SCHEMA));
const world = await createWorld({ SERVICE_TENANT_SETTINGS_SCHEMA: file });
const { sql } = world.database;
const acme = await seedTenant(sql, { slug: "acme" });
await seedUser(sql, acme, { subject: "adam", role: "admin" });
const adam = await person("adam", "acme");
after(async () => {
  await world.end();
});

const patch = (settings: object, more = {}) =>
  world.service.request({
    method: "PATCH",
    url: "/api/tenants/current",
    token: adam,
    body: { settings, ...more },
  });
const TOO_MUCH = "take too long to validate; make them smaller";

test("multipleOf compares decimals, not binary fractions", async () => {
  for (const price of [19.99, 8.69, 143.48, 0.07, 2.22, 0.94, 4.35, 1070468.14, 0, -1.1, 1e21])
    assert.equal((await patch({ price })).status, 200, String(price));
  for (const price of [0.005, 19.999, 1e-7])
    assertError(await patch({ price }), 422, {
      error: "Validation failed",
      detail: "settings.price must be multiple of 0.01",
      errors: [{ field: "settings.price", message: "must be multiple of 0.01" }],
    });
  for (const [value, step, is] of [
    [1e308, 1e-300, true],
    [1.5e-7, 5e-8, true],
    [1.5e-7, 1e-7, false],
    [7, 2, false],
    [1e300, 3, false],
  ] as const)
    assert.equal(isMultiple(value, step), is, `${value} ${step}`);
});

const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) });
for (const [keyword, settings] of Object.entries({
  "pattern with a nested quantifier": { words: `${"a".repeat(60)}!` },
  "pattern with another one": { code: `${"a".repeat(60)}!` },
  patternProperties: { named: { [`${"a".repeat(60)}!`]: "x" } },
  propertyNames: { keys: { [`${"a".repeat(60)}!`]: 1 } },
  "anyOf in a recursive $ref": { deep: deep(29) },
  uniqueItems: { unique: Array.from({ length: 4_900 }, (_, i) => ({ i })) },
}))
  test(`settings never block other requests: ${keyword}`, async () => {
    let longest = 0;
    let done = false;
    const begin = performance.now();
    const answer = patch(settings).finally(() => {
      done = true;
    });
    for (let last = begin; !done; last = performance.now()) {
      await turn();
      longest = Math.max(longest, performance.now() - last);
    }
    const took = performance.now() - begin;
    const { status, body } = await answer;
    assert.ok(longest < took / 2, `blocked for ${longest} of ${took} ms`);
    // So many objects may be compared in time.
    if (keyword === "uniqueItems" && status === 200) return;
    assert.deepEqual([status, body.errors], [422, [{ field: "settings", message: TOO_MUCH }]]);
  });

test("the thread goes on after a validation that took too long", async () => {
  assert.equal((await patch({ words: `${"a".repeat(60)}!` })).status, 422);
  assert.equal((await patch({ words: "all is well" })).status, 200);
});

test("an answer lists a hundred faults at most, with paths that are cut", async () => {
  const many = await patch({ numbers: Array.from({ length: 500 }, () => 1) });
  assert.deepEqual([many.status, many.body.errors.length], [422, 100]);
  assert.deepEqual(many.body.errors[7], { field: "settings.numbers.7", message: "must be string" });
  for (const { field } of (await patch({ ["k".repeat(60_000)]: 1, price: 0.005 })).body.errors)
    assert.ok(field.length <= 210, field);
  const long = await patch({ named: { ["a".repeat(20_000)]: 1 } });
  assert.equal(long.body.errors[0].field, `${`settings.named.${"a".repeat(200)}`.slice(0, 200)}…`);
});

test("a change that leaves the settings as they are does not validate them again", async () => {
  await sql`update app.tenants set settings = ${sql.json({ words: `${"a".repeat(60)}!` })} where id = ${acme}`;
  assert.equal((await patch({}, { name: "Acme 2" })).status, 200);
  assert.equal((await patch({ price: null })).status, 200);
  assert.equal((await patch({ price: 1 })).body.errors[0].message, TOO_MUCH);
  assert.equal((await patch({ words: null })).status, 200);
});

test("a patch gives up after five validations that other changes have overtaken", async () => {
  const schema = loadSettingsSchema(file);
  let writes = 0;
  const overtaken = async () => ({ body: JSON.stringify({ n: ++writes }), status: "unvalidated" }) as Row;
  await assert.rejects(
    writeValidated(schema, () => "acme", overtaken),
    { status: 503 },
  );
  assert.equal(writes, 6);
  await schema.close();
});

test("changes of one tenant's settings take turns", async () => {
  const answers = await Promise.all(Array.from({ length: 4 }, (_, i) => patch({ price: i })));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
});
