import type { Changed } from "../migrate/manifest.ts";
import type { Audit } from "./report.ts";

/** Adds a finding for each changed function that the database's own check did not report. */
export function addChanged(audit: Audit, changed: Changed[]): void {
  const { report, results, trend } = audit;
  const told = new Set(
    report.findings
      .filter(({ check, severity }) => check === "function_changed" && severity === "error")
      .map(({ row }) => row.function),
  );
  const kind = {
    check: "function_changed",
    category: "isolation_config",
    severity: "error",
  } as const;
  const findings = changed
    .filter(({ name }) => !told.has(name))
    .map(({ name, detail, remedy }) => ({
      ...kind,
      tenant_id: null,
      relation: null,
      row: { function: name },
      detail,
      remedy: `-- ${remedy}`,
    }));
  const count = findings.length;
  if (count === 0) return;
  report.findings.unshift(...findings);
  report.summary.errors += count;
  const listed = report.checks.find(({ check }) => check === kind.check);
  if (listed) Object.assign(listed, { severity: "error", findings: listed.findings + count });
  else report.checks.push({ ...kind, checked: count, findings: count });
  results.push({
    check: kind.check,
    relation: "",
    checked: 0,
    failed: false,
    error: count,
    warning: 0,
    info: 0,
  });
  const run = trend.at(-1);
  if (run) run.errors += count;
}
