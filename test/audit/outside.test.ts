/** The command on a database that has nothing of this service, by a login that may as little as possible; and on our own. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import postgres from "postgres";
import { type Baseline, readBaseline, type Vouched } from "../../src/audit/baseline.ts";
import type { Report } from "../../src/audit/report.ts";
import type { Request } from "../../src/audit/request.ts";
import { auditDatabase } from "../../src/audit/run.ts";
import { auditText, PRODUCT_CHECKS, SERVICE_CHECKS } from "../../src/audit/sql-text.ts";
import { outcome, projectRoot, tenancy } from "../cli/command.ts";
import { temporaryFolder } from "../folder.ts";
import { createDatabase } from "../harness.ts";
import { seedTenants } from "./tenants.ts";

const own = await createDatabase();
const suffix = randomBytes(4).toString("hex");
const [app, login, name] = [`kiosk_app_${suffix}`, `kiosk_auditor_${suffix}`, `tms_kiosk_${suffix}`];
const at = (user?: string) => {
  const url = new URL(own.urls.root);
  url.pathname = `/${name}`;
  if (user) [url.username, url.password] = [user, "secret"];
  return url.href;
};
const sql = postgres(at(), { max: 2, idle_timeout: 10, onnotice: () => {} });
const folder = temporaryFolder("outside");
const file = (of: string, content?: unknown) => {
  const full = path.join(folder, of);
  if (content !== undefined)
    writeFileSync(full, typeof content === "string" ? content : JSON.stringify(content));
  return full;
};

/** As Prisma makes it: text ids, a child without a tenant column; and policies by a setting. */
const KIOSK = `
  create table "Org" (id text primary key, name text not null);
  create table "Note" (id serial primary key, "orgId" text not null references "Org", body text);
  create table "Line" (id serial primary key, "noteId" int not null references "Note", words text);
  create index on "Note" ("orgId"); create index on "Line" ("noteId");
  insert into "Org" values ('acme', 'Acme'), ('beta', 'Beta'), ('gone', 'Gone');
  insert into "Note" ("orgId", body) select id, 'a note' from "Org", generate_series(1, 3);
  insert into "Line" ("noteId", words) select id, 'a line' from "Note";
  alter table "Org" enable row level security; alter table "Note" enable row level security; alter table "Line" enable row level security;
  alter table "Org" force row level security; alter table "Note" force row level security; alter table "Line" force row level security;
  create policy mine on "Org" using (id = current_setting('kiosk.org', true));
  create policy mine on "Note" using ("orgId" = current_setting('kiosk.org', true));
  create policy mine on "Line" using (exists (select from "Note" n where n.id = "noteId" and n."orgId" = current_setting('kiosk.org', true)));
  grant usage on schema public to ${app}; grant select, insert, update, delete on "Org", "Note", "Line" to ${app};
  grant usage on all sequences in schema public to ${app};`;

before(async () => {
  await own.sql.unsafe(`create database ${name} template template0`);
  await own.sql.unsafe(
    `create role ${app} nologin; create role ${login} login bypassrls noinherit password 'secret'`,
  );
  const [{ version }] = await own.sql<
    [{ version: number }]
  >`select current_setting('server_version_num')::int as version`;
  // What docs/guides/any-postgres.md says.
  await sql.unsafe(`revoke all on database ${name} from public; grant connect, temporary on database ${name} to ${login};
    grant pg_read_all_data to ${login}${version >= 160000 ? " with inherit true" : ""}; grant ${app} to ${login}${version >= 160000 ? " with inherit false, set true" : ""};
    ${version >= 160000 ? "" : `alter role ${login} inherit`}`);
  await sql.unsafe(KIOSK);
  await seedTenants(own.sql, 2);
});
after(async () => {
  await sql.end();
  await own.sql.unsafe(`drop database ${name} with (force)`);
  await own.sql.unsafe(`drop role ${app}, ${login}`);
  await own.drop();
});

const audit = (...args: string[]) => outcome(tenancy(["audit", "--database", at(login), ...args]));
/** The same in this process: what a run gives for a profile. */
async function report(baseline: Partial<Baseline> = {}, more: Partial<Request> = {}, url = at(login)) {
  const { audit: found } = await auditDatabase(url, "--database", {
    sample: 5,
    writes: false,
    asSuperuser: false,
    only: "schema",
    profile: PROFILE,
    baseline: { vouched: [], accepted: [], ...baseline },
    ...more,
  });
  return { ...found.report, accepted: found.accepted!, notes: found.notes ?? [], notRun: found.notRun };
}
const PROFILE = {
  tenants: 'public."Org"',
  tenant_key: "id",
  tenant_columns: ["orgId"],
  request_roles: [app],
  principals: `select id, array['set local role ${app}', format('set local kiosk.org = %L', id)], array[id] from public."Org"
    union all select 'nobody', array['set local role ${app}'], '{}'`,
};
const profile = file("profile.json", { profile: PROFILE });
/** Errors of the server's version, whatever the database holds. */
const isServers = ({ check }: { check: string }) => check === "server_version" || check === "server_settings";
const errorsOf = ({ findings }: Report) =>
  findings
    .filter(one => one.severity === "error" && !isServers(one))
    .map(one => `${one.check} ${one.relation}`);

/** `work` with this done to the database, and this undone. */
async function withChange<T>(change: string, undo: string, work: () => Promise<T>): Promise<T> {
  await sql.unsafe(change);
  try {
    return await work();
  } finally {
    await sql.unsafe(undo);
  }
}

void describe("what is sent", () => {
  it("is every file of the audit, but for what a client has no use for", () => {
    const at = path.join(projectRoot, "db", "audit");
    const sent = auditText([SERVICE_CHECKS, PRODUCT_CHECKS]);
    const files = readdirSync(at, { recursive: true, encoding: "utf8" }).filter(one => one.endsWith(".sql"));
    const unsent = files.filter(
      one => !sent.includes(readFileSync(path.join(at, one), "utf8").replaceAll(/\baudit\./g, "pg_temp.")),
    );
    assert.deepEqual(unsent.sort(), [
      "history.sql",
      "manifest.sql",
      "reset.sql",
      "rights.sql",
      "service-profile.sql",
    ]);
    assert.doesNotMatch(sent, /\baudit\./);
  });
});

void describe("a database that has nothing of this service", () => {
  it("is proved by a profile, and nothing in it is changed", async () => {
    const state = async () => {
      const [row] = await sql`
        select (select array_agg(n::text order by n.id) from "Note" n) as notes, (select last_value from "Note_id_seq") as last,
          (select count(*)::int from pg_class) as relations, (select count(*)::int from pg_proc) as functions,
          (select array_agg(xmin::text order by id) from "Org") as written`;
      return row;
    };
    const was = await state();
    const found = await report({}, { only: undefined });
    assert.deepEqual(errorsOf(found), []);
    const proof = found.checks.find(({ check }) => check === "not_isolated");
    assert.deepEqual([proof!.checked, proof!.findings], [3, 0], "the child without a tenant column too");
    assert.equal(
      found.checks.some(({ check }) => check === "not_as_released"),
      false,
    );
    assert.deepEqual(await state(), was);
  });

  it("is found open by acting where a policy is", async () => {
    await withChange(
      'create policy all_of_it on "Line" using (true)',
      'drop policy all_of_it on "Line"',
      async () => {
        const found = await report();
        assert.deepEqual(errorsOf(found), ['not_isolated public."Line"']);
      },
    );
  });

  it("fires no trigger, and the server keeps it from writing, unless writes are asked for", async () => {
    const trigger = `create function public.count_it() returns trigger language plpgsql as $$ begin perform nextval('public.fired'); return null; end $$;
      create sequence public.fired; create trigger t before insert or update or delete on "Note" for each statement execute function public.count_it();
      grant usage on sequence public.fired to ${app}`;
    const fired = async () => (await sql<{ n: boolean }[]>`select is_called as n from public.fired`)[0]!.n;
    await withChange(
      trigger,
      'drop trigger t on "Note"; drop function public.count_it(); drop sequence public.fired',
      async () => {
        await report();
        assert.equal(await fired(), false);
        const found = await report({}, { writes: true });
        assert.equal(await fired(), true, "a sequence is not undone: writes fire triggers");
        assert.equal((await sql`select from "Note"`).length, 9);
        assert.deepEqual(
          errorsOf(found).filter(one => one.startsWith("not_isolated")),
          [],
        );
      },
    );
  });

  it("decides nothing by its search_path, its operators and its casts", async () => {
    const evil = `create schema evil; grant usage on schema evil to public;
      create function evil.eq(text, text) returns boolean language sql immutable as 'select true';
      create operator evil.= (leftarg = text, rightarg = text, function = evil.eq);
      create function evil.count(*) returns bigint language sql as 'select 0::bigint';
      create view evil.pg_class as select * from pg_catalog.pg_class where false;
      create view evil.pg_policy as select * from pg_catalog.pg_policy where false;
      create function evil.format(text, variadic text[]) returns text language sql as 'select null::text';
      alter database ${name} set search_path = evil, pg_catalog, public; alter role ${login} set search_path = evil, public`.replace(
      /create function evil\.count[^;]+;/,
      "",
    );
    await withChange(
      `${evil}; create policy all_of_it on "Note" using (true)`,
      `drop policy all_of_it on "Note"; drop schema evil cascade; alter database ${name} reset all; alter role ${login} reset all`,
      async () => {
        const found = await report();
        assert.ok(errorsOf(found).includes('not_isolated public."Note"'), JSON.stringify(errorsOf(found)));
      },
    );
  });

  it("gets a profile proposed, printed beside the report, and saved once", async () => {
    const first = await audit("--format", "json");
    assert.match(first.stderr, /^The catalog proposes this profile\. Save it with --save-profile FILE/);
    const saved = file("proposed.json");
    const second = await audit("--save-profile", saved, "--format", "json");
    assert.match(second.stderr, /^Written: .*proposed\.json\. Read and correct it/);
    const proposed = readBaseline(saved).profile as typeof PROFILE;
    assert.deepEqual(
      [proposed.tenants, proposed.tenant_key, proposed.tenant_columns, proposed.request_roles],
      ['public."Org"', "id", ["orgId"], [app]],
    );
    const errors = [first, second].map(({ stdout }) => errorsOf(JSON.parse(stdout) as Report));
    assert.deepEqual([...errors, errorsOf(await report({}, { profile: proposed }))], [[], [], []]);
    const twice = await audit("--save-profile", saved);
    assert.deepEqual([twice.code, twice.stderr], [2, `${saved} is there already`]);
  });

  it("is not audited as a superuser unless the operator says so", async () => {
    const refused = await outcome(tenancy(["audit", "--database", at(), "--profile", profile]));
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /^This login is a superuser: .* --as-superuser where you trust them$/);
    const told = await outcome(
      tenancy(["audit", "--database", at(), "--profile", profile, "--as-superuser", "--format", "json"]),
    );
    assert.deepEqual(errorsOf(JSON.parse(told.stdout) as Report), []);
  });

  it("says what a login lacks", async () => {
    await withChange(
      `revoke temporary on database ${name} from ${login}`,
      `grant temporary on database ${name} to ${login}`,
      async () => {
        const { code, stderr } = await audit("--profile", profile);
        assert.deepEqual(
          [code, stderr],
          [2, "The audit works in temporary tables: grant temporary on this database to this login"],
        );
      },
    );
    await withChange(`alter role ${login} nobypassrls`, `alter role ${login} bypassrls`, async () => {
      const found = await report();
      assert.ok(found.notRun.length > 0);
      assert.ok(found.findings.some(({ detail }) => /no policy shows \S+ every row/.test(detail)));
    });
    await withChange(`revoke ${app} from ${login}`, `grant ${app} to ${login}`, async () => {
      const found = await report();
      assert.ok(
        found.findings.some(({ check }) => check === "not_proved"),
        "nothing is proved by silence",
      );
    });
  });

  it("says who reads a tenant's rows, and by which path", async () => {
    const { code, stdout } = await audit("--profile", profile, "--who-reads", "acme", "--format", "json");
    assert.equal(code, 0);
    const readers = JSON.parse(stdout) as { role: string; path: string }[];
    assert.ok(
      readers.some(({ role, path: by }) => role === app && by.startsWith("the principal acme: ")),
      stdout,
    );
    assert.ok(
      readers.some(({ role }) => role === login),
      "it has BYPASSRLS",
    );
    assert.match(
      (await audit("--profile", profile, "--who-reads", "acme")).stdout,
      /^ROLE +LOGIN +READS +BY\n/,
    );
  });

  it("is proved without rows by rows that are made and undone", async () => {
    const empty =
      'create table "Later" (id serial primary key, "orgId" text not null references "Org"); create index on "Later" ("orgId"); alter table "Later" enable row level security; ' +
      `alter table "Later" force row level security; create policy open on "Later" using (id > 0); grant select on "Later" to ${app}`;
    await withChange(empty, 'drop table "Later"', async () => {
      const without = await report();
      assert.deepEqual(errorsOf(without), [], "nothing is seen");
      assert.ok(
        without.findings.some(
          ({ check, relation }) => check === "not_proved" && relation === 'public."Later"',
        ),
      );
      const seeded = await report({}, { seed: true, asSuperuser: true }, at());
      assert.deepEqual(errorsOf(seeded), ['not_isolated public."Later"']);
      assert.equal((await sql`select from "Later"`).length, 0);
      await assert.rejects(
        report({}, { seed: true }),
        /^Error: No rows can be made for the proof: .*session_replication_role/,
      );
    });
  });

  it("prints the proof as TAP", async () => {
    const { code, stdout } = await audit("--profile", profile, "--format", "tap", "--prove", 'public."Note"');
    const lines = stdout.split("\n");
    assert.deepEqual([code, lines[0], lines[1]], [0, "TAP version 14", `1..${lines.length - 2}`]);
    assert.ok(
      lines.slice(2).every(line => /^ok \d+ - public\."Note": /.test(line)),
      stdout,
    );
    await withChange(
      'create policy all_of_it on "Note" using (true)',
      'drop policy all_of_it on "Note"',
      async () => {
        const open = await audit("--profile", profile, "--format", "tap");
        assert.equal(open.code, 1);
        assert.match(open.stdout, /^not ok \d+ - public\."Note": /m);
      },
    );
    assert.match((await audit("--profile", profile, "--prove", "x")).stderr, /--format tap/);
    const tap = (...more: string[]) => audit("--profile", profile, "--format", "tap", ...more);
    const nothing = await tap("--prove", "pg_catalog.pg_class");
    assert.deepEqual([nothing.code, nothing.stdout], [2, "TAP version 14\n1..0"], "nothing was proved");
    assert.match((await tap("--tenant", "acme")).stderr, /--tenant has no meaning there/);
  });

  it("refuses a file that is no profile, and a profile that does not fit, with all that is wrong", async () => {
    const refused = async (content: unknown) => {
      const { code, stdout, stderr } = await audit("--profile", file("broken.json", content));
      assert.deepEqual([code, stdout], [2, ""]);
      return stderr;
    };
    assert.match(await refused("{"), /broken\.json is not JSON: /);
    assert.match(await refused({ profil: {} }), /must NOT have additional properties/);
    assert.match(await refused({ vouched: [] }), /broken\.json has no profile/);
    assert.match(
      await refused({ profile: { ...PROFILE, tenants: "public.nothing" } }),
      /^The profile does not fit this database: /,
    );
    assert.match(
      await refused({ profile: { ...PROFILE, principals: "select 1" } }),
      /^The profile does not fit this database: principals: /,
    );
  });
});

void describe("a baseline", () => {
  const open =
    'alter table "Line" no force row level security; create policy all_of_it on "Line" using (true)';
  const closed = 'alter table "Line" force row level security; drop policy if exists all_of_it on "Line"';

  it("takes what was accepted with a reason out of the counts, and no longer once the definition changes", async () => {
    await withChange(open, closed, async () => {
      const saved = file("baseline.json");
      const was = await audit("--profile", profile, "--save-baseline", saved);
      assert.equal(was.code, 1);
      const unsaid = await audit("--baseline", saved);
      assert.equal(unsaid.code, 2);
      assert.match(unsaid.stderr, /is not a baseline: accepted\/0\/reason is empty: say why/);
      writeFileSync(saved, readFileSync(saved, "utf8").replaceAll('"reason":""', '"reason":"a demo"'));
      const now = await audit("--baseline", saved);
      assert.equal(now.code, 0, now.stdout);
      assert.match(now.stdout, /^PASSED\. .*, \d+ accepted\.$[\s\S]*^ACCEPTED$[\s\S]*\(a demo\)$/m);

      const baseline = readBaseline(saved);
      const same = await report(baseline);
      assert.deepEqual(
        [errorsOf(same), same.accepted.length, same.notes],
        [[], baseline.accepted.length, []],
      );
      await sql.unsafe('alter policy all_of_it on "Line" using (words <> $$x$$)');
      const changed = await report(baseline);
      assert.ok(errorsOf(changed).length > 0);
      assert.ok(
        changed.notes.some(note =>
          /^No longer accepted, since its definition changed: .* \(a demo\)$/.test(note),
        ),
      );
      await sql.unsafe('drop policy all_of_it on "Line"; alter table "Line" force row level security');
      const mended = await report(baseline);
      assert.ok(mended.notes.some(note => note.startsWith("Accepted, and not found any more: ")));
    });
  });

  it("vouches for a function until the function changes", async () => {
    const make = (value: number) =>
      `create or replace function public.total() returns bigint language sql security definer set search_path = pg_catalog, pg_temp as 'select ${value}::bigint'`;
    await withChange(
      `${make(1)}; grant execute on function public.total() to ${app}`,
      "drop function public.total()",
      async () => {
        const { findings } = await report();
        const { remedy } = findings.find(
          ({ check, relation }) => check === "function_unknown" && /total\(\)/.test(relation!),
        )!;
        assert.match(remedy, /: select "audit"\.vouch\('public\.total\(\)', '…'\);$/);
        const vouched = [
          JSON.parse(/\{"kind".*\}/.exec(remedy)![0].replace('"…"', '"a constant"')) as Vouched,
        ];
        assert.deepEqual(errorsOf(await report({ vouched })), []);
        await sql.unsafe(make(2));
        assert.deepEqual(errorsOf(await report({ vouched })), ["function_unknown public.total()"]);
      },
    );
  });

  it("shows what a change opened and closed", async () => {
    const { stdout } = await audit("--profile", profile, "--format", "json");
    const old = file("old.json", stdout);
    await withChange(open, closed, async () => {
      const { stdout: text } = await audit("--profile", profile, "--diff", old);
      assert.match(text, /^OPENED since the earlier report\n {2}- error /m);
      const { stdout: opened } = await audit("--profile", profile, "--format", "json");
      await sql.unsafe('drop policy all_of_it on "Line"; alter table "Line" force row level security');
      const later = await audit("--profile", profile, "--diff", file("opened.json", opened));
      assert.match(later.stdout, /^CLOSED since the earlier report\n {2}- error /m);
    });
    assert.match(
      (await audit("--profile", profile, "--diff", profile)).stderr,
      /is not a report of the audit/,
    );
  });
});

void describe("this service's own database", () => {
  const ours = (more: Partial<Request> = {}) => report({}, { profile: null, ...more }, own.urls.owner);

  it("has no finding when it is new, with writes and without", async () => {
    for (const writes of [false, true]) {
      const found = await ours({ writes, only: undefined });
      // Other tests make roles in the same cluster.
      const open = found.findings.filter(one => !isServers(one) && one.check !== "role_bypasses");
      assert.deepEqual(open, []);
      assert.ok(found.checks.find(({ check }) => check === "not_as_released")!.checked > 700);
    }
  });

  it("says one fault once, with what it leads to", async () => {
    const change =
      "alter policy tenant_only on app.boards using (true); alter table app.media disable row level security";
    await own.sql.unsafe(change);
    try {
      const found = await ours();
      const open = found.findings.filter(one => one.severity === "error" && !isServers(one));
      assert.deepEqual(
        open.map(({ check, relation }) => `${check} ${relation}`),
        ["not_as_released app.boards", "not_as_released app.media"],
      );
      assert.match(
        open[0]!.detail,
        /^policy tenant_only on app\.boards is not as the release made it[\s\S]*\nnot_isolated: /,
      );
      assert.match(open[1]!.detail, /\nrls_disabled: /);
      for (const { remedy } of open)
        await own.sql.unsafe(
          `set role tms_owner; set app.maintenance = on; ${remedy}; reset role; reset app.maintenance`,
        );
      assert.equal(found.summary.errors, found.findings.filter(one => one.severity === "error").length);
      const mended = await ours();
      assert.deepEqual(errorsOf(mended), [], "the remedies mend it as printed");
    } finally {
      await own.sql.unsafe(
        "alter policy tenant_only on app.boards using (tenant_id = (select app.tenant_id())); alter table app.media enable row level security",
      );
    }
  });

  it("believes nothing that is stored: not the audit inside, nor what was accepted there", async () => {
    await own.sql.unsafe(`
      update pg_proc set prosrc = replace(prosrc, 'and u.auth_subject = p_caller.subject', '') where oid = 'app.enter_tenant(app.caller)'::regprocedure;
      create or replace function audit.names_of_roles(p_roles oid[]) returns text language sql stable return 'nobody';
      create function app.make_owners() returns trigger language plpgsql as $$ begin new.role := 'owner'; return new; end $$;
      create trigger owners before insert on app.users for each row execute function app.make_owners();
      insert into audit.vouched (kind, object, reason) values ('function', 'app.make_owners()', 'it is ours')`);
    const found = await ours();
    const rows = found.findings
      .filter(({ severity, check }) => severity === "error" && check === "not_as_released")
      .map(({ row }) => Object.values(row)[0]);
    for (const changed of [
      "app.enter_tenant(app.caller)",
      "audit.names_of_roles(oid[])",
      "owners on app.users",
    ])
      assert.ok(rows.includes(changed), `${changed}: ${JSON.stringify(rows)}`);
    assert.deepEqual(found.notes, [
      "Vouched for in the database only, which counts for its gate and not here: function app.make_owners() (it is ours)",
    ]);
  });
});
