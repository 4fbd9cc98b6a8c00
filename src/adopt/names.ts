/** The names of the objects that a plan makes. The next plan recognizes them by these names. */
import { createHash } from "node:crypto";
import type { Table } from "./living.ts";

/** Postgres cuts names at 63 bytes. The hash keeps two names apart that begin alike. */
function named(stem: string, tail: string): string {
  const whole = `${stem}_${tail}`;
  if (Buffer.byteLength(whole) <= 63) return whole;
  const end = `_${createHash("sha256").update(stem).digest("hex").slice(0, 6)}_${tail}`;
  const short = Array.from(stem);
  while (Buffer.byteLength(short.join("")) > 63 - end.length) short.pop();
  return short.join("") + end;
}

export const FILL = "tenancy_fill";
export const TENANCY_ID = "tenancy_id";
export const ONLY = "tenant_only";
export const ROWS = "tenant_rows";
export const PEOPLE = "tenancy_people";
export const OWNER = "tenancy_owner";
export const SHARED = "tenancy_shared";
const BRIDGE = "bridge_until_";
/** The audit reads the date in this name (bridge_open). */
export const bridgeOf = (until: string) => BRIDGE + until.replaceAll("-", "_");
export const isBridge = (policy: string) => policy.startsWith(BRIDGE);
const isOurs = (policy: string) => [ONLY, ROWS, PEOPLE, OWNER, SHARED].includes(policy) || isBridge(policy);
export const isAdopted = ({ policies }: Pick<Table, "policies">) =>
  policies.some(({ name }) => name === ONLY || name === PEOPLE);
/** The policies of the product's own. */
export const ownPolicies = ({ policies }: Pick<Table, "policies">) =>
  policies.filter(({ name }) => !isOurs(name));
export const keyOf = (key: string) => named(key, "tenant");
export const indexOf = (table: string, columns: string[]) => named([table, ...columns].join("_"), "idx");
export const uniqueOf = (table: string, columns: string[]) => named([table, ...columns].join("_"), "key");
export const fillOf = (table: string) => named(table, FILL);
export const checkOf = (table: string, column: string) => named(`${table}_${column}`, "set");
