/** Unique keys over all tenants. */
import { type Answers, KEY_ANSWERS } from "./answers.ts";
import type { Index, Key, Table } from "./living.ts";

/**
 * The unique keys of a table by which one tenant can learn that another has a value. A key with a column that refers to a tenant's row
 * tells nothing.
 */
export const globalKeys = (keys: Key[], table: Table): Index[] =>
  table.indexes.filter(
    ({ unique, guessable, columns }) =>
      unique &&
      guessable &&
      !columns.includes(table.column) &&
      !keys.some(
        ({ child, columns: own, parent }) =>
          child === table.relation && parent !== child && own.some(name => columns.includes(name)),
      ),
  );

/** The table does not wait for the answers. */
export const askKeys = (all: Key[], { keys = {} }: Answers, table: Table) =>
  globalKeys(all, table)
    .filter(({ name }) => !keys[name])
    .map(({ name, keys: columns }) => ({
      in: "keys" as const,
      about: name,
      asks: `of ${table.relation} is unique across all tenants: ${columns}`,
      answers: Object.keys(KEY_ANSWERS),
      waits: false,
    }));
