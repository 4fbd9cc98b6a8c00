/** `tenancy adopt` on a product in use: its questions, plan and rehearsal, and the database after the plan. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import postgres from "postgres";
import type { Answers } from "../../src/adopt/answers.ts";
import { built, outcome, tenancy } from "../cli/command.ts";
import { long } from "../harness.ts";
import { auditedBy, carryOut, createLiving, laterOf, readAnswers } from "./living.ts";
import { product, uuidProduct } from "./product.ts";

const living = await createLiving(product);
const { sql, app, owner, role } = living;
after(() => living.drop());

const ANSWERS: Answers = {
  tables: {
    'public."Country"': "shared",
    'public."Document"': "required",
    'public."Feedback"': "closed",
    'public."Session"': "closed",
  },
  keys: { 'public."Product_sku_key"': "tenant" },
  bridges: { [app]: "2999-01-31", [owner]: "2999-01-31" },
};
const lines = (stdout: string, verdict: string) =>
  stdout.split("\n").filter(line => line.startsWith(`-- ${verdict}  `));

/** All that a plan could change: objects, privileges, roles, rows. */
async function state(of: postgres.Sql) {
  const [row] = await of`
    select (select count(*) from pg_policy) as policies, (select count(*) from pg_class) as relations, (select count(*) from pg_proc) as functions,
      (select md5(string_agg(concat(oid, relacl, relrowsecurity, relforcerowsecurity), ',' order by oid)) from pg_class) as rights,
      (select count(*) from pg_constraint) as constraints, (select count(*) from pg_roles where rolname = ${role}) as roles, (select count(*) from app.tenants) as tenants,
      (select md5(string_agg(t::text, ',' order by id)) from "Team" t) as teams`;
  return row;
}

test("a plan classes each table, asks what the catalog does not say, and changes nothing", async () => {
  const before = await state(sql);
  const { code, stdout, stderr } = await living.plan();
  assert.equal(stderr, "");
  assert.equal(code, 1, stdout);
  for (const [table, is] of [
    ["Team", "tenants -> tenants"],
    ["Customer", "direct (teamId) -> rows"],
    ["OrderLine", 'through public."Order" (orderId) -> rows'],
    ["LineNote", 'through public."OrderLine" (lineId) -> rows'],
    ["User", 'people (public."Membership", public."Order") -> people'],
    ["Document", "nullable (teamId) -> open"],
    ["Session", 'of people (public."User") -> open'],
    ["Country", 'shared (public."Customer") -> open'],
    ["Feedback", "unknown -> open"],
    ["_prisma_migrations", "migrations -> closed"],
  ] as const)
    assert.ok(
      new RegExp(`^--   public\\."?${table}"? +${is.replaceAll(/[()."]/g, "\\$&")} `, "m").test(stdout),
      `${table}: ${stdout}`,
    );
  assert.match(stdout, /^-- Questions \(5\)/m);
  assert.match(
    stdout,
    /"Document" has teamId, which may be null and is null in 0 rows; deleting a tenant sets it to null/,
  );
  assert.match(stdout, /^-- Rehearsed and rolled back: PASSED for 9 tables\.$/m);
  assert.doesNotMatch(
    stdout,
    /^(drop (table|index|column)|alter table .* drop (column|constraint "\w+_fkey))/m,
  );
  assert.deepEqual(await state(sql), before);
});

test("a row that refers into another tenant fails its table, and only that one", async () => {
  const file = living.answer(ANSWERS);
  await sql.unsafe(`update "Order" set "customerId" = 'c21' where id = 'o11'`);
  try {
    const { code, stdout } = await living.plan("--answers", file);
    assert.equal(code, 1);
    const failed = lines(stdout, "FAILED");
    assert.equal(failed.length, 1, stdout);
    assert.match(
      failed[0]!,
      /public\."Order" .*violates foreign key constraint "Order_customerId_fkey_tenant".*\(t1, c21\)/,
    );
  } finally {
    await sql.unsafe(`update "Order" set "customerId" = 'c11' where id = 'o11'`);
  }
});

test("a policy that shows a row of another tenant fails its table: the proof acts", async () => {
  await sql.unsafe(
    `create policy tenant_only on "Folder" as restrictive to public using (true); create policy tenant_rows on "Folder" using (true)`,
  );
  try {
    const { stdout } = await living.plan("--answers", living.answer(ANSWERS));
    assert.match(lines(stdout, "FAILED").join("\n"), /public\."Folder" .*sees 2 rows/);
  } finally {
    await sql.unsafe(`drop policy tenant_only on "Folder"; drop policy tenant_rows on "Folder"`);
  }
});

test("a table that cannot be adopted comes with the statement that helps", async () => {
  const file = living.answer(ANSWERS);
  const first = await living.plan("--answers", file, "--no-rehearse");
  const [, replaced] =
    /"Document" loses its tenant by the key Document_teamId_fkey \(ON DELETE SET NULL\)\. Replace it\. .*ROWS ARE DELETED.*\n((?:-- {5}alter .*\n)+)/.exec(
      first.stdout,
    ) ?? [];
  await sql.unsafe(replaced!.replaceAll("-- ", ""));
  const [key] = await sql<{ clauses: string; valid: boolean }[]>`
    select pg_get_constraintdef(oid) as clauses, convalidated as valid from pg_constraint where conname = 'Document_teamId_fkey'`;
  assert.deepEqual(
    { ...key },
    {
      clauses: 'FOREIGN KEY ("teamId") REFERENCES "Team"(id) ON UPDATE CASCADE ON DELETE CASCADE',
      valid: true,
    },
  );
  await sql.unsafe(`grant select on "Product" to public; create policy mine on "Folder" using (true);
    create table "Visit" ("teamId" text not null references "Team", at date not null) partition by range (at);
    create table "Visit_1" partition of "Visit" (primary key (at)) default;
    create table "Stop" (at date primary key references "Visit_1")`);
  const { code, stdout } = await living.plan("--answers", file, "--no-rehearse");
  assert.equal(code, 2);
  assert.match(
    stdout,
    /"Product" gives privileges to PUBLIC, and so to .*\n-- {5}grant … on table public\."Product" to …; revoke all on table public\."Product" from public;/,
  );
  assert.match(stdout, /"Folder" has policies of its own \(mine\)/);
  assert.match(stdout, /"Visit" is partitioned: /);
  assert.match(stdout, /"Stop" belongs to a tenant through public\."Visit_1", which waits/);
  await sql.unsafe(
    `revoke all on "Product" from public; drop policy mine on "Folder"; drop table "Stop", "Visit"`,
  );
});

test("a table waits while requests have privileges that its treatment does not give, and people while the members' table does", async () => {
  const planned = async (...granted: string[]) => {
    await sql.unsafe(granted.map(one => `grant ${one} to public;`).join(""));
    const { stdout } = await living.plan("--answers", living.answer(ANSWERS), "--no-rehearse");
    await sql.unsafe(granted.map(one => `revoke ${one} from public;`).join(""));
    return stdout;
  };
  const stdout = await planned(
    'select (body) on "Feedback"',
    'select on "Country"',
    'select on "Membership"',
  );
  assert.match(
    stdout,
    /"Feedback" gives privileges to PUBLIC, and so to requests\..*\n-- {5}grant … on table public\."Feedback" to …; revoke all /,
  );
  assert.match(stdout, /public\."User" belongs to a tenant through public\."Membership", which waits/);
  assert.doesNotMatch(stdout, /^create policy \w+ on public\."User"/m);
  assert.match(stdout, /^-- Questions \(3\)/m);
  assert.match(
    await planned('update (name) on "Country"'),
    /"Country" gives privileges to write to PUBLIC.*\n-- {5}grant … on .*; revoke insert, update, delete, truncate on table public\."Country" from public;/,
  );
});

test("a login keeps its bridge to a table that waits, and loses no privilege on a table that was not adopted before", async () => {
  const crew = `crew_${living.name.slice(-8)}`;
  await sql.unsafe(`create role ${crew}; grant select on "Feedback" to ${crew}`);
  try {
    const { stdout } = await living.plan("--no-rehearse");
    assert.match(stdout, new RegExp(`^-- {3}${crew} until \\d{4}-`, "m"));
    await sql.unsafe(`grant insert on "LineNote" to ${crew}`);
    const blind = await living.plan("--no-rehearse");
    assert.match(
      blind.stdout,
      new RegExp(
        `"LineNote" gets its tenant from public\\."OrderLine", which ${crew} may not read: .*\\n-- {5}grant select on table public\\."OrderLine" to ${crew};`,
      ),
    );
    assert.doesNotMatch(blind.stdout, /^create trigger \w+ before insert on public\."LineNote"/m);
    await sql.unsafe(`grant select on "OrderLine" to ${crew}`);
    assert.doesNotMatch((await living.plan("--no-rehearse")).stdout, /may not read/);
    const closed = await living.plan(
      "--no-rehearse",
      "--answers",
      living.answer({ bridges: { [owner]: "2999-01-31", [app]: "2020-01-31" } }),
    );
    assert.match(
      closed.stdout,
      new RegExp(
        `"Order" gives privileges to ${app}, and no bridge is open for it\\..*\\n-- {5}revoke all on table public\\."Order" from ${app};`,
      ),
    );
    assert.doesNotMatch(closed.stdout, /^revoke all on table|REVOKES|^alter table .* enable row level/m);
  } finally {
    await sql.unsafe(`drop owned by ${crew}; drop role ${crew}`);
  }
});

test("where row-level security is on already, a bridge does not show a login more rows, and requests read what is shared", async () => {
  const crew = `crew_${living.name.slice(-8)}`;
  await sql.unsafe(`create role ${crew}; grant select on "Folder", "Product" to ${crew};
    alter table "Folder" enable row level security; alter table "Product" enable row level security;
    alter table "Country" enable row level security;
    create policy cheap on "Product" to ${crew} using (price = 0); create policy mine on "Product" to ${app} using (true)`);
  try {
    const file = living.answer({ tables: { 'public."Country"': "shared" } });
    const { stdout } = await living.plan("--answers", file);
    assert.match(
      stdout,
      new RegExp(
        `"Folder" has row-level security already, and no policy for ${crew}, ${app}: .*\\n-- {5}revoke all on table public\\."Folder" from ${crew}, ${app};`,
      ),
    );
    assert.doesNotMatch(stdout, /^create policy \w+ on public\."Folder"/m);
    assert.match(stdout, /^create policy tenant_only on public\."Product"/m);
    assert.doesNotMatch(stdout, /^create policy bridge_\w+ on public\."Product"/m);
    assert.match(
      stdout,
      new RegExp(`^create policy \\w+ on public\\."Country" for select to ${role} using \\(true\\);$`, "m"),
    );
    assert.deepEqual(lines(stdout, "FAILED"), []);
  } finally {
    await sql.unsafe(`alter table "Folder" disable row level security; alter table "Product" disable row level security;
      alter table "Country" disable row level security; drop policy mine on "Product"; drop owned by ${crew}; drop role ${crew}`);
  }
});

test("a half-filled table keeps its parent, though that one refers back to it", async () => {
  const made = ["Draft", "Revision"].map(
    name => `alter table "${name}" add "teamId" text;
      create trigger tenancy_fill before insert on "${name}" for each row execute function suppress_redundant_updates_trigger();`,
  );
  await sql.unsafe(`create table "Draft" (id text primary key, "revisionId" text not null);
    create table "Revision" (id text primary key, "draftId" text not null references "Draft", "productId" text not null references "Product");
    alter table "Draft" add foreign key ("revisionId") references "Revision" deferrable initially deferred; ${made.join("")}`);
  const { stdout } = await living.plan("--no-rehearse");
  await sql.unsafe(`drop table "Draft", "Revision"`);
  assert.match(stdout, /^update public\."Revision" t set "teamId" = p\."teamId" from public\."Product" p /m);
});

test("once its keys are dropped, a table has a primary key still", async () => {
  await sql.unsafe(`create table "Zone" ("teamId" text not null references "Team", zone text, grade text, primary key (zone, grade));
    create table "Fare" ("teamId" text not null references "Team", zone text, grade text, foreign key (zone, grade) references "Zone")`);
  try {
    const file = living.answer({ keys: { 'public."Zone_pkey"': "tenant" } });
    const { stdout } = await living.plan(
      "--no-rehearse",
      "--answers",
      file,
      "--tables",
      'public."Zone",public."Fare"',
    );
    const left = laterOf(stdout);
    assert.deepEqual(left, [
      'alter table public."Fare" drop constraint "Fare_zone_grade_fkey";',
      'alter table public."Zone" drop constraint "Zone_pkey", add constraint "Zone_pkey" primary key using index "Zone_pkey_tenant";',
    ]);
    await sql.unsafe(/^create unique index concurrently "Zone_pkey_tenant".*$/m.exec(stdout)![0]);
    for (const statement of left) await sql.unsafe(statement);
  } finally {
    await sql.unsafe(`drop table "Fare", "Zone"`);
  }
});

test("--save keeps what the file said: the answers, and what adopt does not write of a profile", async () => {
  const auth = `reads_${living.name.slice(-8)}`;
  await sql.unsafe(`create role ${auth}; create policy sign_in on "User" to ${auth} using (true)`);
  try {
    const file = living.answer(
      { ...ANSWERS, tables: { ...ANSWERS.tables, 'public."Team"': "closed", 'public."Order"': "people" } },
      {
        bookkeeping: ["public"],
        sees_less: true,
        sees_all: [auth, app, "gone"],
        trusted_owners: [auth, "gone"],
        per_table: { "app.tenants": "id", 'public."Customer"': null, "public.gone": null },
      },
    );
    const relative = path.relative(built, file);
    const { stderr } = await living.plan("--no-rehearse", "--answers", file, "--save", relative);
    assert.ok(stderr.startsWith(`Written: ${file}. `), stderr);
    const { adopt, profile } = readAnswers(file);
    assert.equal(adopt.tables['public."Order"'], "people");
    assert.deepEqual([profile.bookkeeping, profile.sees_less], [["public"], true]);
    assert.deepEqual(
      [profile.sees_all, profile.trusted_owners].map(list => (list as string[]).includes(auth)),
      [true, true],
    );
    assert.ok(!JSON.stringify(profile).includes("gone"));
    assert.equal((profile.per_table as Record<string, null>)['public."Customer"'], undefined);
  } finally {
    await sql.unsafe(`drop owned by ${auth}; drop role ${auth}`);
  }
});

test("wrong answers are refused, all at once", async () => {
  const refused = async (answers: object, ...args: string[]) => {
    const { code, stderr, stdout } = await living.plan(
      "--answers",
      living.answer(answers as Answers),
      ...args,
    );
    assert.deepEqual([code, stdout], [2, ""]);
    return stderr;
  };
  assert.match(
    await refused({ tables: { a: "mine" }, bridges: { b: "soon" }, more: 1 }),
    /additional properties; adopt\/tables\/a is one of "required", .*; adopt\/bridges\/b is not a day, such as 2027-01-31/,
  );
  assert.match(
    await refused({ bridges: { [app]: "2026-02-29", [owner]: "2026-13-01" } }),
    /prod_app_\w+ is not a day.*prod_owner_\w+ is not a day/,
  );
  assert.equal(
    await refused({ bridges: { nobody_there: "2999-01-31", gone: "2020-01-31" } }),
    '"bridges" names roles that this server does not have: nobody_there',
  );
  assert.match(await refused({}, "--tables", ","), /^--tables names ,, which cannot be adopted now\./);
  assert.equal(
    await refused({ tables: { "public.gone": "closed" } }),
    "The answers name tables that this database does not have: public.gone",
  );
  assert.match(
    await refused({}, "--tables", 'public."LineNote"'),
    /public\."LineNote" belongs to a tenant through public\."OrderLine": add that table/,
  );
  assert.match(
    await refused({}, "--tables", 'public."User"'),
    /public\."User" belongs to a tenant through public\."Membership": add that table/,
  );
  assert.match(
    await refused({}, "--tables", "public.nothing"),
    /^--tables names public\.nothing, which cannot be adopted now\. These can: public\."Team", /,
  );
  const { code, stderr } = await outcome(tenancy(["adopt", "--database", living.urls.root]));
  assert.deepEqual([code, stderr], [2, "Add --plan: adopt prints a plan, and does not carry it out"]);
  for (const [args, message] of [
    [
      ["--plan", "--save", "/nowhere/adopt.json", "--database", living.urls.root],
      /^\/nowhere\/adopt\.json cannot be written/,
    ],
    [["--plan", "--databases", "x"], /^Unknown argument/],
    [["--plan", "--save", ""], /^--save is empty/],
  ] as const) {
    const refusal = await outcome(tenancy(["adopt", ...args]));
    assert.equal(refusal.code, 2);
    assert.match(refusal.stderr, message);
  }
});

test("while other sessions are open, nothing is rehearsed without --rehearse", async () => {
  await sql.unsafe(`alter role ${app} password 'secret'`);
  const url = Object.assign(new URL(living.urls.root), { username: app, password: "secret" }).href;
  const session = postgres(url, { max: 1 });
  try {
    await session`select`;
    const idle = await living.plan("--answers", living.answer(ANSWERS));
    assert.equal(idle.code, 2);
    assert.match(
      idle.stdout,
      new RegExp(`^-- NOT REHEARSED: the rehearsal would lock tables that ${app} may use now`, "m"),
    );
    const told = await living.plan("--answers", living.answer(ANSWERS), "--rehearse");
    assert.equal(told.code, 0, told.stdout);
  } finally {
    await session.end();
  }
});

test("an index that could not be finished is dropped before it is made again, and another one of its name stays", async () => {
  await sql.unsafe(`create index "Folder_teamId_idx" on "Folder" ("teamId")`);
  await sql`update pg_index set indisvalid = false where indexrelid = '"Folder_teamId_idx"'::regclass`;
  const planned = () => living.plan("--answers", living.answer(ANSWERS), "--no-rehearse");
  const { stdout } = await planned();
  await sql.unsafe(
    `drop index "Folder_teamId_idx"; create index "Folder_teamId_idx" on "Folder" ("teamId") where id > ''`,
  );
  const another = await planned();
  await sql.unsafe(`drop index "Folder_teamId_idx"`);
  assert.match(
    another.stdout,
    /^create index concurrently "Folder_teamId_idx_tenant" on public\."Folder" \("teamId"\);$/m,
  );
  assert.match(
    stdout,
    /^drop index concurrently public\."Folder_teamId_idx";\ncreate index concurrently "Folder_teamId_idx" on /m,
  );
});

test("a unique key over an expression, or with a key to a shared table, raises its question before its table has the tenant's column", async () => {
  await sql.unsafe(`create unique index "LineNote_lower_key" on "LineNote" (lower(id));
    create unique index "Customer_country_key" on "Customer" ("countryCode", id)`);
  const { stdout } = await living.plan("--answers", living.answer(ANSWERS), "--no-rehearse");
  await sql.unsafe(`drop index "LineNote_lower_key", "Customer_country_key"`);
  assert.match(
    stdout,
    /public\."LineNote_lower_key" of public\."LineNote" is unique across all tenants: \(lower\(id\)\)/,
  );
  assert.match(stdout, /public\."Customer_country_key" of public\."Customer" is unique across all tenants/);
});

test("what was planned is so: the old application goes on, requests see one tenant, the audit passes", async () => {
  const file = living.answer(ANSWERS);
  const planned = await living.plan("--answers", file, "--save", file);
  assert.equal(planned.code, 0, planned.stdout);
  assert.equal(lines(planned.stdout, "PASSED").length, 11);
  assert.match(
    planned.stdout,
    /"Product" … on conflict \(sku\)\n-- {5}fails \(42P10\) once public\."Product_sku_key" is dropped: use on conflict \("teamId", sku\)/,
  );
  assert.match(
    planned.stdout,
    /update of the tenant of a row of public\."Folder" to which rows of public\."Folder" refer \("Folder_parentId_fkey_tenant"\)\n-- {5}fails \(23503\)/,
  );
  assert.doesNotMatch(planned.stdout, /update of the tenant of a row of public\."Order"/);
  await carryOut(sql, planned.stdout);
  await sql.unsafe(`insert into "Folder" values ('f1b', 't1', 'f1')`);
  await assert.rejects(
    living.asApp(tx => tx`update "Folder" set "teamId" = 't2' where id = 'f1'`),
    { code: "23503" },
  );
  await sql.unsafe(`delete from "Folder" where id = 'f1b'`);

  const ids = Object.fromEntries(
    (await sql`select id, tenancy_id from "Team"`).map(row => [row.id, row.tenancy_id]),
  ) as Record<string, string>;
  assert.deepEqual(
    [...(await sql`select slug, name from app.tenants order by slug`)].map(({ slug, name }) => [slug, name]),
    [
      ["team-1", "Team 1"],
      ["team-2", "Team 2"],
      ["team-3", "Team 3"],
    ],
  );
  // The old application: every row, its inserts without the new column.
  await living.asApp(async tx => {
    assert.equal((await tx`select from "Order"`).length, 12);
    await tx`insert into "OrderLine" (id, "orderId", "productId", quantity) values ('new', 'o21', 'p21', 1)`;
    const [line] = await tx`select "teamId" from "OrderLine" where id = 'new'`;
    assert.equal(line!.teamId, "t2");
    await tx`delete from "OrderLine" where id = 'new'`;
  });
  // A request: its tenant's rows, in it or not at all.
  await living.inTenant(ids.t1!, async tx => {
    assert.equal((await tx`select from "Order"`).length, 4);
    assert.equal((await tx`select from "OrderLine" where "orderId" like 'o1%'`).length, 4);
    assert.deepEqual(
      (await tx`select id, email from "User" order by id`).map(({ id }) => id),
      ["u1", "u3", "u5"],
    );
    assert.equal((await tx`select from "Country"`).length, 2);
    await tx`insert into "Product" (id, "teamId", sku, price) values ('own', 't1', 'own', 1)`;
    await tx`insert into "OrderLine" (id, "orderId", "productId", quantity) values ('mine', 'o11', 'own', 1)`;
    await tx`delete from "OrderLine" where id = 'mine'`;
    await tx`delete from "Product" where id = 'own'`;
  });
  await living.inTenant(null, async tx => assert.equal((await tx`select from "Order"`).length, 0));
  for (const [statement, code] of [
    [`insert into "Product" (id, "teamId", sku, price) values ('x', 't2', 'x', 1)`, "42501"],
    [`insert into "OrderLine" (id, "orderId", "productId", quantity) values ('x', 'o21', 'p11', 1)`, "42501"],
    [
      `insert into "OrderLine" (id, "teamId", "orderId", "productId", quantity) values ('x', 't1', 'o21', 'p11', 1)`,
      "23503",
    ],
    [`update "Team" set id = 't9'`, "42501"],
    [`select "passwordHash" from "User"`, "42501"],
    [`select from "Session"`, "42501"],
    ['truncate "Order"', "42501"],
  ] as const)
    await assert.rejects(
      living.inTenant(ids.t1!, tx => tx.unsafe(statement)),
      { code },
      statement,
    );

  // The service's own gate has nothing to say of it.
  const asOwner = postgres(living.urls.owner, { max: 1 });
  await asOwner`select audit.require_isolation()`;
  await asOwner.end();
  const again = await living.plan("--answers", file, "--save", file);
  assert.equal(again.code, 0, again.stdout);
  assert.match(again.stdout, /Nothing is left to do\./);
  for (const statement of laterOf(again.stdout)) await sql.unsafe(statement);
  const findings = await auditedBy(file, living.urls.root);
  // But for the server, an edited tree, and roles of other tests.
  const others = /^(server_|not_as_released|role_bypasses)/;
  const told = findings.filter(({ severity, check }) => severity !== "info" && !others.test(check));
  assert.deepEqual([...new Set(told.map(({ severity, check }) => `${severity} ${check}`))].sort(), [
    "warning bridge_open",
    "warning owner_bypasses",
  ]);
});

test("without bridges the old login is refused, the plan says so first, and the owner sees rows only in maintenance, until it gets one", async () => {
  const file = living.answer({ ...ANSWERS, bridges: { [app]: "2020-01-31" } });
  const planned = await living.plan("--answers", file);
  assert.equal(planned.code, 0, planned.stdout);
  assert.match(
    planned.stdout,
    new RegExp(
      `any statement of ${app} on public\\."Order"\n--     fails \\(42501\\): it has no open bridge`,
    ),
  );
  const [head] = planned.stdout.split("\n--\n");
  assert.match(head!, /^-- It REVOKES all privileges of these roles, which have no open bridge:$/m);
  assert.match(head!, new RegExp(`^-- {3}${app} on public\\."Order"$`, "m"));
  assert.doesNotMatch(planned.stdout, new RegExp(`${app} until`));
  await carryOut(sql, planned.stdout);
  await assert.rejects(
    living.asApp(tx => tx`select from "Order"`),
    { code: "42501" },
  );
  const asOwner = (on: boolean) =>
    sql.begin(async tx => {
      await tx.unsafe(`set local role ${owner}; set local app.maintenance = ${on ? "on" : "off"}`);
      return (await tx`select from "Order"`).length;
    });
  assert.deepEqual([await asOwner(false), await asOwner(true)], [0, 12]);
  assert.match((await living.plan("--answers", file, "--no-rehearse")).stdout, /Nothing is left to do\./);
  living.answer({ ...ANSWERS, bridges: { [owner]: "2999-01-31" } });
  await carryOut(sql, (await living.plan("--answers", file, "--no-rehearse")).stdout);
  assert.equal(await asOwner(false), 12);
  assert.match((await living.plan("--answers", file, "--no-rehearse")).stdout, /Nothing is left to do\./);
});

long(
  "a uuid that the tenants have already is the tenant's id, and a plan may be carried out table by table",
  async () => {
    const crm = await createLiving(uuidProduct);
    try {
      const file = living.answer({});
      rmSync(file);
      const first = await crm.plan("--save", file, "--tables", "crm.contacts");
      assert.equal(first.code, 0, first.stdout);
      assert.equal(lines(first.stdout, "PASSED").length, 2);
      await carryOut(crm.sql, first.stdout);
      assert.equal(readAnswers(file).profile.tenants, "crm.accounts");
      const second = await crm.plan("--answers", file, "--save", file);
      assert.equal(second.code, 0, second.stdout);
      assert.doesNotMatch(second.stdout, /create policy \w+ on crm\.contacts/);
      await carryOut(crm.sql, second.stdout);
      const [elm] = await crm.sql<
        { id: string }[]
      >`select a.id from crm.accounts a join app.tenants t using (id) where t.name = 'Elm'`;
      await crm.inTenant(elm!.id, async tx => {
        const [contact] = await tx`select id from crm.contacts`;
        await tx`insert into crm.calls (contact_id, said) values (${contact!.id}, 'hello')`;
        assert.equal((await tx`select from crm.calls where account_id = app.tenant_id()`).length, 1);
      });
      assert.match((await crm.plan("--answers", file, "--no-rehearse")).stdout, /Nothing is left to do\./);
    } finally {
      await crm.drop();
    }
  },
);

test("where the service is not installed, a plan is made and not rehearsed", async () => {
  const name = `${living.name}_bare`;
  await sql.unsafe(`create database ${name} template template0`);
  const url = Object.assign(new URL(living.urls.root), { pathname: `/${name}` }).href;
  const bare = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await bare.unsafe(
      "create table orgs (id uuid primary key, name text); create table things (id int primary key, org_id uuid not null references orgs)",
    );
    const { code, stdout } = await outcome(tenancy(["adopt", "--plan", "--database", url]));
    assert.equal(code, 2);
    assert.match(stdout, /^-- NOT REHEARSED: the service is not installed here/m);
    assert.match(stdout, /create policy tenant_only on public\.things/);
    await bare.unsafe("drop table things, orgs");
    const empty = await outcome(tenancy(["adopt", "--plan", "--database", url]));
    assert.equal(empty.code, 2);
    assert.match(empty.stderr, /^No table looks like the table of tenants/);
  } finally {
    await bare.end();
    await sql.unsafe(`drop database ${name}`);
  }
});
