import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Refused } from "../api.ts";
import type { Action } from "./action.ts";
import { Failure } from "./failure.tsx";
import { FieldRefusals } from "./fields.tsx";

export { Dialog } from "./dialog.tsx";
export { Field, SelectField, TextField, useTyped } from "./fields.tsx";

type Messages = Record<string, string>;

/** By field; only the first of each. */
function messagesOf(error: unknown): Messages {
  const errors = error instanceof Refused ? (error.problem.errors ?? []) : [];
  return Object.fromEntries([...errors].reverse().map(({ field, message }) => [field, message]));
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
  const form = useRef<HTMLFormElement>(null);
  const [messages, setMessages] = useState<Messages>({});
  const [whole, setWhole] = useState(false);
  useEffect(() => {
    const found = messagesOf(action.error);
    const isHere = (field: string) => form.current?.querySelector(`[data-field="${CSS.escape(field)}"]`);
    const fields = Object.keys(found);
    setMessages(found);
    setWhole(action.error !== undefined && (fields.length === 0 || !fields.every(isHere)));
    if (fields.length > 0)
      setTimeout(() => form.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus());
  }, [action.error]);
  const clear = (name: string) =>
    setMessages(before => Object.fromEntries(Object.entries(before).filter(([field]) => field !== name)));
  return (
    <FieldRefusals.Provider value={{ messages, clear }}>
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
