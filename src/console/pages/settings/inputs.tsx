import { useId, useState } from "preact/hooks";
import { pretty } from "../../diff.ts";
import { parseSettings } from "./json.ts";
import type { ControlProps } from "./schema.ts";

/** A list of texts, one a line. */
export function Lines({ value, disabled, onChange, ids }: ControlProps & { ids: object }) {
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

export function Plain({
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
