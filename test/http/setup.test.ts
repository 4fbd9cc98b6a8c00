import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedTenant } from "../harness.ts";
import { assertError, createWorld, operator, setupOf } from "./world.ts";

const world = await createWorld();
const { sql } = world.database;
const { create, send } = setupOf(world);
after(() => world.end());

const UNKNOWN = "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10";

const FIELDS = [
  "tenant_id",
  "name",
  "slug",
  "status",
  "settings",
  "created_at",
  "updated_at",
  "registration",
  "members_count",
];

test("GET status answers the fields of the specification, without creating anything", async () => {
  const { status, body } = await send("GET", "status");
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), [
    "setup_needed",
    "has_default_tenant",
    "default_tenant_id",
    "default_tenant_slug",
    "multi_tenant_mode",
    "auth_provider",
    "events_wait_seconds",
    "recommendations",
  ]);
  assert.deepEqual(
    [
      body.setup_needed,
      body.has_default_tenant,
      body.default_tenant_slug,
      body.multi_tenant_mode,
      body.auth_provider,
    ],
    [false, true, "default", true, "jwt"],
  );
  assert.ok(body.recommendations.every((advice: unknown) => typeof advice === "string"));
  assert.match(body.recommendations.join("\n"), /SERVICE_JWT_ISSUER[\s\S]*SERVICE_JWT_AUDIENCE/);
  assert.doesNotMatch(body.recommendations.join("\n"), /weak/);
});

test("POST tenant answers 201 with Location and exactly the fields of the specification", async () => {
  const { status, headers, body } = await create({
    name: "Acme Corp",
    slug: "acme",
    settings: { theme: { dark: true } },
  });
  assert.equal(status, 201);
  assert.deepEqual(
    { ...body, tenant_id: "" },
    {
      tenant_id: "",
      name: "Acme Corp",
      slug: "acme",
      message: "Tenant 'Acme Corp' (acme) created successfully",
      existing: false,
    },
  );
  assert.equal(headers.location, `/api/setup/tenant/${body.tenant_id}`);
  const shown = await world.service.request({ url: String(headers.location), token: await operator() });
  assert.deepEqual(Object.keys(shown.body), FIELDS);
  assert.deepEqual(
    { ...shown.body, created_at: "", updated_at: "" },
    {
      tenant_id: body.tenant_id,
      name: "Acme Corp",
      slug: "acme",
      status: "active",
      settings: { theme: { dark: true } },
      created_at: "",
      updated_at: "",
      registration: null,
      members_count: 0,
    },
  );
  assert.match(shown.body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  assert.equal(shown.headers["content-type"], "application/json; charset=utf-8");
  assertError(await create({ name: "x", slug: "acme" }), 409, {
    error: "Conflict",
    detail: "A tenant with slug 'acme' already exists",
  });
});

test("without sample data a tenant is empty, with it there is a board", async () => {
  const boards = async (slug: string, include?: boolean) => {
    const { body } = await create({
      name: slug,
      slug,
      ...(include !== undefined && { include_sample_data: include }),
    });
    return (await sql`select from app.boards where tenant_id = ${body.tenant_id}`).count;
  };
  assert.deepEqual(
    [await boards("bare"), await boards("bare-too", false), await boards("sampled", true)],
    [0, 0, 1],
  );
});

test("PUT changes what is given, answers the whole tenant with a new ETag, and honours If-Match", async () => {
  const id = await seedTenant(sql, { slug: "put", name: "Put" });
  const put = (body: unknown, headers = {}) => send("PUT", `tenant/${id}`, body, headers);
  const read = await send("GET", `tenant/${id}`);
  const nothing = await put({});
  assert.deepEqual([nothing.status, nothing.body, nothing.headers.etag], [200, read.body, read.headers.etag]);
  const renamed = await put({ name: "Renamed" }, { "if-match": read.headers.etag });
  assert.deepEqual({ ...renamed.body, updated_at: "" }, { ...read.body, name: "Renamed", updated_at: "" });
  assert.ok(renamed.body.updated_at > read.body.updated_at);
  assert.notEqual(renamed.headers.etag, read.headers.etag);
  const stale = { error: "Precondition failed", detail: "The tenant has changed since it was read" };
  for (const match of [String(read.headers.etag), `W/${String(renamed.headers.etag)}`])
    assertError(await put({ name: "x" }, { "if-match": match }), 412, stale);
  const noTag = {
    error: "Precondition failed",
    detail: "If-Match holds no ETag: send it as it was answered, in its quotes",
  };
  for (const match of [String(renamed.headers.etag).slice(1, -1), "garbage", ""])
    assertError(await put({ name: "x" }, { "if-match": match }), 412, noTag);
  for (const match of ["*", `"x", ${String(renamed.headers.etag)}`])
    assert.equal((await put({}, { "if-match": match })).status, 200);
  const settled = await put({ settings: { a: 1 }, slug: "put-2" });
  assert.deepEqual(
    [settled.body.settings, settled.body.slug, settled.body.name],
    [{ a: 1 }, "put-2", "Renamed"],
  );
  assert.deepEqual((await put({ settings: {} })).body.settings, {});
  assert.equal((await put({ slug: "put-2" })).status, 200, "its own slug is not taken");
  await seedTenant(sql, { slug: "put-taken" });
  assertError(await put({ slug: "put-taken" }), 409, {
    error: "Conflict",
    detail: "A tenant with slug 'put-taken' already exists",
  });
  for (const field of ["name", "slug", "settings"])
    assert.equal((await put({ [field]: null })).status, 422, field);
  for (const field of ["status", "tenant_id", "created_at"]) {
    assertError(await put({ [field]: "x" }), 422, {
      error: "Validation failed",
      detail: `${field} is not a known field`,
      errors: [{ field, message: "is not a known field" }],
    });
  }
  assert.equal((await put(undefined)).status, 422);
});

test("of parallel PUTs to one slug exactly one wins, and the others read the conflict of the specification", async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, (_, i) => seedTenant(sql, { slug: `to-${i}` })));
  const answers = await Promise.all(ids.map(id => send("PUT", `tenant/${id}`, { slug: "wanted" })));
  assert.equal(answers.filter(answer => answer.status === 200).length, 1);
  for (const answer of answers.filter(one => one.status !== 200))
    assertError(answer, 409, { error: "Conflict", detail: "A tenant with slug 'wanted' already exists" });
});

test("an unknown or malformed id is 404 in the words of the specification, for every method", async () => {
  const known = await seedTenant(sql, { slug: "known" });
  for (const id of [
    UNKNOWN,
    "nil",
    `%7B${known}%7D`,
    known.replaceAll("-", ""),
    "Connection%20terminated",
    "timeout%20exceeded%20when%20trying%20to%20connect",
    "ECONNREFUSED",
    "a%0Ab",
    "%F0%9F%99%82",
    `${UNKNOWN}0`,
  ]) {
    const gone = { error: "Tenant not found", detail: `Tenant with ID ${decodeURIComponent(id)} not found` };
    assertError(await send("GET", `tenant/${id}`), 404, gone);
    assertError(await send("PUT", `tenant/${id}`, { name: "x" }), 404, gone);
    assertError(await send("DELETE", `tenant/${id}`), 404, gone);
    for (const move of ["approve", "reject", "suspend", "resume"])
      assertError(await send("POST", `tenant/${id}/${move}`), 404, gone);
  }
  assert.equal((await send("GET", "tenant/%00")).status, 404);
});

test("DELETE answers the deleted tenant once; a JSON content type without a body is fine", async () => {
  const { body } = await create({ name: "Doomed 'quoted'", slug: "doomed", include_sample_data: true });
  const answer = await send("DELETE", `tenant/${body.tenant_id}`, undefined, {
    "content-type": "application/json",
  });
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.body, {
    message: "Tenant 'Doomed 'quoted'' (doomed) deleted successfully",
    tenant_id: body.tenant_id,
    warning:
      "All related data has been permanently deleted: api keys, board members, boards, credit transactions, generations, invitations, media, provider configs, users",
  });
  assertError(await send("DELETE", `tenant/${body.tenant_id}`), 404, {
    error: "Tenant not found",
    detail: `Tenant with ID ${body.tenant_id} not found`,
  });
});

test("the default tenant can be deleted in multi-tenant mode, and status says so", async () => {
  const own = await createWorld();
  try {
    const ask = async (method: "GET" | "DELETE", url: string) =>
      own.service.request({ method, url: `/api/setup/${url}`, token: await operator() });
    const { body } = await ask("GET", "status");
    assert.equal((await ask("DELETE", `tenant/${body.default_tenant_id}`)).status, 200);
    const { body: after } = await ask("GET", "status");
    assert.deepEqual(
      [after.has_default_tenant, after.default_tenant_id, after.default_tenant_slug, after.setup_needed],
      [false, null, null, false],
    );
  } finally {
    await own.end();
  }
});

test("approve, reject, suspend and resume answer the tenant, and 409 when they do not apply", async () => {
  const id = await seedTenant(sql, { slug: "waits", status: "pending" });
  const move = (name: string, of = id) => send("POST", `tenant/${of}/${name}`);
  assertError(await move("suspend"), 409, { error: "Conflict", detail: "The tenant is pending, not active" });
  const approved = await move("approve");
  assert.deepEqual(
    [approved.status, Object.keys(approved.body), approved.body.status],
    [200, FIELDS, "active"],
  );
  assertError(await move("approve"), 409, { error: "Conflict", detail: "The tenant is active, not pending" });
  assertError(await move("reject"), 409, { error: "Conflict", detail: "The tenant is active, not pending" });
  assert.equal((await move("suspend")).body.status, "suspended");
  assertError(await move("suspend"), 409, {
    error: "Conflict",
    detail: "The tenant is suspended, not active",
  });
  assert.equal((await move("resume")).body.status, "active");
  const other = await seedTenant(sql, { slug: "rejected", status: "pending" });
  const rejected = await move("reject", other);
  assert.deepEqual([rejected.status, Object.keys(rejected.body)], [200, ["message", "tenant_id", "warning"]]);
  assert.equal((await send("GET", `tenant/${other}`)).status, 404);
});
