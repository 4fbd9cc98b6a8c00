/** An option that takes a text. Without one it is refused, not read as an empty text. */
export const textOption = (describe: string) => ({ type: "string", requiresArg: true, describe }) as const;

/** One that is given or not. */
export const flagOption = (describe: string) => ({ type: "boolean", default: false, describe }) as const;
