import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import postgres from "postgres";
import { exportTenant } from "../../src/transfer/export.ts";
import { linesOf, type Trailer } from "../../src/transfer/file.ts";
import { importTenant } from "../../src/transfer/import.ts";
import { createDatabase, type Database, seedTenant, seedUser } from "../harness.ts";

/** Tables that came with somebody's own migration: kinds of columns that get lost easily, rows that refer to each other. */
const ADDED = `
  create table app."Odd notes" (
    tenant_id uuid not null, id bigint generated always as identity, parent bigint, note text, raw json, amount numeric,
    blob bytea, tags text[], span tstzrange, ratio float8, doubled numeric generated always as (amount * 2) stored,
    primary key (tenant_id, id), foreign key (tenant_id, parent) references app."Odd notes" (tenant_id, id));
  create domain app.object as jsonb check (jsonb_typeof(value) = 'object');
  create type app.pair as (a jsonb, b int[]);
  create table app.samples (
    tenant_id uuid not null, id int not null, t text not null, r text, value numeric, line text, "it's" jsonb, plain json,
    many jsonb[], cells int[], pair app.pair, object app.object, lasts interval, primary key (tenant_id, id));
  select app.isolate('app."Odd notes"');
  select app.isolate('app.samples')`;

const [source, target] = await Promise.all([createDatabase(), createDatabase()]);
const from = postgres(source.urls.owner, { max: 2, onnotice: () => {}, fetch_types: false });
const to = postgres(target.urls.owner, { max: 2, onnotice: () => {}, fetch_types: false });
for (const owner of [from, to]) await owner.unsafe(ADDED);
const { sql } = source;
const acme = await seedTenant(sql, { slug: "acme", name: 'Acme "quoted" \u2028 \n line' });
const alice = await seedUser(sql, acme, { subject: "alice", role: "owner" });
const globex = await seedTenant(sql, { slug: "globex" });
await seedUser(sql, globex, { subject: "bob" });
await sql.begin(async sql => {
  await sql`select app.set_tenant(${acme})`;
  await sql`select app.create_sample_data(${acme}, ${alice})`;
  await sql`
    insert into app.boards (tenant_id, owner_id, title, description)
    select ${acme}, ${alice}, 'Board ' || n, e'two\\nlines \\u2028 and \\u0001' from generate_series(1, 2500) n`;
  await sql`
    insert into app."Odd notes" (tenant_id, note, raw, amount, blob, tags, span, ratio)
    select ${acme}, 'n' || n, e'{"b" : 1,\\n "a": 12345678901234567890.10, "a": 2}', 0.1234567890123456789 * n,
      '\\x00ff', array['a,"b"', null, '{}'], tstzrange(now(), null), case when n = 1 then 'NaN' else 1e-300 end
    from generate_series(1, 1200) n`;
  await sql`
    insert into app.samples (tenant_id, id, t, r, value, line, "it's", plain, many, cells, pair, object, lasts) values (${acme}, 1, 't', 'r', 1, 'line', 'null', 'null', array[null, 'null', '"text"']::jsonb[],
      '[-1:1]={1,null,3}', row('null', '[5:5]={0}'), '{"a": null}', '-1 day 02:00')`;
  await sql`insert into app.samples (tenant_id, id, t) values (${acme}, 2, 't')`;
  // The first refers to the last: no order of single rows fits.
  await sql`update app."Odd notes" set parent = 1201 - id`;
});
after(async () => {
  await Promise.all([from.end(), to.end()]);
  await Promise.all([source.drop(), target.drop()]);
});

async function text(slug: string): Promise<string> {
  let all = "";
  for await (const lines of exportTenant(from, slug)) all += lines;
  return all;
}

async function* chunks(all: string, size = 999): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(all);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const load = (all: string, slug?: string, sql = to) => importTenant(sql, linesOf(chunks(all)), slug);

const TABLES = [
  "users",
  "boards",
  "board_members",
  "generations",
  "media",
  "provider_configs",
  "credit_transactions",
  '"Odd notes"',
  "samples",
];

/** Everything a tenant holds, without the tenant's own id. */
async function content({ sql }: Database, id: string) {
  const all: Record<string, unknown> = {};
  for (const table of TABLES) {
    // As text, which keeps apart what JSON does not; the tenant is the first column.
    const [row] = await sql.unsafe(
      `select count(*)::int as n, md5(string_agg(line, ',' order by line)) as sum
       from (select substr((t.*)::text, 38) as line from app.${table} t where tenant_id = $1) rows`,
      [id],
    );
    all[table] = [row!.n, row!.sum];
  }
  const [tenant] = await sql`
    select name, settings, status, created_at::text, updated_at::text, registration from app.tenants where id = ${id}`;
  return { ...all, tenant: { ...tenant } };
}

test("a tenant goes into another deployment and is the same there, to the last digit, tables added later included", async () => {
  const done = await load(await text("acme"));
  assert.deepEqual([done.tenant_id, done.slug, done.media_of_former_tenant], [acme, "acme", 0]);
  assert.deepEqual([done.counts["app.boards"], done.counts['app."Odd notes"']], [2501, 1200]);
  assert.deepEqual(await content(target, acme), await content(source, acme));
  const [raw] = await target.sql`select raw::text from app."Odd notes" limit 1`;
  assert.match(raw!.raw as string, /12345678901234567890\.10/);
  const [next] = await target.sql`insert into app."Odd notes" (tenant_id) values (${acme}) returning id::int`;
  assert.equal(next!.id, 1201, "a number that was imported is not given out again");
  await target.sql`delete from app."Odd notes" where id = 1201`;
  const [event] = await target.sql`select event, login from control.tenant_events where tenant_id = ${acme}`;
  assert.deepEqual({ ...event }, { event: "tenant.imported", login: "tms_owner" });
});

test("beside the original it gets another slug and another id, and nothing of the original changes", async () => {
  const before = await content(source, acme);
  const done = await load(`${await text("acme")}\n`, "acme-copy", from);
  assert.notEqual(done.tenant_id, acme);
  assert.equal(done.media_of_former_tenant, 3);
  assert.deepEqual(await content(source, done.tenant_id), before);
  assert.deepEqual(await content(source, acme), before);
  // Also where its own slug is free again, and where its id is, but another slug is asked for.
  const all = await text("acme");
  await source.sql`update app.tenants set slug = 'acme-renamed', is_default = true where id = ${acme}`;
  const again = await load(all, undefined, from);
  assert.deepEqual([again.slug, again.tenant_id === acme], ["acme", false]);
  const ofDefault = await load(await text("acme-renamed"), "no-default", from);
  const [made] = await source.sql`select is_default from app.tenants where id = ${ofDefault.tenant_id}`;
  assert.equal(made!.is_default, false);
  await source.sql`delete from app.tenants where id = ${again.tenant_id}`;
  await source.sql`update app.tenants set slug = 'acme', is_default = false where id = ${acme}`;
  const globex = await load(await text("globex"), "globex-2");
  const [here] = await source.sql`select id from app.tenants where slug = 'globex'`;
  assert.notEqual(globex.tenant_id, here!.id);
  await target.sql`delete from app.tenants where slug = 'globex-2'`;
});

test("only the tenant's rows are in the file, below what it is and where it is from", async () => {
  const all = await text("acme");
  assert.ok(!all.includes("globex") && !all.includes("bob"));
  const [{ exported_at, tables, ...header }] = all
    .trimEnd()
    .split("\n")
    .map(line => JSON.parse(line));
  const [here] = await source.sql`
    select app.schema_version() as version, slug, name from app.tenants where id = ${acme}`;
  const { version, ...tenant } = here!;
  assert.deepEqual(header, {
    format: "tenant-export",
    version: 2,
    schema_version: version,
    tenant: { id: acme, ...tenant },
  });
  assert.match(exported_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  const names = tables.map(({ name }: { name: string }) => name);
  assert.deepEqual(new Set(names), new Set(TABLES.map(name => `app.${name}`)));
});

test("invitations stay behind: a token is good in one place, and is not opened again by an older file", async () => {
  const [inviter] = await source.sql`select id from app.users where tenant_id = ${acme} limit 1`;
  await source.sql`insert into app.invitations (tenant_id, token_hash, invited_by) values (${acme}, sha256('secret'), ${inviter!.id})`;
  const all = await text("acme");
  await source.sql`delete from app.invitations`;
  assert.ok(!all.includes("invitations"));
  const forged = all.trimEnd().split("\n");
  const header = JSON.parse(forged[0]!);
  header.tables.push({ name: "app.invitations", columns: ["tenant_id"] });
  await assert.rejects(
    load(sealed([JSON.stringify(header), ...forged.slice(1, -1)], {}), "forged"),
    /app\.invitations/,
  );
});

test("a used slug is refused", async () => {
  await assert.rejects(load(await text("acme"), "globex", from), /A tenant with the slug globex exists/);
  await assert.rejects(text("nobody"), /There is no tenant with the slug nobody/);
});

test("whatever is wrong with a file, nothing of it stays", async () => {
  const all = await text("globex");
  const lines = all.trimEnd().split("\n");
  const { id } = (JSON.parse(lines[0]!) as { tenant: { id: string } }).tenant;
  const broken: [what: string, file: string, says: RegExp][] = [
    ["nothing", "", /cut off/],
    ["no trailer", `${lines.slice(0, -1).join("\n")}\n`, /cut off/],
    ["no row, not even the tenant's", sealed(lines.slice(0, 1), {}), /cut off/],
    [
      "a row before the tenant's",
      sealed([lines[0]!, lines[2]!, lines[1]!], {}),
      /does not begin with its tenant/,
    ],
    [
      "rows that the header does not name",
      sealed([...lines.slice(0, -1), lines[2]!.replace("app.users", "app.nowhere")], {}),
      /rows of app\.nowhere, which its header does not name/,
    ],
    ["half a line", all.slice(0, -30), /damaged/],
    ["a row missing", all.replace(`${lines.at(-2)}\n`, ""), /checksum/],
    ["a value changed", all.replace('"bob"', '"eve"'), /checksum/],
    ["a row twice", all.replace(`${lines.at(-2)}\n`, `${lines.at(-2)}\n${lines.at(-2)}\n`), /duplicate key/],
    ["more after the end", `${all}{"table":"app.users","row":{}}\n`, /has lines after its trailer/],
    ["something before a row", sealed([...lines.slice(0, -1), `x${lines.at(-2)}`], {}), /not JSON/],
    ["another format", all.replace('"tenant-export"', '"lodger-export"'), /not a tenant's export/],
    ["another program's file", '{"some":"json"}\n', /not a tenant's export/],
    ["no JSON", "hello\n", /not JSON/],
    ["no object", "null\n", /not a tenant's export/],
    ["no tables", all.replace('"tables":', '"tablets":'), /damaged/],
    ["no columns", all.replace('"columns":', '"rows":'), /damaged/],
    ["no tenant", all.replace('"tenant":', '"lodger":'), /damaged/],
    ["no numbers", all.replace('"app.users":1', '"app.users":"1"'), /neither a row nor the trailer/],
    ["no date", all.replace('"exported_at":', '"exported":'), /header is incomplete/],
    ["no tenant's row", sealed([lines[0]!, '{"table":"app.tenants","row":{]}'], {}), /not a JSON object/],
    ["no counts", all.replace('"counts":', '"count":'), /damaged/],
    ["a later version", all.replace('"version":2', '"version":3'), /version 3/],
    ["a table that is not here", all.replaceAll("app.users", "app.people"), /no table app\.people/],
    ["a column that is not here", all.replaceAll('"display_name"', '"nickname"'), /no column nickname/],
    [
      "rows of a table that is none of a tenant's",
      all.replaceAll('"app.users"', '"control.deployment"'),
      /no table control/,
    ],
  ];
  for (const [what, file, says] of broken) {
    await assert.rejects(load(file, undefined, to), says, what);
    const [left] = await target.sql`
      select (select count(*)::int from app.tenants where slug = 'globex' or id = ${id}) as tenants, (select count(*)::int from app.users where tenant_id <> ${acme}) as users`;
    assert.deepEqual({ ...left }, { tenants: 0, users: 0 }, what);
  }
  for (const [bytes, says] of [
    [[0xff, 0x0a], /it is not UTF-8/],
    [[0x7b, 0xc3], /cut off/],
  ] as const)
    await assert.rejects(importTenant(to, linesOf(Readable.from([Buffer.from(bytes)])), undefined), says);
});

function sealed(lines: string[], counts: Record<string, number>): string {
  const all = `${lines.join("\n")}\n`;
  const sha256 = createHash("sha256").update(all).digest("hex");
  return `${all}${JSON.stringify({ end: true, counts, sha256 })}\n`;
}

test("a forged file writes into the new tenant only, whatever tenant its rows name", async () => {
  const all = (await text("globex")).replaceAll(/"tenant_id":"[^"]+"/g, `"tenant_id":"${acme}"`);
  const lines = all.trimEnd().split("\n");
  const { counts } = JSON.parse(lines.pop()!) as Trailer;
  const before = await content(target, acme);
  const { tenant_id } = await load(sealed(lines, counts));
  assert.deepEqual(await content(target, acme), before);
  const bobs = await target.sql`select tenant_id from app.users where auth_subject = 'bob'`;
  assert.deepEqual([...bobs], [{ tenant_id }]);
});

test("the snapshot is one: what is written while the export goes on is not in it", async () => {
  const export_ = exportTenant(from, "acme");
  let all = (await export_.next()).value as string;
  await source.sql`
    insert into app.boards (tenant_id, owner_id, title) select tenant_id, id, 'Latecomer' from app.users where auth_subject = 'alice' and tenant_id = ${acme}`;
  for await (const lines of export_) all += lines;
  assert.ok(!all.includes("Latecomer"));
});

test("an export reads twenty rows at a time, and could write nothing", async () => {
  await source.sql.unsafe(`
    create function app.tell() returns boolean language plpgsql as $$ begin
      raise notice '%', current_setting('transaction_read_only');
      return true;
    end $$;
    create policy told on app.boards as restrictive for select to tms_app using (app.tell())`);
  const told: string[] = [];
  const onnotice = ({ message }: postgres.Notice) => void told.push(message!);
  const listening = postgres(source.urls.owner, { max: 1, onnotice, fetch_types: false });
  try {
    for await (const line of exportTenant(listening, "acme")) if (line.includes('"app.boards","row"')) break;
    assert.deepEqual(told, Array(20).fill("on"));
  } finally {
    await listening.end();
    await source.sql`drop policy told on app.boards`;
  }
});

test("a file of the first version, whose values are JSON, is read as it was", async () => {
  const [header, tenant] = (await text("acme")).split("\n");
  const row = async (table: string) => {
    const [found] = await source.sql.unsafe(
      `select to_json(t.*)::text as row from ${table} t where tenant_id = $1 limit 1`,
      [acme],
    );
    return `{"table":"${table}","row":${found!.row}}`;
  };
  const lines = [
    // Of a database of development, which has no migration yet that is committed.
    header!
      .replace('"version":2', '"version":1')
      .replace(/"schema_version":"[^"]+"/, '"schema_version":null'),
    tenant!,
    await row("app.users"),
    (await row("app.samples")).replace('"plain":null', '"plain":"text"'),
  ];
  const { tenant_id } = await load(sealed(lines, { "app.users": 1, "app.samples": 1 }), "first-version");
  const [found] = await target.sql`
    select t, "it's" is null as lost, plain::text as plain, many[3]::text as third, object::text, cells::text, lasts::text
    from app.samples where tenant_id = ${tenant_id}`;
  assert.deepEqual(
    { ...found },
    {
      t: "t",
      lost: true,
      plain: '"text"',
      third: '"text"',
      object: '{"a": null}',
      cells: "{1,NULL,3}",
      lasts: "-1 days +02:00:00",
    },
  );
});

test("large rows come one by one, and go in a few at a time", async () => {
  const { sql } = source;
  const id = await seedTenant(sql, { slug: "large" });
  const user = await seedUser(sql, id, { subject: "lou" });
  await sql`
    insert into app.boards (tenant_id, owner_id, title, settings)
    select ${id}, ${user}, 'Board ' || n, jsonb_build_object('x', repeat(md5(n::text), 32760)) from generate_series(1, 12) n`;
  await sql`
    insert into app.users (tenant_id, auth_provider, auth_subject) select ${id}, 'jwt', 'lou-' || n from generate_series(1, 1500) n`;
  let largest = 0;
  async function* pieces() {
    for await (const piece of exportTenant(from, "large")) {
      largest = Math.max(largest, piece.length);
      yield Buffer.from(piece);
    }
  }
  let sent = 0;
  const rows: number[] = [];
  const watched = postgres(target.urls.owner, {
    max: 1,
    fetch_types: false,
    debug: (_connection, _query, parameters) => {
      for (const one of parameters.map(String)) {
        sent = Math.max(sent, one.length);
        if (one.startsWith("[")) rows.push((JSON.parse(one) as unknown[]).length);
      }
    },
  });
  await importTenant(watched, linesOf(pieces()), undefined);
  await watched.end();
  assert.ok(largest < 2_000_000, `${largest} characters at once`);
  assert.ok(sent > 0 && sent < 4_000_000, `${sent} characters sent at once`);
  // The tenant, its members, its boards.
  assert.deepEqual(rows.slice(0, 9), [1, 1000, 501, 2, 2, 2, 2, 2, 2], "rows sent at once");
  assert.deepEqual(await content(target, id), await content(source, id));
});
