import { renew, revoke, type Tokens } from "./oidc.ts";
import { createStore } from "./store.ts";

/** The key of this tab's session storage. Tokens stand nowhere else but in memory. */
const KEY = "session";
/** Renewed so long before the token ends. */
const EARLY_MS = 60_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface Session extends Tokens {
  /** Claims of the token, unverified: the page only shows them. Empty for an API key. */
  claims: Record<string, unknown>;
}

export const session = createStore<Session | null>(null);
/** Why there is no session any more, in words. */
export const ended = createStore<string | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;

/** The claims of a JWT; an API key has none. */
export function claimsOf(token: string): Record<string, unknown> {
  try {
    const [, payload] = token.split(".");
    const bytes = Uint8Array.from(atob(payload!.replaceAll("-", "+").replaceAll("_", "/")), one =>
      one.charCodeAt(0),
    );
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === "object" && claims !== null ? (claims as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const endOf = ({ claims }: Session) =>
  typeof claims.exp === "number" ? claims.exp * 1000 : Number.POSITIVE_INFINITY;

export function signIn(tokens: Tokens): void {
  ended.set(null);
  take({ ...tokens, claims: claimsOf(tokens.access) });
}

function take(next: Session): void {
  const { claims: _, ...tokens } = next;
  sessionStorage.setItem(KEY, JSON.stringify(tokens));
  session.set(next);
  clearTimeout(timer);
  const left = endOf(next) - Date.now();
  const wait = next.refresh ? Math.max(left - EARLY_MS, Math.min(left / 2, 1_000)) : left;
  if (wait <= LONGEST_TIMER_MS) timer = setTimeout(expire, Math.max(0, wait));
}

async function expire(): Promise<void> {
  const current = session.get();
  if (!current) return;
  try {
    if (!current.refresh) throw new Error();
    const tokens = await renew(current);
    if (session.get() === current) take({ ...tokens, claims: claimsOf(tokens.access) });
  } catch {
    if (session.get() === current)
      endSession("Your sign-in has ended. Sign in again to go on where you were.");
  }
}

/** Forgets the tokens, and says why. */
export function endSession(why: string | null): void {
  clearTimeout(timer);
  sessionStorage.clear();
  ended.set(why);
  session.set(null);
}

/** Leaves no token in this tab, nor a usable refresh token at the provider. */
export async function signOut(): Promise<void> {
  const current = session.get();
  endSession(null);
  history.replaceState(null, "", location.pathname);
  if (current) await revoke(current);
}

/** The session that this tab had before it was loaded again. */
export function resume(): void {
  try {
    const tokens = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Tokens | null;
    if (tokens) take({ ...tokens, claims: claimsOf(tokens.access) });
  } catch {
    sessionStorage.removeItem(KEY);
  }
}
