import { StartupError } from "../errors/startup-error.ts";

/** An option that takes a text. Without one it is refused, not read as an empty text. */
export const textOption = (describe: string) => ({ type: "string", requiresArg: true, describe }) as const;

/** @throws StartupError where the text is no number from 1 to 999,999,999 */
export function numberFrom(text: string, option: string, expects: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new StartupError(`--${option} takes ${expects}, and not ${JSON.stringify(text)}`);
  return Number(text);
}

/** One that is given or not. */
export const flagOption = (describe: string) => ({ type: "boolean", default: false, describe }) as const;
