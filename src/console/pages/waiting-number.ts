import { call } from "../api.ts";
import { useLoad, useReturn } from "../parts/load.tsx";
import { createStore, useStore } from "../store.ts";

/** How many registrations wait: the menu and the page show one number. */
export const waitingNumber = createStore<number | undefined>(undefined);

/** A registration was decided on another page than *Waiting*. */
export const decided = (): void => waitingNumber.set(Math.max(0, (waitingNumber.get() ?? 0) - 1));

/** Counted again in each part of the console. *Waiting* counts by itself. */
export function useWaiting(part: string | undefined): number | undefined {
  const load = useLoad(`number that waits ${part}`, async signal => {
    if (part === "waiting") return;
    const query = { status: "pending" as const, limit: 1 };
    waitingNumber.set((await call("listTenants", { query }, { signal })).body.total_count);
  });
  useReturn(load.reload);
  return useStore(waitingNumber);
}
