/** A finding as every part of the audit gives it; its keys are those of the report. */
export interface CheckFinding {
  check: string;
  category: string;
  severity: "error" | "warning" | "info";
  tenant_id: string | null;
  relation: string | null;
  /** Key columns of a row, or the object by its kind. */
  row: Record<string, unknown>;
  detail: string;
  remedy: string;
}
