import { createStore } from "./store.ts";

/** `#/tenant/<id>/members?x=y` as its parts. */
export interface Route {
  parts: string[];
  query: URLSearchParams;
}

function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { parts, query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = createStore(parse(location.hash));
addEventListener("hashchange", () => route.set(parse(location.hash)));

export const path = (parts: string[], query: Record<string, string> = {}): string => {
  const filled = Object.entries(query).filter(([, value]) => value !== "");
  const search = filled.length > 0 ? `?${new URLSearchParams(filled).toString()}` : "";
  return `#/${parts.map(encodeURIComponent).join("/")}${search}`;
};

export function go(to: string): void {
  location.hash = to;
}

/** Without an entry in the history: for filters that change while somebody types. */
export function replace(to: string): void {
  history.replaceState(null, "", to);
  route.set(parse(location.hash));
}
