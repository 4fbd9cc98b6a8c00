import { useEffect, useState } from "preact/hooks";
import { waiting, wakeAll } from "./api.ts";
import { said, Time } from "./parts/text.tsx";
import { ending } from "./session.ts";
import { useStore } from "./store.ts";

/** Counts down to the next try, which the reader can have at once. */
export function Waiting() {
  const state = useStore(waiting);
  const [, tick] = useState(0);
  useEffect(() => {
    if (!state) return;
    const timer = setInterval(() => tick(n => n + 1), 1_000);
    return () => clearInterval(timer);
  }, [state]);
  const seconds = state ? Math.max(0, Math.ceil((state.until - Date.now()) / 1000)) : 0;
  return (
    <div role="status" aria-live="polite">
      {state && (
        <div class="banner">
          {state.why}. <span aria-hidden="true">Trying again in {seconds} s.</span>{" "}
          <button type="button" onClick={wakeAll}>
            Try now
          </button>
        </div>
      )}
    </div>
  );
}

export function Toast() {
  const text = useStore(said);
  useEffect(() => {
    if (text === "") return;
    const timer = setTimeout(() => said.set(""), 1_500 + 50 * text.length);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div role="status" class="toast">
      {text}
    </div>
  );
}

/** The token cannot be renewed, and what is typed goes with the page. */
export function Ending() {
  const at = useStore(ending);
  if (at === null) return null;
  return (
    <p class="banner" role="status">
      Your sign-in ends <Time at={new Date(at).toISOString()} />. Save what you have typed.
    </p>
  );
}
