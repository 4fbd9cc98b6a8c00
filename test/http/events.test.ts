import assert from "node:assert/strict";
import { after, test } from "node:test";
import { seedTenant, seedUser, settled, token } from "../harness.ts";
import { assertError, createWorld, DENIED, operator, person } from "./world.ts";

const world = await createWorld();
const { sql } = world.database;
await sql`truncate control.tenant_events`;
const acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
const globex = await seedTenant(sql, { slug: "globex", name: "Globex" });
for (const [subject, role] of [
  ["olga", "owner"],
  ["adam", "admin"],
  ["mia", "member"],
] as const)
  await seedUser(sql, acme, { subject, role });
await sql`
  insert into app.users (tenant_id, auth_provider, auth_subject, role)
  select ${globex}, 'jwt', 'owner-' || n, 'owner' from generate_series(1, 3) n`;
const address = await world.service.app.listen({ port: 0, host: "127.0.0.1" });
after(() => world.end());

const get = async (url: string, as?: string) => {
  await settled(sql);
  return world.service.request({ url, token: as ?? (await operator()) });
};
const link = (answer: { headers: Record<string, unknown> }) =>
  String(answer.headers.link).match(/^<(?:https?:\/\/[^/]+)?(\/[^>]*)>; rel="next"$/)?.[1];
const cut = ({ body }: { body: { events: { type: string; tenant_slug: string }[] } }) =>
  body.events.map(({ type, tenant_slug }) => `${type} ${tenant_slug}`);

/** A stream, read until the test has what it waits for. */
async function stream(path: string, as: string, headers: Record<string, string> = {}) {
  const end = new AbortController();
  const response = await fetch(address + path, {
    headers: { authorization: `Bearer ${as}`, accept: "text/event-stream", ...headers },
    signal: end.signal,
  });
  let text = "";
  let ended = false;
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) text += decoder.decode(chunk as Uint8Array, { stream: true });
  })()
    .catch(() => {})
    .finally(() => {
      ended = true;
    });
  return {
    response,
    text: () => text,
    hasEnded: () => ended,
    ended: reading,
    events: () =>
      [...text.matchAll(/^id: (\S+)\nevent: (\S+)\ndata: (.+)\n\n/gm)].map(([, id, type, data]) => {
        const event = JSON.parse(data!);
        assert.deepEqual([event.cursor, event.type], [id, type]);
        return event;
      }),
    async until(condition: () => boolean) {
      while (!condition()) {
        assert.ok(!ended, `the stream ended: ${text}`);
        await new Promise(resolve => setTimeout(resolve, 20));
      }
    },
    leave: () => {
      end.abort();
      return reading;
    },
  };
}

test("an operator reads every tenant's events page by page, and goes on after the last", async () => {
  const first = await get("/api/setup/events?limit=1");
  assert.deepEqual(cut(first), ["tenant.created acme"]);
  assert.deepEqual(first.body.events[0], {
    cursor: first.body.cursor,
    type: "tenant.created",
    at: first.body.events[0].at,
    tenant_id: acme,
    tenant_slug: "acme",
    tenant_name: "Acme",
    actor: null,
    target_id: null,
    changed: null,
    role: null,
    role_before: null,
    reason: null,
    request_id: null,
  });
  const second = await get(link(first)!);
  assert.deepEqual(cut(second), ["tenant.created globex"]);
  const empty = await get(link(second)!);
  assert.deepEqual(empty.body, { events: [], cursor: second.body.cursor });
  assert.equal(new URL(link(empty)!, address).searchParams.get("after"), empty.body.cursor);

  const caller = await operator();
  const renamed = await world.service.request({
    method: "PUT",
    url: `/api/setup/tenant/${globex}`,
    token: caller,
    headers: { "x-request-id": "rename-1" },
    body: { name: "Globex 2" },
  });
  assert.equal(renamed.status, 200);
  const next = await get(link(empty)!);
  assert.deepEqual(cut(next), ["tenant.updated globex"]);
  const [{ changed, actor, request_id, tenant_name }] = next.body.events;
  assert.deepEqual(
    [changed, actor.auth_provider, request_id, tenant_name],
    [["name"], "jwt", "rename-1", "Globex 2"],
  );
});

test("filters by type and tenant; a page that a filter empties still leads past what it has seen", async () => {
  const all = await get("/api/setup/events?limit=1000");
  const created = await get("/api/setup/events?type=tenant.created");
  assert.deepEqual(cut(created), ["tenant.created acme", "tenant.created globex"]);
  assert.equal(created.body.cursor, all.body.cursor);
  const own = await get(`/api/setup/events?tenant_id=${acme}`);
  assert.deepEqual(cut(own), ["tenant.created acme"]);
  const none = await get("/api/setup/events?type=key.revoked");
  assert.deepEqual(none.body, { events: [], cursor: all.body.cursor });
  // A tenant that does not exist any more has events; one that never did has none, and a place to begin.
  const unknown = await get("/api/setup/events?tenant_id=5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10");
  assert.deepEqual(unknown.body.events, []);
  assert.equal((await get(link(unknown)!)).status, 200);
});

test("the newest first: the same events, the other way round, until the first", async () => {
  const all = cut(await get("/api/setup/events?limit=1000"));
  const found: string[] = [];
  let url: string | undefined = "/api/setup/events?order=-at&limit=2";
  for (let pages = 0; url !== undefined && pages < 20; pages++) {
    const page = await get(url);
    found.push(...cut(page));
    url = page.headers.link === undefined ? undefined : link(page);
  }
  assert.deepEqual(found.reverse(), all);
  const newest = await get("/api/setup/events?order=-at&limit=1");
  assert.deepEqual((await get(`/api/setup/events?after=${newest.body.cursor}`)).body.events, []);
});

test("owners and admins read their own tenant's events, members and others none", async () => {
  for (const who of ["olga", "adam"]) {
    const page = await get("/api/tenants/events", await person(who, "acme"));
    assert.equal(page.status, 200);
    assert.ok(page.body.events.every((event: { tenant_id: string }) => event.tenant_id === acme));
    assert.equal(cut(page)[0], "tenant.created acme");
    // A cursor of another tenant's events shows nothing of that tenant.
    const foreign = (await get(`/api/setup/events?tenant_id=${globex}&limit=1`)).body.cursor;
    const after = await get(`/api/tenants/events?after=${foreign}`, await person(who, "acme"));
    assert.ok(after.body.events.every((event: { tenant_id: string }) => event.tenant_id === acme));
  }
  const mia = await get("/api/tenants/events", await person("mia", "acme"));
  assertError(mia, 403, { error: "Access denied", detail: "The tenant role admin is required" });
  assertError(await get("/api/tenants/events", await person("olga", "globex")), 403, DENIED);
  assertError(await get("/api/setup/events", await person("olga", "acme")), 403, {
    error: "Access denied",
    detail: "The role tenant-operator is required",
  });
});

test("a cursor that the service did not make is 422, and so is every other wrong parameter", async () => {
  const bad = [
    "x",
    "MQ",
    "-",
    "MSAyIDMgNA",
    Buffer.from("1 99999999999999999999999 1").toString("base64url"),
  ];
  for (const after of bad) {
    const { status, body } = await get(`/api/setup/events?after=${after}`);
    assert.deepEqual(
      [status, body.errors],
      [422, [{ field: "after", message: "was not made by this service" }]],
      after,
    );
  }
  for (const query of [
    "limit=0",
    "limit=1001",
    "type=tenant.closed",
    "order=at2",
    "tenant_id=acme",
    "cursor=x",
  ])
    assert.equal((await get(`/api/setup/events?${query}`)).status, 422, query);
  assert.equal((await get("/api/tenants/events?tenant_id=1", await person("olga", "acme"))).status, 422);
});

test("a stream gives what there is, then what happens, and goes on after Last-Event-ID", async () => {
  const boss = await operator();
  const all = (await get("/api/setup/events?limit=1000")).body.events;
  const one = await stream("/api/setup/events", boss);
  assert.equal(one.response.status, 200);
  assert.equal(one.response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assert.equal(one.response.headers.get("x-accel-buffering"), "no");
  assert.equal(one.response.headers.get("cache-control"), "no-store");
  await one.until(() => one.events().length >= all.length);
  assert.deepEqual(one.events(), all);
  assert.equal(world.service.app.inFlight.length, 0, "a stream is no request in flight");
  await seedTenant(sql, { slug: "new" });
  await one.until(() => one.events().at(-1).tenant_slug === "new");
  await one.leave();
  const again = await stream("/api/setup/events?after=x", boss, { "last-event-id": all.at(-1).cursor });
  await again.until(() => again.events().length > 0);
  assert.deepEqual(
    again.events().map(event => event.tenant_slug),
    ["new"],
  );
  const next = await stream("/api/setup/events?order=-at", boss);
  await seedTenant(sql, { slug: "newer" });
  await next.until(() => next.events().length > 0);
  assert.deepEqual(
    next.events().map(event => event.tenant_slug),
    ["newer"],
  );
  await Promise.all([again.leave(), next.leave()]);
  while (world.service.app.streams > 0) await new Promise(resolve => setTimeout(resolve, 20));
});

test("events are a stream only for a client that prefers one, and JSON for every other", async () => {
  const ask = async (accept: string) => {
    const end = new AbortController();
    const response = await fetch(`${address}/api/tenants/events?limit=1`, {
      headers: { authorization: `Bearer ${await person("olga", "acme")}`, accept },
      signal: end.signal,
    });
    end.abort();
    return response.headers.get("content-type")!.split(";")[0];
  };
  for (const accept of [
    "*/*",
    "text/event-stream;q=0",
    "application/json;q=0.9, text/event-stream;q=0.1",
    "application/json, text/event-stream",
    "text/event-streams",
    'application/json, x/y;a="text/event-stream"',
  ])
    assert.equal(await ask(accept), "application/json", accept);
  for (const accept of [
    "text/event-stream",
    "Text/Event-Stream; charset=utf-8",
    "text/event-stream, application/json;q=0.5",
  ])
    assert.equal(await ask(accept), "text/event-stream", accept);
});

test("a stream is refused like a page, and ends when its caller may not read any more", async () => {
  const mia = await stream("/api/tenants/events", await person("mia", "acme"));
  assert.equal(mia.response.status, 403);
  assert.equal(mia.response.headers.get("content-type"), "application/json; charset=utf-8");
  const [adam, olga] = [
    await stream("/api/tenants/events", await person("adam", "acme")),
    await stream("/api/tenants/events", await person("olga", "acme")),
  ];
  await olga.until(() => olga.events().length > 0);
  await sql`update app.users set removed_at = now(), updated_at = now() where auth_subject = 'adam'`;
  await adam.ended;
  assert.ok(!olga.hasEnded());
  await sql`update app.tenants set status = 'suspended' where id = ${acme}`;
  await olga.ended;
  await sql`update app.tenants set status = 'active' where id = ${acme}`;
  const made = await world.service.request({
    method: "POST",
    url: "/api/tenants/keys",
    token: await person("olga", "acme"),
    body: { name: "feed", role: "admin" },
  });
  const byKey = await stream("/api/tenants/events?type=key.created", made.body.key);
  await byKey.until(() => byKey.events().length > 0);
  assert.equal(byKey.events()[0].target_id, made.body.key_id);
  const url = `/api/tenants/keys/${made.body.key_id}`;
  await world.service.request({ method: "DELETE", url, token: await person("olga", "acme") });
  await byKey.ended;
  const brief = await stream(
    "/api/tenants/events",
    await token({ sub: "olga", tenant: "acme", exp: Math.floor(Date.now() / 1000) + 3 }),
  );
  await brief.until(() => brief.events().length > 0);
  await brief.ended;
});

test("an identity has five streams at once, and a sixth when one ends", async () => {
  const boss = await operator();
  const open = await Promise.all(
    Array.from({ length: 5 }, () => stream("/api/setup/events?order=-at", boss)),
  );
  const sixth = await stream("/api/setup/events", boss);
  assert.equal(sixth.response.status, 429);
  assert.equal(sixth.response.headers.get("retry-after"), "1");
  await open[0]!.leave();
  let status = 429;
  while (status === 429) {
    const { response, leave } = await stream("/api/setup/events", boss);
    status = response.status;
    await leave();
  }
  assert.equal(status, 200);
  await Promise.all(open.map(({ leave }) => leave()));
});

test("the last audit: none yet, then a run with its open findings, page by page", async () => {
  assert.deepEqual((await get("/api/setup/audit")).body, { run: null, findings: [], trend: [] });
  await sql.begin(async tx => {
    await tx`insert into audit.runs (finished_at, errors, warnings, schema_version) values (now(), 3, 0, 'x')`;
    await tx`
      insert into audit.found (run_id, check_name, n, severity, tenant_id, relation, "row", detail, remedy)
      select 1, 'grants_beyond', n, 'error', null, 'app.boards', jsonb_build_object('object', n), 'detail ' || n, 'remedy' from generate_series(1, 3) n`;
  });
  const first = await get("/api/setup/audit?limit=2");
  assert.equal(first.status, 200);
  assert.deepEqual([first.body.run.errors, first.body.run.result, first.body.trend.length], [3, "errors", 1]);
  assert.deepEqual(
    first.body.findings.map((finding: { detail: string }) => finding.detail),
    ["detail 1", "detail 2"],
  );
  const last = await get(link(first)!);
  assert.deepEqual(
    [last.body.findings.map((finding: { detail: string }) => finding.detail), last.headers.link],
    [["detail 3"], undefined],
  );
  for (const cursor of ["x", "0", "-1", "123456789"])
    assert.equal((await get(`/api/setup/audit?cursor=${cursor}`)).status, 422, cursor);
  assert.equal((await get("/api/setup/audit", await person("olga", "acme"))).status, 403);
});

test("a tenant's own people read that an operator acted, and neither which one nor why, nor in which request; operators read all", async () => {
  const tenant = await seedTenant(sql, { slug: "watched" });
  await seedUser(sql, tenant, { subject: "wendy", role: "owner" });
  const boss = await token({ sub: "boss", tenant: "operations", roles: ["tenant-operator"] });
  const act = async (
    method: "PATCH" | "POST" | "PUT",
    path: string,
    body: object,
    as: string,
    tenant?: string,
  ) => {
    const { status } = await world.service.request({
      method,
      url: `/api/${path}`,
      token: as,
      body,
      ...(tenant !== undefined && { tenant }),
      ...(method === "PATCH" && { headers: { "content-type": "application/merge-patch+json" } }),
    });
    assert.ok(status < 300, `${path} ${status}`);
  };
  const one = `setup/tenant/${tenant}`;
  await act("POST", `${one}/suspend`, { reason: "Suspected fraud" }, boss);
  await act("POST", `${one}/resume`, {}, boss);
  await act("PUT", one, { name: "Watched 2" }, boss);
  await act("POST", `${one}/members`, { auth_subject: "new" }, boss);
  await act("PATCH", "tenants/current", { name: "Watched 3" }, await person("wendy"), "watched");
  await settled(sql);
  const told = async (url: string, as: string) => {
    const { body } = await world.service.request({ url, token: as, tenant: "watched" });
    return body.events
      .filter(({ type }: { type: string }) => type !== "tenant.created")
      .map(
        ({ type, actor, reason }: { type: string; actor: Record<string, string>; reason: string | null }) =>
          `${type} ${actor.auth_provider}/${actor.auth_subject} ${reason}`,
      );
  };
  const own = await world.service.request({
    url: "/api/tenants/events",
    token: await person("wendy"),
    tenant: "watched",
  });
  assert.doesNotMatch(JSON.stringify(own.body), /boss|fraud/);
  const requests = own.body.events.map(({ request_id }: { request_id: string | null }) => typeof request_id);
  assert.deepEqual(requests.slice(-5), ["object", "object", "object", "object", "string"]);
  const operators = (text: string) => `${text} operator/operator null`;
  assert.deepEqual(await told("/api/tenants/events", await person("wendy")), [
    operators("tenant.suspended"),
    operators("tenant.resumed"),
    operators("tenant.updated"),
    operators("member.added"),
    "tenant.updated jwt/wendy null",
  ]);
  assert.deepEqual(await told(`/api/setup/events?tenant_id=${tenant}`, boss), [
    "tenant.suspended jwt/boss Suspected fraud",
    "tenant.resumed jwt/boss null",
    "tenant.updated jwt/boss null",
    "member.added jwt/boss null",
    "tenant.updated jwt/wendy null",
  ]);
});

test("a service that stops ends its streams", async () => {
  const open = await stream("/api/setup/events", await operator());
  await open.until(() => open.events().length > 0);
  await world.service.close();
  await open.ended;
  assert.match(open.text(), /\n\n$/, "it ends after a whole event");
});
