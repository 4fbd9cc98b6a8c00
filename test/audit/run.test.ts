/** The loop: what is a check, what a run tells, and what is told once. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase } from "../harness.ts";
import { audited, type Finding, lines } from "./session.ts";
import { idsOf, seedTenants } from "./tenants.ts";

const database = await createDatabase();
await seedTenants(database.sql, 3);
after(() => database.drop());
const root = database.urls.root;

const OWN = `
  create schema house;
  create view house.board_untitled as select 'warning' as severity, tenant_id::text, 'app.boards' as relation, jsonb_build_object('id', id) as "row",
    'a board without a title' as detail, 'select 1;' as remedy from app.boards;
  comment on view house.board_untitled is E'warning: Boards without a title.\\nCategory: board_membership';
  create function house.open_doors() returns table (severity text, relation text, object text, detail text, remedy text) language sql
    as $$ select 'error', 'app.media', 'the door', 'is open', 'select 1;' $$;
  create view house.broken as select 'error' as severity, null as relation, (1 / 0)::text as object, null as detail, null as remedy;
  create view house.no_check as select 1 as severity;`;
const WITH_OWN = "update pg_temp.profile set extra_checks = '{house}'";

const run = (
  sql: Parameters<Parameters<typeof audited>[2]>[0],
  only: string | null = null,
  tenant: string | null = null,
) =>
  sql<
    Finding[]
  >`select * from pg_temp.run_once(p_only => ${only}::text, p_tenant => ${tenant}::text, p_as_superuser => true)`;

test("views and functions of the form are checks, also in a schema that the profile names; one that cannot run stops no other", async () => {
  const SERVICE_WITH_OWN = { plant: OWN, texts: [WITH_OWN] };
  await audited(root, SERVICE_WITH_OWN, async sql => {
    const found = [...(await run(sql))];
    const last = found.pop()!;
    assert.equal(last.severity, "FAILED");
    assert.match(
      last.detail,
      /^\d+ checks, 2 errors, 3 warnings, 0 infos, 1 could not run, 11 relations were proved$/,
    );
    assert.deepEqual(lines(found).slice(0, 3).sort(), [
      "board_untitled app.boards: a board without a title",
      "broken null: the check could not run (broken): division by zero",
      "open_doors app.media: is open",
    ]);
    const [{ report }] = await sql<
      [{ report: { checks: { check: string; category: string; checked: number }[] } }]
    >`select pg_temp.report()`;
    const own = report.checks.find(({ check }) => check === "board_untitled")!;
    assert.deepEqual([own.category, own.checked], ["board_membership", 3]);
    assert.ok(!report.checks.some(({ check }) => check === "no_check"));
  });
  // One that would never run.
  await audited(
    root,
    {
      plant: `${OWN} create view house.odd as select 'error' as severity, '' as relation, '' as detail, '' as remedy;`,
      texts: [WITH_OWN],
    },
    sql => assert.rejects(run(sql), /house\.odd has not the columns of a check/),
  );
  // Two of one name: neither is taken for the other.
  await audited(
    root,
    { plant: `${OWN} alter view house.broken rename to no_tenant;`, texts: [WITH_OWN] },
    sql => assert.rejects(async () => run(sql), /two checks are named no_tenant/),
  );
});

test("the proof does not say again that policies are not asked, and hides behind no other error", async () => {
  const plant =
    "alter policy tenant_only on app.media using (true); alter policy tenant_only on app.boards using (true);";
  const proofs = async (texts: string[], more = "") =>
    audited(root, { plant: plant + OWN + more, texts }, async sql =>
      (await run(sql, "schema"))
        .filter(one => one.check === "not_isolated")
        .map(one => String(one.relation))
        .sort((a, b) => a.localeCompare(b)),
    );
  assert.deepEqual(await proofs([]), ["app.boards", "app.media"]);
  assert.deepEqual(await proofs([WITH_OWN]), ["app.boards", "app.media"]);
  // The check of the table that it names.
  assert.deepEqual(await proofs([WITH_OWN], "alter function house.open_doors rename to rls_disabled;"), [
    "app.boards",
  ]);
});

test("a run of one tenant tells of its rows only, and a tenant that nobody has ends it", async () => {
  const t2 = await idsOf(database.sql, "t2");
  const plant = `set local session_replication_role = replica; update app.generations set user_id = gen_random_uuid(); set local session_replication_role = origin;`;
  await audited(root, { plant }, async sql => {
    for (const name of ["t2", t2.tenant!])
      assert.deepEqual(
        (await run(sql, "data", name)).map(one => one.tenant_id),
        [t2.tenant, null],
      );
    await sql
      .savepoint(() => run(sql, null, "t9"))
      .then(
        () => assert.fail(),
        (error: Error) => assert.match(error.message, /there is no tenant 't9'/),
      );
  });
});

test("a check of rows that reads with another owner's rights is a check that could not run", async () => {
  const plant = `${OWN} update app.boards set title = 'x'; drop view house.broken; alter view house.board_untitled owner to tms_owner;
    grant usage on schema house to tms_owner`;
  const told = (more: string) =>
    audited(root, { plant: plant + more, texts: [WITH_OWN] }, async sql =>
      lines((await run(sql, "data")).filter(one => one.check)),
    );
  assert.deepEqual(await told(""), [
    "board_untitled null: the check could not run (board_untitled): house.board_untitled shows what its owner may see: " +
      "alter view house.board_untitled set (security_invoker = true)",
  ]);
  const found = await told("; alter view house.board_untitled set (security_invoker = true)");
  assert.deepEqual([...new Set(found)], ["board_untitled app.boards: a board without a title"]);
});

test("the checks of rows alone act as nobody, and refuse no superuser", async () => {
  await audited(root, {}, async sql => {
    for (const tenant of [null, "t1"]) {
      const found = await sql<Finding[]>`select * from pg_temp.run_once('data', ${tenant}::text)`;
      assert.deepEqual([found.length, found[0]!.severity], [1, "PASSED"]);
      assert.match(found[0]!.detail, /^\d+ checks, .* 0 could not run$/);
    }
    const [row] = await sql<
      [{ prepared: string | null }]
    >`select to_regclass('pg_temp.proof_tables') as prepared`;
    assert.equal(row.prepared, null);
    await assert.rejects(
      sql.savepoint(s => s`select * from pg_temp.run_once('schema')`),
      /does not run as a superuser/,
    );
  });
});

test("of each check the thousand worst findings are kept, and all are counted; a severity of its own is a fault", async () => {
  const check = (name: string, severity: string) => `
    create view house.${name} as select ${severity} as severity, null as relation, i::text as object, '' as detail, '' as remedy
    from generate_series(1, 30000) i;`;
  const plant = `create schema house; ${check("many", "case when i > 29998 then 'error' else 'warning' end")} ${check("odd", "'grave'")}`;
  await audited(root, { plant, texts: [WITH_OWN] }, async sql => {
    await sql`select from pg_temp.start_run('schema', p_as_superuser => true)`;
    const [many] =
      await sql`select errors::int, warnings::int, seconds::float8 from pg_temp.run_step('many')`;
    const [odd] = await sql<[{ failure: string }]>`select failure from pg_temp.run_step('odd')`;
    const kept = await sql<{ severity: string }[]>`
      select severity from pg_temp.run_findings where "check" = 'many' order by n`;
    assert.deepEqual([many!.errors, many!.warnings, kept.length], [2, 29998, 1000]);
    assert.deepEqual(
      kept.slice(0, 3).map(one => one.severity),
      ["error", "error", "warning"],
    );
    assert.ok(many!.seconds < 10, `${many!.seconds} s: one statement, not one for each finding`);
    assert.match(odd.failure, /violates check constraint/);
  });
});

test("a run goes step by step, tells what each step found, and has not passed before the last", async () => {
  await audited(root, {}, async sql => {
    const steps = await sql<
      { step: string }[]
    >`select step from pg_temp.start_run(p_as_superuser => true) order by n`;
    let checked = 0;
    for (const [i, { step }] of steps.entries()) {
      const [done] = await sql`select * from pg_temp.run_step(${step})`;
      assert.equal(done!.failure, null);
      checked += Number(done!.checked);
      const [{ verdict }] = await sql<[{ verdict: string }]>`select verdict from pg_temp.verdict()`;
      assert.equal(verdict, i === steps.length - 1 ? "PASSED" : "FAILED");
    }
    assert.ok(checked > 100, String(checked));
    await sql
      .savepoint(s => s`select pg_temp.run_step('proof')`)
      .then(
        () => assert.fail(),
        (error: Error) => assert.match(error.message, /does not wait for the step/),
      );
  });
});

test("the owner of the tables proves them, as the gate of a release does", async () => {
  const asOwner = (plant: string) =>
    audited(database.urls.owner, { plant: `set local app.maintenance = on; ${plant}` }, async sql =>
      (await run(sql, "schema")).map(one => `${one.severity} ${one.relation}`),
    );
  assert.deepEqual(await asOwner(""), ["PASSED null"]);
  assert.deepEqual(await asOwner("alter policy tenant_only on app.media using (true)"), [
    "error app.media",
    "FAILED null",
  ]);
});

test("an empty database is seeded inside the transaction, and then proved", async () => {
  await audited(root, { plant: "truncate app.tenants cascade" }, async sql => {
    const empty = await run(sql, "schema");
    assert.deepEqual([...new Set(empty.map(one => one.check))].filter(Boolean), ["not_proved"]);
    const seeded = await sql`select relation, rows, failure from pg_temp.seed()`;
    assert.deepEqual(
      seeded.filter(({ rows }) => rows === 0),
      [],
    );
    assert.deepEqual(
      (await run(sql, "schema")).map(one => one.severity),
      ["PASSED"],
    );
  });
  const plant = "truncate app.tenants cascade; alter policy tenant_only on app.invitations using (true)";
  await audited(root, { plant }, async sql => {
    await sql`select pg_temp.seed()`;
    assert.deepEqual(
      (await run(sql, "schema")).filter(one => one.severity === "error").map(one => one.relation),
      ["app.invitations"],
    );
  });
});

test("every role that reads a tenant's rows is named with its path", async () => {
  const plant =
    "create view app.all_boards as select * from app.boards; grant select on app.all_boards to tms_app; create policy more on app.users to tms_service using (true); grant select on app.users to tms_service; alter table app.media disable row level security; " +
    "create view app.asking with (security_invoker = on) as table app.boards; grant select on app.asking to tms_service; " +
    "create role kiosk_auditor_x in role tms_service";
  const paths = await audited(root, { plant }, async sql => {
    const rows = await sql<
      { role: string; reads: string; path: string }[]
    >`select role, reads, path from pg_temp.who_reads('t1')`;
    return rows.map(({ role, reads, path }) => `${role} reads ${reads}: ${path}`);
  });
  for (const expected of [
    /^postgres reads .*: superuser/,
    /^tms_app reads its tenant's rows: the principal t1: set local role tms_app; set local app.tenant_id = /,
    /^tms_auditor reads app.api_keys and \d more: the policy auditor/,
    /^tms_owner reads .*: owner, /,
    /^tms_service reads \d+ functions: functions that run as tms_app/,
    /^tms_service reads app.users: the policy more/,
    /^tms_app reads app.all_boards: a view, by the rights of postgres/,
    /^tms_app reads app.media: no row-level security/,
    /^kiosk_auditor_x reads .*: member of tms_service: .*, and (1 more path|\d+ more paths)$/,
  ])
    assert.ok(
      paths.some(path => expected.test(path)),
      `${expected} in\n${paths.join("\n")}`,
    );
  assert.ok(!paths.some(path => path.includes("app.asking")), "its reader's policies decide");
});

test("a profile's faults are told all at once", async () => {
  const bad = {
    tenants: "app.tenant",
    tenant_column: "x",
    request_roles: ["tms_ap"],
    per_table: { "app.bords": null },
  };
  await audited(root, {}, sql =>
    sql
      .savepoint(s => s`select pg_temp.load_profile(${JSON.stringify(bad)}::text::jsonb)`)
      .then(
        () => assert.fail(),
        ({ message }: Error) => {
          for (const fault of [
            /tenant_column is none of tenants, /,
            /principals is missing/,
            /there is no table app.tenant/,
            /there is no role tms_ap/,
            /there is no relation app.bords/,
          ])
            assert.match(message, fault);
        },
      ),
  );
});
