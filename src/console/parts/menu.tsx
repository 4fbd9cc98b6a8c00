import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

interface Entry {
  label: string;
  act: () => void;
  danger?: boolean;
}

/** The rarer acts of a page behind one button. Escape and a click elsewhere close it. */
export function Menu({ label, entries }: { label: string; entries: Entry[] }) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const key = event instanceof KeyboardEvent ? event.key : "";
      const inside = menu.current?.contains(event.target as Node);
      if (!menu.current?.open || (event instanceof KeyboardEvent ? key !== "Escape" : inside)) return;
      menu.current.open = false;
      if (key) menu.current.querySelector("summary")?.focus();
    };
    for (const type of ["click", "keydown"]) document.addEventListener(type, close);
    return () => {
      for (const type of ["click", "keydown"]) document.removeEventListener(type, close);
    };
  }, []);
  return (
    <details ref={menu} class="menu">
      <summary class="button" title={label}>
        <Icon of="more" />
      </summary>
      <ul>
        {entries.map(({ label, act, danger }) => (
          <li key={label}>
            <button
              type="button"
              class={danger ? "quiet ends" : "quiet"}
              onClick={() => {
                menu.current!.open = false;
                menu.current!.querySelector("summary")!.focus();
                act();
              }}
            >
              {label}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
