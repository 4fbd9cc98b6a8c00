import { requireAddress, requireDatabase, userOf } from "../database/url.ts";
import { StartupError } from "../errors/startup-error.ts";

/** @throws StartupError where DATABASE_URL is not the login of tms_owner on a database */
export function requireOwnerUrl(given: string): string {
  const ownerUrl = requireAddress(given, "DATABASE_URL");
  if (userOf(ownerUrl) !== "tms_owner") {
    throw new StartupError(
      `DATABASE_URL must log in as tms_owner, not as ${userOf(ownerUrl) || "anybody else"}: postgres://tms_owner:password@host/database`,
    );
  }
  requireDatabase(ownerUrl, "DATABASE_URL");
  return ownerUrl;
}
