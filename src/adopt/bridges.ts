/** Logins of the old application, which still see every row until a day. */
import type { Answers } from "./answers.ts";
import type { Living, Table } from "./living.ts";
import { ownPolicies } from "./names.ts";

const DAYS = 90;

/** As answered; else for 90 days each role with privileges on these tables, and each of their owners. */
export function bridgesOf(
  { role, today, unbound }: Living,
  { bridges }: Answers,
  tables: Table[],
): Record<string, string> {
  if (bridges) return bridges;
  const until = new Date(Date.parse(today) + DAYS * 86_400_000).toISOString().slice(0, 10);
  const roles = tables.flatMap(({ granted, owner }) => [...granted, owner]);
  const old = [...new Set(roles)].filter(
    name => name !== "" && name !== role && !name.startsWith("tms_") && !unbound.includes(name),
  );
  return Object.fromEntries(old.sort().map(name => [name, until]));
}

/** The bridges whose last day is not over. */
export const openBridges = (bridges: Record<string, string>, today: string) =>
  Object.fromEntries(Object.entries(bridges).filter(([, until]) => until >= today));

/** The roles with privileges on a table that have neither an open bridge nor a policy of the product's own. */
export function withoutBridge(
  { role, unbound }: Living,
  table: Table,
  open: Record<string, string>,
): string[] {
  const kept = [role, ...Object.keys(open), ...unbound, ...ownPolicies(table).flatMap(({ roles }) => roles)];
  return table.granted.filter(name => name !== "" && !kept.includes(name) && !name.startsWith("tms_"));
}
