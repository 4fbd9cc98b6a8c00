/** Logins of the old application, which still see every row until a day. */
import type { Answers } from "./answers.ts";
import type { Living, Table } from "./living.ts";
import { isBridge, ownPolicies } from "./names.ts";

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

/**
 * The logins that get a bridge to a table, or have one. Where row-level security is on, a login with a policy of the product's own sees
 * what that policy shows; a bridge would show it every row.
 */
export function bridged({ granted, enabled, policies }: Table, open: Record<string, string>): string[] {
  const rolesOf = (some: Table["policies"]) => some.flatMap(({ roles }) => roles);
  const has = rolesOf(policies.filter(({ name }) => isBridge(name)));
  const own = enabled ? rolesOf(ownPolicies({ policies })) : [];
  return granted.filter(name => Object.hasOwn(open, name) && (has.includes(name) || !own.includes(name)));
}

/** The roles with privileges on a table that have neither an open bridge nor a policy of the product's own. */
export function withoutBridge(
  { role, unbound }: Living,
  table: Table,
  open: Record<string, string>,
): string[] {
  const kept = [role, ...Object.keys(open), ...unbound, ...ownPolicies(table).flatMap(({ roles }) => roles)];
  return table.granted.filter(name => name !== "" && !kept.includes(name) && !name.startsWith("tms_"));
}
