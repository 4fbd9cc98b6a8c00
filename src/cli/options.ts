import { StartupError } from "../errors/startup-error.ts";

/** An option with a value; the parser refuses it without one. */
export const textOption = (describe: string) => ({ type: "string", requiresArg: true, describe }) as const;

/** The same, and refuses an empty value, which an unset shell variable gives. */
export const nameOption = (name: string, describe: string) => ({
  ...textOption(describe),
  coerce: (text: string) => {
    if (text === "") throw new StartupError(`--${name} is empty`);
    return text;
  },
});

/** An option whose value is one of `choices`. */
export const choiceOption = <const C extends readonly string[]>(choices: C, describe: string) =>
  ({ choices, requiresArg: true, describe }) as const;

/** @throws StartupError unless the text is a whole number from 1 to 999,999,999 */
export function numberFrom(text: string, option: string, expects: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new StartupError(`--${option} takes ${expects}, and not ${JSON.stringify(text)}`);
  return Number(text);
}

/** An option without a value. */
export const flagOption = (describe: string) => ({ type: "boolean", default: false, describe }) as const;

/** The parser would take `--json=no`, and `--json=` with an unset shell variable, for a flag that is absent. */
export function refuseFlagValues(given: Record<string, unknown>): void {
  for (const arg of process.argv) {
    const [, name, value] = /^--(?:no-)?([\w-]+)=(.*)$/s.exec(arg) ?? [];
    if (name !== undefined && typeof given[name] === "boolean" && !/^(true|false)$/.test(value!))
      throw new StartupError(`--${name} takes no value`);
  }
}
