import type { Config } from "./config.ts";

/** Claims that no provider verifies, and that users may choose in many. */
const UNVERIFIED = /(^|[./:])(preferred_username|upn|unique_name|name|nickname)$/;

/** What GET /api/setup/status recommends about the service's own configuration. */
export function configurationAdvice({ jwt, operator }: Config): string[] {
  return [
    jwt.issuer === null && "Tokens of any issuer are accepted: set SERVICE_JWT_ISSUER",
    jwt.audience === null && "Tokens for any audience are accepted: set SERVICE_JWT_AUDIENCE",
    UNVERIFIED.test(operator.claim) &&
      `No provider verifies the claim ${operator.claim}: set SERVICE_OPERATOR_CLAIM to one that only you can give`,
    jwt.secret !== null &&
      new Set(jwt.secret).size < 16 &&
      "The JWT secret is weak: use 32 random bytes or more",
  ].filter(sentence => sentence !== false);
}
