/** The release's own objects but its functions, by the manifest. */
import type postgres from "postgres";
import type { Finding } from "../values/finding.ts";
import { changes, manifestLines, shippedLines } from "./objects.ts";
import { settle } from "./session.ts";

/** Functions are compared by changedFunctions(), which knows what was accepted; roles are the cluster's, and the audit's own checks. */
const KINDS = new Set([
  "table",
  "column",
  "constraint",
  "index",
  "unique index",
  "policy",
  "trigger",
  "view",
  "sequence",
  "type",
  "schema",
]);

export interface Unreleased {
  findings: Finding[];
  compared: number;
}

/** In a transaction of the caller's. Undefined: on Citus tables differ. */
export async function unreleasedWithin(tx: postgres.TransactionSql): Promise<Unreleased | undefined> {
  await settle(tx);
  const [citus] = await tx`select from pg_catalog.pg_extension where extname = 'citus'`;
  if (citus) return undefined;
  const shipped = shippedLines();
  const all = changes(shipped, await manifestLines(tx));
  const findings = all.filter(({ row }) => KINDS.has(Object.keys(row)[0]!));
  return { findings, compared: shipped.filter(({ kind }) => KINDS.has(kind)).length };
}
