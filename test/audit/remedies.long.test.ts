/** Remedies of tables, their keys and policies are pasted as they are printed: what they restore must be what was there. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack } from "../harness.ts";
import { asOwner, type Found, paste, runCheck, seedTenants } from "./world.ts";

const KEYS = `select conrelid::regclass::text || ' ' || conname || ' ' || pg_get_constraintdef(oid) as key
  from pg_constraint where conrelid in (select relid from audit.relations()) and contype in ('p', 'u', 'f') and conname not like '%tenant_id_fkey'`;

const database = await createDatabase();
await seedTenants(database.sql, 2);
after(() => database.drop());

void describe("the remedies", () => {
  const undone = (work: (sql: postgres.TransactionSql) => Promise<void>) => rolledBack(database.sql, work);
  const keysOf = async (sql: postgres.TransactionSql) =>
    (await sql.unsafe(KEYS)).map(row => row.key as string).sort();

  it("restore every key of the service's tables, by name and with its action", () =>
    undone(async sql => {
      const before = await keysOf(sql);
      await sql.unsafe(`do $$
        declare k record;
        begin
          for k in select conrelid::regclass as t, conname from pg_constraint
            where conrelid in (select relid from audit.relations()) and conname not like '%tenant_id_fkey' and contype in ('p', 'u', 'f')
              and not (conrelid = 'app.tenants'::regclass and contype = 'p')
            order by contype = 'f' desc
          loop execute format('alter table %s drop constraint %I', k.t, k.conname); end loop;
        end $$`);
      assert.ok((await keysOf(sql)).length < 3);
      assert.ok((await paste(sql, "unique_key_missing")).length > 8);
      assert.equal((await paste(sql, "foreign_key_missing")).length, 12);
      assert.deepEqual(await keysOf(sql), before);
    }));

  it("put tenant_id first in the keys of a table that somebody made without a thought of it", () =>
    undone(async sql => {
      await sql.unsafe(`create table app."Plain" (id int constraint "Plain key" primary key, tenant_id varchar(40) default '', code text, lot int,
          constraint plain_code unique (code, tenant_id) deferrable);
        insert into app."Plain" select 1, id from app.tenants limit 1; create unique index on app."Plain" (lower(code)) where lot > 0; alter table app."Plain" owner to tms_owner`);
      await sql.unsafe("set local app.maintenance = on");
      const found = await asOwner(sql, "table_rules");
      assert.deepEqual(
        found.map(({ remedy }) => remedy.endsWith(`select app.isolate('app."Plain"');`)),
        [false, false, false, false, true],
      );
      const keys =
        await sql`select pg_get_indexdef(indexrelid) as key from pg_index where indrelid = 'app."Plain"'::regclass order by 1`;
      assert.deepEqual(
        keys.map(one => /btree (.*)/.exec(one.key as string)?.[1]),
        ["(tenant_id, id)", "(tenant_id, lower(code)) WHERE (lot > 0)", "(tenant_id, code)"],
      );
    }));

  const MADE = [
    [
      "a table of plain keys",
      "create table @.a (id int primary key, tenant_id text, code text unique, board_id uuid)",
    ],
    [
      "tables that refer to each other by their ids",
      `create table @.b (id uuid primary key, tenant_id uuid); create table @.a (id uuid primary key, tenant_id varchar, b_id uuid references @.b on delete set null)`,
    ],
    [
      "a partitioned table",
      `create table @.a (tenant_id uuid, id int) partition by hash (tenant_id); create table @.a_0 partition of @.a for values with (modulus 1, remainder 0);
       alter table @.a_0 add unique (id), alter tenant_id set not null; alter table @.a add primary key (tenant_id, id)`,
    ],
    [
      "a table and its child, which lacks its key to another",
      "create table @.a (id int primary key, tenant_id uuid not null); create table @.b (id int primary key, tenant_id uuid not null, a_id int references @.a); create table @.b_1 () inherits (@.b)",
    ],
    [
      "a tenant_id of a domain",
      "create domain @.t as uuid; create table @.a (tenant_id @.t not null, id int primary key)",
    ],
    [
      "a table and its child",
      "create table @.a (id int primary key, tenant_id uuid); create table @.a_1 (primary key (id)) inherits (@.a)",
    ],
    [
      "a key that refers to a partition by its own name, before and behind it",
      `create table @.ev (tenant_id uuid not null, id int primary key) partition by hash (id); create table @.ev_0 partition of @.ev for values with (modulus 1, remainder 0);
       create table @.a (tenant_id uuid not null, id int primary key, ev int not null references @.ev_0 on delete cascade); create table @.z (tenant_id uuid not null, id int primary key, ev int not null references @.ev_0)`,
    ],
    [
      "keys and conditions in which tenant_id is only a part, or a text",
      `create table @."a (old)" (tenant_id uuid not null, id uuid, folder uuid, name text not null, primary key (tenant_id, id));
       create unique index "by(name)" on @."a (old)" (coalesce(folder, tenant_id), name desc nulls last); create unique index on @."a (old)" (name desc, tenant_id desc) where name <> ', tenant_id (';
       create unique index on @."a (old)" ((name || ', tenant_id')) include (tenant_id)`,
    ],
    [
      "texts that name the tenant, on both sides of keys",
      `create table @.b (id text primary key, tenant_id text not null, unique (tenant_id, id)); create table @.a (id text primary key, tenant_id text not null, b_id text references @.b on delete cascade, foreign key (tenant_id, b_id) references @.b (tenant_id, id));
       create table @.c (id text primary key, tenant_id text not null, b_id text references @.b on delete cascade, a_id text references @.a); create table @.d (id int, tenant_id uuid not null, c_id text references @.c, primary key (tenant_id, id));
       alter table @.c enable row level security, force row level security`,
    ],
    [
      "children of children",
      "create table @.a (id int primary key, tenant_id uuid not null); create table @.b (primary key (id)) inherits (@.a); create table @.c (primary key (id)) inherits (@.b)",
    ],
    [
      "references whose column has an index",
      "create table @.a (id int primary key, tenant_id uuid not null); create table @.b (id int primary key, tenant_id uuid not null, a_id int references @.a match full, b_id int references @.b); create index on @.b (a_id); create index on @.b (tenant_id, b_id)",
    ],
    [
      "keys to tenants that do less, and keys of other names than theirs",
      `create table @.a (tenant_id uuid not null references app.tenants, id int primary key); create table @.b (tenant_id uuid not null references app.tenants on delete restrict, id int, primary key (tenant_id, id));
       create table @.accounts (tenant_id uuid primary key references app.tenants on delete cascade); create table @.notes (tenant_id uuid not null references @.accounts on delete restrict, id int, primary key (tenant_id, id));
       create table @.lines (tenant_id uuid not null, id int, b int, primary key (tenant_id, id), constraint lines_tenant_id_fkey foreign key (tenant_id, b) references @.b on delete cascade); create index on @.lines (tenant_id, b)`,
    ],
    [
      "a table that another refers to by a service's key",
      "alter table app.media drop constraint media_pkey cascade, add constraint media_pkey primary key (id); create table @.a (tenant_id uuid not null, id int primary key, media_id uuid references app.media (id) on delete cascade)",
    ],
    [
      "a join table, whose own key becomes the index",
      "create table @.a (tenant_id uuid not null, id int primary key); create table @.ab (tenant_id uuid not null, a_id int references @.a on delete cascade, b_id int references @.a on delete cascade, primary key (a_id, b_id)); create index on @.ab (b_id)",
    ],
    [
      "texts, and a partition behind the table that it refers to",
      `create table @.n (tenant_id text not null, id int primary key); create table @.m (tenant_id text not null, id int, of_n int, primary key (tenant_id, id)) partition by hash (id);
       create table @.z partition of @.m for values with (modulus 1, remainder 0); alter table @.z add foreign key (of_n) references @.n on delete cascade; create index on @.z (tenant_id, of_n)`,
    ],
    [
      "texts that name the tenant of a partition's rows",
      `create table @.a (tenant_id text not null, id int, primary key (tenant_id, id)); create table @.p (tenant_id text not null, id int, a_id int, primary key (tenant_id, id)) partition by hash (id);
       create table @.p_0 partition of @.p for values with (modulus 1, remainder 0); alter table @.p_0 add constraint f foreign key (tenant_id, a_id) references @.a on delete cascade; create index on @.p_0 (tenant_id, a_id)`,
    ],
    [
      "a table whose tenant has another name",
      "create table @.a (org_id uuid not null references app.tenants on delete cascade, id int, primary key (org_id, id)); create index on @.a (id)",
    ],
    [
      "keys that would empty tenant_id",
      `create table @.a (tenant_id uuid not null, id uuid, b uuid, primary key (tenant_id, id), foreign key (tenant_id, b) references app.boards on update set null,
         foreign key (tenant_id, b) references app.boards on delete set default, foreign key (tenant_id, b) references app.boards on delete set null (tenant_id));
       create index on @.a (tenant_id, b)`,
    ],
  ] as const;

  it("of all that is found are pasted as one migration, in the order of the report: of a table made in each of many ways, in a schema of its own", () =>
    undone(async sql => {
      for (const [i, [, tables]] of MADE.entries())
        await sql.unsafe(
          `create schema s${i} authorization tms_owner; grant usage on schema s${i} to tms_app, tms_auditor; set local role tms_owner; ${tables.replaceAll("@.", `s${i}.`)}; set local role none`,
        );
      const report = () =>
        sql.unsafe<Found[]>(
          "select * from audit.run_family('schema', p_sample => 1) where relation is not null and severity = 'error' or severity = 'warning' and relation ~ '^(s\\d+|app)\\.'",
        );
      const references = async () =>
        (
          await sql`select conrelid::regclass::text || ' ' || confrelid::regclass || ' ' || confdeltype::text as key from pg_constraint
            where contype = 'f' and conparentid = 0 and conrelid in (select relid from audit.relations()) and confrelid <> 'app.tenants'::regclass`
        ).map(row => row.key as string);
      const before = await references();
      const found = await report();
      for (const [i, [how]] of MADE.entries())
        assert.ok(
          found.some(({ relation, remedy }) => `${relation} ${remedy}`.includes(`s${i}.`)) ||
            how.includes("service's own"),
          how,
        );
      await sql.unsafe("set local role tms_owner; set local app.maintenance = on");
      // No index is made beside others in a transaction.
      for (const { remedy } of found)
        await sql.unsafe(remedy.replace("create index concurrently", "create index"));
      await sql.unsafe("set local role none");
      const left = (await report()).map(one => `${one.check} ${one.relation} ${one.detail}`);
      assert.deepEqual(left, [], `sN is the Nth of: ${MADE.map(([how]) => how).join("; ")}`);
      const after = await references();
      for (const key of before) assert.ok(after.includes(key), `${key} is gone`);
      const twice =
        await sql`select conrelid::regclass::text as table from pg_constraint where contype = 'f' and conparentid = 0 and confrelid = 'app.tenants'::regclass and conrelid in (select relid from audit.relations()) group by conrelid, confrelid, conkey, confkey having count(*) > 1`;
      assert.deepEqual([...twice], []);
    }));

  it("let one tenant name another without harm to either, and none be in two tables", () =>
    undone(async sql => {
      await sql.unsafe(`alter table app.tenants add parent_id uuid constraint parent references app.tenants on delete cascade;
        create index on app.tenants (parent_id); create schema shop; create table shop.archived () inherits (app.tenants)`);
      for (const check of ["table_rules", "table_inherits"]) {
        assert.equal((await paste(sql, check)).length, 1, check);
        assert.deepEqual(await runCheck(sql, check), [], check);
      }
      const [key] =
        await sql`select pg_get_constraintdef(oid) as key from pg_constraint where conname = 'parent'`;
      assert.equal(
        key!.key,
        "FOREIGN KEY (parent_id) REFERENCES app.tenants(id) ON DELETE SET NULL (parent_id)",
      );
    }));

  it("pair tenant_id with tenant_id in foreign keys between tables whose keys have none, with all that they say", () =>
    undone(async sql => {
      await sql.unsafe(`create table app.orders (id int primary key, tenant_id uuid not null, "Code" int not null, unique ("Code", id));
        create table app.lines (tenant_id uuid not null, id int, order_id int constraint "of order" references app.orders on delete set null on update cascade deferrable initially deferred,
          code int default 0, primary key (tenant_id, id), constraint by_code foreign key (code, order_id) references app.orders ("Code", id) on delete set default (code));
        alter table app.lines add constraint whole foreign key (order_id) references app.orders match full not valid;
        alter table app.orders owner to tms_owner; alter table app.lines owner to tms_owner`);
      assert.equal((await asOwner(sql, "table_rules")).length, 5);
      const keys = await sql`select conname, pg_get_constraintdef(oid) as key from pg_constraint
          where conrelid = 'app.lines'::regclass and contype = 'f' and confrelid = 'app.orders'::regclass order by 1`;
      assert.deepEqual(
        keys.map(({ conname, key }) => `${conname}: ${key}`),
        [
          'by_code: FOREIGN KEY (tenant_id, code, order_id) REFERENCES app.orders(tenant_id, "Code", id) ON DELETE SET DEFAULT (code)',
          "of order: FOREIGN KEY (tenant_id, order_id) REFERENCES app.orders(tenant_id, id) ON UPDATE CASCADE ON DELETE SET NULL (order_id) DEFERRABLE INITIALLY DEFERRED",
          "whole: FOREIGN KEY (tenant_id, order_id) REFERENCES app.orders(tenant_id, id) NOT VALID",
        ],
      );
    }));

  it("pair tenant_id in a key with a period, from Postgres 18 on", test =>
    undone(async sql => {
      const [server] = await sql`select current_setting('server_version_num')::int >= 180000 as temporal`;
      if (!server!.temporal) return test.skip("no temporal keys before Postgres 18");
      await sql.unsafe(`create extension btree_gist;
        create table app.rates (tenant_id uuid not null, id int, valid daterange, primary key (tenant_id, id, valid without overlaps),
          unique (id, valid without overlaps));
        create table app.uses (tenant_id uuid not null, id int, rate int, valid daterange, primary key (tenant_id, id),
          constraint "in force" foreign key (rate, period valid) references app.rates (id, period valid));
        alter table app.rates owner to tms_owner; alter table app.uses owner to tms_owner`);
      await asOwner(sql, "table_rules");
      const [key] =
        await sql`select pg_get_constraintdef(oid) as key from pg_constraint where conname = 'in force'`;
      assert.equal(
        key!.key,
        "FOREIGN KEY (tenant_id, rate, PERIOD valid) REFERENCES app.rates(tenant_id, id, PERIOD valid)",
      );
    }));

  it("empty the columns of a foreign key, and not tenant_id, as a plain on delete set null would", () =>
    undone(async sql => {
      await sql.unsafe(`create table app.tags (tenant_id uuid not null, id int, "boardId" uuid, primary key (tenant_id, id),
          constraint "of" foreign key (tenant_id, "boardId") references app.boards (tenant_id, id) on delete set null on update cascade);
        alter table app.tags owner to tms_owner`);
      const [found] = await runCheck(sql, "table_rules");
      assert.match(found!.detail, /would set tenant_id to null/);
      await sql.unsafe(`set local role tms_owner; ${found!.remedy}; reset role`);
      const [key] =
        await sql`select pg_get_constraintdef(oid) as key from pg_constraint where conname = 'of'`;
      assert.equal(
        key!.key,
        'FOREIGN KEY (tenant_id, "boardId") REFERENCES app.boards(tenant_id, id) ON UPDATE CASCADE ON DELETE SET NULL ("boardId")',
      );
    }));

  it("take off and put back what refers to a key in another order, and pair tenant_id in exclusion constraints", () =>
    undone(async sql => {
      await sql.unsafe(`create extension btree_gist schema app;
        create table app.orders (tenant_id uuid not null, id int primary key, span int4range, unique (id, tenant_id),
          constraint no_clash exclude using gist (id with =, span with &&, tenant_id with =) where (id > 0));
        create table app.lines (tenant_id uuid not null, id int, "of" int, primary key (tenant_id, id),
          constraint lines_of foreign key ("of", tenant_id) references app.orders (id, tenant_id) on delete cascade deferrable);
        alter table app.orders owner to tms_owner; alter table app.lines owner to tms_owner`);
      assert.equal((await asOwner(sql, "tenant_key")).length, 2);
      assert.equal((await asOwner(sql, "table_rules")).length, 3);
      assert.deepEqual(await runCheck(sql, "table_rules"), []);
      const keys =
        await sql`select pg_get_constraintdef(oid) as key from pg_constraint where conname in ('lines_of', 'no_clash') order by conname`;
      assert.deepEqual(
        keys.map(one => one.key),
        [
          "FOREIGN KEY (tenant_id, of) REFERENCES app.orders(tenant_id, id) ON DELETE CASCADE DEFERRABLE",
          "EXCLUDE USING gist (tenant_id WITH =, id WITH =, span WITH &&) WHERE ((id > 0))",
        ],
      );
    }));

  it("of the service's own keys are pasted in that order, too", () =>
    undone(async sql => {
      const before = await keysOf(sql);
      await sql.unsafe(
        "alter table app.boards drop constraint boards_pkey cascade; alter table app.users drop constraint users_pkey cascade",
      );
      const faults =
        "select * from audit.run_family('schema', true) where relation is not null and severity = 'error'";
      const found = await sql.unsafe<Found[]>(faults);
      assert.ok(found.length > 8);
      for (const { remedy } of found) await sql.unsafe(remedy);
      assert.deepEqual([...(await sql.unsafe(faults))], []);
      assert.deepEqual(await keysOf(sql), before);
    }));

  it("lose nothing that a key has", () =>
    undone(async sql => {
      await sql.unsafe(`set local role tms_owner; create table app.a (id int primary key, tenant_id uuid not null, code text not null, n int, up int references app.a on update set null);
        create unique index a_code on app.a (code); alter table app.a replica identity using index a_code; comment on index app.a_code is 'its code'; comment on constraint a_up_fkey on app.a is '@name';
        comment on constraint a_pkey on app.a is 'it''s'; comment on index app.a_pkey is 'of the key'; create unique index by_folder on app.a (coalesce(n::text, tenant_id::text), code desc) where code <> ', tenant_id (';
        create unique index by_code on app.a (code desc nulls last, tenant_id desc, n) include (up); set local role none`);
      const found = await asOwner(sql, "table_rules");
      assert.ok(found.some(({ remedy }) => remedy.includes("without its ON UPDATE")));
      const [kept] =
        await sql`select obj_description('app.a_code'::regclass) as index, obj_description('app.a_pkey'::regclass) as of_key, (select array_agg(obj_description(oid, 'pg_constraint') order by conname)
          from pg_constraint where conrelid = 'app.a'::regclass and conname in ('a_pkey', 'a_up_fkey')) as constraints,
        (select indisreplident from pg_index where indexrelid = 'app.a_code'::regclass) as replicates`;
      assert.deepEqual(
        { ...kept },
        { index: "its code", of_key: "of the key", constraints: ["it's", "@name"], replicates: true },
      );
      const indexes =
        await sql`select pg_get_indexdef(indexrelid) as is from pg_index where indexrelid in ('app.by_folder'::regclass, 'app.by_code'::regclass) order by 1`;
      assert.deepEqual(
        indexes.map(one => one.is),
        [
          "CREATE UNIQUE INDEX by_code ON app.a USING btree (tenant_id, code DESC NULLS LAST, n) INCLUDE (up)",
          "CREATE UNIQUE INDEX by_folder ON app.a USING btree (tenant_id, COALESCE((n)::text, (tenant_id)::text), code DESC) WHERE (code <> ', tenant_id ('::text)",
        ],
      );
    }));

  it("say what a person does first", () =>
    undone(async sql => {
      await sql.unsafe(
        `create table app.ev (id int primary key, tenant_id uuid not null, n int) partition by hash (id); create table app.ev_0 partition of app.ev for values with (modulus 1, remainder 0);
        alter table app.ev_0 replica identity using index app.ev_0_pkey; create table app.a (id int primary key, tenant_id text not null); create view public.v as select tenant_id from app.a;
        create table app.x (id int primary key, a int references app.a)`.replace(
          "index app.ev_0_pkey",
          "index ev_0_pkey",
        ),
      );
      const remedies = (await runCheck(sql, "table_rules")).map(({ remedy }) => remedy);
      for (const said of [
        /^-- first give app\.ev_0 another replica identity/m,
        /^-- first drop, and make again afterwards: rule _RETURN on view public\.v$/m,
        /^-- first take off the key x_a_fkey of app\.x, which has no tenant_id$/m,
        /^-- when all of it is mended: select app\.isolate\('app\.ev'\);$/m,
      ])
        assert.ok(
          remedies.some(remedy => said.test(remedy)),
          `${said}: ${remedies.join("\n")}`,
        );
    }));

  it("isolate a child of a child with the topmost table", () =>
    undone(async sql => {
      await sql.unsafe(`set local role tms_owner; create table app.a (tenant_id uuid not null, id int, primary key (tenant_id, id)); create table app.b (primary key (tenant_id, id)) inherits (app.a); create table app.c (primary key (tenant_id, id)) inherits (app.b);
        select app.isolate('app.a'); alter table app.c disable row level security; set local role none`);
      await asOwner(sql, "rls_disabled");
      for (const check of ["rls_disabled", "table_grants"])
        assert.deepEqual(await runCheck(sql, check), [], check);
    }));

  it("keep all keys of many tables in a circle, and a loop over them does", () =>
    undone(async sql => {
      const names = Array.from({ length: 30 }, (_, i) => `app.t${String(i).padStart(3, "0")}`);
      await sql.unsafe(
        `set local role tms_owner; ${names.map((name, i) => `create table ${name} (id int primary key, tenant_id uuid not null, code text unique, a int ${i % 3 ? "" : ", board_id uuid, foreign key (tenant_id, board_id) references app.boards on delete set null"});`).join("")}
         ${names.map((name, i) => `alter table ${name} add foreign key (a) references ${names[(i + 1) % 30]} on delete cascade;`).join("")}`,
      );
      const keys = async () =>
        (
          await sql`select conrelid::regclass::text as table, confdeltype as deletes from pg_constraint where contype = 'f' and conrelid::regclass::text like 'app.t0%' and confrelid <> 'app.tenants'::regclass order by 1, 2, confrelid`
        ).map(row => ({ ...row }));
      const before = await keys();
      assert.equal(before.length, 40);
      await sql.unsafe(
        "do $$ declare step record; begin for step in select remedy from audit.run_check('table_rules') loop execute step.remedy; end loop; end $$",
      );
      assert.deepEqual(await runCheck(sql, "table_rules"), []);
      assert.deepEqual(await keys(), before);
    }));

  it("rename what has the tenant, and leave the keys to the next report where they do not begin with it", () =>
    undone(async sql => {
      await sql.unsafe(
        "set local role tms_owner; create table app.a (org_id uuid not null references app.tenants on delete cascade, id int primary key); set local role none",
      );
      assert.equal((await asOwner(sql, "table_without_tenant")).length, 1);
      await sql.unsafe("set local app.maintenance = on");
      assert.equal((await asOwner(sql, "table_rules")).length, 1);
      for (const check of ["table_without_tenant", "table_rules", "rls_disabled", "policy_missing"])
        assert.deepEqual(await runCheck(sql, check), [], check);
    }));

  for (const [check, how, plant] of [
    [
      "table_rules",
      "an exclusion constraint over all tenants",
      "alter table app.tenants add constraint named exclude using btree (name with =)",
    ],
    [
      "table_inherits",
      "a partition of what is no tenants' table",
      "create table control.events (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id)) partition by hash (tenant_id); create table app.events_0 partition of control.events for values with (modulus 1, remainder 0)",
    ],
    [
      "tenant_id_function",
      "a cast of somebody's",
      `create function public.f(text) returns uuid language sql return null::uuid; create cast (text as uuid) with function public.f(text);
       create or replace function app.tenant_id() returns uuid language sql stable parallel safe
         return (case when pg_catalog.current_setting('app.tenant_id', true) like '________-____-____-____-____________' then pg_catalog.current_setting('app.tenant_id', true) end)::uuid`,
    ],
    [
      "function_bypass",
      "a function whose owner may not name its schema",
      "create schema extra; create function extra.help() returns int language sql security definer set search_path = pg_catalog, pg_temp return 1; alter function extra.help() owner to tms_registrar",
    ],
    [
      "function_changed",
      "a function beside the release's, of another owner",
      "create function app.schema_version(text) returns text language sql set search_path = pg_catalog, pg_temp as 'select $1'; grant create on schema app to tms_app; alter function app.schema_version(text) owner to tms_app; revoke create on schema app from tms_app",
    ],
  ] as const)
    it(`undo ${how}`, () =>
      undone(async sql => {
        await sql.unsafe(plant);
        assert.ok((await paste(sql, check)).length > 0);
        const [session] = await sql`select current_user = session_user as itself`;
        assert.ok(session!.itself, "a remedy left its role behind");
        assert.deepEqual(await runCheck(sql, check), []);
      }));

  it("keep a unique index of a partitioned table one of its partitions", () =>
    undone(async sql => {
      await sql.unsafe(`create table app.events (tenant_id uuid not null, id int, code text, primary key (tenant_id, id)) partition by list (id);
        create table app.events_1 partition of app.events for values in (1); create unique index events_code on app.events (lower(code), id);
        alter table app.events owner to tms_owner; alter table app.events_1 owner to tms_owner`);
      await asOwner(sql, "table_rules");
      const indexes = await sql`select indisvalid as valid, pg_get_indexdef(indexrelid) as is from pg_index
          where indrelid in ('app.events'::regclass, 'app.events_1'::regclass) and not indisprimary`;
      assert.equal(indexes.length, 2);
      for (const { valid, is } of indexes) {
        assert.ok(valid, is as string);
        assert.match(is as string, /\(tenant_id, lower\(code\), id\)$/);
      }
    }));

  it("drop a policy of one's own once, though two checks name it", () =>
    undone(async sql => {
      await sql.unsafe(`create schema shop; grant usage on schema shop to tms_owner; create function shop.me() returns uuid language sql as 'select gen_random_uuid()';
        create policy mine on app.boards for select to public using (owner_id = shop.me()); create policy also on app.boards using (exists (select from app.users))`);
      const found = [...(await runCheck(sql, "policy_extra")), ...(await runCheck(sql, "policy_function"))];
      assert.ok(found.length > 3);
      await sql.unsafe("set local role tms_owner");
      for (const { remedy } of found) await sql.unsafe(remedy);
      assert.deepEqual(
        [...(await runCheck(sql, "policy_extra")), ...(await runCheck(sql, "policy_function"))],
        [],
      );
    }));

  it("give a key its CASCADE back", () =>
    undone(async sql => {
      const before = await keysOf(sql);
      await sql.unsafe(
        "alter table app.media drop constraint media_generation, add constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id)",
      );
      assert.equal((await paste(sql, "foreign_key_missing")).length, 1);
      assert.deepEqual(await keysOf(sql), before);
    }));

  it("restore every policy, and the function that they ask, whatever became of it", () =>
    undone(async sql => {
      const policies = async () => [
        ...(await sql`select schemaname, tablename, policyname, permissive, roles::text, cmd, qual, with_check
          from pg_policies where schemaname <> 'control' order by 2, 3`),
      ];
      const before = await policies();
      await sql.unsafe(`do $$
        declare p record;
        begin
          for p in select polname, polrelid::regclass as t from pg_policy where polrelid::regclass::text not like 'control.%' loop execute format('drop policy %I on %s', p.polname, p.t); end loop;
        end $$`);
      assert.equal((await asOwner(sql, "policy_missing")).length, before.length);
      assert.deepEqual(await policies(), before);
      await sql.unsafe(`create or replace function app.tenant_id() returns uuid language sql immutable security definer leakproof set jit = off
        as $$ select null::uuid $$`);
      assert.equal((await paste(sql, "tenant_id_function")).length, 1);
      assert.deepEqual(await runCheck(sql, "tenant_id_function"), []);
    }));

  const identity = "users_tenant_identity_key";
  const columns = "(tenant_id, auth_provider, auth_subject)";
  const taken: [by: string, check: string, plant: string][] = [
    [
      "a constraint that waits for the commit",
      "unique_key_missing",
      `alter table app.users drop constraint ${identity}, add constraint ${identity} unique ${columns} deferrable`,
    ],
    [
      "a constraint over other columns",
      "unique_key_missing",
      `alter table app.users drop constraint ${identity}, add constraint ${identity} unique (tenant_id, id)`,
    ],
    [
      "an index that fits",
      "unique_key_missing",
      `alter table app.users drop constraint ${identity}; create unique index ${identity} on app.users ${columns}`,
    ],
    [
      "an index that is not unique",
      "unique_key_missing",
      `alter table app.users drop constraint ${identity}; create index ${identity} on app.users ${columns}`,
    ],
    [
      "an index that no constraint may use",
      "unique_key_missing",
      `alter table app.users drop constraint ${identity}; create unique index ${identity} on app.users (tenant_id, auth_provider, auth_subject desc)`,
    ],
    [
      "an index of other columns",
      "unique_key_missing",
      `alter table app.users drop constraint ${identity}; create unique index ${identity} on app.users (tenant_id, id)`,
    ],
    [
      "an index of some rows",
      "unique_key_missing",
      `alter table app.users drop constraint ${identity}; create unique index ${identity} on app.users ${columns} where removed_at is null`,
    ],
    [
      "a constraint where an index is wanted",
      "unique_key_missing",
      "drop index app.tenants_slug_key; alter table app.tenants add constraint tenants_slug_key unique (slug) deferrable",
    ],
    [
      "an index of some rows where one of all is wanted",
      "unique_key_missing",
      "drop index app.tenants_slug_key; create unique index tenants_slug_key on app.tenants (slug) where status = 'active'",
    ],
    [
      "its own constraint's old name",
      "unique_key_missing",
      "alter table app.boards rename constraint boards_pkey to boards_old_pkey",
    ],
    [
      "a check",
      "foreign_key_missing",
      "alter table app.boards drop constraint boards_owner, add constraint boards_owner check (owner_id is not null)",
    ],
  ];
  for (const [by, check, plant] of taken) {
    it(`give a key its name back that is taken by ${by}`, () =>
      undone(async sql => {
        const before = await keysOf(sql);
        await sql.unsafe(plant);
        assert.equal((await asOwner(sql, check)).length, 1);
        assert.deepEqual(await keysOf(sql), before);
        assert.deepEqual(await runCheck(sql, check), []);
      }));
  }

  it("make a key that is gone, and rename none of another kind or over other columns", () =>
    undone(async sql => {
      const before = await keysOf(sql);
      await sql`alter table app.provider_configs drop constraint provider_configs_pkey, drop constraint provider_configs_name_key,
        add constraint spare unique (tenant_id, id)`;
      assert.equal((await asOwner(sql, "unique_key_missing")).length, 2);
      await sql`alter table app.provider_configs drop constraint spare`;
      assert.deepEqual(await keysOf(sql), before);
    }));

  it("give columns of the service's tables their type and NOT NULL back, and idempotency keys their tenant", () =>
    undone(async sql => {
      await sql.unsafe(`alter table app.generations alter completed_at type timestamp;
        alter table app.provider_configs drop constraint provider_configs_config_is_object, alter config drop default, alter config type json;
        alter table app.credit_transactions alter amount drop not null, alter balance_after drop not null;
        alter table control.idempotency_keys drop constraint idempotency_keys_tenant_id_fkey`);
      assert.equal((await asOwner(sql, "table_missing")).length, 4);
      assert.equal((await asOwner(sql, "tenant_key")).length, 1);
      for (const check of ["table_missing", "tenant_key"]) assert.deepEqual(await runCheck(sql, check), []);
    }));

  it("close a partition or a child that was added later by isolating its table again", () =>
    undone(async sql => {
      await sql.unsafe(`
        create table app.events (tenant_id uuid not null, at date not null, primary key (tenant_id, at)) partition by range (at);
        create table app.places (tenant_id uuid not null, id int, primary key (tenant_id, id));
        alter table app.events owner to tms_owner;
        alter table app.places owner to tms_owner;
        select app.isolate('app.events'), app.isolate('app.places');
        create table app.events_2026 partition of app.events for values from ('2026-01-01') to ('2027-01-01') partition by range (at);
        create table app.events_2026_rest partition of app.events_2026 default;
        create table app.far_places (primary key (tenant_id, id)) inherits (app.places);
        alter table app.events_2026 owner to tms_owner;
        alter table app.events_2026_rest owner to tms_owner;
        alter table app.far_places owner to tms_owner`);
      assert.equal((await asOwner(sql, "rls_disabled")).length, 3);
      await sql.unsafe("select audit.require_isolation()");
    }));

  it("index a partitioned table without CONCURRENTLY, which it does not take", () =>
    undone(async sql => {
      await sql.unsafe(`create table app.events (tenant_id uuid not null, id uuid not null, user_id uuid, primary key (tenant_id, id),
          foreign key (tenant_id, user_id) references app.users (tenant_id, id)) partition by hash (tenant_id);
        alter table app.events owner to tms_owner;
        create index on app.events (tenant_id)`);
      const found = await asOwner(sql, "index_missing");
      assert.deepEqual(
        found.map(one => one.relation),
        ["app.events"],
      );
      assert.deepEqual(await runCheck(sql, "index_missing"), []);
    }));

  it("enforce a constraint again, from Postgres 18 on, also one that partitions have from their table", async test => {
    const [server] = await database.sql`select current_setting('server_version_num')::int as version`;
    if (server!.version < 180000) return test.skip("every constraint is enforced before Postgres 18");
    await undone(async sql => {
      await sql.unsafe(`
        create table app.events (tenant_id uuid not null, id uuid not null, name text, primary key (tenant_id, id),
          constraint named check (name <> '') not enforced) partition by hash (tenant_id);
        create table app.events_0 partition of app.events for values with (modulus 1, remainder 0);
        alter table app.events owner to tms_owner; alter table app.events_0 owner to tms_owner; select app.isolate('app.events');
        alter table app.boards add constraint titled check (title <> '') not enforced;
        alter table app.boards alter constraint boards_owner not enforced;
        alter table app.media alter constraint media_tenant_id_fkey not enforced`);
      assert.equal((await asOwner(sql, "tenant_key")).length, 1);
      assert.deepEqual(await runCheck(sql, "tenant_key"), []);
      const found = await asOwner(sql, "constraint_not_valid");
      assert.deepEqual(found.map(one => `${one.relation} ${String(one.row.constraint)}`).sort(), [
        "app.boards boards_owner",
        "app.boards titled",
        "app.events named",
        "app.events_0 named",
      ]);
      assert.deepEqual(await runCheck(sql, "constraint_not_valid"), []);
    });
  });

  it("enable somebody's trigger as the owner of the table, and say that the system's take a superuser", () =>
    undone(async sql => {
      await sql.unsafe("alter table app.tenants disable trigger _500_count_insert");
      assert.equal((await asOwner(sql, "trigger_disabled")).length, 1);
      await sql.unsafe("alter table app.media disable trigger all");
      const found = await runCheck(sql, "trigger_disabled");
      for (const { remedy } of found) {
        assert.match(remedy, /^-- as a superuser/);
        await sql.unsafe(remedy);
      }
      assert.deepEqual(await runCheck(sql, "trigger_disabled"), []);
    }));

  it("warn before every row of a table is given to the default tenant", () =>
    undone(async sql => {
      await sql.unsafe("create table app.notes (id uuid primary key)");
      const [found] = await runCheck(sql, "table_without_tenant");
      assert.match(found!.remedy, /^-- this gives every row to the default tenant.*\nselect app\.isolate/);
    }));

  it("give a tenants' table its column's name back, and nobody's rows to the default tenant", () =>
    undone(async sql => {
      await sql.unsafe("alter table app.media rename tenant_id to org_id");
      const held = () => sql`select org_id as id, count(*) from app.media group by 1 order by 1`;
      const before = [...(await held())];
      assert.ok(before.length > 1);
      const [found] = await asOwner(sql, "table_without_tenant");
      assert.match(found!.detail, /org_id/);
      const after = await sql`select tenant_id as id, count(*) from app.media group by 1 order by 1`;
      assert.deepEqual([...after], before);
      for (const check of ["table_without_tenant", "policy_changed", "table_missing"])
        assert.deepEqual(await runCheck(sql, check), [], check);
    }));

  for (const [how, columns, values] of [
    ["one that may be null", "org uuid references app.tenants on delete cascade", "id"],
    [
      "several",
      "seller uuid not null references app.tenants on delete cascade, buyer uuid not null references app.tenants on delete cascade",
      "id, id",
    ],
    [
      "one that may be null, of a key with more columns",
      "org uuid, user_id uuid, foreign key (org, user_id) references app.users (tenant_id, id)",
      "id",
    ],
  ] as const)
    it(`take the tenant of rows from columns that say it: ${how}`, () =>
      undone(async sql => {
        const column = columns.split(" ")[0]!;
        await sql.unsafe(
          `set local role tms_owner; create table app.notes (id int primary key generated always as identity, ${columns}); set local role none`,
        );
        await sql.unsafe(
          `insert into app.notes (${columns.match(/\b(org|seller|buyer)\b(?= uuid)/g)!.join(", ")}) select ${values} from app.tenants`,
        );
        const refused = await sql
          .savepoint(sp => sp`select app.isolate('app.notes', p_adopt => true)`)
          .catch((error: postgres.PostgresError) => error);
        assert.match(
          String((refused as Error).message),
          /^app\.notes cannot be adopted: \w+ says that rows are of other tenants than the default one$/,
        );
        await sql.unsafe("set local app.maintenance = on");
        assert.equal((await asOwner(sql, "table_without_tenant")).length, 1);
        await asOwner(sql, "table_rules");
        const [kept] = await sql.unsafe(
          `select count(*)::int as n, bool_and(tenant_id = ${column}) as same from app.notes`,
        );
        assert.deepEqual([kept!.n, kept!.same], [2, true]);
        for (const check of ["table_without_tenant", "table_rules", "rls_disabled"])
          assert.deepEqual(await runCheck(sql, check), [], check);
      }));

  it("say of a tenant_id that is no text, or that partitions are cut by, what a person has to do", () =>
    undone(async sql => {
      await sql.unsafe(`create table app.numbers (tenant_id int not null, id int, primary key (tenant_id, id));
        create table app.cut (tenant_id text not null, id int, primary key (tenant_id, id)) partition by hash (tenant_id);
        create table app.made (tenant_id text not null, id int, label text generated always as (tenant_id || '!') stored, primary key (tenant_id, id))`);
      const found = await runCheck(sql, "table_rules");
      const of = (relation: string) =>
        found.find(one => one.relation === relation && one.detail.includes("type uuid"))!.remedy;
      assert.match(
        of("app.numbers"),
        /^-- first add a column of type uuid.*\n-- when all of it is mended: select app\.isolate/,
      );
      assert.match(of("app.cut"), /^-- first make the table again/);
      assert.match(
        of("app.made"),
        /^-- first drop, and make again afterwards: default value for column label of table app\.made\n/,
      );
    }));

  it("give a table that nobody isolated one key to its tenant, pasted one after another", () =>
    undone(async sql => {
      await sql.unsafe(
        "create table app.notes (tenant_id uuid not null, id uuid, primary key (tenant_id, id)); alter table app.notes owner to tms_owner",
      );
      const found = await sql<Found[]>`
        select f.* from audit.checks() c cross join lateral audit.run_check(c."check") f where c.gate and f.relation = 'app.notes'`;
      assert.ok(found.length > 6);
      await sql.unsafe("set local role tms_owner");
      for (const { remedy } of found) await sql.unsafe(remedy);
      const [keys] =
        await sql`select count(*)::int as n from pg_constraint where conrelid = 'app.notes'::regclass and contype = 'f'`;
      assert.equal(keys!.n, 1);
      await sql.unsafe("reset role; select audit.require_isolation()");
    }));

  it("recount tenants for an owner who has not said that this is maintenance", async () => {
    const { sql, urls } = database;
    await sql.begin(async smuggled => {
      await smuggled.unsafe("set local session_replication_role = replica");
      await smuggled.unsafe("insert into app.tenants (slug, name) values ('smuggled', 'Smuggled')");
    });
    const [found] = await runCheck(sql, "tenant_count_wrong");
    const owner = postgres(urls.owner, { max: 1, onnotice: () => {} });
    try {
      await owner.unsafe(found!.remedy);
    } finally {
      await owner.end();
    }
    assert.deepEqual(await runCheck(sql, "tenant_count_wrong"), []);
    await sql`delete from app.tenants where slug = 'smuggled'`;
  });

  it("take a table out of each kind of publication", () =>
    undone(async sql => {
      await sql.unsafe(
        "create publication everything for all tables; create publication table_only for table app.media; create publication schema_only for tables in schema app",
      );
      const found = await runCheck(sql, "publication");
      for (const remedy of new Set(found.map(one => one.remedy))) await sql.unsafe(remedy);
      assert.deepEqual(await runCheck(sql, "publication"), []);
    }));
});
