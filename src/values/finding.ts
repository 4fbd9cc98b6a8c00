/** What an audit or a comparison with the release found. */

export type Severity = "error" | "warning" | "info";

export interface Finding {
  check: string;
  category: string;
  severity: Severity;
  tenant_id: string | null;
  relation: string | null;
  /** Key columns. */
  row: Record<string, unknown>;
  detail: string;
  remedy: string;
}

const RANK: Record<Severity, number> = { error: 0, warning: 1, info: 2 };
/** For sorting, the worst first. */
export const bySeverity = (a: Finding, b: Finding) => RANK[a.severity] - RANK[b.severity];
