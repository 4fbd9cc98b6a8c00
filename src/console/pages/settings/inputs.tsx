import { useId, useState } from "preact/hooks";
import { pretty } from "../../diff.ts";
import { visible } from "../../parts/text.tsx";
import { parseJson } from "./json.ts";
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
function useFault() {
  const [fault, setFault] = useState("");
  const id = useId();
  return {
    fault,
    said: (input: HTMLTextAreaElement | HTMLInputElement, what: string) => {
      input.setCustomValidity(what);
      setFault(what);
    },
    marks: fault ? { "aria-invalid": true, "aria-errormessage": id } : {},
    shown: fault && (
      <p class="wrong" id={id} role="alert">
        {visible(fault)}
      </p>
    ),
  };
}

function JsonBox({ value, onChange, ...shared }: Pick<ControlProps, "value" | "onChange">) {
  const { fault, said, marks, shown } = useFault();
  return (
    <>
      <textarea
        {...shared}
        class="code"
        rows={4}
        {...marks}
        defaultValue={value === undefined ? "" : pretty(value)}
        onChange={event => {
          const area = event.target as HTMLTextAreaElement;
          const found = area.value.trim() === "" ? { value: undefined } : parseJson(area.value);
          said(area, typeof found === "string" ? found : "");
          if (typeof found !== "string") onChange(found.value);
        }}
        onInput={event => fault && said(event.target as HTMLTextAreaElement, "")}
      />
      {shown}
    </>
  );
}

/** Refuses a number that would be rounded. */
function NumberBox({
  schema: { minimum, maximum },
  value,
  onChange,
  type,
  ...shared
}: Pick<ControlProps, "schema" | "onChange"> & { value: number | undefined; type: string }) {
  const { said, marks, shown } = useFault();
  const [text, setText] = useState(String(value ?? ""));
  const shows = text !== "" && Number(text) === value ? text : String(value ?? "");
  return (
    <>
      <input
        {...shared}
        type="number"
        step={type === "integer" ? 1 : "any"}
        {...(minimum !== undefined && { min: minimum })}
        {...(maximum !== undefined && { max: maximum })}
        {...marks}
        value={shown ? text : shows}
        onInput={event => {
          const input = event.target as HTMLInputElement;
          const found = input.value === "" ? { value: undefined } : parseNumber(input.value);
          setText(input.value);
          said(input, typeof found === "string" ? found : "");
          if (typeof found !== "string") onChange(found.value);
        }}
      />
      {shown}
    </>
  );
}

/** A form takes `01`, `1.` and `.5` too. */
const parseNumber = (text: string) =>
  parseJson(
    text
      .replace(/^(-?)0*(?=\d)/, "$1")
      .replace(/^(-?)\./, "$10.")
      .replace(/\.(?=$|e)/i, ""),
    "",
  );

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
    return <NumberBox {...shared} {...{ schema, value, type, onChange }} />;
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
