/** A schema of settings as a function that lists the faults of settings. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import { type FieldError, MOST_ERRORS } from "../values/field-errors.ts";

export const WRITABLE = "x-tenant-writable";

/** The answer where a validation takes too much time, memory or stack. */
export const TOO_MUCH: FieldError[] = [
  { field: "settings", message: "take too long to validate; make them smaller" },
];

interface SettingsValidator {
  /** Stops at the first fault. */
  isValid(settings: unknown): boolean;
  /** What isValid() found last. */
  firstFaults(): FieldError[];
  /** All that are wrong, a hundred at most. */
  faults(settings: unknown): FieldError[];
}

/** @throws Error when the object is no JSON Schema 2020-12 */
export function compileSettings(schema: object): SettingsValidator {
  const [validate, all] = [compile(schema, false), compile(schema, true)];
  return {
    isValid: settings => validate(settings),
    firstFaults: () => listed(validate),
    faults: settings => {
      all(settings);
      return listed(all);
    },
  };
}

const listed = ({ errors }: ValidateFunction) =>
  (errors ?? []).filter(isCause).slice(0, MOST_ERRORS).map(explain);

export function keysOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
}

/** A keyword with a typing error is a fault; those that begin with `x-` are notes. `format` is a note too, as 2020-12 has it. */
function compile(schema: object, allErrors: boolean): ValidateFunction {
  const ajv = new Ajv2020({
    allErrors,
    strictTypes: false,
    strictTuples: false,
    validateFormats: false,
    logger: false,
  });
  // Ajv divides binary fractions: 19.99 would be no multiple of 0.01.
  ajv.removeKeyword("multipleOf");
  ajv.addKeyword({
    keyword: "multipleOf",
    type: "number",
    schemaType: "number",
    compile: (step: number) => (value: number) => isMultiple(value, step),
    error: { message: ({ schema: step }) => `must be multiple of ${String(step)}` },
  });
  ajv.addKeyword({ keyword: WRITABLE, schemaType: "boolean" });
  for (const key of new Set(keysOf(schema)))
    if (/^x-[\w:-]+$/i.test(key) && key !== WRITABLE) ajv.addKeyword(key);
  return ajv.compile(schema);
}

/** By the shortest decimals that stand for the two numbers, which are what JSON has. */
export function isMultiple(value: number, step: number): boolean {
  const [a, b] = [decimalOf(value), decimalOf(step)];
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = ({ digits, exponent: own }: Decimal) => digits * 10n ** BigInt(own - exponent);
  return scaled(a) % scaled(b) === 0n;
}

interface Decimal {
  digits: bigint;
  exponent: number;
}

function decimalOf(value: number): Decimal {
  const [mantissa = "", exponent = "0"] = String(value).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/** Errors that only say that another one is inside. */
const isCause = ({ keyword }: ErrorObject, _: number, all: ErrorObject[]) =>
  !(all.length > 1 && (keyword === "if" || keyword === "propertyNames"));

function explain({ instancePath, keyword, params, message }: ErrorObject) {
  const path = instancePath
    .split("/")
    .slice(1)
    .map(part => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const at = (...inner: unknown[]) => ["settings", ...path, ...inner].join(".");
  if (keyword === "required" || keyword === "dependentRequired")
    return { field: at(params.missingProperty), message: "is required" };
  const unknown: unknown = params.additionalProperty ?? params.unevaluatedProperty;
  if (unknown !== undefined) return { field: at(unknown), message: "is not a known field" };
  if (keyword === "enum") {
    const allowed = (params.allowedValues as unknown[]).map(one =>
      typeof one === "string" ? one : JSON.stringify(one),
    );
    return { field: at(), message: `must be one of ${allowed.join(", ")}` };
  }
  if (keyword === "const") return { field: at(), message: `must be ${JSON.stringify(params.allowedValue)}` };
  if (keyword === "false schema") return { field: at(), message: "is not allowed" };
  return { field: at(), message: message ?? "is not valid" };
}
