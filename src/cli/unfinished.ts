/** Commands whose exit status 1 is a verdict end with 2 where they reach none. */
import { tell } from "../errors/startup-error.ts";

export function unfinished(error: unknown) {
  tell(error);
  process.exitCode = 2;
}

/** The driver may throw outside of any promise, and the parser before a command begins. */
export function endUnfinished(error: unknown): never {
  unfinished(error);
  process.exit();
}

export const onParserFault = (message: string, error: Error | undefined) =>
  endUnfinished(error ?? new Error(message));
