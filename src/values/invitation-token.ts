/** The token of an invitation: `tmi_<tenant id>_<secret>`. The log replaces it by its prefix. */
import { randomBytes } from "node:crypto";
import { hashOf } from "./secret.ts";

export const makeSecret = () => randomBytes(32).toString("base64url");

const PREFIX = "tmi_";

export const tokenOf = (tenantId: string, secret: string) => `${PREFIX}${tenantId}_${secret}`;

/** For a text that is no token too, with parts that match no invitation: the database gives the one refusal that it has. */
export function partsOf(token: string): { tenantId: string; hash: string } {
  const [, tenantId = "", secret = ""] = /^tmi_([^_]{36})_(.*)$/s.exec(token) ?? [];
  return { tenantId, hash: hashOf(secret) };
}
