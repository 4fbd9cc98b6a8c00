import assert from "node:assert/strict";
import { after, test } from "node:test";
import type postgres from "postgres";
import { seedTenant, seedUser, token, withRole } from "../../harness.ts";
import { createWorld } from "../../http/world.ts";

const world = await createWorld({ SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL: "true" });
const operator = await token({ sub: "op", tenant: "default", roles: ["tenant-operator"] });
after(() => world.end());
const acme = await seedTenant(world.database.sql, { slug: "acme" });
const globex = await seedTenant(world.database.sql, { slug: "globex" });
await seedUser(world.database.sql, acme, { subject: "alice", role: "owner" });

const events = async (slug: string) =>
  (
    await world.database.sql`
      select event, changed, actor_provider, actor_subject, login from control.tenant_events
      where tenant_id = (select tenant_id from control.tenant_events where slug = ${slug} limit 1) order by id`
  ).map(({ event, changed, actor_subject, actor_provider, login }) =>
    [event, changed?.join("+"), actor_provider && `${actor_provider}/${actor_subject}`, login]
      .filter(Boolean)
      .join(" "),
  );
const ask = (method: "POST" | "PUT" | "DELETE", url: string, body?: object, as = operator) =>
  world.service.request({ method, url, token: as, ...(body && { body }) });

test("events record a tenant's life with their actors, and remain after its deletion", async () => {
  const carol = await token({ sub: "carol", tenant: "hooli" });
  const registered = await ask(
    "POST",
    "/api/tenants/register",
    { organization_name: "Hooli", organization_slug: "hooli", admin_email: "carol@hooli.example" },
    carol,
  );
  const url = `/api/setup/tenant/${registered.body.tenant_id}`;
  await ask("POST", `${url}/approve`);
  await ask("POST", `${url}/suspend`);
  await ask("POST", `${url}/resume`);
  await ask("PUT", url, { name: "Hooli Inc", settings: { a: 1 } });
  await ask("PUT", url, { name: "Hooli Inc" });
  await ask("PUT", url, { slug: "hooli-inc" });
  await world.database.sql`update app.tenants set name = 'By hand' where slug = 'hooli-inc'`;
  await ask("DELETE", url);
  assert.deepEqual(await events("hooli-inc"), [
    "tenant.registered jwt/carol tms_service",
    "tenant.approved jwt/op tms_service",
    "tenant.suspended jwt/op tms_service",
    "tenant.resumed jwt/op tms_service",
    "tenant.updated name+settings jwt/op tms_service",
    "tenant.updated slug jwt/op tms_service",
    "tenant.updated name postgres",
    "tenant.deleted jwt/op tms_service",
  ]);
  // The tenant's new name and slug.
  const called = await world.database.sql`
    select concat_ws(' ', slug, name) as it from control.tenant_events where tenant_id = ${registered.body.tenant_id} order by id offset 3`;
  assert.deepEqual(
    called.map(row => row.it),
    ["hooli Hooli", "hooli Hooli Inc", "hooli-inc Hooli Inc", "hooli-inc By hand", "hooli-inc By hand"],
  );
});

test("a refused request writes no event; a rejected registration does", async () => {
  const dave = await token({ sub: "dave", tenant: "pied-piper" });
  const body = {
    organization_name: "Pied Piper",
    organization_slug: "pied-piper",
    admin_email: "d@pp.example",
  };
  const { body: made } = await ask("POST", "/api/tenants/register", body, dave);
  assert.equal((await ask("POST", "/api/setup/tenant", { name: "Again", slug: "pied-piper" })).status, 409);
  assert.equal((await ask("POST", `/api/setup/tenant/${made.tenant_id}/resume`)).status, 409);
  await ask("POST", `/api/setup/tenant/${made.tenant_id}/reject`);
  assert.deepEqual(await events("pied-piper"), [
    "tenant.registered jwt/dave tms_service",
    "tenant.rejected jwt/op tms_service",
  ]);
});

test("one statement over many tenants writes one event for each", async () => {
  await world.database
    .sql`insert into app.tenants (slug, name) select 'bulk-' || n, 'Bulk' from generate_series(1, 500) n`;
  const [row] = await world.database
    .sql`select count(*)::int as n from control.tenant_events where slug like 'bulk-%' and event = 'tenant.created'`;
  assert.equal(row!.n, 500);
  // Also of several statements of one transaction: a place of its own for each.
  await world.database.sql.begin(async tx => {
    await tx`update app.tenants set name = 'Bulk 2' where slug like 'bulk-%'`;
    await tx`update app.tenants set name = 'Bulk 3' where slug like 'bulk-%'`;
  });
  const [places] = await world.database.sql`
    select array_agg(distinct name order by name) as names, max(n)::int as n from control.tenant_events
    where slug like 'bulk-%' and event = 'tenant.updated'`;
  assert.deepEqual({ ...places }, { names: ["Bulk 2", "Bulk 3"], n: 1_000 });
});

test("no tenant role and no login of the service sees events, and nobody changes one", async () => {
  const { sql } = world.database;
  for (const role of ["tms_app", "tms_service", "tms_auditor"])
    await assert.rejects(
      withRole(sql, role, null, tx => tx`select from control.tenant_events`),
      /permission denied/,
      role,
    );
  for (const change of ["update control.tenant_events set slug = ''", "delete from control.tenant_events"])
    await assert.rejects(
      withRole(sql, "tms_registrar", null, tx => tx.unsafe(change)),
      /permission denied/,
      change,
    );
});

test("tms_auditor reads the events in psql, the newest first", async () => {
  await seedTenant(world.database.sql, { slug: "seen" });
  const rows = await withRole(
    world.database.sql,
    "tms_auditor",
    null,
    tx => tx`select type, slug, actor_subject, login from audit.events limit 1`,
  );
  assert.deepEqual(
    { ...rows[0] },
    { type: "tenant.created", slug: "seen", actor_subject: null, login: "postgres" },
  );
});

test("app.record_event writes an event of the tenant that tms_app is in, and of no other", async () => {
  const { sql } = world.database;
  const write = (tx: postgres.ISql, event: string, tenant: string) =>
    tx`select app.record_event(${event}, ${tenant}, ${acme}, '{a,b}', 'As asked')`;
  await sql.begin(async tx => {
    await tx`set local role tms_app`;
    await tx`select set_config('app.tenant_id', ${acme}, true), set_config('app.actor', '["jwt", "alice"]', true),
      set_config('app.request_id', 'r-1', true)`;
    await write(tx, "key.created", acme);
  });
  await sql.begin(async tx => {
    await tx`set local role tms_registrar`;
    await write(tx, "key.revoked", globex);
  });
  assert.deepEqual(
    [
      ...(await sql`
        select event, slug, target_id, changed, actor_subject, reason, request_id from control.tenant_events
        where event like 'key.%' order by id`),
    ].map(row => Object.values(row)),
    [
      ["key.created", "acme", acme, ["a", "b"], "alice", "As asked", "r-1"],
      ["key.revoked", "globex", acme, ["a", "b"], null, "As asked", null],
    ],
  );
  for (const [event, tenant] of [
    ["key.created", globex],
    ["tenant.deleted", acme],
  ] as const)
    await assert.rejects(
      withRole(sql, "tms_app", acme, tx => write(tx, event, tenant)),
      /Only an event within/,
    );
  await assert.rejects(
    withRole(sql, "tms_app", null, tx => write(tx, "key.created", acme)),
    /Only an event within/,
  );
  await assert.rejects(
    withRole(
      sql,
      "tms_app",
      acme,
      tx => tx`select app.record_own_event('key.created', ${globex}, null, null, null, null, null)`,
    ),
    /Only an event within/,
  );
});

test("members' operations write events with the actor and the request's id", async () => {
  const alice = await token({ sub: "alice", tenant: "acme" });
  const added = await world.service.request({
    method: "POST",
    url: "/api/tenants/members",
    token: alice,
    headers: { "x-request-id": "the-first" },
    body: { auth_subject: "zoe", role: "admin" },
  });
  const url = `/api/tenants/members/${added.body.user_id}`;
  await ask("DELETE", url, undefined, await token({ sub: "zoe", tenant: "acme" }));
  const found = await world.database.sql`
    select event, target_id, actor_provider || '/' || actor_subject as actor, request_id from control.tenant_events
    where event like 'member.%' and tenant_id = ${acme} order by id`;
  assert.deepEqual(
    found.map(({ event, actor, target_id }) => [event, actor, target_id]),
    [
      ["member.added", "jwt/alice", added.body.user_id],
      ["member.left", "jwt/zoe", added.body.user_id],
    ],
  );
  assert.equal(found[0]!.request_id, "the-first");
  assert.match(found[1]!.request_id, /^[0-9a-f-]{36}$/);
});

test("a server with other transaction ids begins an epoch, and its events come last", async () => {
  const { sql } = world.database;
  const epochs = async () =>
    (
      await sql`select slug, epoch from control.tenant_events where slug like 'epoch-%' order by epoch, xid, n`
    ).map(row => `${row.slug} ${row.epoch}`);
  const insert = (slug: string) => sql`insert into app.tenants (slug, name) values (${slug}, 'E')`;
  await insert("epoch-1");
  await sql`update control.tenant_events set origin = '7/1', xid = '900000000000' where slug = 'epoch-1'`;
  await insert("epoch-2");
  await insert("epoch-3");
  assert.deepEqual(await epochs(), ["epoch-1 1", "epoch-2 2", "epoch-3 2"]);
});

test("a request writes its own event, whatever app.event its session has", async () => {
  await world.database.sql.begin(async tx => {
    await tx`set local session authorization tms_service`;
    await tx`set local app.event = 'tenant.deleted'`;
    await tx`select api.create_tenant(row('default', 'jwt', 'op', null, null, null), 'Ours', 'ours', null, false, false, null)`;
  });
  assert.deepEqual(await events("ours"), ["tenant.created jwt/op tms_service"]);
});

test("app.event names the event of an INSERT: an empty text is ignored, an unknown one refused", async () => {
  const { sql } = world.database;
  await sql.begin(async tx => {
    await tx`select set_config('app.event', 'tenant.imported', true)`;
    await tx`insert into app.tenants (slug, name) values ('named', 'Named')`;
    await tx`select set_config('app.event', '', true), set_config('app.actor', '', true)`;
    await tx`update app.tenants set status = 'suspended' where slug = 'named'`;
    await tx`insert into app.tenants (slug, name) values ('unnamed', 'Unnamed')`;
  });
  assert.deepEqual(await events("named"), ["tenant.imported postgres", "tenant.suspended postgres"]);
  const [times] =
    await sql`select count(distinct at)::int as n from control.tenant_events where slug = 'named'`;
  assert.equal(times!.n, 2, "each of its moment, not of the transaction's start");
  assert.deepEqual(await events("unnamed"), ["tenant.created postgres"]);
  const [row] =
    await sql`select changed from control.tenant_events where slug = 'named' and event = 'tenant.suspended'`;
  assert.equal(row!.changed, null);
  await assert.rejects(
    sql.begin(async tx => {
      await tx`select set_config('app.event', 'found', true)`;
      await tx`insert into app.tenants (slug, name) values ('found', 'Found')`;
    }),
    /tenant_events_known/,
  );
});
