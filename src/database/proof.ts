/** Proofs of the tenant context: with SERVICE_TENANT_CONTEXT_SECRET the database enters no tenant without one (docs/guides/context.md). */
import { createHash, createHmac } from "node:crypto";

/**
 * How long a proof is valid. It is made when its statement is sent, so this only covers the wire and clocks that differ. The database
 * refuses a proof that is valid for more than 60 s, so clocks may differ by 30 s either way.
 */
const PROOF_SECONDS = 30;

/** `caller`: slug, provider, subject, e-mail, name. `operator`: the same. `tenant`: its id. `start`: nothing. */
export type ProofKind = "caller" | "operator" | "tenant" | "start";

/** What the database stores is made of this hash: who reads it there does not read the secret. */
export const keyOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();

let last: { secret: string; key: Buffer } | undefined;

/** The value of the setting app.proof: `<kind>.<expires>.<HMAC-SHA256>`. */
export function proofOf(secret: string, kind: ProofKind, values: readonly (string | null)[]): string {
  const head = `${kind}.${Math.floor(Date.now() / 1000) + PROOF_SECONDS}`;
  // With its length in bytes, no value can pass for two.
  const proved = values.map(value => (value === null ? "-" : `${Buffer.byteLength(value)}:${value}`));
  if (last?.secret !== secret) last = { secret, key: keyOf(secret) };
  const mac = createHmac("sha256", last.key)
    .update([head, ...proved].join(","))
    .digest("hex");
  return `${head}.${mac}`;
}
