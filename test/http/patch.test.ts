/** PATCH of a tenant: merge patches, the schema of settings, and what a tenant's own people may change. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { temporaryFolder } from "../folder.ts";
import { createService, rounds, type Service, seedTenant, seedUser, withService } from "../harness.ts";
import { lockWaiters } from "../until.ts";
import { assertError, createWorld, DENIED, operator, person, setupOf } from "./world.ts";

const ROUNDS = rounds(10, 40);

const folder = temporaryFolder("schema");
const fileOf = (name: string, content: unknown) => {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
};
const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    plan: { enum: ["free", "team"] },
    seats: { type: "integer", minimum: 1, maximum: 50, "x-label": "Seats" },
    theme: {
      type: "object",
      properties: { "a/b~c": { type: "string", minLength: 2 }, dark: {} },
      required: ["dark"],
      unevaluatedProperties: false,
      "x-tenant-writable": true,
    },
    note: { type: "string", "x-tenant-writable": true },
  },
  patternProperties: { "^k\\d+$": {} },
  additionalProperties: false,
};

const world = await createWorld();
const { sql } = world.database;
const { send } = setupOf(world);
const strict = await createService(world.database, {
  SERVICE_TENANT_SETTINGS_SCHEMA: fileOf("schema.json", SCHEMA),
});
after(async () => {
  await strict.close();
  await world.end();
});

const MERGE = { "content-type": "application/merge-patch+json" };
const patch = (id: string, body: unknown, headers = {}) => send("PATCH", `tenant/${id}`, body, headers);
const settingsOf = async (id: string) => {
  const [row] = await sql<{ settings: object; at: string }[]>`
    select settings, updated_at::text as at from app.tenants where id = ${id}`;
  return row!;
};
const by =
  (service: Service) =>
  (token: string, body: unknown, headers = {}) =>
    service.request({ method: "PATCH", url: "/api/tenants/current", token, headers, body });

test("settings are merged, name and slug replaced, and an ETag guards both", async () => {
  const id = await seedTenant(sql, { slug: "merged" });
  const first = await patch(id, { settings: { plan: "team", theme: { dark: true, colour: "red" } } });
  assert.deepEqual([first.status, first.body.settings.theme], [200, { dark: true, colour: "red" }]);
  assert.deepEqual(first.body, (await send("GET", `tenant/${id}`)).body);
  assert.equal(first.headers.etag, (await send("GET", `tenant/${id}`)).headers.etag);
  const second = await patch(
    id,
    { name: "e\u0301", slug: "merged-2", settings: { plan: null, theme: { colour: null, size: [1, null] } } },
    { "if-match": first.headers.etag },
  );
  assert.deepEqual(
    [second.status, second.body.name, second.body.slug, second.body.settings],
    [200, "\u00e9", "merged-2", { theme: { dark: true, size: [1, null] } }],
  );
  assert.equal((await patch(id, { name: "x" }, { "if-match": first.headers.etag })).status, 412);
  assert.equal((await patch(id, { name: "x" }, { "if-match": "*" })).status, 200);
  await seedTenant(sql, { slug: "merge-taken" });
  assertError(await patch(id, { slug: "merge-taken" }), 409, {
    error: "Conflict",
    detail: "A tenant with slug 'merge-taken' already exists",
  });
});

test("what changes nothing keeps updated_at", async () => {
  const id = await seedTenant(sql, { slug: "still" });
  await patch(id, { name: "Still", settings: { a: { b: 1 } } });
  const before = await settingsOf(id);
  for (const body of [
    {},
    { settings: {} },
    { name: "Still" },
    { settings: { a: { b: 1, c: null } }, slug: "still" },
  ])
    assert.equal((await patch(id, body)).status, 200);
  assert.deepEqual(await settingsOf(id), before);
});

test("null for a field, another body, and another media type are refused", async () => {
  const id = await seedTenant(sql, { slug: "refused" });
  for (const field of ["name", "slug", "settings"])
    assert.equal((await patch(id, { [field]: null })).body.errors[0].field, field);
  for (const body of [
    [],
    null,
    "x",
    { settings: [] },
    { settings: "x" },
    { status: "active" },
    { members_count: 1 },
  ])
    assert.equal((await patch(id, JSON.stringify(body))).status, 422, JSON.stringify(body));
  assert.equal((await patch(id, undefined)).status, 422);
  assert.equal((await patch(id, "{", MERGE)).status, 400);
  const owner = await person("olga", "refused");
  await seedUser(sql, id, { subject: "olga", role: "owner" });
  for (const type of ["application/json", "application/json-patch+json", "text/plain"]) {
    for (const answer of [
      await patch(id, {}, { "content-type": type }),
      await by(world.service)(owner, {}, { "content-type": type }),
    ]) {
      assertError(answer, 415, {
        error: "Unsupported media type",
        detail: "Send the body as application/merge-patch+json",
      });
      assert.equal(answer.headers["accept-patch"], "application/merge-patch+json");
    }
  }
  // Elsewhere null would be a value, so a merge patch is no body there.
  assert.equal((await send("PUT", `tenant/${id}`, {}, MERGE)).status, 415);
  assert.equal((await send("POST", "tenant", { name: "x", slug: "xyz" }, MERGE)).status, 415);
  assert.equal((await patch("nil", { name: "x" })).status, 404);
});

test("settings never grow beyond what the table stores", async () => {
  const id = await seedTenant(sql, { slug: "grown" });
  await sql`update app.tenants set settings = jsonb_build_object('x', repeat('y', 1000000)) where id = ${id}`;
  assertError(await patch(id, { settings: { z: "z".repeat(60_000) } }), 422, {
    error: "Validation failed",
    detail: "settings would be larger than 1 MiB",
    errors: [{ field: "settings", message: "would be larger than 1 MiB" }],
  });
  assert.equal((await patch(id, { settings: { x: null, z: "z".repeat(60_000) } })).status, 200);
});

test("parallel patches of different keys lose none, with a schema and without", async () => {
  for (const service of [world.service, strict]) {
    const id = await seedTenant(sql, { slug: `race-${service === strict}` });
    const token = await operator();
    const one = (settings: object) =>
      service.request({ method: "PATCH", url: `/api/setup/tenant/${id}`, token, body: { settings } });
    for (let round = 0; round < ROUNDS; round += 5) {
      const keys = Array.from({ length: 5 }, (_, i) => `k${round + i}`);
      const answers = await Promise.all(keys.map(key => one({ [key]: { n: round } })));
      assert.deepEqual(
        answers.map(({ status }) => status),
        keys.map(() => 200),
      );
    }
    assert.equal(Object.keys((await settingsOf(id)).settings).length, ROUNDS);
    // All of them wait for one lock: a real race, whatever the machine.
    let patches: ReturnType<typeof one>[] = [];
    await sql.begin(async gate => {
      await gate`select from app.tenants where id = ${id} for update`;
      patches = [1, 2, 3].map(n => one({ [`k${n}`]: null, [`k${900 + n}`]: n }));
      await lockWaiters(sql, patches.length);
    });
    for (const { status } of await Promise.all(patches)) assert.equal(status, 200);
    const keys = Object.keys((await settingsOf(id)).settings);
    assert.deepEqual(
      [
        keys.length,
        ["k1", "k2", "k3"].filter(key => keys.includes(key)),
        keys.filter(key => key.startsWith("k90")).length,
      ],
      [ROUNDS, [], 3],
    );
  }
});

test("the schema binds create, PUT and PATCH, and an answer names each field", async () => {
  const token = await operator();
  const ask = (method: "POST" | "PUT" | "PATCH", url: string, body: object) =>
    strict.request({ method, url: `/api/setup/${url}`, token, body });
  const refused = async (answer: ReturnType<typeof ask>, ...errors: [field: string, message: string][]) =>
    assertError(await answer, 422, {
      error: "Validation failed",
      detail: errors.map(one => one.join(" ")).join("; "),
      errors: errors.map(([field, message]) => ({ field, message })),
    });
  const plan: [string, string] = ["settings.plan", "must be one of free, team"];
  await refused(ask("POST", "tenant", { name: "x", slug: "bound", settings: { plan: "gold" } }), plan);
  const { body } = await ask("POST", "tenant", { name: "x", slug: "bound", settings: { plan: "free" } });
  const id = body.tenant_id as string;
  await refused(
    ask("PUT", `tenant/${id}`, { settings: { plan: 1, seats: 0.5, colour: 1 } }),
    ["settings.colour", "is not a known field"],
    plan,
    ["settings.seats", "must be integer"],
    ["settings.seats", "must be >= 1"],
  );
  await refused(
    ask("PATCH", `tenant/${id}`, { settings: { theme: { "a/b~c": "x", odd: 1 } } }),
    ["settings.theme.dark", "is required"],
    ["settings.theme.a/b~c", "must NOT have fewer than 2 characters"],
    ["settings.theme.odd", "is not a known field"],
  );
  const { settings, at } = await settingsOf(id);
  assert.deepEqual(settings, { plan: "free" });
  assert.equal((await ask("PATCH", `tenant/${id}`, { name: "y" })).status, 200);
  assert.notEqual((await settingsOf(id)).at, at);
  // The whole result is validated, also what was there before the schema was.
  await sql`update app.tenants set settings = '{"plan": "gold"}' where id = ${id}`;
  await refused(ask("PATCH", `tenant/${id}`, { settings: { seats: 5 } }), plan);
  assert.equal((await ask("PATCH", `tenant/${id}`, { settings: {} })).status, 200, "what changes nothing");
  assert.equal((await ask("PATCH", `tenant/${id}`, { settings: { seats: 5, plan: "team" } })).status, 200);
});

test("no race between two patches leaves settings that break the schema", async () => {
  const env = {
    SERVICE_TENANT_SETTINGS_SCHEMA: fileOf("either.json", {
      // Each alone is fine.
      not: { required: ["k1", "k2"] },
    }),
  };
  const id = await seedTenant(sql, { slug: "either" });
  await withService(world.database, env, async service => {
    const token = await operator();
    const one = (settings: object) =>
      service.request({ method: "PATCH", url: `/api/setup/tenant/${id}`, token, body: { settings } });
    for (let round = 0; round < ROUNDS / 4; round++) {
      const statuses = (await Promise.all([one({ k1: 1 }), one({ k2: 1 })])).map(({ status }) => status);
      assert.deepEqual(
        statuses.toSorted((a, b) => a - b),
        [200, 422],
      );
      await one({ k1: null, k2: null });
    }
  });
});

test("a tenant's owners and admins change its name and the keys that the schema marks, and nothing else", async () => {
  const id = await seedTenant(sql, { slug: "own", name: "Own" });
  await sql`update app.tenants set settings = '{"plan": "free"}' where id = ${id}`;
  for (const role of ["owner", "admin", "member"]) await seedUser(sql, id, { subject: role, role });
  const [owner, admin, member] = await Promise.all(
    ["owner", "admin", "member"].map(one => person(one, "own")),
  );
  const current = await strict.request({ url: "/api/tenants/current", token: owner! });
  const changed = await by(strict)(
    owner!,
    { name: "Owned", settings: { note: "x" } },
    { "if-match": current.headers.etag },
  );
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  assert.deepEqual(
    [changed.status, changed.body.tenant.name, changed.body.tenant.settings, changed.body.membership],
    [200, "Owned", { plan: "free", note: "x" }, current.body.membership],
  );
  const read = await strict.request({ url: "/api/tenants/current", token: owner! });
  assert.deepEqual([read.body, read.headers.etag], [changed.body, changed.headers.etag]);
  const known = { "if-none-match": read.headers.etag as string };
  assert.equal(
    (await strict.request({ url: "/api/tenants/current", token: owner!, headers: known })).status,
    304,
  );
  // A role that changes is a change of the answer, and no reason to refuse a new name.
  await sql`update app.users set role = 'owner' where tenant_id = ${id} and auth_subject = 'admin'`;
  await sql`update app.users set role = 'admin' where tenant_id = ${id} and auth_subject = 'owner'`;
  assert.equal(
    (await strict.request({ url: "/api/tenants/current", token: owner!, headers: known })).status,
    200,
  );
  assert.equal((await by(strict)(owner!, { name: "Ours" }, { "if-match": read.headers.etag })).status, 200);
  assert.equal((await by(strict)(owner!, { name: "x" }, { "if-match": read.headers.etag })).status, 412);
  assertError(await by(strict)(admin!, { settings: { note: "y", plan: "team", seats: null } }), 422, {
    error: "Validation failed",
    detail: "settings.plan can be changed by operators only; settings.seats can be changed by operators only",
    errors: ["plan", "seats"].map(key => ({
      field: `settings.${key}`,
      message: "can be changed by operators only",
    })),
  });
  assert.deepEqual((await by(strict)(admin!, { settings: { theme: { dark: 1, odd: 1 } } })).body.errors, [
    { field: "settings.theme.odd", message: "is not a known field" },
  ]);
  assert.equal((await by(strict)(admin!, { slug: "mine" })).status, 422);
  // Without a schema: the name only.
  assert.equal((await by(world.service)(admin!, { settings: { note: "y" } })).status, 422);
  assert.equal((await by(world.service)(admin!, { name: "Theirs", settings: {} })).status, 200);
  const refused = { error: "Access denied", detail: "The tenant role admin is required" };
  assertError(await by(strict)(member!, { name: "x" }), 403, refused);
  assertError(await by(strict)(member!, { settings: { plan: "team" } }), 403, refused);
  for (const stranger of [await person("stranger", "own"), await operator({ tenant: "own" })])
    assertError(await by(strict)(stranger, { settings: { plan: "team" } }), 403, DENIED);
  assert.deepEqual((await settingsOf(id)).settings, { plan: "free", note: "x" });
  const [event] = await sql`
    select actor_subject, changed from control.tenant_events where tenant_id = ${id} and actor_subject is not null order by id limit 1`;
  assert.deepEqual([event!.actor_subject, event!.changed], ["owner", ["name", "settings"]]);
});

test("who loses the role or the tenant while the patch waits changes nothing", async () => {
  const id = await seedTenant(sql, { slug: "lost" });
  await seedUser(sql, id, { subject: "ann", role: "admin" });
  await seedUser(sql, id, { subject: "bob", role: "owner" });
  for (const [statement, subject] of [
    ["update app.users set role = 'member' where auth_subject = 'ann'", "ann"],
    ["update app.tenants set status = 'suspended'", "bob"],
  ] as const) {
    const token = await person(subject, "lost");
    let answer: ReturnType<ReturnType<typeof by>> | undefined;
    await sql.begin(async gate => {
      await gate`select from app.tenants where id = ${id} for update`;
      answer = by(world.service)(token, { name: "Taken" });
      await lockWaiters(sql, 1);
      await gate.unsafe(`${statement} ${subject === "ann" ? "and tenant_id" : "where id"} = '${id}'`);
    });
    assert.equal((await answer!).status, 403, subject);
  }
  const [row] = await sql`select name from app.tenants where id = ${id}`;
  assert.equal(row!.name, "lost");
});

test("members and operators read the schema, strangers do not", async () => {
  const id = await seedTenant(sql, { slug: "reads" });
  await seedUser(sql, id, { subject: "rita" });
  const read = (service: Service, token: string) =>
    service.request({ url: "/api/tenants/settings-schema", token });
  for (const token of [await person("rita", "reads"), await operator()]) {
    assert.deepEqual((await read(strict, token)).body, { schema: SCHEMA, writable: ["theme", "note"] });
    assert.deepEqual((await read(world.service, token)).body, { schema: null, writable: [] });
  }
  assertError(await read(strict, await person("sam", "reads")), 403, DENIED);
});

test("a fault in the schema stops the start with a sentence that names the file and the fault", async () => {
  const faults: [content: unknown, said: string | RegExp][] = [
    ["{", /^is not valid JSON: .+/],
    [[], "must hold a JSON object"],
    [{ type: "strin" }, /^is not a JSON Schema 2020-12: schema is invalid: data\/type must be .+/],
    [
      { properties: { a: { typ: "string" } } },
      'is not a JSON Schema 2020-12: strict mode: unknown keyword: "typ"',
    ],
    [
      { $schema: "http://json-schema.org/draft-07/schema#" },
      /^is not a JSON Schema 2020-12: no schema with key or ref/,
    ],
    [{ $ref: "https://other.example/x.json" }, /^is not a JSON Schema 2020-12: can't resolve reference/],
    [{ properties: { a: { pattern: "(" } } }, /^is not a JSON Schema 2020-12: .+/],
    [{ $async: true }, "must not be asynchronous ($async)"],
    [
      { properties: { a: { "x-tenant-writable": "yes" } } },
      /^is not a JSON Schema 2020-12: .*x-tenant-writable.*/,
    ],
    [
      { properties: { a: { properties: { b: { "x-tenant-writable": true } } } } },
      "has x-tenant-writable elsewhere than in a property of the settings, where it has no effect",
    ],
  ];
  for (const [content, said] of faults) {
    const path = fileOf("fault.json", content);
    await assert.rejects(
      createService(world.database, { SERVICE_TENANT_SETTINGS_SCHEMA: path }),
      (error: Error) => {
        const start = `SERVICE_TENANT_SETTINGS_SCHEMA: ${path} `;
        assert.ok(error.message.startsWith(start) && !error.message.includes("\n"), error.message);
        const rest = error.message.slice(start.length);
        if (typeof said === "string") assert.equal(rest, said);
        else assert.match(rest, said);
        return true;
      },
    );
  }
  const gone = join(folder, "gone.json");
  await assert.rejects(createService(world.database, { SERVICE_TENANT_SETTINGS_SCHEMA: gone }), {
    message: `SERVICE_TENANT_SETTINGS_SCHEMA: ${gone} cannot be read (ENOENT)`,
  });
});
