/** What the audit inside the database does not look at, or no longer reports: the release's own objects, by the manifest. */
import type postgres from "postgres";
import { ABOUT, NOT_AS_RELEASED } from "../migrate/objects.ts";
import { type Unreleased, unreleasedWithin } from "../migrate/unreleased.ts";
import { bySeverity, type Finding } from "../values/finding.ts";
import { type Audit, resultsOf } from "./report.ts";

/** The database has this build's release. */
export const unreleasedObjects = (sql: postgres.Sql): Promise<Unreleased | undefined> =>
  sql.begin("read only", unreleasedWithin);

/** One fault, one finding: what a check of the audit names is not repeated. */
export function addUnreleased(audit: Audit, { findings: all, compared }: Unreleased): void {
  const { report, results, about, trend } = audit;
  const relations = new Set(report.findings.map(({ relation }) => relation));
  const names = new Set(report.findings.flatMap(({ row }) => Object.values(row)));
  const findings = all.filter(
    ({ relation, row }) =>
      !(relation !== null && relations.has(relation)) && !Object.values(row).some(name => names.has(name)),
  );
  const count = (severity: Finding["severity"]) => findings.filter(one => one.severity === severity).length;
  report.checks.push({
    check: NOT_AS_RELEASED,
    category: "isolation_config",
    severity: "error",
    checked: compared,
    findings: findings.length,
  });
  about.set(NOT_AS_RELEASED, ABOUT);
  report.findings = [...findings, ...report.findings].toSorted(bySeverity);
  report.summary.checks++;
  report.summary.errors += count("error");
  report.summary.warnings += count("warning");
  results.push(...resultsOf(findings));
  const run = trend.at(-1);
  if (run) {
    run.errors += count("error");
    run.warnings += count("warning");
  }
}
