import type { Finding } from "../values/finding.ts";

/** What makes two findings, of two runs, the same one. The words may differ: they count rows. */
export function keyOf({
  check,
  tenant_id,
  relation,
  row,
}: Omit<Finding, "detail" | "remedy" | "severity" | "category">): string {
  const columns = Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([check, tenant_id, relation, columns]);
}
