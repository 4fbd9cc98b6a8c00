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
