import { constants } from "node:os";
import { StartupError } from "../startup-error.ts";

/** Our npm scripts that end with npm. Not others: theirs may leave a command running on purpose. */
const SCRIPTS = /^(start|demo|migrate|gm|tenancy)$/;

const parent = process.ppid;

/** The status by which a shell tells that a signal ended a program. */
const statusOf = (signal: NodeJS.Signals) => 128 + constants.signals[signal];

/** What a command that a signal ended leaves with. */
export class Interrupted extends StartupError {
  readonly status: number;
  constructor(signal: NodeJS.Signals) {
    super("Interrupted");
    this.status = statusOf(signal);
  }
}

/**
 * Calls `stop` at the first SIGINT, SIGTERM or SIGHUP; a second one ends the process at once. Under an npm script the parent's
 * end is a SIGTERM too: npm passes a signal on to its shell, and the shell to nobody. Returns what undoes this.
 */
export function onInterruption(stop: (signal: NodeJS.Signals) => void | Promise<void>): () => void {
  let stopping = false;
  const interrupt = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(statusOf(signal));
    stopping = true;
    void stop(signal);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, interrupt);
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    if (!stopping) interrupt("SIGTERM");
  }, 500).unref();
  if (!SCRIPTS.test(process.env.npm_lifecycle_event ?? "") || process.platform === "win32")
    clearInterval(watch);
  return () => {
    clearInterval(watch);
    for (const signal of signals) process.off(signal, interrupt);
  };
}
