import { flagOf } from "../values/flag.ts";
import { commandsIn } from "../values/installed.ts";
import { plainLines } from "../values/printable.ts";

/** An error for the person at the terminal: one sentence on each line, no stack. */
export class StartupError extends Error {
  constructor(
    message: string,
    readonly status = 1,
  ) {
    super(message);
  }
}

/** Another tenant has the slug of the default one, which is missing. */
export class DefaultSlugTaken extends StartupError {}

/** Prints the message; with SERVICE_DEBUG the stack. */
export function tell(fault: unknown): void {
  const debug = flagOf(process.env.SERVICE_DEBUG ?? "");
  const { stack, message } = fault instanceof Error ? fault : { stack: undefined, message: String(fault) };
  console.error(plainLines(commandsIn((debug && stack) || message)));
}
