import { addresses, type Operations } from "./api.ts";

type Name = keyof Operations;
type Statuses<O extends Name> = keyof Operations[O]["answers"];

/** An answer; once `status` is known, so is the type of `body`. */
export type Answer<O extends Name> = {
  [S in Statuses<O>]: { status: S; body: Operations[O]["answers"][S]; headers: Headers };
}[Statuses<O>];

type Input<O extends Name> = Operations[O]["takes"];
/** What must be given is asked for; an operation that needs nothing is called with its name alone. */
type Given<O extends Name> = Record<string, never> extends Input<O> ? [input?: Input<O>] : [input: Input<O>];

export interface ClientOptions {
  /** Such as http://127.0.0.1:3000. */
  url: string;
  token: string;
  /** The X-Tenant header, for tokens that name no tenant. */
  tenant?: string;
}

/** A function that calls the service: `await call("getTenant", { params: { tenant_id } })`. */
export function createClient({ url, token, tenant }: ClientOptions) {
  return async function call<O extends Name>(operation: O, ...[input]: Given<O>): Promise<Answer<O>> {
    const { params, query, headers, body } = (input ?? {}) as Record<
      string,
      Record<string, string> | undefined
    >;
    const [method, path, media = "application/json"]: readonly [string, string, string?] =
      addresses[operation];
    const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(params![name]!));
    const search = query ? `?${new URLSearchParams(query).toString()}` : "";
    const answer = await fetch(new URL(filled + search, url), {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(tenant !== undefined && { "x-tenant": tenant }),
        ...(body !== undefined && { "content-type": media }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json = answer.headers.get("content-type")?.startsWith("application/json");
    const found = json ? await answer.json() : (await answer.text()) || undefined;
    return { status: answer.status, body: found, headers: answer.headers } as Answer<O>;
  };
}
