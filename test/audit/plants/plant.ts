/** One violation, as life plants it, and the finding that it must give. */
export interface Plant {
  check: string;
  severity?: string;
  how: string;
  sql: string;
  relation: string | null;
  row?: Record<string, unknown>;
}
