import type { Config } from "./config.ts";

/** What GET /api/setup/status recommends about the service's own configuration. */
export function configurationAdvice({ jwt }: Config): string[] {
  return [
    jwt.issuer === null && "Tokens of any issuer are accepted: set SERVICE_JWT_ISSUER",
    jwt.audience === null && "Tokens for any audience are accepted: set SERVICE_JWT_AUDIENCE",
    jwt.secret !== null &&
      new Set(jwt.secret).size < 16 &&
      "The JWT secret is weak: use 32 random bytes or more",
  ].filter(sentence => sentence !== false);
}
