/** Scripts that join letters, and whose names need the two joiners. */
const JOINING =
  "Arabic Syriac Mongolian Nko Mandaic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Tibetan Myanmar Khmer"
    .split(" ")
    // With marks that several scripts share, such as Arabic vowels.
    .map(script => `\\p{Script_Extensions=${script}}`)
    .join("");

const EMOJI = "\\p{Extended_Pictographic}";

/** Hidden characters that writing needs: after what, which, before what. */
const NEEDED = [
  ["", "[\\n\\t]", ""],
  [`[${JOINING}]`, "[\\u200C\\u200D]", `[${JOINING}]`],
  [EMOJI, "[\\uFE0E\\uFE0F]", ""],
  [`${EMOJI}\\uFE0F?|\\p{Emoji_Modifier}`, "\\u200D", EMOJI],
  ["[#*\\d]", "\\uFE0F", "\\u20E3"],
  // Forms of one letter: of Japanese names, of Mongolian.
  ["\\p{Script=Han}", "[\\u{E0100}-\\u{E01EF}]", ""],
  ["\\p{Script=Mongolian}", "[\\u180B-\\u180F]", ""],
] as const;

/** A whole flag (of England, Scotland, Wales); else one character that has no shape, or turns around what follows. */
const HIDDEN = new RegExp(
  "(\\u{1F3F4}\\u{E0067}\\u{E0062}(?:\\u{E0065}\\u{E006E}\\u{E0067}|\\u{E0073}\\u{E0063}\\u{E0074}|\\u{E0077}\\u{E006C}\\u{E0073})\\u{E007F})|" +
    `${NEEDED.map(([before, which, after]) => `(?!(?<=${before})${which}(?=${after}))`).join("")}` +
    "[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800]",
  "gu",
);

/** What is hidden in a text is shown as its code point. */
export const visible = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replace(
      HIDDEN,
      (one, flag?: string) => flag ?? `⟨${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`,
    );
