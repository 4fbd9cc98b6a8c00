import { randomBytes } from "node:crypto";
import { hashOf } from "./secret.ts";

/** The token of an invitation: `tmi_<tenant id>_<secret>`; by its prefix the log knows it. */
export const makeSecret = () => randomBytes(32).toString("base64url");

const PREFIX = "tmi_";

export const tokenOf = (tenantId: string, secret: string) => `${PREFIX}${tenantId}_${secret}`;

/** The two parts. Any text has them; in one that is no token they name no invitation. */
export function partsOf(token: string): { tenantId: string; hash: string } {
  const [, tenantId = "", secret = ""] = /^tmi_([^_]{36})_(.*)$/s.exec(token) ?? [];
  return { tenantId, hash: hashOf(secret) };
}
