import {
  type Done,
  type Given,
  type Name,
  nextOf,
  pauseAfter,
  Refused,
  type Request,
  refusalOf,
  requestOf,
  send as sendTo,
} from "../client/client.ts";
import { learnTime } from "./clock.ts";
import { noProvider } from "./oidc.ts";
import { endRefused, isStale, plan, renewal, session } from "./session.ts";
import { BASE, settings } from "./settings.ts";
import { createStore } from "./store.ts";

export { Refused };

export interface Answer<T> {
  body: T;
  etag: string | null;
  /** The cursor of the next page. */
  next: string | null;
}

/** Why the page waits before it asks again; null while it does not. */
export interface Waiting {
  why: string;
  /** When it asks again, by the reader's clock. */
  until: number;
}
export const waiting = createStore<Waiting | null>(null);

/** Raised when an organization refuses the reader: their role or its status may have changed. */
export const denied = createStore(0);

export interface Options {
  /** The slug in X-Tenant; the default tenant's where any will do. */
  tenant?: string;
  signal?: AbortSignal;
}

const LONGEST_WAIT_S = 60;

/** A request with the session's token, renewed first where needed. @throws Refused 0 without an answer, 401 when the session is over */
export async function send(request: Request, options: Options): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const begun = session.get();
    if (begun && isStale(begun)) await renewed();
    const token = session.get()?.access ?? "";
    try {
      return await sendOnce(request, token, options);
    } catch (error) {
      const current = session.get();
      if (!(error instanceof Refused) || error.status !== 401 || !current || tries > 1) throw error;
      // Refused, so it did nothing: it is sent again with a newer token.
      if (current.access !== token) continue;
      if (!current.refresh || tries > 0) {
        endRefused(current, error.message);
        throw error;
      }
      await renewed();
    }
  }
}

async function renewed(): Promise<void> {
  try {
    await renewal();
  } catch (error) {
    throw noProvider(error);
  }
}

async function sendOnce(request: Request, token: string, { tenant, signal }: Options): Promise<Response> {
  const caller = { url: BASE, token, tenant: tenant ?? settings.defaultTenant };
  const answer = await sendTo(request, caller, { cache: "no-store", ...(signal && { signal }) });
  if (learnTime(answer.headers.get("date"))) plan();
  if (answer.ok) return answer;
  if (answer.status === 403 && tenant !== undefined) denied.set(denied.get() + 1);
  throw await refusalOf(answer);
}

/** Reads are tried again by themselves after 503, 429 and lost connections; what writes is left to the reader. */
async function retrying<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      const found = await work();
      if (tries > 0) {
        waiting.set(null);
        wakeAll();
      }
      return found;
    } catch (error) {
      const seconds = pauseAfter(error, tries);
      if (seconds === undefined || seconds > LONGEST_WAIT_S || signal?.aborted) {
        waiting.set(null);
        throw error;
      }
      const { status, message } = error as Refused;
      const why = `${message.replace(/\.$/, "")}${status ? ` (${status})` : ""}`;
      waiting.set({ why, until: Date.now() + seconds * 1000 });
      asleep++;
      await sleep(seconds * 1000, signal).finally(() => {
        if (--asleep === 0 && signal?.aborted) waiting.set(null);
      });
    }
  }
}

/** The reads that the banner is about. */
let asleep = 0;

const sleepers = new Set<() => void>();
/** All that waits for the service asks again at once. */
export const wakeAll = (): void => {
  for (const wake of sleepers) wake();
};
addEventListener("online", wakeAll);

/** Until the time has passed, the network is back, the reader asks for it, or another read was answered. */
export const sleep = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(wake, ms);
    sleepers.add(wake);
    function wake() {
      clearTimeout(timer);
      sleepers.delete(wake);
      resolve();
    }
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      sleepers.delete(wake);
      reject(signal.reason as Error);
    });
  });

export async function call<O extends Name>(
  operation: O,
  input: Given<O>[0],
  options: Options = {},
): Promise<Answer<Done<O>>> {
  const request = requestOf(operation, input);
  const once = async () => {
    const answer = await send(request, options);
    const { headers } = answer;
    return { body: (await answer.json()) as Done<O>, etag: headers.get("etag"), next: nextOf(headers) };
  };
  return request.method === "GET" ? retrying(once, options.signal) : once();
}
