import type { Config } from "../config/config.ts";
import { type Claims, claimValue, isVerified } from "./claims.ts";

/** Claims of one value, which may contain spaces that the user chose: never read as a list of roles. */
const ONE_VALUE =
  /(^|[./:])(sub|email|phone_number|name|(given|family|middle|nick|user)_?name|preferred_username|upn|unique_name)$/;
/** Anybody can claim another's address, so these count only where the token says that the provider verified them. */
const ADDRESS = /(^|[./:])(email|phone_number)$/;

/** Whether the claims make their holder an operator. */
export function isOperator(claims: Claims, { claim, role }: Config["operator"]): boolean {
  const held = claimValue(claims, claim);
  if (!(isVerified(claims, claim) ?? !ADDRESS.test(claim))) return false;
  if (ONE_VALUE.test(claim)) return held === role;
  if (typeof held === "string")
    return held === role || (!role.includes("@") && held.split(" ").includes(role));
  return Array.isArray(held) && held.includes(role);
}

/** What a token with these claims has beside them, or in their place, so that its holder is an operator. */
export function operatorClaims(claims: Claims, { claim, role }: Config["operator"]): Claims {
  if (!ONE_VALUE.test(claim)) return { [claim]: [claims[claim] ?? [], role].flat() };
  return { [claim]: role, ...(ADDRESS.test(claim) && { [`${claim}_verified`]: true }) };
}
