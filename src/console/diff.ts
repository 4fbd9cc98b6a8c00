interface Line {
  kind: "same" | "gone" | "new";
  text: string;
}

/** The lines of two texts: those of both, those gone, those new. The longest common subsequence, for texts of a page or two. */
export function diff(before: string, after: string): Line[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  // Of huge texts only the whole is compared: the table would have a cell for each pair of lines.
  if (a.length * b.length > 4_000_000) return [...lines("gone", a), ...lines("new", b)];
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i]![j] =
        a[i] === b[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
  const found: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push({ kind: "same", text: a[i]! });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && common[i + 1]![j]! >= common[i]![j + 1]!))
      found.push({ kind: "gone", text: a[i++]! });
    else found.push({ kind: "new", text: b[j++]! });
  }
  return found;
}

const lines = (kind: Line["kind"], texts: string[]) => texts.map(text => ({ kind, text }));

type Json = Record<string, unknown>;
export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Text of two values that differ only where they differ: keys in one order. */
export const pretty = (value: unknown): string => JSON.stringify(sorted(value), null, 2);
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map(key => [key, sorted(value[key])]),
  );
};

/** The merge patch (RFC 7396) that makes one object into the other. A null inside cannot be said by one: undefined. */
export function mergePatch(before: Json, after: Json): Json | undefined {
  const patch: Json = {};
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch[key] = null;
  for (const [key, value] of Object.entries(after)) {
    const was = Object.hasOwn(before, key) ? before[key] : undefined;
    if (pretty(was) === pretty(value)) continue;
    if (hasNull(value)) return undefined;
    const inner = isObject(value) && isObject(was) ? mergePatch(was, value) : value;
    if (inner === undefined) return undefined;
    patch[key] = inner;
  }
  return patch;
}

const hasNull = (value: unknown): boolean =>
  value === null || (isObject(value) && Object.values(value).some(hasNull));
