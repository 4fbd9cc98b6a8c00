/** One statement of the plan. */
import { ident } from "../values/sql-names.ts";
import type { Index, Key, Table } from "./living.ts";

/** In this order; the words are the plan's headings. */
export const PHASES = {
  roles: "As an administrator (a superuser, or CREATEROLE with ADMIN on tms_app, and a member of the owners)",
  columns: "As the owner, each statement in a transaction of its own",
  fill: "As the owner: fill the new columns",
  indexes: "As the owner, outside of a transaction",
  constraints: "As the owner, each statement in a transaction of its own",
  tenants: "As an administrator who sees the product's tenants and is a member of tms_owner",
  policies: "As the owner, a transaction for each table",
} as const;
export type Phase = keyof typeof PHASES;

/** Those that lock a whole table. */
export const LOCKING: Phase[] = ["columns", "constraints", "policies"];

/** What it locks, for how long. */
export const LOCKS: Record<Phase, string> = {
  roles: "Locks nothing",
  columns: "Locks the table (ACCESS EXCLUSIVE) for a moment: no row is read or written",
  fill: "Locks the rows that it writes until it commits. Reads go on; writes of the same rows wait. A large table: in batches",
  indexes:
    "Reads the table twice, and waits for older transactions; reads and writes go on. What fails leaves an INVALID index: plan again",
  constraints:
    "ADD … NOT VALID and SET NOT NULL lock the table for a moment (a foreign key only against writes, its parent's too); " +
    "VALIDATE reads all of it while reads and writes go on",
  tenants: "Locks nothing but the rows that it adds",
  policies: "Locks each table (ACCESS EXCLUSIVE) for a moment: no row is read or written",
};

export interface Step {
  phase: Phase;
  /** Null: it is about no single table. */
  table: string | null;
  /** Who must run it; null: an administrator. */
  as: string | null;
  sql: string;
  /** The index that it makes, concurrently. */
  index?: string;
  /** The foreign key that it adds. */
  key?: string;
  /** It reads the whole table, while reads and writes go on. */
  validates?: true;
  /** It turns row-level security on. */
  protects?: true;
  /** Who loses all privileges on the table. */
  revokes?: string[];
}

export const stepsOf =
  ({ relation, owner }: Pick<Table, "relation" | "owner">) =>
  (
    phase: Phase,
    sql: string,
    facts: Pick<Step, "index" | "key" | "validates" | "protects" | "revokes"> = {},
  ): Step => ({ phase, sql, table: relation, as: owner, ...facts });

/** In a transaction CONCURRENTLY is not allowed: the rehearsal leaves the word out. */
export const indexStep = (
  table: Pick<Table, "relation" | "owner">,
  index: string,
  columns: string,
  { unique = false, method = "" } = {},
): Step =>
  stepsOf(table)(
    "indexes",
    `create ${unique ? "unique " : ""}index concurrently ${ident(index)} on ${table.relation} ${method && `using ${method} `}${columns};`,
    { index },
  );

/** What a person may run by hand once the plan was carried out: it drops what has a successor with the tenant. */
export interface Later {
  sql: string;
  key?: Key;
  index?: Index;
}
