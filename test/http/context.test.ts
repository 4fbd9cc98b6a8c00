/** The service with SERVICE_TENANT_CONTEXT_SECRET: what callers see is the same, and who has no secret gets nothing. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { exportTenant } from "../../src/transfer/export.ts";
import {
  CONTEXT_SECRET,
  createDatabase,
  createService,
  requireProofs,
  seedTenant,
  seedUser,
  type TestRequest,
  withService,
} from "../harness.ts";
import { assertError, DENIED, operator, person } from "./world.ts";

const database = await createDatabase();
await requireProofs(database);
const ENV = { SERVICE_TENANT_CONTEXT_SECRET: CONTEXT_SECRET };
const service = await createService(database, ENV);
const { sql } = database;
const acme = await seedTenant(sql, { slug: "acme" });
await seedUser(sql, acme, { subject: "ann", role: "owner" });
after(async () => {
  await service.close();
  await database.drop();
});

const ask = async (
  token: Promise<string>,
  method: NonNullable<TestRequest["method"]>,
  url: string,
  body?: unknown,
) => service.request({ method, url, token: await token, ...(body !== undefined && { body }) });
const ann = () => person("ann", "acme");
const status = async (answer: ReturnType<typeof ask>) => (await answer).status;

test("members, invitations, keys and GraphQL work, and strangers get the same refusal", async () => {
  assert.equal(await status(ask(ann(), "GET", "/api/tenants/current")), 200);
  const added = await ask(ann(), "POST", "/api/tenants/members", {
    auth_subject: "zo\u00eb\u2028",
    role: "admin",
  });
  assert.equal(added.status, 201);
  const zoe = () => person("zo\u00eb\u2028", "acme", { email: "z@acme.example", name: "Zo\u00eb" });
  assert.equal((await ask(zoe(), "GET", "/api/tenants/members")).body.members.length, 2);
  assertError(await ask(person("eve", "acme"), "GET", "/api/boards"), 403, DENIED);
  assertError(await ask(person("ann", "globex"), "GET", "/api/boards"), 403, DENIED);
  const query = { query: "{ boards { title } }" };
  const graph = await ask(ann(), "POST", "/graphql", query);
  assert.deepEqual([graph.status, graph.body], [200, { data: { boards: [] } }]);

  const invited = await ask(ann(), "POST", "/api/tenants/invitations", { role: "member" });
  assert.equal(invited.status, 201);
  const accept = (token: string) =>
    ask(person("ida", "elsewhere"), "POST", "/api/tenants/invitations/accept", { token });
  assert.equal(await status(accept(`${invited.body.token}x`)), 403);
  assert.equal(await status(accept(invited.body.token)), 200);
  assert.equal(await status(accept(invited.body.token)), 403);

  const made = await ask(ann(), "POST", "/api/tenants/keys", { name: "ci", role: "member" });
  const byKey = (key: string) => ask(Promise.resolve(key), "GET", "/api/boards");
  assert.equal(await status(byKey(made.body.key)), 200);
  assert.equal(await status(byKey(`${made.body.key.slice(0, -4)}0000`)), 401);
  assert.equal(await status(ask(Promise.resolve(made.body.key), "GET", "/api/tenants/current")), 200);
});

test("registration, the life of a tenant, sample data, deletion and export work", async () => {
  const registered = await ask(person("rita", "fresh"), "POST", "/api/tenants/register", {
    organization_name: "Fresh",
    organization_slug: "fresh",
    admin_email: "rita@fresh.example",
  });
  assert.equal(registered.status, 201);
  const boards = async (slug: string, sub: string) =>
    (await ask(person(sub, slug), "GET", "/api/boards")).body.boards?.length;
  assert.equal(await boards("fresh", "rita"), 1);
  assert.equal((await ask(person("rita", "any"), "GET", "/api/tenants/mine")).body.total_count, 1);

  const created = await ask(operator(), "POST", "/api/setup/tenant", {
    name: "Made",
    slug: "made",
    include_sample_data: true,
  });
  assert.equal(created.status, 201);
  const url = `/api/setup/tenant/${created.body.tenant_id}`;
  assert.equal(await status(ask(operator(), "POST", `${url}/suspend`)), 200);
  assert.equal(await status(ask(operator(), "POST", `${url}/resume`)), 200);
  assert.equal((await ask(operator(), "GET", `${url}/members`)).body.members.length, 1);
  const explained = await ask(operator(), "GET", "/api/setup/explain?tenant=made&subject=nobody");
  assert.equal(explained.status, 200, JSON.stringify(explained.body));
  assert.equal(await status(ask(ann(), "GET", "/api/setup/tenants")), 403);
  assert.equal((await ask(operator(), "GET", "/api/setup/status")).status, 200);

  const owner = postgres(database.urls.owner, { max: 1, onnotice: () => {}, fetch_types: false });
  let lines = 0;
  for await (const text of exportTenant(owner, "made")) lines += text.split("\n").length - 1;
  await owner.end();
  assert.ok(lines > 8, "the sample rows are in the file");
  assert.equal(await status(ask(operator(), "DELETE", url)), 200);
  assert.equal((await service.request({ url: "/ready" })).status, 200);
});

test("single-tenant mode: the first request joins, with proofs too", () =>
  withService(database, { ...ENV, SERVICE_MULTI_TENANT_MODE: "false" }, async single => {
    for (let i = 0; i < 2; i++)
      assert.equal((await single.request({ url: "/api/boards", token: await person("new") })).status, 200);
  }));

test("an instance with another secret, with none, or on a database without one does not start", async () => {
  const start = (env: Record<string, string>, on = database) => withService(on, env, async () => {});
  await assert.rejects(
    start({}),
    /The database asks for a proof of each caller: set SERVICE_TENANT_CONTEXT_SECRET/,
  );
  const other = { SERVICE_TENANT_CONTEXT_SECRET: `${CONTEXT_SECRET}.` };
  await assert.rejects(start(other), /The database has another secret than SERVICE_TENANT_CONTEXT_SECRET/);
  const plain = await createDatabase();
  await assert.rejects(start(ENV, plain), /the database has no secret/).finally(() => plain.drop());
  const now = Date.now;
  Date.now = () => now() + 45_000;
  await assert
    .rejects(start(ENV), /The clock of the service is 4\d s ahead of that of the database/)
    .finally(() => {
      Date.now = now;
    });
});

test("a function of the same name with parameters of other types is not the one that requests call", async () => {
  const [own] = await sql`
    select p.oid::regprocedure::text as signature, pg_get_function_result(p.oid) as result
    from pg_proc p where p.oid::regproc::text = 'api.list_boards'`;
  // A text is what a value without a type would mean first.
  const text = own!.signature.replace("integer", "text");
  await sql.unsafe(
    `create function ${text} returns record language plpgsql as $$ begin raise 'not this one'; end $$`,
  );
  await withService(database, ENV, async fresh => {
    const answer = await fresh.request({ url: "/api/boards", token: await ann() });
    assert.equal(answer.status, 200);
  });
  await sql.unsafe(`drop function ${text}`);
});

test("ready is 503 with the difference while the clock of the instance is far from the database's", async t => {
  const now = Date.now;
  t.after(() => {
    Date.now = now;
  });
  for (const [ms, told] of [
    [120_000, /^clock: this instance is (119|12\d) s ahead of the database/],
    [-120_000, /^clock: this instance is (119|12\d) s behind the database/],
  ] as const) {
    Date.now = () => now() + ms;
    await new Promise(resolve => setTimeout(resolve, 1_100)); // answers are shared for a second
    const { status, body } = await service.request({ url: "/ready" });
    assert.equal(status, 503);
    assert.match(body.detail, told);
    // From both sides the database refuses what such a clock makes.
    assert.equal((await ask(ann(), "GET", "/api/boards")).status, 503);
  }
});

test("a request whose proof the database refuses is 503, and the log has the reason, and never the secret", async () => {
  const { database: door } = service.app;
  door.contextSecret = "another secret of thirty-two bytes or more";
  const answer = await ask(ann(), "GET", "/api/boards");
  door.contextSecret = CONTEXT_SECRET;
  assert.deepEqual([answer.status, answer.body.detail], [503, "The proof of the caller is not valid"]);
  const text = JSON.stringify(service.logs);
  assert.match(text, /proof_refused/);
  assert.ok(!text.includes(CONTEXT_SECRET));
});
