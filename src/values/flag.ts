const FLAGS = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);

/** Undefined for any other text. */
export const flagOf = (text: string): boolean | undefined => FLAGS.get(text.toLowerCase());
