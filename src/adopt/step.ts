/** One statement of the plan. */
import { ident } from "../values/sql-names.ts";
import type { Index, Key, Table } from "./living.ts";
import { keyOf } from "./names.ts";

/** In this order, with the headings of the plan. */
export const PHASES = {
  roles:
    "As an administrator: a superuser, or a role with CREATEROLE that is a member of the owners and has ADMIN on tms_app",
  columns: "As the owner, one transaction for each table",
  fill: "As the owner: fill the new columns",
  indexes: "As the owner, outside a transaction",
  constraints: "As the owner, each statement in its own transaction",
  tenants: "As a member of tms_owner that can read the product's tenants",
  policies: "As the owner, one transaction for each table",
} as const;
export type Phase = keyof typeof PHASES;

/** A transaction for each table: a column without its trigger, or policies without privileges, would be half a table. */
export const WHOLE: Phase[] = ["columns", "policies"];

/** The phases that lock a whole table. */
export const LOCKING: Phase[] = ["columns", "constraints", "policies"];

/** What each phase locks, and for how long. */
export const LOCKS: Record<Phase, string> = {
  roles: "Locks nothing",
  columns: "Locks each table (ACCESS EXCLUSIVE) for a moment: reads and writes wait",
  fill: "Locks the rows that it writes until it commits: reads go on, writes to the same rows wait. Fill a large table in batches",
  indexes:
    "Reads the table twice and waits for older transactions; reads and writes go on. A failure leaves an INVALID index: plan again",
  constraints:
    "ADD … NOT VALID and SET NOT NULL lock the table for a moment; a foreign key locks both tables, against writes only. " +
    "VALIDATE reads the whole table while reads and writes go on",
  tenants: "Locks only the rows that it adds",
  policies: "Locks each table (ACCESS EXCLUSIVE) for a moment: reads and writes wait",
};

export interface Step {
  phase: Phase;
  /** Null: not about a single table. */
  table: string | null;
  /** The role that must run it; null: an administrator. */
  as: string | null;
  sql: string;
  /** The foreign key that it adds. */
  key?: string;
  /** The table whose rows keep their tenant while this key's rows refer to them. */
  holds?: string;
  /** It reads the whole table, while reads and writes go on. */
  validates?: true;
  /** It turns row-level security on. */
  protects?: true;
  /** The roles that lose all privileges on the table. */
  revokes?: string[];
}

export const stepsOf =
  ({ relation, owner }: Table) =>
  (phase: Phase, sql: string, facts: Omit<Step, "phase" | "table" | "as" | "sql"> = {}): Step => ({
    phase,
    sql,
    table: relation,
    as: owner,
    ...facts,
  });

export const when = (condition: boolean, ...steps: Step[]) => (condition ? steps : []);

/** Postgres allows CONCURRENTLY in no transaction: the rehearsal leaves the word out. */
export function indexSteps(
  table: Table,
  name: string,
  columns: string,
  { unique = false, method = "" } = {},
): Step[] {
  const { relation, schema, indexes, invalid } = table;
  // Another index, such as a partial one, may have the name.
  const index = indexes.some(({ relname }) => relname === name) ? keyOf(name) : name;
  const step = (sql: string) => stepsOf(table)("indexes", sql);
  const make = `create ${unique ? "unique " : ""}index concurrently ${ident(index)} on ${relation} ${method && `using ${method} `}${columns};`;
  // An earlier run that could not finish it left an index of this name.
  const left = `drop index concurrently ${ident(schema)}.${ident(index)};`;
  return [...when(invalid.includes(index), step(left)), step(make)];
}

/** A statement to run by hand after the plan: it drops a key that has a successor with the tenant. */
export interface Later {
  sql: string;
  key?: Key;
  index?: Index;
}
