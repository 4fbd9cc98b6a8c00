import { learnTime, now } from "./clock.ts";
import { isOver, renew, type Tokens } from "./oidc.ts";
import { BASE } from "./settings.ts";
import { randomId, stored } from "./storage.ts";
import { createStore } from "./store.ts";
import { alone, join, leave, type Shared, tell } from "./tabs.ts";

/** Renewed so long before the token ends. */
const EARLY_MS = 60_000;
/** A reader whose token cannot be renewed learns it so long before. */
const WARNING_MS = 120_000;
/** Computers sleep, and timers with them: the clock is looked at again after so long at the latest. */
const LONGEST_TIMER_MS = 60_000;
const LONGEST_PAUSE_MS = 30_000;

export interface Session extends Shared {
  /** Claims of the token, unverified: the page only shows them. Empty for an API key. */
  claims: Record<string, unknown>;
}

const kept = stored<Shared>("session");

export const session = createStore<Session | null>(null);
/** Why there is no session any more, in words. */
export const ended = createStore<string | null>(null);
/** When the session ends, by the service's clock, if that is soon and nothing renews it. */
export const ending = createStore<number | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;
let failures = 0;

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

/** Milliseconds until the token ends; undefined as long as nobody knows the time. */
function left({ claims }: Session): number | undefined {
  const time = now();
  if (typeof claims.exp !== "number") return Number.POSITIVE_INFINITY;
  return time === undefined ? undefined : claims.exp * 1000 - time;
}

export function signIn(tokens: Tokens): void {
  ended.set(null);
  if (tokens.provider) learnIssued(tokens);
  void take({ ...tokens, id: randomId(), serial: 0 });
}

/** A token that the provider has just given says what time it is. */
function learnIssued({ access }: Tokens): void {
  const { iat } = claimsOf(access);
  if (typeof iat === "number") learnTime(iat * 1000);
}

/** Resolves once other tabs can know. */
function take(shared: Shared): Promise<void> {
  kept.write(shared);
  failures = 0;
  session.set({ ...shared, claims: claimsOf(shared.access) });
  const known = join(shared, {
    own: () => session.get(),
    take: newer => void take(newer),
    over: () => endSession("You signed out in another tab."),
  });
  plan();
  return known;
}

/** Looks at the clock, and sets the timer for what comes next. */
export function plan(): void {
  clearTimeout(timer);
  const current = session.get();
  const rest = current && left(current);
  if (!current || rest === undefined || rest === null) return;
  if (current.refresh) {
    // A token of less than a minute is renewed halfway. Never at once: a clock that is wrong would make a loop.
    const due = failures > 0 ? Math.min(1_000 * 2 ** failures, LONGEST_PAUSE_MS) : rest - EARLY_MS;
    const wait = Math.max(due, Math.min(rest / 2, 1_000), 500);
    timer = setTimeout(
      () => (wait > LONGEST_TIMER_MS ? plan() : void renewal().catch(plan)),
      Math.min(wait, LONGEST_TIMER_MS),
    );
    return;
  }
  ending.set(rest < WARNING_MS ? Date.now() + rest : null);
  if (rest <= 0) void endIfOver(current);
  else
    timer = setTimeout(
      plan,
      Math.min(rest, rest > WARNING_MS ? rest - WARNING_MS : rest, LONGEST_TIMER_MS) + 50,
    );
}
for (const event of ["online", "focus", "pageshow"]) addEventListener(event, plan);

/** Asks the service for the time first: the reader's clock may have been set meanwhile. */
async function endIfOver(current: Session): Promise<void> {
  const answer = await fetch(new URL("health", BASE), { cache: "no-store" }).catch(() => undefined);
  if (session.get() !== current) return;
  if (learnTime(answer?.headers.get("date"))) plan();
  else endSession(OVER);
}

const OVER = "Your sign-in has ended. Sign in again to go on where you were.";

let renewing: Promise<void> | undefined;

/** Renews the token now. Only the provider's word ends the session. @throws whatever kept the provider from answering */
export function renewal(): Promise<void> {
  renewing ??= renewOnce().finally(() => {
    renewing = undefined;
  });
  return renewing;
}

async function renewOnce(): Promise<void> {
  const begun = session.get();
  if (!begun?.refresh) return;
  await alone(session.get, async () => {
    const current = session.get();
    if (current?.id !== begun.id || current.serial > begun.serial) return;
    try {
      const tokens = await renew(current);
      if (session.get() !== current) return;
      learnIssued(tokens);
      const known = take({ ...tokens, id: current.id, serial: current.serial + 1 });
      tell(session.get()!);
      await known;
    } catch (error) {
      failures++;
      if (!isOver(error)) throw error;
      if (session.get() === current) endSession(OVER);
    }
  });
}

/** Whether a request should wait for a renewal: the computer may have slept past the end of the token. */
export const isStale = (current: Session): boolean =>
  current.refresh !== undefined && (left(current) ?? EARLY_MS) < 5_000;

/** The service refused the token, and nothing renews it. */
export function endRefused(current: Session, detail: string): void {
  const over = (left(current) ?? 1) <= 0;
  endSession(over ? OVER : `The service refuses the token: ${detail}.`);
}

/** Forgets the tokens, and says why. */
export function endSession(why: string | null): void {
  clearTimeout(timer);
  leave();
  kept.forget();
  ended.set(why);
  ending.set(null);
  session.set(null);
}

/** The session that this tab had before it was loaded again. */
export function resume(): void {
  const found = kept.read();
  if (found) void take(found);
}
