import { constants } from "node:os";
import { StartupError } from "../errors/startup-error.ts";

/** Our npm scripts, which end when npm ends. Other scripts may leave a command running on purpose. */
const SCRIPTS = /^(start|demo|migrate|gm|tenancy)$/;

const parent = process.ppid;

/** The exit status that shells report for a signal: SIGINT 130, SIGTERM 143, SIGHUP 129. */
export const statusOf = (signal: NodeJS.Signals) => 128 + constants.signals[signal];

/** The error of a command that a signal ended. */
export class Interrupted extends StartupError {
  constructor(signal: NodeJS.Signals, message = "Interrupted") {
    super(message, statusOf(signal));
  }
}

/**
 * Calls `stop` at the first SIGINT, SIGTERM or SIGHUP; a second one ends the process at once. Under an npm script the end of
 * the parent counts as SIGTERM: npm signals its shell, and the shell does not pass the signal on.
 */
export function onInterruption(stop: (signal: NodeJS.Signals) => void | Promise<void>): void {
  let stopping = false;
  const interrupt = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(statusOf(signal));
    stopping = true;
    void stop(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, interrupt);
  if (!SCRIPTS.test(process.env.npm_lifecycle_event ?? "") || process.platform === "win32") return;
  setInterval(() => {
    if (process.ppid !== parent && !stopping) interrupt("SIGTERM");
  }, 500).unref();
}
