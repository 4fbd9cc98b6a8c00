/** What an address may bring: a token (the demo's links), a provider's code, an invitation. It leaves the address at once. */
import { finish, isAsked } from "./oidc.ts";
import { replace } from "./router.ts";
import { ended, resume, session, signIn } from "./session.ts";
import { stored } from "./storage.ts";
import { createStore } from "./store.ts";

/** The provider's answer is on its way. */
export const arriving = createStore(false);
/** A token that a link brought, until the reader takes it. Anybody can send a link, so it signs in by itself only on this machine. */
export const offered = createStore<string | null>(null);

/** An invitation, with what its link says of it, unverified. */
export interface Invited {
  token: string;
  to?: string;
  as?: string;
  by?: string;
}
const kept = stored<Invited>("invitation");
/** The invitation that the reader came with: it outlives signing in, and signing out for somebody else. */
export const invited = createStore<Invited | null>(kept.read());

/** Whether the service could have made it. */
export const isWhole = ({ token }: Invited): boolean => /^tmi_[\da-f-]{36}_[\w-]{43}$/.test(token);

export function forgetInvitation(): void {
  kept.forget();
  invited.set(null);
}

/** A link that is opened in a tab of the console only changes what stands after the #. */
addEventListener("hashchange", () => {
  if (/^#(token=|\/?invitation[=/])/.test(location.hash)) void arrive();
});

const LOCAL = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** The service's own links, and those of the console, which say more. */
function invitationIn({ hash, searchParams }: URL): Invited | undefined {
  const [, token, query] = /^#\/?invitation[=/]([\w.~-]+)(?:\?(.*))?$/.exec(hash) ?? [];
  const found = searchParams.get("invitation") ?? token;
  if (!found) return undefined;
  const said = new URLSearchParams(query);
  const texts = ["to", "as", "by"].map(name => [name, said.get(name)]).filter(([, text]) => text);
  return { token: found, ...Object.fromEntries(texts) };
}

export async function arrive(): Promise<void> {
  const address = new URL(location.href);
  const token = /^#token=([\w.~-]+)$/.exec(address.hash)?.[1];
  const answer = ["code", "error"].some(name => address.searchParams.has(name));
  const invitation = invitationIn(address);
  if (invitation) {
    kept.write(invitation);
    invited.set(invitation);
    replace(`${location.pathname}#/invitation`);
  } else if (token || answer) replace(`${location.pathname}#/`);
  if (answer && isAsked(address)) return finishSignIn(address);
  if (!session.get()) resume();
  // A link never replaces a session without a question.
  if (token && token !== session.get()?.access) {
    if (LOCAL.test(location.hostname) && !session.get()) signIn({ access: token });
    else offered.set(token);
  } else if (answer && !session.get()) ended.set("The sign-in failed: this tab did not ask for it.");
}

async function finishSignIn(address: URL): Promise<void> {
  arriving.set(true);
  try {
    const { tokens, hash } = await finish(address);
    replace(location.pathname + (hash || "#/"));
    signIn(tokens);
  } catch (error) {
    ended.set(`The sign-in failed: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    arriving.set(false);
  }
}
