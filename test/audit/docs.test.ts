/** docs/reference/audit.md says of every check what the check says of itself. `UPDATE_DOCS=1` writes it anew. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { after, test } from "node:test";
import { createDatabase } from "../harness.ts";

const PAGE = new URL("../../docs/reference/audit.md", import.meta.url);
const PARTS = /(<!-- generated from [^>]*-->\n)([\s\S]*)(<!-- end -->)/;
const TITLES: Record<string, string> = {
  cross_tenant_access: "Across the wall (`cross_tenant_access`)",
  orphaned_record: "Rows that belong to nothing (`orphaned_record`)",
  board_membership: "Boards (`board_membership`)",
  data_consistency: "Rows that contradict others (`data_consistency`)",
  isolation_config: "The wall itself (`isolation_config`)",
};

const database = await createDatabase();
after(() => database.drop());

async function generate(): Promise<string> {
  const checks = await database.sql<Record<string, string>[]>`select * from audit.checks()`;
  return Object.entries(TITLES)
    .map(([category, title]) => {
      const rows = checks
        .filter(check => check.category === category)
        .map(
          ({ check, severity, gate, finds, why, mend }) =>
            `**${check}** (${severity}${gate ? ", gate" : ""})  \n${finds}  \n*Why:* ${why}  \n*Fix:* ${mend}\n`,
        );
      return `### ${title}\n\n${rows.join("\n")}`;
    })
    .join("\n");
}

test("docs/reference/audit.md describes every check in the check's own words", async () => {
  const page = await readFile(PAGE, "utf8");
  const generated = await generate();
  if (process.env.UPDATE_DOCS) {
    await writeFile(
      PAGE,
      page.replace(PARTS, (_, start: string, __, end: string) => start + generated + end),
    );
    return;
  }
  assert.equal(
    PARTS.exec(page)?.[2],
    generated,
    "write it anew: UPDATE_DOCS=1 npm test -- test/audit/docs.test.ts",
  );
});

test("every check says what it finds, why that matters and how it is mended", async () => {
  const checks = await database.sql<Record<string, string>[]>`select * from audit.checks()`;
  assert.ok(checks.length > 60);
  const names = checks.map(check => check.check);
  assert.equal(new Set(names).size, names.length);
  for (const { check, category, severity, finds, why, mend } of checks) {
    assert.ok(category! in TITLES, check);
    assert.match(severity!, /^(error|warning|info)$/, check);
    for (const words of [finds, why, mend]) assert.match(words!, /^\S.{3,}[.)?]$/s, `${check}: ${words}`);
  }
  const missing = await database.sql`
    select "check" from audit.checks() c where family = 'schema' and "check" not like 'proof\\_%'
      and to_regprocedure('audit.check_' || "check" || '()') is null`;
  assert.deepEqual([...missing], []);
});
