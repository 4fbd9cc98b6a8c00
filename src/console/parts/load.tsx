import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure } from "./failure.tsx";

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
  const running = useRef<AbortController>(undefined);
  useEffect(() => {
    const abort = new AbortController();
    running.current = abort;
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
    set(value) {
      // A read that began before the write may answer after it.
      running.current?.abort();
      setState({ key, value, loading: false });
    },
  };
}

const LOOK_AGAIN_MS = 10_000;

/** Reads again by itself while it `waits` for something and the tab is visible. */
export function useLookAgain({ loading, reload }: Omit<Load<unknown>, "set">, waits: boolean): void {
  useEffect(() => {
    if (!waits || loading) return;
    const look = () => document.visibilityState === "visible" && reload();
    const timer = setTimeout(look, LOOK_AGAIN_MS);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [waits, loading]);
}

/** Reads again when the reader comes back to the tab: what they did elsewhere may have changed it. */
export function useReturn(reload: () => void): void {
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && reload();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
}

/** Reads again, with what it has in sight, when the reader goes to another `part` of what it shows. */
export function useFresh(reload: () => void, part: string): void {
  const shown = useRef(part);
  useEffect(() => {
    if (shown.current !== part) reload();
    shown.current = part;
  }, [part]);
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
