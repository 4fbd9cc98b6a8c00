/** A slug names a tenant. */
export const SLUG_PATTERN = "^[a-z0-9-]+$";
export const LONGEST_SLUG = 255;
const slug = new RegExp(SLUG_PATTERN);
export const isSlug = (text: string) => text.length <= LONGEST_SLUG && slug.test(text);
