/** The client of the service's HTTP API, for Node.js and browsers: the console, the commands and the examples use it. */
import { addresses, type Operations } from "./api.ts";

export type Name = keyof Operations;
type Answers<O extends Name> = Operations[O]["answers"];
/** What may be left out may be undefined, too. */
type Loose<T> = T extends object
  ? string extends keyof T
    ? T
    : { [K in keyof T]: Loose<T[K]> | (Record<never, never> extends Pick<T, K> ? undefined : never) }
  : T;
export type Input<O extends Name> = Loose<Operations[O]["takes"]>;
/** What must be given is asked for; an operation that needs nothing is called with its name alone. */
export type Given<O extends Name> =
  Record<string, never> extends Input<O> ? [input?: Input<O>] : [input: Input<O>];

/** An answer; once `status` is known, so is the type of `body`. */
export type Answer<O extends Name> = {
  [S in keyof Answers<O>]: { status: S; body: Answers<O>[S]; headers: Headers };
}[keyof Answers<O>];

/** The body of a success. */
export type Done<O extends Name> = Answers<O>[keyof Answers<O> & (200 | 201 | 202)];

export interface Problem {
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
    readonly headers = new Headers(),
    options?: ErrorOptions,
  ) {
    super(problem.detail, options);
  }

  get requestId(): string | null {
    return this.headers.get("x-request-id");
  }

  /** When to try again, in seconds. */
  get retryAfter(): number | undefined {
    return Number(this.headers.get("retry-after")) || undefined;
  }
}

export interface Request {
  /** Of the service's root, without a slash before it. */
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
}

export function requestOf<O extends Name>(operation: O, input: Input<O> | undefined): Request {
  type Values = Record<string, string | undefined>;
  const { params, query = {}, headers = {}, body } = (input ?? {}) as Record<string, Values | undefined>;
  const [method, template, media = "application/json"]: readonly string[] = addresses[operation];
  const path = template!
    .slice(1)
    .replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(params![name]!));
  const given = (values: Values) =>
    Object.entries(values).filter((one): one is [string, string] => one[1] !== undefined && one[1] !== "");
  const search = new URLSearchParams(given(query)).toString();
  return {
    path: search ? `${path}?${search}` : path,
    method: method!,
    headers: {
      ...(body !== undefined && { "content-type": media }),
      ...Object.fromEntries(given(headers)),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
}

export interface Caller {
  /** The service's root, such as http://127.0.0.1:3000. */
  url: string | URL;
  token: string;
  /** The X-Tenant header, for tokens that name no tenant. An API key names its own. */
  tenant?: string | undefined;
}

/** @throws Refused 0 without an answer */
export async function send(
  { path, headers, ...request }: Request,
  { url, token, tenant }: Caller,
  options: { cache?: "no-store"; signal?: AbortSignal } = {},
): Promise<Response> {
  const named = tenant !== undefined && !token.startsWith("tms_");
  try {
    return await fetch(`${String(url).replace(/\/$/, "")}/${path}`, {
      ...options,
      ...request,
      headers: { authorization: `Bearer ${token}`, ...(named && { "x-tenant": tenant }), ...headers },
    });
  } catch (cause) {
    // Only the caller's own abort is theirs to hear of; a time-out is no answer.
    if (options.signal?.aborted && (cause as Error).name !== "TimeoutError") throw cause;
    const problem = { error: "No answer", detail: "The service cannot be reached." };
    throw new Refused(0, problem, undefined, { cause });
  }
}

const bodyOf = (answer: Response): Promise<unknown> =>
  answer.headers.get("content-type")?.startsWith("application/json")
    ? answer.json().catch(() => undefined)
    : answer.text().then(text => text || undefined);

/** What a refusal says. */
export async function refusalOf(answer: Response): Promise<Refused> {
  const found = await bodyOf(answer);
  const problem =
    typeof found === "object" && found !== null && "detail" in found
      ? (found as Problem)
      : { error: answer.statusText, detail: `Something before the service answered with ${answer.status}` };
  return new Refused(answer.status, problem, answer.headers);
}

/** The cursor of the next page. Behind a proxy the link may name another address: only its query counts. */
export function nextOf(headers: Headers): string | null {
  const link = /<[^>?]*\?([^>]+)>;\s*rel="next"/.exec(headers.get("link") ?? "")?.[1];
  const query = new URLSearchParams(link);
  return query.get("cursor") ?? query.get("after");
}

/** How long to wait before a read is sent again, in seconds; undefined: trying again will not help. */
export function pauseAfter(error: unknown, tries: number): number | undefined {
  if (!(error instanceof Refused)) return undefined;
  const { status, retryAfter = 1 } = error;
  const longer = Math.min(2 ** tries, 30);
  if (status === 0 || status === 502 || status === 504) return longer;
  return status === 503 || status === 429 ? Math.max(retryAfter, longer) : undefined;
}

/** Operations whose list ends. Event feeds go on: they take `after`. */
export type Listed = {
  [O in Name]: Input<O> extends { query?: infer Q }
    ? "cursor" extends keyof NonNullable<Q>
      ? O
      : never
    : never;
}[Name];

export interface Client {
  /** Any answer: `await client("getTenant", { params: { tenant_id } })`. */
  <O extends Name>(operation: O, ...input: Given<O>): Promise<Answer<O>>;
  /** The body of a success. @throws Refused */
  call<O extends Name>(operation: O, ...input: Given<O>): Promise<Done<O>>;
  /** One page of a list, and the cursor of the next one. @throws Refused */
  page<O extends Listed>(operation: O, ...input: Given<O>): Promise<{ body: Done<O>; next: string | null }>;
  /** The pages of a list, the first one with the query that is given. @throws Refused */
  pages<O extends Listed>(operation: O, ...input: Given<O>): AsyncGenerator<Done<O>, void>;
}

export interface ClientOptions extends Caller {
  /** An answer that takes longer is none. */
  timeoutMs?: number;
}

export function createClient({ timeoutMs, ...caller }: ClientOptions): Client {
  const ask = <O extends Name>(operation: O, input: Input<O> | undefined) =>
    send(
      requestOf(operation, input),
      caller,
      timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(timeoutMs) },
    );
  async function client<O extends Name>(operation: O, ...[input]: Given<O>): Promise<Answer<O>> {
    const answer = await ask(operation, input);
    return { status: answer.status, body: await bodyOf(answer), headers: answer.headers } as Answer<O>;
  }
  async function page<O extends Name>(operation: O, ...[input]: Given<O>) {
    const answer = await ask(operation, input);
    if (!answer.ok) throw await refusalOf(answer);
    return { body: (await answer.json()) as Done<O>, next: nextOf(answer.headers) };
  }
  async function* pages<O extends Name>(operation: O, ...[input]: Given<O>) {
    const { query, ...rest } = (input ?? {}) as { query?: object };
    for (let cursor: string | undefined | null; cursor !== null; ) {
      const given = { ...rest, query: { ...query, ...(cursor && { cursor }) } };
      const found = await page(operation, ...([given] as unknown as Given<O>));
      cursor = found.next;
      yield found.body;
    }
  }
  return Object.assign(client, {
    call: async <O extends Name>(operation: O, ...input: Given<O>) => (await page(operation, ...input)).body,
    page,
    pages: pages as Client["pages"],
  });
}
