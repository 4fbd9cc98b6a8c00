import type { ComponentChildren } from "preact";
import { isObject } from "../../diff.ts";
import { Field } from "../../parts/form.tsx";
import { Lines, Plain } from "./inputs.tsx";
import type { ControlProps, Schema } from "./schema.ts";

type Json = Record<string, unknown>;

interface Props {
  /** What the API calls the object. */
  of: string;
  schema: Schema;
  value: Json;
  writable: readonly string[] | null;
  onChange: (value: Json) => void;
}

/** One control for each property of the schema. Keys that it does not name are kept as they are. */
export function SchemaForm({ of, schema, value, writable, onChange }: Props) {
  const set = (key: string, next: unknown) => {
    const { [key]: _, ...rest } = value;
    onChange(next === undefined ? rest : { ...rest, [key]: next });
  };
  return (
    <>
      {Object.entries(schema.properties ?? {}).map(([key, part]) => (
        <Control
          key={key}
          name={key}
          field={`${of}.${key}`}
          schema={part}
          value={value[key]}
          disabled={writable !== null && !writable.includes(key)}
          required={schema.required?.includes(key) === true}
          onChange={next => set(key, next)}
        />
      ))}
    </>
  );
}

function Control(props: ControlProps): ComponentChildren {
  const { name, field, schema, value, disabled, onChange } = props;
  const label = schema.title ?? name;
  const type = Array.isArray(schema.type) ? schema.type.find(one => one !== "null") : schema.type;
  const list = type === "array" && schema.items?.type === "string" && isTexts(value);
  const hintOf = (form?: string | false) =>
    [schema.description, form, disabled && "Only an operator changes this"]
      .filter(Boolean)
      .map(text => `${String(text).replace(/\.$/, "")}.`)
      .join(" ");
  const hint = hintOf();
  if (type === "object" && schema.properties && (value === undefined || isObject(value)))
    return (
      <fieldset disabled={disabled}>
        <legend>{label}</legend>
        {hint && <p class="hint">{hint}</p>}
        <SchemaForm of={field} schema={schema} value={value ?? {}} writable={null} onChange={onChange} />
      </fieldset>
    );
  if (type === "boolean" && (value === undefined || typeof value === "boolean"))
    return (
      <div class="field">
        <label class="check">
          <input
            type="checkbox"
            checked={value ?? schema.default === true}
            disabled={disabled}
            onChange={event => onChange((event.target as HTMLInputElement).checked)}
          />
          {label}
        </label>
        {hint && <p class="hint">{hint}</p>}
      </div>
    );
  const form = list ? "One a line" : isFree(type, schema, value) && 'As JSON, such as [1, 2] or {"a": true}';
  return (
    <Field label={label} hint={hintOf(form)} name={field}>
      {ids => (list ? <Lines {...props} ids={ids} /> : <Plain {...props} type={type} ids={ids} />)}
    </Field>
  );
}

const isTexts = (value: unknown) =>
  value === undefined ||
  (Array.isArray(value) && value.every(one => typeof one === "string" && !one.includes("\n")));

/** Whether nothing better than a box for JSON is known. */
const isFree = (type: string | undefined, schema: Schema, value: unknown) =>
  !schema.enum &&
  !["number", "integer", "string"].some(
    one => type === one && (value === undefined || typeof value === (one === "integer" ? "number" : one)),
  );
