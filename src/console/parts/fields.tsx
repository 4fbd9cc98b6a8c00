import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useId, useRef, useState } from "preact/hooks";

import { visible } from "./visible.ts";

/** What the service says of the fields of a form, by the name of the field. */
interface Refusals {
  messages: Readonly<Record<string, string>>;
  /** The reader corrects it. */
  clear: (name: string) => void;
}
export const FieldRefusals = createContext<Refusals>({ messages: {}, clear: () => {} });

interface Ids {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: boolean;
}

/** A label, a control, what it is for, and what is wrong with it. The control gets the ids. `name`: as the API calls the field. */
export function Field({
  label,
  hint,
  name,
  children,
}: {
  label: ComponentChildren;
  hint?: ComponentChildren;
  name?: string | undefined;
  children: (ids: Ids) => ComponentChildren;
}) {
  const id = useId();
  const { messages, clear } = useContext(FieldRefusals);
  const wrong = name === undefined ? undefined : messages[name];
  const described = [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(" ");
  return (
    <div class="field" data-field={name} onInput={() => wrong && clear(name!)}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described && { "aria-describedby": described }),
        ...(wrong && { "aria-invalid": true }),
      })}
      {wrong && (
        <p class="wrong" id={`${id}-wrong`}>
          {sentence(wrong)}
        </p>
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

const sentence = (message: string) => visible(`It ${message.replace(/\.$/, "")}.`);

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
  /** What the API calls the field, where it is another name. */
  field?: string;
  hint?: ComponentChildren;
  value?: string;
  required?: boolean;
  type?: string;
  rows?: number;
  maxLength?: number;
  placeholder?: string;
  onInput?: (value: string) => void;
}

export function TextField({ label, hint, rows, onInput, value, field, ...rest }: TextProps) {
  const [length, setLength] = useState(0);
  const props = {
    autocomplete: "off" as const,
    spellcheck: false,
    ...rest,
    ...(value !== undefined && (onInput ? { value } : { defaultValue: value })),
    onInput: (event: Event) => {
      const { value: typed } = event.target as HTMLInputElement;
      setLength(typed.length);
      onInput?.(typed);
    },
  };
  // What is cut off silently is counted before.
  const room = rest.maxLength && length > rest.maxLength * 0.8 ? `${length} of ${rest.maxLength}` : "";
  return (
    <Field
      label={label}
      name={field ?? rest.name}
      hint={
        hint || room ? (
          <>
            {hint} {room && <span class="room">{room}</span>}
          </>
        ) : undefined
      }
    >
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
    <Field label={label} hint={hint} name={name}>
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
