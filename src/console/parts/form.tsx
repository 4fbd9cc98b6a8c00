import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type Action, Failure } from "./load.tsx";
import { Icon } from "./text.tsx";

/** A label, a control, and what it is for. The control gets the id. */
export function Field({
  label,
  hint,
  children,
}: {
  label: ComponentChildren;
  hint?: ComponentChildren;
  children: (ids: { id: string; "aria-describedby"?: string }) => ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(hint ? { id, "aria-describedby": `${id}-hint` } : { id })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** The text of a filter, which is used once the reader has stopped typing. It follows the address too. */
export function useTyped(value: string, use: (text: string) => void): [string, (text: string) => void] {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef(use);
  latest.current = use;
  useEffect(() => {
    if (timer.current === undefined) setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = undefined;
      latest.current(next);
    }, 250);
  };
  return [text, type];
}

interface TextProps {
  label: ComponentChildren;
  name: string;
  hint?: ComponentChildren;
  value?: string;
  required?: boolean;
  type?: string;
  rows?: number;
  maxLength?: number;
  placeholder?: string;
  onInput?: (value: string) => void;
}

export function TextField({ label, hint, rows, onInput, value, ...rest }: TextProps) {
  const props = {
    autocomplete: "off" as const,
    spellcheck: false,
    ...rest,
    ...(value !== undefined && (onInput ? { value } : { defaultValue: value })),
    ...(onInput && { onInput: (event: Event) => onInput((event.target as HTMLInputElement).value) }),
  };
  return (
    <Field label={label} hint={hint}>
      {ids =>
        rows ? <textarea rows={rows} {...props} {...ids} /> : <input {...(props as object)} {...ids} />
      }
    </Field>
  );
}

export function SelectField({
  label,
  hint,
  name,
  value,
  options,
  onChange,
}: {
  label: string;
  hint?: ComponentChildren;
  name: string;
  value?: string;
  options: readonly (readonly [value: string, label: string])[];
  onChange?: (value: string) => void;
}) {
  return (
    <Field label={label} hint={hint}>
      {ids => (
        <select
          name={name}
          {...ids}
          onChange={event => onChange?.((event.target as HTMLSelectElement).value)}
        >
          {options.map(([one, text]) => (
            <option key={one} value={one} selected={one === value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Gives the fields by name; shows the refusal of what it did. */
export function Form({
  action,
  onSubmit,
  submit,
  danger = false,
  disabled = false,
  children,
  beside,
}: {
  action: Action;
  onSubmit: (fields: Record<string, string>) => void;
  submit: string;
  danger?: boolean;
  disabled?: boolean;
  children?: ComponentChildren;
  beside?: ComponentChildren;
}) {
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        const fields = new FormData(event.currentTarget as HTMLFormElement);
        if (!action.busy) onSubmit(Object.fromEntries([...fields] as [string, string][]));
      }}
    >
      {children}
      {action.error !== undefined && <Failure error={action.error} />}
      <div class="buttons">
        <button type="submit" class={danger ? "danger" : "primary"} disabled={action.busy || disabled}>
          {action.busy ? "Working…" : submit}
        </button>
        {beside}
      </div>
    </form>
  );
}

/** A question above the page: Escape and the cross close it, the focus stays inside and returns after. */
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
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLElement>("input, select, textarea")?.focus();
    return () => opener?.isConnected && opener.focus();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="icon" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon of="M4 4l8 8M12 4l-8 8" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
