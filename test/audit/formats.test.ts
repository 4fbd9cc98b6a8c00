/** SARIF and JUnit, against their own schemas, with the worst that a database can name. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { Ajv } from "ajv";
import formats from "ajv-formats";
import { Definitions, normalName } from "../../src/audit/definitions.ts";
import { toJunit } from "../../src/audit/junit.ts";
import type { Audit } from "../../src/audit/report.ts";
import { toSarif } from "../../src/audit/sarif.ts";
import { toText, verdict } from "../../src/audit/text.ts";
import type { Finding } from "../../src/values/finding.ts";
import { projectRoot } from "../cli/command.ts";
import { temporaryFolder } from "../folder.ts";

const schemas = path.join(projectRoot, "test", "audit", "schemas");
// The schema says draft 4, and uses nothing that later drafts read otherwise.
const {
  $schema: _draft,
  id: _id,
  ...schema
} = JSON.parse(readFileSync(path.join(schemas, "sarif-2.1.0.json"), "utf8")) as Record<string, unknown>;
const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false });
formats.default(ajv);
const validate = ajv.compile(schema);

const NASTY = `<a href="x">'&]]> \u0001\u001f\ud800 \ufffe line\nbreak\ttab 😀`;
const finding = (check: string, rest: Partial<Finding> = {}): Finding => ({
  check,
  category: "isolation_config",
  severity: "error",
  tenant_id: null,
  relation: "app.boards",
  row: {},
  detail: "It is so",
  remedy: "mend it;",
  ...rest,
});
const check = (name: string, category: string, findings = 0) => ({
  check: name,
  category,
  severity: "error" as const,
  checked: 7,
  findings,
});

const AUDIT: Audit = {
  report: {
    started_at: "2026-11-22T01:02:03.000000Z",
    finished_at: "2026-11-22T01:02:05.500000Z",
    tenant: null,
    checks: [
      check("rls_disabled", "isolation_config", 2),
      check("broken", "isolation_config", 1),
      check("clean", "orphaned_record"),
      check("noisy", "orphaned_record", 150),
    ],
    findings: [
      finding("rls_disabled"),
      finding("rls_disabled", { relation: NASTY, row: { policy: NASTY }, detail: NASTY, remedy: NASTY }),
      finding("broken", { detail: "could not run: x", relation: null }),
      finding("not_as_released", { relation: null, row: { function: "app.tenant_id()" } }),
      ...Array.from({ length: 150 }, (_, i) =>
        finding("noisy", { severity: "warning", row: { id: `r-${i}` } }),
      ),
    ],
    summary: { checks: 4, errors: 4, warnings: 150 },
  },
  runId: null,
  notRun: ["broken"],
  unkept: [],
  about: new Map([
    ["rls_disabled", { finds: "A table without it.", why: "It is open.", mend: "Enable it." }],
  ]),
  trend: [],
  server: { database: NASTY, version: "18.4", schema: null },
  accepted: [{ finding: finding("rls_disabled", { relation: "app.users" }), reason: "a demo" }],
};
const clean: Audit = {
  ...AUDIT,
  notRun: [],
  accepted: [],
  report: { ...AUDIT.report, findings: [], checks: [], summary: { checks: 0, errors: 0, warnings: 0 } },
};

interface Sarif {
  runs: [
    {
      results: {
        ruleId: string;
        level: string;
        suppressions?: unknown[];
        locations: [
          { physicalLocation?: { artifactLocation: { uri: string }; region: { startLine: number } } },
        ];
        partialFingerprints: Record<string, string>;
      }[];
      invocations: [{ executionSuccessful: boolean }];
    },
  ];
}
const definitions = new Definitions(projectRoot);
const sarif = (audit: Audit) => JSON.parse(toSarif(audit, definitions, "1.0.0")) as Sarif;

void describe("SARIF", () => {
  it("is valid, with findings and without", () => {
    for (const audit of [AUDIT, clean]) {
      validate(sarif(audit));
      assert.deepEqual(validate.errors, null);
    }
    validate({ ...sarif(AUDIT), version: "2.2" });
    assert.notEqual(validate.errors, null, "the schema refuses what is not SARIF");
  });

  it("names the file that defines the object, where it is in the tree", () => {
    const [{ results, invocations }] = sarif(AUDIT).runs;
    const at = (i: number) => results[i]!.locations[0].physicalLocation;
    assert.equal(at(0)!.artifactLocation.uri, "db/product/tables/boards.sql");
    assert.equal(at(1), undefined);
    assert.equal(at(3)!.artifactLocation.uri, "db/functions/app/tenant_id.sql");
    const line = readFileSync(path.join(projectRoot, "db/product/tables/boards.sql"), "utf8").split("\n")[
      at(0)!.region.startLine - 1
    ];
    assert.match(line!, /^create table app\.boards/);
    assert.equal(invocations[0].executionSuccessful, false);
  });

  it("shows what is accepted as suppressed, and a finding of two runs as one", () => {
    const [{ results }] = sarif(AUDIT).runs;
    assert.equal(results.filter(({ suppressions }) => suppressions).length, 1);
    const prints = results.map(({ partialFingerprints }) => partialFingerprints["finding/v1"]);
    assert.equal(new Set(prints).size, results.length);
    const worded = {
      ...AUDIT,
      report: { ...AUDIT.report, findings: AUDIT.report.findings.map(one => ({ ...one, detail: "else" })) },
    };
    assert.deepEqual(
      sarif(worded).runs[0].results.map(({ partialFingerprints }) => partialFingerprints["finding/v1"]),
      prints,
    );
  });
});

void describe("JUnit", () => {
  const lint = spawnSync("xmllint", ["--version"]).status === 0;
  it("is valid, with findings and without", {
    skip: lint ? false : "xmllint is not installed (libxml2-utils)",
  }, () => {
    const folder = temporaryFolder("junit");
    for (const audit of [AUDIT, clean]) {
      const file = path.join(folder, "report.xml");
      writeFileSync(file, toJunit(audit));
      const { status, stderr } = spawnSync(
        "xmllint",
        ["--noout", "--schema", path.join(schemas, "jenkins-junit.xsd"), file],
        { encoding: "utf8" },
      );
      assert.equal(status, 0, stderr);
    }
  });

  it("has a test case for each check: failed by errors, in error where it could not run", () => {
    const xml = toJunit(AUDIT);
    assert.match(xml, /<testsuites name="tenant isolation" tests="4" failures="1" errors="1" /);
    assert.match(xml, /<testcase name="clean" classname="orphaned_record"\/>/);
    assert.match(xml, /<failure type="rls_disabled" message="2 errors: app\.boards: It is so">/);
    assert.match(xml, /<error type="broken" message="could not run: /);
    assert.match(
      xml,
      /<testcase name="noisy" classname="orphaned_record">\n +<system-out>warning: app\.boards, id r-0[\s\S]*… and 50 more<\/system-out>/,
    );
  });
});

void describe("the text", () => {
  it("does not call an audit whose proof acted nowhere a pass without more", () => {
    const passed = (checked: number, warnings = 0): string =>
      verdict({
        ...AUDIT,
        notRun: [],
        report: {
          ...AUDIT.report,
          checks: [{ ...check("not_isolated", "isolation_config"), checked }],
          summary: { checks: 1, errors: 0, warnings },
        },
      });
    assert.deepEqual(
      [passed(7), passed(0), passed(0, 1)],
      ["PASSED", "PASSED, and nothing was proved", "PASSED, with warnings, and nothing was proved"],
    );
  });

  it("begins with the verdict, the counts and where to look, and ends with them", () => {
    const [boards] = AUDIT.report.findings;
    const findings = [...AUDIT.report.findings, boards!, boards!];
    const lines = toText({ ...AUDIT, report: { ...AUDIT.report, findings } }).split("\n");
    assert.equal(
      lines[0],
      "INCOMPLETE: 1 check could not run. 4 checks, 4 errors, 150 warnings, 1 accepted.",
    );
    assert.equal(lines.at(-1), lines[0]);
    assert.match(lines[3]!, /^Look first at: app\.boards \(3\), /);
    assert.match(toText(clean), /^PASSED\. 0 checks, 0 errors, 0 warnings\.\n/);
  });
});

void describe("the definitions in a folder", () => {
  it("are found however they are written, the newest migration first, and not in packages or dumps", () => {
    const folder = temporaryFolder("definitions");
    const write = (file: string, text: string) => {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    };
    write(
      "prisma/1/migration.sql",
      'CREATE TABLE "Site" (\n id text);\ncreate function f(int) returns int language sql return 1;',
    );
    write(
      "prisma/2/migration.sql",
      '-- x\nCREATE POLICY "only mine" ON "Site" USING (true);\ncreate or replace function F(a int) returns int language sql return 2;\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON "Site" (id);',
    );
    write("node_modules/x/y.sql", "create table z ();");
    write(".git/y.sql", "create table z ();");
    write("dump.sql", `create table z ();${" ".repeat(2_000_001)}`);
    const at = (relation: string | null, row: Record<string, string> = {}) =>
      new Definitions(folder).find({ relation, row });
    assert.deepEqual(at('public."Site"'), { file: "prisma/1/migration.sql", line: 1 });
    assert.deepEqual(at('public."Site"', { policy: '"only mine"' }), {
      file: "prisma/2/migration.sql",
      line: 2,
    });
    assert.deepEqual(at(null, { "unique index": 'i on public."Site"' }), {
      file: "prisma/2/migration.sql",
      line: 4,
    });
    assert.deepEqual(at("public.f(integer)"), { file: "prisma/2/migration.sql", line: 3 });
    assert.equal(at("public.site"), undefined);
    assert.equal(at("public.z"), undefined);
    assert.deepEqual(
      [normalName("Site"), normalName('public."Site"'), normalName('"a""b".C')],
      ["public.site", "public.Site", 'a"b.c'],
    );
  });
});
