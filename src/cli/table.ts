import { plain } from "../values/printable.ts";
import { printLine } from "./output.ts";

/** The second of a time stamp of the API, as people read it. */
export const second = (time: string | null | undefined) =>
  time ? `${time.slice(0, 10)} ${time.slice(11, 19)}` : "";

const shown = (value: unknown) =>
  typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value);

/** Columns as wide as their longest text, with a header; one line a row. */
export function table(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [columns, ...rows].map(row => row.map(cell => plain(shown(cell))));
  const widths = columns.map((_, i) => Math.max(...cells.map(row => Array.from(row[i]!).length)));
  return cells
    .map(row =>
      row
        .map((cell, i) => cell + " ".repeat(widths[i]! - Array.from(cell).length))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Names and values of one object, a line each; what is null or missing is left out. */
export function fields(entries: Record<string, unknown>): string {
  const given = Object.entries(entries).filter(
    ([, value]) => value !== null && value !== undefined && value !== "",
  );
  const width = Math.max(...given.map(([name]) => name.length));
  return given.map(([name, value]) => `${name.padEnd(width)}  ${plain(shown(value))}`).join("\n");
}

/** A list as a table, or as one JSON object a line. Standard error says when the list goes on. */
export async function printRows<T>(
  { found, more }: { found: readonly T[]; more: boolean },
  json: boolean,
  columns: readonly string[],
  toRow: (one: T) => readonly unknown[],
): Promise<void> {
  const lines = json ? found.map(one => JSON.stringify(one)) : [table(columns, found.map(toRow))];
  if (lines.length > 0) await printLine(lines.join("\n"));
  if (more) console.error("The list goes on: --limit takes a larger number");
}
