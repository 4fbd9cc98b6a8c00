/** What an address may bring: a token (the demo's links), a provider's code, an invitation. It leaves the address at once. */
import { finish } from "./oidc.ts";
import { replace } from "./router.ts";
import { ended, endSession, resume, session, signIn } from "./session.ts";
import { createStore } from "./store.ts";

/** The provider's answer is on its way. */
export const arriving = createStore(false);
/** A token that a link brought, until the reader takes it. Anybody can send a link, so it signs in by itself only on this machine. */
export const offered = createStore<string | null>(null);

/** A link that is opened in a tab of the console only changes what stands after the #. */
addEventListener("hashchange", () => {
  if (/^#(token|invitation)=/.test(location.hash)) void arrive();
});

const LOCAL = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export async function arrive(): Promise<void> {
  const address = new URL(location.href);
  const token = /^#token=([\w.~-]+)$/.exec(address.hash)?.[1];
  const answer = ["code", "error"].some(name => address.searchParams.has(name));
  const invitation =
    address.searchParams.get("invitation") ?? /^#invitation=([\w.~-]+)$/.exec(address.hash)?.[1];
  if (invitation) replace(`${location.pathname}#/invitation/${encodeURIComponent(invitation)}`);
  else if (token || answer) replace(`${location.pathname}#/`);
  if (token && LOCAL.test(location.hostname)) return signIn({ access: token });
  if (token) {
    endSession(null);
    offered.set(token);
  }
  if (!answer) return session.get() ? undefined : resume();
  arriving.set(true);
  try {
    const { tokens, hash } = await finish(address);
    replace(location.pathname + (hash || "#/"));
    signIn(tokens);
  } catch (error) {
    endSession(null);
    ended.set(`The sign-in failed: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    arriving.set(false);
  }
}
