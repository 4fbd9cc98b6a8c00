/** Every check says what it finds, why that matters and how to mend it; the reference page is made from that. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { installedText } from "../../src/audit/sql-text.ts";
import { projectRoot } from "../cli/command.ts";
import { createDatabase } from "../harness.ts";
import { type About, docsSection, partsOf } from "./docs.ts";
import { CHECKS, openAudit, PRODUCT, pageOf, read } from "./session.ts";

const database = await createDatabase();
const sql = await openAudit(database);
for (const name of [...PRODUCT.map(pageOf), "run.sql"]) await sql.unsafe(read(name));
const checks = await sql<(About & { family: string })[]>`
  select "check", family, category, severity, comment from pg_temp.checks order by 1`;
after(async () => {
  await sql.end();
  await database.drop();
});

test("each file is a check, of the severity that its comment begins with", () => {
  const names: string[] = checks.map(({ check }) => check);
  for (const check of [...CHECKS, ...PRODUCT]) assert.ok(names.includes(check), check);
  for (const { check, severity, comment } of checks.filter(one => CHECKS.includes(one.check)))
    assert.ok(comment.startsWith(`${severity}: `), check);
});

test("each comment says what the check finds, why it matters and how to mend it, in lines that a terminal shows", () => {
  for (const { check, comment } of checks) {
    const parts = partsOf(comment);
    const names = [...parts.keys()];
    assert.deepEqual(names.slice(0, 4), ["severity", "finds", "Why", "Fix"], check);
    for (const name of ["finds", "Why", "Fix"])
      assert.match(parts.get(name)!, /^\S.{5,}[.)?]$/, `${check}: ${name}`);
    for (const line of comment.split("\n")) assert.ok(line.length <= 140, `${check}: ${line}`);
  }
});

test("the four categories of rows each have a check, and a check's category is the one of its comment", () => {
  const of = (category: string) => checks.filter(one => one.category === category).map(one => one.check);
  assert.deepEqual(of("board_membership"), [
    "board_owner_as_member",
    "board_owner_outside_tenant",
    "board_role_unknown",
    "removed_member_on_board",
  ]);
  assert.ok(of("cross_tenant_access").includes("storage_of_other_tenant"));
  assert.ok(of("cross_tenant_access").includes("parent_in_other_tenant"));
  assert.ok(of("orphaned_record").includes("tenant_missing"));
  assert.ok(of("data_consistency").includes("credit_balance"));
  for (const check of CHECKS) assert.ok(of("isolation_config").includes(check), check);
});

test("the page's section has each check once, under its category", async () => {
  const section = docsSection(checks);
  const [page, mark] = [
    path.join(projectRoot, "docs", "reference", "audit.md"),
    "test/audit/docs.test.ts -->\n",
  ];
  const [before, written] = (await readFile(page, "utf8")).split(mark);
  if (process.env.UPDATE_DOCS) await writeFile(page, `${before}${mark}\n${section}`);
  else
    assert.equal(
      written,
      `\n${section}`,
      "write it again: UPDATE_DOCS=1 npm test -- test/audit/docs.test.ts",
    );
  assert.deepEqual(
    [...section.matchAll(/^\*\*(\w+)\*\*/gm)].map(found => found[1]!).sort(),
    checks.map(one => one.check).sort(),
  );
  assert.match(
    section,
    /### The wall itself \(`isolation_config`\)\n\n[\s\S]*\*\*publication\*\* \(warning\) {2}\nA publication [^\n]+ {2}\n\*Why:\* [^\n]+ {2}\n\*Fix:\* [^\n]+\n/,
  );
  assert.doesNotMatch(section, /undefined|Category:/);
});

test("no line of a check is longer than 140 characters, and no check longer than a screen", () => {
  const lengths = [...CHECKS.map(check => `checks/${check}.sql`), ...PRODUCT.map(pageOf)].map(name => {
    const lines = installedText(name).trimEnd().split("\n");
    for (const line of lines) assert.ok(line.length <= 140, `${name}: ${line}`);
    return lines.length;
  });
  assert.ok(Math.max(...lengths) <= 35, `the longest has ${Math.max(...lengths)} lines`);
});
