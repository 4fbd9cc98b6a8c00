import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { sqlstate, type Transaction } from "../functions/support.ts";
import { createDatabase, rolledBack } from "../harness.ts";

const database = await createDatabase();
after(() => database.drop());

const OWN = ["app", "api", "control", "audit", "graphile_migrate", "public"];

test("tms_service may execute functions of the schema api, and nothing else in the database", async () => {
  const { sql } = database;
  const held = await sql<{ what: string }[]>`
    with me as (select oid from pg_roles where rolname = 'tms_service')
    select format('%s on %s', p.privilege, c.oid::regclass) as what
    from me, pg_class c, (values ('select'), ('insert'), ('update'), ('delete'), ('truncate'), ('references'), ('trigger')) p (privilege)
    where c.relnamespace::regnamespace::text = any (${OWN}) and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and has_table_privilege(me.oid, c.oid, p.privilege)
    union all
    select format('a column of %s', c.oid::regclass) from me, pg_class c
    where c.relnamespace::regnamespace::text = any (${OWN}) and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and has_any_column_privilege(me.oid, c.oid, 'select, insert, update, references')
    union all
    select format('sequence %s', c.oid::regclass) from me, pg_class c
    where c.relkind = 'S' and has_sequence_privilege(me.oid, c.oid, 'usage, select, update')
    union all
    select format('execute on %s', p.oid::regprocedure) from me, pg_proc p
    where p.pronamespace::regnamespace::text = any (${OWN}) and p.pronamespace <> 'api'::regnamespace
      and has_function_privilege(me.oid, p.oid, 'execute')
      and has_schema_privilege(me.oid, p.pronamespace, 'usage')
    union all
    select format('create in schema %s', nspname) from me, pg_namespace n where has_schema_privilege(me.oid, n.oid, 'create')
    union all
    select format('usage of schema %s', nspname) from me, pg_namespace n
    where has_schema_privilege(me.oid, n.oid, 'usage')
      and nspname not in ('api', 'pg_catalog', 'information_schema')
    union all
    select format('%s in the database', p.privilege) from me, (values ('create'), ('temporary')) p (privilege)
    where has_database_privilege(me.oid, current_database(), p.privilege)
    union all
    select 'member of ' || m.roleid::regrole from me, pg_auth_members m where m.member = me.oid
    union all
    select 'owner of ' || c.oid::regclass from me, pg_class c where c.relowner = me.oid
    union all
    select 'owner of ' || p.oid::regprocedure from me, pg_proc p where p.proowner = me.oid
    union all
    select 'an attribute beyond login' from pg_roles
    where rolname = 'tms_service'
      and (rolsuper or rolinherit or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls or not rolcanlogin)`;
  assert.deepEqual([...held], []);
});

test("every function of the schema api is granted to tms_service or tms_auditor, and none to PUBLIC", async () => {
  const rows = await database.sql`
    select oid::regprocedure::text as name,
           has_function_privilege('tms_service', oid, 'execute') <> has_function_privilege('tms_auditor', oid, 'execute') as one,
           exists (select from aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee = 0) as public
    from pg_proc where pronamespace = 'api'::regnamespace`;
  assert.ok(rows.length > 15);
  for (const row of rows) assert.deepEqual({ ...row }, { name: row.name, one: true, public: false });
  const open = await database.sql`
    select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace::regnamespace::text in ('app', 'control', 'audit')
      and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
      and exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) where grantee = 0)`;
  assert.deepEqual([...open], []);
});

test("every SECURITY DEFINER function names its search_path with pg_temp last, and none belongs to a superuser", async () => {
  const wrong = await database.sql`
    select p.oid::regprocedure::text as name, p.proconfig, r.rolname from pg_proc p join pg_roles r on r.oid = p.proowner
    where p.pronamespace::regnamespace::text in ('app', 'api', 'control', 'audit') and p.prosecdef
      and (not coalesce(p.proconfig, '{}') @> array['search_path=pg_catalog, pg_temp'] or r.rolsuper or r.rolbypassrls)`;
  assert.deepEqual([...wrong], []);
});

test("Postgres refuses every statement of the service's login except calls of api functions", async () => {
  const login = postgres(database.urls.service, { max: 1, onnotice: () => {} });
  const statements = [
    "table app.tenants",
    "select from app.boards",
    "insert into control.rate_limits values ('a', 'b', 1, now())",
    "lock table app.boards in access exclusive mode",
    "truncate app.boards",
    "create temporary table mine (id int)",
    "create table app.mine (id int)",
    "create schema mine",
    "create table public.mine (id int)",
    "set role tms_app",
    "set role tms_registrar",
    "set role tms_owner",
    "select app.tenant_id()",
    "select app.set_tenant(null)",
    "copy (select 1) to program 'true'",
    "select pg_read_file('PG_VERSION')",
    "alter role tms_service superuser",
    "table graphile_migrate.migrations",
    "select lo_create(0)",
    "select lo_from_bytea(0, 'abc')",
    "select loread(0, 1)",
    "select lowrite(0, 'abc')",
  ];
  try {
    for (const statement of statements) {
      const begun = login.begin(tx => tx.unsafe(statement));
      assert.equal(await sqlstate(begun), "42501", statement);
    }
  } finally {
    await login.end();
  }
});

test("tms_app holds no right that row-level security does not govern", async () => {
  const rows = await database.sql`
    select c.oid::regclass::text as name, p.privilege from pg_class c,
      (values ('truncate'), ('references'), ('trigger')) p (privilege)
    where c.relnamespace::regnamespace::text in ('app', 'control', 'audit') and c.relkind in ('r', 'p')
      and has_table_privilege('tms_app', c.oid, p.privilege)
    union all
    select 'member of ' || roleid::regrole, '' from pg_auth_members where member = 'tms_app'::regrole`;
  assert.deepEqual([...rows], []);
});

test("get_login_faults finds every right by which a login could bypass row-level security", async () => {
  const faults = async (plant: (tx: Transaction) => Promise<unknown>) => {
    let found: string[] = [];
    await rolledBack(database.sql, async tx => {
      await tx.unsafe("create role tms_planted login");
      await tx.unsafe("grant usage on schema api to tms_planted");
      await tx.unsafe("grant execute on function api.get_login_faults() to tms_planted");
      await plant(tx);
      await tx.unsafe("set local session authorization tms_planted");
      found = (await tx`select * from api.get_login_faults() as f (fault)`).map(row => row.fault as string);
    });
    return found;
  };
  const table =
    "create table public.invoices (tenant_id uuid not null, id uuid, primary key (tenant_id, id))";
  const planted: [string, string][] = [
    ["alter role tms_planted superuser", "it is a superuser"],
    ["alter role tms_planted bypassrls", "it has BYPASSRLS"],
    ["alter role tms_planted createrole", "it may create roles"],
    ["alter role tms_planted replication", "it may replicate, and so read every row"],
    ["grant tms_app to tms_planted", "it is a member of the role tms_app"],
    ["grant select on audit.found to tms_planted", "it owns or has a right on the table audit.found"],
    ["grant update (title) on app.boards to tms_planted", "it owns or has a right on the table app.boards"],
    ...["select", "insert", "update", "delete", "truncate", "references", "trigger"].map(
      (right): [string, string] => [
        `grant ${right} on app.media to tms_planted`,
        "it owns or has a right on the table app.media",
      ],
    ),
    [
      `do $$ begin execute format('grant %s on app.media to tms_planted',
        case when current_setting('server_version_num')::int >= 170000 then 'maintain' else 'trigger' end); end $$`,
      "it owns or has a right on the table app.media",
    ],
    [
      "grant delete on control.rate_limits to public",
      "it owns or has a right on the table control.rate_limits",
    ],
    [
      `${table}; select app.isolate('public.invoices'); grant select on public.invoices to tms_planted`,
      "it owns or has a right on the table public.invoices",
    ],
    ...["usage", "select", "update"].map((right): [string, string] => [
      `grant ${right} on sequence control.tenant_events_id_seq to tms_planted`,
      "it owns or has a right on the table control.tenant_events_id_seq",
    ]),
    ...["view app.peek as select 1 as n", "materialized view app.peek as select 1 as n"].map(
      (made): [string, string] => [
        `create ${made}; grant select on app.peek to tms_planted`,
        "it owns or has a right on the table app.peek",
      ],
    ),
    [
      `create foreign data wrapper far; create server far foreign data wrapper far;
       create foreign table app.far (n int) server far; grant select on app.far to tms_planted`,
      "it owns or has a right on the table app.far",
    ],
    ...["app", "api", "control", "audit"].map((schema): [string, string] => [
      `grant create on schema ${schema} to tms_planted`,
      `it may create objects in the schema ${schema}`,
    ]),
    ...[
      ["default_transaction_isolation", "serializable", "read committed"],
      ["row_security", "off", "on"],
      ["session_replication_role", "replica", "origin"],
    ].map(([name, value, wanted]): [string, string] => [
      `set local ${name} = ${value}`,
      `its sessions begin with ${name} = ${value}, which must be ${wanted}`,
    ]),
  ];
  assert.deepEqual(await faults(async () => {}), []);
  const crew = `create role tms_crew; grant tms_crew to tms_planted; create schema theirs authorization tms_planted;
    create table theirs.notes (n int); create policy own on theirs.notes using (true); alter table theirs.notes owner to tms_planted`;
  assert.deepEqual(await faults(tx => tx.unsafe(crew)), ["it is a member of the role tms_crew"]);
  for (const [statement, fault] of planted) {
    assert.ok((await faults(tx => tx.unsafe(statement))).includes(fault), statement);
  }
});

test("a function that a member of tms_app redefines runs with the rights of tms_app only", () =>
  rolledBack(database.sql, async tx => {
    // A member of a role may alter the role's functions, in schemas that the member can use.
    const callers = await tx`
      select caller.oid::regprocedure::text as caller, called.oid::regprocedure::text as called
      from pg_proc called join pg_proc caller
        on caller.prosrc ~ format('\\m%s\\.%s\\(', called.pronamespace::regnamespace, called.proname)
      where called.proowner = 'tms_app'::regrole and has_schema_privilege('tms_app', called.pronamespace, 'usage')
        and caller.proowner <> 'tms_app'::regrole and caller.proname <> 'manifest'
        -- These calls are made on a Citus cluster only.
        and caller.prosrc !~ format('if app\\.is_distributed\\(\\) then\\s+perform 1 from %s\\.%s\\(',
          called.pronamespace::regnamespace, called.proname)`;
    assert.deepEqual([...callers], []);
    const reached = await tx`
      select proname from pg_proc
      where proowner = 'tms_app'::regrole and pronamespace = 'app'::regnamespace and has_function_privilege('tms_registrar', oid, 'execute')
      order by 1`;
    assert.deepEqual(
      reached.map(row => row.proname),
      ["create_sample_data", "empty_tenant"], // on a Citus cluster
    );
    await tx.unsafe(`
      create role tms_app_member;
      grant tms_app to tms_app_member;
      create schema tms_app_member authorization tms_app_member;
      grant usage on schema tms_app_member to public;
      set local role tms_app_member;
      create function tms_app_member.has_table_privilege(regclass, text) returns boolean language plpgsql
        as $$ begin raise exception 'run as %', current_user; end $$;
      alter function app.leaking_tables() security invoker set search_path = tms_app_member, pg_catalog;
      reset role`);
    await assert.rejects(
      tx.savepoint(sql => sql`select from app.isolation_breaches()`),
      /^PostgresError: run as tms_app$/,
    );
  }));
