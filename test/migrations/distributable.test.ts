/** The rules that keep one schema valid on plain Postgres and on Citus (docs/guides/scale.md), checked on plain Postgres. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import type { Transaction } from "../functions/support.ts";
import { createDatabase, rolledBack } from "../harness.ts";

const database = await createDatabase();
/** The tables that Citus distributes: all that hold a tenant's rows. */
const rows = await database.sql<{ name: string }[]>`
  select conrelid::regclass::text as name from pg_constraint
  where contype = 'f' and confrelid = 'app.tenants'::regclass and connamespace = 'app'::regnamespace order by 1`;
const tables = rows.map(row => row.name);
assert.ok(tables.includes("app.users") && tables.includes("app.boards"));
after(() => database.drop());

// ---- the catalog ------------------------------------------------------------------------------------------------

const policies = (tx: Transaction) => tx<
  { name: string; force: boolean; app: string[]; subqueries: number }[]
>`
  select c.oid::regclass::text as name, c.relforcerowsecurity as force,
         array_agg(p.polname || case when p.polpermissive then '' else ' (restrictive)' end order by p.polname)
           filter (where 'tms_app'::regrole = any (p.polroles) or p.polroles = '{0}') as app,
         count(*) filter (where concat(p.polqual, p.polwithcheck) ~ 'SUBLINK|SUBPLAN')::int as subqueries
  from pg_class c join pg_policy p on p.polrelid = c.oid
  where c.relnamespace = 'app'::regnamespace
  group by c.oid order by 1`;

test("on a distributed database policies have no subquery, none is restrictive, and FORCE is off", () =>
  rolledBack(database.sql, async tx => {
    const plain = await policies(tx);
    assert.equal(plain.length, tables.length + 1);
    for (const { name, ...found } of plain)
      assert.deepEqual(
        found,
        { force: true, app: ["tenant_only (restrictive)", "tenant_rows"], subqueries: 2 },
        name,
      );

    await tx`create function app.distribute(p_table regclass) returns void language sql as ''`;
    await tx`select app.write_policies('app.tenants', 'id')`;
    for (const name of tables) await tx`select app.isolate(${name}::regclass)`;
    for (const { name, ...found } of await policies(tx))
      assert.deepEqual(found, { force: false, app: ["tenant_only"], subqueries: 0 }, name);
    assert.deepEqual([...(await tx`select * from app.unprotected_tables()`)], []);
    const advice = await tx`select a from app.isolation_advice() a where a like 'The table %'`;
    assert.deepEqual([...advice], []);
  }));

test("on a distributed database app.isolate() distributes the table", () =>
  rolledBack(database.sql, async tx => {
    await tx`create temporary table distributed (name regclass)`;
    await tx`create function app.distribute(p_table regclass) returns void language sql
      as 'insert into pg_temp.distributed values (p_table)'`;
    await tx`create table app.notes (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id))`;
    await tx`select app.isolate('app.notes')`;
    assert.deepEqual([...(await tx`select name::text from distributed`)], [{ name: "app.notes" }]);
  }));

test("db/citus/distribute.sql names every trigger of app.tenants, and only functions that exist", async () => {
  const triggers = await database.sql<{ name: string }[]>`
    select tgname as name from pg_trigger where tgrelid = 'app.tenants'::regclass and not tgisinternal order by 1`;
  const page = readFileSync(new URL("../../db/citus/distribute.sql", import.meta.url), "utf8");
  const named = [...page.matchAll(/'(_\d+_\w+)'/g)].map(([, name]) => name);
  assert.ok(triggers.length >= 7);
  assert.deepEqual(new Set(named), new Set(triggers.map(trigger => trigger.name)));
  const functions = [
    ...new Set(
      [...page.matchAll(/'(\w+\.\w+\((?:\w+(?:, \w+)*)?\))'(?=::regprocedure|\), -- a product's)/g)].map(
        ([, name]) => name!,
      ),
    ),
  ];
  const [gone] = await database.sql`
    select array(select name from unnest(${functions}::text[]) name where to_regprocedure(name) is null) as names`;
  assert.deepEqual([functions.length, gone!.names], [4, []]);
});

/** Objects in the catalog that Citus refuses. */
const catalogFaults = async (tx: Transaction) =>
  (
    await tx<{ fault: string }[]>`
    with tenant_table as (
      select conrelid as oid from pg_constraint
      where contype = 'f' and confrelid = 'app.tenants'::regclass and connamespace = 'app'::regnamespace
    ), found as (
      select format('unique without tenant_id: %s', indexrelid::regclass) as fault
      from pg_index i join tenant_table t on t.oid = i.indrelid
      where (indisunique or indisexclusion) and not exists (
        select from pg_attribute a
        where a.attrelid = i.indrelid and a.attname = 'tenant_id' and a.attnum = any (i.indkey))
      union all
      select format('set null or default: %s', conname)
      from pg_constraint c join tenant_table t on t.oid = c.conrelid
      where contype = 'f' and (confdeltype in ('n', 'd') or confupdtype in ('n', 'd', 'c'))
      union all
      select format('foreign key without tenant_id: %s', conname)
      from pg_constraint c join tenant_table t on t.oid = c.conrelid
      where contype = 'f' and confrelid <> 'app.tenants'::regclass
        and (c.confrelid not in (select oid from tenant_table) or not exists (
          select from pg_attribute a where a.attrelid = c.conrelid and a.attname = 'tenant_id' and a.attnum = any (c.conkey)))
      union all
      -- A table of the coordinator cannot refer to a distributed one. db/citus/distribute.sql drops the one such key, and
      -- app.remove_tenant() deletes the rows instead.
      select format('foreign key from outside: %s', conname)
      from pg_constraint c
      where contype = 'f' and conrelid not in (select oid from tenant_table)
        and (confrelid in (select oid from tenant_table) or confrelid = 'app.tenants'::regclass)
        and conrelid <> 'control.idempotency_keys'::regclass
      union all
      select format('unlogged: %s', c.oid::regclass) from pg_class c join tenant_table using (oid) where relpersistence <> 'p'
      union all
      select format('trigger: %s', tgname) from pg_trigger g join tenant_table t on t.oid = g.tgrelid where not tgisinternal
    )
    select fault from found order by fault`
  ).map(row => row.fault);

test("no tenant table has a key, foreign key, trigger or persistence that Citus refuses", () =>
  rolledBack(database.sql, async tx => {
    assert.deepEqual(await catalogFaults(tx), []);

    await tx`alter table app.boards add constraint title_key unique (title)`;
    await tx`alter table app.boards drop constraint boards_owner,
      add constraint boards_owner foreign key (tenant_id, owner_id) references app.users (tenant_id, id) on delete set null (owner_id)`;
    await tx`alter table app.users add constraint whole_key unique (tenant_id, id, email), add column leader uuid,
      add constraint leader_key unique (leader), add constraint leader_known foreign key (leader) references app.users (leader)`;
    await tx`create table control.favourites (board_id uuid, tenant_id uuid references app.tenants)`;
    await tx`create trigger noticed after insert on app.media execute function suppress_redundant_updates_trigger()`;
    await tx`alter table app.board_members set unlogged`;
    assert.deepEqual(await catalogFaults(tx), [
      "foreign key from outside: favourites_tenant_id_fkey",
      "foreign key without tenant_id: leader_known",
      "set null or default: boards_owner",
      "trigger: noticed",
      "unique without tenant_id: app.leader_key",
      "unique without tenant_id: app.title_key",
      "unlogged: app.board_members",
    ]);
  }));

// ---- the sources ------------------------------------------------------------------------------------------------

/** Statements that read every shard, each with its reason. Those of the audit (db/audit) do so by their nature. */
const EVERY_SHARD: Record<string, RegExp> = {
  // The tenants of a person: an index look-up in each shard, on no hot path.
  "api/tenants/list_my_tenants.sql":
    /where u\.auth_provider = p_caller\.provider and u\.auth_subject = p_caller\.subject/,
  // A sample of all people: whether some belong to several tenants.
  "api/setup/get_setup_status.sql":
    /select auth_provider, auth_subject from app\.users where removed_at is null/,
  // How many tenants the person owns.
  "api/tenants/register_tenant.sql":
    /where u\.auth_provider = p_caller\.provider and u\.auth_subject = p_caller\.subject/,
  // The table has no tenant_id yet, so it is not distributed.
  "app/adopt.sql": /execute format\('select from %s (?:where %I <> \$1|r join app\.tenants t on)/,
  // The question is what the policies alone show, so the statement names no tenant.
  "app/leaking_tables.sql": /select exists \(select 1 from %s\)/,
  "app/shown_rows.sql": /select count\(\*\) from \(select 1 from %s limit %s\) t/,
};

const DELEGATED = /(?<!\bfrom )\bapp\.(create_sample_data|empty_tenant|await_writers)\((?!uuid)/;

/** The statements of a file, without comments: the text between semicolons and plpgsql's block keywords. */
const statementsOf = (source: string): string[] =>
  source
    .replaceAll(/--.*$/gm, "")
    .split(/;|\b(?:begin|then|else|loop)\b/)
    .map(text => text.replaceAll(/\s+/g, " ").trim())
    .filter(text => text !== "");

/** What Citus sends to every shard, or runs on the coordinator. A heuristic: it knows how this project writes SQL. */
function statementFaults(file: string, source: string): string[] {
  const name = `(?:${tables.join("|").replaceAll(".", "\\.")})`;
  return statementsOf(source).flatMap(statement => {
    const is = (pattern: RegExp | string) => new RegExp(pattern).test(statement);
    const faults: string[] = [];
    const found = (fault: string, holds: boolean) => holds && faults.push(`${fault}: ${statement}`);

    const uses = [
      ...statement.matchAll(
        new RegExp(
          `\\b(from|join|into|update|using) (?:only )?(${name}|%\\d?\\$?s)\\b(?: (?:as )?(?!where|on|set|order|for|limit)([a-z]+)\\b)?`,
          "g",
        ),
      ),
    ];
    for (const [, verb, table, alias] of uses) {
      const insert = verb === "into";
      const named = insert
        ? is(`into ${table!.replaceAll(/[.%$]/g, "\\$&")}(?: as [a-z]+)? \\(tenant_id,`)
        : is(`${alias && uses.length > 1 ? `\\b${alias}\\.` : "\\b"}tenant_id = `) ||
          is(`= ${alias ?? ""}\\.tenant_id\\b`);
      found("names no tenant_id", !named && !EVERY_SHARD[file]?.test(statement));
    }

    found(
      "called outside FROM, so not on the tenant's worker",
      // The wrappers in control are for plain Postgres.
      !file.startsWith("control/") && is(DELEGATED) && !is(/^(comment|revoke|grant|drop|create)/),
    );
    return faults;
  });
}

const FUNCTIONS = ["functions/", "product/functions/"].map(
  folder => new URL(`../../db/${folder}`, import.meta.url),
);

/** What of a migration fails, or misses the shards, on a cluster whose tables are distributed. */
function migrationFaults(migration: string): string[] {
  const outside = migration.replaceAll(/--.*$/gm, "").replaceAll(/\bdo \$\$[^$]*\$\$;/g, "");
  const name = `(?:${[...tables, "app.tenants"].join("|").replaceAll(".", "\\.")})`;
  const change = new RegExp(
    `^(?:alter table|create (?:unique )?index|(?:create|alter|drop) policy|grant|revoke)\\b.*\\b${name}\\b|^drop index\\b`,
  );
  return statementsOf(outside).flatMap(statement => {
    if (/\bcitus\.enable_ddl_propagation\b/.test(statement))
      return [`the shards get no change: ${statement}`];
    if (/^set local role\b/.test(statement))
      return [`a role that may create nothing on the workers: ${statement}`];
    return change.test(statement) ? [`not in a do block: ${statement}`] : [];
  });
}

test("the next migration can run on a cluster", () => {
  const current = readFileSync(new URL("../../db/migrations/current.sql", import.meta.url), "utf8");
  assert.deepEqual(migrationFaults(current), []);
  const broken = `
    set local citus.enable_ddl_propagation = off;
    set local role tms_app;
    alter table app.boards add column colour text;
    create index boards_by_title on app.boards (tenant_id, title);
    drop index app.boards_by_title;
    create policy more on app.tenants for select to tms_app using (true);
    do $$ begin alter table app.boards add column colour text; end $$;
    create table app.notes (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
    create index notes_by_id on app.notes (id);
    select app.isolate('app.notes');`;
  assert.deepEqual(
    migrationFaults(broken).map(fault => fault.replace(/:.*/, "")),
    [
      "the shards get no change",
      "a role that may create nothing on the workers",
      ...Array.from({ length: 4 }, () => "not in a do block"),
    ],
  );
});

test("every statement of functions on a tenant table names tenant_id, and calls delegated functions in FROM", () => {
  const sources = new Map(
    FUNCTIONS.flatMap(folder =>
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter(file => file.endsWith(".sql"))
        .map(file => [file, readFileSync(new URL(file, folder), "utf8")] as const),
    ),
  );
  assert.ok(sources.size > 50);
  let touching = 0;
  for (const [file, source] of sources) {
    assert.deepEqual(statementFaults(file, source), [], file);
    if (tables.some(table => source.includes(`from ${table}`) || source.includes(`into ${table}`)))
      touching++;
  }
  assert.ok(touching >= 10, "files that read or write tenant tables are recognized");
  for (const [file, statement] of Object.entries(EVERY_SHARD))
    assert.match(
      statementsOf(sources.get(file)!).join(";"),
      statement,
      `the exception for ${file} is still needed`,
    );
});

test("export and import name the tenant in every statement that reads a tenant's table", () => {
  const folder = new URL("../../src/transfer/", import.meta.url);
  const read = readdirSync(folder).flatMap(file =>
    [
      ...readFileSync(new URL(file, folder), "utf8").matchAll(
        /\bfrom (?:app\.users|\$\{(?:table\.)?from\})[^`)]*/g,
      ),
    ].map(([statement]) => statement),
  );
  assert.ok(read.length >= 3);
  // A tenant_id that is not a uuid is cast to text; such a table is not distributed.
  for (const statement of read) assert.match(statement, /where tenant_id(?:::text)? = \$/);
});

test("a statement that breaks a rule is reported under that rule", () => {
  const broken: [string, string][] = [
    ["select * from app.boards where id = p_id;", "names no tenant_id"],
    ["perform from app.users u where u.id = v_id for update;", "names no tenant_id"],
    [
      "select * from app.boards b join app.users u on u.id = b.owner_id where b.tenant_id = v;",
      "names no tenant_id",
    ],
    ["update app.users set email = null where id = v_id;", "names no tenant_id"],
    ["delete from app.media;", "names no tenant_id"],
    ["insert into app.boards (id, tenant_id) values (v_id, v_tenant);", "names no tenant_id"],
    ["execute format('delete from %s', v_table);", "names no tenant_id"],
    ["perform app.empty_tenant(v_id);", "called outside FROM, so not on the tenant's worker"],
    ["perform app.await_writers(v_id, true);", "called outside FROM, so not on the tenant's worker"],
  ];
  for (const [statement, fault] of broken)
    assert.deepEqual(
      statementFaults("x.sql", statement).map(text => text.split(":")[0]),
      [fault],
      statement,
    );
  for (const sound of [
    "select * from app.boards b join app.users u on u.tenant_id = b.tenant_id and u.id = b.owner_id where b.tenant_id = v;",
    "insert into app.users as u (tenant_id, id) values (v, w) on conflict do update set email = coalesce(excluded.email, u.email);",
    "update app.users set updated_at = now() where tenant_id = v and id = w;",
    "perform 1 from app.empty_tenant(v_id);",
  ])
    assert.deepEqual(statementFaults("x.sql", sound), [], sound);
});
