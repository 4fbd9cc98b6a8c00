import type { Config } from "../config/config.ts";
import { isAddress } from "../config/operator-address.ts";
import { type Claims, claimValue, isVerified } from "./claims.ts";

/** Claims of one value, which may contain spaces that the user chose: never read as a list of roles. */
const ONE_VALUE =
  /(^|[./:])(sub|email|phone_number|name|(given|family|middle|nick|user)_?name|preferred_username|upn|unique_name)$/;

/** Whether the claims make their holder an operator. */
export function isOperator(claims: Claims, operator: Config["operator"]): boolean {
  const { claim, role } = operator;
  const held = claimValue(claims, claim);
  if (!(isVerified(claims, claim) ?? !isAddress(operator))) return false;
  if (ONE_VALUE.test(claim)) return held === role;
  if (typeof held === "string")
    return held === role || (!role.includes("@") && held.split(" ").includes(role));
  return Array.isArray(held) && held.includes(role);
}

/** What a token with these claims has beside them, or in their place, so that its holder is an operator. */
export function operatorClaims(claims: Claims, operator: Config["operator"]): Claims {
  const { claim, role } = operator;
  const verified = isAddress(operator) && { [`${claim}_verified`]: true };
  return { [claim]: ONE_VALUE.test(claim) ? role : [claims[claim] ?? [], role].flat(), ...verified };
}
