/** The names of what a plan makes, by which the next plan knows what is there. */

export const ident = (name: string) =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !RESERVED.has(name) ? name : `"${name.replaceAll('"', '""')}"`;

/** Words that SQL reserves and that are likely names. */
const RESERVED = new Set(
  (
    "all analyse analyze and any array as asc both case cast check collate column constraint create default desc distinct do else end " +
    "except false fetch for foreign from grant group having in initially intersect into leading limit not null offset on only or order " +
    "placing primary references returning select some symmetric table then to trailing true union unique user using when where window with"
  ).split(" "),
);

export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** Names are cut at 63 bytes; the tail says what a thing is. */
const named = (stem: string, tail: string) => {
  let short = stem;
  while (Buffer.byteLength(short) > 62 - tail.length) short = short.slice(0, -1);
  return `${short}_${tail}`;
};

export const FILL = "tenancy_fill";
export const TENANCY_ID = "tenancy_id";
export const ONLY = "tenant_only";
export const ROWS = "tenant_rows";
export const PEOPLE = "tenancy_people";
export const OWNER = "tenancy_owner";
/** The audit reads the date in it (bridge_open). */
export const bridgeOf = (until: string) => `bridge_until_${until.replaceAll("-", "_")}`;
export const keyOf = (key: string) => named(key, "tenant");
export const indexOf = (table: string, columns: string[]) => named([table, ...columns].join("_"), "idx");
export const uniqueOf = (table: string, columns: string[]) => named([table, ...columns].join("_"), "key");
export const checkOf = (table: string, column: string) => named(`${table}_${column}`, "set");
