import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Answer, Refused } from "../api.ts";
import { count, visible } from "./text.tsx";

export interface Load<T> {
  value: T | undefined;
  error: unknown;
  loading: boolean;
  reload: () => void;
  /** Puts in what a write answered. */
  set: (value: T) => void;
}

/** Reads what `key` names, again whenever that changes. */
export function useLoad<T>(key: string, read: (signal: AbortSignal) => Promise<T>): Load<T> {
  const [state, setState] = useState<{
    key: string;
    value?: T | undefined;
    error?: unknown;
    loading: boolean;
  }>({
    key,
    loading: true,
  });
  const [times, setTimes] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    setState(before => ({ key, loading: true, value: before.key === key ? before.value : undefined }));
    read(abort.signal).then(
      value => abort.signal.aborted || setState({ key, value, loading: false }),
      (error: unknown) => abort.signal.aborted || setState({ key, error, loading: false }),
    );
    return () => abort.abort();
  }, [key, times]);
  const current = state.key === key ? state : { loading: true, value: undefined, error: undefined };
  return {
    value: current.value,
    error: current.error,
    loading: current.loading,
    reload: () => setTimes(n => n + 1),
    set: value => setState({ key, value, loading: false }),
  };
}

/** Loading and refused, in words; else the value. */
export function Loaded<T>({
  of,
  children,
}: {
  of: Omit<Load<T>, "set">;
  children: (value: T) => ComponentChildren;
}) {
  if (of.value !== undefined) return <>{children(of.value)}</>;
  if (of.loading) return <Loading />;
  return <Failure error={of.error} again={of.reload} />;
}

/** The shape of what comes, so that the page does not jump. */
export const Loading = () => (
  <div class="loading" role="status">
    <span class="unseen">Loading…</span>
    <i />
    <i />
    <i />
  </div>
);

const WORDS: Record<number, string> = {
  0: "No answer",
  403: "You may not do this",
  404: "This does not exist, or no longer",
  409: "This cannot be done now",
  412: "Somebody else changed this in the meantime",
  422: "Something in it is not right",
  429: "Too many requests",
  503: "The service is busy, or has no database",
};

/** What the reader gave is wrong, and the page knows it without the service. */
export class Mistake extends Error {}

/** An error in words, with the request's id for whoever reads the log. */
export function Failure({ error, again }: { error: unknown; again?: (() => void) | undefined }) {
  const refused = error instanceof Refused ? error : undefined;
  const words = refused ? (WORDS[refused.status] ?? refused.problem.error) : "The page has a fault";
  const detail = error instanceof Error ? error.message : String(error);
  return (
    <div class="failure" role="alert">
      <p>
        {!(error instanceof Mistake) && <b>{words}. </b>}
        {visible(detail)}
        {/[.!?]$/.test(detail) ? "" : "."}
      </p>
      {refused?.problem.errors && (
        <ul>
          {refused.problem.errors.map(({ field, message }) => (
            <li key={field + message}>
              <code>{field}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {refused?.requestId && refused.status >= 500 && (
        <p class="dim">
          In the log under <code>{refused.requestId}</code>.
        </p>
      )}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export interface List<T> {
  items: T[];
  total: number | undefined;
  more: (() => void) | undefined;
  load: Omit<Load<unknown>, "set">;
  reload: () => void;
  /** Changes the rows that are shown, after a write that answered. */
  change: (change: (items: T[]) => T[]) => void;
}

/** A list in pages: `more` reads the next one. */
export function useList<T>(
  key: string,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Answer<{ items: T[]; total?: number }>>,
): List<T> {
  type Page = { items: T[]; total: number | undefined; next: string | null };
  const load = useLoad<Page>(key, async signal => {
    const { body, next } = await read(undefined, signal);
    return { items: body.items, total: body.total, next };
  });
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>(undefined);
  const latest = useRef(key);
  latest.current = key;
  const page = load.value;
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
    change: change => page && load.set({ ...page, items: change(page.items) }),
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
  if (list.items.length === 0) return <div class="empty">{empty}</div>;
  return <>{children(list.items)}</>;
}

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
  return {
    busy,
    error,
    clear: () => setError(undefined),
    async run(work) {
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
        setBusy(false);
      }
    },
  };
}
