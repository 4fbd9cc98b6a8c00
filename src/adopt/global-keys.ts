/** Unique keys over all tenants. */
import type { Index, Table } from "./living.ts";

/**
 * The unique keys of a table by which one tenant can learn that another has a value. A key with a column that refers to a tenant's row
 * tells nothing.
 */
export const globalKeys = ({ relation, column, indexes, keys }: Table): Index[] =>
  indexes.filter(
    ({ unique, guessable, columns }) =>
      unique &&
      guessable &&
      !columns.includes(column) &&
      !keys.some(
        ({ columns: own, parent }) => parent !== relation && own.some(name => columns.includes(name)),
      ),
  );
