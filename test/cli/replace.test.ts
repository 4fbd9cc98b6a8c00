/** `tenancy diff` and `tenancy import --replace`: one tenant back to yesterday. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { temporaryFolder } from "../folder.ts";
import { createDatabase, createService, seedTenant, seedUser, token } from "../harness.ts";
import { lockWaiters } from "../until.ts";
import { inShell, outcome, tenancy } from "./command.ts";

const folder = temporaryFolder("replace");
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

test("diff names the tables whose rows differ, in number or in value, and its status says whether any does", async () => {
  assert.equal((await run("export", "--tenant", "acme", "--output", yesterday)).code, 0);
  const same = await run("diff", yesterday);
  assert.deepEqual([same.code, same.stderr], [0, ""]);
  assert.match(
    same.stdout,
    new RegExp(`^acme \\(${acme}\\) and its export of .*Z: every table has the same rows$`),
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
      ["app.tenants", "1", "1", "other", "values"],
      ["app.users", "1", "1", "other", "values"],
      ["app.boards", "1", "2"],
      ["app.media", "3", "0"],
    ],
  );
  const json = await run("diff", yesterday, "--json");
  assert.deepEqual(JSON.parse(json.stdout).tables, [
    { table: "app.tenants", file: 1, database: 1 },
    { table: "app.users", file: 1, database: 1 },
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
  await says(/--delete-unknown goes with --replace/, yesterday, "--delete-unknown");
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
  const unknown = await run("import", yesterday, "--replace", "--yes");
  assert.match(
    unknown.stderr,
    /has rows that the file does not have: 2 of app\.notes\. --delete-unknown deletes them/,
  );
  const others = await content(globex);
  const [before] = await sql`select updated_at from app.tenants where id = ${acme}`;
  // A member's transaction is inside: the replacement waits for it, and newcomers are refused meanwhile.
  const inside = await sql.reserve();
  await inside`begin`;
  await inside`select app.set_tenant(${acme})`;
  await inside`insert into app.boards (tenant_id, owner_id, title) select tenant_id, id, 'Last' from app.users where tenant_id = ${acme}`;
  const replacing = run("import", yesterday, "--replace", "--delete-unknown", "--yes", "--json");
  await lockWaiters(sql);
  await assert.rejects(Promise.resolve(sql`select app.set_tenant(${acme})`), /being deleted or replaced/);
  await inside`commit`;
  inside.release();
  const done = await replacing;
  assert.equal(done.code, 0, done.stderr);
  const { tenant_id, slug, counts, replaced } = JSON.parse(done.stdout);
  assert.deepEqual([tenant_id, slug, counts["app.media"]], [acme, "acme", 3]);
  assert.ok(replaced.rows > 10);
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
    new RegExp(
      `^Replaced acme \\(${acme}\\): \\d+ rows in \\d+ tables, instead of \\d+\\nAPI keys that stay: 0\\. Open invitations that ended: 0\\n$`,
    ),
  );
  const [tenant] = await sql`select status, status_before, name from app.tenants where id = ${acme}`;
  assert.deepEqual({ ...tenant }, { status: "deleted", status_before: "suspended", name: "Acme" });
});

test("a tenant with API keys and invitations can be replaced: keys stay as they are today, invitations end", async () => {
  const service = await createService(database);
  const firm = await seedTenant(sql, { slug: "firm" });
  await seedUser(sql, firm, { subject: "ann", role: "owner" });
  await seedUser(sql, firm, { subject: "leaver", role: "admin" });
  const ask = async (sub: string, method: "GET" | "POST" | "DELETE", path: string, body?: object) =>
    service.request({
      method,
      url: `/api/tenants/${path}`,
      token: await token({ sub, tenant: "firm" }),
      body,
    });
  const makeKey = async (sub: string, name: string) =>
    (await ask(sub, "POST", "keys", { name, role: "member" })).body as { key: string; key_id: string };
  const works = async ({ key }: { key: string }) =>
    (await service.request({ url: "/api/tenants/current", token: key })).status;
  const early = await makeKey("ann", "early");
  const revoked = await makeKey("ann", "revoked");
  const file = path.join(folder, "firm.jsonl");
  assert.equal((await run("export", "--tenant", "firm", "--output", file)).code, 0);
  const same = await run("import", file, "--replace", "--yes");
  assert.match(same.stdout, /: 4 rows in \d+ tables, instead of 4\n/);

  await ask("ann", "DELETE", `keys/${revoked.key_id}`);
  await seedUser(sql, firm, { subject: "newcomer", role: "admin" });
  const late = await makeKey("newcomer", "late");
  // The same person under another row: as if removed and added again in SQL.
  const [{ id: leaver }] =
    (await sql`select id from app.users where tenant_id = ${firm} and auth_subject = 'leaver'`) as unknown as [
      { id: string },
    ];
  await sql`delete from app.users where id = ${leaver}`;
  await seedUser(sql, firm, { subject: "leaver", role: "admin" });
  const again = await makeKey("leaver", "again");
  const expired = await makeKey("ann", "expired");
  await sql`
    update app.api_keys set created_at = now() - interval '2 days', expires_at = now() - interval '1 day' where id = ${expired.key_id}`;
  const { body: invitation } = await ask("ann", "POST", "invitations", { role: "member" });
  await sql`
    insert into app.invitations (tenant_id, token_hash, invited_by, created_at, expires_at)
    select ${firm}, sha256('x'), id, now() - interval '9 days', now() - interval '2 days' from app.users
    where tenant_id = ${firm} and auth_subject = 'newcomer'`;
  const done = await run("import", file, "--replace", "--yes");
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, /\nAPI keys that stay: 3\. Open invitations that ended: 1$/);
  assert.deepEqual(
    [await works(early), await works(late), await works(again), await works(revoked)],
    [200, 200, 200, 401],
  );
  assert.equal((await ask("newcomer", "GET", "current")).status, 403, "the file does not know this member");
  const { body: listed } = await ask("ann", "GET", "keys");
  const makers = await sql<{ name: string; maker: string }[]>`
    select k.name, u.auth_subject as maker from app.api_keys k join app.users u on (u.tenant_id, u.id) = (k.tenant_id, k.created_by)
    where k.tenant_id = ${firm} and k.revoked_at is null order by k.name`;
  assert.deepEqual(
    [listed.keys.length, [...makers].map(({ name, maker }) => `${name} ${maker}`)],
    [4, ["again leaver", "early ann", "expired ann", "late newcomer"]],
  );
  const events = await sql`
    select event, target_id::text from control.tenant_events
    where tenant_id = ${firm} and event in ('invitation.revoked', 'tenant.replaced') order by id desc limit 2`;
  assert.deepEqual(
    [...events].map(row => ({ ...row })),
    [
      { event: "tenant.replaced", target_id: null },
      { event: "invitation.revoked", target_id: invitation.invitation_id },
    ],
  );
  const twice = await run("import", file, "--replace", "--yes");
  assert.equal(twice.code, 0, twice.stderr);
  assert.deepEqual([await works(early), await works(late)], [200, 200]);
  await service.close();
});

test("a replacement that would delete or change rows outside of the file is refused, and names them", async () => {
  await sql.unsafe(`
    create schema sx; grant usage on schema sx to tms_app, tms_auditor; create schema billing; grant all on schema billing, sx to tms_owner;
    set role tms_owner;
    create table sx.notes (tenant_id uuid not null, id uuid default gen_random_uuid(), primary key (tenant_id, id));
    select app.isolate('sx.notes');
    create table billing.lines (id int primary key, account uuid, note uuid,
      constraint lines_note foreign key (account, note) references sx.notes (tenant_id, id) on delete cascade);
    reset role`);
  await sql`insert into sx.notes (tenant_id) values (${globex}), (${globex})`;
  await sql`insert into billing.lines select row_number() over (), tenant_id, id from sx.notes`;
  const file = path.join(folder, "globex.jsonl");
  assert.equal((await run("export", "--tenant", "globex", "--output", file)).code, 0);
  const before = await content(globex);
  const lines = () => sql`select * from billing.lines order by id`;
  const kept = await lines();
  const refusal = async () => (await run("import", file, "--replace", "--yes")).stderr;
  const says = (what: string) =>
    `Rows that the file does not have would be deleted or changed: 2 of billing.lines (${what}). docs/`;
  assert.ok((await refusal()).startsWith(says("foreign key lines_note")), await refusal());
  const key = "alter table billing.lines drop constraint if exists lines_note";
  await sql.unsafe(
    `${key}, add constraint lines_note foreign key (account, note) references sx.notes (tenant_id, id) on delete set null`,
  );
  assert.ok((await refusal()).startsWith(says("foreign key lines_note")));
  await sql.unsafe(
    `${key}, add constraint lines_note foreign key (account, note) references sx.notes (tenant_id, id)`,
  );
  assert.match(await refusal(), /^sx\.notes cannot be emptied: .*"lines_note" on table "lines"/);
  await sql.unsafe(`${key};
    create function sx.forget() returns trigger language plpgsql security definer as
      $$begin delete from billing.lines where note = old.id; return null; end$$;
    create trigger forget after delete on sx.notes for each row execute function sx.forget()`);
  assert.ok((await refusal()).startsWith(says("by a trigger")));
  assert.deepEqual([await content(globex), [...(await lines())]], [before, [...kept]]);
  await sql.unsafe(`drop trigger forget on sx.notes;
    ${key}, add constraint lines_note foreign key (account, note) references sx.notes (tenant_id, id) deferrable initially deferred`);
  const done = await run("import", file, "--replace", "--yes");
  assert.deepEqual([done.code, done.stderr], [0, ""]);
  assert.deepEqual([...(await lines())], [...kept], "they point at the rows that came back");
});
