/** Settings that a reader had typed and not saved when their sign-in ended or they loaded the page again. They wait in this tab. */
import { session } from "./session.ts";
import { SCOPE, stored } from "./storage.ts";

interface Draft {
  /** The tenant. */
  of: string;
  who: string;
  text: string;
  /** What it was made from. */
  before: string;
  etag: string | null;
}

const kept = stored<Draft>("draft");

const who = (): string => {
  const { iss, sub } = session.get()?.claims ?? {};
  return JSON.stringify([iss, sub]);
};

export const keepDraft = (draft: Omit<Draft, "who">): void => kept.write({ ...draft, who: who() });

/** Forgets it too: it is in the page again. */
export function takeDraft(of: string): Draft | null {
  const found = kept.read();
  if (found?.of !== of || found.who !== who()) return null;
  kept.forget();
  return found;
}

/** As long as somebody is signed in, leaving the page means losing it. */
export function dropDraft(): void {
  if (session.get() !== null) kept.forget();
}

/** A tab may have one, and no session any more: all are told who signs out. */
const tabs = new BroadcastChannel(`${SCOPE}drafts`);
tabs.onmessage = ({ data }: MessageEvent<string>) => {
  if (kept.read()?.who === data) kept.forget();
};

/** Signing out leaves nothing typed in any tab. */
export function forgetDrafts(): void {
  kept.forget();
  tabs.postMessage(who());
}
