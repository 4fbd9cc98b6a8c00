import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { isObject, pretty } from "../../diff.ts";
import { Field } from "../../parts/form.tsx";
import { parseSettings } from "./json.ts";

type Json = Record<string, unknown>;

/** What the form knows of JSON Schema; anything else of it is checked by the service. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
  required?: string[];
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  default?: unknown;
  "x-tenant-writable"?: boolean;
}

interface Props {
  schema: Schema;
  value: Json;
  writable: readonly string[] | null;
  onChange: (value: Json) => void;
}

/** One control for each property of the schema. Keys that it does not name are kept as they are. */
export function SchemaForm({ schema, value, writable, onChange }: Props) {
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

interface ControlProps {
  name: string;
  schema: Schema;
  value: unknown;
  disabled: boolean;
  required: boolean;
  onChange: (value: unknown) => void;
}

function Control(props: ControlProps): ComponentChildren {
  const { name, schema, value, disabled, onChange } = props;
  const label = schema.title ?? name;
  const type = Array.isArray(schema.type) ? schema.type.find(one => one !== "null") : schema.type;
  const list = type === "array" && schema.items?.type === "string" && isTexts(value);
  const hint = [
    schema.description,
    list && "One a line",
    !list && isFree(type, schema, value) && 'As JSON, such as [1, 2] or {"a": true}',
    disabled && "Only an operator changes this",
  ]
    .filter(Boolean)
    .map(text => `${String(text).replace(/\.$/, "")}.`)
    .join(" ");
  if (type === "object" && schema.properties && (value === undefined || isObject(value)))
    return (
      <fieldset disabled={disabled}>
        <legend>{label}</legend>
        {hint && <p class="hint">{hint}</p>}
        <SchemaForm schema={schema} value={value ?? {}} writable={null} onChange={onChange} />
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
  return (
    <Field label={label} hint={hint}>
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

/** A list of texts, one a line. */
function Lines({ value, disabled, onChange, ids }: ControlProps & { ids: object }) {
  return (
    <textarea
      {...ids}
      rows={4}
      disabled={disabled}
      defaultValue={((value as string[] | undefined) ?? []).join("\n")}
      onChange={event => {
        const lines = (event.target as HTMLTextAreaElement).value
          .split("\n")
          .filter(line => line.trim() !== "");
        onChange(lines.length > 0 ? lines : undefined);
      }}
    />
  );
}

/** Says what is wrong until it is corrected; the form is not sent with it. */
function JsonBox({ value, onChange, ...shared }: Pick<ControlProps, "value" | "onChange">) {
  const [fault, setFault] = useState("");
  const id = useId();
  const said = (area: HTMLTextAreaElement, what: string) => {
    area.setCustomValidity(what);
    setFault(what);
  };
  return (
    <>
      <textarea
        {...shared}
        class="code"
        rows={4}
        {...(fault && { "aria-invalid": true, "aria-errormessage": id })}
        defaultValue={value === undefined ? "" : pretty(value)}
        onChange={event => {
          const area = event.target as HTMLTextAreaElement;
          const found = parseSettings(`{"value": ${area.value.trim() || "null"}}`);
          said(area, typeof found === "string" ? found : "");
          if (typeof found !== "string") onChange(area.value.trim() === "" ? undefined : found.value);
        }}
        onInput={event => fault && said(event.target as HTMLTextAreaElement, "")}
      />
      {fault && (
        <p class="wrong" id={id} role="alert">
          {fault}
        </p>
      )}
    </>
  );
}

function Plain({
  schema,
  value,
  disabled,
  required,
  onChange,
  type,
  ids,
}: ControlProps & { type: string | undefined; ids: object }) {
  const shared = { ...ids, disabled, required };
  if (schema.enum)
    return (
      <select
        {...shared}
        onChange={event => {
          const text = (event.target as HTMLSelectElement).value;
          onChange(text === "" ? undefined : JSON.parse(text));
        }}
      >
        <option value="">(not set)</option>
        {schema.enum.map(one => (
          <option key={pretty(one)} value={JSON.stringify(one)} selected={pretty(one) === pretty(value)}>
            {typeof one === "string" ? one : JSON.stringify(one)}
          </option>
        ))}
      </select>
    );
  if ((type === "number" || type === "integer") && (value === undefined || typeof value === "number"))
    return (
      <input
        {...shared}
        type="number"
        step={type === "integer" ? 1 : "any"}
        {...(schema.minimum !== undefined && { min: schema.minimum })}
        {...(schema.maximum !== undefined && { max: schema.maximum })}
        value={value ?? ""}
        onInput={event => {
          const { value: text, valueAsNumber } = event.target as HTMLInputElement;
          onChange(text === "" ? undefined : valueAsNumber);
        }}
      />
    );
  if (type === "string" && (value === undefined || typeof value === "string"))
    return (
      <input
        {...shared}
        {...(schema.maxLength !== undefined && { maxLength: schema.maxLength })}
        value={value ?? ""}
        onInput={event => onChange((event.target as HTMLInputElement).value || undefined)}
      />
    );
  return <JsonBox {...shared} value={value} onChange={onChange} />;
}
