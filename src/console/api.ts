import { addresses, type Operations } from "../client/api.ts";

import { learnTime } from "./clock.ts";
import { endRefused, isStale, plan, renewal, session } from "./session.ts";
import { BASE, settings } from "./settings.ts";
import { createStore } from "./store.ts";

type Name = keyof Operations;
type Input<O extends Name> = Operations[O]["takes"];
type Given<O extends Name> = Record<string, never> extends Input<O> ? [input?: Input<O>] : [input: Input<O>];
type Answers<O extends Name> = Operations[O]["answers"];
type Done<O extends Name> = Answers<O>[keyof Answers<O> & (200 | 201 | 202)];

export interface Answer<T> {
  body: T;
  etag: string | null;
  /** The cursor of the next page. */
  next: string | null;
}

interface Problem {
  error: string;
  detail: string;
  request_id?: string;
  errors?: { field: string; message: string }[];
}

/** An answer that is no success; status 0: there was none. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
    readonly requestId: string | null,
  ) {
    super(problem.detail);
  }
}

/** Why the page waits before it asks again; null while it does not. */
export interface Waiting {
  why: string;
  /** When it asks again, by the reader's clock. */
  until: number;
  now: () => void;
}
export const waiting = createStore<Waiting | null>(null);

type Init = { method?: string; headers?: Record<string, string>; body?: string };

export interface Options {
  /** The slug in X-Tenant; the default tenant's where any will do. */
  tenant?: string;
  signal?: AbortSignal;
}

const LONGEST_WAIT_S = 60;

/** An API key belongs to its tenant, and names it. */
const tenantHeader = (token: string, tenant: string | undefined): Record<string, string> => {
  if (token.startsWith("tms_")) return {};
  return { "x-tenant": tenant ?? settings.defaultTenant };
};

export function addressOf(operation: Name, params: Record<string, string> = {}, query: object = {}): URL {
  const filled = addresses[operation][1].replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(params[name]!),
  );
  const to = new URL(filled.slice(1), BASE);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== "") to.searchParams.set(name, String(value));
  return to;
}

/** A request with the session's token, renewed first where needed. @throws Refused 0 without an answer, 401 when the session is over */
export async function send(to: URL, init: Init, options: Options): Promise<Response> {
  for (let tries = 0; ; tries++) {
    const begun = session.get();
    if (begun && isStale(begun)) await renewed();
    const token = session.get()?.access ?? "";
    try {
      return await sendOnce(to, init, token, options);
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
  } catch {
    throw new Refused(
      0,
      { error: "No answer", detail: "The provider of your sign-in cannot be reached." },
      null,
    );
  }
}

async function sendOnce(to: URL, init: Init, token: string, { tenant, signal }: Options): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, ...tenantHeader(token, tenant), ...init.headers };
  let answer: Response;
  try {
    answer = await fetch(to, { ...init, headers, cache: "no-store", ...(signal && { signal }) });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, { error: "No answer", detail: "The service cannot be reached." }, null);
  }
  if (learnTime(answer.headers.get("date"))) plan();
  if (answer.ok) return answer;
  throw await refusal(answer);
}

async function refusal(answer: Response): Promise<Refused> {
  const json = answer.headers.get("content-type")?.startsWith("application/json");
  const found: unknown = json ? await answer.json().catch(() => null) : null;
  const problem =
    typeof found === "object" && found !== null && "detail" in found
      ? (found as Problem)
      : { error: answer.statusText, detail: `Something before the service answered with ${answer.status}` };
  const refused = new Refused(answer.status, problem, answer.headers.get("x-request-id"));
  refusedAfter.set(refused, Number(answer.headers.get("retry-after")) || 1);
  return refused;
}
const refusedAfter = new WeakMap<Refused, number>();

/** How long to wait before a read is tried again, in seconds; undefined: trying again will not help. */
function pause(error: unknown, tries: number): number | undefined {
  if (!(error instanceof Refused)) return undefined;
  if (error.status === 0 || error.status === 502 || error.status === 504) return Math.min(2 ** tries, 30);
  if (error.status !== 503 && error.status !== 429) return undefined;
  return Math.max(refusedAfter.get(error) ?? 1, Math.min(2 ** tries, 30));
}

/** Reads are tried again by themselves after 503, 429 and lost connections; what writes is left to the reader. */
export async function retrying<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      const found = await work();
      if (tries > 0) waiting.set(null);
      return found;
    } catch (error) {
      const seconds = pause(error, tries);
      if (seconds === undefined || seconds > LONGEST_WAIT_S || signal?.aborted) {
        waiting.set(null);
        throw error;
      }
      const { status, message } = error as Refused;
      const why = `${message.replace(/\.$/, "")}${status ? ` (${status})` : ""}`;
      await sleep(seconds * 1000, signal, now =>
        waiting.set({ why, until: Date.now() + seconds * 1000, now }),
      );
    }
  }
}

/** Until the time has passed, the network is back, or `now` is called. */
export const sleep = (ms: number, signal?: AbortSignal, begun?: (now: () => void) => void) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(wake, ms);
    function wake() {
      clearTimeout(timer);
      removeEventListener("online", wake);
      resolve();
    }
    addEventListener("online", wake);
    begun?.(wake);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      removeEventListener("online", wake);
      waiting.set(null);
      reject(signal.reason as Error);
    });
  });

export async function call<O extends Name>(
  operation: O,
  input: Given<O>[0],
  options: Options = {},
): Promise<Answer<Done<O>>> {
  const { params, query, headers, body } = (input ?? {}) as Record<
    string,
    Record<string, string> | undefined
  >;
  const [method, , type = "application/json"]: readonly string[] = addresses[operation];
  const to = addressOf(operation, params, query);
  const init: Init = {
    method: method!,
    headers: { ...(body !== undefined && { "content-type": type }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
  const once = async () => {
    const answer = await send(to, init, options);
    const link = /<([^>]+)>;\s*rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
    return {
      body: (await answer.json()) as Done<O>,
      etag: answer.headers.get("etag"),
      next: link ? cursorOf(link) : null,
    };
  };
  return method === "GET" ? retrying(once, options.signal) : once();
}

function cursorOf(link: string): string | null {
  const { searchParams } = new URL(link, BASE);
  return searchParams.get("cursor") ?? searchParams.get("after");
}
