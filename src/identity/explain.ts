import type { Config } from "../config/config.ts";
import { Problem } from "../errors/errors.ts";
import type { TenantSource } from "../values/request-tenant.ts";
import { type Claims, toIdentity } from "./auth.ts";
import { resolveTenant } from "./tenant.ts";

/** The arguments of api.explain_access. slug null: the default tenant. */
export interface Asked {
  slug: string | null;
  source: TenantSource | "given";
  provider: string | null;
  subject: string | null;
  /** Instead of provider and subject. */
  email?: string | undefined;
  operator: boolean;
}

/** Why a request is refused before it reaches the database. */
export interface Refused {
  allowed: false;
  because: string;
  refusal: { status: number; error: string; detail: string; reason: string | null };
}

/**
 * What a request with these claims asks the database, found by the functions that requests use. No signature is verified.
 * `header` is its X-Tenant.
 */
export function askedByClaims(claims: Claims, header: string | undefined, config: Config): Asked | Refused {
  try {
    const { provider, subject, operator } = toIdentity({ exp: Date.now() / 1000, ...claims }, config);
    if (!config.multiTenantMode) return { slug: null, source: "single_tenant", provider, subject, operator };
    const { slug, source } = resolveTenant(claims, header, config);
    return { slug, source, provider, subject, operator };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { status, error: title, message: detail, reason = null } = error;
    return { allowed: false, because: detail, refusal: { status, error: title, detail, reason } };
  }
}
