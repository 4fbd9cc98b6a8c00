import { write, writeSync } from "node:fs";

const RETRY_MS = 100;
/** Characters that wait for a reader, or for room on a disk. What comes meanwhile is lost. */
const MOST_WAITING = 16 * 1024 * 1024;

const lines: string[] = [];
let waiting = 0;
let rest = Buffer.alloc(0);
let state: "idle" | "writing" | "resting" = "idle";

function next(): void {
  if (rest.length === 0) {
    rest = Buffer.from(lines.splice(0).join(""));
    waiting = 0;
  }
  state = rest.length > 0 ? "writing" : "idle";
  if (state === "idle") return;
  write(1, rest, (error, written) => {
    rest = rest.subarray(error ? 0 : written);
    if (!error) return next();
    state = "resting";
    setTimeout(next, RETRY_MS).unref();
  });
}

process.once("exit", () => {
  try {
    writeSync(1, `${state === "writing" ? "" : rest}${lines.join("")}`);
  } catch {}
});

/** Where the log goes. The logger's own ends the service where a disk is full, and would then try for ever, and not let it end. */
export const standardOutput = {
  write(line: string): void {
    if (waiting > MOST_WAITING) return;
    lines.push(line);
    waiting += line.length;
    if (state === "idle") next();
  },
};
