/** `tenancy diff` and `tenancy import --replace`: one tenant back to yesterday. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { createDatabase, seedTenant, seedUser } from "../harness.ts";
import { lockWaiters } from "../until.ts";
import { inShell, outcome, tenancy } from "./command.ts";

const folder = mkdtempSync(path.join(tmpdir(), "tms-replace-"));
const database = await createDatabase();
const { sql } = database;
const env = { DATABASE_URL: database.urls.owner };
const acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
const globex = await seedTenant(sql, { slug: "globex" });
for (const tenant of [acme, globex]) {
  const owner = await seedUser(sql, tenant, { subject: "alice", role: "owner" });
  await sql.begin(async tx => {
    await tx`select app.set_tenant(${tenant})`;
    await tx`select app.create_sample_data(${tenant}, ${owner})`;
  });
}
const yesterday = path.join(folder, "acme.jsonl");
after(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});
const run = (...args: string[]) => outcome(tenancy(args, env));

const TABLES = [
  "users",
  "boards",
  "board_members",
  "generations",
  "media",
  "provider_configs",
  "credit_transactions",
];
/** Everything that a tenant holds, and its own row but for the time of its last change. */
async function content(id: string) {
  const all: Record<string, unknown> = {};
  for (const table of TABLES)
    all[table] = (
      await sql.unsafe(
        `select count(*)::int as n, md5(string_agg(t::text, ',' order by t::text)) as sum from app.${table} t where tenant_id = $1`,
        [id],
      )
    )[0];
  const [tenant] = await sql`
    select id, name, slug, settings, status, is_default, registration, created_at::text, deleted_at from app.tenants where id = ${id}`;
  return { ...all, tenant };
}

/** A day of work: rows added, changed and gone, a new name, a new table with rows. */
async function spoil() {
  await sql`insert into app.boards (tenant_id, owner_id, title) select tenant_id, id, 'New' from app.users where tenant_id = ${acme}`;
  await sql`delete from app.media where tenant_id = ${acme}`;
  await sql`update app.users set email = 'changed@example.com' where tenant_id = ${acme}`;
  await sql`update app.tenants set name = 'Renamed', settings = '{"a": 1}' where id = ${acme}`;
}

test("diff names the tables whose numbers differ, and its status says whether any does", async () => {
  assert.equal((await run("export", "--tenant", "acme", "--output", yesterday)).code, 0);
  const same = await run("diff", yesterday);
  assert.deepEqual([same.code, same.stderr], [0, ""]);
  assert.match(
    same.stdout,
    new RegExp(`^acme \\(${acme}\\) and its export of .*Z: every table has as many rows$`),
  );
  await spoil();
  const differs = await run("diff", yesterday);
  assert.equal(differs.code, 1, differs.stderr);
  assert.deepEqual(
    differs.stdout
      .split("\n")
      .slice(1)
      .map(line => line.split(/ +/)),
    [
      ["table", "file", "database"],
      ["app.boards", "1", "2"],
      ["app.media", "3", "0"],
    ],
  );
  const json = await run("diff", yesterday, "--json");
  assert.deepEqual(JSON.parse(json.stdout).tables, [
    { table: "app.boards", file: 1, database: 2 },
    { table: "app.media", file: 3, database: 0 },
  ]);
  const damaged = path.join(folder, "damaged.jsonl");
  writeFileSync(damaged, readFileSync(yesterday, "utf8").replace("alice", "alicf"));
  const elsewhere = path.join(folder, "elsewhere.jsonl");
  writeFileSync(elsewhere, readFileSync(yesterday, "utf8").slice(0, -30));
  for (const [file, says] of [
    [damaged, /checksum does not match/],
    [elsewhere, /damaged/],
    [path.join(folder, "missing"), /cannot be read/],
  ] as const) {
    const { code, stdout, stderr } = await run("diff", file);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.match(stderr, says);
  }
});

test("import --replace asks, and refuses what it cannot ask or must not do, before anything changes", async () => {
  const before = await content(acme);
  const says = async (pattern: RegExp, ...args: string[]) => {
    const { code, stderr } = await run("import", ...args);
    assert.equal(code, 1);
    assert.match(stderr, pattern);
  };
  await says(/there is no terminal to ask on: --yes/, yesterday, "--replace");
  await says(/--slug cannot go with --replace/, yesterday, "--replace", "--slug", "x", "--yes");
  await says(/--yes goes with --replace/, yesterday, "--yes");
  await sql`update app.tenants set slug = 'acme-of-old' where id = ${acme}`;
  await sql`insert into app.tenants (slug, name) values ('acme', 'Other')`;
  await says(/the slug acme of the file is another tenant's by now/i, yesterday, "--replace", "--yes");
  const other = path.join(folder, "other.jsonl");
  writeFileSync(
    other,
    readFileSync(yesterday, "utf8").replaceAll(acme, "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10"),
  );
  await says(
    /The file is another tenant's: it was exported from 5c6f1a52-\S+, and acme here is/,
    other,
    "--replace",
  );
  await sql`delete from app.tenants where slug = 'acme'`;
  await sql`update app.tenants set slug = 'acme' where id = ${acme}`;
  await sql.unsafe("create function app.distribute(regclass) returns void language sql as ''");
  await says(/does not work on a distributed database/, yesterday, "--replace");
  await sql.unsafe("drop function app.distribute(regclass)");
  const cut = path.join(folder, "cut.jsonl");
  writeFileSync(cut, `${readFileSync(yesterday, "utf8").trimEnd().split("\n").slice(0, -1).join("\n")}\n`);
  await says(/cut off/, cut, "--replace", "--yes");
  await sql`create policy live on app.credit_transactions as restrictive to tms_app using (amount > 0)`;
  await says(
    /app\.credit_transactions cannot be emptied: tms_app sees 1 of its 2 rows of the tenant/,
    yesterday,
    "--replace",
    "--yes",
  );
  await sql`drop policy live on app.credit_transactions`;
  assert.deepEqual(await content(acme), before);
});

test("import --replace brings one tenant back to its file, keeps its id and status, and touches no other", async () => {
  await sql`update app.tenants set status = 'suspended' where id = ${acme}`;
  await sql.begin(tx =>
    tx.unsafe(`set local role tms_owner;
    create table app.notes (tenant_id uuid not null, id int not null, board_id uuid, primary key (tenant_id, id),
      foreign key (tenant_id, board_id) references app.boards (tenant_id, id));
    create index on app.notes (tenant_id, board_id);
    select app.isolate('app.notes')`),
  );
  await sql`alter function app.fence_tenant(uuid) set lock_timeout = '60s'`;
  await sql`insert into app.notes select tenant_id, row_number() over (), id from app.boards`;
  const others = await content(globex);
  const [before] = await sql`select updated_at from app.tenants where id = ${acme}`;
  // A member's transaction is inside: the replacement waits for it, and newcomers are refused meanwhile.
  const inside = await sql.reserve();
  await inside`begin`;
  await inside`select app.set_tenant(${acme})`;
  await inside`insert into app.boards (tenant_id, owner_id, title) select tenant_id, id, 'Last' from app.users where tenant_id = ${acme}`;
  const replacing = run("import", yesterday, "--replace", "--yes", "--json");
  await lockWaiters(sql);
  await assert.rejects(Promise.resolve(sql`select app.set_tenant(${acme})`), /being deleted or replaced/);
  await inside`commit`;
  inside.release();
  const done = await replacing;
  assert.equal(done.code, 0, done.stderr);
  const { tenant_id, slug, counts, replaced_rows } = JSON.parse(done.stdout);
  assert.deepEqual([tenant_id, slug, counts["app.media"]], [acme, "acme", 3]);
  assert.ok(replaced_rows > 10);
  const now = await content(acme);
  const { tenant, users, media } = now as unknown as Record<
    string,
    { status: string; name: string; n: number }
  >;
  assert.deepEqual([tenant!.status, tenant!.name, users!.n, media!.n], ["suspended", "Acme", 1, 3]);
  assert.equal((await sql`select from app.notes where tenant_id = ${acme}`).count, 0);
  assert.equal((await run("diff", yesterday)).code, 0);
  const again = path.join(folder, "again.jsonl");
  await run("export", "--tenant", "acme", "--output", again);
  const rows = (file: string) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter(line => line.includes('"row"') && !line.startsWith('{"table":"app.tenants"'))
      .toSorted((a, b) => (a < b ? -1 : 1));
  assert.deepEqual(rows(again), rows(yesterday));
  assert.deepEqual(await content(globex), others);
  const [after_] = await sql`select updated_at from app.tenants where id = ${acme}`;
  assert.ok(after_!.updated_at > before!.updated_at, "an ETag of today's content does not come back");
  const events = await sql<{ event: string; changed: string[] | null }[]>`
    select event, changed from control.tenant_events where tenant_id = ${acme} and event = 'tenant.replaced'`;
  assert.deepEqual(
    [...events].map(({ event, changed }) => [event, changed]),
    [["tenant.replaced", ["name", "settings"]]],
  );
});

test("from standard input, and a deleted tenant stays deleted until it is restored", async () => {
  await sql`update app.tenants set status = 'deleted', status_before = status, deleted_at = now(), purge_at = now() + interval '1 day' where id = ${acme}`;
  await spoil();
  const { status, stdout, stderr } = inShell(`import - --replace --yes < ${yesterday}`, env);
  assert.equal(status, 0, stderr);
  assert.match(
    stdout,
    new RegExp(`^Replaced acme \\(${acme}\\): \\d+ rows in \\d+ tables, instead of \\d+\\n$`),
  );
  const [tenant] = await sql`select status, status_before, name from app.tenants where id = ${acme}`;
  assert.deepEqual({ ...tenant }, { status: "deleted", status_before: "suspended", name: "Acme" });
});
