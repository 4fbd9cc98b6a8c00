/** What a run of the audit gives. */
import type { Finding, Severity } from "../values/finding.ts";

/** What `--format json` prints, key for key. */
export interface Report {
  started_at: string;
  finished_at: string;
  tenant: string | null;
  /** `checked` counts rows or catalog objects; `findings` counts also those that are not stored. */
  checks: { check: string; category: string; severity: Severity; checked: number; findings: number }[];
  /** Worst first; at most a thousand of each check. */
  findings: Finding[];
  summary: { checks: number; errors: number; warnings: number };
}

/** Findings of one check on one relation, by severity. */
export interface Result extends Record<Severity, number> {
  check: string;
  relation: string;
  /** One of the findings says that the check could not run there. */
  failed: boolean;
}

export interface Audit {
  report: Report;
  /** null: nothing was stored. */
  runId: number | null;
  /** Checks that could not run. */
  notRun: string[];
  /** The description of each check, by name. */
  about: Map<string, { finds: string; why: string; mend: string }>;
  /** What each check counted beyond the findings that it kept; relation is "". */
  unkept: Result[];
  /** Finished runs of the same scope, oldest first, this one last. */
  trend: {
    runId: number;
    startedAt: string;
    errors: number;
    warnings: number;
    infos: number;
    notRun: number;
  }[];
  server: { database: string; version: string; schema: string | null };
  /** What the baseline accepts; not among the findings, and not counted. */
  accepted?: { finding: Finding; reason: string }[];
  /** What else the reader should know. */
  notes?: string[];
  /** Against an earlier report. */
  diff?: { opened: Finding[]; closed: Finding[] };
}

/** What audit.run_step() says of a step that failed. */
export const isFailure = ({ detail }: Finding) => detail.startsWith("the check could not run");

/** By check and relation; relation is "" for a check that is not about a table, and for what was not kept. */
export function resultsOf({ report, unkept }: Pick<Audit, "report" | "unkept">): Result[] {
  const results = new Map<string, Result>();
  const kept = report.findings.map(finding => {
    const { check, relation, severity } = finding;
    const none = { failed: isFailure(finding), error: 0, warning: 0, info: 0 };
    return { check, relation: relation ?? "", ...none, [severity]: 1 };
  });
  for (const one of [...kept, ...unkept]) {
    const key = `${one.check} ${one.relation}`;
    const sum = results.get(key);
    if (!sum) {
      results.set(key, { ...one });
      continue;
    }
    sum.failed ||= one.failed;
    sum.error += one.error;
    sum.warning += one.warning;
    sum.info += one.info;
  }
  return [...results.values()];
}

/** The audit without some of its findings: they are not counted either. */
export function withoutFindings(audit: Audit, gone: Set<Finding>): Audit {
  const count = (of: (finding: Finding) => boolean) => [...gone].filter(of).length;
  const { checks, findings, summary } = audit.report;
  const report = {
    ...audit.report,
    checks: checks.map(one => ({
      ...one,
      findings: one.findings - count(({ check }) => check === one.check),
    })),
    findings: findings.filter(finding => !gone.has(finding)),
    summary: {
      ...summary,
      errors: summary.errors - count(({ severity }) => severity === "error"),
      warnings: summary.warnings - count(({ severity }) => severity === "warning"),
    },
  };
  return { ...audit, report };
}
