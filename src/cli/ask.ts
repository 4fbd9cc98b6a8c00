import { createInterface } from "node:readline/promises";

/** What is typed on the terminal, "" at the end of the input. Asks on standard error: standard output may go to a file. */
export async function ask(question: string): Promise<string> {
  // Not in raw mode, in which readline would keep Ctrl-C from us. At the end of the input it would wait for ever.
  const terminal = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const ended = new Promise<string>(resolve => terminal.once("close", () => resolve("")));
  try {
    return (await Promise.race([terminal.question(question), ended])).trim();
  } finally {
    terminal.close();
  }
}
