import { BASE } from "./settings.ts";

/** Other applications may share the origin, behind other path prefixes: every name begins with ours. */
export const SCOPE = `tenants-console ${BASE.pathname} `;

/** A value in this tab's session storage. */
interface Stored<T> {
  read: () => T | null;
  write: (value: T) => void;
  forget: () => void;
}

export const stored = <T>(name: string): Stored<T> => ({
  read() {
    try {
      return JSON.parse(sessionStorage.getItem(SCOPE + name) ?? "null") as T | null;
    } catch {
      return null;
    }
  },
  write: value => sessionStorage.setItem(SCOPE + name, JSON.stringify(value)),
  forget: () => sessionStorage.removeItem(SCOPE + name),
});

/** `crypto.randomUUID` is missing on plain http. */
export const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");
