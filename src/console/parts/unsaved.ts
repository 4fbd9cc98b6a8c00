import { useLayoutEffect } from "preact/hooks";
import { unsaved } from "../router.ts";

/** While there is `what`, leaving the page asks first. */
export function useUnsaved(what: string | null): void {
  // With what is drawn: a click at once after saving asks nothing.
  useLayoutEffect(() => {
    unsaved.set(what);
    return () => unsaved.set(null);
  }, [what]);
}
