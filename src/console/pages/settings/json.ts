import { faultOf } from "../../../values/json-text.ts";
import { isObject, pretty } from "../../diff.ts";

export type Json = Record<string, unknown>;

/** The value of a JSON text, or what is wrong with it: also what JSON.parse would round or drop. */
export function parseJson(text: string, cure = " Write it as text, in quotes."): { value: unknown } | string {
  try {
    const value: unknown = JSON.parse(text);
    const fault = faultOf(text);
    if (!fault) return { value };
    const more = fault.message.includes("number") ? cure : "";
    return `${fault.field === "body" ? "The text" : fault.field} ${fault.message}.${more}`;
  } catch (error) {
    return `This is no JSON: ${(error as Error).message}`;
  }
}

export function parseSettings(text: string): Json | string {
  const found = parseJson(text);
  if (typeof found === "string") return found;
  return isObject(found.value) ? found.value : "Settings are one object: { … }";
}

/** The reader's changes, key by key, made to what somebody else saved. */
export function onto(theirs: Json, base: Json, mine: Json): Json {
  const found = { ...theirs };
  for (const key of new Set([...Object.keys(base), ...Object.keys(mine)])) {
    if (pretty(base[key]) === pretty(mine[key])) continue;
    if (!Object.hasOwn(mine, key)) delete found[key];
    else if (isObject(mine[key]) && isObject(theirs[key]))
      found[key] = onto(theirs[key], isObject(base[key]) ? base[key] : {}, mine[key]);
    else found[key] = mine[key];
  }
  return found;
}
