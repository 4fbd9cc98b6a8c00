/** Scripts that join letters, and whose names need the two joiners. */
const JOINING =
  "Arabic Syriac Mongolian Nko Mandaic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Tibetan Myanmar Khmer"
    .split(" ")
    .map(script => `\\p{Script=${script}}`)
    .join("");

/**
 * Characters without a shape, or that turn what follows around. Not line feeds and tabs; nor what joins emoji, or letters of one of the
 * scripts above.
 */
const HIDDEN = new RegExp(
  `(?!(?<=\\p{Extended_Pictographic}|\\p{Emoji_Modifier}|\\uFE0F)[\\uFE0F\\u200D])` +
    `(?!(?<=[${JOINING}])[\\u200C\\u200D](?=[${JOINING}]))(?![\\n\\t])` +
    `[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800]`,
  "gu",
);

/** What is hidden in a text is shown as its code point. */
export const visible = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replace(HIDDEN, one => `⟨${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`);
