import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** On a phone a menu is one line that scrolls: it shows where one is, whenever `where` changes. */
export function useCurrentInSight(where: string): RefObject<HTMLElement | null> {
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    const current = nav.current?.querySelector<HTMLElement>("[aria-current]");
    if (current) nav.current!.scrollLeft = current.offsetLeft - nav.current!.offsetLeft - 40;
  }, [where]);
  return nav;
}
