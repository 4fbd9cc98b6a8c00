/** What somebody's own tables, columns, policies, triggers and settings do to a tenant's export and import. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import postgres from "postgres";
import { exportTenant } from "../../src/transfer/export.ts";
import { linesOf } from "../../src/transfer/file.ts";
import { importTenant } from "../../src/transfer/import.ts";
import { createDatabase, type Database, seedTenant, seedUser } from "../harness.ts";

const opened: (() => Promise<unknown>)[] = [];
after(async () => {
  for (const close of opened.reverse()) await close();
});

interface Side {
  database: Database;
  /** tms_owner's login, which sees rows. */
  owner: postgres.Sql;
}

/** A database of one's own, with what tms_owner adds to it. */
async function side(added = ""): Promise<Side> {
  const database = await createDatabase();
  opened.push(() => database.drop());
  const owner = login(database);
  if (added !== "") await owner.unsafe(added);
  return { database, owner };
}

function login({ urls }: Database) {
  const sql = postgres(urls.owner, {
    max: 2,
    onnotice: () => {},
    fetch_types: false,
    connection: { "app.maintenance": "on" } as object,
  });
  opened.push(() => sql.end());
  return sql;
}

/** Where the tables are made, the tenant acme and a row for it, and where a file of acme shall go. */
async function sides(added: string, addedThere = added) {
  const [here, there] = await Promise.all([side(added), side(addedThere)]);
  const acme = await seedTenant(here.database.sql, { slug: "acme" });
  return { here, there, acme };
}

async function file({ owner }: Pick<Side, "owner">, slug = "acme"): Promise<string> {
  let all = "";
  for await (const lines of exportTenant(owner, slug)) all += lines;
  return all;
}

async function* pieces(all: string) {
  yield Buffer.from(all);
}
const load = (all: string, { owner }: Pick<Side, "owner">, slug?: string) =>
  importTenant(owner, linesOf(pieces(all)), slug);

/** What stands in a table, as text, without the tenant. */
async function rows({ database }: Side, table: string, tenantId: string) {
  const found = await database.sql.unsafe(
    `select (to_jsonb(t) - 'tenant_id')::text as row from ${table} t where tenant_id = $1 order by 1`,
    [tenantId],
  );
  return found.map(({ row }) => JSON.parse(row as string) as Record<string, unknown>);
}

const NOTES = `create table app.notes (tenant_id uuid not null, id int not null, title text, primary key (tenant_id, id));
  select app.isolate('app.notes');`;

test("a tenant table in another schema is transferred, too", async () => {
  const { here, there, acme } = await sides(`
    create schema crm; grant usage on schema crm to tms_app, tms_auditor;
    create table crm.users (tenant_id uuid not null, id int not null, user_id uuid, primary key (tenant_id, id),
      foreign key (tenant_id, user_id) references app.users);
    select app.isolate('crm.users');
    create table crm."Odd.deals" (tenant_id uuid not null, id int not null, primary key (tenant_id, id),
      foreign key (tenant_id, id) references crm.users);
    select app.isolate('crm."Odd.deals"')`);
  const user = await seedUser(here.database.sql, acme, { subject: "alice" });
  await here.owner`insert into crm.users values (${acme}, 1, ${user})`;
  await here.owner`insert into crm."Odd.deals" values (${acme}, 1)`;
  const { counts } = await load(await file(here), there);
  assert.deepEqual([counts["app.users"], counts["crm.users"], counts['crm."Odd.deals"']], [1, 1, 1]);
  assert.deepEqual(await rows(there, "crm.users", acme), [{ id: 1, user_id: user }]);
  assert.equal((await rows(there, 'crm."Odd.deals"', acme)).length, 1);
});

test("rows that a policy hides from the export are missed, and the export refused", async () => {
  const { here, there, acme } = await sides(
    `${NOTES}
    create policy live on app.notes as restrictive to tms_app using (title <> 'gone')`,
    NOTES,
  );
  await here.owner`insert into app.notes values (${acme}, 1, 'here')`;
  assert.match(await file(here), /"end":true/, "where it hides none");
  await here.owner`insert into app.notes values (${acme}, 2, 'gone'), (${acme}, 3, null)`;
  let all = "";
  await assert.rejects(
    async () => {
      for await (const lines of exportTenant(here.owner, "acme")) all += lines;
    },
    {
      message:
        "app.notes holds 3 rows of acme, and tms_app, who reads them, sees 1: a policy of its own hides rows (live). " +
        "Drop it while you export, and create it again",
    },
  );
  assert.ok(!all.includes('"end":true'));
  await here.owner`drop policy live on app.notes`;
  await here.owner`drop policy tenant_rows on app.notes`;
  await assert.rejects(file(here), {
    message:
      "app.notes holds 3 rows of acme, and tms_app, who reads them, sees 0: its policies are not those that app.isolate() writes, " +
      "and npm run audit says how to fix them",
  });
  await here.owner`select app.isolate('app.notes')`;
  await there.owner.unsafe(
    "create policy seen on app.notes as restrictive for select to tms_app using (title <> 'gone')",
  );
  await assert.rejects(load(await file(here), there), {
    message: "app.notes has 1 rows after the import, and 3 were exported. A policy may hide some (seen)",
  });
});

test("a policy that hides rows from the owner too lets nobody count, and the export is refused", async () => {
  const { here, acme } = await sides(`${NOTES}
    create policy live on app.notes as restrictive using (title <> 'gone')`);
  await here.database.sql`insert into app.notes values (${acme}, 1, 'gone')`;
  await assert.rejects(
    file(here),
    /The policy live of app\.notes hides rows from tms_owner too.*alter policy live on app\.notes to tms_app$/,
  );
  await here.owner`alter policy live on app.notes to tms_app`;
  await assert.rejects(file(here), /holds 1 row of acme, and tms_app, who reads them, sees 0/);
  await here.owner`drop policy live on app.notes`;
  await here.owner`create policy live on app.notes as restrictive for all with check (title <> 'gone')`;
  assert.match(await file(here), /"end":true/, "one that only checks what is written hides nothing");
});

test("a table that tms_app may not read is left out where it holds nothing of the tenant, else named", async () => {
  const { here, there, acme } = await sides(
    `create table app.events (tenant_id uuid not null, id int not null, year int not null, primary key (tenant_id, id, year)) partition by list (year);
     create table app.ev_2026 partition of app.events for values in (2026);
     create table app.ev_2027 partition of app.events for values in (2027);
     select app.isolate('app.events');
     alter table app.events detach partition app.ev_2026;
     create table app.parents (tenant_id uuid not null, id int not null, primary key (tenant_id, id));
     create table app.children (more text, primary key (tenant_id, id)) inherits (app.parents);
     select app.isolate('app.parents');
     create table app.numbered (tenant_id int, id int);
     create schema "Far" create table logs (tenant_id uuid not null, id int not null, primary key (tenant_id, id));
     select app.isolate('"Far".logs')`,
    `create table app.events (tenant_id uuid not null, id int not null, year int not null, primary key (tenant_id, id, year));
     create table app.parents (tenant_id uuid not null, id int not null, primary key (tenant_id, id));
     select app.isolate('app.parents'); select app.isolate('app.events')`,
  );
  const globex = await seedTenant(here.database.sql, { slug: "globex" });
  await here.database.sql`insert into app.ev_2026 values (${globex}, 1, 2026)`;
  await here.database.sql`insert into app.children values (${globex}, 1, 'more')`;
  await here.database.sql`insert into app.parents values (${acme}, 1), (${globex}, 2)`;
  await here.database.sql`insert into app.events values (${acme}, 1, 2027)`;
  await here.database.sql`insert into app.numbered values (1, 1)`;
  const done = await load(await file(here), there);
  const { "app.parents": parents, "app.events": events, ...others } = done.counts;
  assert.deepEqual([parents, events], [1, 1], "a partition's row is its table's");
  assert.ok(!("app.ev_2026" in others) && !("app.ev_2027" in others));
  for (const table of ["app.children", "app.ev_2026"]) {
    await assert.rejects(file(here, "globex"), {
      message:
        `${table} holds 1 row of globex, and tms_app, who reads them, may not: ` +
        `select app.isolate('${table}') grants what requests need; or drop the table`,
    });
    await here.owner`select app.isolate(${table}::text::regclass)`;
  }
  await here.database.sql`insert into "Far".logs values (${globex}, 1)`;
  await assert.rejects(
    file(here, "globex"),
    /may not: grant usage on schema "Far" to tms_app; select app\.isolate\('"Far"\.logs'\)/,
  );
  await here.owner`drop schema "Far" cascade`;
  // Reading a parent reads its children: each row is in the file once.
  const all = await file(here, "globex");
  assert.equal(all.match(/^\{"table":"app\.(children|parents)"/gm)!.length, 2);
  await assert.rejects(load(all, there), /This database has no table app\.(children|ev_2026)/);
  const copy = await load(all, here, "globex-2");
  assert.deepEqual(await rows(here, "app.children", copy.tenant_id), [{ id: 1, more: "more" }]);
  await here.owner.unsafe("drop table app.numbered");
  await here.owner`select control.gate()`;
  await here.owner`select app.isolate('app.parents')`;
  await here.owner`select control.gate()`;
  await assert.rejects(
    load(all, here, "globex-3"),
    /may not read app\.children: select app\.isolate\('app\.children'\)/,
  );
});

test("a table of another owner is not read with tms_owner's rights", async () => {
  const { here, there, acme } = await sides(NOTES);
  const all = await file(here);
  for (const { database } of [here, there]) await database.sql`alter table app.notes owner to current_user`;
  await here.database.sql`insert into app.notes values (${acme}, 1, 'mine')`;
  const says = /^app\.notes is owned by \w+, and what it calls would run with tms_owner's rights/;
  await assert.rejects(file(here), ({ message }) => says.test(message));
  await assert.rejects(load(all, there), ({ message }) => says.test(message));
});

test("added columns of app.tenants are transferred, and an import without them fails", async () => {
  const { here, there, acme } = await sides(
    `create domain app.label as text not null;
     create domain app.labels as jsonb;
     alter table app.tenants add plan text, alter plan set default 'free', add "Seat count" numeric, add tags text[], add data jsonb, add raw json,
       add labels app.labels, add constructor text, add tenant_id uuid;
     do $$ begin
       alter table app.tenants add shout app.label generated always as (upper(slug)) stored;
     exception when feature_not_supported then null; -- Postgres 15, where a function takes the table's rows
     end $$`,
  );
  await here.database.sql`
    update app.tenants set plan = 'gold', "Seat count" = 12345678901234567890.10, tags = '[0:1]={"a,b",null}', data = '[1, "null"]', labels = '{"a": null}', raw = e'[1,\\r\\n2]',
      constructor = 'x' where id = ${acme}`;
  const all = await file(here);
  assert.ok(!all.includes("shout"), "generated columns follow from the others");
  await load(all, there);
  const [found] = await there.database.sql`
    select plan, "Seat count"::text as seats, tags::text, data::text, labels::text, raw::jsonb::text as raw, coalesce(to_jsonb(t) ->> 'shout', 'ACME') as shout, constructor as made, is_default from app.tenants t where id = ${acme}`;
  assert.deepEqual(
    { ...found },
    {
      plan: "gold",
      seats: "12345678901234567890.10",
      tags: '[0:1]={"a,b",NULL}',
      data: '[1, "null"]',
      labels: '{"a": null}',
      raw: "[1, 2]",
      shout: "ACME",
      made: "x",
      is_default: false,
    },
  );
  const plain = await side();
  await assert.rejects(load(all, plain), /app\.tenants has no column .*plan.* here/);
  await there.database.sql`alter table app.tenants add newer text, alter newer set default 'new'`;
  const { tenant_id } = await load(all, there, "acme-2");
  const [newer] = await there.database.sql`select newer, plan from app.tenants where id = ${tenant_id}`;
  assert.deepEqual({ ...newer }, { newer: "new", plan: "gold" });
  // As an earlier release wrote it: values as JSON, generated columns too.
  const [header, , ...rest] = all.trimEnd().split("\n");
  const [{ row }] = await here.database.sql<[{ row: string }]>`
    select to_json(t.*)::text as row from app.tenants t where id = ${acme}`;
  const earlier = resealed([header!, `{"table":"app.tenants","row":${row.replace(/\s*\n/, "")}}`, ...rest]);
  const old = await load(earlier, there, "acme-3");
  const [same] = await there.database
    .sql`select plan, "Seat count"::text as seats, data::text from app.tenants where id = ${old.tenant_id}`;
  assert.deepEqual({ ...same }, { plan: "gold", seats: "12345678901234567890.10", data: '[1, "null"]' });
});

/** The lines with a checksum that fits. */
function resealed(lines: string[]): string {
  const trailer = JSON.parse(lines.at(-1)!) as { sha256: string };
  const body = `${lines.slice(0, -1).join("\n")}\n`;
  trailer.sha256 = createHash("sha256").update(body).digest("hex");
  return `${body}${JSON.stringify(trailer)}\n`;
}

test("a violated unique key that was added to app.tenants is named, and not taken for the slug's", async () => {
  const { here } = await sides(
    `alter table app.tenants add domain text unique, alter domain set default 'acme.example'`,
  );
  const all = await file(here);
  await assert.rejects(load(all, here, "acme-2"), /app\.tenants refuses the tenant: .*tenants_domain_key/);
});

test("tables that refer to each other in a circle are carried once a key of it may wait, and else named without those that refer to them", async () => {
  const columns = "tenant_id uuid not null, id int, other int, primary key (tenant_id, id)";
  const { here, there, acme } = await sides(`
    create table app.hens (${columns}); create table app."Eggs" (${columns}); create table app.shells (${columns});
    alter table app.hens add constraint laid foreign key (tenant_id, other) references app."Eggs";
    alter table app."Eggs" add foreign key (tenant_id, other) references app.hens;
    alter table app.shells add foreign key (tenant_id, other) references app."Eggs";
    select app.isolate('app.hens'), app.isolate('app."Eggs"'), app.isolate('app.shells')`);
  for (const table of ["hens", '"Eggs"', "shells"])
    await here.database.sql.unsafe(`insert into app.${table} values ($1, 1)`, [acme]);
  await here.database.sql.unsafe('update app.hens set other = 1; update app."Eggs" set other = 1');
  await here.database.sql.unsafe('alter table app."Eggs" alter other set not null');
  const refused = await file(here).catch(String);
  assert.match(
    String(refused),
    /^Error: The foreign keys of app\."Eggs", app\.hens form a circle, so no order of the rows fits\. /,
  );
  // Of the two keys the one that may be null.
  const remedy = String(refused).split("\n").slice(1);
  assert.deepEqual(remedy, ["alter table app.hens alter constraint laid deferrable;"]);
  for (const { owner } of [here, there]) await owner.unsafe(remedy.join("\n"));
  await load(await file(here), there);
  const [hen] = await there.database.sql`select other from app.hens`;
  assert.equal(hen!.other, 1);
  await load(await file(there), there, "acme-2");
});

test("a key that one partition has, or that refers to one, orders the whole tables", async () => {
  const partitioned = (name: string) => `
    create table app.${name} (tenant_id uuid not null, id int not null, primary key (tenant_id, id)) partition by list (id);
    create table app.${name}_1 partition of app.${name} for values in (1);`;
  const { here, there, acme } = await sides(`${partitioned("a_last")} ${partitioned("c_first")}
    create table app.b_middle (tenant_id uuid not null, id int not null, primary key (tenant_id, id),
      foreign key (tenant_id, id) references app.c_first_1);
    alter table app.a_last_1 add foreign key (tenant_id, id) references app.b_middle;
    select app.isolate(format('app.%s', name)::regclass) from unnest('{c_first,b_middle,a_last}'::text[]) name`);
  for (const table of ["c_first", "b_middle", "a_last"])
    await here.database.sql`insert into app.${here.database.sql(table)} values (${acme}, 1)`;
  const { counts } = await load(await file(here), there);
  assert.deepEqual([counts["app.c_first"], counts["app.b_middle"], counts["app.a_last"]], [1, 1, 1]);
});

test("a domain that takes no null is no hindrance in columns that are generated, or newer than the file", async () => {
  const label =
    "create schema words; create domain words.label as text not null; grant usage on schema words to public;";
  const { here, there, acme } = await sides(
    `${label} create table app.named (tenant_id uuid not null, id int not null, name text, gone int, kind words.label,
       l words.label generated always as (lower(name)) stored, primary key (tenant_id, id));
     select app.isolate('app.named'); alter table app.named drop gone; revoke usage on schema words from public`,
    `${label} create table app.named (tenant_id uuid not null, newer words.label default 'n', id int not null, kind words.label, name text, gone int,
       l words.label generated always as (lower(name)) stored, primary key (tenant_id, id));
     select app.isolate('app.named'); alter table app.named drop gone; revoke usage on schema words from public`,
  );
  await here.database
    .sql`insert into app.named (tenant_id, id, name, kind) values (${acme}, 1, 'One', 'k'), (${acme}, 2, 'Two', 'k')`;
  await load(await file(here), there);
  assert.deepEqual(await rows(there, "app.named", acme), [
    { id: 1, l: "one", kind: "k", name: "One", newer: "n" },
    { id: 2, l: "two", kind: "k", name: "Two", newer: "n" },
  ]);
});

test("when triggers write as well, the import names them, and says how to disable them", async () => {
  const { here, there, acme } = await sides(`${NOTES}
    create table app.history (tenant_id uuid not null, id uuid default gen_random_uuid(), note int, primary key (tenant_id, id));
    select app.isolate('app.history');
    create function app.remember() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
      begin insert into app.history (tenant_id, note) values (new.tenant_id, new.id); return new; end $$;
    create trigger "Remember" after insert on app.notes for each row execute function app.remember();
    create trigger forget after delete on app.notes for each row execute function app.remember();
    create trigger never before insert on app.notes for each row execute function app.remember();
    alter table app.notes enable always trigger "Remember", enable replica trigger never;
    create table app.parts (tenant_id uuid not null, id int not null, primary key (tenant_id, id)) partition by list (id);
    create table app.part partition of app.parts for values in (1);
    select app.isolate('app.parts');
    create trigger whole after insert on app.parts for each row execute function app.remember();
    create trigger single after insert on app.part for each row execute function app.remember()`);
  await here.owner`insert into app.notes values (${acme}, 1, 'one')`;
  const all = await file(here);
  const says = `Triggers may be why: what they write, the file has as well. As tms_owner, before an import:
alter table app.notes disable trigger "Remember";
alter table app.parts disable trigger whole;
alter table app.part disable trigger single;
and after it, the same with enable`;
  const twice = "app.history has 2 rows after the import, and 1 were exported";
  await assert.rejects(load(all, there), { message: `${twice}\n${says}` });
  await there.owner`create unique index on app.history (tenant_id, note)`;
  await assert.rejects(
    load(all, there),
    ({ message }) =>
      /^app\.(history|notes) refuses the row of line \d+: duplicate key/.test(message) &&
      message.endsWith(says),
  );
  // Of what is the row's own fault, no trigger is spoken of; of what is not the row's, no row.
  const refuses = "app.notes refuses the row of line 4: no";
  const both = says.replace('"Remember";', '"Remember";\nalter table app.notes disable trigger refuse;');
  for (const [codes, message] of [
    [["21000", "22000"], refuses],
    [["23000", "42501", "44000", "P0001", "TM409"], `${refuses}\n${both}`],
    [["40001", "53100", "55P03", "57014"], "no"],
  ] as const)
    for (const code of codes) {
      await there.owner.unsafe(`
        create or replace function app.refuse_note() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
          begin raise 'no' using errcode = '${code}'; end $$;
        create or replace trigger refuse before insert on app.notes for each row execute function app.refuse_note()`);
      await assert.rejects(load(all, there), { message }, code);
    }
  await there.owner.unsafe("drop trigger refuse on app.notes");
  await there.owner.unsafe('alter table app.notes disable trigger "Remember"');
  assert.equal((await load(all, there)).counts["app.history"], 1);
});

test("a refused row gives an error with its table, its lines if known, and Postgres's detail of the key", async () => {
  const notes = (check: string) => `
    create table app.notes (tenant_id uuid not null, id int not null, title text ${check}, above int, primary key (tenant_id, id),
      foreign key (tenant_id, above) references app.notes deferrable initially deferred);
    select app.isolate('app.notes');`;
  const { here, there, acme } = await sides(notes(""), notes("constraint short check (length(title) < 5)"));
  await here.owner`insert into app.notes values (${acme}, 1, 'one', null), (${acme}, 2, 'too long', 1)`;
  const all = await file(here);
  await assert.rejects(load(all, there), {
    message:
      'app.notes refuses a row of the lines 3 to 4: new row for relation "notes" violates check constraint "short"',
  });
  await there.owner`alter table app.notes drop constraint short`;
  const lines = all
    .trimEnd()
    .split("\n")
    .map(line => line.replace('"above":"1"', '"above":"7"'));
  await assert.rejects(load(resealed(lines), there), {
    message:
      'app.notes refuses a row: insert or update on table "notes" violates foreign key constraint ' +
      '"notes_tenant_id_above_fkey" (Key is not present in table "notes".)',
  });
  const typed = all
    .trimEnd()
    .split("\n")
    .map(line => line.replace('"id":"2"', '"id":"two"'));
  await assert.rejects(
    load(resealed(typed), there),
    /app\.notes refuses a row of the lines 3 to 4: invalid input syntax for type integer: "two"/,
  );
});

test("a sequence that a default asks, and the column does not own, goes on behind what was imported", async () => {
  const { here, there, acme } = await sides(`
    create schema counting; grant usage on schema counting to tms_app;
    create sequence counting."All numbers"; grant usage on sequence counting."All numbers" to tms_app;
    create sequence counting.down increment by -1; grant usage on sequence counting.down to tms_app;
    create domain app.number as bigint;
    create table app.numbered (tenant_id uuid not null, id app.number default nextval('counting."All numbers"'), down int default nextval('counting.down'),
      label text default 'n' || nextval('counting."All numbers"'), primary key (tenant_id, id), unique (tenant_id, down));
    create sequence counting.small; create sequence counting.few maxvalue 10;
    create sequence counting.up_once; create sequence counting.down_once increment by -1;
    alter table app.numbered add small smallint default nextval('counting.small'), add few int default nextval('counting.few'),
      add up_once numeric default nextval('counting.up_once'), add down_once int default nextval('counting.down_once');
    create sequence counting.unread; create sequence counting.unset;
    alter table app.numbered add unread int default nextval('counting.unread'), add unset int default nextval('counting.unset');
    revoke select on sequence counting.unread from tms_owner; revoke update on sequence counting.unset from tms_owner;
    grant usage on all sequences in schema counting to tms_app;
    select app.isolate('app.numbered')`);
  await here.owner`insert into app.numbered (tenant_id) select ${acme} from generate_series(1, 5)`;
  // The first numbers of all, which a sequence does not say it gave, and one beyond its end.
  await here.owner`update app.numbered set up_once = 1, down_once = -1, few = case small when 1 then 100 else few end`;
  const { last } = (await here.owner`select max(id)::int as last from app.numbered`)[0] as unknown as {
    last: number;
  };
  await there.owner`select setval('counting.few', 8)`;
  await load(await file(here), there);
  const [next] = await there.owner`insert into app.numbered (tenant_id) values (${acme}) 
      returning id::int, down, small, few, up_once::int, down_once`;
  assert.deepEqual(
    { ...next },
    { id: last + 1, down: -6, small: 6, few: 9, up_once: 2, down_once: -2 },
    "and one that is further stays",
  );
});

test("a login's settings change nothing of what is written, nor of how it is read", async () => {
  const { here, there, acme } = await sides(`${NOTES}
    create table app.kinds (tenant_id uuid not null, id int not null, at timestamptz, day date, lasts interval, ratio float8, cost money, ref regclass,
      doc xml, words text[], slashed text, "back\\'slash" json, primary key (tenant_id, id));
    select app.isolate('app.kinds')`);
  await here.database
    .sql`insert into app.kinds values (${acme}, 1, '2026-02-01 03:04:05.678901+05:30', '2026-02-01', '-1 mons +2 days -03:04:05', 0.1::float8 + 0.2, 1234.56, 'app.notes',
    xmlparse(content 'a<b/>'), array['NULL', null, 'a\\b'], 'a\\''b', '"x"')`;
  const plain = await file(here);
  const odd = {
    search_path: "app, public",
    datestyle: "'SQL, DMY'",
    intervalstyle: "'sql_standard'",
    extra_float_digits: "-15",
    quote_all_identifiers: "on",
    standard_conforming_strings: "off",
    array_nulls: "off",
    xmloption: "document",
    bytea_output: "escape",
    timezone: "'Asia/Kolkata'",
    row_security: "off",
  };
  for (const { database } of [here, there])
    for (const [name, value] of Object.entries(odd))
      await database.sql.unsafe(`alter database ${database.name} set ${name} = ${value}`);
  const all = await file({ owner: login(here.database) });
  const undated = (text: string) =>
    text
      .replace(/"exported_at":"[^"]+"/, "")
      .replace(/"sha256":"[^"]+"/, "")
      .replaceAll(/"[^"]*[+-]\d\d(?::30)?"/g, "");
  assert.equal(undated(all), undated(plain));
  await load(all, { owner: login(there.database) });
  assert.deepEqual(await rows(there, "app.kinds", acme), await rows(here, "app.kinds", acme));
});

test("a row of every kind of type is the same after a round trip", async () => {
  const { here, there, acme } = await sides(`
    create schema kinds;
    create type kinds."Mood" as enum ('so so', 'it''s');
    create domain kinds.short as varchar(3) check (value <> 'no');
    create domain kinds.many as int[] check (cardinality(value) < 9);
    create domain kinds.object as jsonb check (jsonb_typeof(value) = 'object');
    create domain kinds.deeper as kinds.object check (value ? 'a');
    create domain kinds.verbatim as json;
    create type kinds.pair as (a jsonb, "B b" kinds.short, c kinds."Mood"[]);
    create domain kinds.one_pair as kinds.pair check ((value).a is distinct from '1');
    create type kinds.price as (amount numeric, currency text);
    create function kinds.label(p kinds.price) returns text language sql immutable return 'for ' || (p).amount;
    create cast (kinds.price as text) with function kinds.label(kinds.price);
    create table app.kinds (
      tenant_id uuid not null, id bigint generated always as identity, by_default int generated by default as identity (start 5),
      mood kinds."Mood", moods kinds."Mood"[], short kinds.short, many kinds.many, object kinds.object, deeper kinds.deeper,
      verbatim kinds.verbatim, pair kinds.pair, pairs kinds.pair[], one_pair kinds.one_pair, objects kinds.object[],
      raw json, raws json[], b jsonb, bs jsonb[], c1 "char", c5 char(5), cs char(2)[], blanks bpchar, v varchar(3), n name, bits bit(3), bit1 bit,
      varying bit varying(5), num numeric(12,2), nums numeric[], inf numeric, real float4, double float8,
      bin bytea, bins bytea[], yes boolean, d date, t time, ttz timetz, ts timestamp(3), tstz timestamptz, i interval,
      i2 interval day to second(2), span tstzrange, spans int4multirange, ip inet, net cidr, mac macaddr, p point, poly polygon,
      circle circle, box box, boxes box[], lsn pg_lsn, words tsvector, query tsquery, path jsonpath, ref regclass, of_type regtype,
      proc regprocedure, doc xml, cost money, price kinds.price, no_price kinds.price, ids uuid[], deep text[][],
      "It's" text, "a""b" int, "back\\slash" int, "tenant_id " text, "Ünï" text, "constructor" text, "line" text, "nothing" text, "r" text,
      gone int, doubled bigint generated always as (id * 2) stored, up kinds.short generated always as (upper(v)) stored,
      primary key (tenant_id, id));
    alter table app.kinds drop gone;
    select app.isolate('app.kinds')`);
  const insert = (values: Record<string, string>) =>
    here.database.sql.unsafe(
      `insert into app.kinds (tenant_id, ${Object.keys(values).join(", ")}) values ('${acme}', ${Object.values(values).join(", ")})`,
    );
  await insert({ mood: "null" });
  await insert({
    mood: "'it''s'",
    moods: "'{so so,NULL,it''s}'",
    short: "'abc'",
    many: "'[2:3]={1,NULL}'",
    object: `'{"a": null}'`,
    deeper: `'{"a": 1.10}'`,
    verbatim: `'{"b" : 1, "a":"\\u2028"}'`,
    pair: `row('null', 'x"y', '{so so}')`,
    pairs: `array[row('"text"', null, null)::kinds.pair, null]`,
    one_pair: `row('[]', '', '{}')`,
    objects: `array['{"a": "\\\\"}'::jsonb]::kinds.object[]`,
    raw: `e' {"b" : 1,\\r\\n"a":"\\\\u0000", "a":3}'`,
    raws: `array['null', '"n"']::json[]`,
    b: "'null'",
    bs: `array['null', null, '"null"']::jsonb[]`,
  });
  await insert({
    c1: "'x'",
    c5: "'ab'",
    cs: "'{a,b}'",
    blanks: "'a  '",
    v: "'abc'",
    n: "'name'",
    bits: "'101'",
    bit1: "'1'",
    varying: "'01'",
    num: "1234567890.12",
    nums: "'{NaN,1e-30}'",
    inf: "'-Infinity'",
    real: "1.1::float4",
    double: "0.1::float8 + 0.2",
    bin: "'\\x00ff5c'",
    bins: "array['\\x5c'::bytea, null]",
    yes: "true",
    d: "'0044-03-15 BC'",
    t: "'24:00'",
    ttz: "'12:00:00.5+05:30'",
    ts: "'infinity'",
    tstz: "'1880-01-01 00:00+00'",
    i: "'-1 years +2 mons -3 days 04:05:06.7'",
    i2: "'1 day 2.345'",
    span: "'(,2026-01-01]'",
    spans: "'{[1,3),[5,)}'",
  });
  await insert({
    ip: "'::1/64'",
    net: "'10.0.0.0/8'",
    mac: "'08:00:2b:01:02:03'",
    p: "'(0.1,1e300)'",
    poly: "'((0,0),(1,1))'",
    circle: "'<(0,0),2>'",
    box: "'(1,1),(0,0)'",
    boxes: "'{(1,1),(0,0);(2,2),(1,1)}'",
    lsn: "'16/B374D848'",
    words: "'a:1A ''b c'''",
    query: "'a & !b'",
    path: "'$.a[*] ? (@ > 1)'",
    ref: "'app.kinds'",
    of_type: "'app.tenants[]'",
    proc: "'app.isolate(regclass,boolean,text,date)'",
    doc: "xmlparse(content 'a<b/>')",
    cost: "'1234.56'",
    price: "(9.90, 'EUR')",
    no_price: "(null, null)",
    ids: `array['${acme}'::uuid]`,
    deep: `'{{a,NULL},{"NULL","{}"}}'`,
    '"It\'s"': "e'\\u2028\\n\\t\\\\'",
    '"a""b"': "1",
    '"back\\slash"': "2",
    '"tenant_id "': "'t'",
    '"Ünï"': "'😀'",
    '"constructor"': "'c'",
    '"line"': "'l'",
    '"nothing"': "'n'",
    '"r"': "'r'",
  });
  // To SQL such a row is neither null nor not null.
  await insert({
    price: "row(1, null)",
    pair: "row(null, 'x', null)",
    one_pair: "row(null, null, '{}')",
  });
  await load(await file(here), there);
  const texts = async ({ database: { sql } }: Side) =>
    (await sql`select whole::text as row from app.kinds whole where tenant_id = ${acme} order by id`).map(
      ({ row }) => row as string,
    );
  const [before, then] = [await texts(here), await texts(there)];
  assert.equal(then.length, 5);
  assert.deepEqual(then, before);
  // What stays JSON keeps no end of a line, which would be one of the file's.
  await here.database.sql.unsafe(`update app.kinds set verbatim = e'{"b" :\\n1}' where verbatim is not null`);
  const { tenant_id } = await load(await file(here), there, "acme-2");
  const [found] = await there.database
    .sql`select verbatim::text as verbatim from app.kinds where tenant_id = ${tenant_id} and verbatim is not null`;
  assert.equal(found!.verbatim, '{"b" : 1}');
});
