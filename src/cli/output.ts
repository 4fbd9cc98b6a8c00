import { StartupError } from "../errors/startup-error.ts";
import { plainLines } from "../values/printable.ts";

/** Writes one or more lines to standard output; false when the reader has closed it. Throws StartupError. */
export function printLine(line: string): Promise<boolean> {
  const { stdout } = process;
  return new Promise((resolve, reject) => {
    const fail = ({ code }: NodeJS.ErrnoException) => {
      if (code === "EPIPE") resolve(false);
      else reject(new StartupError(`Standard output cannot be written (${code})`));
    };
    // Not removed after an error: the stream emits it again after the callback.
    stdout.once("error", fail);
    stdout.write(`${plainLines(line)}\n`, error => {
      if (error) return fail(error);
      stdout.off("error", fail);
      resolve(true);
    });
  });
}
