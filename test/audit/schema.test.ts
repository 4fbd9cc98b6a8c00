/** Every schema check finds its violation, planted the way a migration, a superuser or a restore plants it. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack, withSettings } from "../harness.ts";
import { bodies } from "./plants/bodies.ts";
import { bodyBranches } from "./plants/branches/bodies.ts";
import { functionBranches } from "./plants/branches/functions.ts";
import { keyBranches } from "./plants/branches/keys.ts";
import { rightBranches } from "./plants/branches/rights.ts";
import { roleBranches } from "./plants/branches/roles.ts";
import { tableBranches } from "./plants/branches/tables.ts";
import { triggerBranches } from "./plants/branches/triggers.ts";
import { functions } from "./plants/functions.ts";
import { keys, PARTITIONED } from "./plants/keys.ts";
import { policies } from "./plants/policies.ts";
import { rights } from "./plants/rights.ts";
import { roles } from "./plants/roles.ts";
import { tables } from "./plants/tables.ts";
import { assertFinding, type Found, paste, planted, runCheck, seedTenants, serverErrors } from "./world.ts";

const PLANTS = [...policies, ...tables, ...keys, ...rights, ...functions, ...bodies, ...roles];

/** Planted otherwise: a server cannot be made older in a transaction, nor restarted with other settings; a shard is in shards.test.ts. */
const ELSEWHERE = ["server_version", "server_settings", "shard_differs"];

const database = await createDatabase();
await seedTenants(database.sql, 5);
const [row] = await database.sql`select id from app.tenants where is_default`;
const first = row!.id as string;
after(() => database.drop());
const remedies = new Set<string>();

/** As `planted`; remembers the remedies. */
async function find(plant: string, check: string): Promise<Found[]> {
  const found = await planted(database.sql, plant, check);
  for (const { remedy } of found) remedies.add(remedy);
  return found;
}

void describe("the schema checks", () => {
  it("find nothing before", async () => {
    for (const check of new Set(PLANTS.map(plant => plant.check))) {
      // An info may be about the logins of tests that run beside this one.
      const found = (await planted(database.sql, "select", check)).filter(one => one.severity !== "info");
      assert.deepEqual(found, [], check);
    }
  });

  for (const plant of PLANTS) {
    it(`${plant.check} finds ${plant.how}`, async () => {
      const found = await find(plant.sql, plant.check);
      const row = { ...plant.row };
      let tenantId: string | null = null;
      if (row.trigger) row.trigger = found[0]?.row.trigger;
      if (plant.check === "proof_rows") {
        row.tenant_id = first;
        tenantId = first;
      }
      if (plant.check === "proof_writes")
        tenantId = found.find(f => f.row.attempt === row.attempt)?.tenant_id ?? null;
      assertFinding(found, {
        check: plant.check,
        category: "isolation_config",
        severity: plant.severity ?? "error",
        tenant_id: tenantId,
        relation: plant.relation,
        row,
      });
    });
  }

  for (const [check, sql, ...expected] of [
    ...keyBranches,
    ...tableBranches,
    ...rightBranches,
    ...roleBranches,
    ...functionBranches,
    ...bodyBranches,
    ...triggerBranches,
  ]) {
    it(`${check} finds ${expected.length} in ${sql}`, async () => {
      const found = (await find(sql, check))
        .filter(one => one.severity !== "info")
        .map(
          ({ severity, relation, row }) => `${severity} ${relation ?? "-"} ${Object.values(row).join(" ")}`,
        )
        .map(one => one.replace(` ${database.name}`, ""));
      assert.deepEqual(found.sort(), expected.toSorted());
    });
  }

  it("have remedies that are SQL, or comments, as a whole", () =>
    rolledBack(database.sql, async tx => {
      assert.ok(remedies.size > 300, `${remedies.size} remedies`);
      for (const remedy of remedies) {
        const pasted = remedy.replaceAll(/--.*$|alter publication .*;/gm, "");
        assert.doesNotMatch(pasted, /…|<\w+>|\bdrop (table|schema|type|domain|role|column)\b/, remedy);
        // What is dropped is made again, or can be.
        for (const [, kind] of pasted.matchAll(/\bdrop ((materialized |foreign )?\w+)/g))
          if (
            !["constraint", "not", "default", "extension", "user"].includes(kind!) &&
            !/\badd constraint|create unique index/i.test(pasted)
          )
            assert.match(remedy, /^-- as it was made: /m, remedy);
        for (const [, key] of pasted.matchAll(/\bdrop constraint (?:if exists )?("[^"]+"|\w+)/g))
          assert.ok(
            pasted.includes("add ") ||
              /^-- (as it was made|until the key|it comes again)| -- (until the key)/m.test(remedy),
            `${key}: ${remedy}`,
          );
        // Of a function's body the parser reads all before anything is looked up. A line with a backslash is psql's.
        const body = remedy.replaceAll(/^\\.*$/gm, "");
        const parsed = tx.savepoint(savepoint =>
          savepoint.unsafe(
            `create function pg_temp.pasted() returns void language sql as $remedy$ ${body}\n$remedy$; drop function pg_temp.pasted()`,
          ),
        );
        await parsed.catch(error => assert.notEqual(error.code, "42601", `${remedy}\n${error.message}`));
      }
    }));

  it("table_rules blames a table, and not its partitions too, for a key that it gave them", async () => {
    const found = await planted(
      database.sql,
      `${PARTITIONED} create unique index on app.boards (id, tenant_id);
       create unique index on app.events (name, tenant_id); alter table app.events add foreign key (other, id) references app.boards (id, tenant_id)`,
      "table_rules",
    );
    const events = found.filter(one => one.relation !== "app.boards");
    assert.deepEqual(
      events.map(one => one.relation),
      ["app.events", "app.events"],
    );
  });

  it("foreign_key_missing has nothing against a table's own key, nor a number or text named like no table", async () => {
    const plant = `alter table app.media add column shop_id bigint, add column "stripeId" text, add column board_id text;
      create table app.bookings (tenant_id uuid not null, booking_id uuid, primary key (tenant_id, booking_id));
      create table app.room (tenant_id uuid not null, "roomId" int, primary key (tenant_id, "roomId"))`;
    const found = await planted(database.sql, plant, "foreign_key_missing");
    assert.deepEqual(found, []);
  });

  it("foreign_key_missing has nothing against a reference whose type says the table, which no key can hold, unless its name says one", async () => {
    const columns = (key: string, type: string) =>
      `create table app.notes (tenant_id uuid not null, id int, "${key}" uuid, "${type}" text, primary key (tenant_id, id)); alter table app.notes owner to tms_owner; select app.isolate('app.notes')`;
    for (const [key, type] of [
      ["notable_id", "notable_type"],
      ["notableId", "notableType"],
    ] as const)
      assert.deepEqual(await planted(database.sql, columns(key, type), "foreign_key_missing"), [], key);
    for (const [key, type] of [
      ["board_id", "board_type"],
      ["notable_id", "type"],
    ] as const)
      assert.equal((await planted(database.sql, columns(key, type), "foreign_key_missing")).length, 1, key);
  });

  it("foreign_key_missing reads in proportion to the tables", () =>
    rolledBack(database.sql, async tx => {
      const read: number[] = [];
      for (const upTo of [40, 80]) {
        await tx.unsafe(`do $$ begin for i in ${upTo - 39}..${upTo} loop
          execute format('create table app.t%s (tenant_id uuid, id text, a_id text, b_id text, c_id text, d_id text, primary key (tenant_id, id))', i);
        end loop; end $$; analyze pg_class, pg_attribute`);
        const [plan] = await tx.unsafe(
          "explain (analyze, buffers, timing off, format json) select from audit.check_foreign_key_missing()",
        );
        const [{ Plan: top }] = plan!["QUERY PLAN"] as [{ Plan: Record<string, number> }];
        read.push(top["Shared Hit Blocks"]! + top["Shared Read Blocks"]!);
      }
      assert.ok(read[1]! < 3 * read[0]!, read.join(" → "));
    }));

  it("table_rules has the table isolated, and not the partition with the fault, which tms_app could then write by its own name", async () => {
    const [found] = await planted(
      database.sql,
      `${PARTITIONED} create unique index on app.events_0 (name)`,
      "table_rules",
    );
    assert.match(found!.remedy, /app\.isolate\('app\.events'\)/);
    const children = await planted(
      database.sql,
      "create table app.old (id int); create table app.new (tenant_id uuid) inherits (app.old)",
      "table_rules",
    );
    assert.match(children.at(-1)!.remedy, /app\.isolate\('app\.new'\)/);
  });

  it("table_rules tells, as an info, where the catalog names tenants, once for the partitions of a table", async () => {
    const uuid = (n: number) => `'00000000-0000-4000-8000-00000000000${n}'`;
    const found = await planted(
      database.sql,
      `create table app.events (tenant_id uuid not null, id int, primary key (tenant_id, id)) partition by list (tenant_id);
       ${[1, 2, 3].map(n => `create table app.events_${n} partition of app.events for values in (${uuid(n)}); alter table app.events_${n} owner to tms_owner;`).join(" ")}
       alter table app.events owner to tms_owner; select app.isolate('app.events'); create index big on app.boards (tenant_id, id) where tenant_id = ${uuid(1)}; create index rest on app.boards (tenant_id, id) where title <> '';
       alter table app.media add constraint not_theirs check (tenant_id <> ${uuid(2)})`,
      "table_rules",
    );
    assert.deepEqual(
      found.map(({ severity, relation, row }) => `${severity} ${relation} ${String(row.object)}`).sort(),
      [
        "info app.boards the index app.big",
        "info app.events the partition app.events_1",
        "info app.media the constraint not_theirs",
      ],
    );
  });

  it("table_rules says what a foreign key would do to a row, or tell of a tenant", async () => {
    for (const [key, says] of [
      [
        "(tenant_id, owner_id) references app.users (tenant_id, id) on delete set null",
        "would set tenant_id to null",
      ],
      [
        "(tenant_id, owner_id) references app.users (tenant_id, id) on update set null",
        "would set tenant_id to null",
      ],
      [
        "(tenant_id, owner_id) references app.users (tenant_id, id) on delete set default",
        "would set tenant_id to its default",
      ],
      [
        "(owner_id) references app.tenants (id)",
        "names another tenant without ON DELETE CASCADE or SET NULL",
      ],
      ["(tenant_id, title) references app.tenants (id, name)", "refers to tenants by more than their id"],
    ]) {
      const plant = `alter table app.tenants add unique (id, name); alter table app.boards add constraint bad foreign key ${key} not valid`;
      const found = await planted(database.sql, plant, "table_rules");
      assert.deepEqual(
        found.map(({ relation }) => relation),
        ["app.boards"],
        key,
      );
      assert.match(found[0]!.detail, RegExp(`^the foreign key bad ${says}`), key);
    }
  });

  it("table_rules has nothing against an exclusion within a tenant", async () => {
    const plant =
      "create extension if not exists btree_gist; alter table app.boards add exclude using gist (tenant_id with =, title with =)";
    assert.deepEqual(await planted(database.sql, plant, "table_rules"), []);
  });

  it("table_without_tenant renames the one column that says whose each row is", async () => {
    const found = await planted(
      database.sql,
      `alter table app.tenants add unique (slug); create schema shop; create table shop.a (a int not null, org_id uuid not null references app.tenants, org text not null references app.tenants (slug));
       create table shop.b (a_id uuid not null references app.tenants, b_id uuid not null references app.tenants);
       create table shop.c (org_id uuid references app.tenants)`,
      "table_without_tenant",
    );
    assert.deepEqual(
      found.map(({ remedy }) => /rename column (\w+)/.exec(remedy)?.[1]),
      ["org_id", undefined, undefined],
    );
  });

  it("table_missing and constraint_not_valid find a NOT NULL that was never validated, from Postgres 18 on", async test => {
    const [server] = await database.sql`select current_setting('server_version_num')::int as version`;
    if (server!.version < 180000) return test.skip("no such NOT NULL before Postgres 18");
    await rolledBack(database.sql, async sql => {
      await sql.unsafe(`alter table app.boards alter owner_id drop not null; update app.boards set owner_id = null;
        alter table app.boards add constraint owned not null owner_id not valid`);
      const [found] = await runCheck(sql, "table_missing");
      assert.deepEqual([found?.severity, found?.row], ["error", { column: "owner_id" }]);
      const [constraint] = await runCheck(sql, "constraint_not_valid");
      assert.deepEqual([constraint?.severity, constraint?.row], ["warning", { constraint: "owned" }]);
      await sql.unsafe(
        `update app.boards b set owner_id = (select id from app.users u where u.tenant_id = b.tenant_id limit 1); ${found!.remedy}`,
      );
      assert.deepEqual(await runCheck(sql, "table_missing"), []);
    });
  });

  it("table_owner takes a member of tms_owner that may not act as it for a stranger, from Postgres 16 on, and one that administers it for none", async test => {
    const [server] = await database.sql`select current_setting('server_version_num')::int as version`;
    if (server!.version < 160000) return test.skip("no such membership before Postgres 16");
    for (const [grant, found] of [
      ["inherit false, set false", 1],
      ["inherit false, set true", 0],
      ["admin true, inherit false, set false", 0],
    ] as const) {
      const plant = `create role joe; grant tms_owner to joe with ${grant}; create schema joes; grant usage on schema joes to tms_app;
        create view joes.v with (security_invoker) as select 1 as one; alter view joes.v owner to joe; grant select on joes.v to tms_app`;
      assert.equal((await planted(database.sql, plant, "table_owner")).length, found, grant);
    }
  });

  it("role_settings finds an event trigger on login that gives sessions a tenant, from Postgres 17 on, and its remedy disables that", test =>
    rolledBack(database.sql, async sql => {
      const [server] = await sql`select current_setting('server_version_num')::int as version`;
      if (server!.version < 170000) return test.skip("no such event before Postgres 17");
      for (const [name, body] of [
        ["sets", "perform set_config('app.tenant_id', '00000000-0000-0000-0000-000000000001', false)"],
        ["opens", "set app.maintenance = on"],
        ["enters", "perform app.set_tenant('00000000-0000-0000-0000-000000000001')"],
        ["asks", "perform app.tenant_id()"],
        ["hurries", "set statement_timeout = '5s'"],
        ["off", "set app.tenant_id = '00000000-0000-0000-0000-000000000001'"],
      ] as const)
        await sql.unsafe(`create function public.${name}() returns event_trigger language plpgsql as $$ begin ${body}; end $$;
          create event trigger ${name} on login execute function public.${name}()`);
      await sql.unsafe("alter event trigger off disable");
      const found = await runCheck(sql, "role_settings");
      assert.deepEqual(
        found.map(({ severity, row }) => [severity, row]),
        ["enters", "opens", "sets"].map(name => ["error", { "event trigger": name }]),
      );
      for (const { remedy } of found) await sql.unsafe(remedy);
      assert.deepEqual(await runCheck(sql, "role_settings"), []);
    }));

  it("default_privileges finds large objects that are given away as they are made, from Postgres 18 on", async test => {
    const [server] = await database.sql`select current_setting('server_version_num')::int as version`;
    if (server!.version < 180000) return test.skip("no such default privileges before Postgres 18");
    await rolledBack(database.sql, async sql => {
      await sql.unsafe("alter default privileges for role tms_owner grant select on large objects to public");
      const [found] = await runCheck(sql, "default_privileges");
      assert.deepEqual(
        [found?.severity, found?.row],
        ["error", { owner: "tms_owner", role: "public", privilege: "SELECT" }],
      );
      await sql.unsafe(found!.remedy);
      assert.deepEqual(await runCheck(sql, "default_privileges"), []);
    });
  });

  it("view_leaks knows every spelling of a view that runs as its reader", async () => {
    for (const value of ["true", "t", "on", "y", "yes", "1", "TRUE"]) {
      const plant = `create view app.shown with (security_invoker = ${value}, check_option = local) as select * from app.boards`;
      assert.deepEqual(await planted(database.sql, plant, "view_leaks"), [], value);
    }
    for (const value of ["off", "f", "0"]) {
      const plant = `create view app.shown with (security_invoker = ${value}) as select * from app.boards`;
      assert.equal((await planted(database.sql, plant, "view_leaks")).length, 1, value);
    }
  });

  it("has a plant for every schema check of the catalog", async () => {
    const checks = await database.sql`select "check" from audit.checks() where family = 'schema'`;
    const missing = checks
      .map(row => row.check as string)
      .filter(name => !ELSEWHERE.includes(name) && !PLANTS.some(plant => plant.check === name));
    assert.deepEqual(missing, []);
  });

  it("server_version knows the floor of each branch, lets the embedded server off with a warning, and doubts what it does not know", async () => {
    const rows = await database.sql`
      select v.num, v.embedded, f.severity, f.fault is not null as fault
      from (values (150019, false), (150020, false), (160014, false), (160015, false), (170010, false), (170011, false),
                   (180004, false), (180004, true), (180006, false), (190001, false)) v (num, embedded),
           audit.version_fault(v.num, v.embedded) f`;
    assert.deepEqual(
      rows.map(row => `${row.num}${row.embedded ? " embedded" : ""}: ${row.fault ? row.severity : "fine"}`),
      [
        "150019: error",
        "150020: fine",
        "160014: error",
        "160015: fine",
        "170010: error",
        "170011: fine",
        "180004: error",
        "180004 embedded: warning",
        "180006: fine",
        "190001: warning",
      ],
    );
  });

  it("server_version knows the embedded server when it is asked by it", async test => {
    const [server] = await database.sql`select current_setting('cluster_name') as name`;
    if (server!.name !== "tenancy embedded") return test.skip("not the embedded server");
    assert.equal(await serverErrors(database.sql), 0);
  });

  /** `work` in a session that begins with these settings, and not with what a given server has for its log. */
  const inSession = <T>(settings: Record<string, string>, work: (sql: postgres.Sql) => Promise<T>) =>
    withSettings(database, { log_parameter_max_length: "0", ...settings }, async () => {
      const fresh = postgres(database.urls.root, { max: 1, onnotice: () => {} });
      try {
        return await work(fresh);
      } finally {
        await fresh.end();
      }
    });
  const serverSettings = (sql: postgres.Sql) => planted(sql, "select", "server_settings");

  it("publication finds a replication slot that asks no publication, and not one that does", async t => {
    const [server] = await database.sql`select current_setting('wal_level') as level`;
    if (server!.level !== "logical") return t.skip("wal_level is not logical");
    const reader = await database.sql.reserve();
    try {
      await reader`select pg_create_logical_replication_slot('feed_' || pg_backend_pid(), 'test_decoding', true)`;
      await reader`select pg_create_logical_replication_slot('copy_' || pg_backend_pid(), 'pgoutput', true)`;
      const found = await runCheck(reader, "publication");
      assert.deepEqual(
        found.map(({ severity, detail }) => [severity, detail.replace(/\d+/, "")]),
        [
          [
            "warning",
            "the replication slot feed_ sends every tenant's rows to whoever reads it, through test_decoding: replication knows no policy",
          ],
        ],
      );
      await reader.unsafe(found[0]!.remedy);
      assert.deepEqual(await runCheck(reader, "publication"), []);
      await reader`select pg_drop_replication_slot('copy_' || pg_backend_pid())`;
    } finally {
      reader.release();
    }
  });

  it("server_settings finds what sessions of the database begin with", async () => {
    const found = await inSession({ lo_compat_privileges: "on" }, serverSettings);
    assert.deepEqual(
      found.map(({ severity, row }) => [severity, row]),
      [["error", { setting: "lo_compat_privileges" }]],
    );
  });

  it("server_settings finds what a server switches off, also where the session that asks has it on", async () => {
    const bad = { row_security: "off", session_replication_role: "replica" };
    const found = await inSession(bad, async fresh => {
      await fresh`set row_security = on`;
      await fresh`set session_replication_role = origin`;
      return serverSettings(fresh);
    });
    assert.deepEqual(
      found.map(({ severity, row }) => [severity, row.setting]),
      [
        ["error", "session_replication_role"],
        ["warning", "row_security"],
      ],
    );
  });

  it("server_settings tells that statements are logged with their values, and when they are not", async () => {
    const found = async (settings: Record<string, string>) =>
      (await inSession(settings, serverSettings)).map(one => `${one.severity}: ${one.detail}`);
    const logged = { log_statement: "mod", log_min_duration_statement: "1000" };
    assert.deepEqual(await found({ ...logged, log_parameter_max_length: "-1" }), [
      "info: statements are logged (log_min_duration_statement is 1000, log_statement is mod) with the values that they carry, of tenants' rows too",
    ]);
    for (const [setting, value] of [
      ["log_statement", "'all'"],
      ["log_min_duration_sample", "1000"],
      ["log_transaction_sample_rate", "0.5"],
    ])
      assert.match(
        (await found({ [setting!]: value!, log_parameter_max_length: "-1" })).join(),
        RegExp(`^info: statements are logged \\(${setting} is [^,]*\\) with`),
      );
    assert.deepEqual(await found({ log_parameter_max_length: "-1" }), []);
    assert.deepEqual(await found({ log_statement: "'all'" }), []);
  });

  it("server_settings finds a tenant, or open tables, that every session begins with, and not what one session set", () =>
    inSession({ '"App.maintenance"': "'on'" }, async fresh => {
      await fresh`set app.tenant_id = '00000000-0000-0000-0000-000000000001'`;
      const found = await serverSettings(fresh);
      assert.deepEqual(
        found.map(({ severity, row }) => [severity, row]),
        [["error", { setting: "app.maintenance" }]],
      );
      const [kept] = await fresh`select current_setting('app.tenant_id') as tenant`;
      assert.equal(kept!.tenant, "00000000-0000-0000-0000-000000000001");
    }));

  it("server_settings says so where only this connection asks for a setting", async () => {
    const asked = postgres(database.urls.root, {
      max: 1,
      onnotice: () => {},
      connection: { session_replication_role: "replica" },
    });
    try {
      const [found] = await runCheck(asked, "server_settings");
      assert.match(found!.remedy, /^-- this connection asks for it/);
    } finally {
      await asked.end();
    }
  });

  it("function_bypass says who may execute what the service's roles may not", async () => {
    const made = `create schema crm; create function crm.help() returns int language sql security definer set search_path = pg_catalog, pg_temp return 1;`;
    const [open] = await planted(database.sql, made, "function_bypass");
    assert.match(
      open!.detail,
      /none of the service's roles may execute it, but whoever may use the schema crm$/,
    );
    const granted = `${made} revoke all on function crm.help() from public; grant execute on function crm.help() to pg_monitor`;
    const [closed] = await planted(database.sql, granted, "function_bypass");
    assert.match(closed!.detail, /none of the service's roles may execute it, but pg_monitor$/);
  });

  it("server_settings finds a tenant that every session begins with, and leaves the transaction in its own", () =>
    inSession({ '"app.tenant_id"': "'00000000-0000-0000-0000-000000000001'" }, fresh =>
      rolledBack(fresh, async sql => {
        await sql`set local app.tenant_id = '00000000-0000-0000-0000-000000000002'`;
        const found = await runCheck(sql, "server_settings");
        assert.deepEqual(
          found.map(({ severity, row }) => [severity, row]),
          [["error", { setting: "app.tenant_id" }]],
        );
        const [kept] = await sql`select current_setting('app.tenant_id') as tenant`;
        assert.equal(kept!.tenant, "00000000-0000-0000-0000-000000000002");
      }),
    ));

  it("function_changed says that there is no Citus, where a function by the name of its sign makes other checks believe in it", async () => {
    const [found, ...more] = await planted(
      database.sql,
      "create function app.distribute(regclass) returns void language sql set search_path = pg_catalog, pg_temp as 'select'; revoke all on function app.distribute(regclass) from public",
      "function_changed",
    );
    assert.match(
      `${found?.severity} ${found?.remedy} ${more.length}`,
      /^error drop function app\.distribute\(regclass\);\n-- as it was made: CREATE .* 0$/s,
    );
  });

  it("function_body has nothing against a trigger that enters its row's own tenant, goes back or leaves", async () => {
    const own = (when: string, table: string, ...tenants: string[]) => `
      create function app.enter() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
      declare
        v_before constant uuid := app.tenant_id();
        v_text constant text default current_setting('app.tenant_id', true);
        v_row record; -- of a transition table
      begin
        ${tenants.map(tenant => `perform app.set_tenant(${tenant}); perform set_config('app.tenant_id', ${tenant}::text, true);`).join("")}
        perform app.set_tenant(p_tenant_id => v_before), set_config('app.tenant_id', v_text, true), set_config('app.tenant_id', '', true), app.set_tenant(null);
        set local app.tenant_id = '';
        return null;
      end $$;
      create trigger enter ${when} on ${table} for each row execute function app.enter()`;
    for (const plant of [
      own(
        "after insert or delete",
        "app.boards",
        "new.tenant_id",
        "v_row.tenant_id",
        "coalesce(new.tenant_id, old.tenant_id)",
      ),
      own("before delete", "app.boards", "old.tenant_id"),
      own("after insert", "app.tenants", "new.id"),
    ])
      assert.deepEqual(await planted(database.sql, plant, "function_body"), []);
  });

  it("system_grants finds who may read the large values of a tenants' table, says of which, and its remedies take that away", () =>
    rolledBack(database.sql, async sql => {
      await sql.unsafe(`create role report; grant usage on schema pg_toast to tms_app, report;
        do $$ begin execute format('grant select on %s to tms_app, report', (select reltoastrelid::regclass from pg_class where oid = 'app.boards'::regclass)); end $$`);
      const found = (await paste(sql, "system_grants")).filter(({ relation }) => relation);
      assert.deepEqual(found.map(({ severity, row }) => `${severity} ${row.role as string}`).sort(), [
        "error tms_app",
        "warning report",
      ]);
      for (const { detail } of found)
        assert.match(detail, /the large values of app\.boards, past every policy/);
      assert.deepEqual(await runCheck(sql, "system_grants"), []);
    }));

  it("function_body has nothing against columns and messages that only look like settings", async () => {
    const sql = `create function app.promote(p uuid) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
      begin
        if app.tenant_id() is null then raise exception 'set app.tenant_id first, or set local role tms_app'; end if;
        if p is null then raise exception 'Set role to one of owner, admin, member'; end if;
        execute 'update app.users' || ' set role = $1 where id = $2' using 'admin', p;
        update app.users set role = 'admin' where tenant_id = app.tenant_id() and id = p;
        set local app.tenant_id = '';
        perform set_config('app.tenant_id', p::text, true), set_config('app.tenant_id', p::text, is_local => true), set_config('app.tenant_id', p::text, 't');
        raise notice '%', current_setting('app.maintenance', true);
        raise notice 'Reset role of %', p; -- set role tms_owner;
        raise exception 'first this; set role that' using hint = 'set the tenant';
        /* don't; set role tms_owner; */
        reset app.tenant_id;
      end $$`;
    assert.deepEqual(await planted(database.sql, sql, "function_body"), []);
  });

  it("has nothing against settings of one's own, rights in schemas of others, and what everybody has by default", async () => {
    const settings = `do $$ begin execute format('alter database %I set app.environment = %L', current_database(), 'production'); end $$;
      alter role all set app.region = 'eu'; create function app.load() returns int language sql set search_path = pg_catalog, pg_temp set app.event = 'imported' return 1`;
    for (const check of ["role_settings", "function_settings"])
      assert.deepEqual(await planted(database.sql, settings, check), [], check);
    const tighter = ["tms_owner", "tms_app", "tms_registrar", "tms_auditor"]
      .map(
        role =>
          `alter default privileges for role ${role} revoke execute on functions from public; alter default privileges for role ${role} revoke usage on types from public;`,
      )
      .join(" ");
    for (const check of ["role_owns", "default_privileges"])
      assert.deepEqual(await planted(database.sql, tighter, check), [], check);
    const rights = `create role crm; create schema crm authorization crm; alter default privileges for role crm grant execute on functions to pg_monitor`;
    assert.deepEqual(await planted(database.sql, rights, "default_privileges"), []);
  });

  it("default_privileges lets requests draw the numbers of tables that somebody makes, and not set them", async () => {
    const drawn =
      "create schema shop authorization tms_owner; alter default privileges for role tms_owner in schema shop grant";
    const numbers = `${drawn} usage, select on sequences to tms_app`;
    assert.deepEqual(await planted(database.sql, numbers, "default_privileges"), []);
    const found = await planted(database.sql, `${drawn} all on sequences to tms_app`, "default_privileges");
    assert.deepEqual(
      found.map(({ severity, row }) => [severity, row.privilege]),
      [["error", "UPDATE"]],
    );
  });

  it("index_missing has nothing against an index of the rows that refer to something", async () => {
    const index = (where: string) =>
      `alter table app.media add column folder_id uuid, add foreign key (tenant_id, folder_id) references app.boards (tenant_id, id);
       create index on app.media (tenant_id, folder_id) where ${where}`;
    assert.deepEqual(await planted(database.sql, index("folder_id is not null"), "index_missing"), []);
    const found = await planted(database.sql, index("size_bytes is not null"), "index_missing");
    assert.equal(found.length, 1);
  });

  it("index_missing tells once of a key to a partitioned table, whatever partitions that has", async () => {
    const found = await planted(
      database.sql,
      `create table app.parted (tenant_id uuid not null, id int, primary key (tenant_id, id)) partition by hash (id);
       create table app.parted_0 partition of app.parted for values with (modulus 2, remainder 0);
       create table app.parted_1 partition of app.parted for values with (modulus 2, remainder 1);
       create table app.pointing (tenant_id uuid not null, id int, parted_id int, primary key (tenant_id, id),
         constraint to_parted foreign key (tenant_id, parted_id) references app.parted);
       alter table app.parted owner to tms_owner; alter table app.parted_0 owner to tms_owner; alter table app.parted_1 owner to tms_owner;
       alter table app.pointing owner to tms_owner; select app.isolate('app.parted'), app.isolate('app.pointing')`,
      "index_missing",
    );
    assert.deepEqual(
      found.map(({ row }) => row),
      [{ constraint: "to_parted" }],
    );
  });

  it("index_missing has nothing against a reference to what all tenants share, where no request deletes", async () => {
    const shared = `create schema shop; create table shop.models (id text primary key);
       alter table app.media add column model_id text references shop.models`;
    assert.deepEqual(await planted(database.sql, shared, "index_missing"), []);
  });

  it("calls it a warning where somebody's own policy shows a tenant less than it has", async () => {
    const plant =
      "create policy no_drafts on app.boards as restrictive for select to tms_app using (title = 'nothing is called so')";
    for (const check of ["policy_extra", "proof_rows"]) {
      const found = await planted(database.sql, plant, check);
      assert.ok(found.length > 0);
      assert.deepEqual([...new Set(found.map(one => one.severity))], ["warning"], check);
    }
  });

  it("service_reach and function_public leave alone what a provider keeps in a schema that is closed to the service's roles", async () => {
    const sql = `create schema extensions; create view extensions.seen as select 1 as one; grant select on extensions.seen to public; alter extension pg_trgm add view extensions.seen;
      create table extensions.notes (body text); grant select on extensions.notes to public;
      create function extensions.help() returns int language sql security definer set search_path = pg_catalog, pg_temp return 1; alter function extensions.help() owner to pg_monitor`;
    for (const check of ["service_reach", "app_reach", "function_public", "function_bypass"])
      assert.deepEqual(await planted(database.sql, sql, check), [], check);
  });

  it("role_membership says nothing of who may neither act as a role nor join it, and of a superuser", async () => {
    const sql = `create role chief superuser login in role tms_app, tms_auditor; create role bea login;
      do $$ begin if current_setting('server_version_num')::int >= 160000 then execute 'grant tms_app, tms_auditor, tms_owner to bea with inherit false, set false'; end if; end $$`;
    const found = await planted(database.sql, sql, "role_membership");
    assert.deepEqual(
      found.filter(({ row }) => ["chief", "bea"].includes((row.member ?? row.administrator) as string)),
      [],
    );
  });

  it("the gate says in its first line what it found first and how to mend it, and how many more there are", async () => {
    const said = (sql: string) =>
      planted(database.sql, `${sql}; select audit.require_isolation()`, "rls_disabled").then(
        () => "",
        ({ message, detail }: postgres.PostgresError) => [message, detail!.split("\n").length],
      );
    const one =
      "Tenants are not isolated: app.media: row-level security is not forced: its owner, tms_owner, and every definer function of that role see every tenant. " +
      "Fix it with: alter table app.media force row level security;";
    assert.deepEqual(await said("alter table app.media no force row level security"), [one, 1]);
    assert.deepEqual(
      await said(
        "alter table app.media no force row level security; alter table app.users no force row level security",
      ),
      [`${one} (and 1 more)`, 2],
    );
    const [unnamed] = await said("alter role tms_app createrole");
    assert.match(unnamed as string, /^Tenants are not isolated: role_attributes: /);
  });

  it("keeps the worst thousand of what a check finds", async () => {
    const logins = `do $$ begin
        for i in 1..1001 loop execute format('create role job_%s login in role tms_app', i); end loop;
      end $$; create role zoe login in role tms_app; create schema zoe authorization zoe`;
    const found = await planted(database.sql, logins, "role_membership");
    assert.equal(found.length, 1000);
    assert.deepEqual([found[0]!.severity, found[0]!.row.member], ["warning", "zoe"]);
  });

  it("function_changed and the function checks find nothing in what a provider keeps to itself", async () => {
    const sql = `create schema auth; create function auth.uid() returns text language sql return 'x'; create function auth.load() returns int language sql set jit = off return 1`;
    for (const check of ["function_changed", "function_search_path", "function_body", "function_settings"])
      assert.deepEqual(await planted(database.sql, sql, check), [], check);
  });

  it("function_changed asks what rights and settings a function has, and not in which order it was given them", async () => {
    const sql = `revoke execute on function app.iso_time(timestamptz) from tms_app; grant execute on function app.iso_time(timestamptz) to tms_app;
      alter function audit.attempt(text, uuid, int, text[]) reset search_path; alter function audit.attempt(text, uuid, int, text[]) set search_path = pg_catalog, pg_temp`;
    assert.deepEqual(await planted(database.sql, sql, "function_changed"), []);
  });

  it("function_public has nothing against an aggregate, unless it is of a function written in C", async () => {
    const of = (step: string) =>
      `create schema tools; grant usage on schema tools to public; ${step}; revoke all on function tools.step(text, text) from public;
       create aggregate tools.last(text) (sfunc = tools.step, stype = text)`;
    const plain = of("create function tools.step(text, text) returns text language sql return $2");
    assert.deepEqual(await planted(database.sql, plain, "function_public"), []);
    const internal = of("create function tools.step(text, text) returns text language internal as 'textcat'");
    const found = await planted(database.sql, internal, "function_public");
    assert.deepEqual(
      [...new Set(found.map(({ severity, relation }) => `${severity} ${relation}`))],
      ["error tools.last(text)"],
    );
  });

  it("view_leaks has nothing against a view of somebody's session", async () => {
    const sql = "create temporary view mine as select * from app.boards";
    assert.deepEqual(await planted(database.sql, sql, "view_leaks"), []);
  });

  it("app_reach leaves alone what requests cannot get at, and views with their reader's rights", async () => {
    const sql = `select lo_create(4711); grant select, update on large object 4711 to public; create schema crm; create table crm.notes (body text); grant select on crm.notes to tms_app;
      create schema open; grant usage on schema open to tms_app;
      create view open.own with (security_invoker) as select title from app.boards; grant select on open.own to tms_app`;
    assert.deepEqual(await planted(database.sql, sql, "app_reach"), []);
  });
});
