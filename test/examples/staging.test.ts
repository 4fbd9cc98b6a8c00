/** The recipe *A copy for staging* of docs/operations.md, on a database in which every table has rows. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import postgres from "postgres";
import { removeSecret } from "../../src/migrate/tenant-context.ts";
import { createDatabase, createService, requireProofs, token } from "../harness.ts";

const [, section] = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8").split(
  "### A copy for staging",
);
const recipe = /```sql\n([\s\S]*?)```/.exec(section!)![1]!;
const harmless = new Set(
  [...recipe.slice(recipe.indexOf("-- Stays")).matchAll(/(\w+\.\w+)\s\(([^)]+)\)/g)].flatMap(
    ([, table, columns]) => columns!.split(/,\s*/).map(column => `${table}.${column}`),
  ),
);

const database = await createDatabase();
const { sql } = database;
const owner = postgres(database.urls.owner, { max: 1, onnotice: () => {} });
after(async () => {
  await owner.end();
  await database.drop();
});

/** Every column of a type that may hold a name, a secret or a text of somebody. */
const columns = await sql<{ table: string; column: string }[]>`
  select c.oid::regclass::text as table, a.attname as column
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid left join pg_type e on e.oid = t.typelem and t.typcategory = 'A'
  where c.relkind in ('r', 'p') and c.relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema', 'pg_toast')
    and not c.relispartition and coalesce(e.typname, t.typname) in ('text', 'varchar', 'bpchar', 'json', 'jsonb', 'bytea', 'citext')
  order by 1, 2`;

const valuesOf = async (table: string, column: string) => {
  const rows = await sql.unsafe<{ value: string }[]>(
    `select "${column}"::text as value from ${table} where "${column}" is not null`,
  );
  return rows.map(({ value }) => value);
};
const countOf = async (table: string) =>
  Number((await sql.unsafe(`select count(*) as n from ${table}`))[0]!.n);

test("the recipe for a copy blanks or deletes every text, json and bytea column, or names it harmless", async () => {
  const service = await createService(database);
  const operator = await token({ sub: "olga", tenant: "x", roles: ["tenant-operator"] });
  const ann = await token({ sub: "ann", tenant: "acme", email: "ann@acme.example", name: "Ann" });
  const post = async (url: string, by: string, body: object, headers = {}) => {
    const answer = await service.request({ method: "POST", url, token: by, body, headers });
    assert.ok(answer.status < 300, `${url}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const owned = { auth_subject: "ann", email: "ann@acme.example", display_name: "Ann" };
  await post(
    "/api/setup/tenant",
    operator,
    { name: "Acme", slug: "acme", settings: { plan: "secret" }, include_sample_data: true, owner: owned },
    { "idempotency-key": "key-of-acme" },
  );
  await post("/api/tenants/register", await token({ sub: "bea", tenant: "beta" }), {
    organization_name: "Beta",
    admin_email: "bea@beta.example",
  });
  const { key } = await post("/api/tenants/keys", ann, { name: "CI", role: "admin" });
  const { token: invitation } = await post("/api/tenants/invitations", ann, {
    role: "admin",
    email: "carl@acme.example",
  });
  await sql.unsafe(`
    update app.boards set description = 'A plan', settings = '{"a": 1}';
    update app.generations set input = '{"prompt": "a cat"}', error = 'it failed for ann';
    update app.provider_configs set config = '{"key": "sk-1"}', is_enabled = true;
    update app.credit_transactions set description = 'for ann';
    insert into audit.vouched (kind, object, hash, reason) values ('function', 'f()', 'h', 'ticket of ann')`);
  await requireProofs(database);
  const before = new Map<string, string[]>();
  for (const { table, column } of columns) before.set(`${table}.${column}`, await valuesOf(table, column));
  await owner.unsafe(recipe).simple();

  const left: string[] = [];
  const unproved: string[] = [];
  for (const { table, column } of columns) {
    const name = `${table}.${column}`;
    if (harmless.has(name) || (await countOf(table)) === 0) continue;
    const had = new Set(before.get(name)!.filter(value => value !== "{}"));
    if (had.size === 0) unproved.push(name);
    if ((await valuesOf(table, column)).some(value => had.has(value))) left.push(name);
  }
  assert.deepEqual(left, [], "the recipe leaves these values: treat the column, or name it harmless");
  assert.deepEqual(unproved, [], "this test gives these columns no value before the recipe");
  const known = new Set(columns.map(({ table, column }) => `${table}.${column}`));
  assert.deepEqual(
    [...harmless].filter(name => !known.has(name)),
    [],
    "named harmless, and not there",
  );

  await removeSecret(owner);
  const slug = (await sql`select slug from app.tenants limit 1`)[0]!.slug as string;
  assert.equal((await service.request({ url: "/api/tenants/current", token: key })).status, 401);
  const accept = await service.request({
    method: "POST",
    url: "/api/tenants/invitations/accept",
    token: await token({ sub: "carl", tenant: slug, email: "carl@acme.example" }),
    body: { token: invitation },
  });
  assert.equal(accept.status, 403);
  await service.close();
});
