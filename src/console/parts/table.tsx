import { Component, type ComponentChildren } from "preact";

type Column<T> = readonly [head: string, cell: (row: T) => ComponentChildren, kind?: string];

/** Rows of one chunk are drawn again only when one of them has changed: *Show more* draws the new ones. */
const CHUNK = 100;

/** In rem, by kind; the others share what is left, the first of them the most. Rows are grids: a table's own layout would look at every row again for each new one. */
const WIDTHS: Record<string, [least: number, most: number]> = {
  time: [7, 9.5],
  mark: [6, 8],
  num: [10, 10],
  act: [6.5, 7.5],
  acts: [11.5, 13],
};

function widthsOf<T>(columns: readonly Column<T>[]): string {
  // Many columns take less room each where there is less, so that it is left for names.
  const many = columns.length > 4;
  return columns
    .map(([, , kind = ""], i) => {
      const [least, most] = WIDTHS[kind] ?? [];
      if (least === undefined || most === undefined) return `minmax(0, ${i === 0 ? 3 : 2}fr)`;
      return many ? `clamp(${least}rem, ${most * 1.7}cqw, ${most}rem)` : `${most}rem`;
    })
    .join(" ");
}

interface ChunkProps<T> {
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  /** What the cells show beside the row. */
  shows: unknown;
}

class Chunk<T> extends Component<ChunkProps<T>> {
  override shouldComponentUpdate({ rows, shows }: ChunkProps<T>): boolean {
    const { rows: before, shows: shown } = this.props;
    return shows !== shown || rows.length !== before.length || rows.some((row, i) => row !== before[i]);
  }

  render() {
    const { rows, columns, keyOf } = this.props;
    return (
      <tbody style={{ "--rows": rows.length }}>
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
    );
  }
}

/** A table that becomes a list of cards on a narrow screen: each cell then shows its column's name. */
export function Table<T>({
  label,
  columns,
  rows,
  keyOf,
  shows,
  brief = false,
}: {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  shows?: unknown;
  /** On a narrow screen two lines a row: the first and third column, the second and fourth. */
  brief?: boolean;
}) {
  const chunks = Array.from({ length: Math.ceil(rows.length / CHUNK) }, (_, i) =>
    rows.slice(i * CHUNK, (i + 1) * CHUNK),
  );
  return (
    <table aria-label={label} class={brief ? "brief" : undefined} style={{ "--columns": widthsOf(columns) }}>
      <thead>
        <tr>
          {columns.map(([head, , kind]) => (
            <th key={head} scope="col" class={kind}>
              {head === "Actions" ? <span class="unseen">{head}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      {chunks.map((chunk, i) => (
        <Chunk key={i} rows={chunk} columns={columns} keyOf={keyOf} shows={shows} />
      ))}
    </table>
  );
}
