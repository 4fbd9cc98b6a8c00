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
  /** By check and relation; relation is "" for a check that is not about a table. */
  results: Result[];
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

/** Each check counts all that it found, also what was not kept; that is on no relation. */
export function resultsOf({ checks, findings }: Report): Result[] {
  const results = new Map<string, Result>();
  const add = (check: string, relation: string, severity: Severity, n: number, failed = false) => {
    const key = `${check} ${relation}`;
    const result = results.get(key) ?? { check, relation, failed: false, error: 0, warning: 0, info: 0 };
    result.failed ||= failed;
    result[severity] += n;
    results.set(key, result);
  };
  for (const finding of findings)
    add(finding.check, finding.relation ?? "", finding.severity, 1, isFailure(finding));
  for (const { check, findings: all } of checks) {
    const kept = findings.filter(one => one.check === check);
    if (kept.length > 0 && all > kept.length) add(check, "", kept[0]!.severity, all - kept.length);
  }
  return [...results.values()];
}
