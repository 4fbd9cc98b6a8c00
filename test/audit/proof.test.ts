/** What the proof must not be fooled by: each of these once passed for a proof, or for a fault. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase } from "../harness.ts";
import { audited, auditor, type Finding, lines, proved } from "./session.ts";
import { role, STYLES } from "./styles.ts";

const database = await createDatabase();
const app = role("app");
const { schema } = STYLES.setting;
await database.sql.unsafe(
  `drop schema if exists app, api, control, audit, graphile_migrate, public cascade; create schema public; ${schema}`,
);
after(async () => {
  await database.drop();
});

const PROFILE = {
  tenants: "shop.companies",
  tenant_key: "id",
  tenant_columns: ["company_id"],
  request_roles: [app],
  principals: `select id::text, array['set local role ${app}', format('set local shop.company = %L', id)], array[id::text] from shop.companies
    union all select 'nobody', array['set local role ${app}'], '{}'`,
};
const load = (profile: object) =>
  `select pg_temp.load_profile($json$${JSON.stringify({ ...PROFILE, ...profile })}$json$);`;

/** A table of the companies' own, isolated like the others; `more` comes after its two rows a company. */
const table = (name: string, columns: string, more = "", rows = "id, 1") => `
  create table shop.${name} (${columns}); alter table shop.${name} enable row level security; alter table shop.${name} force row level security;
  create policy own on shop.${name} to ${app} using (company_id = (select nullif(current_setting('shop.company', true), '')::uuid));
  grant select, insert, update, delete on shop.${name} to ${app};
  ${rows ? `insert into shop.${name} select ${rows} from shop.companies;` : ""} ${more};`;
const KEY = "company_id uuid not null references shop.companies, n int not null, primary key (company_id, n)";
const OPEN = (name: string) => `alter policy own on shop.${name} using (true) with check (true)`;

const find = (plant: string, profile = {}) =>
  audited(database.urls.root, { plant, profile: load(profile) }, async sql => lines(await proved(sql)));

void describe("the proof", () => {
  it("refuses a superuser, unless told", async () => {
    await audited(database.urls.root, { profile: load({}) }, sql =>
      assert.rejects(async () => sql`select pg_temp.prove()`, {
        code: "42501",
        message: /does not run as a superuser/,
      }),
    );
  });

  it("runs as a login that may become the request roles; as one that may not it says so once, and runs", async () => {
    for (const [roles, expected] of [
      [[app], []],
      [[], [/^not_proved null: .* permission denied to set role/]],
    ] as const) {
      const login = await auditor(database, [...roles]);
      try {
        await audited(login.url, { profile: load({}) }, async sql => {
          const found = await sql<Finding[]>`select * from pg_temp.run_once(p_writes => true)`;
          const told = lines([...found].filter(one => one.check));
          assert.equal(found.at(-1)!.severity, roles.length > 0 ? "PASSED" : "FAILED");
          assert.equal(told.length, expected.length, told.join("\n"));
          for (const [i, expression] of expected.entries()) assert.match(told[i]!, expression);
        });
      } finally {
        await login.drop();
      }
    }
  });

  it("is decided by nothing that the database has in its search_path, operators, casts or functions", async () => {
    const hostile = `
      create function public.yes(uuid, uuid) returns boolean language sql as 'select true';
      create function public.yes(bigint, bigint) returns boolean language sql as 'select true';
      create operator public.= (leftarg = uuid, rightarg = uuid, function = public.yes);
      create operator public.> (leftarg = bigint, rightarg = bigint, function = public.yes);
      create function public.count() returns bigint language sql as 'select 0::bigint';
      create function public.lie(shop.orders) returns text language sql as $$ select 'nothing' $$;
      create cast (shop.orders as text) with function public.lie(shop.orders);
      create domain public.text as int; create view public.pg_policy as select 1; create view public.pg_class as select 1;
      create table public.proof_claims (x int);
      alter role ${app} set search_path = public, pg_catalog;`;
    const principals = PROFILE.principals.replaceAll(
      "array['set",
      "array['set local search_path = public, pg_catalog', 'set",
    );
    assert.deepEqual(
      await find(hostile, {
        principals,
      }),
      [],
    );
    const [order, ...none] = await find(`${hostile} ${OPEN("orders")}`, {
      principals,
    });
    assert.deepEqual(none, []);
    assert.match(
      order!,
      /^not_isolated shop\.orders: .*; may delete .*; may give .*; may insert .*; may update/,
    );
  });

  it("acts under policies where the login has row_security off", async () => {
    assert.deepEqual(
      await find(`set local row_security = off; ${OPEN("lines")}`).then(all =>
        all.map(one => one.split(":")[0]),
      ),
      ["not_isolated shop.lines"],
    );
  });

  it("says of a table without rows that nothing was proved, unless its policies have the shape of a proved one", async () => {
    const same = table("same", KEY, "", "");
    const other = table(
      "other",
      KEY,
      "alter policy own on shop.other using (company_id = (select current_setting('shop.company')::uuid))",
      "",
    );
    const unreached = `${table("unreached", KEY, "", "")} revoke all on shop.unreached from ${app};`;
    const open = table("open", KEY, OPEN("open"), "");
    const found = await find(same + other + unreached + open);
    assert.deepEqual(
      found,
      ["open", "other"].map(name => `not_proved shop.${name}: has no rows: nothing was proved in it`),
    );
    // What is not proved of the one table does not hold for the other.
    const faulty = await find(
      `${same} alter policy own on shop.orders with check (true); alter policy own on shop.same with check (true)`,
    );
    assert.ok(
      faulty.includes("not_proved shop.same: has no rows: nothing was proved in it"),
      faulty.join("\n"),
    );
  });

  it("takes rights on some columns for no proof and for no fault", async () => {
    const some = `${table("partly", `${KEY}, note text, other text`)} revoke all on shop.partly from ${app};`;
    for (const rights of [
      "select (note)",
      "select (note), update (note)",
      "insert (company_id, n, note), select (n)",
      "delete, select (company_id)",
    ]) {
      const granted = `${some} grant ${rights} on shop.partly to ${app};`;
      assert.deepEqual(await find(granted), [], rights);
      const [opened] = await find(`${granted} ${OPEN("partly")}`);
      assert.match(opened!, /^not_isolated shop\.partly: .*sees \d rows/, rights);
      if (rights.includes("update")) assert.match(opened!, /may update rows of another tenant/);
      if (rights.includes("insert")) assert.match(opened!, /may insert a row of another tenant/);
      if (rights.includes("delete")) assert.match(opened!, /may delete rows of another tenant/);
    }
  });

  it("finds an UPDATE or DELETE of everything, which reads no column, whoever has rows of their own", async () => {
    const blind = (command: string) =>
      `create policy blind on shop.orders for ${command} to ${app} using (current_setting('shop.company', true) <> '')`;
    assert.match((await find(blind("delete")))[0]!, /may delete rows of another tenant/);
    assert.match(
      (await find(`${blind("update")} with check (true)`))[0]!,
      /may update rows of another tenant/,
    );
  });

  it("lets a trigger put a row back into its own tenant, and takes no other trigger's word for it", async () => {
    const trigger = (name: string, body: string) => `
      create function shop.${name}() returns trigger language plpgsql as $$ begin ${body} return new; end $$;
      create trigger t before insert or update on shop.${name} for each row execute function shop.${name}();`;
    const back =
      "new.company_id := coalesce(nullif(current_setting('shop.company', true), '')::uuid, new.company_id);";
    assert.deepEqual(await find(table("put_back", KEY, trigger("put_back", back))), []);
    const [stamped] = await find(
      table("stamped", KEY, `${trigger("stamped", "")} alter policy own on shop.stamped with check (true)`),
    );
    assert.match(
      stamped!,
      /^not_isolated .*may give its rows to another tenant.*; may insert a row of another tenant/,
    );
    const [broken] = await find(table("broken", KEY, trigger("broken", "new.n := 1 / (new.n - new.n);")));
    assert.match(broken!, /^not_proved shop\.broken: .*division by zero/);
    const [swallowed] = await find(
      table("swallowed", KEY, trigger("swallowed", "if tg_op = 'INSERT' then return null; end if;")),
    );
    assert.match(swallowed!, /^not_proved shop\.swallowed: .*a trigger or a rule took the row/);
    // Another table's constraint, which the trigger meets, is none of its own.
    const noted = `create table shop.noted (n int check (n > 0)); grant insert on shop.noted to ${app};`;
    const [far] = await find(noted + table("far", KEY, trigger("far", "insert into shop.noted values (0);")));
    assert.match(far!, /^not_proved shop\.far: .*noted_n_check/);
  });

  it("says of an INSERT that it refuses whosever the row is that nothing was proved", async () => {
    const [found] = await find(
      table(
        "numbered",
        `${KEY}, id int not null`,
        `create function shop.next() returns int language sql as 'select 1'; revoke all on function shop.next() from public;
        alter table shop.numbered alter id set default shop.next(); revoke insert on shop.numbered from ${app}; grant insert (company_id, n) on shop.numbered to ${app}`,
        "id, 1, 1",
      ),
    );
    assert.match(
      found!,
      /^not_proved shop\.numbered: .*a row of its own is refused, too: permission denied for function next/,
    );
  });

  it("asks a partition by its own name, a column that is of a domain or an enum, and names that need quotes", async () => {
    const parts = `${table("parts", KEY.replace("n int", "n int"), "", "").replace("primary key (company_id, n))", "primary key (company_id, n)) partition by range (n)")}
      create table shop.parts_1 partition of shop.parts for values from (0) to (9); insert into shop.parts select id, 1 from shop.companies;`;
    assert.deepEqual(await find(parts), []);
    assert.match(
      (await find(`${parts} grant select on shop.parts_1 to ${app}`))[0]!,
      /^not_isolated shop\.parts_1: .*sees \d rows/,
    );
    const odd = `create domain shop.company as uuid not null; create schema "a %1$s"; grant usage on schema "a %1$s" to ${app};
      create table "a %1$s"."T %" (company_id shop.company, t text, "n %" int, primary key (company_id, "n %")); insert into "a %1$s"."T %" select id, 't', 1 from shop.companies;
      grant select, insert, update, delete on "a %1$s"."T %" to ${app}; alter table "a %1$s"."T %" enable row level security;`;
    const own = `create policy own on "a %1$s"."T %" to ${app} using (company_id = nullif(current_setting('shop.company', true), '')::uuid);`;
    assert.deepEqual(await find(odd + own), []);
    const [opened] = await find(`${odd} create policy own on "a %1$s"."T %" to ${app} using (true)`);
    assert.match(
      opened!,
      /^not_isolated "a %1\$s"\."T %": .*; may delete .*; may give .*; may insert .*; may update/,
    );
  });

  it("chooses principals that have rows in the table, and says where nobody is entitled to any", async () => {
    const few = "insert into shop.companies (name) select 'without' from generate_series(1, 60);";
    const some = `${table("few", KEY, OPEN("few"), "")};`;
    const rows = "insert into shop.few select company_id, 1 from shop.orders group by 1;";
    assert.match((await find(few + some + rows)).at(-1)!, /^not_isolated shop\.few/);
    const ofOne = table(
      "few",
      KEY,
      "insert into shop.few select min(id::text)::uuid, 1 from shop.companies",
      "",
    );
    const others = `select * from (${PROFILE.principals}) p (principal, enter, tenants)
      where tenants <> array(select min(id::text) from shop.companies)`;
    assert.deepEqual(await find(ofOne, { principals: others }), [
      "not_proved shop.few: none of the principals is entitled to a tenant that has rows in it",
    ]);
  });

  it("chooses among ten thousand tenants without comparing each with each", async () => {
    const many = "insert into shop.companies (name) select 'many' from generate_series(1, 10000);";
    await audited(database.urls.root, { plant: many, profile: load({}) }, async sql => {
      await sql`select pg_temp.prepare_proof(true)`;
      const started = performance.now();
      await sql`select pg_temp.prove_table('shop.companies'::regclass, 5, false)`;
      const seconds = (performance.now() - started) / 1000;
      assert.ok(seconds < 5, `${seconds} s`); // by pairs it takes more than 8 s
    });
  });

  it("is an error where it acted as no principal that has rows, an info where there are no rows, and a pass never", async () => {
    const role = `array['set local role ${app}']`;
    const nothing = "nothing was proved";
    for (const [principals, plant, severity, detail] of [
      [
        `select 'x', ${role}, array[gen_random_uuid()::text]`,
        "",
        "error",
        `${nothing}: it acted as no principal that has rows`,
      ],
      [
        `select 'nobody', ${role}, '{}'::text[]`,
        "",
        "error",
        `${nothing}: it acted as no principal that has rows`,
      ],
      [
        "select '', '{}'::text[], '{}'::text[] where false",
        "",
        "error",
        `${nothing}: it acted as no principal that has rows`,
      ],
      [PROFILE.principals, "truncate shop.companies cascade", "info", `${nothing}: no table has rows`],
    ] as const)
      await audited(database.urls.root, { plant, profile: load({ principals }) }, async sql => {
        const found = await sql<Finding[]>`select * from pg_temp.run_once('schema', p_as_superuser => true)`;
        const verdict = found.pop()!;
        assert.deepEqual(
          found.map(one => [one.check, one.severity, one.relation, one.detail]),
          [["not_proved", severity, null, detail]],
        );
        assert.equal(verdict.severity, severity === "error" ? "FAILED" : "PASSED");
        assert.match(verdict.detail, /, nothing was proved$/);
      });
  });

  it("calls too few rows a finding, unless the profile says that policies narrow within a tenant", async () => {
    const narrow = "create policy narrow on shop.orders as restrictive using (note <> 'n1')";
    assert.match((await find(narrow))[0]!, /^sees_less shop\.orders: .* sees 2 of its 3 rows/);
    assert.deepEqual(
      (await find(narrow, { sees_less: true })).filter(one => one.startsWith("sees_less")),
      [],
    );
  });

  it("keeps nothing of what it tried", async () => {
    await audited(database.urls.root, { plant: OPEN("orders"), profile: load({}) }, async sql => {
      const rows =
        () => sql`select md5(string_agg(o::text, '' order by o)) as all, (select count(*) from shop.lines) as n, current_user as role,
        current_setting('shop.company', true) as company from shop.orders o`;
      const [before] = await rows();
      await proved(sql);
      assert.deepEqual({ ...(await rows())[0], company: null }, { ...before, company: null });
    });
  });
});
