/** API keys: `tms_<tenant_id>_<secret>`. The database holds the SHA-256 of the secret, and decides on every request. */
import { randomBytes } from "node:crypto";
import { Recent } from "../values/recent.ts";
import { hashOf } from "../values/secret.ts";
import type { Identity, KeyInUse } from "./identity.ts";

const PREFIX = "tms_";
const KEY = /^tms_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})_([0-9a-f]{64})$/;

/** A provider that no token may name. */
export const KEY_PROVIDER = "key";

/** A JWT begins with the Base64 of `{"`. */
export const isKey = (token: string): boolean => token.startsWith(PREFIX);

export function newSecret(): { hash: string; keyIn: (tenantId: string) => string } {
  const secret = randomBytes(32).toString("hex");
  return { hash: hashOf(secret), keyIn: tenantId => `${PREFIX}${tenantId}_${secret}` };
}

/** For as long as a key counts as known after its last request, and for so many keys. */
const KEPT_MS = 600_000;
const MOST_KEPT = 10_000;

/**
 * The identities of keys. Limits and shares count a key by its id once the database has admitted it, before that by the address that it
 * comes from. Whether it may do anything is for the database alone to say, each time.
 */
export class Keys {
  /** By the key as it was sent, as tokens are kept: to hash it anew would cost every request. */
  readonly #kept = new Recent<{ identity: Identity; until: number }>(MOST_KEPT);

  /** Undefined for a text that is no key. */
  identify(token: string, network: string): Identity | undefined {
    const known = this.#kept.get(token);
    if (known && known.until > performance.now()) return known.identity;
    const [, tenantId, secret] = KEY.exec(token) ?? [];
    return secret === undefined
      ? undefined
      : this.#identity(token, `${tenantId}:${hashOf(secret)}`, `at ${network}`, null);
  }

  #identity(token: string, credential: string, subject: string, tenant: string | null): Identity {
    const key: KeyInUse = {
      credential,
      tenant,
      admitted: (id, slug) => this.#admit(token, credential, id, slug),
      refused: () => this.#kept.delete(token),
    };
    const none = { email: null, name: null, claims: {}, operator: false };
    return Object.freeze({ provider: KEY_PROVIDER, subject, key, ...none });
  }

  #admit(token: string, credential: string, id: string, slug: string): void {
    const known = this.#kept.get(token);
    const now = performance.now();
    const same = known?.identity.key?.tenant === slug;
    if (same && known!.until > now + KEPT_MS / 2) return;
    const identity = same ? known!.identity : this.#identity(token, credential, id, slug);
    this.#kept.set(token, { identity, until: now + KEPT_MS });
  }
}
