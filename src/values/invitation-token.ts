import { createHash, randomBytes } from "node:crypto";

/**
 * The token of an invitation: `<tenant id>_<secret>`. The secret is made and hashed here, so the database never receives it: no log of
 * statements, no replica and no backup can have it.
 */
export const makeSecret = () => randomBytes(32).toString("base64url");

export const hashOf = (secret: string) => createHash("sha256").update(secret).digest("hex");

export const tokenOf = (tenantId: string, secret: string) => `${tenantId}_${secret}`;

/** The two parts. Any text has them; in one that is no token they name no invitation. */
export function partsOf(token: string): { tenantId: string; hash: string } {
  const at = token.indexOf("_");
  return { tenantId: at === 36 ? token.slice(0, at) : "", hash: hashOf(token.slice(at + 1)) };
}
