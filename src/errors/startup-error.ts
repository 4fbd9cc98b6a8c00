import { flagOf } from "../values/flag.ts";
import { plainLines } from "../values/printable.ts";

/** Why something could not start, for the person at the terminal: one sentence a line. */
export class StartupError extends Error {
  constructor(
    message: string,
    readonly status = 1,
  ) {
    super(message);
  }
}

/** Words for the person at the terminal; a stack only for who asks for it. */
export function tell(fault: unknown): void {
  const debug = flagOf(process.env.SERVICE_DEBUG ?? "");
  const { stack, message } = fault instanceof Error ? fault : { stack: undefined, message: String(fault) };
  console.error(plainLines((debug && stack) || message));
}
