import { useRef, useState } from "preact/hooks";
import { Refused } from "../api.ts";

export interface Action {
  busy: boolean;
  error: unknown;
  run: (work: () => Promise<unknown>) => Promise<boolean>;
  clear: () => void;
}

/** The refusal says that the page shows what is no longer so. */
const STALE = new Set([404, 409, 412]);

/** A write: one at a time, its refusal kept in sight. `reload` reads again what it was about, if that has changed meanwhile. */
export function useAction(reload?: () => void): Action {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  // A second click may come before `busy` is drawn.
  const running = useRef(false);
  return {
    busy,
    error,
    clear: () => setError(undefined),
    async run(work) {
      if (running.current) return false;
      running.current = true;
      setBusy(true);
      setError(undefined);
      try {
        await work();
        return true;
      } catch (refused) {
        setError(refused);
        if (refused instanceof Refused && STALE.has(refused.status)) reload?.();
        return false;
      } finally {
        running.current = false;
        setBusy(false);
      }
    },
  };
}
