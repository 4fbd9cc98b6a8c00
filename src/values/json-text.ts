/** What JSON text says that Postgres or JavaScript would not keep, found in one pass. */
import type { FieldError } from "./field-errors.ts";

const MAX_DEPTH = 32;
/** Postgres stores numbers written out: 1e308 has five characters in a body and 309 digits in the database. */
const MOST_DIGITS = 100_000;
/** Of a body: each costs more than its text. */
const MOST_VALUES = 10_000;

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[-+.\deE]*|[[\]{},]|[tfn][a-z]+/g;

interface Container {
  /** Null: an array. */
  keys: Set<string> | null;
  /** Of the value that is read now. */
  key: string | number;
}

/** `text` is valid JSON. JSON.parse rounds numbers and keeps the last of equal keys; both would store something else than the client sent. */
export function faultOf(text: string): FieldError | undefined {
  const path: Container[] = [];
  let takesKey = false;
  let values = 0;
  let digits = 0;
  const here = (containers = path) => containers.map(({ key }) => key).join(".") || "body";
  for (const [token] of text.matchAll(TOKENS)) {
    const container = path.at(-1);
    const first = token[0]!;
    if (first === "}" || first === "]") path.pop();
    else if (first === ",") {
      if (container!.keys) takesKey = true;
      else container!.key = (container!.key as number) + 1;
      continue;
    } else if (first === '"' && takesKey) {
      const key = textOf(token);
      const fault = textFault(key, here(path.slice(0, -1)));
      if (fault) return fault;
      if (container!.keys!.has(key)) {
        const name = [...path.slice(0, -1).map(one => one.key), key].join(".").slice(0, 100).toWellFormed();
        return { field: "body", message: `contains the field ${name} twice` };
      }
      container!.keys!.add(key);
      container!.key = key;
    } else {
      if (++values > MOST_VALUES)
        return { field: "body", message: `contains more than ${MOST_VALUES} values` };
      if (first === "{" || first === "[") {
        if (path.length > MAX_DEPTH)
          return { field: String(path[0]!.key), message: `is nested deeper than ${MAX_DEPTH} levels` };
        path.push(first === "{" ? { keys: new Set(), key: "" } : { keys: null, key: 0 });
        takesKey = first === "{";
        continue;
      }
      if (first === '"') {
        const fault = token.includes("\\") && textFault(textOf(token), here());
        if (fault) return fault;
      } else if (first === "-" || (first >= "0" && first <= "9")) {
        const fault = numberFault(token, here);
        if (fault) return fault;
        digits += Math.abs(Number(/[eE](.+)/.exec(token)?.[1] ?? 0));
        if (digits > MOST_DIGITS)
          return {
            field: "body",
            message: `contains powers of ten of more than ${MOST_DIGITS} digits together`,
          };
      }
    }
    takesKey = false;
  }
  return undefined;
}

const textOf = (token: string) => (token.includes("\\") ? (JSON.parse(token) as string) : token.slice(1, -1));

export function textFault(text: string, field: string): FieldError | undefined {
  if (text.includes("\0")) return { field, message: "contains a NUL character" };
  if (!text.isWellFormed()) return { field, message: "contains half of a surrogate pair" };
  return undefined;
}

function numberFault(token: string, here: () => string): FieldError | undefined {
  const number = Number(token);
  if (String(number) === token) return undefined;
  if (!Number.isFinite(number)) return { field: here(), message: "is a number out of range" };
  if (canonical(token) === canonical(String(number))) return undefined;
  return {
    field: "body",
    message: `contains the number ${token.slice(0, 40)}, which cannot be kept exactly`,
  };
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
