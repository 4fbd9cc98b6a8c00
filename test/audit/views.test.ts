/** What the audit's views and its report say of runs, from runs that were written down and not run: which finding is open, and in what order. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type postgres from "postgres";
import { createDatabase, rolledBack, seedTenant } from "../harness.ts";

const database = await createDatabase();
const [acme, other] = [
  await seedTenant(database.sql, { slug: "acme" }),
  await seedTenant(database.sql, { slug: "other" }),
];
after(() => database.drop());

interface Result {
  check: string;
  relation?: string;
  failed?: boolean;
  checked?: number;
  errors?: number;
  warnings?: number;
  infos?: number;
  seconds?: number;
}
interface Found {
  check: string;
  relation?: string | null;
  severity?: string;
  tenant?: string | null;
  row?: Record<string, string>;
  detail?: string;
}
interface Run {
  /** Minutes from the first; it takes one. */
  at: number;
  finished?: boolean;
  tenant?: string;
  notRun?: number;
  errors?: number;
  asked?: Result[];
  found?: Found[];
}

async function store(sql: postgres.TransactionSql, run: Run): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into audit.runs (started_at, finished_at, tenant_id, not_run, errors, warnings, infos, checks)
    values (timestamptz '2026-01-01 00:00Z' + make_interval(secs => ${run.at * 60}),
      ${run.finished === false ? null : "2026-01-01 00:01Z"}::timestamptz + make_interval(secs => ${run.at * 60}),
      ${run.tenant ?? null}, ${run.notRun ?? 0}, ${run.errors ?? 0}, 2, 3, 4) returning id`;
  for (const one of run.asked ?? [])
    await sql`
      insert into audit.results (run_id, check_name, relation, checked, errors, warnings, infos, elapsed, failed)
      values (${row!.id}, ${one.check}, ${one.relation ?? ""}, ${one.checked ?? 1}, ${one.errors ?? 0}, ${one.warnings ?? 0},
        ${one.infos ?? 0}, make_interval(secs => ${one.seconds ?? 1}), ${one.failed ?? false})`;
  for (const [i, one] of (run.found ?? []).entries())
    await sql`
      insert into audit.found (run_id, check_name, n, severity, tenant_id, relation, "row", detail, remedy)
      values (${row!.id}, ${one.check}, ${i + 1}, ${one.severity ?? "error"}, ${one.tenant ?? null}, ${one.relation ?? null},
        ${sql.json(one.row ?? {})}, ${one.detail ?? "It is so."}, 'Mend it.')`;
  return row!.id;
}

/** The details of the findings that are open after these runs, as audit.findings orders them. */
const open = (...runs: Run[]) =>
  rolledBack(database.sql, async sql => {
    for (const run of runs) await store(sql, run);
    await sql`set local role tms_auditor`;
    return (await sql<{ detail: string }[]>`select detail from audit.findings`).map(row => row.detail);
  });

const DATA: Found = { check: "tenant_missing", relation: "app.media", detail: "a row" };
const SCHEMA: Found = { check: "rls_disabled", relation: "app.media", detail: "a table" };
const all = { check: "tenant_missing", relation: "app.media" };

/** What closes a finding of the first run: nothing else does. */
const laterRuns: [
  says: string,
  found: Found,
  foundIn: string | null,
  later: Omit<Run, "at">,
  closes: boolean,
][] = [
  ["of the same table", DATA, null, { asked: [all] }, true],
  ["that goes on", DATA, null, { finished: false, asked: [all] }, false],
  ["of another table", DATA, null, { asked: [{ ...all, relation: "app.boards" }] }, false],
  ["of another check", DATA, null, { asked: [{ ...all, check: "parent_missing" }] }, false],
  ["that could not read the table", DATA, null, { asked: [{ ...all, failed: true }] }, false],
  [
    "that could not read another table",
    DATA,
    null,
    { asked: [all, { ...all, relation: "app.boards", failed: true }] },
    true,
  ],
  [
    "that could not run, whatever it read",
    DATA,
    null,
    { asked: [all, { ...all, relation: "", failed: true }] },
    false,
  ],
  [
    "of other tables, where the table is gone",
    { ...DATA, relation: "app.gone" },
    null,
    { asked: [{ ...all, relation: "app.boards" }] },
    true,
  ],
  ["of all tenants, for one of a tenant", { ...DATA, tenant: acme }, null, { asked: [all] }, true],
  ["of its tenant", { ...DATA, tenant: acme }, null, { tenant: acme, asked: [all] }, true],
  ["of another tenant", { ...DATA, tenant: acme }, null, { tenant: other, asked: [all] }, false],
  ["of a tenant, for one of none", DATA, null, { tenant: acme, asked: [all] }, false],
  ["of the tenant whose run found it", DATA, acme, { tenant: acme, asked: [all] }, true],
  ["of another tenant than the run's that found it", DATA, acme, { tenant: other, asked: [all] }, false],
  ["of the schema, by whatever it names", SCHEMA, null, { asked: [{ check: SCHEMA.check }] }, true],
  [
    "of the schema and of any tenant",
    SCHEMA,
    null,
    { tenant: other, asked: [{ check: SCHEMA.check }] },
    true,
  ],
  [
    "of the schema and of another tenant than the finding's",
    { ...SCHEMA, tenant: acme },
    null,
    { tenant: other, asked: [{ check: SCHEMA.check }] },
    false,
  ],
  [
    "of the schema that could not run",
    SCHEMA,
    null,
    { asked: [{ check: SCHEMA.check, failed: true }] },
    false,
  ],
];
for (const [says, found, foundIn, later, closes] of laterRuns) {
  test(`a finding is ${closes ? "closed" : "kept open"} by a later run ${says}`, async () => {
    const first: Run = { at: 0, found: [found], ...(foundIn ? { tenant: foundIn } : {}) };
    assert.deepEqual(await open(first), [found.detail]);
    assert.deepEqual(await open(first, { at: 1, ...later }), closes ? [] : [found.detail]);
    // Any of the later ones will do.
    const runs: Run[] = [first, { at: 1, ...later }, { at: 2, asked: [{ check: "slug_twice" }] }];
    assert.deepEqual(await open(...runs), closes ? [] : [found.detail]);
  });
}

test("a finding is not closed by a run that began before its own had ended", async () => {
  const early: Run = { at: 0.5, asked: [all] };
  assert.deepEqual(await open({ at: 0, found: [DATA] }, early), ["a row"]);
  assert.deepEqual(await open({ at: 0, found: [DATA] }, { at: 1, asked: [all] }, early), []);
});

test("what a run that goes on has found is not open yet", async () => {
  assert.deepEqual(await open({ at: 0, finished: false, found: [DATA] }), []);
});

test("what was found again is one finding, of the last run; another row, tenant, table or detail is another", async () => {
  const twins: Found[] = [
    { ...DATA, row: { id: "1" } },
    { ...DATA, row: { id: "2" } },
    { ...DATA, tenant: acme },
    { ...DATA, relation: "app.boards" },
    { ...DATA, detail: "for another reason" },
    { ...DATA, check: "parent_missing" },
  ];
  await rolledBack(database.sql, async sql => {
    await store(sql, { at: 0, found: twins });
    const last = await store(sql, { at: 1, found: twins });
    const found = await sql`select run_id, n from audit.findings order by n`;
    assert.deepEqual(
      found.map(({ run_id, n }) => [run_id, n]),
      twins.map((_, i) => [last, i + 1]),
    );
  });
});

test("open findings stand worst first, then in the order of the checks, the newest run first, as they were found", async () => {
  const of = (check: string, severity: string, detail: string): Found => ({
    ...DATA,
    check,
    severity,
    detail,
  });
  const found = await open(
    {
      at: 0,
      found: [
        of("tenant_missing", "error", "6"),
        of("tenant_missing", "error", "5"),
        of("slug_twice", "info", "8"),
        of("credit_balance", "warning", "7"),
        of("parent_missing", "error", "2"),
      ],
    },
    {
      at: 0.5,
      found: [
        of("tenant_missing", "info", "9"),
        of("tenant_missing", "error", "4"),
        of("tenant_missing", "error", "3"),
        of("parent_missing", "error", "1"),
      ],
    },
  );
  assert.deepEqual(found, ["4", "3", "6", "5", "1", "2", "7", "9", "8"]);
});

test("a run is clean, has errors, is incomplete whatever it found, or unfinished whatever it could not run", () =>
  rolledBack(database.sql, async sql => {
    await store(sql, { at: 0 });
    await store(sql, { at: 1, errors: 1 });
    await store(sql, { at: 2, errors: 1, notRun: 1 });
    const last = await store(sql, { at: 3, notRun: 1 });
    await store(sql, { at: 4, finished: false, errors: 1, notRun: 1 });
    await sql`set local role tms_auditor`;
    const trend = await sql`select result, seconds from audit.trend`;
    assert.deepEqual(
      trend.map(({ result, seconds }) => [result, seconds]),
      [
        ["unfinished", null],
        ["incomplete", "60.000"],
        ["incomplete", "60.000"],
        ["errors", "60.000"],
        ["clean", "60.000"],
      ],
    );
    assert.deepEqual([...(await sql`select run_id from audit.last_run`)], [{ run_id: last }]);
  }));

test("the checks of the last run stand by what they found, one that could not run as an error, one that no release has any more with them", () =>
  rolledBack(database.sql, async sql => {
    await store(sql, { at: 0, asked: [{ check: "slug_twice", errors: 9 }] });
    await store(sql, {
      at: 1,
      asked: [
        { check: "no_more", checked: 7 },
        { check: "board_owner_as_member", failed: true, errors: 1 },
        { ...all, checked: 5, errors: 1, seconds: 2 },
        { ...all, relation: "app.boards", checked: 3, errors: 1, warnings: 4, infos: 5, seconds: 3 },
        { check: "rls_disabled", relation: "app.media", warnings: 1, seconds: 2 },
        { check: "rls_disabled", relation: "app.boards", seconds: 2 },
        { check: "index_missing" },
      ],
    });
    await store(sql, { at: 2, finished: false, asked: [{ check: "slug_twice", errors: 9 }] });
    await sql`set local role tms_auditor`;
    const checks = await sql`
      select "check", severity, checked::int, errors::int, warnings::int, infos::int, extract(epoch from elapsed)::int as seconds, failed
      from audit.last_checks`;
    assert.deepEqual(
      checks.map(row => Object.values(row).join(" ")),
      [
        "tenant_missing error 8 2 4 5 5 false",
        "board_owner_as_member error 1 1 0 0 1 true",
        "rls_disabled error 2 0 1 0 2 false",
        "index_missing warning 1 0 0 0 1 false",
        "no_more  7 0 0 0 1 false",
      ],
    );
  }));

test("the report of a run counts all that its checks found, and tells it worst first, as the catalog has the checks", () =>
  rolledBack(database.sql, async sql => {
    const of = (check: string, severity: string, detail: string): Found => ({
      ...DATA,
      check,
      severity,
      detail,
    });
    const first = await store(sql, {
      at: 0,
      errors: 5,
      asked: [
        { check: "board_owner_as_member", failed: true, errors: 1 },
        { ...all, checked: 5, errors: 2, warnings: 3, infos: 4 },
        { ...all, relation: "app.boards", checked: 1 },
        { check: "user_of_other_tenant" },
      ],
      found: [
        of("user_of_other_tenant", "info", "6"),
        of("slug_twice", "error", "4"),
        of("tenant_missing", "error", "2"),
        of("tenant_missing", "error", "3"),
        of("user_of_other_tenant", "error", "1"),
        of("user_of_other_tenant", "warning", "5"),
      ],
    });
    const last = await store(sql, { at: 1, asked: [{ check: "slug_twice" }] });
    await store(sql, { at: 2, finished: false });
    const report = async (run: string | null) => (await sql`select audit.report(${run}) as json`)[0]!.json;
    const { checks, findings, ...rest } = await report(first);
    assert.deepEqual(rest, {
      started_at: "2026-01-01T00:00:00.000000Z",
      finished_at: "2026-01-01T00:01:00.000000Z",
      tenant: null,
      summary: { checks: 4, errors: 5, warnings: 2 },
    });
    assert.deepEqual(
      checks.map((check: object) => Object.values(check).join(" ")),
      [
        "user_of_other_tenant cross_tenant_access error 1 0",
        "tenant_missing orphaned_record error 6 9",
        "board_owner_as_member board_membership error 1 1",
      ],
    );
    assert.deepEqual(
      findings.map(({ detail }: { detail: string }) => detail),
      ["1", "2", "3", "4", "5", "6"],
    );
    const empty = await report(null);
    assert.deepEqual([empty, empty.findings], [await report(last), []]);
  }));
