import type { Progress } from "./run.ts";
import { number, plural } from "./text.ts";

/** One line for a terminal of `columns`. A part that does not fit is left out: half a number would be another number. */
export function progressLine(progress: Progress, seconds: number, columns: number): string {
  const { done, of, rows, findings, share, pass } = progress;
  const width = columns >= 100 ? 24 : columns >= 60 ? 16 : 8;
  const filled = Math.round(share * width);
  const left = share > 0 ? Math.ceil((seconds / share) * (1 - share)) : 0;
  const bar = `${"█".repeat(filled)}${"░".repeat(width - filled)} ${done}/${of}`;
  const found = `${number(findings)} found`;
  const time = done < of ? `about ${left} s left` : `${seconds.toFixed(1)} s`;
  const room = columns - 1; // a full line would wrap, and then it could not be written over
  const lines = [[bar, plural(rows, "row"), found, time], [bar, found, time], [bar, time], [`${done}/${of}`]];
  const line = lines.map(parts => parts.join("  ")).find(({ length }) => length <= room) ?? "";
  const rest = room - line.length - 2;
  if (done === of || rest < 8) return line;
  return `${line}  ${pass.length <= rest ? pass : `${pass.slice(0, rest - 1)}…`}`;
}
