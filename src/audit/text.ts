/** The report for people at a terminal: worst first, each with its remedy. */

import type { Finding } from "../values/finding.ts";
import { plain } from "../values/printable.ts";
import { type Audit, isFailure, resultsOf } from "./report.ts";

const SHOWN = 10;
export const number = (value: number) => value.toLocaleString("en-US");
export const plural = (count: number, word: string) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

export function verdict({ report, notRun }: Audit): string {
  const { errors, warnings } = report.summary;
  if (notRun.length > 0) return `INCOMPLETE: ${plural(notRun.length, "check")} could not run`;
  if (errors > 0) return `FAILED: ${plural(errors, "error")}`;
  const notes = [warnings > 0 && "with warnings", provedNothing(report) && "and nothing was proved"];
  return ["PASSED", ...notes.filter(Boolean)].join(", ");
}

/** The number of relations in which the proof acted is what `not_isolated` has examined. */
const provedNothing = ({ checks }: Audit["report"]) =>
  checks.find(({ check }) => check === "not_isolated")?.checked === 0;

export const secondsOf = ({ report }: Audit): string =>
  ((Date.parse(report.finished_at) - Date.parse(report.started_at)) / 1000).toFixed(1);

/** `acme` or `all tenants`, and which family. */
export function scopeOf({ report }: Audit): string {
  const families = new Set(report.checks.map(check => check.category === "isolation_config"));
  const only = families.size === 2 ? "" : families.has(true) ? ", schema checks only" : ", data checks only";
  return `${report.tenant === null ? "all tenants" : `tenant ${report.tenant}`}${only}`;
}

/** The findings of one check with one severity. */
export interface Group {
  findings: Finding[];
  /** Includes findings that were not stored. */
  total: number;
  /** The check failed; its first finding says why. */
  notRun: boolean;
}

/** In the report's order, worst first, but checks that failed come before all findings. */
export function groupFindings(audit: Audit): Group[] {
  const groups = new Map<string, Finding[]>();
  const results = resultsOf(audit);
  for (const finding of audit.report.findings) {
    const name = `${finding.severity} ${finding.check}`;
    const group = groups.get(name);
    if (group) group.push(finding);
    else groups.set(name, [finding]);
  }
  const listed = [...groups.values()].map(found => {
    const { check, severity } = found[0]!;
    const total = results.reduce((sum, result) => sum + (result.check === check ? result[severity] : 0), 0);
    const findings = [...found.filter(isFailure), ...found.filter(finding => !isFailure(finding))];
    return { findings, total, notRun: isFailure(findings[0]!) };
  });
  return [...listed.filter(group => group.notRun), ...listed.filter(group => !group.notRun)];
}

/** Where a finding is: relation, key columns, tenant. */
export function placeOf({ relation, row, tenant_id }: Finding): string {
  const keys = Object.entries(row)
    .filter(([name, value]) => !(name === "tenant_id" && value === tenant_id))
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [relation, ...keys, tenant_id && `tenant ${tenant_id}`].filter(Boolean).join(", ") || "the database";
}

const indent = (text: string, by: string) => text.replaceAll("\n", `\n${by}`);

/** `PASSED, with warnings. 81 checks, 0 errors, 2 warnings.` */
function summary(audit: Audit): string {
  const { checks, errors, warnings } = audit.report.summary;
  const counts = [plural(checks, "check"), plural(errors, "error"), plural(warnings, "warning")];
  const accepted = audit.accepted?.length ?? 0;
  return `${verdict(audit)}. ${counts.join(", ")}${accepted > 0 ? `, ${number(accepted)} accepted` : ""}.`;
}

/** The relations with the most errors. */
function whereToLook(audit: Audit): string[] {
  const errors = new Map<string, number>();
  for (const { relation, error } of resultsOf(audit))
    if (relation && error > 0) errors.set(relation, (errors.get(relation) ?? 0) + error);
  const first = [...errors].sort(([, a], [, b]) => b - a).slice(0, 5);
  if (first.length > 0)
    return [
      `Look first at: ${first.map(([relation, count]) => `${plain(relation)} (${number(count)})`).join(", ")}`,
    ];
  const worst = audit.report.findings.find(({ severity }) => severity === "error");
  return worst ? [`Look first at: ${plain(placeOf(worst))}`] : [];
}

function list(heading: string, lines: string[]): string[] {
  if (lines.length === 0) return [];
  const more = lines.length > SHOWN ? [`  … and ${number(lines.length - SHOWN)} more`] : [];
  return [heading, ...lines.slice(0, SHOWN).map(line => `  - ${indent(line, "    ")}`), ...more, ""];
}

const short = (finding: Finding) =>
  `${finding.severity} ${finding.check}, ${plain(placeOf(finding))}: ${finding.detail}`;

export function toText(audit: Audit): string {
  const { report, server, about, runId, accepted = [], notes = [], diff } = audit;
  const run = runId === null ? "nothing is stored" : `run ${runId}`;
  const schema = server.schema === null && runId === null ? "" : `, schema ${server.schema ?? "uncommitted"}`;
  const lines = [
    summary(audit),
    `Tenant isolation audit of ${plain(server.database)}: ${scopeOf(audit)}`,
    `${report.started_at}, ${secondsOf(audit)} s, Postgres ${server.version}${schema}, ${run}`,
    ...whereToLook(audit),
    "",
  ];
  if (diff) {
    lines.push(...list("OPENED since the earlier report", diff.opened.map(short)));
    lines.push(...list("CLOSED since the earlier report", diff.closed.map(short)));
    if (diff.opened.length + diff.closed.length === 0)
      lines.push("The same findings as in the earlier report.", "");
  }
  for (const { findings, total, notRun } of groupFindings(audit)) {
    const { severity, check, category } = findings[0]!;
    const words = about.get(check);
    lines.push(
      `${severity.toUpperCase()}  ${check} (${category}): ${notRun ? "could not run, " : ""}${plural(total, "finding")}`,
    );
    if (words) lines.push(...[words.finds, words.why].filter(Boolean).map(line => `  ${line}`));
    for (const finding of findings.slice(0, SHOWN)) {
      lines.push(`  - ${plain(placeOf(finding))}`, `      ${indent(finding.detail, "      ")}`);
      lines.push(`      ${indent(finding.remedy, "      ")}`);
    }
    const all = runId === null ? "--format json" : `select * from audit.findings where "check" = '${check}';`;
    if (total > SHOWN) lines.push(`  … and ${number(total - SHOWN)} more: ${all}`);
    lines.push("");
  }
  lines.push(
    ...list(
      "ACCEPTED",
      accepted.map(({ finding, reason }) => `${short(finding)} (${reason})`),
    ),
  );
  lines.push(...list("NOTES", notes));
  const width = Math.max(...report.checks.map(({ check }) => check.length));
  for (const category of new Set(report.checks.map(check => check.category))) {
    lines.push(`${category.padEnd(width + 2)}${"checked".padStart(14)}${"findings".padStart(10)}`);
    for (const { check, category: of, checked, findings } of report.checks) {
      if (of !== category) continue;
      const count = audit.notRun.includes(check) ? "not run" : findings === 0 ? "·" : number(findings);
      lines.push(`  ${check.padEnd(width)}${number(checked).padStart(14)}${count.padStart(10)}`);
    }
    lines.push("");
  }
  lines.push(summary(audit));
  return lines.join("\n");
}
