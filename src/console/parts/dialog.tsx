import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** A question above the page: Escape, the cross and *Cancel* close it, the focus stays inside and returns after. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: ComponentChildren;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const opener = useRef<Element | null>(null);
  // Before the next key: what is typed after Ctrl K is in the field.
  useLayoutEffect(() => {
    opener.current = document.activeElement;
    dialog.current?.showModal();
    const first = "input:not([type=radio]), input:checked, select, textarea";
    dialog.current?.querySelector<HTMLElement>(first)?.focus();
  }, []);
  // After the dialog is gone: until then nothing else takes the focus.
  useEffect(
    () => () => {
      const last = opener.current as HTMLElement | null;
      // What opened it may be gone, such as the row of a member who was removed.
      if (last?.isConnected && last !== document.body) last.focus();
      else document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    },
    [],
  );
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <div class="bar">
        <h2 id={id}>{title}</h2>
        <button type="button" class="icon" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon of="close" />
        </button>
      </div>
      {children}
    </dialog>
  );
}

/** Beside the button that acts, in a dialog. */
export const Cancel = () => (
  <button type="button" onClick={event => (event.currentTarget as HTMLElement).closest("dialog")?.close()}>
    Cancel
  </button>
);
