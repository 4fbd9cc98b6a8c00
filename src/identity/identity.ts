import type { Claims } from "./claims.ts";

/** What a request with a key shows the database, and what the database last said of it. */
export interface KeyInUse {
  /** The id of the tenant that it names, and the hash of its secret, as control.enter_key() takes them. */
  readonly credential: string;
  /** The slug of its tenant; null until the database has admitted it. */
  readonly tenant: string | null;
  admitted(keyId: string, tenant: string): void;
  refused(): void;
}

/** Who calls: the pair (provider, subject). Frozen to its depth, since every request with the same token shares it. */
export interface Identity {
  /** The token's `iss`, or "jwt" when it has none; "key" for an API key. */
  readonly provider: string;
  /** Of an API key its id, once the database has admitted it; before that a name for its address. */
  readonly subject: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly claims: Claims;
  readonly operator: boolean;
  /** Only of an API key, which the database verifies. */
  readonly key?: KeyInUse;
}
