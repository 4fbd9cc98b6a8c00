import type postgres from "postgres";
import { UNHURRIED } from "../database/command-connection.ts";

export const INSTALLER_SESSION = { application_name: "tms migrate" };

/** UNHURRIED, but for the caller's limit for locks, and what the installer needs, for a transaction. Not as startup parameters: poolers refuse those. */
export async function settle(tx: postgres.TransactionSql): Promise<void> {
  const { lock_timeout: _, ...unhurried } = UNHURRIED;
  const settings = {
    ...unhurried,
    standard_conforming_strings: true,
    // Citus would send each file that has a SET LOCAL to its workers as a whole. Elsewhere this is only a name.
    "citus.propagate_set_commands": "none",
  };
  const entries = Object.entries(settings).map(([name, value]) => [name, String(value)]);
  await tx`select set_config(name, value, true) from jsonb_each_text(${tx.json(Object.fromEntries(entries))}) s (name, value)`;
}
