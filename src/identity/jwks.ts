import { KeyObject } from "node:crypto";
import {
  type CryptoKey,
  compactVerify,
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JWKSCacheInput,
  jwksCache,
} from "jose";
import { Problem } from "../errors/errors.ts";

/** How long a fetch may take, how soon after one the next may follow, and how long keys serve. Milliseconds. */
const TIMEOUT = 3_000;
const COOLDOWN = 10_000;
const FRESH = 10 * 60_000;
const RETRY = 5_000;
const STALE = 60 * 60_000;

/** What says that the key set was read and the token does not fit it. Everything else is an outage. */
const REFUSALS = [errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys, errors.JOSENotSupported];

export interface Signed {
  header: { alg: string; kid?: string };
  /** header.payload, as signed */
  input: string;
  signature: string;
}

/**
 * A lookup of the public key (SPKI PEM) that a token names, in the key set at an address. An unknown `kid` asks the
 * server again at most every 10 s. While the server cannot be reached it is asked every 5 s, and the keys seen
 * in the last hour still serve.
 * @throws Problem 503 when the server is needed and cannot be reached; jose's errors when no key fits
 */
export function createKeySet(url: string, algorithms: readonly string[]): (token: Signed) => Promise<string> {
  const seen: JWKSCacheInput = {};
  const remote = createRemoteJWKSet(new URL(url), {
    timeoutDuration: TIMEOUT,
    cooldownDuration: COOLDOWN,
    cacheMaxAge: FRESH,
    [jwksCache]: seen,
  });
  const pems = new WeakMap<CryptoKey, string>();
  let local: ReturnType<typeof createLocalJWKSet> | undefined;
  let outage: unknown;
  let retryAt = 0;

  const unreachable = () => {
    const seconds = Math.max(1, Math.ceil((retryAt - performance.now()) / 1000));
    return new Problem(503, "Service unavailable", "The key set of the tokens cannot be reached", {
      headers: { "retry-after": String(seconds) },
      reason: "key_set_unreachable",
      cause: outage,
    });
  };

  async function find(token: Signed): Promise<CryptoKey> {
    if (performance.now() >= retryAt) {
      try {
        // By a clock that was set back jose would take the set for fresh, and too soon to ask for again.
        if ("uat" in seen && seen.uat > Date.now()) await remote.reload();
        return await remote(token.header);
      } catch (error) {
        if (REFUSALS.some(refusal => error instanceof refusal)) throw error;
        outage = error;
        retryAt = performance.now() + RETRY;
        local = "jwks" in seen ? createLocalJWKSet(seen.jwks) : undefined;
      }
    }
    if (!local || !("uat" in seen) || Date.now() > seen.uat + STALE) throw unreachable();
    return local(token.header).catch((error: unknown) => {
      // The key may have been published since: not the token's fault.
      throw error instanceof errors.JWKSNoMatchingKey ? unreachable() : error;
    });
  }

  return async token => {
    if (!algorithms.includes(token.header.alg)) throw new errors.JOSENotSupported();
    const key = await find(token).catch(async (error: unknown) => {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // Without a kid several keys may fit: the one that verifies is meant.
      for await (const candidate of error) {
        const fits = await compactVerify(`${token.input}.${token.signature}`, candidate).catch(
          () => undefined,
        );
        if (fits) return candidate;
      }
      throw error;
    });
    const known = pems.get(key);
    if (known) return known;
    const object = KeyObject.from(key);
    if ((object.asymmetricKeyDetails?.modulusLength ?? 2048) < 2048) throw new errors.JWKSNoMatchingKey();
    const pem = object.export({ type: "spki", format: "pem" }).toString();
    pems.set(key, pem);
    return pem;
  };
}
