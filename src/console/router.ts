import { createStore } from "./store.ts";

/** `#/tenant/<id>/members?x=y` as its parts. */
interface Route {
  parts: string[];
  query: URLSearchParams;
}

export function parse(hash: string): Route {
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

export const route = createStore(parse(globalThis.location?.hash ?? ""));

/** What the reader has typed and not saved, in words: leaving the page asks first. */
export const unsaved = createStore<string | null>(null);
/** What the reader wants to do, such as to go elsewhere, while they are asked. */
export const leaving = createStore<(() => void) | null>(null);
let shown = globalThis.location?.hash ?? "";

globalThis.addEventListener?.("hashchange", () => {
  const { hash } = location;
  if (unsaved.get() !== null && hash !== shown) {
    leaving.set(() => go(hash));
    history.replaceState(null, "", location.pathname + shown);
    return;
  }
  show();
});
/** Whether the reader came by the browser's own buttons. Browsers that do not tell begin each page at its top. */
export let traversed = false;
globalThis.navigation?.addEventListener("navigate", ({ navigationType }) => {
  traversed = navigationType === "traverse";
});
globalThis.addEventListener?.("beforeunload", event => {
  if (unsaved.get() !== null) event.preventDefault();
});

function show(): void {
  shown = location.hash;
  route.set(parse(shown));
}

export const path = (parts: string[], query: Record<string, string> = {}): string => {
  const filled = Object.entries(query).filter(([, value]) => value !== "");
  const search = filled.length > 0 ? `?${new URLSearchParams(filled).toString()}` : "";
  return `#/${parts.map(encodeURIComponent).join("/")}${search}`;
};

export function go(to: string): void {
  location.hash = to;
}

/** Leaves the page of what was just deleted: what was typed there is dropped without a question. */
export function goFromDeleted(to: string): void {
  unsaved.set(null);
  go(to);
}

/** Acts at once if nothing typed would be lost; else asks first. */
export function unlessUnsaved(act: () => void): void {
  if (unsaved.get() === null) act();
  else leaving.set(act);
}

/** Does what the reader wanted to do, without what they typed. */
export function leave(): void {
  const act = leaving.get();
  leaving.set(null);
  unsaved.set(null);
  act?.();
}

/** Without an entry in the history: for filters that change while somebody types. */
export function replace(to: string): void {
  history.replaceState(null, "", to);
  show();
}
