/**
 * Matches a text with a character that shows: format characters (also tags), fillers, and U+2800 and U+1D159, which have no class of their
 * own, show nothing. The database's constraints on names have the same rule; a test compares them for each code point.
 */
export const VISIBLE_PATTERN =
  "[^\\p{White_Space}\\p{Cc}\\p{Cf}\\p{Default_Ignorable_Code_Point}\\u2800\\u{1D159}]";
const visible = new RegExp(VISIBLE_PATTERN, "u");
export const isVisible = (text: string) => visible.test(text);
