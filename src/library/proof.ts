import { proofOf } from "../database/proof.ts";

/** The environment's secret, which the service and `tenancy migrate` read too. */
export const environmentSecret = (): string | undefined =>
  process.env.SERVICE_TENANT_CONTEXT_SECRET || undefined;

/**
 * A proof of the tenant context, the value of the setting `app.proof` (docs/guides/context.md). `caller` proves slug, provider,
 * subject, e-mail and name; `tenant` proves an id. Make it just before you send it: it is valid for 30 s.
 */
export function proof(
  kind: "caller" | "tenant",
  values: readonly (string | null)[],
  secret = environmentSecret(),
): string {
  if (!secret) throw new Error("No secret: set SERVICE_TENANT_CONTEXT_SECRET, or pass it");
  return proofOf(secret, kind, values);
}
