/** Logins of the old application, which go on seeing every row until a day. */
import type { Answers } from "./answers.ts";
import type { Living, Table } from "./living.ts";

const DAYS = 90;

/** As answered; else every role that has privileges on an adopted table, and the tables' owners, for 90 days. */
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

/** Those that are not over yet. */
export const openBridges = (bridges: Record<string, string>, today: string) =>
  Object.fromEntries(Object.entries(bridges).filter(([, until]) => until >= today));
