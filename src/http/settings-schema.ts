/** The JSON Schema of tenants' settings (SERVICE_TENANT_SETTINGS_SCHEMA). */
import { readFileSync } from "node:fs";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { Row } from "../database/database.ts";
import { BY_SQLSTATE, Problem } from "../errors/errors.ts";
import { SQLSTATE } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import { invalid } from "./json-body.ts";

export interface SettingsSchema {
  /** As the file has it; null without one. */
  readonly schema: object | null;
  /** Top-level keys that a tenant's owners and admins may change. */
  readonly writable: string[];
  /** @throws Problem 422 for settings that break the schema */
  check(settings: unknown): void;
}

const VARIABLE = "SERVICE_TENANT_SETTINGS_SCHEMA";
const WRITABLE = "x-tenant-writable";

const NONE: SettingsSchema = { schema: null, writable: [], check: () => {} };

/** @throws StartupError one sentence that names the file and its fault */
export function loadSettingsSchema(path: string | null): SettingsSchema {
  if (path === null) return NONE;
  const fault = (said: string) => new StartupError(`${VARIABLE}: ${path} ${said}`);
  const schema = parse(path, fault);
  let validate: ValidateFunction;
  try {
    validate = compilerFor(schema).compile(schema);
  } catch (error) {
    throw fault(`is not a JSON Schema 2020-12: ${(error as Error).message.replaceAll("\n", " ")}`);
  }
  if ("$async" in validate) throw fault("must not be asynchronous ($async)");
  const properties = Object.entries((schema as { properties?: Record<string, unknown> }).properties ?? {});
  const writable = properties.flatMap(([name, one]) =>
    (one as Record<string, unknown> | null)?.[WRITABLE] === true ? [name] : [],
  );
  if (
    keysOf(schema).filter(key => key === WRITABLE).length >
    properties.filter(([, one]) => isMarked(one)).length
  )
    throw fault(`has ${WRITABLE} elsewhere than in a property of the settings, where it has no effect`);
  return {
    schema,
    writable,
    check(settings) {
      if (!validate(settings)) throw invalid(validate.errors!.filter(isCause).map(explain));
    },
  };
}

const isMarked = (value: unknown) => typeof value === "object" && value !== null && WRITABLE in value;

function parse(path: string, fault: (said: string) => Error): object {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw fault(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw fault(`is not valid JSON: ${(error as Error).message}`);
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw fault("must hold a JSON object");
  return schema;
}

function keysOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...keysOf(inner)]);
}

/** A keyword with a typing error is a fault; those that begin with `x-` are notes. `format` is a note too, as 2020-12 has it. */
function compilerFor(schema: object): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors: true,
    strictTypes: false,
    strictTuples: false,
    validateFormats: false,
    logger: false,
  });
  ajv.addKeyword({ keyword: WRITABLE, schemaType: "boolean" });
  for (const key of new Set(keysOf(schema)))
    if (/^x-[\w:-]+$/i.test(key) && key !== WRITABLE) ajv.addKeyword(key);
  return ajv;
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

/** With as many parallel changes of one tenant, the last one gives up. */
const MOST_TRIES = 50;

/**
 * The database merges under the lock of the row, and this process validates the result. If another change comes between, the database
 * writes nothing and returns the new result.
 */
export async function writeValidated(
  schema: SettingsSchema,
  write: (validated: string | null) => Promise<Row>,
): Promise<Row> {
  let validated: string | null = null;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const row = await write(validated);
    if (row.status !== "unvalidated") return row;
    schema.check(JSON.parse(row.body));
    validated = row.body;
  }
  throw new Problem(...BY_SQLSTATE[SQLSTATE.lock_not_available]!);
}
