import { useLayoutEffect } from "preact/hooks";
import { unsaved } from "../router.ts";

/** Until `what` is null, leaving the page asks first. */
export function useUnsaved(what: string | null): void {
  // Not after the drawing: a click right after saving asks nothing.
  useLayoutEffect(() => {
    unsaved.set(what);
    return () => unsaved.set(null);
  }, [what]);
}
