/** Deleting a tenant: the dry run, the window in which it can be restored, and the reason. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createService, seedTenant, seedUser, type TestRequest } from "../harness.ts";
import { assertError, createWorld, DENIED, operator, person, setupOf } from "./world.ts";

/** With thirty days to restore a tenant; `plain` has none, as without the variable. */
const world = await createWorld({ SERVICE_TENANT_DELETION_GRACE: "30", SERVICE_MAX_TENANTS_PER_USER: "2" });
const { database } = world;
const { sql } = database;
const plain = await createService(database);
const { create, send } = setupOf(world);
after(async () => {
  await plain.close();
  await world.end();
});

async function made(slug: string) {
  const { body } = await create({ name: `The ${slug}`, slug, include_sample_data: true });
  await seedUser(sql, body.tenant_id, { subject: "ann", role: "owner" });
  return body.tenant_id as string;
}
const ask = async (tenant: string, url: string, rest: Omit<TestRequest, "url"> = {}) =>
  world.service.request({ url, token: await person("ann", tenant), ...rest });

test("a dry run answers the counts with the tenant's ETag, changes nothing, and counts as a read", async () => {
  const id = await made("rehearsed");
  const { body: before, headers } = await send("GET", `tenant/${id}`);
  const token = await operator();
  for (const service of [world.service, plain]) {
    const answer = await service.request({
      method: "DELETE",
      url: `/api/setup/tenant/${id}?dry_run=true`,
      token,
    });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.etag, headers.etag);
    assert.equal(answer.headers["x-ratelimit-limit"], "100");
    const { rows, total_rows, ...rest } = answer.body;
    assert.deepEqual(rest, { tenant_id: id, dry_run: true });
    const of = (relation: string) => rows.find((row: { relation: string }) => row.relation === relation).rows;
    assert.deepEqual(["app.tenants", "app.users", "app.generations"].map(of), [1, 2, 3]);
    assert.equal(
      total_rows,
      rows.reduce((sum: number, { rows }: { rows: number }) => sum + rows, 0),
    );
  }
  assert.deepEqual((await send("GET", `tenant/${id}`)).body, before);
  assert.equal((await ask("rehearsed", "/api/boards")).status, 200);
  const real = await plain.request({ method: "DELETE", url: `/api/setup/tenant/${id}?dry_run=false`, token });
  assert.deepEqual([real.status, real.headers["x-ratelimit-limit"]], [200, "5"]);
});

test("a dry run is refused as the deletion is, and counts as a read then too", async () => {
  const id = await seedTenant(sql, { slug: "guarded" });
  const at = `tenant/${id}?dry_run=true`;
  assertError(await send("DELETE", at, undefined, { "if-match": '"stale"' }), 412, {
    error: "Precondition failed",
    detail: "The tenant has changed since it was read",
  });
  const unknown = "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10";
  assertError(await send("DELETE", `tenant/${unknown}?dry_run=true`), 404, {
    error: "Tenant not found",
    detail: `Tenant with ID ${unknown} not found`,
  });
  const member = await world.service.request({
    method: "DELETE",
    url: `/api/setup/${at}`,
    token: await person("ann", "guarded"),
  });
  assertError(member, 403, DENIED);
  for (const [query, limit] of [
    ["dry_run=TRUE", "100"],
    ["dry_run=1", "100"],
    ["dry_run=", "100"],
    ["dry_run=true&dry_run=false", "100"],
    ["dry_run=true&reason=", "100"],
    ["dry_run=false&reason=", "5"],
    ["purge=1", "5"],
    ["reason=", "5"],
    ["dry=true", "5"],
  ]) {
    const answer = await send("DELETE", `tenant/${id}?${query}`);
    assert.deepEqual([answer.status, answer.headers["x-ratelimit-limit"]], [422, limit], query);
  }
  assert.equal((await send("GET", `tenant/${id}`)).status, 200);
});

test("with a window a deletion keeps the tenant: its people are refused, its slug is taken, lists leave it out", async () => {
  const id = await made("kept");
  const suspended = await made("halted");
  await send("POST", `tenant/${suspended}/suspend`, { reason: "unpaid" });
  const deleted = await send(
    "DELETE",
    `tenant/${id}?reason=${encodeURIComponent("Contract ended – ticket 4711")}`,
  );
  assert.equal(deleted.status, 200);
  const { body: shown, headers } = await send("GET", `tenant/${id}`);
  assert.deepEqual(
    [shown.status, Date.parse(shown.purge_at) - Date.parse(shown.deleted_at)],
    ["deleted", 30 * 86_400_000],
  );
  assert.ok(deleted.body.warning.includes(`kept until ${shown.purge_at}`), deleted.body.warning);
  assert.deepEqual(Object.keys(deleted.body), ["message", "tenant_id", "warning"]);

  const refusals = await Promise.all(
    ["kept", "halted"].map(async slug => {
      const { status, body, headers } = await ask(slug, "/api/tenants/current");
      const { date: _date, "x-request-id": _id, ...rest } = headers;
      return { status, body, rest };
    }),
  );
  assert.deepEqual(refusals[0], refusals[1]);
  assert.deepEqual(refusals[0]!.body, DENIED);

  const other = await seedTenant(sql, { slug: "another" });
  for (const taken of [
    await create({ name: "x", slug: "kept" }),
    await send("PUT", `tenant/${other}`, { slug: "kept" }),
  ])
    assertError(taken, 409, {
      error: "Conflict",
      detail: `The slug 'kept' is that of the deleted tenant ${id}: rename that tenant, or delete it for good with ?purge=true`,
    });
  const chosen = await ask("lobby", "/api/tenants/register", {
    method: "POST",
    token: await person("bea", "lobby"),
    body: { organization_name: "Kept", organization_slug: "kept", admin_email: "bea@kept.example" },
  });
  assertError(chosen, 409, { error: "Conflict", detail: "A tenant with slug 'kept' already exists" });
  const registered = await ask("lobby", "/api/tenants/register", {
    method: "POST",
    token: await person("bea", "lobby"),
    body: { organization_name: "Kept", admin_email: "bea@kept.example" },
  });
  assert.deepEqual([registered.status, registered.body.tenant_slug], [201, "kept-2"]);

  const listed = async (query: string) => {
    const { body } = await send("GET", `tenants?search=kept${query}`);
    const slugs = body.tenants.map(({ slug }: { slug: string }) => slug);
    assert.equal(body.total_count, slugs.length);
    return slugs;
  };
  assert.deepEqual([await listed(""), await listed("&status=deleted")], [["kept-2"], ["kept"]]);
  const all = (await send("GET", "tenants?limit=1000")).body;
  assert.ok(all.tenants.every(({ tenant_id }: { tenant_id: string }) => tenant_id !== id));
  assert.equal(all.total_count, all.tenants.length);
  assert.equal((await send("GET", "tenants?status=deleted")).body.tenants[0].purge_at, shown.purge_at);
  const mine = await ask("halted", "/api/tenants/mine");
  assert.deepEqual(
    mine.body.tenants.map(({ slug }: { slug: string }) => slug),
    ["halted"],
  );
  const { body: why } = await send("GET", "explain?tenant=kept&subject=ann");
  assert.deepEqual([why.allowed, why.because], [false, "The tenant is deleted"]);
  const { body: metrics } = await world.service.request({ url: "/metrics", undocumented: true });
  assert.match(metrics, /tms_tenants\{status="deleted"\} \d/);

  for (const move of ["approve", "reject", "suspend", "resume"])
    assert.equal((await send("POST", `tenant/${id}/${move}`)).status, 409, move);
  const restored = await send("POST", `tenant/${id}/restore`, undefined, {
    "if-match": String(headers.etag),
  });
  assert.deepEqual([restored.status, restored.body.status], [200, "active"]);
  assert.equal((await send("GET", `tenant/${id}`)).headers.etag, restored.headers.etag);
  assert.equal((await ask("kept", "/api/tenants/current")).status, 200);
  const events = await sql<{ event: string; reason: string | null }[]>`
    select event, reason from control.tenant_events where tenant_id in (${id}, ${suspended}) and event <> 'tenant.created' order by id`;
  assert.deepEqual(
    [...events].map(({ event, reason }) => [event, reason]),
    [
      ["tenant.suspended", "unpaid"],
      ["tenant.deletion_scheduled", "Contract ended – ticket 4711"],
      ["tenant.restored", null],
    ],
  );
  assertError(await send("POST", `tenant/${id}/restore`), 409, {
    error: "Conflict",
    detail: "The tenant is active, not deleted",
  });
});

test("a tenant shows when, why and by whom it was suspended until it is resumed, also while it is deleted", async () => {
  const id = await made("halting");
  const token = await operator();
  const reason = "Unpaid since May";
  const post = (move: string, body?: object) =>
    world.service.request({ method: "POST", url: `/api/setup/tenant/${id}/${move}`, token, body });
  const { body: suspended, headers } = await post("suspend", { reason });
  const shown = () => send("GET", `tenant/${id}`);
  assert.deepEqual([(await shown()).body, (await shown()).headers.etag], [suspended, headers.etag]);
  const { suspension } = suspended;
  assert.equal(suspension.reason, reason);
  assert.ok(Math.abs(Date.parse(suspension.at) - Date.parse(suspended.updated_at)) < 10_000);
  assert.match(suspension.actor.auth_subject, /^operator-\d+$/);
  await send("DELETE", `tenant/${id}`);
  assert.deepEqual((await shown()).body.suspension, suspension);
  await post("restore");
  await sql`delete from control.tenant_events where tenant_id = ${id}`;
  assert.equal((await shown()).body.suspension, null);
  assert.equal("suspension" in (await post("resume")).body, false);
  await sql`update app.tenants set status = 'suspended' where id = ${id}`;
  assert.deepEqual(
    [(await shown()).body.suspension.reason, (await shown()).body.suspension.actor],
    [null, null],
  );
  const match = { "if-match": String((await shown()).headers.etag) };
  assert.equal((await send("POST", `tenant/${id}/resume`, undefined, match)).status, 200);
});

test("a deleted tenant counts against its owner's limit until it is gone", async () => {
  const register = async (name: string) =>
    world.service.request({
      method: "POST",
      url: "/api/tenants/register",
      token: await person("owner", "lobby"),
      body: { organization_name: name, admin_email: "owner@firm.example" },
    });
  const [first, second] = [await register("Firm one"), await register("Firm two")];
  assert.deepEqual([first.status, second.status], [201, 201]);
  assert.equal((await send("DELETE", `tenant/${first.body.tenant_id}`)).status, 200);
  const third = await register("Firm three");
  assert.deepEqual([third.status, third.body.error], [403, "Tenant limit reached"]);
  assert.equal((await send("DELETE", `tenant/${first.body.tenant_id}?purge=true`)).status, 200);
  await sql`delete from control.rate_limits`;
  assert.equal((await register("Firm three")).status, 201);
});

test("a repeat with the Idempotency-Key of a deleted tenant is 409, and the first answer again once it is restored", async () => {
  const token = await operator();
  const again = () => create({ name: "Keyed", slug: "keyed" }, { "idempotency-key": "key-of-keyed" }, token);
  const { body } = await again();
  await send("DELETE", `tenant/${body.tenant_id}`);
  assertError(await again(), 409, {
    error: "Conflict",
    detail: "The tenant that this Idempotency-Key created is deleted",
  });
  await send("POST", `tenant/${body.tenant_id}/restore`);
  const replayed = await again();
  assert.deepEqual([replayed.status, replayed.body], [200, { ...body, existing: true }]);
  for (const query of ["", "?purge=true"]) await send("DELETE", `tenant/${body.tenant_id}${query}`);
  assert.equal((await again()).status, 201, "the key is gone with the tenant");
});

/** As urllib3, curl and nginx do when the answer of a DELETE is lost. */
test("a repeated DELETE gets the answer of the first and changes nothing, at an instance without a window too", async () => {
  const id = await made("retried");
  const { headers: read } = await send("GET", `tenant/${id}`);
  const token = await operator();
  const url = `/api/setup/tenant/${id}?reason=`;
  const first = await world.service.request({ method: "DELETE", url: `${url}closed`, token });
  const shown = await send("GET", `tenant/${id}`);
  for (const [instance, reason] of [
    [world.service, "closed"],
    [plain, "closed"],
    [world.service, "another"],
  ] as const) {
    const again = await instance.request({ method: "DELETE", url: `${url}${reason}`, token });
    assert.deepEqual([again.status, again.body], [200, first.body]);
  }
  assert.deepEqual((await send("GET", `tenant/${id}`)).body, shown.body);
  const match = { "if-match": String(read.etag) };
  assert.equal((await send("DELETE", `tenant/${id}`, undefined, match)).status, 412);
  const events =
    await sql`select from control.tenant_events where tenant_id = ${id} and event like 'tenant.delet%'`;
  assert.equal(events.length, 1);
  assert.equal((await send("POST", `tenant/${id}/restore`)).status, 200);
  assert.equal((await ask("retried", "/api/boards")).status, 200);
});

const GONE =
  "All related data has been permanently deleted: api keys, board members, boards, credit transactions, " +
  "generations, invitations, media, provider configs, users";

test("purge=true deletes a deleted tenant for good, and is 409 for any other; so is its dry run", async () => {
  const id = await made("purged");
  const purge = (query = "", headers = {}) =>
    send("DELETE", `tenant/${id}?purge=true${query}`, undefined, headers);
  const live = { error: "Conflict", detail: "The tenant is active, not deleted" };
  assertError(await purge(), 409, live);
  assertError(await purge("&dry_run=true"), 409, live);
  const { headers: read } = await send("GET", `tenant/${id}`);
  await send("DELETE", `tenant/${id}`);
  assert.equal((await purge("&dry_run=true")).body.dry_run, true);
  assert.equal((await purge("", { "if-match": String(read.etag) })).status, 412);
  const answer = await purge("&reason=asked%20for");
  assert.deepEqual(
    [answer.status, answer.body],
    [200, { message: "Tenant 'The purged' (purged) deleted successfully", tenant_id: id, warning: GONE }],
  );
  assert.equal((await purge()).status, 404);
  assert.equal((await sql`select from app.users where tenant_id = ${id}`).count, 0);
  const [event] =
    await sql`select event, reason from control.tenant_events where tenant_id = ${id} order by id desc limit 1`;
  assert.deepEqual({ ...event }, { event: "tenant.deleted", reason: "asked for" });
});

test("without a window a deletion is at once and for good", async () => {
  const id = await made("plain");
  const url = `/api/setup/tenant/${id}`;
  const answer = await plain.request({ method: "DELETE", url, token: await operator() });
  assert.deepEqual(
    [answer.status, answer.body],
    [200, { message: "Tenant 'The plain' (plain) deleted successfully", tenant_id: id, warning: GONE }],
  );
  assert.equal(answer.headers.etag, undefined);
  assert.equal((await send("POST", `tenant/${id}/restore`)).status, 404);
  assert.equal((await sql`select from app.users where tenant_id = ${id}`).count, 0);
});

test("a reason is optional, has 1 to 500 characters, and comes with a body or a query of nothing else", async () => {
  const id = await seedTenant(sql, { slug: "reasoned" });
  for (const body of [
    { reason: "" },
    { reason: " " },
    { reason: "x".repeat(501) },
    { reason: null },
    { reason: "a\0b" },
    { why: "x" },
    [],
    "null",
  ])
    assert.equal((await send("POST", `tenant/${id}/suspend`, body)).status, 422, JSON.stringify(body));
  for (const body of [undefined, {}, { reason: "🦊".repeat(500) }]) {
    assert.equal((await send("POST", `tenant/${id}/suspend`, body)).status, 200);
    assert.equal((await send("POST", `tenant/${id}/resume`)).status, 200);
  }
  for (const reason of ["x".repeat(501), "%00", "%20", "a&reason=b"])
    assert.equal((await send("DELETE", `tenant/${id}?reason=${reason}`)).status, 422, reason);
  assert.equal((await send("DELETE", `tenant/${id}`, { reason: "in a body" })).status, 422);
  const waiting = await seedTenant(sql, { slug: "waiting", status: "pending" });
  assert.equal((await send("POST", `tenant/${waiting}/reject`, { reason: "unknown to us" })).status, 200);
  assert.equal((await send("GET", `tenant/${waiting}`)).status, 404, "a rejected registration has no window");
  const long = encodeURIComponent("🦊".repeat(500));
  assert.equal((await send("DELETE", `tenant/${id}?reason=${long}`)).status, 200);
});
