/** Postgres stores numbers written out: 1e308 has five characters in a body and 309 digits in the database. */
const MOST_DIGITS = 100_000;

const LITERALS = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE]([+-]?\d+))?/g;

/** JSON.parse rounds numbers and keeps the last of equal keys; both would store something else than the client sent. */
export function lossOf(text: string, parsed: unknown): string | undefined {
  let keys = 0;
  let digits = 0;
  for (const [literal, isKey, exponent = "0"] of text.matchAll(LITERALS)) {
    digits += Math.abs(Number(exponent));
    if (isKey) keys += 1;
    else if (literal[0] !== '"' && canonical(literal) !== canonical(String(Number(literal))))
      return `contains the number ${literal.slice(0, 40)}, which cannot be kept exactly`;
  }
  if (digits > MOST_DIGITS) return `contains powers of ten of more than ${MOST_DIGITS} digits together`;
  return keys === countKeys(parsed) ? undefined : "contains a field twice";
}

function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value);
  return inner.reduce<number>((sum, one) => sum + countKeys(one), Array.isArray(value) ? 0 : inner.length);
}

/** Sign, significant digits and exponent: equal texts for equal decimals. */
function canonical(literal: string): string {
  const [, sign, whole, fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  if (whole === undefined) return literal;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/(?<!0)0+$/, "");
  if (!significant) return "0";
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
