const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * Escapes, as JSON does, the characters that break lines, control a terminal or change the direction of text.
 */
export const plain = (text: string) =>
  text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, escaped);

/** The same for a text of several lines. */
export const plainLines = (text: string) => text.split("\n").map(plain).join("\n");

/** Text that the database can hold as it is and a log can print as one line. */
export const text = (value: unknown, longest = 255): string | null =>
  typeof value === "string" &&
  value !== "" &&
  Array.from(value).length <= longest &&
  value.isWellFormed() &&
  !/\p{Cc}/u.test(value)
    ? value
    : null;
