/** The answers in adopt.json, beside the audit's profile. Null: not answered yet. */
import { Ajv } from "ajv";
import { StartupError } from "../errors/startup-error.ts";

export const TABLE_ANSWERS = {
  required: "a row without a tenant is an error: the column becomes NOT NULL",
  shared: "every tenant reads all rows, and none writes them",
  people: "a tenant reads the rows of its own members",
  closed: "requests of tenants have no privilege on it",
} as const;
type TableAnswer = keyof typeof TABLE_ANSWERS;

export const KEY_ANSWERS = {
  tenant: "two tenants may have the same value: the plan adds a unique key that begins with the tenant",
  world: "a value is unique across all tenants, and a tenant may learn that another one has it",
} as const;
type KeyAnswer = keyof typeof KEY_ANSWERS;

export const explained = (answer: string) =>
  ({ ...TABLE_ANSWERS, ...KEY_ANSWERS })[answer as TableAnswer | KeyAnswer];

export interface Answers {
  /** The role that requests of tenants act as. */
  role?: string;
  /** SQL over a row t of the tenants' table, for the columns of app.tenants. */
  name?: string;
  slug?: string;
  tables?: Record<string, TableAnswer | null>;
  keys?: Record<string, KeyAnswer | null>;
  /** Logins of the old application that still see every row, each with the last day. */
  bridges?: Record<string, string>;
}

const text = { type: "string", minLength: 1 } as const;
const answers = (of: object) => ({
  type: "object",
  additionalProperties: { enum: [...Object.keys(of), null] },
});
const isDay = (given: string) =>
  /^\d{4}-\d\d-\d\d$/.test(given) && new Date(Date.parse(given) || 0).toISOString().startsWith(given);
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, formats: { day: isDay } });
const validate = ajv.compile<Answers>({
  type: "object",
  additionalProperties: false,
  properties: {
    role: text,
    name: text,
    slug: text,
    tables: answers(TABLE_ANSWERS),
    keys: answers(KEY_ANSWERS),
    bridges: { type: "object", additionalProperties: { type: "string", format: "day" } },
  },
});

/** @throws StartupError with all faults at once */
export function answersIn(file: string, given: unknown): Answers {
  if (validate(given)) return given;
  const faults = validate.errors!.map(({ instancePath, keyword, message, params }) => {
    const allowed = (params as { allowedValues?: unknown[] }).allowedValues;
    if (keyword === "format") return `adopt${instancePath} is not a day, such as 2027-01-31`;
    return `adopt${instancePath} ${allowed ? `is one of ${allowed.map(value => JSON.stringify(value)).join(", ")}` : message}`;
  });
  throw new StartupError(`${file}: ${faults.join("; ")}`);
}
