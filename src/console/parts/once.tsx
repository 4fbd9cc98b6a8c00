import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Copy } from "./text.tsx";
import { useUnsaved } from "./unsaved.ts";

/** What the page shows once, such as a new key. Leaving asks first, until it is copied. */
export function Once({
  label,
  value,
  close,
  children,
}: {
  label: string;
  value: string;
  close: () => void;
  children: ComponentChildren;
}) {
  const [copied, setCopied] = useState(false);
  useUnsaved(copied ? null : `the new ${label}, which is shown only once`);
  return (
    <div class="note good stack">
      <p>{children}</p>
      <Copy label={label} main done={() => setCopied(true)}>
        {value}
      </Copy>
      <div class="buttons">
        <button type="button" onClick={close}>
          I have it
        </button>
      </div>
    </div>
  );
}
