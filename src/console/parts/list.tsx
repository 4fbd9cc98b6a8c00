import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Answer } from "../api.ts";
import { traversed } from "../router.ts";
import { Failure } from "./failure.tsx";
import { type Load, Loaded, Loading, useLoad } from "./load.tsx";
import { count } from "./text.tsx";

export interface List<T> {
  items: T[];
  total: number | undefined;
  more: (() => void) | undefined;
  load: Omit<Load<unknown>, "set">;
  reload: () => void;
  /** Changes the rows that are shown, after a write that answered. */
  change: (change: (items: T[]) => T[]) => void;
}

/** Where the reader left a list, by its key. */
const places = new Map<string, { rows: number; y: number; link: string | null }>();
/** More are not read again at once. */
const MOST_ROWS = 500;

/** Whoever comes back by the browser's button is where they were: as many rows, at the same height. */
function usePlace(key: string, rows: number | undefined): number {
  const place = useMemo(() => (traversed ? places.get(key) : undefined), [key]);
  const left = useRef(0);
  left.current = rows ?? 0;
  useLayoutEffect(
    () => () => {
      const link = document.activeElement?.getAttribute("href") ?? null;
      places.set(key, { rows: left.current, y: scrollY, link });
    },
    [key],
  );
  const drawn = rows !== undefined;
  useEffect(() => {
    if (!drawn || !place) return;
    scrollTo(0, place.y);
    // Rows out of sight are not laid out yet, so that the height is a guess.
    const link = document.querySelector<HTMLElement>(`main [href="${place.link}"]`);
    link?.focus({ preventScroll: true });
    link?.scrollIntoView({ block: "center" });
  }, [drawn, place]);
  return Math.min(place?.rows ?? 0, MOST_ROWS);
}

/** A list in pages: `more` reads the next one. */
export function useList<T>(
  key: string,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Answer<{ items: T[]; total?: number }>>,
): List<T> {
  type Page = { items: T[]; total: number | undefined; next: string | null };
  const load = useLoad<Page>(key, async signal => {
    const first = await read(undefined, signal);
    const page: Page = { items: first.body.items, total: first.body.total, next: first.next };
    while (page.next && page.items.length < rows) {
      const { body, next } = await read(page.next, signal);
      page.items = [...page.items, ...body.items];
      page.next = next;
    }
    return page;
  });
  const rows = usePlace(key, load.value?.items.length);
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>(undefined);
  const latest = useRef(key);
  latest.current = key;
  const page = load.value;
  // Two writes may end before the list is drawn again: the second changes what the first has left.
  const shown = useRef(page);
  shown.current = page;
  const more = async () => {
    setBusy(true);
    setFailed(undefined);
    try {
      const { body, next } = await read(page!.next!, new AbortController().signal);
      if (latest.current === key)
        load.set({ items: [...page!.items, ...body.items], total: body.total ?? page!.total, next });
    } catch (error) {
      setFailed(error);
    } finally {
      setBusy(false);
    }
  };
  return {
    items: page?.items ?? [],
    total: page?.total,
    more: page?.next ? () => void more() : undefined,
    load: { ...load, error: failed ?? load.error, loading: load.loading || busy },
    reload: load.reload,
    change(change) {
      const page = shown.current;
      if (!page) return;
      const items = change(page.items);
      const total = page.total === undefined ? undefined : page.total + items.length - page.items.length;
      shown.current = { ...page, items, total };
      load.set(shown.current);
      if (items.length === 0 && page.next) load.reload();
    },
  };
}

/** Below a list: how many of how many, and the next page. */
export function More<T>({ list, one }: { list: List<T>; one: string }) {
  const { items, total, more, load } = list;
  if (items.length === 0) return null;
  return (
    <div class="more">
      <span class="dim">
        {total !== undefined && total > items.length
          ? `${items.length.toLocaleString("en")} of ${count(total, one)}`
          : `${count(items.length, one)}${more ? ", and more" : ""}`}
      </span>
      {more && (
        <button type="button" disabled={load.loading} onClick={more}>
          {load.loading ? "Loading…" : "Show more"}
        </button>
      )}
      {load.error !== undefined && <Failure error={load.error} />}
    </div>
  );
}

/** The rows of a list, or why there are none. */
export function Rows<T>({
  list,
  empty,
  children,
}: {
  list: List<T>;
  empty: ComponentChildren;
  children: (items: T[]) => ComponentChildren;
}) {
  if (list.load.value === undefined) return <Loaded of={list.load}>{() => null}</Loaded>;
  if (list.items.length === 0 && list.more) return <Loading />;
  if (list.items.length === 0) return <div class="empty">{empty}</div>;
  return <>{children(list.items)}</>;
}
