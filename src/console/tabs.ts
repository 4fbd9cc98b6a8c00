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

const ASK_AGAIN_MS = 200;

let channel: BroadcastChannel | undefined;
let release = () => {};

interface Copy {
  own: () => Shared | null;
  take: (newer: Shared) => void;
  over: () => void;
}

/** Listens to the other tabs of the session, and lets them know which tokens this one has. */
export function join({ id, serial }: Shared, copy: Copy): Promise<void> {
  if (channel?.name !== SCOPE + id) listen(id, copy);
  return hold(id, serial);
}

function listen(id: string, { own, take, over }: Copy): void {
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
  release();
}

const holding = (id: string) => `${SCOPE}${id} has `;

/** Holds a lock that is named by the serial of this tab's tokens. Other tabs read the name, even while this one is too busy to answer. */
const hold = (id: string, serial: number) =>
  new Promise<void>(held => {
    // Browsers have locks on https only, and on localhost. On plain http nobody signs in at a provider.
    if (!navigator.locks) return held();
    void navigator.locks.request(`${holding(id)}${serial}`, { mode: "shared" }, () => {
      release();
      held();
      return new Promise<void>(done => {
        release = done;
        if (channel?.name !== SCOPE + id) done();
      });
    });
  });

/** Whether another tab has newer tokens. */
async function isBehind({ id, serial }: Shared): Promise<boolean> {
  const { held = [] } = await navigator.locks.query();
  return held.some(
    ({ name = "" }) => name.startsWith(holding(id)) && Number(name.slice(holding(id).length)) > serial,
  );
}

export const tell = ({ id, serial, access, refresh, provider }: Shared): void => {
  const session = { id, serial, access, ...(refresh && { refresh }), ...(provider && { provider }) };
  channel?.postMessage({ kind: "have", session } satisfies Note);
};

export const tellOver = (): void => channel?.postMessage({ kind: "over" } satisfies Note);

/** Runs while no other tab of the session does, after the newer tokens of others have come. */
export function alone(own: () => Shared | null, work: () => Promise<void>): Promise<void> {
  const begun = own();
  if (!begun) return Promise.resolve();
  if (!navigator.locks) return work();
  return navigator.locks.request(SCOPE + begun.id, async () => {
    for (let current = own(); current && (await isBehind(current)); current = own()) {
      channel?.postMessage({ kind: "ask", serial: current.serial } satisfies Note);
      await new Promise(resolve => setTimeout(resolve, ASK_AGAIN_MS));
    }
    await work();
  });
}
