/** A browser copies a tab with its storage, so several tabs may have one session and one refresh token, which works once. */
import type { Tokens } from "./oidc.ts";
import { SCOPE } from "./storage.ts";

export interface Shared extends Tokens {
  /** Secret, and the same in all copies of a tab. */
  id: string;
  /** Raised by each renewal. */
  serial: number;
}

type Note = { kind: "ask"; serial: number } | { kind: "have"; session: Shared } | { kind: "over" };

/** So long the other tabs may take to answer. */
const ANSWER_MS = 300;

let channel: BroadcastChannel | undefined;

interface Copy {
  own: () => Shared | null;
  take: (newer: Shared) => void;
  over: () => void;
}

/** Listens to the other tabs of the session. */
export function join(id: string, { own, take, over }: Copy): void {
  if (channel?.name === SCOPE + id) return;
  leave();
  channel = new BroadcastChannel(SCOPE + id);
  channel.onmessage = ({ data }: MessageEvent<Note>) => {
    const current = own();
    if (!current) return;
    if (data.kind === "over") over();
    else if (data.kind === "ask" && current.serial > data.serial) tell(current);
    else if (data.kind === "have" && data.session.serial > current.serial) take(data.session);
  };
}

export function leave(): void {
  channel?.close();
  channel = undefined;
}

export const tell = ({ id, serial, access, refresh, provider }: Shared): void => {
  const session = { id, serial, access, ...(refresh && { refresh }), ...(provider && { provider }) };
  channel?.postMessage({ kind: "have", session } satisfies Note);
};

export const tellOver = (): void => channel?.postMessage({ kind: "over" } satisfies Note);

/** Runs while no other tab of the session does, after the newer tokens of others have come. */
export function alone({ id, serial }: Shared, work: () => Promise<void>): Promise<void> {
  const ask = async () => {
    channel?.postMessage({ kind: "ask", serial } satisfies Note);
    await new Promise(resolve => setTimeout(resolve, ANSWER_MS));
    await work();
  };
  // Missing on plain http, as what the provider's sign-in needs.
  return navigator.locks ? navigator.locks.request(SCOPE + id, ask) : ask();
}
