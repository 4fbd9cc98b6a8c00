/** The findings of the checks and of the manifest in one report. */
import { NOT_AS_RELEASED } from "../migrate/objects.ts";
import { RELEASE } from "../migrate/release.ts";
import type { Comparison } from "../migrate/released.ts";
import { bySeverity, type Finding, type Severity } from "../values/finding.ts";
import { type Audit, withoutFindings } from "./report.ts";

/** What a changed table or policy leads to. */
const CONSEQUENCES = new Set([
  "rls_disabled",
  "owner_bypasses",
  "not_isolated",
  "sees_less",
  "policy_depends",
]);

/** As audit.note() keeps of each check. */
const KEPT = 1000;

/** One fault, one finding: a changed table or policy says what it leads to, and has the remedy of the check that found that. */
function oneFinding(manifest: Finding[], checks: Finding[]): { merged: Finding[]; told: Set<Finding> } {
  const told = new Set<Finding>();
  const merged = manifest.map(finding => {
    if (finding.severity !== "error" || !("table" in finding.row || "policy" in finding.row)) return finding;
    const led = checks.filter(
      one => CONSEQUENCES.has(one.check) && one.relation === finding.relation && !told.has(one),
    );
    for (const one of led) told.add(one);
    if (led.length === 0) return finding;
    const detail = [finding.detail, ...led.map(one => `${one.check}: ${one.detail}`)].join("\n");
    return { ...finding, detail, remedy: led[0]!.remedy };
  });
  return { merged, told };
}

export function withManifest(audit: Audit, compared: Comparison | undefined): Audit {
  if (!compared) {
    const note = `The files of db/ are not those of release ${RELEASE.number}: nothing was compared with a manifest`;
    return { ...audit, notes: [note] };
  }
  const { findings, lines } = compared;
  const { merged, told } = oneFinding(findings.slice(0, KEPT), audit.report.findings);
  const { report } = withoutFindings(audit, told);
  const count = (of: Severity, among = findings) => among.filter(({ severity }) => severity === of).length;
  const rest = findings.slice(KEPT);
  const more = { error: count("error", rest), warning: count("warning", rest), info: count("info", rest) };
  const unkept = [
    ...audit.unkept,
    ...(rest.length > 0 ? [{ check: NOT_AS_RELEASED, relation: "", failed: false, ...more }] : []),
  ];
  const listed = {
    check: NOT_AS_RELEASED,
    category: "isolation_config",
    severity: "error" as const,
    checked: lines,
    findings: findings.length,
  };
  const whole = {
    ...report,
    checks: [listed, ...report.checks],
    findings: [...merged, ...report.findings].toSorted(bySeverity),
    summary: {
      checks: report.summary.checks + 1,
      errors: report.summary.errors + count("error"),
      warnings: report.summary.warnings + count("warning"),
    },
  };
  return { ...audit, report: whole, unkept };
}
