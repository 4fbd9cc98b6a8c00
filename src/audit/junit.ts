/** The report as JUnit's XML: a check is a test case, its category the suite. */

import type { Finding } from "../values/finding.ts";
import type { Audit } from "./report.ts";
import { number, placeOf, plural } from "./text.ts";

const ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\n": "&#10;",
  "\r": "&#13;",
  "\t": "&#9;",
};
/** XML 1.0 has no way to write the other control characters, nor lone surrogates. */
const xml = (text: string) =>
  text
    .toWellFormed()
    .replace(/[^\t\n\r\u0020-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replace(/[&<>"]/g, found => ESCAPES[found]!);
const attribute = (text: string) => xml(text).replace(/[\n\r\t]/g, found => ESCAPES[found]!);

/** Of one check so many findings are written out. */
const SHOWN = 100;

export function toJunit(audit: Audit): string {
  const { report, notRun } = audit;
  const seconds = (Date.parse(report.finished_at) - Date.parse(report.started_at)) / 1000;
  const suites = [...new Set(report.checks.map(({ category }) => category))].map(category => {
    const checks = report.checks.filter(check => check.category === category);
    const cases = checks.map(({ check }) => ({ check, ...outcome(audit, check) }));
    const count = (kind: string) => cases.filter(one => one.kind === kind).length;
    return {
      tests: cases.length,
      failures: count("failure"),
      errors: count("error"),
      xml: `  <testsuite name="${attribute(category)}" tests="${cases.length}" failures="${count("failure")}" errors="${count("error")}" timestamp="${report.started_at.slice(0, 19)}" hostname="${attribute(audit.server.database)}">
${cases.map(({ check, body }) => `    <testcase name="${attribute(check)}" classname="${attribute(category)}"${body ? `>\n${body}\n    </testcase>` : "/>"}`).join("\n")}
  </testsuite>`,
    };
  });
  const sum = (of: "tests" | "failures" | "errors") => suites.reduce((total, suite) => total + suite[of], 0);
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="tenant isolation" tests="${sum("tests")}" failures="${sum("failures")}" errors="${sum("errors")}" time="${seconds.toFixed(3)}">
${suites.map(suite => suite.xml).join("\n")}
</testsuites>`;

  function outcome({ report: { findings } }: Audit, check: string): { kind: string; body: string } {
    const found = findings.filter(finding => finding.check === check);
    const errors = found.filter(({ severity }) => severity === "error");
    const rest = found.filter(({ severity }) => severity !== "error");
    const broken = notRun.includes(check);
    const kind = broken ? "error" : errors.length > 0 ? "failure" : "";
    const headline = broken ? "could not run" : plural(errors.length, "error");
    const body = [
      ...(kind
        ? [
            `      <${kind} type="${attribute(check)}" message="${attribute(`${headline}: ${said(errors[0])}`)}">${xml(listed(errors))}</${kind}>`,
          ]
        : []),
      ...(rest.length > 0 ? [`      <system-out>${xml(listed(rest))}</system-out>`] : []),
    ];
    return { kind, body: body.join("\n") };
  }
}

const said = (finding: Finding | undefined) => (finding ? `${placeOf(finding)}: ${finding.detail}` : "");
function listed(findings: Finding[]): string {
  const more = findings.length > SHOWN ? `\n… and ${number(findings.length - SHOWN)} more` : "";
  return `${findings
    .slice(0, SHOWN)
    .map(one => `${one.severity}: ${said(one)}\n${one.remedy}`)
    .join("\n")}${more}`;
}
