/** What a report looks like, as text and as a page: of one that was made up, so that every line is known. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toHtml } from "../../src/audit/html.ts";
import type { Audit } from "../../src/audit/report.ts";
import { scopeOf, toText, verdict } from "../../src/audit/text.ts";
import type { Finding } from "../../src/values/finding.ts";

const finding = (check: string, category: string, rest: Partial<Finding>): Finding => ({
  check,
  category,
  severity: "error",
  tenant_id: null,
  relation: null,
  row: {},
  detail: "It is so.",
  remedy: "mend it;",
  ...rest,
});
const orphan = (i: number) =>
  finding("orphan", "orphaned_record", {
    tenant_id: "t-1",
    relation: "app.boards",
    row: { tenant_id: "t-1", id: `b-${i}`, n: i },
  });

const AUDIT: Audit = {
  report: {
    started_at: "2026-11-22T01:02:03.000000Z",
    finished_at: "2026-11-22T01:02:05.500000Z",
    tenant: null,
    checks: [
      { check: "orphan", category: "orphaned_record", severity: "error", checked: 12_345, findings: 1_013 },
      { check: "unread", category: "orphaned_record", severity: "error", checked: 0, findings: 3 },
      {
        check: "tenant_missing",
        category: "orphaned_record",
        severity: "error",
        checked: 1_234,
        findings: 0,
      },
      { check: "rls_off", category: "isolation_config", severity: "error", checked: 2, findings: 1 },
      {
        check: "function_leakproof",
        category: "isolation_config",
        severity: "warning",
        checked: 2,
        findings: 12_345,
      },
    ],
    findings: [
      ...Array.from({ length: 12 }, (_, i) => orphan(i)),
      // The first was found by a pass before the one that could not run.
      finding("unread", "orphaned_record", { relation: "app.boards", remedy: "begin; -- <x-remedy>\nend;" }),
      finding("unread", "orphaned_record", {
        relation: "app.media",
        detail: "the check could not run (rows of app.media):\n<x-detail>",
      }),
      finding("rls_off", "isolation_config", { detail: "the check could not run (rls_off): gone" }),
      finding("unread", "orphaned_record", { severity: "warning", relation: "app.media" }),
      finding("function_leakproof", "isolation_config", {
        severity: "warning",
        relation: "a\nb",
        tenant_id: "t-2",
        row: { tenant_id: "t-1", title: "<x-row '>\nPASSED" },
      }),
      finding("function_leakproof", "isolation_config", {
        severity: "info",
        relation: "app.f(text)",
        row: { columns: ["a", 1] },
      }),
    ],
    summary: { checks: 5, errors: 1_016, warnings: 12_345 },
  },
  runId: 7,
  notRun: ["unread", "rls_off"],
  about: new Map([["orphan", { finds: "Rows without <parents>.", why: "They stay.", mend: "Delete them." }]]),
  unkept: [
    { check: "orphan", relation: "", failed: false, error: 1_001, warning: 0, info: 0 },
    { check: "function_leakproof", relation: "", failed: false, error: 0, warning: 12_343, info: 0 },
  ],
  trend: [
    { runId: 5, startedAt: "2026-11-20T01:02:03.000000Z", errors: 0, warnings: 0, infos: 0, notRun: 0 },
    { runId: 6, startedAt: "2026-11-21T01:02:03.000000Z", errors: 3, warnings: 1, infos: 0, notRun: 1 },
    { runId: 7, startedAt: "2026-11-22T01:02:03.000000Z", errors: 400, warnings: 800, infos: 400, notRun: 2 },
  ],
  server: { database: "tms", version: "18.4", schema: "000002.sql" },
};
/** The same, but for what is given. */
const audit = (rest: Partial<Audit["report"]>, more: Partial<Audit> = {}): Audit => ({
  ...AUDIT,
  ...more,
  report: { ...AUDIT.report, ...rest },
});

test("the text has what could not run first, ten findings of each kind, and a table by category", () => {
  const boards = (i: number) =>
    `  - app.boards, id b-${i}, n ${i}, tenant t-1\n      It is so.\n      mend it;\n`;
  assert.equal(
    toText(AUDIT),
    `INCOMPLETE: 2 checks could not run. 5 checks, 1,016 errors, 12,345 warnings.
Tenant isolation audit of tms: all tenants
2026-11-22T01:02:03.000000Z, 2.5 s, Postgres 18.4, schema 000002.sql, run 7
Look first at: app.boards (13), app.media (1)

ERROR  unread (orphaned_record): could not run, 2 findings
  - app.media
      the check could not run (rows of app.media):
      <x-detail>
      mend it;
  - app.boards
      It is so.
      begin; -- <x-remedy>
      end;

ERROR  rls_off (isolation_config): could not run, 1 finding
  - the database
      the check could not run (rls_off): gone
      mend it;

ERROR  orphan (orphaned_record): 1,013 findings
  Rows without <parents>.
  They stay.
${Array.from({ length: 10 }, (_, i) => boards(i)).join("")}  … and 1,003 more: select * from audit.findings where "check" = 'orphan';

WARNING  unread (orphaned_record): 1 finding
  - app.media
      It is so.
      mend it;

WARNING  function_leakproof (isolation_config): 12,344 findings
  - a\\u000ab, tenant_id t-1, title <x-row '>\\u000aPASSED, tenant t-2
      It is so.
      mend it;
  … and 12,334 more: select * from audit.findings where "check" = 'function_leakproof';

INFO  function_leakproof (isolation_config): 1 finding
  - app.f(text), columns ["a",1]
      It is so.
      mend it;

orphaned_record            checked  findings
  orphan                    12,345     1,013
  unread                         0   not run
  tenant_missing             1,234         ·

isolation_config           checked  findings
  rls_off                        2   not run
  function_leakproof             2    12,345

INCOMPLETE: 2 checks could not run. 5 checks, 1,016 errors, 12,345 warnings.`,
  );
});

test("the verdict goes by the worst, and the scope by tenant and family", () => {
  const found = (errors: number, warnings: number) =>
    verdict(audit({ summary: { checks: 4, errors, warnings } }, { notRun: [] }));
  assert.deepEqual(
    [found(1, 1), found(0, 1), found(0, 0)],
    ["FAILED: 1 error", "PASSED, with warnings", "PASSED"],
  );
  assert.equal(verdict(audit({}, { notRun: ["orphan"] })), "INCOMPLETE: 1 check could not run");
  const [data, , , schema] = AUDIT.report.checks;
  assert.equal(scopeOf(audit({ tenant: "acme" })), "tenant acme");
  assert.equal(scopeOf(audit({ checks: [data!] })), "all tenants, data checks only");
  assert.equal(scopeOf(audit({ checks: [schema!] })), "all tenants, schema checks only");
  assert.match(toText(audit({}, { server: { ...AUDIT.server, schema: null } })), /schema uncommitted/);
});

test("the page has the same figures: on cards, by kinds of findings, by tables, by runs, by checks", () => {
  const page = toHtml(AUDIT);
  assert.doesNotMatch(page, /<x-|NaN|undefined/);
  assert.equal(
    page.match(/&lt;x-(?:detail&gt;|remedy&gt;|row &#39;&gt;)/g)!.length,
    3,
    "text of the database is text",
  );
  const all = (pattern: RegExp) => [...page.matchAll(pattern)].map(([, ...found]) => found.join(" "));
  assert.match(page, /<h1><span class="mark error" [^>]*><\/span>INCOMPLETE: 2 checks could not run<\/h1>/);
  assert.match(
    page,
    /tms · all tenants · 2026-11-22 01:02:03 UTC · 2\.5 s ·\s+Postgres 18\.4 · schema 000002\.sql · run 7</,
  );
  assert.deepEqual(all(/class="card (\w*)"><b>([\d,]+)<\/b><span>([^<]+)/g), [
    "error 1,016 errors",
    "warning 12,345 warnings",
    "info 1 note",
    "error 2 checks not run",
    " 5 checks",
  ]);
  // A few kinds of errors stand open; of each the first three findings do.
  assert.deepEqual(
    all(
      /<details class="group"( open)?>\n<summary><span class="count">([\d,]+)<\/span> <span class="badge (\w+)">([^<]+)<\/span> <b>(\w+)</g,
    ),
    [
      " open 2 error could not run unread",
      " open 1 error could not run rls_off",
      " open 1,013 error error orphan",
      " 1 warning warning unread",
      " 12,344 warning warning function_leakproof",
      " 1 info info function_leakproof",
    ],
  );
  assert.match(page, /<p>Rows without &lt;parents&gt;\. They stay\.<\/p><p><b>Fix:<\/b> Delete them\.<\/p>/);
  assert.deepEqual(all(/<summary>(\d+ more[^<]*)</g), ["9 more; the first 12 of 1,013 are kept"]);
  assert.equal(page.match(/<li>/g)!.length, 18);
  assert.deepEqual(all(/<th scope="col" title="([^"]+)">([^/]+)<\/th>/g), [
    "a\nb a\nb",
    "app.boards boards",
    "app.media media",
    "functions, roles, settings, and what was counted and not kept elsewhere",
  ]);
  assert.deepEqual(all(/<td class="cell (\w+)" title="([^"]+)">([^<]+)/g), [
    "error orphan on app.boards: 12 findings 12",
    "error orphan elsewhere: 1,001 findings 1,001",
    "error unread on app.boards: 1 finding 1",
    "failed unread on app.media: could not run !",
    "failed rls_off elsewhere: could not run !",
    "warning function_leakproof on a\nb: 1 finding 1",
    "warning function_leakproof elsewhere: 12,344 findings 12k",
  ]);
  // Heights are roots, of 110 and 6 at least; shares of one are shares of what was found.
  assert.deepEqual(all(/<rect class="(\w+)" x="[\d.]+" y="([\d.]+)" width="52.5" height="([\d.]+)"/g), [
    "fine 135 3",
    "error 133.5 4.5",
    "warning 132.0 1.5",
    "error 110.5 27.5",
    "warning 55.5 55.0",
    "info 28.0 27.5",
  ]);
  assert.deepEqual(all(/<text class="label" x="([\d.]+)" y="([\d.]+)">!/g), ["112.5 128.0", "187.5 24.0"]);
  assert.deepEqual(all(/<title>(Run [^<]+)/g), [
    "Run 5, 2026-11-20 01:02:03 UTC: 0 errors, 0 warnings, 0 notes",
    "Run 6, 2026-11-21 01:02:03 UTC: 3 errors, 1 warning, 0 notes, 1 not run",
    "Run 7, 2026-11-22 01:02:03 UTC: 400 errors, 800 warnings, 400 notes, 2 not run",
  ]);
  assert.match(page, /aria-label="3 runs; the last with 400 errors and 800 warnings"/);
  assert.match(
    page,
    /The last 3 runs, 2026-11-20 01:02 to 2026-11-22 01:02 UTC, of this scope; the heights are square roots/,
  );
  assert.deepEqual(all(/<td class="num">([\d,]+)<\/td><td class="num cell (\w+)">([^<]+)</g), [
    "12,345 error 1,013",
    "0 failed not run",
    "1,234 fine ✓",
    "2 failed not run",
    "2 warning 12,345",
  ]);
});

test("a page of many kinds of errors begins as a list, one of a first run has no trend, one of the catalog no rows", () => {
  const kinds = Array.from({ length: 9 }, (_, i) => finding(`kind_${i}`, "isolation_config", {}));
  const page = toHtml(
    audit(
      {
        findings: kinds,
        checks: AUDIT.report.checks.slice(3),
        summary: { checks: 2, errors: 0, warnings: 1 },
      },
      { notRun: [], unkept: [], trend: AUDIT.trend.slice(0, 1) },
    ),
  );
  assert.doesNotMatch(page, /<details class="group" open>|examined<\/span>|Tables by checks/);
  assert.match(page, /class="mark warning"/);
  assert.match(page, /class="card "><b>0<\/b><span>errors</, "no colour for nothing");
  assert.match(page, /class="card warning"><b>1<\/b><span>warning</, "one has its colour");
  assert.match(page, /class="num cell error">1</);
  assert.match(page, /rls_<wbr>off/, "a narrow column may break a name");
  const summary = { checks: 2, errors: 0, warnings: 0 };
  assert.match(toHtml(audit({ summary })), /class="mark error"/, "what could not run is no pass");
  assert.match(page, /The first run of this scope: none found anything\./);
  assert.match(toHtml(audit({ findings: kinds.slice(1) })), /<details class="group" open>/);
  const open = (findings: Finding[]) =>
    toHtml(audit({ findings })).match(/<details class="group" open>/g)!.length;
  assert.equal(open([...AUDIT.report.findings, ...kinds]), 2, "what could not run stands open all the same");
  const mild = kinds.map(found => ({ ...found, severity: "warning" as const }));
  assert.equal(open([kinds[0]!, ...mild]), 1, "warnings are not counted");
  const about = new Map([["unread", { finds: "Rows.", why: "They stay.", mend: "Delete them." }]]);
  const mends = toHtml(audit({}, { about })).match(/Delete them/g);
  assert.equal(mends!.length, 1, "that of its warnings: what could not run has nothing to mend");
  const four = audit({ findings: AUDIT.report.findings.slice(0, 4) }, { unkept: [] });
  assert.match(toHtml(four), /<summary>1 more<\/summary>/, "all are kept");
  for (const kind of ["warnings", "infos"])
    assert.doesNotMatch(toHtml(audit({}, { trend: [{ ...AUDIT.trend[0]!, [kind]: 1 }] })), /none found/);
});

test("whatever a name is, it is text on the page", () => {
  const name = `<x-name "&lt;">`;
  const [check] = AUDIT.report.checks;
  const report = {
    ...AUDIT.report,
    tenant: name,
    checks: [{ ...check!, check: name, category: name }],
    findings: Array.from({ length: 4 }, () => finding(name, name, { relation: name })),
  };
  const page = toHtml({
    report,
    runId: 7,
    notRun: [],
    about: new Map([[name, { finds: name, why: name, mend: name }]]),
    unkept: [],
    trend: AUDIT.trend,
    server: { database: name, version: name, schema: name },
    accepted: [{ finding: report.findings[0]!, reason: name }],
    notes: [name],
    diff: { opened: report.findings, closed: report.findings },
  });
  assert.doesNotMatch(page, /<x-|x-name (?!&quot;&amp;lt;&quot;&gt;)/);
});
