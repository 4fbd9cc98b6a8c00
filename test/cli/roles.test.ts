import assert from "node:assert/strict";
import { after, test } from "node:test";
import postgres from "postgres";
import { runAudit } from "../../src/audit/run.ts";
import { startEmbedded } from "../../src/embedded/embedded.ts";
import { applyRoles, runRoles } from "../../src/migrate/administrator.ts";
import { migrate } from "../../src/migrate/migrate.ts";
import { addressWith, long } from "../harness.ts";
import { lockWaiters, until } from "../until.ts";
import { makeFolder, outcome, tenancy } from "./command.ts";

// Roles are the cluster's, and this test breaks them: a Postgres of its own, so that no other test is disturbed.
const server = await startEmbedded({ dataDir: makeFolder(), settings: { fsync: "off" } });
const sql = postgres(server.urls.root, { max: 1, onnotice: () => {} });
after(async () => {
  await sql.end();
  await server.remove();
});

/** Everything that roles.sql decides. */
const state = async () => {
  const roles = await sql`
    select rolname, rolcanlogin, rolinherit, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls,
      shobj_description(oid, 'pg_authid') as comment
    from pg_roles where rolname like 'tms%' order by rolname`;
  const members = await sql`
    select roleid::regrole::text as granted, member::regrole::text as member,
      bool_or(admin_option) as admin, bool_or(inherit_option) as inherit, bool_or(set_option) as set
    from pg_auth_members where member::regrole::text like 'tms%' group by 1, 2 order by 1, 2`;
  const settings = await sql`
    select setrole::regrole::text as role, setconfig from pg_db_role_setting where setrole::regrole::text like 'tms%' order by 1`;
  return JSON.stringify({ roles, members, settings }, null, 1);
};

test("roles.sql makes five roles with no power of their own; only the owner may become three of them", async () => {
  const roles = await sql`
    select rolname, rolcanlogin from pg_roles
    where rolname like 'tms%' and not (rolinherit or rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls)
    order by rolname`;
  assert.deepEqual(
    roles.map(role => [role.rolname, role.rolcanlogin]),
    [
      ["tms_app", false],
      ["tms_auditor", false],
      ["tms_owner", true],
      ["tms_registrar", false],
      ["tms_service", true],
    ],
  );
  const { members, settings } = JSON.parse(await state()) as { members: unknown[]; settings: unknown[] };
  assert.deepEqual(settings, [
    { role: "tms_owner", setconfig: ["transaction_timeout=0"] },
    {
      role: "tms_service",
      setconfig: [
        "statement_timeout=30s",
        "lock_timeout=2s",
        "idle_in_transaction_session_timeout=30s",
        "search_path=pg_catalog, pg_temp",
        "jit=off",
        "default_transaction_isolation=read committed",
        "quote_all_identifiers=off",
        "gin_fuzzy_search_limit=0",
        "transaction_timeout=0",
        "client_connection_check_interval=500ms",
      ],
    },
  ]);
  assert.deepEqual(
    members,
    ["tms_app", "tms_auditor", "tms_registrar"].map(granted => ({
      granted,
      member: "tms_owner",
      admin: false,
      inherit: false,
      set: true,
    })),
  );
});

test("roles.sql run again changes nothing, and puts back what has drifted", async () => {
  const wanted = await state();
  // What another database's pipeline writes at the same moment, too, would fail.
  const written = () =>
    sql`select xmin::text from pg_authid union all select xmin::text from pg_auth_members
      union all select xmin::text from pg_db_role_setting union all select xmin::text from pg_shdescription`;
  const before = await written();
  await applyRoles(server.urls.root);
  assert.equal(await state(), wanted);
  assert.deepEqual([...(await written())], [...before]);
  await sql`alter role tms_service superuser bypassrls inherit createdb replication`;
  await sql`alter role tms_app login createrole`;
  await sql`alter role tms_owner nologin`;
  await sql`comment on role tms_auditor is null`;
  await sql`grant pg_read_all_data to tms_owner, tms_service, tms_app, tms_registrar, tms_auditor`;
  await sql`grant tms_service to tms_owner`;
  await sql`grant tms_app to tms_service`;
  await sql`grant tms_app to tms_owner with inherit true`;
  await sql`grant tms_registrar to tms_owner with set false`;
  await sql`alter role tms_service set row_security = off`;
  await sql`alter role tms_service in database tms set app.maintenance = 'on'`;
  assert.notEqual(await state(), wanted);
  await applyRoles(server.urls.root);
  assert.equal(await state(), wanted);
});

long("an owner without the roles of roles.sql gets an error that says to run it", async () => {
  await sql`drop database tms with (force)`;
  await sql`create database tms owner tms_owner`;
  await sql`revoke tms_app, tms_registrar from tms_owner cascade`;
  await assert.rejects(
    migrate({ ownerUrl: server.urls.owner }),
    /The release was not installed, and what it changed is rolled back: .*SET ROLE.*: run db\/roles\.sql as an administrator, which gives tms_owner its roles \(applied before it, and stays: 000001-schema\.sql.*\)$/i,
  );
});

/** An administrator who is no superuser, as the next test makes it. */
const asDba = Object.assign(new URL(server.urls.root), {
  username: "Jane.Doe",
  password: "a password of the administrator",
}).href;

test("an administrator who is no superuser can do it all: roles, database, migrations", async () => {
  for (const name of ["tms", "tms_shadow"]) await sql`drop database ${sql(name)} with (force)`;
  await sql`drop role tms_owner, tms_service, tms_app, tms_registrar, tms_auditor`;
  await sql`create role "Jane.Doe" login createrole createdb password 'a password of the administrator'`;
  await sql`grant connect on database postgres to "Jane.Doe"`; // in the embedded cluster nobody else may look in
  const options = { ownerUrl: server.urls.owner, serviceUrl: server.urls.service, rootUrl: asDba };
  const { applied } = await migrate(options);
  assert.ok(applied.length > 0);
  assert.deepEqual((await migrate(options)).applied, []);
  const [left] =
    await sql`select count(*)::int as n from pg_auth_members where member = '"Jane.Doe"'::regrole and roleid = 'tms_owner'::regrole and inherit_option`;
  assert.equal(left!.n, 0);
  const service = postgres(server.urls.service, { max: 1 });
  assert.deepEqual([...(await service`select * from api.get_login_faults() as fault`)], []);
  await service.end();
});

long(
  "a migrate that is killed as the database is made leaves nobody in tms_owner, and the next one gives it away and closes large objects",
  async () => {
    const { owner: DATABASE_URL, service: SERVICE_DATABASE_URL, root } = server.urls;
    for (const ROOT_DATABASE_URL of [asDba, root]) {
      const env = { ROOT_DATABASE_URL, DATABASE_URL, SERVICE_DATABASE_URL };
      await sql`drop database tms with (force)`;
      const holder = postgres(root, { max: 1 });
      const locked = await holder.reserve();
      await locked`begin`;
      await locked`lock table pg_database in share mode`;
      const killed = tenancy(["migrate"], env);
      await lockWaiters(sql);
      killed.child.kill("SIGKILL");
      await killed.ended;
      await locked`commit`;
      locked.release();
      await holder.end();
      await until("its session has ended", async () => {
        const [found] =
          await sql`select from pg_stat_activity where application_name = 'tms migrate (roles)'`;
        return !found;
      });
      const [half] = await sql`select datconnlimit from pg_database where datname = 'tms'`;
      assert.deepEqual({ ...half }, { datconnlimit: -1 }, "the database was made");
      const members = await sql`
      select member::regrole from pg_auth_members where roleid = 'tms_owner'::regrole and (inherit_option or set_option)`;
      assert.deepEqual([...members], []);
      const { code, stderr } = await outcome(tenancy(["migrate"], env));
      assert.deepEqual([code, stderr], [0, ""]);
      const [owned] = await sql`select datdba::regrole::text as owner from pg_database where datname = 'tms'`;
      assert.equal(owned!.owner, "tms_owner");
    }
    const inside = postgres(Object.assign(new URL(root), { pathname: "/tms" }).href, { max: 1 });
    const open = await inside`
    select oid::regprocedure::text from pg_proc
    where proname ~ '^(lo_|loread$|lowrite$)' and has_function_privilege('tms_service', oid, 'execute')`;
    await inside.end();
    assert.deepEqual([...open], []);
  },
);

long(
  "an administrator's own database is given to tms_owner while it is empty, and not when something is in it",
  async () => {
    const { owner: DATABASE_URL, service: SERVICE_DATABASE_URL } = server.urls;
    const env = { ROOT_DATABASE_URL: asDba, DATABASE_URL, SERVICE_DATABASE_URL };
    const dba = postgres(asDba, { max: 1 });
    for (const empty of [false, true]) {
      await sql`drop database tms with (force)`;
      await dba`create database tms`;
      if (!empty) {
        const inside = postgres(Object.assign(new URL(asDba), { pathname: "/tms" }).href, { max: 1 });
        await inside`create schema dbas`;
        await inside.end();
      }
      const { code, stderr } = await outcome(tenancy(["migrate"], env));
      if (empty) assert.deepEqual([code, stderr], [0, ""]);
      else
        assert.match(stderr, /the database must be tms_owner's; .*alter database tms owner to tms_owner;/s);
      const [owned] = await sql`select datdba::regrole::text as owner from pg_database where datname = 'tms'`;
      assert.equal(owned!.owner, empty ? "tms_owner" : '"Jane.Doe"');
    }
    await dba.end();
    const members = await sql`
    select member::regrole from pg_auth_members where roleid = 'tms_owner'::regrole and (inherit_option or set_option)`;
    assert.deepEqual([...members], []);
  },
);

long(
  "several migrate at once on a server without the database or the passwords: all of them succeed",
  async () => {
    await sql`drop database tms with (force)`;
    for (const role of ["tms_owner", "tms_service"]) await sql.unsafe(`alter role ${role} password null`);
    const { root: rootUrl, owner: ownerUrl, service: serviceUrl } = server.urls;
    const several = [1, 2, 3, 4].map(() => migrate({ rootUrl, ownerUrl, serviceUrl }));
    const ends = await Promise.allSettled(several);
    assert.deepEqual(
      ends.flatMap(end => (end.status === "rejected" ? [(end.reason as Error).message] : [])),
      [],
    );
    const [owned] = await sql`select datdba::regrole::text as owner from pg_database where datname = 'tms'`;
    assert.equal(owned!.owner, "tms_owner");
  },
);

long("a password that another database relies on is not set anew; where there is none, it is", async () => {
  const { root: rootUrl } = server.urls;
  await sql`create database other owner tms_owner`;
  await sql`create database served`;
  await sql`grant connect on database served to tms_service`;
  const anew = (url: string) =>
    Object.assign(new URL(url), { password: "another", pathname: "/staging" }).href;
  const [ownerUrl, serviceUrl] = [anew(server.urls.owner), anew(server.urls.service)];
  await assert.rejects(migrate({ rootUrl, ownerUrl, serviceUrl }), {
    message:
      "The password in DATABASE_URL is refused for tms_owner, and is not set, because other, served, tms in the same cluster may " +
      "rely on the old one: change the address, or the password: alter role tms_owner password '…';",
  });
  assert.equal((await sql`select from pg_database where datname = 'staging'`).length, 0);
  assert.deepEqual((await migrate({ ownerUrl: server.urls.owner })).applied, []);

  // Nobody relies on one that a login has not.
  await sql`alter role tms_service password null`;
  assert.deepEqual(
    (await migrate({ rootUrl, ownerUrl: server.urls.owner, serviceUrl: server.urls.service })).applied,
    [],
  );
  const again = postgres(server.urls.service, { max: 1 });
  await again`select`;
  await again.end();

  // Of a single service, migrate goes on to make the addresses' passwords those of the logins.
  for (const name of ["other", "served"]) await sql`drop database ${sql(name)}`;
  const changed = Object.assign(new URL(server.urls.owner), { password: "an@other" }).href;
  for (const url of [changed, server.urls.owner])
    assert.deepEqual((await migrate({ rootUrl, ownerUrl: url })).applied, []);
});

long("the password of a login that is not the service's own stays, whatever an address says", async () => {
  const { owner: ownerUrl, root: rootUrl, service } = server.urls;
  await sql`create role web login password 'right'`;
  const password = async () => {
    const [web] = await sql`select rolpassword from pg_authid where rolname = 'web'`;
    return web!.rolpassword as string;
  };
  const before = await password();
  const serviceUrl = Object.assign(new URL(service), { username: "web", password: "wrong" }).href;
  assert.deepEqual((await migrate({ ownerUrl, rootUrl, serviceUrl })).applied, []);
  assert.equal(await password(), before);
});

long("an administrator's own time-outs do not hold while the roles are made", async () => {
  const { owner: ownerUrl, root } = server.urls;
  await sql`alter role tms_app createdb`;
  const holder = postgres(root, { max: 1 });
  await holder`begin`;
  await holder`lock table pg_authid in share mode`;
  const done = migrate({ ownerUrl, rootUrl: addressWith(root, { lock_timeout: "1ms" }) });
  await Promise.race([lockWaiters(sql), done.then(() => assert.fail("it did not wait"))]).finally(() =>
    holder.end(),
  );
  assert.deepEqual((await done).applied, []);
});

long(
  "two administrators who make the roles at the same moment, from two databases, both succeed",
  async () => {
    const elsewhere = Object.assign(new URL(server.urls.root), { pathname: "/template1" }).href;
    const first = postgres(elsewhere, { max: 1, onnotice: () => {} });
    await sql`alter role tms_auditor rename to tms_auditor_before`;
    try {
      await first`begin`;
      await runRoles(first);
      const second = applyRoles(server.urls.root);
      await Promise.race([lockWaiters(sql), second.then(() => assert.fail("it did not wait"))]).finally(
        () => first`commit`,
      );
      await second;
    } finally {
      await first.end();
      await sql`drop role tms_auditor`;
      await sql`alter role tms_auditor_before rename to tms_auditor`;
    }
  },
);

long("a database that another process creates at the same moment is migrated", async () => {
  const { owner, root: rootUrl } = server.urls;
  const [holder, other] = [postgres(rootUrl, { max: 1 }), postgres(rootUrl, { max: 1 })];
  await holder`begin`;
  await holder`lock table pg_database in share mode`;
  const making = (sessions: number) =>
    until(`${sessions} have found no database and wait to enter theirs`, async () => {
      const [row] = await sql`
        select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query ~ '^create database'`;
      return row!.n === sessions;
    });
  const theirs = other`create database raced owner tms_owner template template0`.catch(() => {});
  await making(1);
  const ours = migrate({ ownerUrl: Object.assign(new URL(owner), { pathname: "/raced" }).href, rootUrl });
  await Promise.race([making(2), ours]).finally(() => holder.end());
  assert.ok((await ours).applied.length > 0);
  await theirs;
  await other.end();
  await sql`drop database raced with (force)`;
});

long(
  "an administrator who may not connect to the service's database gets an error that says which to use",
  async () => {
    await sql`create role admin_outside login createrole createdb password 'weak'`;
    const as = (url: string) =>
      Object.assign(new URL(url), { username: "admin_outside", password: "weak" }).href;
    const outside = as(server.urls.owner);
    await assert.rejects(migrate({ ownerUrl: server.urls.owner, rootUrl: outside }), {
      message:
        /: name another database there, such as postgres, or grant connect on database tms to admin_outside;$/,
    });
    await assert.rejects(runAudit(outside, "DATABASE_URL", { sample: 1 }), {
      message: /\(DATABASE_URL\) refused: .*: grant connect on database tms to admin_outside;$/,
    });
  },
);

long("a command that waits for another one's roles and database names it", async () => {
  const { root: rootUrl, owner: ownerUrl } = server.urls;
  const holder = postgres(rootUrl, { max: 1, connection: { application_name: "somebody" } });
  await holder`select pg_advisory_lock(8624367001)`;
  const lines: string[] = [];
  const done = migrate({ rootUrl, ownerUrl, log: line => lines.push(line) });
  try {
    await until("it is told", () => lines.length > 0);
  } finally {
    await holder.end();
  }
  await done;
  assert.match(
    lines[0]!,
    /^Another process makes the roles and the database; waiting for it to end: process \d+ \(postgres, somebody\)$/,
  );
});

long("an administrator without the rights gets an error that names them", async () => {
  await sql`create role nobody_much login password 'weak'`;
  await sql`alter role tms_service reset all`; // where nothing has drifted no rights are asked
  await sql`grant connect on database postgres to nobody_much`;
  const rootUrl = Object.assign(new URL(server.urls.root), {
    username: "nobody_much",
    password: "weak",
  }).href;
  await assert.rejects(
    migrate({ ownerUrl: server.urls.owner, rootUrl }),
    /\(ROOT_DATABASE_URL\) refused: permission denied [^(]*\([^)]*\): the administrator must be a superuser, or have CREATEROLE and CREATEDB, and since Postgres 16 .* ADMIN on them \(those that a provider's console made: drop them there, migrate makes them\)$/,
  );
});

// The last one: nothing runs after it.
long("stopping the embedded Postgres waits for its end, also when it is being stopped already", async () => {
  await sql.end();
  const [, again] = [server.stop(), server.stop()];
  await again;
  const late = postgres(server.urls.root, { max: 1 });
  await assert.rejects(async () => late`select`, { code: "ECONNREFUSED" });
});
