import assert from "node:assert/strict";
import { after, test } from "node:test";
import { token, withRole } from "../../harness.ts";
import { createWorld } from "../../http/world.ts";

const world = await createWorld({ SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL: "true" });
const operator = await token({ sub: "op", tenant: "default", roles: ["tenant-operator"] });
after(() => world.end());

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
    "registered jwt/carol tms_service",
    "approved jwt/op tms_service",
    "suspended jwt/op tms_service",
    "resumed jwt/op tms_service",
    "updated name+settings jwt/op tms_service",
    "updated slug jwt/op tms_service",
    "updated name postgres",
    "deleted jwt/op tms_service",
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
    "registered jwt/dave tms_service",
    "rejected jwt/op tms_service",
  ]);
});

test("one statement over many tenants writes one event for each", async () => {
  await world.database
    .sql`insert into app.tenants (slug, name) select 'bulk-' || n, 'Bulk' from generate_series(1, 500) n`;
  const [row] = await world.database
    .sql`select count(*)::int as n from control.tenant_events where slug like 'bulk-%' and event = 'created'`;
  assert.equal(row!.n, 500);
});

test("no tenant role sees events, and the service's login cannot read or write them", async () => {
  for (const role of ["tms_app", "tms_service", "tms_registrar"])
    await assert.rejects(
      withRole(world.database.sql, role, null, sql => sql`select from control.tenant_events`),
      /permission denied/,
      role,
    );
});

test("a request writes its own event, whatever app.event its session has", async () => {
  await world.database.sql.begin(async tx => {
    await tx`set local session authorization tms_service`;
    await tx`set local app.event = 'deleted'`;
    await tx`select api.create_tenant('default', 'jwt', 'op', null, null, null, 'Ours', 'ours', null, false, false, null)`;
  });
  assert.deepEqual(await events("ours"), ["created jwt/op tms_service"]);
});

test("app.event names the event of an INSERT: an empty text is ignored, an unknown one refused", async () => {
  const { sql } = world.database;
  await sql.begin(async tx => {
    await tx`select set_config('app.event', 'imported', true)`;
    await tx`insert into app.tenants (slug, name) values ('named', 'Named')`;
    await tx`select set_config('app.event', '', true), set_config('app.actor', '', true)`;
    await tx`update app.tenants set status = 'suspended' where slug = 'named'`;
    await tx`insert into app.tenants (slug, name) values ('unnamed', 'Unnamed')`;
  });
  assert.deepEqual(await events("named"), ["imported postgres", "suspended postgres"]);
  const [times] =
    await sql`select count(distinct at)::int as n from control.tenant_events where slug = 'named'`;
  assert.equal(times!.n, 2, "each of its moment, not of the transaction's start");
  assert.deepEqual(await events("unnamed"), ["created postgres"]);
  const [row] =
    await sql`select changed from control.tenant_events where slug = 'named' and event = 'suspended'`;
  assert.equal(row!.changed, null);
  await assert.rejects(
    sql.begin(async tx => {
      await tx`select set_config('app.event', 'found', true)`;
      await tx`insert into app.tenants (slug, name) values ('found', 'Found')`;
    }),
    /tenant_events_known/,
  );
});
