import { forgetInvitation } from "./arrival.ts";
import { forgetDrafts } from "./draft.ts";
import { revoke } from "./oidc.ts";
import { endSession, session } from "./session.ts";
import { tellOver } from "./tabs.ts";

/** Leaves no token in this browser, nor a usable refresh token at the provider, nor what this person had typed. */
export async function signOut({ stay = false }: { stay?: boolean } = {}): Promise<void> {
  const current = session.get();
  forgetDrafts();
  tellOver();
  endSession(null);
  forgetDocs();
  // With `stay` the reader signs in as somebody else, for the same invitation.
  if (!stay) {
    forgetInvitation();
    history.replaceState(null, "", location.pathname);
  }
  if (current) await revoke(current);
}

/** What the pages of the API kept of *Authorize*, in releases that kept it. */
function forgetDocs(): void {
  try {
    const found: unknown = JSON.parse(localStorage.getItem("authorized") ?? "null");
    if (typeof found === "object" && found !== null && "token" in found)
      localStorage.removeItem("authorized");
  } catch {
    // Another application's.
  }
}
