import fastifyJwt from "@fastify/jwt";
import type { FastifyInstance, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "../config/config.ts";
import { Problem } from "../errors/errors.ts";
import { TOKEN_REASONS } from "../errors/problems.ts";
import { text } from "../values/printable.ts";
import { createKeySet, type Signed } from "./jwks.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** Who calls: the pair (provider, subject). Frozen to its depth, since every request with the same token shares it. */
export interface Identity {
  /** The token's `iss`, or "jwt" when it has none. */
  readonly provider: string;
  readonly subject: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly claims: Claims;
  readonly operator: boolean;
}

declare module "fastify" {
  interface FastifyRequest {
    identity: Identity;
  }
}

const CHALLENGE = 'Bearer realm="tenants"';
const BEARER = /^bearer (\S+)$/i;
const LONGEST_TOKEN = 8 * 1024;
const TOLERANCE_MS = 5_000;
/** So long may a verified token be taken for good unseen; a removed key or an edited claim set is out after it. */
const KEPT_MS = 60_000;
const KEPT_TOKENS = 2_000;

type Reason = keyof typeof TOKEN_REASONS;

/** What the libraries call it. A code that is missing here is still a refusal: `invalid`. */
const BY_CODE = new Map<unknown, Reason>([
  ["FAST_JWT_MALFORMED", "malformed"],
  ["FAST_JWT_INVALID_PAYLOAD", "malformed"],
  ["FAST_JWT_INVALID_ALGORITHM", "algorithm"],
  ["ERR_JOSE_NOT_SUPPORTED", "algorithm"],
  ["FAST_JWT_MISSING_SIGNATURE", "unsigned"],
  ["FAST_JWT_INVALID_SIGNATURE", "signature"],
  ["FAST_JWT_VERIFY_ERROR", "signature"],
  ["FST_JWT_AUTHORIZATION_TOKEN_INVALID", "signature"],
  ["ERR_JWKS_NO_MATCHING_KEY", "unknown_key"],
  ["ERR_JWKS_MULTIPLE_MATCHING_KEYS", "unknown_key"],
  ["FAST_JWT_INVALID_CRIT_HEADER", "critical_header"],
]);

/** 401 with the challenge of RFC 6750: no error code for a caller who showed no token at all. */
function refusal(reason: Reason, cause?: unknown): Problem {
  const code = reason === "malformed_header" ? "invalid_request" : "invalid_token";
  const challenge =
    reason === "no_credentials"
      ? CHALLENGE
      : `${CHALLENGE}, error="${code}", error_description="${TOKEN_REASONS[reason]}"`;
  const headers = { "www-authenticate": challenge };
  return new Problem(401, "Unauthorized", TOKEN_REASONS[reason], { headers, reason, cause });
}

/** @throws Problem 401 */
function bearer(authorization: string | undefined): string {
  const token = authorization && BEARER.exec(authorization)?.[1];
  if (!token) throw refusal(/^bearer\b/i.test(authorization ?? "") ? "malformed_header" : "no_credentials");
  if (token.length > LONGEST_TOKEN) throw refusal("too_long");
  return token;
}

/** A claim by its literal name, which may look like a URL, else by a dotted path. */
export function claimValue(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  const inside = (at: unknown, key: string) =>
    typeof at === "object" && at !== null && Object.hasOwn(at, key) ? (at as Claims)[key] : undefined;
  return name.split(".").reduce<unknown>(inside, claims);
}

function isOperator(claims: Claims, { claim, role }: Config["operator"]): boolean {
  const held = claimValue(claims, claim);
  if (typeof held === "string") return held === role || held.split(" ").includes(role);
  return Array.isArray(held) && held.includes(role);
}

const isFiniteNumber = (value: unknown): value is number => Number.isFinite(value);

/** Not recursive: the depth is the caller's choice. */
function freezeDeep(value: object): void {
  const left = [value];
  for (let next = left.pop(); next; next = left.pop()) {
    Object.freeze(next);
    for (const inner of Object.values(next))
      if (typeof inner === "object" && inner !== null) left.push(inner);
  }
}

/**
 * The identity that claims give: all that is asked of a token but its signature, so that src/identity/explain.ts asks the same.
 * @throws Problem 401
 */
export function toIdentity(claims: Claims, { jwt, operator }: Config): Identity {
  const { iss, aud, exp, nbf = 0 } = claims;
  const { issuer, audience } = jwt;
  const now = Date.now();
  const subject = text(claims.sub);
  const provider = Object.hasOwn(claims, "iss") ? text(iss) : "jwt";
  if (!isFiniteNumber(exp)) throw refusal("expiry");
  if (now > exp * 1000 + TOLERANCE_MS) throw refusal("expired");
  if (!isFiniteNumber(nbf)) throw refusal("invalid");
  if (now < nbf * 1000 - TOLERANCE_MS) throw refusal("not_yet_valid");
  if (subject === null) throw refusal("subject");
  if (provider === null || (issuer !== null && iss !== issuer)) throw refusal("issuer");
  if (audience && ![aud].flat().some(one => audience.includes(one as string))) throw refusal("audience");
  freezeDeep(claims);
  const [email, name] = [text(claims.email, 320), text(claims.name)];
  return Object.freeze({ provider, subject, email, name, claims, operator: isOperator(claims, operator) });
}

/** Identities of tokens verified within the last minute, the oldest out first. */
function createKept() {
  const kept = new Map<string, { identity: Identity; from: number; until: number }>();
  return {
    get(token: string): Identity | undefined {
      const found = kept.get(token);
      if (!found) return undefined;
      const now = Date.now();
      // `from`: a clock that was set back may stand before the token's nbf.
      return now < found.from || now > found.until ? undefined : found.identity;
    },
    set(token: string, identity: Identity): void {
      const from = Date.now();
      const until = Math.min(from + KEPT_MS, (identity.claims.exp as number) * 1000 + TOLERANCE_MS);
      kept.delete(token); // its place is that of the older one
      if (kept.size >= KEPT_TOKENS) kept.delete(kept.keys().next().value!);
      kept.set(token, { identity, from, until });
    },
  };
}

type Key = { public: string } | ((request: FastifyRequest, token: Signed) => Promise<string>);

function keyOf({ secret, publicKey, jwksUrl, algorithms }: Config["jwt"]): Key {
  if (jwksUrl) {
    const find = createKeySet(jwksUrl, algorithms);
    return (_request, token) => find(token);
  }
  const key = secret ?? publicKey;
  if (!key) throw new Error("There is no key to verify tokens with");
  return { public: key };
}

/**
 * Verifies the bearer token of every request of the instance it is registered on, and sets `request.identity`.
 * Every failure is 401; 503 is for a key set that cannot be reached.
 */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    const key = keyOf(config.jwt);
    const verify = { algorithms: config.jwt.algorithms, ignoreExpiration: true, ignoreNotBefore: true };
    await app.register(fastifyJwt, { secret: key, verify, decode: { complete: true } } as object as {
      secret: string;
    });
    const kept = createKept();

    /** Before it asks for a key, the plugin calls what is no token by the code of a wrong signature. */
    function isToken(token: string): boolean {
      try {
        return app.jwt.decode(token) !== null;
      } catch {
        return false;
      }
    }

    function reasonOf(token: string, { code }: { code?: unknown }): Reason {
      if (code === "FST_JWT_AUTHORIZATION_TOKEN_INVALID" && !isToken(token)) return "malformed";
      return BY_CODE.get(code) ?? "invalid";
    }

    async function identify(request: FastifyRequest): Promise<Identity> {
      const token = bearer(request.headers.authorization);
      try {
        const claims = "public" in key ? app.jwt.verify<Claims>(token) : await request.jwtVerify<Claims>();
        const identity = toIdentity(claims, config);
        kept.set(token, identity);
        return identity;
      } catch (error) {
        // Whatever else the libraries throw is the token's fault.
        throw error instanceof Problem ? error : refusal(reasonOf(token, error as object), error);
      }
    }

    app.decorateRequest("identity");
    app.addHook("onRequest", (request, _reply, done) => {
      const token = BEARER.exec(request.headers.authorization ?? "")?.[1];
      const known = token && kept.get(token);
      if (known) {
        request.identity = known;
        done();
        return;
      }
      identify(request).then(identity => {
        request.identity = identity;
        done();
      }, done);
    });
  },
  { name: "auth", fastify: "5.x" },
);
