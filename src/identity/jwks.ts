import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "../config/config.ts";
import { algorithmsOf, KINDS, namesOf } from "../config/kinds.ts";
import { Problem } from "../errors/errors.ts";

/** Milliseconds: how long a read may take, and how soon the next one may follow a good and a failed one. */
const TIMEOUT = 3_000;
const COOLDOWN = 10_000;
const RETRY = 5_000;
/** Bytes of an answer. Key sets of providers have a few thousand. */
const LARGEST = 256 * 1024;
/** How long the keys of a read serve without another one, and how long while the address gives no keys. */
const FRESH = 10 * 60_000;
const STALE = 60 * 60_000;
/** A background read follows a good one after half of FRESH, a failed one after this. */
const TICK = 30_000;

export interface Header {
  alg: string;
  kid?: unknown;
  typ?: unknown;
}

interface Key {
  kid: unknown;
  algorithms: readonly string[];
  /** SPKI */
  pem: string;
}

interface KeySet {
  /**
   * The public keys (SPKI PEM) that may have signed a token; none for an unknown key.
   * @throws Problem 503 where the address gives no keys and the key is not known from earlier
   */
  find(header: Header): Promise<string[]>;
  /** Reads the keys when they are due. Never rejects. */
  refresh(): Promise<void>;
  /** Unix time of the last good read, 0 before it. */
  readonly lastSuccess: number;
  readonly failures: number;
}

/** Undefined for a key that is incomplete or broken: what Node.js says of it names its own parameters. */
function publicKeyOf(jwk: JsonWebKey): KeyObject | undefined {
  try {
    return createPublicKey({ key: jwk, format: "jwk" });
  } catch {
    return undefined;
  }
}

/** @throws Error that tells why the key verifies no token */
function toKey(jwk: JsonWebKey | null, accepted: readonly string[]): Key {
  if (typeof jwk !== "object" || !jwk || Array.isArray(jwk)) throw new Error("is no JSON object");
  const { kid, kty, alg, use = "sig", key_ops: operations = ["verify"] } = jwk;
  if (use !== "sig" || !Array.isArray(operations) || !operations.includes("verify"))
    throw new Error("is not for signatures");
  // Node.js would derive the public half.
  if (jwk.d !== undefined) throw new Error("is a private key");
  const key = publicKeyOf(jwk);
  if (!key)
    throw new Error(`is incomplete or broken${typeof kty === "string" ? ` (${kty})` : ", without a kty"}`);
  const algorithms = algorithmsOf(key);
  if (algorithms.length === 0) throw new Error("is too short or of an unknown kind");
  const fitting = algorithms.filter(
    name => accepted.includes(name) && (alg === undefined || namesOf(alg as string).includes(name)),
  );
  if (fitting.length === 0) throw new Error("is for algorithms that are not accepted");
  return { kid, algorithms: fitting, pem: key.export({ type: "spki", format: "pem" }).toString() };
}

async function readJson(address: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const accept = "application/json, application/jwk-set+json";
  const response = await fetch(address, { redirect: "manual", signal, headers: { accept } });
  const { status, headers } = response;
  if (status !== 200) {
    await response.body?.cancel();
    const location = headers.get("location");
    throw new Error(`it answers ${status}${location ? `, a redirect to ${location}` : ""}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop ends the download.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > LARGEST) throw new Error(`it answers more than ${LARGEST / 1024} KiB`);
    chunks.push(chunk);
  }
  try {
    return Object(JSON.parse(Buffer.concat(chunks).toString())) as Record<string, unknown>;
  } catch {
    throw new Error(`it answers ${headers.get("content-type") ?? "a text"} that is no JSON`);
  }
}

/** The JWKs at an address, or at the one that a discovery document there names. */
async function readKeys(address: string): Promise<JsonWebKey[]> {
  const signal = AbortSignal.timeout(TIMEOUT);
  let found = await readJson(address, signal);
  if (!found.keys && typeof found.jwks_uri === "string") {
    const uri = KINDS.jwks.parse(found.jwks_uri);
    if (!uri) throw new Error(`it names the key set ${found.jwks_uri}, which is not ${KINDS.jwks.expects}`);
    found = await readJson(uri, signal);
  }
  if (!Array.isArray(found.keys)) throw new Error("it answers JSON without a list `keys`");
  return found.keys as JsonWebKey[];
}

/** What failed, in words: fetch hides it in the cause, and Node.js leaves the message of several attempts empty. */
function wordsOf(error: unknown): string {
  const { name, message, cause } = error as Error;
  if (name === "TimeoutError") return `it does not answer within ${TIMEOUT / 1000} s`;
  if (cause === undefined) return message;
  const { message: words, code } = cause as NodeJS.ErrnoException;
  return `it cannot be reached: ${words || code || message}`;
}

/**
 * The key set at an address, or at the one that the discovery document there names. All requests share one read. A key that cannot be
 * used is as good as absent; an answer without one usable key is an outage, like no answer.
 */
function createKeySet(address: string, accepted: readonly string[], log: FastifyBaseLogger): KeySet {
  let keys: Key[] = [];
  /** The ids of the keys in the last answer that cannot be used. */
  let unusable: unknown[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  let retryAt = Number.NEGATIVE_INFINITY;
  let outage: unknown;
  let reading: Promise<void> | undefined;
  let said = "";
  const state = { lastSuccess: 0, failures: 0 };

  /** An outage lasts for many reads, and is worth one line. */
  function say(level: "info" | "warn", sentence: string) {
    if (sentence !== said) log[level](sentence);
    said = sentence;
  }

  async function read(): Promise<void> {
    try {
      const faults: string[] = [];
      const [usable, others]: [Key[], unknown[]] = [[], []];
      for (const jwk of await readKeys(address)) {
        try {
          usable.push(toKey(jwk, accepted));
        } catch (error) {
          others.push(jwk?.kid);
          faults.push(
            `${jwk?.kid === undefined ? "a key without a kid" : JSON.stringify(jwk.kid)} ${(error as Error).message}`,
          );
        }
      }
      unusable = others;
      const rest = faults.length > 0 ? `; not used: ${faults.join(", ")}` : "";
      if (usable.length === 0) throw new Error(`it has no key that can be used${rest}`);
      keys = usable;
      readAt = performance.now();
      state.lastSuccess = Date.now() / 1000;
      outage = undefined;
      say("info", `SERVICE_JWT_JWKS_URL gives keys: ${usable.length}${rest}`);
    } catch (error) {
      outage = error;
      retryAt = performance.now() + RETRY;
      state.failures++;
      say("warn", `SERVICE_JWT_JWKS_URL gives no keys: ${wordsOf(error)}`);
    }
  }
  const readOnce = () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const age = () => performance.now() - readAt;

  function unreachable(): Problem {
    const seconds = Math.max(1, Math.ceil((retryAt - performance.now()) / 1000));
    return new Problem(503, "Service unavailable", "The key set of the tokens cannot be reached", {
      headers: { "retry-after": String(seconds) },
      reason: "key_set_unreachable",
      cause: outage,
    });
  }

  return Object.assign(state, {
    async find({ alg, kid }: Header) {
      const fitting = () =>
        keys.filter(key => key.algorithms.includes(alg) && (kid === undefined || key.kid === kid));
      const due = age() >= (fitting().length > 0 ? FRESH : COOLDOWN);
      if (due && performance.now() >= retryAt) await readOnce();
      const found = age() < STALE ? fitting() : [];
      // An unknown key may have been published since the last good read; one that is known to be broken is refused.
      const isBroken = kid !== undefined && unusable.includes(kid);
      if (found.length === 0 && outage !== undefined && !isBroken) throw unreachable();
      return found.map(({ pem }) => pem);
    },
    async refresh() {
      if (outage !== undefined || age() >= FRESH / 2) await readOnce();
    },
  });
}

declare module "fastify" {
  interface FastifyInstance {
    /** null where tokens are verified with a secret or one public key. */
    keySet: KeySet | null;
  }
}

/** Adds `app.keySet`, and reads it from the moment the service listens: no request should be the first to find a wrong address. */
export default fp(
  async (app: FastifyInstance, { config: { jwt } }: { config: Config }) => {
    const keySet = jwt.jwksUrl ? createKeySet(jwt.jwksUrl, jwt.algorithms.flatMap(namesOf), app.log) : null;
    app.decorate("keySet", keySet);
    if (!keySet) return;
    const refresh = () => void keySet.refresh();
    let timer: NodeJS.Timeout | undefined;
    app.addHook("onListen", async () => {
      refresh();
      timer = setInterval(refresh, TICK).unref();
    });
    app.addHook("onClose", async () => clearInterval(timer));
  },
  { name: "key-set", fastify: "5.x" },
);
