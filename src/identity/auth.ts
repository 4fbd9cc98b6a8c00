// Verifies in the request's own thread, without a promise; jose, in the tests, signs what this must take.
import fastifyJwt from "@fastify/jwt";
import type { FastifyInstance, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "../config/config.ts";
import { namesOf } from "../config/kinds.ts";
import { CHALLENGE, challengeOf, Problem } from "../errors/errors.ts";
import { TOKEN_REASONS } from "../errors/problems.ts";
import { networkOf } from "../values/network.ts";
import { text } from "../values/printable.ts";
import { Recent } from "../values/recent.ts";
import { isVisible } from "../values/visible.ts";
import type { Claims } from "./claims.ts";
import type { Identity } from "./identity.ts";
import type { Header } from "./jwks.ts";
import { isKey, KEY_PROVIDER, Keys } from "./keys.ts";
import { isOperator } from "./operator.ts";

export type { Claims } from "./claims.ts";
export type { Identity } from "./identity.ts";

declare module "fastify" {
  interface FastifyRequest {
    identity: Identity;
  }
}

const BEARER = /^bearer (\S+)$/i;
const LONGEST_TOKEN = 8 * 1024;
const TOLERANCE_MS = 5_000;
/** How long a verified token is accepted without another look; a removed key is out after it. */
const KEPT_MS = 60_000;
const KEPT_TOKENS = 2_000;

type Reason = keyof typeof TOKEN_REASONS;

/** What the library calls it. A code that is missing here is still a refusal: `invalid`. */
const BY_CODE = new Map<unknown, Reason>([
  ["FAST_JWT_MALFORMED", "malformed"],
  ["FAST_JWT_INVALID_PAYLOAD", "malformed"],
  ["FAST_JWT_INVALID_ALGORITHM", "algorithm"],
  ["FAST_JWT_MISSING_SIGNATURE", "unsigned"],
  ["FAST_JWT_INVALID_SIGNATURE", "signature"],
  ["FST_JWT_AUTHORIZATION_TOKEN_INVALID", "signature"],
  ["FAST_JWT_VERIFY_ERROR", "signature"],
  ["FAST_JWT_INVALID_CRIT_HEADER", "critical_header"],
]);

/** Types of access tokens, also those of RFC 9068. Logout tokens, security events and DPoP proofs are signed with the same keys. */
const ACCESS_TYPE = /^(application\/)?(at\+)?jwt$/i;
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** 401 with the challenge of RFC 6750: no error code for a caller who showed no token at all. */
function refusal(reason: Reason, cause?: unknown): Problem {
  const code = reason === "malformed_header" ? "invalid_request" : "invalid_token";
  const challenge = reason === "no_credentials" ? CHALLENGE : challengeOf(TOKEN_REASONS[reason], code);
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
 * The identity that claims give: every check of a token but those of its header and signature. src/identity/explain.ts makes the same ones.
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
  if (provider === null || provider === KEY_PROVIDER || (issuer !== null && iss !== issuer))
    throw refusal("issuer");
  // Older providers leave the typ of logout tokens out.
  if (Object.hasOwn(Object(claims.events) as object, LOGOUT_EVENT)) throw refusal("type");
  if (audience && ![aud].flat().some(one => audience.includes(one as string))) throw refusal("audience");
  freezeDeep(claims);
  const [email, called] = [text(claims.email, 320), text(claims.name)];
  const name = called !== null && isVisible(called) ? called : null;
  return Object.freeze({ provider, subject, email, name, claims, operator: isOperator(claims, operator) });
}

/** Identities of tokens verified within the last minute. */
function createKept() {
  const kept = new Recent<{ identity: Identity; from: number; until: number }>(KEPT_TOKENS);
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
      kept.set(token, { identity, from, until });
    },
  };
}

interface Decoded {
  header: Header;
  /** header.payload, as signed */
  input: string;
  signature: string;
}

/**
 * Verifies the bearer token of every request of the instance it is registered on, and sets `request.identity`. An API key it only reads.
 * Every failure is 401; 503 is for a key set that cannot be read.
 */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    const { secret, publicKey } = config.jwt;
    const { keySet } = app;
    const key = secret ?? publicKey;
    if (!key && !keySet) throw new Error("There is no key to verify tokens with");
    const algorithms = config.jwt.algorithms.flatMap(namesOf);
    await app.register(fastifyJwt, {
      secret: key ? { public: key } : (_request: FastifyRequest, token: Decoded) => keyOf(token),
      verify: { algorithms, ignoreExpiration: true, ignoreNotBefore: true },
      decode: { complete: true },
    } as object as { secret: string });
    const kept = createKept();
    const keys = new Keys();

    /** The key of the set that a token is signed with. Without a kid several may fit: the one that verifies is meant. */
    async function keyOf({ header, input, signature }: Decoded): Promise<string> {
      if (!algorithms.includes(header.alg)) throw refusal("algorithm");
      const keys = await keySet!.find(header);
      const verifies = (one: string) => {
        try {
          return app.jwt.verify(`${input}.${signature}`, { key: one }) !== null;
        } catch {
          return false;
        }
      };
      const found = keys.length > 1 ? keys.find(verifies) : keys[0];
      if (!found) throw refusal("unknown_key");
      return found;
    }

    function headerOf(token: string): Header {
      try {
        return app.jwt.decode<Decoded>(token)!.header;
      } catch (error) {
        // The plugin calls what is no token by the code of a wrong signature.
        const { code } = error as { code?: string };
        throw code === "FST_JWT_AUTHORIZATION_TOKEN_INVALID" ? refusal("malformed", error) : error;
      }
    }

    async function identify(request: FastifyRequest): Promise<Identity> {
      const token = bearer(request.headers.authorization);
      try {
        const { typ } = headerOf(token);
        if (typ !== undefined && !(typeof typ === "string" && ACCESS_TYPE.test(typ))) throw refusal("type");
        const claims = keySet ? await request.jwtVerify<Claims>() : app.jwt.verify<Claims>(token);
        const identity = toIdentity(claims, config);
        kept.set(token, identity);
        return identity;
      } catch (error) {
        // Whatever else the library throws is the token's fault.
        throw error instanceof Problem
          ? error
          : refusal(BY_CODE.get((error as { code?: unknown }).code) ?? "invalid", error);
      }
    }

    app.decorateRequest("identity");
    app.addHook("onRequest", (request, _reply, done) => {
      const token = BEARER.exec(request.headers.authorization ?? "")?.[1];
      if (token && isKey(token)) {
        const identity = keys.identify(token, networkOf(request.ip));
        if (identity) request.identity = identity;
        done(identity ? undefined : refusal("key_invalid"));
        return;
      }
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
