import type { ComponentChildren } from "preact";

/** A table that becomes a list of cards on a narrow screen: each cell then shows its column's name. */
export function Table<T>({
  label,
  columns,
  rows,
  keyOf,
}: {
  label: string;
  columns: readonly (readonly [head: string, cell: (row: T) => ComponentChildren, kind?: string])[];
  rows: readonly T[];
  keyOf: (row: T) => string;
}) {
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {columns.map(([head, , kind]) => (
            <th key={head} scope="col" class={kind}>
              {head === "Actions" ? <span class="unseen">{head}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <tr key={keyOf(row)}>
            {columns.map(([head, cell, kind]) => (
              <td key={head} data-head={head} class={kind}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
