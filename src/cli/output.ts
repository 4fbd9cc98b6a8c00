import { StartupError } from "../errors/startup-error.ts";
import { plainLines } from "../values/printable.ts";

/** Writes a line, or several, to standard output; false when its reader has gone, who wants no more. Throws StartupError. */
export function printLine(line: string): Promise<boolean> {
  const { stdout } = process;
  return new Promise((resolve, reject) => {
    const fail = ({ code }: NodeJS.ErrnoException) => {
      if (code === "EPIPE") resolve(false);
      else reject(new StartupError(`Standard output cannot be written (${code})`));
    };
    // Stays after a fault: the stream tells it again, to a listener, after it has told the callback.
    stdout.once("error", fail);
    stdout.write(`${plainLines(line)}\n`, error => {
      if (error) return fail(error);
      stdout.off("error", fail);
      resolve(true);
    });
  });
}
