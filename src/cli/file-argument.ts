/** The file that a command reads. */
import { createReadStream } from "node:fs";
import { StartupError } from "../errors/startup-error.ts";
import { linesOf } from "../transfer/file.ts";

export const NO_FILE = "import and diff take a file that export wrote; - is standard input";

/** Names the file in read errors too: a folder can be opened, and a disk can fail half way. */
async function* contentOf(file: string): AsyncGenerator<Buffer, void> {
  try {
    yield* createReadStream(file) as AsyncIterable<Buffer>;
  } catch (error) {
    throw new StartupError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

// yargs turns a lone hyphen into an empty string.
export const isStandardInput = (file: string) => file === "-" || (file === "" && process.argv.includes("-"));

/** The lines of a file that export wrote; - is standard input. @throws StartupError without a file */
export function linesFrom(file: string): AsyncGenerator<string, void> {
  const standard = isStandardInput(file);
  if (file === "" && !standard) throw new StartupError(NO_FILE);
  return linesOf(standard ? process.stdin : contentOf(file));
}
