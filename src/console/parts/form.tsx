import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../api.ts";
import type { Action } from "./action.ts";
import { Failure } from "./failure.tsx";
import { FieldRefusals } from "./fields.tsx";

export { Dialog } from "./dialog.tsx";
export { Field, SelectField, TextField, useTyped } from "./fields.tsx";

type Messages = Record<string, string>;

/** The field that the form has for what the service names: `sizes` for `sizes.0`. */
function nearest(form: HTMLFormElement | null, field: string): string | undefined {
  for (let name = field; name; name = name.slice(0, Math.max(0, name.lastIndexOf("."))))
    if (form?.querySelector(`[data-field="${CSS.escape(name)}"]`)) return name;
  return undefined;
}

/** What the service refuses, at the fields of a form. */
export function useRefusals(error: unknown) {
  const form = useRef<HTMLFormElement>(null);
  const [messages, setMessages] = useState<Messages>({});
  const [whole, setWhole] = useState(false);
  useEffect(() => {
    const found: Messages = {};
    const errors = (error instanceof Refused && error.problem.errors) || [];
    let elsewhere = error !== undefined && errors.length === 0;
    for (const { field, message } of errors) {
      const name = nearest(form.current, field);
      if (name === undefined) elsewhere = true;
      else found[name] ??= message;
    }
    setMessages(found);
    setWhole(elsewhere);
    if (errors.length > 0)
      setTimeout(() => form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus());
  }, [error]);
  const clear = (name: string) =>
    setMessages(before => Object.fromEntries(Object.entries(before).filter(([field]) => field !== name)));
  return { form, whole, refusals: { messages, clear } };
}

/** Gives the fields by name; shows the refusal of what it did, at the fields that are wrong. */
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
  const { form, whole, refusals } = useRefusals(action.error);
  return (
    <FieldRefusals.Provider value={refusals}>
      <form
        ref={form}
        onSubmit={event => {
          event.preventDefault();
          const fields = new FormData(event.currentTarget as HTMLFormElement);
          if (!action.busy) onSubmit(Object.fromEntries([...fields] as [string, string][]));
        }}
      >
        {children}
        {whole && <Failure error={action.error} />}
        <div class="buttons">
          <button type="submit" class={danger ? "danger" : "primary"} disabled={action.busy || disabled}>
            {action.busy ? "Working…" : submit}
          </button>
          {beside}
        </div>
      </form>
    </FieldRefusals.Provider>
  );
}
