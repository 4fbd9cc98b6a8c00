import { useEffect, useState } from "preact/hooks";

/** A value that parts of the page follow. */
interface Store<T> {
  get: () => T;
  set: (value: T) => void;
  follow: (seen: () => void) => () => void;
}

export function createStore<T>(value: T): Store<T> {
  const followers = new Set<() => void>();
  let current = value;
  return {
    get: () => current,
    set(next) {
      current = next;
      for (const seen of followers) seen();
    },
    follow(seen) {
      followers.add(seen);
      return () => void followers.delete(seen);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  const [, redraw] = useState({});
  const value = store.get();
  useEffect(() => {
    // It may have changed between the drawing and this.
    if (store.get() !== value) redraw({});
    return store.follow(() => redraw({}));
  }, [store]);
  return value;
}
