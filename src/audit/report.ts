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
  checked: number;
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

export function resultsOf(findings: readonly Finding[], notRun: readonly string[] = []): Result[] {
  const results = new Map<string, Result>();
  for (const { check, relation, severity } of findings) {
    const key = `${check} ${relation ?? ""}`;
    const result = results.get(key) ?? {
      check,
      relation: relation ?? "",
      checked: 0,
      failed: notRun.includes(check),
      error: 0,
      warning: 0,
      info: 0,
    };
    result[severity]++;
    results.set(key, result);
  }
  return [...results.values()];
}
