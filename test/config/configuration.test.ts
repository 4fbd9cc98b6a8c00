import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { TABLE, type Variable } from "../../src/config/variables.ts";

const page = new URL("../../docs/reference/configuration.md", import.meta.url);

test("docs/reference/configuration.md lists every variable as the code knows it (UPDATE_DOCS=1 writes it)", () => {
  const rows = Object.entries<Variable>(TABLE).map(
    ([name, { default: standard, unset = "none", meaning }]) =>
      `| \`${name}\` | ${standard === undefined ? unset : `\`${standard}\``} | ${meaning} |`,
  );
  const table = ["| variable | default | meaning |", "|---|---|---|", ...rows].join("\n");
  const text = readFileSync(page, "utf8");
  const [before, , after] = text.split(/(?<=<!-- variables -->\n)|(?=\n<!-- end -->)/);
  assert.ok(before && after, "the page has its two marks");
  const wanted = `${before}${table}${after}`;
  if (process.env.UPDATE_DOCS) writeFileSync(page, wanted);
  else assert.equal(text, wanted);
});
