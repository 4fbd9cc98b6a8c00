import { StartupError } from "../errors/startup-error.ts";

/** An option that takes a text. Without one it is refused, not read as an empty text. */
export const textOption = (describe: string) => ({ type: "string", requiresArg: true, describe }) as const;

/** The same where every text would do, but for an empty one: that comes from a variable of the shell that is not set. */
export const nameOption = (name: string, describe: string) => ({
  ...textOption(describe),
  coerce: (text: string) => {
    if (text === "") throw new StartupError(`--${name} is empty`);
    return text;
  },
});

/** An option that takes one of a few words. */
export const choiceOption = <const C extends readonly string[]>(choices: C, describe: string) =>
  ({ choices, requiresArg: true, describe }) as const;

/** @throws StartupError where the text is no number from 1 to 999,999,999 */
export function numberFrom(text: string, option: string, expects: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new StartupError(`--${option} takes ${expects}, and not ${JSON.stringify(text)}`);
  return Number(text);
}

/** One that is given or not. */
export const flagOption = (describe: string) => ({ type: "boolean", default: false, describe }) as const;

/** The parser reads `--json=no`, and `--json=` with a variable that is not set, as if the flag was not given. */
export function refuseFlagValues(given: Record<string, unknown>): void {
  for (const arg of process.argv) {
    const [, name, value] = /^--(?:no-)?([\w-]+)=(.*)$/s.exec(arg) ?? [];
    if (name !== undefined && typeof given[name] === "boolean" && !/^(true|false)$/.test(value!))
      throw new StartupError(`--${name} takes no value`);
  }
}
