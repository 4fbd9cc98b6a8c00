import type postgres from "postgres";

export const INSTALLER_SESSION = { application_name: "tms migrate" };

/** Overrides settings of the database or role that would change results or time out. Not as startup parameters: poolers refuse those. */
export async function settle(tx: postgres.TransactionSql): Promise<void> {
  await tx
    .unsafe(`
      set local statement_timeout = 0;
      set local idle_in_transaction_session_timeout = 0;
      set local row_security = on;
      set local standard_conforming_strings = on;
      set local quote_all_identifiers = off;
      -- Citus would send each file that has a SET LOCAL to its workers as a whole. Elsewhere this is only a name.
      set local citus.propagate_set_commands = 'none'`)
    .simple();
}
