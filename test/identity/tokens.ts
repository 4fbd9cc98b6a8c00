import { createHmac, type KeyObject } from "node:crypto";
import type { TestContext } from "node:test";
import Fastify from "fastify";
import { type JWTPayload, SignJWT } from "jose";
import { loadConfig } from "../../src/config/config.ts";
import { Problem } from "../../src/errors/errors.ts";
import { sendError } from "../../src/http/error-handler.ts";
import auth, { type Identity } from "../../src/identity/auth.ts";
import keySet from "../../src/identity/jwks.ts";

export const SECRET = "0123456789abcdef0123456789abcdef";
export const HOUR = 3600;
export const now = () => Math.floor(Date.now() / 1000);

export const pem = (key: KeyObject) => key.export({ type: "spki", format: "pem" }).toString();

export const encode = (part: unknown) =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");

/** A token signed with HMAC whatever it says: objects are written as JSON, strings as they are. */
export function hmac(
  payload: unknown,
  header: unknown = { alg: "HS256", typ: "JWT" },
  key = SECRET,
  bits = 256,
): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${createHmac(`sha${bits}`, key).update(input).digest("base64url")}`;
}

export const good = (claims: object = {}) => ({ sub: "ann", exp: now() + HOUR, ...claims });

export const sign = (alg: string, key: KeyObject, claims: JWTPayload = {}, kid?: string) =>
  new SignJWT({ sub: "ann", ...claims })
    .setProtectedHeader({ alg, ...(kid ? { kid } : {}) })
    .setExpirationTime("1h")
    .sign(key);

/** A service of one route behind the plugin; `ask` answers status, identity or body, challenge, and the reason logged. */
export async function guarded(t: TestContext, env: Record<string, string>) {
  const app = Fastify();
  let identity: Identity | undefined;
  let reason: string | undefined;
  app.setErrorHandler((error, request, reply) => {
    reason = error instanceof Problem ? error.reason : "unexpected";
    return sendError(error, request, reply);
  });
  const { config } = loadConfig(env);
  await app.register(keySet, { config });
  await app.register(auth, { config });
  app.get("/", request => {
    identity = request.identity;
    return identity;
  });
  t.after(() => app.close());
  return async (authorization?: string) => {
    identity = undefined as Identity | undefined;
    reason = undefined as string | undefined;
    const response = await app.inject({
      url: "/",
      headers: authorization === undefined ? {} : { authorization },
    });
    const { "www-authenticate": challenge, "retry-after": retryAfter } = response.headers;
    return { status: response.statusCode, body: response.json(), identity, reason, challenge, retryAfter };
  };
}
